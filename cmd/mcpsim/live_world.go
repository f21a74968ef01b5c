package main

import (
	"context"
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/live"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	simhost "mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// liveSession is the session that asks and calls; others can be opened beside it.
const liveSession = "s1"

// liveWorld is the live host and what happens around it, told in the model's words. Everything of it belongs to the host's
// loop, but for what says otherwise.
type liveWorld struct {
	opt    *liveOptions
	start  time.Time
	at     model.Ms
	loop   *live.Loop
	host   *live.Host
	core   *impl.Host // nil until it has a session
	dialer *live.Dialer
	fs     *tapFS

	t       *model.Table
	x       *simhost.Translator
	cache   *config.Cache
	driver  simhost.Driver
	sinks   []liveSink
	paths   [model.NumScopes]string
	seen    [model.NumScopes]fileSeen // what the sinks were told
	got     [model.NumScopes]fileSeen // what the host's last load got
	conns   map[port.ConnID]*tapConn
	groups  map[*tapConn]bool           // process groups that are there
	unheard [model.NumScopes]time.Time  // since when a change has not been heard of
	dials   map[string]int              // by name
	scripts map[string]*model.Behaviour // by command line or URL: how that server was last seen to act
	calls   []model.CallView
	shown   []event.Question // what was last looked at

	held      bool      // time stands still: the host reads everything, because of trust
	changed   time.Time // when something last happened
	settledAt model.Ms
	dirty     bool // something happened since it was settled
	idle      bool // the event that is told is of a poll that found what was there
	untrusted bool
	onEvent   func(ev *event.Event)
	onSettled func()

	mu    sync.Mutex      // of what follows
	heard []func()        // what connections have said: told on the loop
	own   map[string]bool // approvals files that the host wrote itself
}

// liveSink hears everything, in order.
type liveSink interface {
	sim.Sink
	// Settled hears what is shown when nothing is in flight.
	Settled(at model.Ms, snap *model.Snapshot)
	Flush() error
}

type fileState uint8

const (
	fileMissing fileState = iota
	fileUnreadable
	fileReadable
)

type fileSeen struct {
	state fileState
	data  string
	told  bool
}

// readSource is what a read of a path gives now. A link that leads nowhere is there, and unreadable (SRC-6).
func readSource(p string) fileSeen {
	if st, err := os.Stat(p); err == nil && !st.Mode().IsRegular() {
		return fileSeen{fileUnreadable, "", true}
	}
	data, err := os.ReadFile(p)
	if err == nil {
		return fileSeen{fileReadable, string(data), true}
	}
	if _, lerr := os.Lstat(p); errors.Is(lerr, iofs.ErrNotExist) || errors.Is(lerr, syscall.ENOTDIR) {
		return fileSeen{fileMissing, "", true}
	}
	return fileSeen{fileUnreadable, "", true}
}

// startLive starts the host. makeSinks is given the world as it was before anything happened.
func startLive(o *liveOptions, makeSinks func(*liveWorld, *model.Launch) ([]liveSink, error)) (*liveWorld, error) {
	dir, err := filepath.Abs(o.workspace)
	if err != nil {
		return nil, err
	}
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	home, err := filepath.EvalSymlinks(o.home)
	if err != nil {
		home = o.home
	}
	launch := o.launch(home == root)
	l := launch.Model(root)
	l.Env = map[string]string{}
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok {
			l.Env[name] = value
		}
	}
	w := &liveWorld{opt: o, start: time.Now(), t: model.NewTable(&l), cache: config.NewCache(), own: map[string]bool{},
		conns: map[port.ConnID]*tapConn{}, scripts: map[string]*model.Behaviour{}, dials: map[string]int{}, groups: map[*tapConn]bool{}, changed: time.Now(), dirty: true,
		onEvent: func(*event.Event) {}, onSettled: func() {}}
	w.x = simhost.NewTranslator(w.t)
	w.paths = [model.NumScopes]string{model.Defaults: o.defaults, model.System: o.system,
		model.User: filepath.Join(o.home, ".qwen", "settings.json"), model.Approvals: filepath.Join(o.home, ".qwen", "mcpApprovals.json"),
		model.Project: filepath.Join(root, ".mcp.json"), model.Workspace: filepath.Join(root, ".qwen", "settings.json")}
	if home == root {
		w.paths[model.Workspace] = ""
	}
	header := &trace.Header{Launch: launch}
	if w.sinks, err = makeSinks(w, &l); err != nil {
		return nil, err
	}
	w.driver.Prepare(header, w, w.x, w)
	for s := range w.paths {
		w.tellFile(model.Scope(s), true)
	}
	opts := live.Options{Dir: dir, Home: o.home, SystemDefaults: o.defaults, SystemSettings: o.system, Trusted: true,
		Pool: o.mode == "pool", ApprovalsOff: o.approvals == "off", Observe: w.observe,
		Outside: func(loop *live.Loop) (port.FS, port.Dialer) {
			w.loop = loop
			w.fs = &tapFS{FS: live.NewFS(loop), w: w, got: map[string]string{}}
			w.dialer = live.NewDialer(loop, live.DialerOptions{Environ: os.Environ()})
			return w.fs, w
		}}
	if l.HasFlag {
		opts.Allowed = append([]string{}, l.Flag...)
	}
	if w.host, err = live.New(context.Background(), opts); err != nil {
		if w.dialer != nil {
			w.dialer.Close()
			_ = w.fs.Close()
		}
		return nil, err
	}
	var attached error
	err = w.turn(func(core *impl.Host) {
		w.core, w.start = core, w.loop.Turn()
		attached = w.driver.Attach(core)
	})
	return w, errors.Join(err, attached)
}

