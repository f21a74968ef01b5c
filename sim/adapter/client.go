package adapter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/trace"
)

// Pipe is a host behind a pipe as a sim.System. The world is the child's too, so every step goes through Do, and the stage
// that Reset is given is not used (see the package comment for what that means for judging).
type Pipe struct {
	Name, Language, Version string
	// Patience is how long an answer may take beyond the time that the request itself lets pass.
	Patience time.Duration

	in    io.WriteCloser
	lines chan reply
	done  chan struct{}
	cmd   *exec.Cmd
	seq   int
	caps  sim.Caps
	now   model.Ms
	t     *model.Table
	sink  sim.Sink
	open  map[model.SessionID]bool
	run   trace.Launch
	dead  error // the pipe is out of step: nothing more can be asked
}

type reply struct {
	line []byte
	err  error
}

var _ sim.System = (*Pipe)(nil)

// Start starts a child and says hello. Its standard error is ours.
func Start(cmd ...string) (*Pipe, error) {
	if len(cmd) == 0 {
		return nil, errors.New("there is no command to start")
	}
	c := exec.Command(cmd[0], cmd[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return connect(in, out, c)
}

// Connect says hello to an adapter at the other end of two pipes.
func Connect(in io.WriteCloser, out io.Reader) (*Pipe, error) { return connect(in, out, nil) }

func connect(in io.WriteCloser, out io.Reader, cmd *exec.Cmd) (*Pipe, error) {
	p := &Pipe{Patience: time.Minute, in: in, lines: make(chan reply), done: make(chan struct{}), cmd: cmd}
	go p.read(bufio.NewReader(out))
	rep, err := p.ask(Request{Op: "hello", Protocol: Protocol}, 0)
	if err == nil && rep.Protocol != Protocol {
		err = fmt.Errorf("the adapter speaks protocol %d, this is %d", rep.Protocol, Protocol)
	}
	if err == nil {
		p.Name, p.Language, p.Version = rep.Name, rep.Language, rep.Version
		p.caps, err = parseCaps(rep.Caps)
	}
	if err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *Pipe) read(r *bufio.Reader) {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil && len(line) > 0 && errors.Is(err, io.EOF) {
			err = nil // a last line without its end; the next read says EOF again
		}
		select {
		case p.lines <- reply{line, err}:
		case <-p.done:
			return
		}
		if err != nil {
			return
		}
	}
}

// ask sends a request and waits for its answer; takes is the time that the request lets pass.
func (p *Pipe) ask(q Request, takes model.Ms) (*Reply, error) {
	if p.dead != nil {
		return nil, p.dead
	}
	p.seq++
	q.Seq = p.seq
	text, err := json.Marshal(q, asWritten)
	if err != nil {
		return nil, err
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := p.in.Write(append(text, '\n'))
		wrote <- err
	}()
	late := time.NewTimer(p.Patience + time.Duration(takes)*time.Millisecond)
	defer late.Stop()
	fail := func(err error) (*Reply, error) {
		p.dead = fmt.Errorf("%s (request %d): %w", q.Op, q.Seq, err)
		return nil, p.dead
	}
	for {
		select {
		case err := <-wrote:
			if err != nil {
				return fail(err)
			}
			wrote = nil
		case <-late.C:
			return fail(errors.New("the adapter does not answer"))
		case l := <-p.lines:
			if errors.Is(l.err, io.EOF) {
				return fail(errors.New("the adapter ended without answering"))
			}
			if l.err != nil {
				return fail(l.err)
			}
			var rep Reply
			if err := json.Unmarshal(l.line, &rep, asWritten); err != nil {
				return fail(fmt.Errorf("the answer is no reply: %w", err))
			}
			if rep.Seq != q.Seq {
				return fail(fmt.Errorf("the answer is to request %d: %s", rep.Seq, rep.Error))
			}
			if rep.Error != "" {
				return nil, fmt.Errorf("%s (request %d): the adapter says: %s", q.Op, q.Seq, rep.Error)
			}
			if rep.NowMs != nil {
				p.now = model.Ms(*rep.NowMs)
			}
			return &rep, nil
		}
	}
}

// Caps is what the child declared.
func (p *Pipe) Caps() sim.Caps { return p.caps }

// Now is the child's time at its last answer.
func (p *Pipe) Now() model.Ms { return p.now }

// Reset makes the child build a trace's world and start its host. Both stage and sink may be nil.
func (p *Pipe) Reset(h *trace.Header, _ sim.Stage, t *model.Table, sink sim.Sink) error {
	p.t, p.sink, p.now, p.run = t, sink, 0, h.Launch
	p.opened()
	_, err := p.ask(Request{Op: "reset", Header: h.Append(nil)}, 0)
	return err
}

// opened says that exactly the sessions of the launch are open.
func (p *Pipe) opened() {
	p.open = map[model.SessionID]bool{}
	for _, s := range p.run.SessionNames() {
		p.open[model.SessionID(s)] = true
	}
}

// Do forwards a step, whether it is the world's or the host's.
func (p *Pipe) Do(s *trace.Step) error {
	_, err := p.step(s, 0)
	if err != nil {
		return err
	}
	switch s.Do {
	case trace.Open:
		p.open[model.SessionID(s.Session)] = true
	case trace.Close:
		delete(p.open, model.SessionID(s.Session))
	case trace.Shutdown:
		clear(p.open)
	case trace.Restart:
		p.run = p.run.With(s.Launch)
		l := sim.Resolve.Launch(p.run)
		p.t.Relaunch(sim.LaunchOf(&l))
		p.opened()
	}
	return nil
}

func (p *Pipe) step(s *trace.Step, takes model.Ms) (*Reply, error) {
	now := int64(p.now)
	return p.ask(Request{Op: "step", NowMs: &now, Step: s.Append(nil)}, takes)
}

// Advance lets d pass in the child.
func (p *Pipe) Advance(d model.Ms) error {
	_, err := p.step(&trace.Step{Do: trace.Advance, Ms: d}, d)
	return err
}

// Settle lets the child settle; the budget is the child's to keep.
func (p *Pipe) Settle(budget model.Ms) (bool, error) {
	rep, err := p.step(&trace.Step{Do: trace.Settle}, budget)
	if err != nil {
		return false, err
	}
	return rep.Settled == nil || *rep.Settled, nil
}

// Observe returns what the child shows, dials and processes included, and passes its events on.
func (p *Pipe) Observe() (model.Snapshot, error) {
	rep, err := p.ask(Request{Op: "observe"}, 0)
	if err != nil {
		return model.Snapshot{}, err
	}
	for i := range rep.Events {
		l := &rep.Events[i]
		l.Config = resolve(l.Config)
		if l.Questions != nil {
			resolveQuestions(*l.Questions)
		}
		ev, err := l.ToEvent(p.t)
		if err != nil {
			return model.Snapshot{}, fmt.Errorf("event %d: %w", i+1, err)
		}
		if p.sink != nil {
			p.sink.Event(l.T, ev)
		}
	}
	if rep.Snapshot == nil {
		return model.Snapshot{}, errors.New("the adapter answers observe without a snapshot")
	}
	return p.snapshot(rep.Snapshot)
}

func (p *Pipe) snapshot(s *eventlog.Snapshot) (model.Snapshot, error) {
	for i := range s.Sessions {
		resolveQuestions(s.Sessions[i].Ask)
	}
	for i := range s.Pool {
		s.Pool[i].Config = resolve(s.Pool[i].Config)
	}
	for i := range s.Records {
		s.Records[i].Config = resolve(s.Records[i].Config)
	}
	out, err := s.ToSnapshot(p.t)
	for i := range out.Sessions {
		v := &out.Sessions[i] // one that is gone may still show how its calls ended, and nothing else
		v.Closed = !p.open[v.ID] && len(v.Servers) == 0 && len(v.Ask) == 0 && len(v.Notices) == 0 && len(v.Calls) > 0
	}
	return out, err
}

func resolveQuestions(qs []eventlog.Question) {
	for i := range qs {
		qs[i].Config = resolve(qs[i].Config)
	}
}

// resolve puts addresses where a child reports placeholders.
func resolve(v jsontext.Value) jsontext.Value { return jsontext.Value(sim.Resolve.Text(string(v))) }

// Close says bye and waits for the child; one that does not end is killed.
func (p *Pipe) Close() error {
	_, err := p.ask(Request{Op: "bye"}, 0)
	if e := p.end(); err == nil {
		err = e
	}
	return err
}

func (p *Pipe) end() error {
	p.dead = errors.New("the adapter is closed")
	_ = p.in.Close()
	close(p.done)
	if p.cmd == nil {
		return nil
	}
	kill := time.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	return p.cmd.Wait()
}
