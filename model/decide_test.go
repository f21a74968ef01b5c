package model

import (
	"fmt"
	"testing"
)

// TestEveryRowOfAdmission: section 5, the first condition that holds.
func TestEveryRowOfAdmission(t *testing.T) {
	const entry = `{"command":"c"}`
	const disabled = `{"command":"c","disabled":true}`
	in := func(server, e, mcp string) string {
		return fmt.Sprintf(`{"mcpServers":{%q:%s},"mcp":%s}`, server, e, mcp)
	}
	approve := func(w *world) { w.record("a", entry, true) }
	for _, x := range []struct {
		name   string
		launch Launch
		setup  func(w *world)
		want   Verdict
	}{
		{"nobody", Launch{}, func(w *world) {}, Unknown},
		{"removed during this session", Launch{}, func(w *world) { w.m.Sessions[0].Removed = map[string]bool{"a": true} }, Removed},
		{"removed, and the folder untrusted", Launch{}, func(w *world) {
			w.m.Sessions[0].Removed, w.m.Trusted = map[string]bool{"a": true}, false
		}, Removed},
		{"another session saw it go", Launch{}, func(w *world) { w.m.Sessions[1].Removed = map[string]bool{"a": true} }, Unknown},
		{"re-adding heals", Launch{}, func(w *world) { // ADM-7
			w.m.Sessions[0].Removed = map[string]bool{"a": true}
			w.file(User, file("c", "a"))
		}, Admitted},
		{"admitted", Launch{}, func(w *world) { w.file(User, file("c", "a")) }, Admitted},
		{"another case", Launch{}, func(w *world) { w.file(User, file("c", "A")) }, Unknown}, // SRC-10
		{"disabled before everything", Launch{HasFlag: true}, func(w *world) {
			w.file(Project, in("a", disabled, "null")).file(User, `{"mcp":{"excluded":["a"]}}`)
		}, Disabled},
		{"disabled still shadows", Launch{}, func(w *world) { w.file(User, file("c", "a")).file(System, in("a", disabled, "null")) }, Disabled},
		{"enabled is false", Launch{}, func(w *world) { w.file(User, in("a", `{"command":"c","enabled":false}`, "null")) }, Disabled},

		{"flag in full without a list", Launch{HasFlag: true, Flag: []string{"a"}}, func(w *world) { w.file(User, file("c", "a")) }, Admitted}, // ADM-1
		{"flag caps", Launch{HasFlag: true, Flag: []string{"b"}}, func(w *world) { w.file(User, in("a", entry, `{"allowed":["a"]}`)) }, NotAllowed},
		{"narrow within the flag", Launch{HasFlag: true, Flag: []string{"a", "b"}}, func(w *world) { w.file(User, in("a", entry, `{"allowed":["b"]}`)) }, NotAllowed},
		{"both match as globs", Launch{HasFlag: true, Flag: []string{"*"}}, func(w *world) { w.file(User, in("a", entry, `{"allowed":["?"]}`)) }, Admitted}, // D-5
		{"no flag: settings alone", Launch{Flag: []string{"b"}}, func(w *world) { w.file(User, file("c", "a")) }, Admitted},
		{"a flag with no names", Launch{HasFlag: true}, func(w *world) { w.file(User, file("c", "a")) }, NotAllowed},                        // ADM-2
		{"a flag of empty strings", Launch{HasFlag: true, Flag: []string{""}}, func(w *world) { w.file(User, file("c", "a")) }, NotAllowed}, // ADM-4
		{"an empty list denies", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"allowed":[]}`)) }, NotAllowed},                   // ADM-2
		{"null is absent", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"allowed":null}`)) }, Admitted},                         // SRC-1
		{"a list of empty strings denies", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"allowed":[""]}`)) }, NotAllowed},       // ADM-4
		{"every layer's list must match", Launch{}, func(w *world) { // D-11
			w.file(User, in("a", entry, `{"allowed":["b"]}`)).file(System, `{"mcp":{"allowed":["a"]}}`)
		}, NotAllowed},
		{"the workspace cannot widen a deny-all", Launch{}, func(w *world) {
			w.file(User, in("a", entry, `{"allowed":[]}`)).file(Workspace, `{"mcp":{"allowed":["*"]}}`)
		}, NotAllowed},
		{"an excluded list alone", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"excluded":["?"]}`)) }, Excluded},
		{"excluded beats allowed", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"allowed":["a"],"excluded":["a"]}`)) }, Excluded}, // ADM-3
		{"not allowed comes first", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"allowed":[],"excluded":["a"]}`)) }, NotAllowed},
		{"exclusions add up", Launch{}, func(w *world) {
			w.file(User, in("a", entry, `{"excluded":["a"]}`)).file(System, `{"mcp":{"excluded":["b"]}}`)
		}, Excluded},
		{"an empty exclusion is absent", Launch{}, func(w *world) { w.file(User, in("a", entry, `{"excluded":[""]}`)) }, Admitted}, // GATE-3
		{"bad settings at start deny", Launch{}, func(w *world) { // SRC-7
			w.file(User, file("c", "a"))
			w.m.Files[System], _ = w.t.Load(System, nil, Content{State: Unparsable})
		}, NotAllowed},

		{"gated and not approved", Launch{}, func(w *world) { w.file(Project, file("c", "a")) }, PendingApproval},
		{"the workspace is gated", Launch{}, func(w *world) { w.file(Workspace, file("c", "a")) }, PendingApproval},
		{"system is not", Launch{}, func(w *world) { w.file(System, file("c", "a")) }, Admitted},
		{"approved", Launch{}, func(w *world) { w.file(Project, file("c", "a")); approve(w) }, Admitted},
		{"approved for another config", Launch{}, func(w *world) { w.file(Project, file("d", "a")); approve(w) }, PendingApproval}, // APR-1
		{"approved, then another description", Launch{}, func(w *world) {
			w.file(Project, in("a", `{"command":"c","description":"d"}`, "null"))
			approve(w)
		}, Admitted},
		{"approved, then another unknown field", Launch{}, func(w *world) {
			w.file(Project, in("a", `{"command":"c","zzz":1}`, "null"))
			approve(w)
		}, PendingApproval},
		{"rejected", Launch{}, func(w *world) { w.file(Project, file("c", "a")).record("a", entry, false) }, PendingApproval}, // APR-3
		{"another name's approval", Launch{}, func(w *world) { w.file(Project, file("c", "a")).record("b", entry, true) }, PendingApproval},
		{"approvals off", Launch{ApprovalsOff: true}, func(w *world) { w.file(Project, file("c", "a")) }, Admitted}, // ASK-5
		{"approvals off and rejected", Launch{ApprovalsOff: true}, func(w *world) { w.file(Project, file("c", "a")).record("a", entry, false) }, Admitted},
		{"shadowed by user scope? no: project is above", Launch{}, func(w *world) { w.file(User, file("c", "a")).file(Project, file("c", "a")) }, PendingApproval},
		{"shadowed by system scope", Launch{}, func(w *world) { w.file(System, file("c", "a")).file(Project, file("c", "a")) }, Admitted},
		{"excluded before pending", Launch{}, func(w *world) { w.file(Project, file("c", "a")).file(User, `{"mcp":{"excluded":["a"]}}`) }, Excluded},
		{"root is home", Launch{HomeIsRoot: true}, func(w *world) { w.file(User, file("c", "a")) }, Admitted}, // SRC-11
		{"root is home, .mcp.json", Launch{HomeIsRoot: true}, func(w *world) { w.file(Project, file("c", "a")) }, PendingApproval},

		{"untrusted, whatever the source", Launch{}, func(w *world) { w.file(User, file("c", "a")); w.m.Trusted = false }, Untrusted}, // ADM-6
		{"untrusted runtime server", Launch{}, func(w *world) {
			w.m.Sessions[0].Runtime, w.m.Trusted = w.servers(one("c", "a")), false
		}, Untrusted},
		{"untrusted .mcp.json does not count", Launch{}, func(w *world) { w.file(Project, file("c", "a")); w.m.Trusted = false }, Unknown}, // SRC-12
		{"bare: files add none", Launch{Bare: true}, func(w *world) { w.file(User, file("c", "a")) }, Unknown},                             // SRC-13
		{"bare: the flag still bounds", Launch{Bare: true, HasFlag: true}, func(w *world) { w.m.LaunchServers = w.servers(one("c", "a")) }, NotAllowed},
		{"the lists filter every source", Launch{}, func(w *world) { // ADM-5
			w.m.Extensions = []Extension{{"x", w.servers(one("c", "a"))}}
			w.file(User, `{"mcp":{"allowed":["b"]}}`)
		}, NotAllowed},
		{"only files are gated", Launch{}, func(w *world) { w.m.Extensions = []Extension{{"x", w.servers(one("c", "a"))}} }, Admitted},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(&x.launch)
			x.setup(w)
			e := Derive(w.m)
			if got := Decide(e, "s1", "a"); got != x.want {
				t.Errorf("%v", got)
			}
			if es := e.Server("s1", "a"); es != nil && es.Verdict != x.want {
				t.Errorf("derived as %v", es.Verdict)
			}
		})
	}
	if v := Decide(Derive(newWorld(&Launch{}).m), "s9", "a"); v != Unknown {
		t.Errorf("a session that is not open: %v", v)
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	m := crowd(newTable(), 100)
	m.Sessions[0].Removed = map[string]bool{"gone": true}
	e := Derive(m)
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range []string{"server-00042", "server-00003", "gone", "nobody"} {
			Decide(e, "s1", s)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOnlyTheStrictlyPendingAreAsked: the promptable-versus-pending table (APR-3, ASK-1, D-17).
func TestOnlyTheStrictlyPendingAreAsked(t *testing.T) {
	const entry = `{"command":"c"}`
	w := newWorld(&Launch{})
	w.file(Project, `{"mcpServers":{"pend":`+entry+`,"appr":`+entry+`,"rej":`+entry+`,"edited":{"command":"d"},"dis":{"command":"c","disabled":true},"exc":`+entry+`}}`)
	w.file(Workspace, `{"mcpServers":{"ws":`+entry+`},"mcp":{"excluded":["exc"]}}`)
	w.record("appr", entry, true).record("rej", entry, false).record("edited", entry, false)
	e := Derive(w.m)
	got := ""
	for _, q := range e.Queue("s1") {
		got += q.Server + "@" + q.Source.String() + " "
		if q.Config != e.Server("s1", q.Server).Config.ID {
			t.Errorf("%s is asked for another config", q.Server)
		}
	}
	if got != "edited@project pend@project ws@workspace " { // in order of name; reject, then edit: asked again (ASK-3)
		t.Error(got)
	}
	if l := e.Lists("s1"); fmt.Sprint(l.Pending) != "[dis edited exc pend rej ws]" { // gated and not approved
		t.Error(l.Pending)
	}
	for server, text := range map[string]string{ // VIEW-1
		"pend": "needs approval", "rej": "rejected: edit the config to be asked again", "edited": "needs approval", "appr": "",
		"dis": "disabled", "exc": "excluded", "nobody": "",
	} {
		if got := e.StatusText("s1", server); got != text {
			t.Errorf("%s: %q", server, got)
		}
	}
	w.m.Launch.ApprovalsOff = true
	if q := Derive(w.m).Queue("s1"); len(q) != 0 { // ASK-5
		t.Errorf("%v is asked with approvals off", q)
	}
}
