package impl

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// both runs a test in either mode: what is admitted does not depend on it (POOL-1).
func both(t *testing.T, f func(t *testing.T, pool bool)) {
	for _, pool := range []bool{false, true} {
		t.Run(map[bool]string{false: "single", true: "pool"}[pool], func(t *testing.T) { f(t, pool) })
	}
}

func TestAnEditTouchesWhatItChanges(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x", "y"}, prompts: []string{"p"}}
		w.servers["b"] = &server{tools: []string{"z"}}
		w.servers["b 2"] = &server{tools: []string{"zz"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.expect("s1", "a live x+y, b live z")
		w.names()
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a","description":"new"},"b":{"command":"b","args":["2"]}},"theme":1}`)
		w.settle()
		w.expect("s1", "a live x+y, b live zz")
		got := w.names(event.Purged, event.Released, event.Closing, event.Closed, event.Dial, event.Published)
		want := "purged s1 b#2, released s1 b#2, closing b#2, closed b#2, dial b#3, published s1 b#3"
		if pool { // another connection id: it waits for nobody's end
			want = "purged s1 b#2, released s1 b#2, closing b#2, dial b#3, closed b#2, published s1 b#3"
		}
		if got != want {
			t.Errorf("events\n     %s\nwant %s", got, want)
		}
		w.edit(userFile, `{"theme":2}`)
		w.settle()
		w.expect("s1", "a removed, b removed")
		if w.alive() != 0 {
			t.Error("a process is left")
		}
	})
}

func TestAnUnrelatedEditCausesNoPass(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{}, "s1")
	w.names()
	w.edit(userFile, `{"theme":1,"mcpServers":{"a":{"command":"a"}}}`)
	w.settle()
	if got := w.names(event.PassStart, event.Lists, event.Ask, event.Notify); got != "notify" {
		t.Error(got)
	}
}

func TestListsNarrowAndWiden(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		for _, n := range []string{"a", "b", "c"} {
			w.servers[n] = &server{tools: []string{n + n}}
		}
		servers := `"mcpServers":{"a":{"command":"a"},"b":{"command":"b"},"c":{"command":"c"}}`
		w.edit(userFile, `{`+servers+`}`)
		w.start(Options{Pool: pool, HasFlag: true, Flag: []string{"a", "b"}}, "s1")
		w.expect("s1", "a live aa, b live bb, c held:not_allowed")
		w.edit(userFile, `{"mcp":{"allowed":["*"],"excluded":["a"]},`+servers+`}`)
		w.settle()
		w.expect("s1", "a held:excluded, b live bb, c held:not_allowed")
		w.edit(userFile, `{"mcp":{"allowed":[]},`+servers+`}`)
		w.settle()
		w.expect("s1", "a held:not_allowed, b held:not_allowed, c held:not_allowed")
		if w.alive() != 0 {
			t.Error("a process is left")
		}
	})
}

func TestAGatedServerIsAskedFor(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}}
		w.servers["a 2"] = &server{tools: []string{"y"}}
		w.start(Options{Pool: pool}, "s1", "s2")
		w.edit(projectFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.settle()
		w.expect("s1", "a held:pending_approval")
		shown := w.host.Questions("s2")
		if len(shown) != 1 || shown[0].Server != "a" || shown[0].Source != event.Project {
			t.Fatalf("%+v", shown)
		}
		w.edit(projectFile, `{"mcpServers":{"a":{"command":"a","args":["2"]}}}`)
		w.settle()
		w.names()
		var result []AnswerResult
		answer := func(hash string, approve bool) {
			w.host.Decide("s2", []Answer{{"a", hash, approve}}, func(r []AnswerResult) { result = r })
			w.settle()
		}
		answer(shown[0].Hash, true)
		if result[0].Recorded || result[0].Why != "stale" { // D-1
			t.Errorf("%+v", result)
		}
		w.expect("s1", "a held:pending_approval")
		answer(w.host.Questions("s2")[0].Hash, true)
		w.expect("s1", "a live y")
		w.expect("s2", "a live y")
		got := w.names(event.Refused, event.Decided, event.PassStart)
		if got != "refused s2 a, decided s2 a approved, pass_start s2, pass_start s1" {
			t.Error(got)
		}
		answer(shown[0].Hash, false)
		if result[0].Why != "not_asked" {
			t.Errorf("%+v", result)
		}
		w.edit(projectFile, `{"mcpServers":{}}`) // APR-2: presence never changes a record
		w.settle()
		w.expect("s1", "a removed")
		w.edit(projectFile, `{"mcpServers":{"a":{"command":"a","args":["2"]}}}`)
		w.settle()
		w.expect("s1", "a live y")
	})
}

