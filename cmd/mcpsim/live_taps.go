package main

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/afero"

	"mcpsim/impl/config"
	"mcpsim/impl/live"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakemcp"
)

// tapFS is the machine's file system; what each read got is kept until its load, and what the host wrote as approvals.
type tapFS struct {
	*live.FS
	w   *liveWorld
	mu  sync.Mutex // of got
	got map[string]string
}

func (f *tapFS) Open(p string) (afero.File, error) { return f.OpenFile(p, os.O_RDONLY, 0) }

func (f *tapFS) OpenFile(p string, flag int, perm os.FileMode) (afero.File, error) {
	x, err := f.FS.OpenFile(p, flag, perm)
	if err != nil || flag&(os.O_WRONLY|os.O_RDWR) != 0 || !slices.Contains(f.w.paths[:], p) {
		return x, err
	}
	return &tapFile{File: x, fs: f, path: p}, nil
}

func (f *tapFS) Rename(from, to string) error {
	if data, err := os.ReadFile(from); err == nil {
		f.w.mu.Lock()
		f.w.own[string(data)] = true
		f.w.mu.Unlock()
	}
	return f.FS.Rename(from, to)
}

// take is what the last read of a path got; it is taken once.
func (f *tapFS) take(p string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.got[p]
	delete(f.got, p)
	return s, ok
}

type tapFile struct {
	afero.File
	fs   *tapFS
	path string
	data []byte
}

func (x *tapFile) Read(b []byte) (int, error) {
	n, err := x.File.Read(b)
	x.data = append(x.data, b[:n]...)
	return n, err
}

func (x *tapFile) Close() error {
	x.fs.mu.Lock()
	x.fs.got[x.path] = string(x.data)
	x.fs.mu.Unlock()
	return x.File.Close()
}

// tapConn is a connection of the host; what its server lists and announces is heard.
type tapConn struct {
	port.Conn
	w      *liveWorld
	id     port.ConnID
	server string
	key    string // command line or URL
	began  time.Time

	live, closing, gone bool
	lists               [3][]string
}

// Dial implements port.Dialer.
func (w *liveWorld) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	inner, err := w.dialer.Dial(op, spec)
	c := &tapConn{Conn: inner, w: w, id: op.Conn, server: spec.Server, key: fakemcp.Target(&spec), began: time.Now()}
	w.conns[op.Conn] = c
	w.dials[spec.Server]++ // refused ones too
	if err != nil {
		return nil, err
	}
	if b, ok := inner.(interface{ Began() bool }); ok {
		return &tapProcess{c, b.Began}, nil
	}
	return c, nil
}

// tapProcess is one that can say whether anything of it exists.
type tapProcess struct {
	*tapConn
	begun func() bool
}

func (c *tapProcess) Began() bool { return c.begun() }

// OnExit: an end that the host did not cause is a crash.
func (c *tapConn) OnExit(f func(error)) {
	c.Conn.OnExit(func(err error) {
		w := c.w
		w.catchUp()
		if c.live && !c.closing {
			c.closing = true
			w.Input(w.at, model.Input{Kind: model.InCrash, Server: c.server})
			w.server(c.key, "crash", nil, nil)
		}
		f(err)
	})
}

// OnGone: nothing is left of a process group.
func (c *tapConn) OnGone(f func()) {
	c.Conn.OnGone(func() {
		c.gone = true
		delete(c.w.groups, c)
		f()
	})
}

// Transport is the connection's, listened to.
func (c *tapConn) Transport() transport.Interface {
	t := &tapTransport{Interface: c.Conn.Transport(), c: c}
	if h, ok := t.Interface.(transport.HTTPConnection); ok {
		return &tapHTTP{t, h}
	}
	return t
}

type tapTransport struct {
	transport.Interface
	c     *tapConn
	mu    sync.Mutex
	pages [3][]string
}

// tapHTTP is one that wants to know the protocol's version.
type tapHTTP struct {
	*tapTransport
	http transport.HTTPConnection
}

func (t *tapHTTP) SetProtocolVersion(v string) { t.http.SetProtocolVersion(v) }

func (t *tapTransport) ClientOptions() []hostmcp.Option {
	if o, ok := t.Interface.(interface{ ClientOptions() []hostmcp.Option }); ok {
		return o.ClientOptions()
	}
	return nil
}

func (t *tapTransport) SetRequestHandler(h transport.RequestHandler) {
	if b, ok := t.Interface.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(h)
	}
}

