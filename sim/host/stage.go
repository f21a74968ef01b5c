// Package host puts the reference host into the simulated world: FakeStage is that world, InProcess the host in it. It is
// the only package that imports both the model and the host.
package host

import (
	"context"
	"fmt"
	"path"
	"strings"

	"mcpsim/impl"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/fakeclock"
	"mcpsim/sim/fakefs"
	"mcpsim/sim/fakemcp"
	"mcpsim/sim/trace"
)

// FakeStage is the world of fakes: files, clock and servers, all over one queue.
type FakeStage struct {
	q    *fakeclock.Queue
	fs   *fakefs.FS
	mcp  *fakemcp.World
	t    *model.Table
	sink sim.Sink
	l    *model.Launch

	paths    [model.NumScopes]string
	seen     [model.NumScopes]raw // what the machine was last told
	denoted  Texts
	x        *Translator
	faults   []*ioFault
	linked   bool // the approvals file was a link before the rename that runs
	hit      bool // an armed fault struck the read that runs
	files    int  // file events under way
	steps    int  // later parts of writes under way
	lastStep model.Ms
	retries  func() []impl.Retry
	err      error
	cache    *config.Cache // of this stage and its host: a cache belongs to one goroutine
	byWorld  bool          // the approvals file is being changed by another process
	ways     [model.NumScopes]way
}

type raw struct {
	state fakefs.RawState
	data  []byte
	told  bool
}

// way is the names on the way to a source, links included; it is looked up again once something was written.
type way struct {
	known bool
	steps []fakefs.Step
}

type ioFault struct {
	err   error
	ops   []string
	path  string
	times int
}

// cacheBetween is how much of what was parsed outlives a trace, in bytes: enough for plays of one and the same.
const cacheBetween = 1 << 20

// NewFakeStage returns an empty world; Reset fills it.
func NewFakeStage() *FakeStage {
	st := &FakeStage{q: fakeclock.New(0), cache: config.NewCache()}
	st.mcp = fakemcp.New(st.q)
	st.mcp.OnStart = func(c port.ConnID, spec config.DialSpec, _ string) {
		st.sink.Input(st.Now(), model.Input{Kind: model.InStarted, Conn: model.ConnID(c), Server: spec.Server})
	}
	return st
}

// Canned leaves the mcp-go client out of every later connection: same histories, less time.
func (st *FakeStage) Canned() { st.mcp.Canned = true }

// Now is the virtual time.
func (st *FakeStage) Now() model.Ms { return model.Ms(st.q.Now()) }

// Reset builds the world of a header.
func (st *FakeStage) Reset(h *trace.Header, t *model.Table, sink sim.Sink) error {
	st.t, st.sink, st.l = t, sink, sim.LaunchOf(&h.Launch)
	st.cache.Trim(cacheBetween)
	st.q.Reset(h.Order)
	st.mcp.Reset()
	st.x = NewTranslator(t)
	st.seen, st.denoted = [model.NumScopes]raw{}, Texts{}
	st.faults, st.files, st.steps, st.lastStep, st.err = nil, 0, 0, 0, nil
	st.fs = fakefs.New(fakefs.Options{Now: st.q.Now, Deliver: st.deliver, OnOp: st.onOp, OnWrite: st.onWrite, OnEvent: st.onEvent, Merge: h.Order&1 == 1})
	for i := range h.Servers {
		s := &h.Servers[i]
		st.setServer(s.Key, &s.Behaviour)
	}
	if err := st.layOut(h); err != nil {
		return err
	}
	for i := range h.Faults {
		f := h.Faults[i]
		f.Do = trace.Fault
		st.sink.Input(0, model.Input{Kind: model.InFault, FaultKind: model.FaultKind(f.Kind), Times: f.Times, Ms: f.Ms})
		if _, err := st.Do(&f); err != nil {
			return err
		}
	}
	st.byWorld = true // what is there at start is what must be kept
	st.tellFiles()
	st.byWorld = false
	return st.err
}