func TestRejectedStaysRejectedUntilEdited(t *testing.T) {
	w := newWorld(t)
	w.edit(projectFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
	w.start(Options{}, "s1")
	q := w.host.Questions("s1")
	w.names()
	w.host.Decide("s1", []Answer{{"a", q[0].Hash, false}}, nil)
	w.settle()
	w.expect("s1", "a held:rejected, b held:pending_approval")
	if got := w.names(event.PassStart, event.Dial, event.Ask); got != "" { // APR-4: nothing is dialled
		t.Error(got)
	}
	w.edit(projectFile, `{"mcpServers":{"a":{"command":"a","cwd":"/x"},"b":{"command":"b"}}}`)
	w.settle()
	w.expect("s1", "a held:pending_approval, b held:pending_approval")
	if got := w.names(event.Ask); !strings.HasPrefix(got, "ask s1") {
		t.Error(got)
	}
}

func TestAFailedDialCostsNobodyElse(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}}
		w.servers["hangs"] = &server{hang: map[port.OpKind]bool{port.OpInitialize: true}}
		w.servers["bad"] = &server{fail: map[port.OpKind]error{port.OpListTools: errors.New("garbage")}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"bad":{"command":"bad"},"h":{"command":"hangs","discoveryTimeoutMs":700},"no":{"command":"no"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.expect("s1", "a live x, bad failed:protocol, h failed:timeout, no failed:refused")
		if w.now != 700 || w.alive() != 1 || !w.host.Status("s1").Hint {
			t.Errorf("at %d, %d alive", w.now, w.alive())
		}
		w.servers["hangs"].hang = nil
		w.host.Reload("s1", nil)
		w.settle()
		w.expect("s1", "a live x, bad failed:protocol, h live, no failed:refused")
	})
}

func TestASupersededDialPublishesNothing(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"old"}, delay: map[port.OpKind]port.Ms{port.OpListTools: 5000}}
		w.servers["a 2"] = &server{tools: []string{"new"}}
		w.start(Options{Pool: pool}, "s1")
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.advance(1000)
		w.expect("s1", "a dialing")
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a","args":["2"]}}}`)
		w.advance(300)
		w.settle()
		w.expect("s1", "a live new")
		w.advance(10_000)
		if got := w.names(event.Published); got != "published s1 a#2" {
			t.Error(got)
		}
	})
}

