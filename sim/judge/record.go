package judge

import (
	"io"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// Record plays a trace on the reference host in the simulated world and writes its log.
func Record(tr *trace.Trace, w io.Writer) (*sim.Result, error) {
	st := host.NewFakeStage()
	return RecordOn(tr, st, host.NewInProcess(st), sim.PlayOptions{KeepGoing: true}, "mcpsim", w)
}

// RecordOn does so on any stage and system. What the model finds meanwhile is in the result, and in the log for its judge.
func RecordOn(tr *trace.Trace, st sim.Stage, sys sim.System, opt sim.PlayOptions, name string, w io.Writer) (*sim.Result, error) {
	tap := &tap{w: w, about: eventlog.About{Host: name}}
	if sys.Caps().VirtualTime {
		tap.about.Clock = "virtual"
	} else {
		tap.about.SlackMs = &opt.Slack
	}
	woken := !opt.Loose
	tap.about.Woken = &woken
	r := sim.Play(tr, &tapStage{st, tap}, &tapSystem{System: sys, st: st, tap: tap}, opt)
	if tap.log == nil {
		return r, r.Err
	}
	return r, tap.log.Flush()
}

// tap stands between the world and whoever listens to it.
type tap struct {
	sim.Sink
	w     io.Writer
	about eventlog.About
	log   *eventlog.Writer
}

func (t *tap) Input(at model.Ms, in model.Input) {
	t.log.Input(at, in)
	t.Sink.Input(at, in)
}

func (t *tap) Event(at model.Ms, ev *model.Event) {
	t.log.Event(at, ev)
	t.Sink.Event(at, ev)
}

type tapStage struct {
	sim.Stage
	tap *tap
}

func (s *tapStage) Reset(h *trace.Header, t *model.Table, sink sim.Sink) error {
	s.tap.Sink = sink
	s.tap.log = eventlog.NewWriter(s.tap.w, h, sim.LaunchOf(&h.Launch), t, s.tap.about)
	return s.Stage.Reset(h, t, s.tap)
}

func (s *tapStage) Advance(d model.Ms) error {
	if err := s.Stage.Advance(d); err != nil {
		return err
	}
	return s.Turn(func() error {
		s.tap.log.Passed(s.Now())
		return nil
	})
}

// Turn lets f run while nothing else happens, on a stage where things happen by themselves.
func (s *tapStage) Turn(f func() error) error {
	if t, ok := s.Stage.(interface{ Turn(func() error) error }); ok {
		return t.Turn(f)
	}
	return f()
}

// URL keeps the addresses of a stage that has its own.
func (s *tapStage) URL(key string) string {
	if u, ok := s.Stage.(interface{ URL(string) string }); ok {
		return u.URL(key)
	}
	return sim.Resolve(key)
}

type tapSystem struct {
	sim.System
	st      sim.Stage
	tap     *tap
	settled bool
}

func (s *tapSystem) Reset(h *trace.Header, _ sim.Stage, t *model.Table, _ sim.Sink) error {
	return s.System.Reset(h, s.st, t, s.tap)
}

func (s *tapSystem) Settle(budget model.Ms) (bool, error) {
	ok, err := s.System.Settle(budget)
	if s.settled = ok && err == nil; !ok && err == nil {
		err = (&tapStage{s.st, s.tap}).Turn(func() error {
			s.tap.log.Settled(s.st.Now(), nil)
			return nil
		})
	}
	return ok, err
}

func (s *tapSystem) Observe() (model.Snapshot, error) {
	snap, err := s.System.Observe()
	if err == nil && s.settled {
		s.settled = false
		full := snap
		s.st.Snapshot(&full.Host)
		s.tap.log.Settled(s.st.Now(), &full)
	}
	return snap, err
}

// Overdue reports whether something is under way that should be over.
func (s *tapSystem) Overdue(at model.Ms) bool {
	o, ok := s.System.(interface{ Overdue(model.Ms) bool })
	return ok && o.Overdue(at)
}

// Busy says why the host is not settled.
func (s *tapSystem) Busy() []string {
	if b, ok := s.System.(interface{ Busy() []string }); ok {
		return b.Busy()
	}
	return nil
}