// close ends the host and everything that it started. A receive from kill ends it at once.
func (w *liveWorld) close(kill <-chan struct{}) error {
	_ = w.turn(func(*impl.Host) { w.Input(w.Now(), model.Input{Kind: model.InShutdown}) })
	over := make(chan error, 1)
	go func() { over <- w.host.Close(context.Background()) }()
	var err error
	select {
	case err = <-over:
	case <-kill:
		w.dialer.KillAll()
		err = <-over
	}
	w.dialer.Close()
	err = errors.Join(err, w.fs.FS.Close())
	w.at = max(w.at, model.Ms(time.Since(w.start).Milliseconds()))
	for _, s := range w.sinks { // the loop has ended
		err = errors.Join(err, s.Flush())
	}
	return err
}

// turn runs f on the loop, with the world told up to now. It may be called from anywhere else.
func (w *liveWorld) turn(f func(*impl.Host)) error {
	return w.host.Core(context.Background(), func(core *impl.Host) {
		if w.held && !slices.ContainsFunc(core.Busy(), func(s string) bool { return strings.HasPrefix(s, "load") || strings.HasPrefix(s, "read") }) {
			w.held = false
		}
		w.catchUp()
		f(core)
	})
}

func (w *liveWorld) tick() {
	if w.core == nil || w.held {
		return // it reads everything, which is one instant
	}
	if ms := model.Ms(w.loop.Turn().Sub(w.start).Milliseconds()); ms > w.at {
		w.at = ms
	}
}

// catchUp tells what the world did by itself.
func (w *liveWorld) catchUp() {
	w.tick()
	w.mu.Lock()
	heard := w.heard
	w.heard = nil
	w.mu.Unlock()
	for _, f := range heard {
		f()
	}
}

// hear has f run on the loop before the next thing that is told. It may be called from anywhere.
func (w *liveWorld) hear(f func()) {
	w.mu.Lock()
	w.heard = append(w.heard, f)
	w.mu.Unlock()
}

// Now is the present instant, in ms since the start.
func (w *liveWorld) Now() model.Ms { return w.at }

// After runs f on the loop once d has passed.
func (w *liveWorld) After(d model.Ms, f func()) {
	time.AfterFunc(time.Duration(d)*time.Millisecond, func() { w.loop.Post(f) })
}

// RecordViews is the approvals file as it is.
func (w *liveWorld) RecordViews() []model.RecordView {
	_, records := w.records(readSource(w.paths[model.Approvals]))
	return simhost.RecordList(records)
}

