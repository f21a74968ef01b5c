package adapter

import (
	"errors"
	"fmt"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// Verdict is what a trace came to behind a pipe.
type Verdict struct {
	Missing  string   // why the trace was not played: a capability that the child does not declare
	Findings []string // what the child shows otherwise than it must
	Err      error    // the child, or the trace here, could not be played to its end
	Shown    []model.Snapshot
	Here     *sim.Result  // the same trace with our own host
	Table    *model.Table // of the configs in both
}

// Failed reports whether anything was found.
func (v *Verdict) Failed() bool { return len(v.Findings) > 0 || v.Err != nil }

// reference is the simulated world and our host in it; it keeps the table, and how each settle ended.
type reference struct {
	*host.FakeStage
	t *model.Table
}

func (r *reference) Reset(h *trace.Header, t *model.Table, sink sim.Sink) error {
	r.t = t
	return r.FakeStage.Reset(h, t, sink)
}

type settles struct {
	*host.InProcess
	ok []bool
}

func (s *settles) Settle(budget model.Ms) (bool, error) {
	ok, err := s.InProcess.Settle(budget)
	s.ok = append(s.ok, ok)
	return ok, err
}

// Judge plays a trace here, under the full model, and in the child, and holds the child against what the model expects at
// every settle and against the trace's own expectations. It stops at the first step with a finding.
func Judge(tr *trace.Trace, p *Pipe) *Verdict {
	v := &Verdict{Missing: missing(tr, p.Caps())}
	if v.Missing != "" {
		return v
	}
	st := &reference{FakeStage: host.NewFakeStage()}
	sys := &settles{InProcess: host.NewInProcess(st.FakeStage)}
	v.Here = sim.Play(tr, st, sys, sim.PlayOptions{})
	v.Table = st.t
	if v.Here.Failed() {
		v.Err = errors.New("the trace already fails here; `mcpsim replay` shows how")
		return v
	}
	l := sim.Resolve.Launch(tr.Header.Launch)
	st.t.Relaunch(sim.LaunchOf(&l)) // the play here may have ended in another launch
	j := judge{v: v, p: p, tr: tr, ok: sys.ok, want: v.Here.Settles}
	v.Err = j.play()
	return v
}

type judge struct {
	v         *Verdict
	p         *Pipe
	tr        *trace.Trace
	ok        []bool
	want      []model.Expectation
	lastDials []model.Count
}

func (j *judge) play() error {
	if err := j.p.Reset(&j.tr.Header, nil, j.v.Table, nil); err != nil {
		return err
	}
	for i := range j.tr.Steps {
		s := &j.tr.Steps[i]
		if err := j.step(s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s.Do, err)
		}
		if len(j.v.Findings) > 0 {
			for k := range j.v.Findings {
				j.v.Findings[k] = fmt.Sprintf("step %d (%s): %s", i+1, s.Do, j.v.Findings[k])
			}
			return nil
		}
	}
	return nil
}

func (j *judge) find(format string, args ...any) {
	j.v.Findings = append(j.v.Findings, fmt.Sprintf(format, args...))
}

func (j *judge) step(s *trace.Step) error {
	switch s.Do {
	case trace.Note:
		return nil
	case trace.Advance:
		return j.p.Advance(s.Ms)
	case trace.Settle:
		return j.settle()
	case trace.ExpectStep:
		return j.expect(s)
	}
	return j.p.Do(s)
}

func (j *judge) settle() error {
	here := j.ok[0]
	j.ok = j.ok[1:]
	ok, err := j.p.Settle(sim.SettleBudget)
	if err != nil {
		return err
	}
	if !here {
		return nil // something stuck that the model knows of: nobody settles
	}
	want := &j.want[0]
	j.want = j.want[1:]
	if !ok {
		j.find("LIVE-3: not settled within 10 minutes")
		return nil
	}
	got, err := j.p.Observe()
	if err != nil {
		return err
	}
	j.v.Shown = append(j.v.Shown, got)
	for _, x := range sim.Compare(j.p.Now(), want, &got) {
		j.find("%s %s %s: %s", x.Invariant, x.Session, x.Server, x.Detail)
	}
	return nil
}

func (j *judge) expect(s *trace.Step) error {
	got, err := j.p.Observe()
	if err != nil {
		return err
	}
	e := sim.Resolve.Step(s).Expect
	configOf := func(server string, v *model.Value) (model.ConfigID, model.FpID) {
		cfg, _ := j.v.Table.Entry(server, v, true)
		if cfg == nil {
			return 0, 0
		}
		return cfg.ID, cfg.Fp
	}
	for _, m := range trace.Match(e, &got, configOf, j.lastDials) {
		j.find("EXPECT line %d: %s", s.Line, m)
	}
	j.lastDials = trace.Since(e, &got, j.lastDials)
	return nil
}

// missing names the capability that a trace needs and a child does not declare.
func missing(tr *trace.Trace, c sim.Caps) string {
	need := func(has bool, name string) string {
		if has {
			return ""
		}
		return name
	}
	l := &tr.Header.Launch
	if l.Mode == "pool" && !c.Pool {
		return "pool"
	}
	if len(l.SessionNames()) != 1 && !c.Sessions {
		return "sessions"
	}
	for i := range tr.Steps {
		s, m := &tr.Steps[i], ""
		switch s.Do {
		case trace.Open, trace.Close:
			m = need(c.Sessions, "sessions")
		case trace.RuntimeAdd, trace.RuntimeRemove:
			m = need(c.Runtime, "runtime")
		case trace.Extension:
			m = need(c.Extensions, "extensions")
		case trace.Call:
			m = need(c.Calls, "calls")
		case trace.Trust:
			m = need(c.Trust, "trust")
		case trace.Server:
			m = need(c.ListChanged || !s.ListChanged, "list_changed")
		case trace.Restart:
			m = need(c.Pool || s.Launch == nil || s.Launch.Mode != "pool", "pool")
		}
		if m != "" {
			return m
		}
	}
	return ""
}