func TestEndingAProcessTakesItsTimes(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, ignoreTerm: true}
		w.servers["b"] = &server{tools: []string{"y"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.edit(userFile, `{"mcpServers":{}}`)
		w.advance(300)
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`) // while the first is ending
		w.advance(300)
		w.expect("s1", "a dialing, b live y") // LIVE-3
		w.advance(2199)
		w.expect("s1", "a dialing, b live y")
		w.advance(1) // killed 2.5 s after its input was closed
		w.settle()
		w.expect("s1", "a live x, b live y")
		w.servers["a"].unkillable = true
		w.edit(userFile, `{"mcpServers":{"b":{"command":"b"}}}`)
		w.advance(300)
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
		w.advance(300)
		w.settle()
		w.expect("s1", "a failed:stuck, b live y")
		if n := w.host.Status("s1").Notices; len(n) != 1 || n[0].Kind != "stuck" {
			t.Errorf("%+v", n)
		}
		w.host.Reload("s1", nil)
		w.settle()
		w.expect("s1", "a failed:stuck, b live y")
		w.procs[2].crash() // gone at last
		w.settle()
		w.expect("s1", "a live x, b live y")
		if n := w.host.Status("s1").Notices; len(n) != 0 {
			t.Errorf("%+v", n)
		}
	})
}

func TestALostConnectionIsNoticedAndTriedAgain(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpCall: 100}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		outcome := ""
		w.host.Call("s2", "c1", "a", "x", nil, func(o string, _ *mcpgo.CallToolResult) { outcome = o })
		w.advance(50)
		for _, c := range w.procs {
			c.crash()
		}
		if outcome != "error:lost" {
			t.Error(outcome)
		}
		w.settle()
		w.expect("s1", "a failed:exit")
		w.expect("s2", "a failed:exit")
		w.host.Reload("s1", nil)
		w.settle()
		w.expect("s1", "a live x")
		w.expect("s2", "a failed:exit")
	})
}

func TestAFailedPassIsRetried(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	fails := 0
	w.inject = func(point string, _ port.SessionID, _ string) error {
		if point == "pass" && fails > 0 {
			fails--
			return errors.New("injected")
		}
		return nil
	}
	w.start(Options{}, "s1")
	fails = 3
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.advance(300)
	w.names()
	w.advance(999)
	if got := w.names(event.PassStart); got != "" {
		t.Error(got)
	}
	w.advance(1)    // 1 s
	w.advance(2000) // doubled
	w.advance(3999) // doubled again
	if got := w.names(event.PassEnd); got != "pass_end s1 failed, pass_end s1 failed" {
		t.Error(got)
	}
	w.advance(1)
	w.settle()
	w.expect("s1", "a live x")
	w.advance(60_000)
	if got := w.names(event.PassStart); got != "pass_start s1" {
		t.Error(got)
	}
}

func TestARefusedPublicationFailsThatServer(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}}
		refuse := 1
		w.inject = func(point string, s port.SessionID, _ string) error {
			if point == "publish" && s == "s1" && refuse > 0 {
				refuse--
				return errors.New("injected")
			}
			return nil
		}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		w.expect("s1", "a failed:publish")
		w.expect("s2", "a live x")
		w.advance(1000)
		w.settle()
		w.expect("s1", "a live x")
	})
}

func TestFiltersChangeWithoutADial(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x", "y"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.names()
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a","excludeTools":["x"],"trust":true}}}`)
		w.settle()
		w.expect("s1", "a live y")
		if got := w.names(event.Dial, event.Purged, event.Published, event.Closing); got != "published s1 a#1" {
			t.Error(got)
		}
		outcome := ""
		w.host.Call("s1", "c", "a", "x", nil, func(o string, _ *mcpgo.CallToolResult) { outcome = o })
		if outcome != "refused:filtered" {
			t.Error(outcome)
		}
	})
}

func TestListChangedIsOneInFlightAndOneBehind(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{}, "s1")
	w.servers["a"].delay = map[port.OpKind]port.Ms{port.OpListTools: 100}
	w.servers["a"].tools = []string{"y", "y", "z"}
	w.names()
	for range 5 {
		w.procs[0].say("notifications/tools/list_changed")
		w.advance(10)
	}
	w.advance(60)
	if got := w.names(event.Published); got != "published s1 a#1" {
		t.Error(got)
	}
	w.settle()
	w.expect("s1", "a live y+z")
	if n := w.host.Status("s1").Notices; len(n) != 1 || n[0].Kind != "duplicate_tool" || n[0].Key != "tools" {
		t.Errorf("%+v", n)
	}
	if w.now != 200 { // the first refresh and the one behind it
		t.Errorf("settled at %d", w.now)
	}
	w.servers["a"].hang = map[port.OpKind]bool{port.OpListTools: true}
	w.procs[0].say("notifications/tools/list_changed")
	w.settle()
	w.expect("s1", "a failed:timeout")
}

func TestCallsEndWithTheirConnectionOrSession(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, hang: map[port.OpKind]bool{port.OpCall: true}}
		w.servers["b"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpCall: 1000}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		outcomes := map[string]string{}
		begin := func(s port.SessionID, id, server, tool string) {
			w.host.Call(s, id, server, tool, nil, func(o string, _ *mcpgo.CallToolResult) { outcomes[id] = o })
		}
		begin("s1", "1", "a", "x")
		begin("s1", "2", "b", "x")
		begin("s2", "3", "a", "x")
		begin("s1", "4", "a", "nothing")
		begin("s1", "5", "c", "x")
		w.edit(userFile, `{"mcpServers":{"b":{"command":"b"}}}`)
		w.host.CloseSession("s2")
		w.settle()
		begin("s1", "6", "a", "x")
		w.advance(1000)
		got := fmt.Sprint(outcomes)
		if got != "map[1:error:retired 2:ok 3:error:session_closed 4:refused:no_tool 5:refused:unknown 6:refused:removed]" {
			t.Error(got)
		}
	})
}

