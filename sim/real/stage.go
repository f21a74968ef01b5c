package real

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpsim/impl"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/live"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/host"
	"mcpsim/sim/realserver"
	"mcpsim/sim/trace"
)

// Stage is the real world of one play: a directory, servers, and the time that passes. It is used once.
type Stage struct {
	base    string // its real path; the simulated machine's root directory
	ctl     *realserver.Controller
	urls    map[string]string           // by key
	servers map[string]*model.Behaviour // by key

	t       *model.Table
	sink    sim.Sink
	l       *model.Launch
	paths   [model.NumScopes]string
	root    string
	x       *host.Translator
	cache   *config.Cache
	denoted host.Texts

	filesMu sync.Mutex // of the world's edits, and of telling them
	byWorld bool       // the approvals file was changed by another process, and the machine has not heard of it
	start   time.Time
	plan    time.Time    // where the trace is
	at      atomic.Int64 // the instant, in ms
	held    hold         // time stands still: the host starts, or reads everything

	// The host process that runs.
	life   *life
	seen   [model.NumScopes]seen // what the machine was last told
	dials  map[string]int
	conns  map[string]dialled // by what a server's report calls the connection
	begins begins
	step   model.Ms // when the last step was
	later  atomic.Int64
	slow   model.Ms // by how much a dial outlasted its script, or a start the time that was meant to stand still, at most
	files  int      // numbers what the world's edits make
	locks  []*os.File
	// outside puts something between the host and the world, for tests; nil: nothing.
	outside func(port.FS, port.Dialer) (port.FS, port.Dialer)
	armed   []*fault
}

// life is one host process.
type life struct {
	host   *live.Host
	fs     *hostFS
	dialer *live.Dialer
	loop   *live.Loop
	began  model.Ms    // when its clock was 0
	over   atomic.Bool // it has died: what it still does reaches nobody
	n      int
}

type seen struct {
	state fileState
	data  string
	told  bool
}

type dialled struct {
	server string
	id     model.ConnID
	b      *model.Behaviour // when it was dialled; nil: nobody is there
}

// begins are the starts that servers have reported and the machine has not been told of.
type begins struct {
	sync.Mutex
	conns []string
}

// NewStage makes an empty world. exe is a program that calls realserver.Main when it IsServer: every server is that.
func NewStage(exe string) (*Stage, error) {
	dir, err := os.MkdirTemp("", "mcpsim") // short: a unix socket's path has to be
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	st := &Stage{base: dir, urls: map[string]string{}, servers: map[string]*model.Behaviour{}, cache: config.NewCache(), denoted: host.Texts{}, dials: map[string]int{},
		conns: map[string]dialled{}, start: time.Now()}
	if st.ctl, err = realserver.Listen(filepath.Join(dir, "sock")); err == nil {
		st.ctl.OnReport(func(r realserver.Report) {
			if r.Event == "start" && !r.Helper && r.Conn != "" {
				st.begins.Lock()
				st.begins.conns = append(st.begins.conns, r.Conn)
				st.begins.Unlock()
			}
		})
		if err = os.Mkdir(st.bin(), 0o755); err == nil {
			err = st.ctl.Commands(st.bin(), exe)
		}
	}
	if err != nil {
		_ = st.Close()
		return nil, err
	}
	return st, nil
}

func (st *Stage) bin() string { return filepath.Join(st.base, "bin") }

// path is where a path of the simulated machine is.
func (st *Stage) path(p string) string {
	if p == "" {
		return ""
	}
	return st.base + p
}

// URL is the address of a key's server; it is there from the first time that somebody asks.
func (st *Stage) URL(key string) string {
	if u, ok := st.urls[key]; ok {
		return u
	}
	u := "http://127.0.0.1:9" // nobody listens there
	if h, err := st.ctl.HTTP(key); err == nil {
		u = strings.TrimSuffix(h.URL, "/")
	}
	st.urls[key] = u
	return u
}

// Now is the present instant: it moves with the turns of the loop.
func (st *Stage) Now() model.Ms { return model.Ms(st.at.Load()) }

// hold is whether time stands still, and how many timers of the host had fired before.
type hold struct {
	on    atomic.Bool
	fired int // of the loop
}

// hold lets time stand still. No timer is fooled: if one of the host's fires, time has passed, and goes on. It is called
// on the host's loop, or while there is no host.
func (st *Stage) hold(fired int) {
	st.held.fired = fired
	st.held.on.Store(true)
}

func (st *Stage) release() { st.held.on.Store(false) }

