package real

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/live"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// System is the live host on a Stage.
type System struct {
	host.Driver
	st     *Stage
	events int // of the loop; counts what the host did
	fl     flights
}

// NewSystem returns a host for a stage; Reset starts it.
func NewSystem(st *Stage) *System { return &System{st: st} }

// Caps: everything, in real time.
func (y *System) Caps() sim.Caps {
	return sim.Caps{Pool: true, Sessions: true, Runtime: true, Extensions: true, Calls: true, ListChanged: true, Events: true, RealServers: true, Trust: true}
}

// Reset starts the host that a header describes.
func (y *System) Reset(h *trace.Header, _ sim.Stage, _ *model.Table, sink sim.Sink) error {
	y.Prepare(h, y.st, y.st.x, sink)
	return y.boot()
}

// boot starts a host process with the present launch. Time stands still until it has read everything and made the
// connections whose script takes no time: in the simulated world all that is one instant.
func (y *System) boot() error {
	st := y.st
	st.place()
	l := sim.LaunchOf(y.Launch())
	lf := &life{}
	if st.life != nil {
		lf.n = st.life.n
	}
	lf.n++
	cwd := sim.PathRoot
	switch y.Launch().Cwd {
	case "home":
		cwd = sim.PathHome
	case "link":
		cwd = sim.PathLink
	}
	env := []string{}
	for k, v := range l.Env {
		env = append(env, k+"="+v)
	}
	paths := sim.Paths(l)
	o := live.Options{Dir: st.path(cwd), Home: st.path(sim.PathHome), SystemDefaults: st.path(paths[model.Defaults]),
		SystemSettings: st.path(paths[model.System]), Trusted: l.Trusted, Pool: l.Mode == model.Pool, Bare: l.Bare,
		ApprovalsOff: l.ApprovalsOff, Uninitialized: l.Uninitialized, Environ: env, Inject: y.Inject,
		Observe: func(ev *event.Event) {
			if !lf.over.Load() {
				y.observe(lf, ev)
			}
		},
		Outside: func(loop *live.Loop) (port.FS, port.Dialer) {
			lf.loop = loop
			lf.fs = newHostFS(lf, loop, slices.Clone(st.armed))
			d := newDialer(st, lf, loop, l.Env)
			lf.dialer = d.inner
			if st.outside != nil {
				return st.outside(lf.fs, d)
			}
			return lf.fs, d
		}}
	if l.HasFlag {
		o.Allowed = append([]string{}, l.Flag...)
	}
	if l.McpConfig != nil {
		o.MCPConfig = l.McpConfig.Append(nil)
	}
	y.fl = newFlights()
	st.hold(0)
	defer st.release()
	lf.began = model.Ms(time.Since(st.start).Milliseconds())
	h, err := live.New(context.Background(), o)
	if err != nil {
		return fmt.Errorf("the host does not start: %w", err)
	}
	lf.host, st.life = h, lf
	if err := st.turn(func(core *impl.Host) error { return y.Attach(core) }); err != nil {
		return err
	}
	return y.firstInstant()
}

// firstInstant waits for what takes no time in the script: it is over before the first step.
func (y *System) firstInstant() error {
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(time.Millisecond) {
		over := true
		if err := y.st.Turn(func() error {
			over = !y.Overdue(y.st.Now())
			return nil
		}); err != nil || over {
			return err
		}
	}
	return nil
}

// observe passes on an event, after what the world did before it.
func (y *System) observe(lf *life, ev *event.Event) {
	st := y.st
	y.events++
	st.tick(lf, lf.loop.Turn())
	st.tellAll()
	if ev.Kind == event.Load {
		st.tellRead(lf, ev)
	}
	y.Event(ev)
	y.fl.note(st, ev)
}

// tellRead tells the machine what the read behind a load got: what was in the file that it opened, or else that there was
// none to open.
func (st *Stage) tellRead(lf *life, ev *event.Event) {
	s, ok := scopeNamed(string(ev.Scope))
	if !ok || st.paths[s] == "" {
		return
	}
	data, got := lf.fs.take(st.paths[s])
	state := readable
	if !got {
		if data, state = readRaw(st.paths[s]); state == readable { // it has come, or can be read again, since
			state = missing
			if ev.Outcome == "kept" {
				state = unreadable
			}
		}
	}
	st.filesMu.Lock()
	c := st.content([]byte(data), state)
	if s == model.Approvals {
		c, _ = st.records([]byte(data), state)
	}
	st.filesMu.Unlock()
	st.sink.Input(st.Now(), model.Input{Kind: model.InRead, Scope: s, Content: c})
}

