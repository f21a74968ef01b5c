package impl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/afero"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

func init() { AssertInvariants(true) }

// world is the smallest outside a host can live in: a queue of what is due, a memory file system whose only events are
// those of its own edits, and servers that behave as their command says.
type world struct {
	t       testing.TB
	now     port.Ms
	due     []*due
	seq     int
	fs      *memFS
	servers map[string]*server // by command line or URL
	procs   []*fakeConn
	events  []*event.Event
	host    *Host
	inject  func(point string, s port.SessionID, server string) error
	quiet   bool
	calls   int // that run, for tests that count them
	watch   func(*event.Event)
}

type due struct {
	at   port.Ms
	seq  int
	f    func()
	dead bool
}

// server is how the servers of one command behave.
type server struct {
	tools, prompts, resources []string
	delay                     map[port.OpKind]port.Ms
	hang                      map[port.OpKind]bool
	fail                      map[port.OpKind]error
	endMs                     port.Ms
	ignoreTerm, unkillable    bool
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, servers: map[string]*server{}}
	w.fs = &memFS{Fs: afero.NewMemMapFs(), w: w, dirs: map[string]func(port.FSEvent){}}
	for _, d := range []string{"/home/user/.qwen", "/project/.qwen"} {
		if err := w.fs.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) start(o Options, sessions ...port.SessionID) {
	w.t.Helper()
	o.Home, o.Cwd, o.Trusted, o.Initialized = "/home/user", "/project", true, true
	o.Inject = func(point string, s port.SessionID, server string) error {
		if w.inject == nil {
			return nil
		}
		return w.inject(point, s, server)
	}
	h, err := New(o, Ports{Clock: w, Exec: w, FS: w.fs, Dialer: w, Post: func(f func()) { w.after(0, f) },
		Observe: func(ev *event.Event) {
			if w.watch != nil {
				w.watch(ev)
			}
			if !w.quiet {
				w.events = append(w.events, ev)
			}
		}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.host = h
	for _, s := range sessions {
		if err := h.OpenSession(s, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	h.Start(nil)
	w.settle()
}

func (w *world) after(d port.Ms, f func()) *due {
	w.seq++
	x := &due{at: w.now + d, seq: w.seq, f: f}
	i, _ := slices.BinarySearchFunc(w.due, x, func(a, b *due) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.seq - b.seq
	})
	w.due = slices.Insert(w.due, i, x)
	return x
}

func (w *world) Now() port.Ms { return w.now }

func (w *world) AfterFunc(_ port.TimerKind, d port.Ms, f func()) func() {
	x := w.after(d, f)
	return func() { x.dead = true }
}

func (w *world) Go(op port.Op, work func(context.Context) error, done func(error)) func() {
	ctx, cancel := context.WithCancel(context.Background())
	over := false
	finish := func() {
		if over {
			return
		}
		over = true
		err := ctx.Err()
		if err == nil {
			err = work(ctx)
		}
		done(err)
	}
	var d port.Ms
	hang := false
	if c := w.proc(op.Conn); c != nil {
		d, hang = c.b.delay[op.Kind], c.b.hang[op.Kind]
	}
	if !hang {
		w.after(d, finish)
	}
	return func() {
		cancel()
		w.after(0, finish)
	}
}

// advance lets time pass and everything due happen, the end included.
func (w *world) advance(d port.Ms) {
	end := w.now + d
	for len(w.due) > 0 && w.due[0].at <= end {
		w.next()
	}
	w.now = end
}

func (w *world) next() {
	x := w.due[0]
	w.due = w.due[1:]
	w.now = x.at
	if !x.dead {
		x.f()
	}
}

// settle lets time pass until the host has nothing in flight.
func (w *world) settle() {
	w.t.Helper()
	for limit := w.now + 600_000; ; {
		w.advance(0)
		if busy := w.host.Busy(); len(busy) == 0 {
			return
		} else if len(w.due) == 0 || w.now > limit {
			w.t.Fatalf("not settled at %d: %v", w.now, busy)
		}
		w.next()
	}
}

func (w *world) edit(path, text string) {
	if err := afero.WriteFile(w.fs, path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	if h := w.fs.dirs[filepath.Dir(path)]; h != nil {
		w.after(0, func() { h(port.FSEvent{Path: path, Op: port.FSWrite}) })
	}
}

const (
	userFile    = "/home/user/.qwen/settings.json"
	projectFile = "/project/.mcp.json"
)

// names lists the events since the last call as kind, session, server, connection and what became of it.
func (w *world) names(kinds ...event.Kind) string {
	var out []string
	for _, ev := range w.events {
		if !slices.Contains(kinds, ev.Kind) {
			continue
		}
		s := string(ev.Kind)
		if ev.Session != "" {
			s += " " + string(ev.Session)
		}
		if ev.Server != "" {
			s += " " + ev.Server
		}
		if ev.Conn != 0 {
			s += fmt.Sprintf("#%d", ev.Conn)
		}
		if ev.Outcome != "" {
			s += " " + ev.Outcome
		}
		out = append(out, s)
	}
	w.events = nil
	return strings.Join(out, ", ")
}

// show is a session's servers as "name state tools".
func (w *world) show(s port.SessionID) string {
	var out []string
	for _, sv := range w.host.Status(s).Servers {
		line := sv.Name + " " + sv.State
		if len(sv.Tools) > 0 {
			line += " " + strings.Join(sv.Tools, "+")
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func (w *world) expect(s port.SessionID, want string) {
	w.t.Helper()
	if got := w.show(s); got != want {
		w.t.Errorf("at %d %s shows\n     %s\nwant %s", w.now, s, got, want)
	}
}

func (w *world) alive() int {
	n := 0
	for _, c := range w.procs {
		if c.process && c.up && !c.gone {
			n++
		}
	}
	return n
}

func (w *world) proc(id port.ConnID) *fakeConn {
	if id == 0 || int(id) > len(w.procs) {
		return nil
	}
	return w.procs[id-1]
}

func (w *world) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	key := config.CommandLine(spec)
	if spec.URL != "" {
		key = spec.URL
	}
	b := w.servers[key]
	if b == nil {
		b = &server{fail: map[port.OpKind]error{port.OpStart: errors.New("connection refused")}}
	}
	c := &fakeConn{w: w, b: b, process: spec.Kind == config.Stdio, id: op.Conn}
	for len(w.procs) < int(op.Conn) {
		w.procs = append(w.procs, c)
	}
	return c, nil
}

// fakeConn is one server process or stream, and its own transport.
type fakeConn struct {
	w              *world
	b              *server
	id             port.ConnID
	process        bool
	up             bool
	exited, gone   bool
	onExit         func(error)
	onGone         func()
	onNotification func(mcp.JSONRPCNotification)
	closedInput    bool
}

func (c *fakeConn) Transport() transport.Interface { return c }
func (c *fakeConn) OnExit(f func(error))           { c.onExit = f }
func (c *fakeConn) OnGone(f func())                { c.onGone = f }
func (c *fakeConn) Process() bool                  { return c.process }

func (c *fakeConn) CloseInput() {
	if c.process && !c.closedInput {
		c.closedInput = true
		if !c.b.ignoreTerm {
			c.w.after(c.b.endMs, c.crash)
		}
	}
}

func (c *fakeConn) Terminate() {
	if c.process && !c.b.ignoreTerm {
		c.w.after(0, c.crash)
	}
}

func (c *fakeConn) Kill() {
	if c.process && !c.b.unkillable {
		c.w.after(0, c.crash)
	}
}

// crash ends the process or stream.
func (c *fakeConn) crash() {
	if c.up && !c.exited {
		c.exited, c.gone = true, true
		c.onExit(nil)
		if c.process {
			c.onGone()
		}
	}
}

func (c *fakeConn) Start(context.Context) error {
	if err := c.b.fail[port.OpStart]; err != nil {
		return err
	}
	c.up = true
	return nil
}

func (c *fakeConn) SendRequest(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if c.exited {
		return nil, transport.ErrTransportClosed
	}
	var result any
	kind := port.OpKind(0)
	switch r.Method {
	case "initialize":
		kind, result = port.OpInitialize, map[string]any{"protocolVersion": "2025-06-18", "serverInfo": map[string]string{"name": "x", "version": "1"},
			"capabilities": map[string]any{"tools": map[string]any{}, "prompts": map[string]any{}, "resources": map[string]any{}}}
	case "tools/list":
		var list []any
		for _, n := range c.b.tools {
			list = append(list, map[string]any{"name": n, "inputSchema": map[string]any{"type": "object"}})
		}
		kind, result = port.OpListTools, map[string]any{"tools": list}
	case "prompts/list":
		kind, result = port.OpListPrompts, map[string]any{"prompts": named(c.b.prompts, "name")}
	case "resources/list":
		kind, result = port.OpListResources, map[string]any{"resources": named(c.b.resources, "uri")}
	case "tools/call":
		kind, result = port.OpCall, map[string]any{"content": []any{}}
	}
	if err := c.b.fail[kind]; err != nil {
		return nil, err
	}
	b, err := json.Marshal(result)
	return &transport.JSONRPCResponse{JSONRPC: "2.0", ID: r.ID, Result: b}, err
}

func named(names []string, key string) []any {
	list := []any{}
	for _, n := range names {
		list = append(list, map[string]any{"name": n, key: n})
	}
	return list
}

func (c *fakeConn) say(method string) {
	n := mcp.JSONRPCNotification{JSONRPC: "2.0"}
	n.Method = method
	c.onNotification(n)
}

func (c *fakeConn) SendNotification(context.Context, mcp.JSONRPCNotification) error { return nil }
func (c *fakeConn) SetNotificationHandler(f func(mcp.JSONRPCNotification))          { c.onNotification = f }
func (c *fakeConn) Close() error                                                    { c.gone = true; return nil }
func (c *fakeConn) GetSessionId() string                                            { return "" }

// memFS is a memory file system without links whose events the world sends by hand.
type memFS struct {
	afero.Fs
	w    *world
	dirs map[string]func(port.FSEvent)
}

func (m *memFS) LstatIfPossible(name string) (iofs.FileInfo, bool, error) {
	info, err := m.Stat(name)
	return info, true, err
}
func (m *memFS) ReadlinkIfPossible(name string) (string, error) {
	return "", &iofs.PathError{Op: "readlink", Path: name, Err: iofs.ErrInvalid}
}
func (m *memFS) SyncDir(string) error                 { return nil }
func (m *memFS) TryLock(string) (func(), bool, error) { return func() {}, true, nil }
func (m *memFS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	if _, err := m.Stat(dir); err != nil {
		return nil, err
	}
	m.dirs[dir] = h
	return memWatch{m, dir}, nil
}

type memWatch struct {
	m   *memFS
	dir string
}

func (x memWatch) Close() error { delete(x.m.dirs, x.dir); return nil }
