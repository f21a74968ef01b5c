package impl

import (
	"fmt"
	"testing"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

func TestSessionsShareOneProcess(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpListTools: 100}}
	w.servers["http://c"] = &server{tools: []string{"y"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"c":{"httpUrl":"http://c"}}}`)
	w.start(Options{Pool: true}, "s1", "s2")
	w.expect("s1", "a live x, c live y")
	w.expect("s2", "a live x, c live y")
	if len(w.procs) != 3 || w.alive() != 1 { // POOL-5: one process, two streams
		t.Errorf("%d connections", len(w.procs))
	}
	if p := w.host.Pool(); len(p) != 1 || fmt.Sprint(p[0].Sessions) != "[s1 s2]" {
		t.Errorf("%+v", p)
	}
}

func TestADrainIsReusedOrExpires(t *testing.T) {
	for _, c := range []struct {
		wait  port.Ms
		alive int
		conn  int
	}{{29_999, 1, 1}, {30_000, 0, 2}} {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.start(Options{Pool: true}, "s1", "s2")
		w.host.CloseSession("s1")
		w.advance(5)
		if p := w.host.Pool(); len(p) != 1 || p[0].Draining {
			t.Errorf("%+v", p)
		}
		w.host.CloseSession("s2")
		w.settle() // a drain does not count
		w.advance(c.wait)
		if w.alive() != c.alive {
			t.Errorf("after %d ms: %d alive", c.wait, w.alive())
		}
		if err := w.host.OpenSession("s3", nil); err != nil {
			t.Error(err)
		}
		w.settle()
		w.advance(100_000)
		w.expect("s3", "a live x")
		if len(w.procs) != c.conn {
			t.Errorf("after %d ms: %d connections", c.wait, len(w.procs))
		}
	}
}

func TestAPassReleasesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{Pool: true}, "s1", "s2")
	w.names()
	w.edit(userFile, `{"mcp":{"excluded":["a"]},"mcpServers":{"a":{"command":"a"}}}`)
	w.settle()
	if got := w.names(event.Released, event.DrainStart, event.Closing, event.Closed); got != "released s1 a#1, released s2 a#1, closing a#1, closed a#1" {
		t.Error(got)
	}
}

func TestOneWaiterLeavesAndTheDialGoesOn(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpListTools: 1000}}
	w.start(Options{Pool: true}, "s1", "s2")
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.advance(400)
	w.host.CloseSession("s1")
	w.settle()
	w.expect("s2", "a live x")
	if got := w.names(event.Published); got != "published s2 a#1" { // POOL-7
		t.Error(got)
	}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"a","args":[]}}}`)
	w.advance(400)
	w.host.CloseSession("s2") // the last waiter of b
	w.settle()
	if w.alive() != 1 { // a drains
		t.Errorf("%d alive", w.alive())
	}
}

func TestOneLostProcessIsPurgedFromEveryHolder(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{Pool: true}, "s1", "s2")
	w.names()
	w.procs[0].crash()
	got := w.names(event.Purged, event.Closing, event.Released, event.Closed)
	if got != "purged s1 a#1, purged s2 a#1, closing a#1 exit, released s1 a#1 exit, released s2 a#1 exit, closed a#1" {
		t.Error(got)
	}
}

func TestFiltersDifferBySession(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x", "y"}}
	w.start(Options{Pool: true})
	for s, text := range map[port.SessionID]string{"s1": `{"a":{"command":"a","includeTools":["x"]}}`, "s2": `{"a":{"command":"a","includeTools":["y"]}}`} {
		if err := w.host.OpenSession(s, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w.settle()
	w.expect("s1", "a live x")
	w.expect("s2", "a live y")
	if len(w.procs) != 1 {
		t.Errorf("%d connections", len(w.procs))
	}
}

func TestTwoConfigsOfOneNameAliveAtOnce(t *testing.T) {
	w := newWorld(t)
	w.servers["a 1"], w.servers["a 2"] = &server{tools: []string{"x"}}, &server{tools: []string{"y"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a","args":["1"]}}}`)
	w.start(Options{Pool: true}, "s1", "s2")
	w.host.AddRuntime("s2", "a", []byte(`{"command":"a","args":["2"]}`), nil)
	w.settle()
	w.expect("s1", "a live x")
	w.expect("s2", "a live y")
	if w.alive() != 2 {
		t.Errorf("%d alive", w.alive())
	}
}