func (st *FakeStage) layOut(h *trace.Header) error {
	st.paths = sim.Paths(st.l)
	for _, d := range []string{"/etc/qwen", sim.PathHome, sim.PathRoot} {
		if err := st.fs.MkdirAll(d); err != nil {
			return err
		}
	}
	if err := st.fs.Symlink(sim.PathRoot, sim.PathLink); err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, d := range h.Dirs {
		missing[st.dirOf(d)] = true
	}
	for s := model.Defaults; s < model.NumScopes; s++ {
		if p := st.paths[s]; p != "" && !missing[dirName(p)] {
			if err := st.fs.MkdirAll(dirName(p)); err != nil {
				return err
			}
		}
	}
	for d := range missing {
		if d == sim.PathRoot || d == sim.PathHome {
			continue // a host does not start without its root
		}
		if err := st.fs.RemoveAll(d); err != nil {
			return err
		}
	}
	for i := range h.Files {
		w := h.Files[i].Write
		w.File = h.Files[i].File
		if w.Do == "" {
			w.Do = trace.Write
		}
		if err := st.write(&w); err != nil {
			return err
		}
	}
	if h.CorruptRecords {
		return st.put(st.paths[model.Approvals], []byte("{\"version\":"))
	}
	if len(h.Records) > 0 {
		var lines []approval.RecordLine
		for i := range h.Records {
			if l, ok := st.record(h.Records[i].Server, h.Records[i].Config, h.Records[i].Status); ok {
				lines = append(lines, l)
			}
		}
		return st.put(st.paths[model.Approvals], approval.Encode(lines))
	}
	return nil
}

func (st *FakeStage) put(p string, data []byte) error {
	if err := st.fs.MkdirAll(dirName(p)); err != nil {
		return err
	}
	return st.fs.WriteAtomic(p, data)
}

// record is an approval record of the host's format for a config of a trace.
func (st *FakeStage) record(server string, v *model.Value, status string) (approval.RecordLine, bool) {
	return st.x.Record(st.cache, st.l.Root, server, v, status)
}

func dirName(p string) string { return p[:max(1, strings.LastIndexByte(p, '/'))] }

// dirOf is the directory that a trace names by a scope; a path is itself.
func (st *FakeStage) dirOf(name string) string {
	if s, ok := scopeNamed(name); ok && st.paths[s] != "" {
		return dirName(st.paths[s])
	}
	switch name {
	case "home":
		return sim.PathHome
	case "root":
		return sim.PathRoot
	}
	return name
}