// tick moves the instant to a moment, unless time stands still. lf is whose loop's turn it is; nil: nobody's.
func (st *Stage) tick(lf *life, t time.Time) {
	if st.held.on.Load() {
		if lf == nil || lf.loop.Fired() == st.held.fired {
			return
		}
		st.release()
		st.slow = max(st.slow, model.Ms(t.Sub(st.start).Milliseconds())-st.Now())
	}
	if ms := t.Sub(st.start).Milliseconds(); ms > st.at.Load() {
		st.at.Store(ms)
	}
}

// Turn runs f in a turn of the host's loop; without a host nothing happens by itself.
func (st *Stage) Turn(f func() error) error {
	return st.turn(func(*impl.Host) error { return f() })
}

func (st *Stage) turn(f func(core *impl.Host) error) error {
	lf := st.life
	if lf == nil || lf.over.Load() {
		st.tick(nil, time.Now())
		st.tellAll()
		return f(nil)
	}
	var err error
	if e := lf.host.Core(context.Background(), func(core *impl.Host) {
		st.tick(lf, lf.loop.Turn())
		st.tellAll()
		err = f(core)
	}); e != nil {
		return e
	}
	return err
}

// tellAll tells the machine what the world has done by itself.
func (st *Stage) tellAll() {
	st.tellBegins()
	st.tellFiles()
}

func (st *Stage) tellBegins() {
	st.begins.Lock()
	conns := st.begins.conns
	st.begins.conns = nil
	st.begins.Unlock()
	for _, c := range conns {
		if d, ok := st.conns[c]; ok && st.isOf(c) { // not of a host that has died meanwhile
			st.sink.Input(st.Now(), model.Input{Kind: model.InStarted, Conn: d.id, Server: d.server})
		}
	}
}

