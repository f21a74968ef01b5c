package model

import (
	"fmt"
	"strings"
	"testing"
)

func TestToolNames(t *testing.T) { // VIEW-3
	long := strings.Repeat("x", 60)
	for _, x := range []struct{ server, tool, want string }{
		{"a", "b", "mcp__a__b"},
		{"my server", "do.it", "mcp__my_server__do_it"},
		{"é😀", "-", "mcp______-"}, // each code point one
		{"a::b", "", "mcp__a__b__"},
		{strings.Repeat("s", 28), strings.Repeat("t", 29), "mcp__" + strings.Repeat("s", 28) + "__" + strings.Repeat("t", 29)}, // 64
	} {
		if got := ToolName(x.server, x.tool); got != x.want {
			t.Errorf("%q %q: %s", x.server, x.tool, got)
		}
	}
	a, b := ToolName(long, "a"), ToolName(long, "b")
	if len(a) != 64 || a == b || a[:55] != b[:55] {
		t.Errorf("cut: %s, %s", a, b)
	}
}

func TestTheLongerServerNameOwnsATool(t *testing.T) { // VIEW-3
	for _, x := range []struct {
		name     string
		pairs    []Pair
		withheld string
	}{
		{"distinct", []Pair{{"a", "x"}, {"b", "x"}}, "[]"},
		{"longer name", []Pair{{"a", "b__x"}, {"a__b", "x"}}, "[{a b__x}]"},
		{"three of one name", []Pair{{"a", "b__c__x"}, {"a__b__c", "x"}, {"a__b", "c__x"}}, "[{a b__c__x} {a__b c__x}]"},
		{"as long: the first", []Pair{{"a.b", "x"}, {"a b", "x"}, {"a_b", "x"}}, "[{a.b x} {a_b x}]"},
		{"length in code points", []Pair{{"éé", "_x"}, {"___", "x"}}, "[{éé _x}]"},
		{"one server's tools", []Pair{{"a", "x_y"}, {"a", "x.y"}}, "[{a x_y}]"},
		{"trailing underscore", []Pair{{"a", "_x"}, {"a_", "x"}}, "[{a _x}]"},
		{"cut names differ", []Pair{{strings.Repeat("s", 70), "x"}, {strings.Repeat("s", 70), "y"}}, "[]"},
	} {
		t.Run(x.name, func(t *testing.T) {
			offered, withheld := Offered(x.pairs)
			if fmt.Sprint(withheld) != x.withheld || len(offered)+len(withheld) != len(x.pairs) {
				t.Errorf("offered %v, withheld %v", offered, withheld)
			}
			names := map[string]bool{}
			for _, p := range offered {
				if n := ToolName(p.Server, p.Tool); names[n] {
					t.Errorf("%s is offered twice", n)
				} else {
					names[n] = true
				}
			}
		})
	}
}

func TestAMissNamesTheOwnerAndTheWayBack(t *testing.T) { // VIEW-3, CALL-4
	w := newWorld(&Launch{HasFlag: true, Flag: []string{"*[!]*", "ok*", "dis", "list", "exc", "pend", "rej", "bad", "dial", "a*", "long*"}})
	long := "long" + strings.Repeat("g", 60)
	w.file(User, `{"mcpServers":{"dis":{"command":"c","disabled":true},"flag":{"command":"c"},"list":{"command":"c"},"exc":{"command":"c"},
		"bad":{"command":"c"},"dial":{"command":"c"},"ok":{"command":"c"},"a":{"command":"c"},"a__b":{"command":"c","disabled":true},"`+long+`":{"command":"c","disabled":true}},
		"mcp":{"excluded":["exc"],"allowed":["dis","flag","exc","pend","rej","bad","dial","ok","a*","long*"]}}`)
	w.file(Project, file("c", "pend", "rej")).record("rej", `{"command":"c"}`, false)
	w.m.Sessions[0].Removed = map[string]bool{"gone": true, "ok": true, "ok__more": true}
	state := func(server string) State {
		switch server {
		case "bad":
			return StateFailedExit
		case "dial":
			return StateDialing
		}
		return StateLive
	}
	e := Derive(w.m)
	for _, x := range []struct{ name, outcome, owner, back string }{
		{"mcp__gone__x", "removed", "gone", "add it again"},
		{"mcp__dis__x", "disabled", "dis", "enable it"},
		{"mcp__list__x", "not_allowed", "list", "add it to mcp.allowed"},
		{"mcp__flag__x", "not_allowed", "flag", "relaunch: the launch flag bars it"},
		{"mcp__exc__x", "excluded", "exc", "take it out of mcp.excluded"},
		{"mcp__pend__x", "pending_approval", "pend", "approve it"},
		{"mcp__rej__x", "pending_approval", "rej", "edit its config to be asked again, and approve it"},
		{"mcp__bad__x", "failed", "bad", "it failed"},
		{"mcp__dial__x", "dialing", "dial", "it is being dialled"},
		{"mcp__ok__x", "no_tool", "ok", ""}, // configured again: not removed
		{"mcp__ok__more__x", "removed", "ok__more", "add it again"},
		{"mcp__a__x", "no_tool", "a", ""},
		{"mcp__a__b__x", "disabled", "a__b", "enable it"}, // the longest name that matches
		{"mcp__a__b_x", "no_tool", "a", ""},
		{ToolName(long, "x"), "disabled", long, "enable it"}, // the prefix itself was cut
		{"mcp__nobody__x", "no_tool", "", ""},
		{"mcp__dis_x", "no_tool", "", ""},
		{"dis__x", "no_tool", "", ""},
		{"", "no_tool", "", ""},
	} {
		if got := Miss(e, "s1", x.name, state); got != x.outcome {
			t.Errorf("%s: %s", x.name, got)
		}
		if got := e.Owner("s1", x.name); got != x.owner {
			t.Errorf("%s belongs to %q", x.name, got)
		}
		if got := WayBack(e, "s1", x.name, state); got != x.back {
			t.Errorf("%s: %q", x.name, got)
		}
	}
	w.m.Trusted = false
	if e := Derive(w.m); Miss(e, "s1", "mcp__ok__x", state) != "untrusted" || WayBack(e, "s1", "mcp__ok__x", state) != "trust the folder" {
		t.Error("an untrusted folder is no reason")
	}
	if Miss(e, "s9", "mcp__ok__x", state) != "no_tool" {
		t.Error("a session that is not open owns a name")
	}
}

func TestStatusTextOfWhatIsGoneOrUntrusted(t *testing.T) { // VIEW-1
	w := newWorld(&Launch{})
	w.file(User, `{"mcpServers":{"a":{"command":"c"}},"mcp":{"allowed":["a"]}}`)
	w.m.LaunchServers = w.servers(one("c", "l"))
	w.m.Sessions[0].Removed = map[string]bool{"r": true}
	e := Derive(w.m)
	if e.StatusText("s1", "a") != "" || e.StatusText("s1", "l") != "not allowed" || e.StatusText("s1", "r") != "removed" || e.StatusText("s2", "r") != "" {
		t.Error("texts")
	}
	w.m.Trusted = false
	if got := Derive(w.m).StatusText("s1", "a"); got != "untrusted folder" {
		t.Error(got)
	}
}

func TestVerdictsHaveTheWordsOfRefusals(t *testing.T) { // CALL-4
	for v := Removed; v <= Admitted; v++ {
		if v.String() != verdictWord(v) {
			t.Errorf("%v is refused as %s", v, verdictWord(v))
		}
	}
}
