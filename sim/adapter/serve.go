package adapter

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// Serve answers requests with our own host in the simulated world until bye or the end of in.
func Serve(in io.Reader, out io.Writer, name string) error {
	s := &server{name: name}
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			reply, bye := s.answer(line)
			text, merr := json.Marshal(reply, asWritten)
			if merr != nil {
				return fmt.Errorf("adapter: %w", merr)
			}
			if _, werr := out.Write(append(text, '\n')); werr != nil {
				return werr
			}
			if bye {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type server struct {
	name  string
	stage *host.FakeStage
	host  *host.InProcess
	log   *eventSink // nil until the first reset
}

// eventSink keeps the events since the last observe. The world's inputs are the machine's, and there is none here.
type eventSink struct {
	t     *model.Table
	lines []eventlog.Line
}

func (k *eventSink) Input(model.Ms, model.Input) {}

func (k *eventSink) Event(at model.Ms, ev *model.Event) {
	k.lines = append(k.lines, eventlog.FromEvent(at, ev, k.t))
}

// answer answers one line. A panic of the host is an error of the request; the world is gone with it.
func (s *server) answer(line []byte) (rep Reply, bye bool) {
	var q Request
	if err := json.Unmarshal(line, &q, asWritten); err != nil {
		return Reply{Error: "this line is no request: " + err.Error() + "; write one JSON object a line, such as {\"seq\":1,\"op\":\"hello\",\"protocol\":1}"}, false
	}
	defer func() {
		if e := recover(); e != nil {
			s.log = nil
			rep, bye = Reply{Seq: q.Seq, Error: fmt.Sprintf("the host panics: %v; begin again with reset", e)}, false
		}
	}()
	rep = Reply{Seq: q.Seq}
	if err := s.perform(&q, &rep); err != nil {
		return Reply{Seq: q.Seq, Error: err.Error()}, false
	}
	return rep, q.Op == "bye"
}

func (s *server) perform(q *Request, rep *Reply) (err error) {
	switch q.Op {
	case "hello":
		if q.Protocol != Protocol {
			return fmt.Errorf("protocol %d is not spoken here; say hello with protocol %d", q.Protocol, Protocol)
		}
		rep.Protocol, rep.Name, rep.Language, rep.Caps = Protocol, s.name, "go", capsList(host.NewInProcess(host.NewFakeStage()).Caps())
		return nil
	case "bye":
		return nil
	case "reset":
		if err := s.reset(q.Header); err != nil {
			return err
		}
		rep.NowMs = s.now()
		return nil
	case "step":
		if rep.Settled, err = s.step(q.Step); err != nil {
			return err
		}
		rep.NowMs = s.now()
		return nil
	case "observe":
		rep.Moment, err = s.observe()
		return err
	case "run":
		rep.Runs, err = s.run(q)
		return err
	}
	return fmt.Errorf("unknown op %q; the ops are hello, reset, step, observe, run and bye", q.Op)
}

func (s *server) now() *int64 {
	n := int64(s.stage.Now())
	return &n
}

func (s *server) reset(text []byte) error {
	s.log = nil
	if len(text) == 0 {
		return errors.New("a reset needs a header; send the trace's first line as \"header\"")
	}
	h, err := trace.ParseHeader("header", text)
	if err != nil {
		return err
	}
	h = *sim.Resolve.Header(&h)
	s.stage = host.NewFakeStage()
	s.host = host.NewInProcess(s.stage)
	log := &eventSink{t: model.NewTable(sim.LaunchOf(&h.Launch))}
	if err := s.stage.Reset(&h, log.t, log); err != nil {
		return err
	}
	if err := s.host.Reset(&h, s.stage, log.t, log); err != nil {
		return err
	}
	s.log = log
	return nil
}

func (s *server) step(text []byte) (settled *bool, err error) {
	if s.log == nil {
		return nil, errors.New("there is no world yet; send reset first")
	}
	if len(text) == 0 {
		return nil, errors.New("a step request needs a step, such as {\"do\":\"settle\"}")
	}
	st, err := trace.ParseStep("step", text)
	if err != nil {
		return nil, err
	}
	st = *sim.Resolve.Step(&st)
	switch st.Do {
	case trace.Note, trace.ExpectStep:
		return nil, nil
	case trace.Advance:
		return nil, s.stage.Advance(st.Ms)
	case trace.Settle:
		ok, err := s.host.Settle(sim.SettleBudget)
		return &ok, err
	}
	if ok, err := s.stage.Do(&st); err != nil || ok {
		return nil, err
	}
	return nil, s.host.Do(&st)
}

func (s *server) observe() (Moment, error) {
	if s.log == nil {
		return Moment{}, errors.New("there is no world yet; send reset first")
	}
	snap, err := s.host.Observe()
	if err != nil {
		return Moment{}, err
	}
	s.stage.Snapshot(&snap.Host)
	out := eventlog.FromSnapshot(&snap, s.log.t)
	m := Moment{NowMs: s.now(), Events: s.log.lines, Snapshot: &out}
	s.log.lines = nil
	return m, nil
}

func (s *server) run(q *Request) ([]Moment, error) {
	if err := s.reset(q.Header); err != nil {
		return nil, err
	}
	m, err := s.observe()
	if err != nil {
		return nil, err
	}
	out := []Moment{m}
	for i, text := range q.Steps {
		settled, err := s.step(text)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if m, err = s.observe(); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		m.Settled = settled
		out = append(out, m)
	}
	return out, nil
}

func capsList(c sim.Caps) []string {
	var out []string
	for _, k := range capNames {
		if *k.of(&c) {
			out = append(out, k.name)
		}
	}
	return out
}

func parseCaps(names []string) (c sim.Caps, err error) {
next:
	for _, n := range names {
		for _, k := range capNames {
			if k.name == n {
				*k.of(&c) = true
				continue next
			}
		}
		return c, fmt.Errorf("the adapter declares the capability %q, which is none", n)
	}
	return c, nil
}