func scopeNamed(name string) (model.Scope, bool) {
	for s := model.Defaults; s < model.NumScopes; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

func (st *FakeStage) setServer(key string, b *model.Behaviour) {
	st.mcp.Set(key, b)
	url := fakemcp.ResolveURL(key)
	st.sink.Input(st.Now(), model.Input{Kind: model.InServer, Key: key, URL: url, Behaviour: b})
}

// deliver queues a file event.
func (st *FakeStage) deliver(d port.Ms, f func()) {
	st.files++
	st.q.At(st.q.Now()+d, st.q.Tie(fakeclock.File, "", 0), fakeclock.Func(func() {
		st.files--
		f()
	}))
}

// onEvent tells the machine which sources a file event concerns, just before the host hears of it.
func (st *FakeStage) onEvent(ev port.FSEvent) {
	for s := model.Defaults; s < model.NumScopes; s++ {
		if p := st.paths[s]; p != "" && st.mayConcern(&ev, s) && st.fs.Concerns(ev, p) {
			st.sink.Input(st.Now(), model.Input{Kind: model.InWake, Scope: s})
		}
	}
}

// mayConcern is the cheap part of Concerns: most events are of names that are on no way.
func (st *FakeStage) mayConcern(ev *port.FSEvent, s model.Scope) bool {
	p := st.paths[s]
	if ev.Path == "" || ev.Path == p || strings.HasPrefix(p, ev.Path) {
		return true
	}
	w := &st.ways[s]
	if !w.known {
		w.known, w.steps = true, st.fs.LinkChain(p)
	}
	base := path.Base(ev.Path)
	for i := range w.steps {
		if w.steps[i].Base == base {
			return true
		}
	}
	return false
}

// onWrite also looks at what no event shows of the approvals file (APR-7): a link to it stays a link, and nobody else may
// read it.
func (st *FakeStage) onWrite(p string) {
	if own := st.paths[model.Approvals]; own != "" && strings.Contains(p, "mcpApprovals.json") {
		witness := func(detail string) {
			st.sink.Input(st.Now(), model.Input{Kind: model.InWitness, Key: "INV-15", Detail: detail})
		}
		if st.linked && !st.fs.IsLink(own) {
			witness("the approvals were written over a link (APR-7)")
		}
		if st.fs.Exists(p) && !st.fs.IsLink(p) && st.fs.Perm(p)&0o077 != 0 {
			witness("others may read " + p + " (APR-7: mode 0600)")
		}
		st.linked = false
	}
	st.tellFiles()
}

// onOp makes an operation of the host fail if a fault is armed for it.
func (st *FakeStage) onOp(op, p string) error {
	if op == "rename" {
		st.linked = st.paths[model.Approvals] != "" && st.fs.IsLink(st.paths[model.Approvals])
	}
	for _, f := range st.faults {
		if f.times == 0 || f.path != "" && !strings.HasPrefix(p, f.path) {
			continue
		}
		for _, o := range f.ops {
			if o == op {
				f.times--
				st.hit = true
				return f.err
			}
		}
	}
	return nil
}

// tellFiles tells the machine what a read of each source would give, where that changed.
func (st *FakeStage) tellFiles() {
	st.ways = [model.NumScopes]way{}
	for s := model.Defaults; s < model.NumScopes; s++ {
		p := st.paths[s]
		if p == "" {
			continue
		}
		data, state := st.fs.ReadRaw(p)
		if o := &st.seen[s]; o.told && o.state == state && string(o.data) == string(data) {
			continue
		}
		st.seen[s] = raw{state, data, true}
		st.tell(s, data, state)
	}
}

func (st *FakeStage) content(data []byte, state fakefs.RawState) model.Content {
	switch state {
	case fakefs.Missing:
		return model.Content{State: model.Missing}
	case fakefs.Unreadable:
		return model.Content{State: model.Unreadable}
	}
	return st.denoted.Content(data)
}

func (st *FakeStage) tell(s model.Scope, data []byte, state fakefs.RawState) {
	if s != model.Approvals {
		st.sink.Input(st.Now(), model.Input{Kind: model.InFile, Scope: s, Content: st.content(data, state)})
		return
	}
	c, records := st.records(data, state)
	st.sink.Input(st.Now(), model.Input{Kind: model.InRecords, Content: c, Records: records, On: st.byWorld})
}

// records reads the approvals file as the host's format has it.
func (st *FakeStage) records(data []byte, state fakefs.RawState) (model.Content, map[string]model.Record) {
	c := st.content(data, state)
	if state != fakefs.OK {
		return c, map[string]model.Record{}
	}
	return st.x.Records(st.l.Root, data, c)
}

// ports is the world as a host process sees it.
func (st *FakeStage) ports(int) impl.Ports {
	return impl.Ports{Clock: st.q, Exec: &exec{st}, FS: st.fs.Host(), Dialer: &dialer{st}, Post: st.q.Post}
}

type dialer struct{ st *FakeStage }

func (d *dialer) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	return d.st.mcp.Dial(op, spec)
}

// exec passes jobs on; around a read it notes what the read got.
type exec struct{ st *FakeStage }

func (e *exec) Go(op port.Op, work func(context.Context) error, done func(error)) func() {
	if op.Kind != port.OpRead {
		return e.st.mcp.Go(op, work, done)
	}
	return e.st.mcp.Go(op, func(ctx context.Context) error {
		e.st.hit = false
		err := work(ctx)
		e.st.noteRead(op)
		return err
	}, done)
}