// Input tells the sinks what the world did.
func (w *liveWorld) Input(at model.Ms, in model.Input) {
	w.touch()
	for _, s := range w.sinks {
		s.Input(at, in)
	}
}

// Event tells the sinks what the host did.
func (w *liveWorld) Event(at model.Ms, ev *model.Event) {
	for _, s := range w.sinks {
		s.Event(at, ev)
	}
}

func (w *liveWorld) touch() { w.changed, w.dirty = time.Now(), true }

// observe takes an event of the host.
func (w *liveWorld) observe(ev *event.Event) {
	w.catchUp()
	was, dirty := w.changed, w.dirty
	w.touch()
	w.idle = false
	switch ev.Kind {
	case event.Wake:
		w.tellFile(scopeOf(ev.Scope), true)
	case event.Load:
		if w.tellRead(scopeOf(ev.Scope), ev.Outcome, ev.Why) && ev.Why == "poll" {
			w.idle, w.changed, w.dirty = true, was, dirty // it goes on every 2 s
		}
	case event.Wrote, event.Decided, event.Refused:
		w.tellFile(model.Approvals, true)
	case event.Dialed:
		w.dialed(ev.Conn)
	case event.DialFailed:
		w.dialFailed(ev.Conn, ev.Outcome)
	case event.Closing:
		if c := w.conns[ev.Conn]; c != nil {
			c.closing = true
		}
	case event.Closed:
		delete(w.conns, ev.Conn)
	case event.CallEnd:
		for i := range w.calls {
			if w.calls[i].ID == ev.Call {
				w.calls[i].Outcome = ev.Outcome
			}
		}
	}
	w.driver.Event(ev)
	w.onEvent(ev)
}

func scopeOf(s event.Scope) model.Scope {
	for k := model.Defaults; k < model.NumScopes; k++ {
		if k.String() == string(s) {
			return k
		}
	}
	return model.NumScopes
}

// tellFile tells what a read of a source gives, where that changed.
func (w *liveWorld) tellFile(s model.Scope, byWorld bool) {
	if s >= model.NumScopes || w.paths[s] == "" {
		return
	}
	now := readSource(w.paths[s])
	if now == w.seen[s] {
		return
	}
	w.seen[s] = now
	if s != model.Approvals {
		w.Input(w.at, model.Input{Kind: model.InFile, Scope: s, Content: w.content(now)})
		return
	}
	c, records := w.records(now)
	w.Input(w.at, model.Input{Kind: model.InRecords, Content: c, Records: records, On: byWorld && !w.wroteIt(now)})
}

func (w *liveWorld) wroteIt(now fileSeen) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return now.state == fileReadable && w.own[now.data]
}

// tellRead tells what the read behind a load got: what was in the file that it opened, or else that there was none to open.
// It reports whether that is what the last got.
func (w *liveWorld) tellRead(s model.Scope, outcome, why string) (same bool) {
	if s >= model.NumScopes || w.paths[s] == "" {
		return false
	}
	w.tellFile(s, true)
	now := fileSeen{fileUnreadable, "", true}
	if data, ok := w.fs.take(w.paths[s]); ok {
		now = fileSeen{fileReadable, data, true}
	} else if outcome == "missing" {
		now.state = fileMissing
	}
	same = w.got[s] == now
	w.got[s] = now
	c := w.content(now)
	if s == model.Approvals {
		c, _ = w.records(now)
	}
	w.Input(w.at, model.Input{Kind: model.InRead, Scope: s, Content: c})
	for _, k := range w.sinks {
		if r, ok := k.(*traceRecorder); ok {
			r.loaded(w.at, s, now, why)
		}
	}
	return same
}

func (w *liveWorld) content(f fileSeen) model.Content {
	switch f.state {
	case fileMissing:
		return model.Content{State: model.Missing}
	case fileUnreadable:
		return model.Content{State: model.Unreadable}
	}
	c := trace.Denote([]byte(f.data))
	if servers := c.Value.Get("mcpServers"); servers != nil {
		for i := range servers.Members { // so that a record is recognised by its hash
			w.x.Record(w.cache, w.root(), servers.Members[i].Key, servers.Members[i].Value, "approved")
		}
	}
	return c
}