func TestACallIsBoundedByItsTimeout(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}, hang: map[port.OpKind]bool{port.OpCall: true}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a","timeout":50}}}`)
	w.start(Options{}, "s1")
	outcome := ""
	w.host.Call("s1", "1", "a", "x", nil, func(o string, _ *mcpgo.CallToolResult) { outcome = o })
	w.advance(49)
	if outcome != "" || len(w.host.Status("s1").Calls) != 1 {
		t.Error(outcome)
	}
	w.advance(1)
	w.settle()
	if outcome != "error:timeout" {
		t.Error(outcome)
	}
	w.expect("s1", "a live x")
}

func TestTrustWithdrawnClosesEverything(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.edit(projectFile, `{"mcpServers":{"b":{"command":"b"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.expect("s1", "a live x, b held:pending_approval")
		w.host.SetTrusted(false)
		w.settle()
		w.expect("s1", "a held:untrusted") // b is not removed (ADM-7)
		if w.alive() != 0 {
			t.Error("a process is left")
		}
		w.host.SetTrusted(true)
		w.settle()
		w.expect("s1", "a live x, b held:pending_approval")
	})
}

func TestRuntimeServersAndExtensions(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		for _, n := range []string{"low", "mid", "high"} {
			w.servers[n] = &server{tools: []string{n}}
		}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"mid"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		w.host.SetExtension("e", []byte(`{"a":{"command":"low"},"b":{"command":"low"}}`))
		w.settle()
		w.expect("s1", "a live mid, b live low")
		ended := false
		w.host.AddRuntime("s1", "a", []byte(`{"command":"high"}`), func(err error) { ended = err == nil })
		if ended {
			t.Error("the caller returned before the dial was over")
		}
		w.settle()
		w.expect("s1", "a live high, b live low")
		w.expect("s2", "a live mid, b live low")
		a := w.host.Status("s1").Servers[0]
		if !ended || a.Source != "runtime" || fmt.Sprint(a.Shadows) != "[user extension]" {
			t.Errorf("%+v", a)
		}
		w.host.SetExtension("e", nil)
		w.host.RemoveRuntime("s1", "a", nil)
		w.settle()
		w.expect("s1", "a live mid, b removed")
	})
}

func TestBeforeInitialisationNothingIsReconciled(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{}, "s1")
	w.host.initialized = false // as if it had started so
	if err := w.host.AddMcpServers([]byte(`{"b":{"command":"a"}}`)); err != nil {
		t.Error(err)
	}
	w.names()
	called := false
	w.host.Reload("s1", func(err error) { called = err == nil })
	w.settle()
	if got := w.names(event.PassStart, event.Dial); got != "" || !called {
		t.Error(got)
	}
	w.host.Initialize()
	w.settle()
	w.expect("s1", "a live x, b live x")
	if err := w.host.AddMcpServers(nil); !errors.Is(err, ErrInitialised) {
		t.Error(err)
	}
}

func TestShutdownLeavesNothing(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, ignoreTerm: true}
		w.servers["b"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpInitialize: 5000}}
		w.servers["http://c"] = &server{tools: []string{"x"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"c":{"httpUrl":"http://c"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"},"c":{"httpUrl":"http://c"}}}`)
		w.advance(300)
		w.host.CloseSession("s2")
		began, done := w.now, port.Ms(-1)
		w.host.Shutdown(func() { done = w.now })
		w.advance(10_000)
		if done != began+2500 || w.alive() != 0 || len(w.host.Busy()) != 0 || len(w.host.Sessions()) != 0 {
			t.Errorf("done after %d, %d alive, busy %v", done-began, w.alive(), w.host.Busy())
		}
		w.names()
		w.advance(100_000)
		if len(w.events) != 0 {
			t.Errorf("%d events after the end", len(w.events))
		}
	})
}
