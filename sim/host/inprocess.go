package host

import (
	"fmt"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// InProcess is the reference host as a System, in the simulated world of a FakeStage.
type InProcess struct {
	Driver
	st    *FakeStage
	t     *model.Table
	cache *config.Cache
	alive int // counts host processes: callbacks of a dead one are dropped
}

// NewInProcess returns a host for a stage; Reset starts it.
func NewInProcess(st *FakeStage) *InProcess {
	return &InProcess{st: st, cache: st.cache}
}

// Caps: everything.
func (p *InProcess) Caps() sim.Caps {
	return sim.Caps{Pool: true, Sessions: true, Runtime: true, Extensions: true, Calls: true, ListChanged: true, Events: true, VirtualTime: true, Trust: true}
}

// Reset starts the host that a header describes.
func (p *InProcess) Reset(hd *trace.Header, st sim.Stage, t *model.Table, sink sim.Sink) error {
	p.t = t
	p.Prepare(hd, p.st, p.st.x, sink)
	return p.boot()
}

// boot starts a host process with the present launch.
func (p *InProcess) boot() error {
	p.alive++
	me := p.alive
	l := sim.LaunchOf(&p.launch)
	paths := sim.Paths(l)
	cwd := sim.PathRoot
	switch p.launch.Cwd {
	case "home":
		cwd = sim.PathHome
	case "link":
		cwd = sim.PathLink
	}
	env := l.Env
	o := impl.Options{Home: sim.PathHome, Cwd: cwd, DefaultsPath: paths[model.Defaults], SystemPath: paths[model.System],
		Pool: l.Mode == model.Pool, Trusted: l.Trusted, Bare: l.Bare, ApprovalsOff: l.ApprovalsOff, HasFlag: l.HasFlag, Flag: l.Flag,
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }, Initialized: !l.Uninitialized, Cache: p.cache, Inject: p.Inject}
	if l.McpConfig != nil {
		o.McpConfig = l.McpConfig.Append(nil)
	}
	ports := p.st.ports(me)
	ports.Observe = func(ev *event.Event) {
		if p.alive == me {
			p.Event(ev)
		}
	}
	h, err := impl.New(o, ports)
	if err != nil {
		return fmt.Errorf("the host does not start: %w", err)
	}
	p.st.retries = h.Retries
	if err := p.Attach(h); err != nil {
		return err
	}
	h.Start(nil)
	return p.st.Advance(0) // what is there at start is loaded before anything else happens
}

// Do performs a step that concerns the host.
func (p *InProcess) Do(s *trace.Step) error {
	if s.Do == trace.Restart {
		return p.restart(s)
	}
	return p.Driver.Do(s)
}

// restart ends the host process as a crash does, and starts another.
func (p *InProcess) restart(s *trace.Step) error {
	p.alive++ // what the old process still has queued reaches nobody
	p.st.hostDied(s.Unsynced == "lost")
	p.st.hostStarts(p.Restart(s, p.t))
	p.st.tellFiles() // a crash undoes what was not durable
	return p.boot()
}

// Settle lets time pass until the host and the world have nothing in flight.
func (p *InProcess) Settle(budget model.Ms) (bool, error) {
	return p.st.settle(budget, func() bool { return p.h == nil || len(p.h.Busy()) == 0 }, func(since model.Ms) bool {
		return p.h == nil || p.h.PolledOnceSince(port.Ms(since))
	}), nil
}

// Busy says why the host is not settled.
func (p *InProcess) Busy() []string {
	if p.h == nil {
		return nil
	}
	return append(p.h.Busy(), p.st.busy()...)
}

// Close ends the host without a word.
func (p *InProcess) Close() error {
	p.alive++
	p.Detach()
	return nil
}