func (st *FakeStage) noteRead(op port.Op) {
	for s := model.Defaults; s < model.NumScopes; s++ {
		if st.paths[s] == "" || !strings.HasSuffix(op.Detail, st.paths[s]) {
			continue
		}
		c := model.Content{State: model.Unreadable}
		if !st.hit {
			data, state := st.fs.ReadRaw(st.paths[s])
			c = st.content(data, state)
			if s == model.Approvals {
				c, _ = st.records(data, state)
			}
		}
		st.sink.Input(st.Now(), model.Input{Kind: model.InRead, Scope: s, Content: c})
	}
}

// Advance lets d pass.
func (st *FakeStage) Advance(d model.Ms) error {
	if err := st.q.RunUntil(st.q.Now() + port.Ms(d)); err != nil {
		return err
	}
	return st.err
}

// After runs f on the loop once d has passed.
func (st *FakeStage) After(d model.Ms, f func()) {
	st.steps++
	st.q.At(st.q.Now()+port.Ms(d), st.q.Tie(fakeclock.Step, "", 0), fakeclock.Func(func() { st.steps--; f() }))
}

// settle runs the queue until nothing is in flight (spec section 1, "settled"), at most budget.
func (st *FakeStage) settle(budget model.Ms, idle func() bool, polled func(since model.Ms) bool) bool {
	end := st.q.Now() + port.Ms(budget)
	since := st.Now()
	for {
		for !st.q.Idle() {
			if st.q.Step() != nil {
				return false
			}
		}
		if st.quiet() && idle() && polled(since) {
			return true
		}
		next, ok := st.q.Next()
		if !ok || next > end {
			return false
		}
		if st.q.RunUntil(next) != nil {
			return false
		}
	}
}

// quiet reports whether nothing of the world is under way that a host must still answer.
func (st *FakeStage) quiet() bool {
	if st.files > 0 || st.steps > 0 || st.mcp.InFlight() > 0 {
		return false
	}
	for _, k := range [...]port.TimerKind{port.TimerDebounce, port.TimerDiscovery, port.TimerListener, port.TimerKill, port.TimerLock} {
		if st.q.Timers(k) > 0 {
			return false
		}
	}
	if st.q.Timers(port.TimerRetry) > 0 && st.retries != nil {
		for _, r := range st.retries() {
			if model.Ms(r.FailedAt) < st.lastStep {
				return false
			}
		}
	}
	return true
}

func (st *FakeStage) busy() []string {
	var out []string
	if st.files > 0 {
		out = append(out, fmt.Sprintf("%d file events", st.files))
	}
	if st.steps > 0 {
		out = append(out, fmt.Sprintf("%d parts of steps", st.steps))
	}
	for _, j := range st.mcp.Jobs() {
		if !j.Cancelled {
			out = append(out, fmt.Sprintf("job %d of %s (connection %d)", j.Op.Kind, j.Op.Server, j.Op.Conn))
		}
	}
	for k := port.TimerDebounce; k <= port.TimerLock; k++ {
		if n := st.q.Timers(k); n > 0 {
			out = append(out, fmt.Sprintf("%d timers of kind %d", n, k))
		}
	}
	return out
}

// Snapshot fills in what the world sees of the host.
func (st *FakeStage) Snapshot(into *model.HostView) {
	into.Dials = st.mcp.Dials()
	into.Processes = st.mcp.Processes()
}

// RecordViews is the approvals file as it is.
func (st *FakeStage) RecordViews() []model.RecordView {
	p := st.paths[model.Approvals]
	if p == "" {
		return nil
	}
	data, state := st.fs.ReadRaw(p)
	_, records := st.records(data, state)
	return RecordList(records)
}

// hostDied is the end of the host process without a word.
func (st *FakeStage) hostDied(lost bool) {
	st.q.Abandon()
	st.mcp.HostDied()
	st.fs.Crash(lost)
	st.ways = [model.NumScopes]way{}
	st.files = 0
}

// hostStarts lays the paths for the launch of the next process.
func (st *FakeStage) hostStarts(l *model.Launch) {
	st.l = l
	st.paths = sim.Paths(l)
	st.seen = [model.NumScopes]raw{}
	st.ways = [model.NumScopes]way{}
}

// Close forgets the world.
func (st *FakeStage) Close() error { return nil }
