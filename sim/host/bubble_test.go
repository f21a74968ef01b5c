package host

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/afero"

	"mcpsim/impl"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/live"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/fakefs"
	"mcpsim/sim/gen"
	"mcpsim/sim/trace"
)

// bubble is the second layer: the live loop, with its goroutines, timers and contexts, in a synctest bubble of virtual time.
// Files and servers are the fakes of a FakeStage, whose queue follows the bubble's clock; whatever they call back is posted to
// the loop, and everything of theirs is touched under one lock.
type bubble struct {
	mu    sync.Mutex
	st    *FakeStage
	ex    port.Exec
	start time.Time
	wake  chan struct{}
	quit  chan struct{}
	after int // parts of host steps that are under way; of the loop

	deaf, exitless bool // broken on purpose: TestABrokenLoopIsSeen

	loop *live.Loop
	h    *live.Host
	d    Driver
	t    *model.Table
}

type nobody struct{}

func (nobody) Input(model.Ms, model.Input)  {}
func (nobody) Event(model.Ms, *model.Event) {}

// newBubble starts the host that a header describes.
func newBubble(hd *trace.Header) (*bubble, error) {
	l := sim.LaunchOf(&hd.Launch)
	b := &bubble{st: NewFakeStage(), start: time.Now(), wake: make(chan struct{}, 1), quit: make(chan struct{}), t: model.NewTable(l)}
	if err := b.st.Reset(hd, model.NewTable(l), nobody{}); err != nil {
		return nil, err
	}
	b.ex = &exec{b.st}
	b.d.Prepare(hd, b, NewTranslator(b.t), nobody{})
	go b.pump()
	cwd := sim.PathRoot
	switch hd.Launch.Cwd {
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
	o := live.Options{Dir: cwd, Home: sim.PathHome, SystemDefaults: paths[model.Defaults], SystemSettings: paths[model.System],
		Trusted: l.Trusted, Pool: l.Mode == model.Pool, Bare: l.Bare, ApprovalsOff: l.ApprovalsOff, Uninitialized: l.Uninitialized,
		Environ: env, Inject: b.d.Inject, Observe: func(ev *event.Event) { b.d.Event(ev) },
		Outside: func(loop *live.Loop) (port.FS, port.Dialer) {
			b.loop = loop
			return &bubbleFS{b.st.fs.Host(), b}, b
		}}
	if l.HasFlag {
		o.Allowed = append([]string{}, l.Flag...)
	}
	if l.McpConfig != nil {
		o.MCPConfig = l.McpConfig.Append(nil)
	}
	var err error
	if b.h, err = live.New(context.Background(), o); err != nil {
		close(b.quit)
		return nil, err
	}
	if e := b.h.Core(context.Background(), func(core *impl.Host) { err = b.d.Attach(core) }); err == nil {
		err = e
	}
	return b, err
}

// close ends everything; a request that hangs in the fakes ends with it.
func (b *bubble) close() error {
	close(b.quit)
	return b.h.Close(context.Background())
}

// with runs f while nothing else touches the fakes, at the bubble's time.
func (b *bubble) with(f func()) {
	b.mu.Lock()
	b.catchUp()
	f()
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *bubble) catchUp() {
	if err := b.st.q.RunUntil(port.Ms(time.Since(b.start).Milliseconds())); err != nil {
		panic(err)
	}
}

// pump lets what is due in the fakes happen when it is due.
func (b *bubble) pump() {
	for {
		b.mu.Lock()
		b.catchUp()
		next, ok := b.st.q.Next()
		b.mu.Unlock()
		var due <-chan time.Time
		if ok {
			due = time.After(time.Until(b.start.Add(time.Duration(next) * time.Millisecond)))
		}
		select {
		case <-due:
		case <-b.wake:
		case <-b.quit:
			return
		}
	}
}

// Now, After and RecordViews are the driver's world; they are called on the loop.
func (b *bubble) Now() model.Ms { return model.Ms(time.Since(b.start).Milliseconds()) }

func (b *bubble) After(d model.Ms, f func()) {
	b.after++
	time.AfterFunc(time.Duration(d)*time.Millisecond, func() {
		b.loop.Post(func() { b.after--; f() })
	})
}

func (b *bubble) RecordViews() []model.RecordView { return nil } // the file itself is compared

// decided is what the approvals file holds.
func decided(st *FakeStage) []string {
	p := st.paths[model.Approvals]
	if p == "" {
		return nil
	}
	data, state := st.fs.ReadRaw(p)
	if state != fakefs.OK {
		return []string{fmt.Sprint("records: state ", state)}
	}
	lines, err := approval.Decode(data)
	out := []string{fmt.Sprint("records: good ", err == nil)}
	for _, l := range lines {
		out = append(out, fmt.Sprint("record ", l.Root, " ", l.Server, " ", l.Hash, " ", l.Approved))
	}
	return out
}

// bubbleFS is the fake file system for jobs on many goroutines; its events come on the loop.
type bubbleFS struct {
	port.FS
	b *bubble
}

func (f *bubbleFS) Open(p string) (af afero.File, err error) {
	f.b.with(func() { af, err = f.FS.Open(p) })
	return f.file(af), err
}
func (f *bubbleFS) OpenFile(p string, flag int, mode os.FileMode) (af afero.File, err error) {
	f.b.with(func() { af, err = f.FS.OpenFile(p, flag, mode) })
	return f.file(af), err
}
func (f *bubbleFS) Stat(p string) (i os.FileInfo, err error) {
	f.b.with(func() { i, err = f.FS.Stat(p) })
	return i, err
}
func (f *bubbleFS) LstatIfPossible(p string) (i os.FileInfo, ok bool, err error) {
	f.b.with(func() { i, ok, err = f.FS.LstatIfPossible(p) })
	return i, ok, err
}
func (f *bubbleFS) ReadlinkIfPossible(p string) (to string, err error) {
	f.b.with(func() { to, err = f.FS.ReadlinkIfPossible(p) })
	return to, err
}
func (f *bubbleFS) Mkdir(p string, mode os.FileMode) (err error) {
	f.b.with(func() { err = f.FS.Mkdir(p, mode) })
	return err
}
func (f *bubbleFS) Remove(p string) (err error) {
	f.b.with(func() { err = f.FS.Remove(p) })
	return err
}
func (f *bubbleFS) Rename(from, to string) (err error) {
	f.b.with(func() { err = f.FS.Rename(from, to) })
	return err
}
func (f *bubbleFS) SyncDir(p string) (err error) {
	f.b.with(func() { err = f.FS.SyncDir(p) })
	return err
}
func (f *bubbleFS) TryLock(p string) (unlock func(), ok bool, err error) {
	var inner func()
	f.b.with(func() { inner, ok, err = f.FS.TryLock(p) })
	return func() { f.b.with(inner) }, ok, err
}
func (f *bubbleFS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	w := &bubbleWatch{b: f.b}
	var err error
	f.b.with(func() {
		w.inner, err = f.FS.Watch(dir, func(ev port.FSEvent) {
			if f.b.deaf {
				return
			}
			f.b.loop.Post(func() {
				if !w.closed {
					h(ev)
				}
			})
		})
	})
	return w, err
}
func (f *bubbleFS) file(af afero.File) afero.File {
	if af == nil {
		return nil
	}
	return &bubbleFile{af, f.b}
}

type bubbleWatch struct {
	b      *bubble
	inner  port.Watch
	closed bool // of the loop
}

func (w *bubbleWatch) Close() (err error) {
	w.closed = true
	w.b.with(func() { err = w.inner.Close() })
	return err
}

type bubbleFile struct {
	afero.File
	b *bubble
}

func (f *bubbleFile) Read(p []byte) (n int, err error) {
	f.b.with(func() { n, err = f.File.Read(p) })
	return n, err
}
func (f *bubbleFile) Write(p []byte) (n int, err error) {
	f.b.with(func() { n, err = f.File.Write(p) })
	return n, err
}
func (f *bubbleFile) Sync() (err error) {
	f.b.with(func() { err = f.File.Sync() })
	return err
}
func (f *bubbleFile) Close() (err error) {
	f.b.with(func() { err = f.File.Close() })
	return err
}

// Dial makes b the host's dialer.
func (b *bubble) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	c := &bubbleConn{b: b, id: op.Conn, server: spec.Server}
	var err error
	b.with(func() { c.inner, err = b.st.mcp.Dial(op, spec) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// bubbleConn drives a fake connection from goroutines that wait: each request is a job of the fakes, with its delay.
type bubbleConn struct {
	b      *bubble
	id     port.ConnID
	server string
	inner  port.Conn
}

func (c *bubbleConn) Transport() transport.Interface { return c }
func (c *bubbleConn) OnExit(f func(error)) {
	if c.b.exitless {
		return
	}
	c.b.with(func() { c.inner.OnExit(func(err error) { c.b.loop.Post(func() { f(err) }) }) })
}
func (c *bubbleConn) OnGone(f func()) {
	if !c.b.exitless {
		c.b.with(func() { c.inner.OnGone(func() { c.b.loop.Post(f) }) })
	}
}
func (c *bubbleConn) CloseInput()   { c.b.with(c.inner.CloseInput) }
func (c *bubbleConn) Terminate()    { c.b.with(c.inner.Terminate) }
func (c *bubbleConn) Kill()         { c.b.with(c.inner.Kill) }
func (c *bubbleConn) Process() bool { return c.inner.Process() }
func (c *bubbleConn) Began() (ok bool) {
	c.b.with(func() { ok = c.inner.(interface{ Began() bool }).Began() })
	return ok
}

func (c *bubbleConn) job(ctx context.Context, kind port.OpKind, work func() error) error {
	done := make(chan error, 1)
	var cancel func()
	c.b.with(func() {
		cancel = c.b.ex.Go(port.Op{Kind: kind, Conn: c.id, Server: c.server}, func(context.Context) error { return work() }, func(err error) { done <- err })
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		c.b.with(cancel) // it ends now, unless its answer is in the pipe
	case <-c.b.quit:
		return context.Canceled
	}
	select {
	case err := <-done:
		return err
	case <-c.b.quit:
		return context.Canceled
	}
}

func (c *bubbleConn) Start(ctx context.Context) error {
	return c.job(ctx, port.OpStart, func() error { return c.inner.Transport().Start(context.Background()) })
}

func (c *bubbleConn) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (res *transport.JSONRPCResponse, err error) {
	kind := map[string]port.OpKind{string(mcp.MethodInitialize): port.OpInitialize, string(mcp.MethodToolsList): port.OpListTools,
		string(mcp.MethodPromptsList): port.OpListPrompts, string(mcp.MethodResourcesList): port.OpListResources,
		string(mcp.MethodToolsCall): port.OpCall}[r.Method]
	var got *transport.JSONRPCResponse
	err = c.job(ctx, kind, func() (err error) {
		got, err = c.inner.Transport().SendRequest(context.Background(), r)
		return err
	})
	if err != nil {
		return nil, err
	}
	return got, nil
}

func (c *bubbleConn) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) (err error) {
	c.b.with(func() { err = c.inner.Transport().SendNotification(ctx, n) })
	return err
}

func (c *bubbleConn) SetNotificationHandler(f func(mcp.JSONRPCNotification)) {
	c.b.with(func() { c.inner.Transport().SetNotificationHandler(f) })
}

func (c *bubbleConn) Close() error {
	return c.job(context.Background(), port.OpEnd, func() error { return c.inner.Transport().Close() })
}

func (c *bubbleConn) GetSessionId() string { return "" }

// settle waits until nothing is in flight; ok is false if that takes longer than budget.
func (b *bubble) settle(budget time.Duration) (ok bool) {
	since := b.Now()
	for end := time.Now().Add(budget); ; time.Sleep(time.Millisecond) {
		synctest.Wait()
		quiet := false
		b.with(func() { quiet = b.st.quiet() })
		_ = b.h.Core(context.Background(), func(core *impl.Host) {
			ok = quiet && b.after == 0 && core.Settled() && core.PolledOnceSince(port.Ms(since))
			for _, r := range core.Retries() {
				ok = ok && model.Ms(r.FailedAt) >= b.st.lastStep
			}
		})
		if ok || time.Now().After(end) {
			return ok
		}
	}
}

// play plays a trace and returns what is shown at each settle.
func (b *bubble) play(tr *trace.Trace) (shown [][]string, err error) {
	ctx := context.Background()
	synctest.Wait()
	for i := range tr.Steps {
		s := &tr.Steps[i]
		switch s.Do {
		case trace.Advance:
			time.Sleep(time.Duration(s.Ms) * time.Millisecond)
			synctest.Wait()
			continue
		case trace.Settle:
			if !b.settle(time.Duration(sim.SettleBudget) * time.Millisecond) {
				return shown, nil
			}
			var snap model.Snapshot
			if e := b.h.Core(ctx, func(*impl.Host) { snap, err = b.d.Observe() }); e != nil || err != nil {
				return shown, fmt.Errorf("%v %v", e, err)
			}
			var file []string
			b.with(func() { file = decided(b.st) })
			shown = append(shown, append(show(&snap, b.t), file...))
			continue
		}
		world := false
		b.with(func() { world, err = b.st.Do(s) })
		if err == nil && !world {
			if e := b.h.Core(ctx, func(*impl.Host) { err = b.d.Do(s) }); e != nil {
				err = e
			}
		}
		if err != nil {
			return shown, err
		}
	}
	return shown, nil
}

// show is an end state: what does not depend on which of two things of one instant came first.
func show(s *model.Snapshot, t *model.Table) []string {
	text := func(id model.ConfigID) string {
		if c := t.ByID(id); c != nil {
			return c.Text
		}
		return "?"
	}
	var out []string
	for i := range s.Sessions {
		v := &s.Sessions[i]
		for _, q := range v.Ask {
			out = append(out, fmt.Sprint(v.ID, " asks ", q.Server, " ", text(q.Config), " ", q.Source))
		}
		for _, x := range v.Servers {
			out = append(out, fmt.Sprint(v.ID, " ", x.Name, " ", x.States, x.Tools, x.Prompts, x.Resources, x.Text, x.File, x.Shadows))
		}
		for _, n := range v.Notices {
			out = append(out, fmt.Sprint(v.ID, " notice ", n.File, " ", n.Server, " ", n.Key, " ", n.Kind))
		}
		for _, c := range v.Calls {
			out = append(out, fmt.Sprint(v.ID, " call ", c.ID, " ", c.Outcome))
		}
	}
	for _, p := range s.Host.Pool {
		out = append(out, fmt.Sprint("pool ", p.Server, " ", t.ByFp(p.Config).CommandLine, " ", p.Sessions))
	}
	sort.Strings(out)
	return out
}

// apart puts a trace's steps into instants of their own, at odd distances. It takes out restarts, since a live host does not
// die and live on in one process, and armed faults: which of two operations of one instant meets one is nobody's business.
func apart(tr *trace.Trace) *trace.Trace {
	out := &trace.Trace{Header: *sim.Resolve.Header(&tr.Header)}
	out.Header.Faults = nil
	for i := range out.Header.Servers {
		unround(&out.Header.Servers[i].Behaviour)
	}
	for i := range tr.Steps {
		if tr.Steps[i].Do != trace.Restart && tr.Steps[i].Do != trace.Fault {
			s := *sim.Resolve.Step(&tr.Steps[i])
			if s.Behaviour != nil {
				b := *s.Behaviour
				s.Behaviour = &b
				unround(&b)
			}
			s.GapMs = 0 // a write that takes its time moves the clock, which is the bubble's here
			out.Steps = append(out.Steps, s, trace.Step{Do: trace.Advance, Ms: 7})
		}
	}
	return out
}

// unround makes delays end when nothing else does: a dial that takes exactly its bound may end either way.
func unround(b *model.Behaviour) {
	for i := range b.Delays {
		if d := &b.Delays[i]; d.Ms > 0 {
			d.Ms += 3 - d.Ms%10
		}
	}
}

// simulated is what the simulator shows at each settle.
func simulated(tr *trace.Trace) (shown [][]string, r *sim.Result) {
	st := NewFakeStage()
	p := &tabled{InProcess: NewInProcess(st)}
	r = sim.Play(tr, st, p, sim.PlayOptions{KeepGoing: true})
	for i := range r.Shown {
		shown = append(shown, append(show(&r.Shown[i], p.t), p.files[i]...))
	}
	return shown, r
}

// tabled keeps what the approvals file holds at each settle.
type tabled struct {
	*InProcess
	files [][]string
}

func (y *tabled) Observe() (model.Snapshot, error) {
	y.files = append(y.files, decided(y.st))
	return y.InProcess.Observe()
}

// TestLiveLoopInABubble: drawn traces end on the live loop as they end in the simulator, in both modes. The number comes from
// MCPSIM_BUBBLES. No trace is left out; restarts, armed faults and the gaps inside a write are taken out of each (apart).
func TestLiveLoopInABubble(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MCPSIM_BUBBLES"))
	if err != nil {
		n = 60
	}
	p, err := gen.ParseProfile("default")
	if err != nil {
		t.Fatal(err)
	}
	settles, ties := 0, 0
	for seed := range uint64(n) {
		for _, mode := range []string{"single", "pool"} {
			tr := apart(gen.Draw(seed, p))
			tr.Header.Launch.Mode = mode
			want, _ := simulated(tr)
			got, err := inABubble(t, tr, nil)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, mode, err)
			}
			for i := range min(len(want), len(got)) {
				settles++
				if slices.Equal(want[i], got[i]) {
					continue
				}
				if slices.Equal(notEnded(want[i]), notEnded(got[i])) {
					ties++ // an answer and the end of its connection met in one millisecond
					continue
				}
				t.Errorf("seed %d, %s, settle %d:\n%s", seed, mode, i+1, differ(want[i], got[i]))
				break
			}
		}
	}
	t.Logf("%d traces in each mode, %d end states, %d but for how a call ended", n, settles, ties)
	if ties > 1+settles/1000 {
		t.Errorf("%d of %d end states differ in how a call ended", ties, settles)
	}
	if settles < n {
		t.Errorf("only %d end states were compared", settles)
	}
}

// notEnded leaves out how calls ended.
func notEnded(lines []string) []string {
	var out []string
	for _, l := range lines {
		if !strings.Contains(l, " call ") || strings.HasSuffix(l, " running") {
			out = append(out, l)
		}
	}
	return out
}

// TestABrokenLoopIsSeen: a loop that loses file events, or the ends of processes, ends elsewhere.
func TestABrokenLoopIsSeen(t *testing.T) {
	p, err := gen.ParseProfile("default")
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*bubble){
		"file events are lost": func(b *bubble) { b.deaf = true },
		"exits are not told":   func(b *bubble) { b.exitless = true },
	} {
		seen := false
		for seed := uint64(0); seed < 100 && !seen; seed++ {
			tr := apart(gen.Draw(seed, p))
			want, _ := simulated(tr)
			got, err := inABubble(t, tr, spoil)
			seen = err != nil || len(got) < len(want)
			for i := range min(len(want), len(got)) {
				seen = seen || !slices.Equal(want[i], got[i])
			}
		}
		if !seen {
			t.Errorf("%s, and a hundred traces end as they should", name)
		}
	}
}

func differ(want, got []string) string {
	var b strings.Builder
	for _, l := range want {
		if !slices.Contains(got, l) {
			b.WriteString("  simulator " + l + "\n")
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			b.WriteString("  live loop " + l + "\n")
		}
	}
	return b.String()
}

func inABubble(t *testing.T, tr *trace.Trace, spoil func(*bubble)) (shown [][]string, err error) {
	synctest.Test(t, func(*testing.T) {
		var b *bubble
		if b, err = newBubble(&tr.Header); err != nil {
			return
		}
		if spoil != nil {
			b.with(func() { spoil(b) })
		}
		shown, err = b.play(tr)
		if e := b.close(); err == nil {
			err = e
		}
		synctest.Wait()
	})
	return shown, err
}