func (t *tapTransport) Start(ctx context.Context) error {
	err := t.Interface.Start(ctx)
	if err == nil {
		c := t.c
		c.w.hear(func() {
			c.w.Input(c.w.at, model.Input{Kind: model.InStarted, Conn: model.ConnID(c.id), Server: c.server})
			if c.Process() && !c.gone {
				c.w.groups[c] = true
			}
		})
	}
	return err
}

var listMethods = [3]string{string(mcpgo.MethodToolsList), string(mcpgo.MethodPromptsList), string(mcpgo.MethodResourcesList)}

var listKinds = [3]string{"tools", "prompts", "resources"}

func (t *tapTransport) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := t.Interface.SendRequest(ctx, r)
	if k := slices.Index(listMethods[:], r.Method); k >= 0 && err == nil && resp.Error == nil {
		t.listed(k, r.Params, resp.Result)
	}
	return resp, err
}

// listed takes one page of a list.
func (t *tapTransport) listed(k int, params any, result json.RawMessage) {
	type item struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	var page map[string]json.RawMessage
	var items []item
	var next string
	if json.Unmarshal(result, &page) != nil || json.Unmarshal(page[listKinds[k]], &items) != nil {
		return
	}
	_ = json.Unmarshal(page["nextCursor"], &next)
	var asked struct {
		Cursor string `json:"cursor"`
	}
	if b, err := json.Marshal(params); err == nil {
		_ = json.Unmarshal(b, &asked)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if asked.Cursor == "" {
		t.pages[k] = nil
	}
	for _, x := range items {
		if x.Name == "" && k == 2 {
			x.Name = x.URI
		}
		t.pages[k] = append(t.pages[k], x.Name)
	}
	if next == "" {
		c, names := t.c, slices.Clone(t.pages[k])
		c.w.hear(func() {
			changed := !slices.Equal(c.lists[k], names)
			c.lists[k] = names
			if c.live && !c.closing && changed {
				c.w.acts(c, listKinds[k])
			}
		})
	}
}

func (t *tapTransport) SetNotificationHandler(f func(mcpgo.JSONRPCNotification)) {
	c := t.c
	t.Interface.SetNotificationHandler(func(n mcpgo.JSONRPCNotification) {
		for _, kind := range listKinds {
			if n.Method == "notifications/"+kind+"/list_changed" {
				c.w.hear(func() {
					c.w.Input(c.w.at, model.Input{Kind: model.InListChanged, Server: c.server, Kinds: []string{kind}})
				})
			}
		}
		f(n)
	})
}

// dialed: the server has listed everything.
func (w *liveWorld) dialed(id port.ConnID) {
	if c := w.conns[id]; c != nil {
		c.live = true
		w.acts(c, "")
	}
}

// faults are how a server acts whose dial ends with a class.
var faults = map[string]model.Behaviour{
	"refused":  {Fault: model.Refuse, FaultAt: model.StepStart},
	"exit":     {Fault: model.Exit, FaultAt: model.StepInit},
	"closed":   {Fault: model.Exit, FaultAt: model.StepInit},
	"timeout":  {Fault: model.Hang, FaultAt: model.StepInit},
	"protocol": {Fault: model.Garbage, FaultAt: model.StepInit},
}

func (w *liveWorld) dialFailed(id port.ConnID, class string) {
	c := w.conns[id]
	if c == nil {
		return
	}
	c.closing = true
	if b, ok := faults[class]; ok {
		w.script(c, &b, "")
	}
}

// acts tells how a live server acts: it lists this.
func (w *liveWorld) acts(c *tapConn, changed string) {
	b := &model.Behaviour{Tools: c.lists[0], Prompts: c.lists[1], Resources: c.lists[2]}
	w.script(c, b, changed)
}

// script tells what the server behind a key does from now on. changed is the list that it announced, if it did.
func (w *liveWorld) script(c *tapConn, b *model.Behaviour, changed string) {
	old := w.scripts[c.key]
	same := old != nil && old.Fault == b.Fault && slices.Equal(old.Tools, b.Tools) && slices.Equal(old.Prompts, b.Prompts) &&
		slices.Equal(old.Resources, b.Resources)
	if !same {
		w.scripts[c.key] = b
		w.Input(w.at, model.Input{Kind: model.InServer, Key: c.key, URL: c.key, Behaviour: b})
	}
	w.server(c.key, changed, b, &c.began)
}

// server tells the recorder what a server did: how it acts, with the list that it announced, or a crash.
func (w *liveWorld) server(key, what string, b *model.Behaviour, began *time.Time) {
	for _, k := range w.sinks {
		if r, ok := k.(*traceRecorder); ok {
			r.server(w.at, key, what, b, began)
		}
	}
}