// Reset builds the world of a header.
func (st *Stage) Reset(h *trace.Header, t *model.Table, sink sim.Sink) error {
	st.t, st.sink, st.l, st.x = t, sink, sim.LaunchOf(&h.Launch), host.NewTranslator(t)
	for i := range h.Servers {
		s := &h.Servers[i]
		if err := st.behave(s.Key, &s.Behaviour); err != nil {
			return err
		}
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
	st.start = time.Now()
	st.plan = st.start
	return nil
}

func (st *Stage) place() {
	st.root = st.path(st.l.Root)
	for s, p := range sim.Paths(st.l) {
		st.paths[s] = st.path(p)
	}
}

func (st *Stage) layOut(h *trace.Header) error {
	st.place()
	for _, d := range []string{"/etc/qwen", sim.PathHome, sim.PathRoot} {
		if err := os.MkdirAll(st.path(d), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink(st.path(sim.PathRoot), st.path(sim.PathLink)); err != nil {
		return err
	}
	missing := map[string]bool{}
	for _, d := range h.Dirs {
		missing[st.dirOf(d)] = true
	}
	for _, p := range st.paths {
		if p != "" && !missing[filepath.Dir(p)] {
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				return err
			}
		}
	}
	for d := range missing {
		if d == st.path(sim.PathRoot) || d == st.path(sim.PathHome) {
			continue // a host does not start without its root
		}
		if err := os.RemoveAll(d); err != nil {
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
	var lines []approval.RecordLine
	for i := range h.Records {
		if l, ok := st.x.Record(st.cache, st.root, h.Records[i].Server, h.Records[i].Config, h.Records[i].Status); ok {
			lines = append(lines, l)
		}
	}
	if len(h.Records) == 0 {
		return nil
	}
	return st.put(st.paths[model.Approvals], approval.Encode(lines))
}

func (st *Stage) put(p string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		return err
	}
	return st.writeAtomic(p, data)
}

// dirOf is the directory that a trace names by a scope; a path is itself.
func (st *Stage) dirOf(name string) string {
	if s, ok := scopeNamed(name); ok && st.paths[s] != "" {
		return filepath.Dir(st.paths[s])
	}
	switch name {
	case "home":
		return st.path(sim.PathHome)
	case "root":
		return st.path(sim.PathRoot)
	}
	return st.path(name)
}

func scopeNamed(name string) (model.Scope, bool) {
	for s := model.Defaults; s < model.NumScopes; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// behave gives the servers of a key their behaviour; nil is that of one that nobody has listed.
func (st *Stage) behave(key string, b *model.Behaviour) error {
	url := st.URL(key)
	st.sink.Input(st.Now(), model.Input{Kind: model.InServer, Key: key, URL: url, Behaviour: b})
	st.servers[key] = b
	return st.ctl.Behave(key, behaviour(b))
}

type fileState uint8

const (
	missing fileState = iota
	unreadable
	readable
)

// readRaw is what a read of a path gives now. A link that leads nowhere is there, and unreadable (SRC-6).
func readRaw(p string) (string, fileState) {
	data, err := os.ReadFile(p)
	if err == nil {
		return string(data), readable
	}
	if _, lerr := os.Lstat(p); errors.Is(lerr, iofs.ErrNotExist) || errors.Is(lerr, errNotDir) {
		return "", missing
	}
	return "", unreadable
}

// tellFiles tells the machine what a read of each source would give, where that changed.
func (st *Stage) tellFiles() {
	st.filesMu.Lock()
	defer st.filesMu.Unlock()
	for s := model.Defaults; s < model.NumScopes; s++ {
		p := st.paths[s]
		if p == "" {
			continue
		}
		data, state := readRaw(p)
		if o := &st.seen[s]; o.told && o.state == state && o.data == data {
			continue
		}
		st.seen[s] = seen{state, data, true}
		c := st.content([]byte(data), state)
		if s != model.Approvals {
			st.sink.Input(st.Now(), model.Input{Kind: model.InFile, Scope: s, Content: c})
			continue
		}
		c, records := st.records([]byte(data), state)
		st.sink.Input(st.Now(), model.Input{Kind: model.InRecords, Content: c, Records: records, On: st.byWorld})
		st.byWorld = false
	}
}

func (st *Stage) content(data []byte, state fileState) model.Content {
	switch state {
	case missing:
		return model.Content{State: model.Missing}
	case unreadable:
		return model.Content{State: model.Unreadable}
	}
	return st.denoted.Content(data)
}

func (st *Stage) records(data []byte, state fileState) (model.Content, map[string]model.Record) {
	c := st.content(data, state)
	if state != readable {
		return c, map[string]model.Record{}
	}
	return st.x.Records(st.root, data, c)
}

// RecordViews is the approvals file as it is.
func (st *Stage) RecordViews() []model.RecordView {
	data, state := readRaw(st.paths[model.Approvals])
	_, records := st.records([]byte(data), state)
	return host.RecordList(records)
}

// Advance lets d pass, from where the trace is: what the steps before have taken is part of it, so that no delay adds up.
func (st *Stage) Advance(d model.Ms) error {
	now := time.Now()
	// A window that a step opened began when the step was made, which is a little after the plan's instant.
	if made := st.start.Add(time.Duration(st.step+1) * time.Millisecond); made.After(st.plan) && made.Sub(st.plan) < behindMost {
		st.plan = made
	}
	st.plan = st.plan.Add(time.Duration(d) * time.Millisecond)
	if wait := st.plan.Sub(now); wait > 0 {
		time.Sleep(wait)
	} else {
		st.plan = now
	}
	if d > 0 {
		time.Sleep(timersFirst)
	}
	return st.Turn(func() error { return nil })
}

const (
	// behindMost is how far a step may move the plan: one that took longer was waited for.
	behindMost = 10 * time.Millisecond
	// timersFirst is given to the host's timers of an instant: they come before the step that is made in it.
	timersFirst = 2 * time.Millisecond
)

// After runs f in a turn once d has passed.
func (st *Stage) After(d model.Ms, f func()) {
	st.later.Add(1)
	lf := st.life
	time.AfterFunc(time.Duration(d)*time.Millisecond, func() {
		lf.loop.Post(func() {
			st.later.Add(-1)
			if !lf.over.Load() {
				f()
			}
		})
	})
}

// Snapshot fills in what the world sees of the host.
func (st *Stage) Snapshot(into *model.HostView) {
	into.Dials = counts(st.dials)
	alive := map[string]int{}
	for _, r := range st.ctl.Processes() {
		if d, ok := st.conns[r.Conn]; ok && st.isOf(r.Conn) {
			alive[d.server]++
		}
	}
	into.Processes = counts(alive)
}

// isOf reports whether a connection is of the host process that runs.
func (st *Stage) isOf(conn string) bool {
	return strings.HasPrefix(conn, strconv.Itoa(st.lifeOf())+"/")
}

// lifeOf numbers the host process that runs; 0: there is none yet.
func (st *Stage) lifeOf() int {
	if st.life == nil {
		return 0
	}
	return st.life.n
}

func counts(n map[string]int) []model.Count {
	var out []model.Count
	for name, k := range n {
		out = append(out, model.Count{Server: name, N: k})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Server < out[j].Server })
	return out
}

// Close takes the world down: no process and no file of it is left.
func (st *Stage) Close() error {
	var left error
	if st.ctl != nil {
		_ = st.ctl.Close()
		if n := len(st.ctl.Processes()); n > 0 {
			left = fmt.Errorf("%d server processes are left", n)
		}
	}
	for _, f := range st.locks {
		_ = f.Close()
	}
	return errors.Join(left, removeAll(st.base))
}