func (w *liveWorld) root() string { return filepath.Dir(w.paths[model.Project]) }

func (w *liveWorld) records(f fileSeen) (model.Content, map[string]model.Record) {
	switch f.state {
	case fileMissing:
		return model.Content{State: model.Missing}, map[string]model.Record{}
	case fileUnreadable:
		return model.Content{State: model.Unreadable}, map[string]model.Record{}
	}
	return w.x.Records(w.root(), []byte(f.data), trace.Denote([]byte(f.data)))
}

// do performs a step that a person takes.
func (w *liveWorld) do(core *impl.Host, s trace.Step) error {
	if s.Session == "" {
		s.Session = liveSession
	}
	if s.Do == trace.Look {
		w.shown = core.Questions(liveSession)
	} else {
		w.touch()
	}
	if s.Do == trace.Trust {
		w.held, w.untrusted = true, !s.Trusted
	}
	w.record(s)
	return w.driver.Do(&s)
}

func (w *liveWorld) record(s trace.Step) {
	for _, k := range w.sinks {
		if r, ok := k.(*traceRecorder); ok {
			r.step(w.at, s)
		}
	}
}

// call calls a tool; done runs on the loop.
func (w *liveWorld) call(core *impl.Host, id, server, tool string, args map[string]any, done func(outcome string, res *mcpgo.CallToolResult)) {
	for _, k := range w.sinks {
		if r, ok := k.(*traceRecorder); ok {
			r.call(w.at, trace.Step{Do: trace.Call, Session: liveSession, ID: id, Server: server, Tool: tool}, len(core.Busy()) > 0)
		}
	}
	w.calls = append(w.calls, model.CallView{ID: id, Outcome: "running"})
	w.Input(w.at, model.Input{Kind: model.InCall, Session: liveSession, Call: id, Server: server, Tool: tool})
	core.Call(liveSession, id, server, tool, args, done)
}

// Times of settling: how long nothing may have happened, and how long a change of a file may take to be heard of.
const (
	liveQuiet    = 150 * time.Millisecond
	liveDeafMost = 5 * time.Second
)

// look reports whether the host is settled, and tells so the first time that it is.
func (w *liveWorld) look(core *impl.Host) bool {
	if len(core.Busy()) > 0 {
		return false
	}
	for s := range w.paths {
		if s := model.Scope(s); w.paths[s] != "" {
			w.tellFile(s, true)
			switch {
			case w.seen[s] == w.got[s] || !w.watched(s):
				w.unheard[s] = time.Time{}
			case w.unheard[s].IsZero():
				w.unheard[s] = time.Now()
				return false
			case time.Since(w.unheard[s]) < liveDeafMost:
				return false
			}
		}
	}
	if time.Since(w.changed) < liveQuiet {
		return false
	}
	if !w.dirty {
		return true
	}
	snap, err := w.driver.Observe()
	if err != nil {
		return false
	}
	for i := range snap.Sessions {
		if snap.Sessions[i].ID == liveSession {
			snap.Sessions[i].Calls = slices.Clone(w.calls)
		}
	}
	alive := map[string]int{} // groups: whether npx runs its server beside itself is its own affair
	for c := range w.groups {
		alive[c.server]++
	}
	snap.Host.Dials, snap.Host.Processes = counts(w.dials), counts(alive)
	for _, s := range w.sinks {
		s.Settled(w.at, &snap)
	}
	w.dirty, w.settledAt = false, w.at
	w.onSettled()
	return true
}

// watched reports whether the host is to hear of a change of a source as it is now.
func (w *liveWorld) watched(s model.Scope) bool {
	switch s {
	case model.Defaults, model.System:
		return false
	case model.Project, model.Workspace:
		return !w.untrusted
	case model.Approvals:
		return !w.wroteIt(w.seen[s])
	}
	return true
}

func counts(n map[string]int) (out []model.Count) {
	for name, k := range n {
		out = append(out, model.Count{Server: name, N: k})
	}
	slices.SortFunc(out, func(a, b model.Count) int { return strings.Compare(a.Server, b.Server) })
	return out
}