// Do performs a step that concerns the host.
func (y *System) Do(s *trace.Step) error {
	st := y.st
	if s.Do == trace.Restart {
		return y.restart(s)
	}
	if st.life == nil {
		return nil
	}
	if s.Do == trace.Trust { // it reads everything, which takes no time in the simulated world
		if err := st.turn(func(core *impl.Host) error {
			if core != nil {
				st.hold(st.life.loop.Fired())
			}
			return nil
		}); err != nil {
			return err
		}
		defer st.release()
	}
	err := st.Turn(func() error {
		st.stepped()
		return y.Driver.Do(s)
	})
	if err == nil && s.Do == trace.Trust {
		err = y.loaded()
	}
	return err
}

// loaded waits until no load is in flight.
func (y *System) loaded() error {
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(time.Millisecond) {
		busy := false
		if err := y.st.turn(func(core *impl.Host) error {
			busy = reading(core)
			return nil
		}); err != nil || !busy {
			return err
		}
	}
	return nil
}

// restart ends the host process as a crash does, and starts another.
func (y *System) restart(s *trace.Step) error {
	st := y.st
	if err := y.die(); err != nil {
		return err
	}
	st.l = y.Restart(s, st.t)
	st.place()
	st.filesMu.Lock()
	st.seen = [model.NumScopes]seen{}
	st.filesMu.Unlock()
	st.tellFiles()
	return y.boot()
}

// die ends the host without a word: what it has under way reaches nobody, its servers are killed, its locks are free.
func (y *System) die() error {
	st := y.st
	lf := st.life
	if lf == nil || lf.over.Load() {
		return nil
	}
	deciding := false
	if err := lf.host.Core(context.Background(), func(core *impl.Host) {
		st.tellAll()
		deciding = slices.Contains(core.Busy(), "decision")
		lf.over.Store(true)
	}); err != nil {
		return err
	}
	lf.dialer.KillAll()
	lf.fs.die()
	err := lf.host.Close(context.Background())
	lf.dialer.Close()
	st.conns = map[string]dialled{} // whoever was begun reports to nobody
	st.filesMu.Lock()
	st.byWorld = st.byWorld || deciding // a crash leaves the old file or the new one (APR-7): whichever is there must be kept
	st.filesMu.Unlock()
	return errors.Join(err, lf.fs.Close())
}

// Settle lets time pass until the host and the world have nothing in flight, and nothing has happened for a while.
func (y *System) Settle(budget model.Ms) (bool, error) {
	st := y.st
	since := time.Now()
	end := since.Add(time.Duration(budget) * time.Millisecond)
	last, calm := -1, time.Now()
	for {
		if err := errors.Join(st.sync(), st.heard()); err != nil {
			return false, err
		}
		busy := false
		if err := st.turn(func(core *impl.Host) error {
			busy = len(y.busy(core, since)) > 0
			if y.events != last {
				last, calm = y.events, time.Now()
			}
			return nil
		}); err != nil {
			return false, err
		}
		now := time.Now()
		switch {
		case busy:
			calm = now
		case now.Sub(calm) >= quiet:
			st.plan = now
			return true, nil
		}
		if now.After(end) {
			return false, nil
		}
		time.Sleep(quiet / 8)
	}
}

// quiet is how long nothing may happen before the host counts as settled: what a server says needs so long at most to get
// from its pipe to the loop.
const quiet = 80 * time.Millisecond

// busy says what keeps the host from being settled.
func (y *System) busy(core *impl.Host, since time.Time) []string {
	st := y.st
	if core == nil {
		return nil
	}
	out := core.Busy()
	if n := st.later.Load(); n > 0 {
		out = append(out, fmt.Sprintf("%d parts of steps", n))
	}
	hostTime := func(t model.Ms) port.Ms { return port.Ms(t-st.life.began) - 1 }
	for _, r := range core.Retries() {
		if r.FailedAt < hostTime(st.step) {
			out = append(out, "a retry that is due")
		}
	}
	if !core.PolledOnceSince(hostTime(model.Ms(since.Sub(st.start).Milliseconds())) + 2) {
		out = append(out, "a source that is polled")
	}
	return out
}

// Busy says why the host is not settled.
func (y *System) Busy() (out []string) {
	_ = y.st.turn(func(core *impl.Host) error {
		out = y.busy(core, y.st.start)
		return nil
	})
	return out
}

// Observe returns what the host shows.
func (y *System) Observe() (model.Snapshot, error) {
	if y.st.life == nil || y.st.life.over.Load() {
		return model.Snapshot{}, nil
	}
	return y.Driver.Observe()
}

// Close ends the host as a user does.
func (y *System) Close() error {
	lf := y.st.life
	if lf == nil || lf.over.Load() {
		return nil
	}
	lf.over.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lf.dialer.KillAll()
	lf.fs.die()
	err := lf.host.Close(ctx)
	lf.dialer.Close()
	return errors.Join(err, lf.fs.Close())
}
