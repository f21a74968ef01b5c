package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/sim/realserver"
)

// place is a live host of a test, in a workspace, with scripted servers.
type place struct {
	*workspace
	*yard
	t testing.TB
	h *Host
	s *Session
}

func newPlace(t testing.TB, change func(*Options)) *place {
	noLeaks(t)
	p := &place{t: t, yard: newYard(t), workspace: newWorkspace(t)}
	p.start(change)
	return p
}

// start starts the host; the files may have been written before.
func (p *place) start(change func(*Options)) {
	p.t.Helper()
	o := Options{Dir: p.dir, Home: p.home, Environ: p.environ(), Trusted: true}
	if change != nil {
		change(&o)
	}
	h, err := New(patient(p.t), o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.h = h
	p.t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			p.t.Error(err)
		}
	})
	p.s = p.open("s1")
}

func (p *place) open(id string) *Session {
	p.t.Helper()
	s, err := p.h.OpenSession(patient(p.t), id, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

// shows waits until a session shows "name state tools, …".
func (p *place) shows(s *Session, want string) {
	p.t.Helper()
	var mu sync.Mutex // the loop may still look when patience has ended
	var got string
	err := p.h.until(patient(p.t), func(core *impl.Host) bool {
		mu.Lock()
		defer mu.Unlock()
		got = show(core, s.id)
		return got == want
	})
	if err != nil {
		mu.Lock()
		defer mu.Unlock()
		p.t.Fatalf("%v; %s shows\n     %s\nwant %s", err, s.id, got, want)
	}
}

func show(core *impl.Host, id port.SessionID) string {
	var out []string
	for _, sv := range core.Status(id).Servers {
		line := sv.Name + " " + sv.State
		if len(sv.Tools) > 0 {
			line += " " + strings.Join(sv.Tools, "+")
		}
		out = append(out, line)
	}
	return strings.Join(out, ", ")
}

func TestSavedFilesTakeEffect(t *testing.T) {
	p := newPlace(t, nil)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x", "y"}})
	p.serve("srv-b", realserver.Behaviour{Tools: []string{"z"}})
	p.user(servers("a", "srv-a"))
	p.shows(p.s, "a live x+y")
	p.user(servers("a", "srv-a", "b", "srv-b 1"))
	p.shows(p.s, "a live x+y, b live z")
	if p.Started("srv-a") != 1 {
		t.Errorf("the other server was started %d times", p.Started("srv-a"))
	}
	p.user(map[string]any{"mcpServers": servers("a", "srv-a", "b", "srv-b 2")["mcpServers"], "mcp": map[string]any{"excluded": []string{"a"}}})
	p.shows(p.s, "a held:excluded, b live z")
	must2(t, os.Remove(filepath.Join(p.home, ".qwen", "settings.json")))
	p.shows(p.s, "a removed, b removed")
	p.await("nobody", func() bool { return p.Alive("") == 0 })
}

func must2(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckedInServerRunsOnlyAsItWasShown(t *testing.T) {
	p := newPlace(t, nil)
	ctx := patient(t)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x"}})
	p.project(servers("a", "srv-a 1"))
	p.shows(p.s, "a held:pending_approval")
	old := p.asked("a")
	if !strings.Contains(old.Text, "srv-a") || old.Source != event.Project {
		t.Errorf("the question says %q from %s", old.Text, old.Source)
	}
	p.project(servers("a", "srv-a 2"))
	if err := p.h.until(ctx, func(core *impl.Host) bool {
		q := core.Questions(p.s.id)
		return len(q) == 1 && q[0].Hash != old.Hash
	}); err != nil {
		t.Fatal(err)
	}
	var refused *RefusedError
	if err := p.s.Approve(ctx, old); !errors.As(err, &refused) || refused.Why != "stale" {
		t.Errorf("an answer to what was there before: %v", err)
	}
	if err := p.s.Approve(ctx, p.asked("a")); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "a live x")
	if p.Started("srv-a 1") != 0 || p.Started("srv-a 2") != 1 {
		t.Errorf("started %d and %d", p.Started("srv-a 1"), p.Started("srv-a 2"))
	}
	p.project(servers("a", "srv-a 3", "b", "srv-a 4"))
	p.shows(p.s, "a held:pending_approval, b held:pending_approval")
	if err := p.s.Reject(ctx, p.asked("a")); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "a held:rejected, b held:pending_approval")
	results, err := p.s.ApproveAll(ctx, []event.Question{old, p.asked("b")})
	if err != nil || results[0].Recorded || !results[1].Recorded {
		t.Errorf("%+v %v", results, err)
	}
	p.shows(p.s, "a held:rejected, b live x")
	info, err := os.Stat(filepath.Join(p.home, ".qwen", "mcpApprovals.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// asked is the question about a server.
func (p *place) asked(name string) event.Question {
	p.t.Helper()
	qs, err := p.s.Questions(patient(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(qs, func(q event.Question) bool { return q.Server == name })
	if i < 0 {
		p.t.Fatalf("%s is not asked: %+v", name, qs)
	}
	return qs[i]
}

func TestDecisionOfAnotherHostTakesEffect(t *testing.T) {
	p := newPlace(t, nil)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x"}})
	p.project(servers("a", "srv-a"))
	p.shows(p.s, "a held:pending_approval")
	other := &place{t: t, yard: p.yard, workspace: p.workspace}
	other.start(nil)
	other.shows(other.s, "a held:pending_approval")
	if err := other.s.Approve(patient(t), other.asked("a")); err != nil {
		t.Fatal(err)
	}
	other.shows(other.s, "a live x")
	p.shows(p.s, "a live x")
}

func TestCallsAndTheirErrors(t *testing.T) {
	p := newPlace(t, nil)
	ctx := patient(t)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x", "slow"}, Delay: map[string]realserver.Delay{"call": {Ms: 50}}})
	p.serve("srv-b", realserver.Behaviour{Tools: []string{"x"}, Fault: "hang", At: "call"})
	p.user(servers("a", "srv-a", "b", "srv-b", "c", "no-such-command"))
	p.shows(p.s, "a live x+slow, b live x, c failed:refused")
	tools, err := p.s.Tools(ctx)
	if err != nil || len(tools) != 3 || tools[0].ModelName != "mcp__a__x" || tools[0].Definition.Description != "does x" {
		t.Fatalf("%+v %v", tools, err)
	}
	res, err := p.s.CallName(ctx, "mcp__a__x", map[string]any{"n": 1})
	if err != nil || res.IsError || res.Content[0].(mcp.TextContent).Text != "x" {
		t.Fatalf("%+v %v", res, err)
	}
	var e *CallError
	if _, err = p.s.Call(ctx, "a", "nothing", nil); !errors.As(err, &e) || e.Outcome != "refused:no_tool" {
		t.Errorf("no such tool: %v", err)
	}
	if _, err = p.s.CallName(ctx, "mcp__c__x", nil); !errors.As(err, &e) || e.Outcome != "refused:failed" || !strings.Contains(e.Way, `"c"`) {
		t.Errorf("a failed server: %v", err)
	}
	if _, err = p.s.CallName(ctx, "mcp__d__x", nil); !errors.As(err, &e) || e.Outcome != "refused:no_tool" {
		t.Errorf("no such server: %v", err)
	}
	brief, cancel := context.WithCancel(ctx)
	failed := make(chan error, 1)
	go func() { _, err := p.s.Call(brief, "b", "x", nil); failed <- err }()
	called := func() bool {
		return slices.ContainsFunc(p.Reports(), func(r realserver.Report) bool { return r.Method == "tools/call" && r.Command == "srv-b" })
	}
	p.await("the call", called)
	cancel()
	if err := wait(t, "the call that was given up", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	go func() { _, err := p.s.Call(ctx, "b", "x", nil); failed <- err }()
	if err := p.h.until(ctx, func(core *impl.Host) bool { return len(core.Status(p.s.id).Calls) == 2 }); err != nil {
		t.Fatal(err)
	}
	p.Crash("srv-b")
	if err := wait(t, "the call that was lost", failed); !errors.As(err, &e) || e.Outcome != "error:lost" {
		t.Errorf("lost: %v", err)
	}
	p.shows(p.s, "a live x+slow, b failed:exit, c failed:refused")
	if err := p.s.Reload(ctx); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "a live x+slow, b live x, c failed:refused")
}

func TestCloseEndsStubbornServersAllAtOnce(t *testing.T) {
	p := newPlace(t, nil)
	var pairs []any
	for i := range 10 {
		name := fmt.Sprintf("srv-%d", i)
		p.serve(name, realserver.Behaviour{IgnoreTerm: true, Grandchild: i%2 == 0})
		pairs = append(pairs, name, name)
	}
	p.user(servers(pairs...))
	p.await("everybody", func() bool { return p.Alive("") == 15 })
	if err := p.h.Settled(patient(t)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := p.h.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(began); d < 2500*time.Millisecond || d > 5*time.Second {
		t.Errorf("ending took %v; REC-13 gives 2.5 s", d)
	}
	p.await("nobody", func() bool { return p.Alive("") == 0 })
	if _, err := p.s.Tools(patient(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestCloseThatIsGivenUpKillsAtOnce(t *testing.T) {
	p := newPlace(t, nil)
	p.serve("srv-a", realserver.Behaviour{IgnoreTerm: true, Grandchild: true, Tools: []string{"x"}})
	p.user(servers("a", "srv-a"))
	p.shows(p.s, "a live x")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	if err := p.h.Close(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLeft) {
		t.Errorf("%v", err)
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	p.await("nobody", func() bool { return p.Alive("") == 0 })
}

func TestRuntimeExtensionTrustAndInProcessServers(t *testing.T) {
	inside := server.NewMCPServer("inside", "1", server.WithToolCapabilities(true))
	inside.AddTool(mcp.NewTool("t", mcp.WithDescription("d")), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("from inside"), nil
	})
	p := newPlace(t, func(o *Options) {
		o.InProcess = map[string]*server.MCPServer{"in": inside}
		o.MCPConfig = []byte(`{"mcpServers":{"in":{"type":"sdk"}}}`)
	})
	ctx := patient(t)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x"}})
	p.shows(p.s, "in live t")
	if res, err := p.s.Call(ctx, "in", "t", nil); err != nil || res.Content[0].(mcp.TextContent).Text != "from inside" {
		t.Errorf("%+v %v", res, err)
	}
	inside.AddTool(mcp.NewTool("u"), nil)
	p.shows(p.s, "in live t+u")
	if err := p.s.AddRuntime(ctx, "r", []byte(`{"command":"srv-a"}`)); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "in live t+u, r live x")
	if err := p.h.SetExtension(ctx, "ext", []byte(`{"e":{"command":"srv-a","args":["e"]}}`)); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "e live x, in live t+u, r live x")
	if err := p.h.SetTrusted(ctx, false); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "e held:untrusted, in held:untrusted, r held:untrusted")
	p.await("nobody", func() bool { return p.Alive("") == 0 })
	if err := p.h.SetTrusted(ctx, true); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "e live x, in live t+u, r live x")
	if err := errors.Join(p.s.RemoveRuntime(ctx, "r"), p.h.SetExtension(ctx, "ext", nil)); err != nil {
		t.Fatal(err)
	}
	p.shows(p.s, "e removed, in live t+u, r removed")
}

func TestPoolSharesAProcessAndSingleModeDoesNot(t *testing.T) {
	for _, pool := range []bool{false, true} {
		t.Run(fmt.Sprintf("pool %v", pool), func(t *testing.T) {
			p := newPlace(t, func(o *Options) { o.Pool = pool })
			p.serve("srv-a", realserver.Behaviour{Tools: []string{"x"}})
			p.user(servers("a", "srv-a"))
			p.shows(p.s, "a live x")
			s2 := p.open("s2")
			p.shows(s2, "a live x")
			want := 2
			if pool {
				want = 1
			}
			if n := p.Started("srv-a"); n != want {
				t.Errorf("started %d times, want %d", n, want)
			}
			if err := s2.Close(patient(t)); err != nil {
				t.Fatal(err)
			}
			if _, err := s2.Status(patient(t)); !errors.Is(err, impl.ErrSessionClosed) {
				t.Errorf("a closed session: %v", err)
			}
			p.shows(p.s, "a live x")
		})
	}
}

func TestEventsSayWhatWasDropped(t *testing.T) {
	p := newPlace(t, nil)
	slow, all := p.h.Events(1), p.h.Events(10000)
	p.serve("srv-a", realserver.Behaviour{Tools: []string{"x"}})
	p.user(servers("a", "srv-a"))
	p.shows(p.s, "a live x")
	first := <-slow.C
	p.user(servers())
	p.shows(p.s, "a removed")
	second := <-slow.C
	n := 0
	for len(all.C) > 0 && (<-all.C).Event != second.Event {
		n++
	}
	if first.Dropped != 0 || second.Dropped != n-1 {
		t.Errorf("%d and %d dropped, of %d", first.Dropped, second.Dropped, n)
	}
	slow.Close()
	slow.Close()
	if err := p.h.Close(patient(t)); err != nil {
		t.Fatal(err)
	}
	for range all.C { // it is closed
	}
}

func TestListenersHearOfChangesOneAtATime(t *testing.T) {
	p := newPlace(t, nil)
	heard := make(chan []event.Change)
	stop, err := p.h.Listen(patient(t), "test", func(ctx context.Context, c []event.Change) error {
		select {
		case heard <- c:
		case <-ctx.Done():
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p.user(servers("a", "no-such-command"))
	if c := wait(t, "the change", heard); len(c) != 1 || c[0] != (event.Change{Scope: event.User, How: "created"}) {
		t.Errorf("%+v", c)
	}
	stop()
}

func TestNewThatFailsLeavesNothing(t *testing.T) {
	noLeaks(t)
	w := newWorkspace(t)
	if _, err := New(patient(t), Options{Dir: filepath.Join(w.dir, "missing"), Home: w.home}); err == nil {
		t.Error("a missing workspace")
	}
	if _, err := New(patient(t), Options{Dir: w.dir, Home: w.home, MCPConfig: []byte("[")}); err == nil {
		t.Error("a broken --mcp-config")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New(ctx, Options{Dir: w.dir, Home: w.home}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestServerLogIsMasked(t *testing.T) {
	p := newPlace(t, nil)
	p.user(servers("a", map[string]any{"command": "/bin/sh", "args": []string{"-c", "echo the key is $KEY >&2; exit 3"},
		"env": map[string]any{"KEY": "s3cret"}}))
	p.shows(p.s, "a failed:exit")
	if err := p.h.Settled(patient(t)); err != nil { // the process is gone, and everything it said was read
		t.Fatal(err)
	}
	if got := p.s.ServerLog("a"); !slices.Equal(got, []string{"the key is ***"}) {
		t.Errorf("%q", got)
	}
}
