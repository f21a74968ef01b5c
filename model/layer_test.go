package model

import (
	"fmt"
	"strings"
	"testing"
)

func good(text string) Content { return Content{State: Good, Value: js(text)} }

var missing = Content{State: Missing}

// summary is what a source contributes: its servers, allow list and exclusions.
func summary(l *Loaded) string {
	var names []string
	for _, nc := range l.Layer.Servers {
		names = append(names, nc.Name)
	}
	allowed := "-"
	if l.Layer.HasAllowed {
		allowed = "[" + strings.Join(l.Layer.Allowed, ",") + "]"
	}
	return strings.Join(names, ",") + " " + allowed + " " + strings.Join(l.Layer.Excluded, ",")
}

// TestLoads plays loads of one source one after the other: what each leaves in memory and what it notifies.
func TestLoads(t *testing.T) {
	const ab = `{"mcpServers":{"a":{"command":"c"},"b":{"command":"c"}},"mcp":{"allowed":["a"],"excluded":["x"]}}`
	bad := Content{State: Unparsable}
	type load struct {
		c       Content
		summary string
		how     string // "" if it does not notify
	}
	for _, x := range []struct {
		name  string
		scope Scope
		loads []load
	}{
		{"missing counts as {}", User, []load{{missing, " - ", ""}, {missing, " - ", ""}}}, // SRC-6
		{"created, modified, deleted, created", User, []load{ // WAT-5
			{missing, " - ", ""}, {good(ab), "a,b [a] x", "created"}, {good(`{"mcpServers":{"a":{"command":"c"}}}`), "a - ", "modified"},
			{missing, " - ", "deleted"}, {good(ab), "a,b [a] x", "created"}}},
		{"bad keeps everything", User, []load{ // SRC-6
			{good(ab), "a,b [a] x", ""}, {bad, "a,b [a] x", ""}, {Content{State: Unreadable}, "a,b [a] x", ""},
			{Content{State: NotObject}, "a,b [a] x", ""}, {good(ab), "a,b [a] x", ""}, {bad, "a,b [a] x", ""}, {missing, " - ", "deleted"}}},
		{"bad settings at start deny", User, []load{{bad, " [] ", ""}, {bad, " [] ", ""}, {good(`{}`), " - ", "modified"}}}, // SRC-7
		{"and until they are gone", System, []load{{Content{State: Unreadable}, " [] ", ""}, {missing, " - ", "deleted"}}},
		{"what denies already makes no difference", User, []load{{bad, " [] ", ""}, {good(`{"mcp":{"allowed":[]}}`), " [] ", ""}}},
		{"a bad .mcp.json at start counts as {}", Project, []load{{bad, " - ", ""}, {good(`{"mcpServers":{"a":{"command":"c"}}}`), "a - ", "modified"}}},
		{"and makes no difference to {}", Project, []load{{bad, " - ", ""}, {missing, " - ", ""}}},
		{"mcpServers of the wrong type keeps its last good value", User, []load{ // SRC-8
			{good(ab), "a,b [a] x", ""}, {good(`{"mcpServers":[],"mcp":{"allowed":["b"]}}`), "a,b [b] ", "modified"},
			{good(`{"mcpServers":7}`), "a,b - ", "modified"}, {missing, " - ", "deleted"}}},
		{"lists of the wrong type keep theirs", User, []load{
			{good(ab), "a,b [a] x", ""}, {good(`{"mcp":{"allowed":"a","excluded":{}}}`), " [a] x", "modified"},
			{good(`{"mcp":5}`), " [a] x", "modified"}, {good(`{"mcp":null}`), " - ", "modified"}}}, // what it hid is gone
		{"at start of the wrong type: deny, and absent", User, []load{{good(`{"mcpServers":[],"mcp":{"allowed":"a","excluded":1}}`), " [] ", ""}}},
		{"mcp of the wrong type at start", User, []load{{good(`{"mcp":[]}`), " [] ", ""}}},
		{"no list keeps being no list", User, []load{{good(`{}`), " - ", ""}, {good(`{"mcp":{"allowed":"a"}}`), " - ", "modified"}}},
		{"null is absent", User, []load{{good(`{"mcpServers":null,"mcp":{"allowed":null,"excluded":null}}`), " - ", ""}}},
		{"elements that are no strings are dropped", User, []load{{good(`{"mcp":{"allowed":[1,"a","\ud800",null],"excluded":[[],"x",""]}}`), " [a] x,", ""}}},
		{"only mcpServers is read from .mcp.json", Project, []load{{good(ab), "a,b - ", ""}}}, // SRC-15
		{"a bad entry shadows nothing and costs no other", User, []load{{good(`{"mcpServers":{"a":{},"b":{"command":"c"}}}`), "b - ", ""}}},
		{"the same content in another form is silent", User, []load{ // WAT-3
			{good(ab), "a,b [a] x", ""},
			{good(`{"mcp":{"excluded":["x"],"allowed":["a"]},"mcpServers":{"b":{"command":"c"},"a":{"command":"c"}}}`), "a,b [a] x", ""}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			tab := newTable()
			var l *Loaded
			for i, step := range x.loads {
				var d Diff
				l, d = tab.Load(x.scope, l, step.c)
				how := ""
				if d.Notify {
					how = d.How
				}
				if got := summary(l); got != step.summary || how != step.how || l.File != step.c.State {
					t.Fatalf("load %d: %q %q, file %d", i, got, how, l.File)
				}
			}
		})
	}
}

func TestLeavesDecideWhatNotifiesAndWhatWaits(t *testing.T) { // WAT-4, D-13, D-20
	for _, x := range []struct {
		name, a, b string
		notify     bool
		restart    string
	}{
		{"nothing", `{"x":1}`, `{"x":1}`, false, ""},
		{"unknown keys are hot", `{"x":1}`, `{"x":2}`, true, ""},
		{"a server's field", `{"mcpServers":{"a":{"command":"c"}}}`, `{"mcpServers":{"a":{"command":"d"}}}`, true, ""},
		{"an empty object has no leaves", `{}`, `{"mcpServers":{},"x":{"y":{}}}`, false, ""},
		{"an array is one leaf", `{"x":[]}`, `{}`, true, ""},
		{"array order matters", `{"x":[1,2]}`, `{"x":[2,1]}`, true, ""},
		{"member order does not, in arrays either", `{"x":[{"a":1,"b":2}]}`, `{"x":[{"b":2,"a":1}]}`, false, ""},
		{"null is a leaf", `{"x":null}`, `{}`, true, ""},
		{"a leaf becomes an object", `{"x":1}`, `{"x":{}}`, true, ""},
		{"an object becomes a leaf", `{"proxy":{"a":1}}`, `{"proxy":2}`, false, "proxy"},
		{"env needs a restart", `{}`, `{"env":{"A":"1"}}`, false, "env"},
		{"proxy needs a restart", `{"proxy":"a"}`, `{}`, false, "proxy"},
		{"mcp needs a restart", `{}`, `{"mcp":{"other":1}}`, false, "mcp"},
		{"mcp as a leaf", `{}`, `{"mcp":1}`, false, "mcp"},
		{"mcp.serverCommand has its own key", `{}`, `{"mcp":{"serverCommand":"c"}}`, false, "mcp.serverCommand"},
		{"the lists do not", `{}`, `{"mcp":{"allowed":[]}}`, true, ""}, // D-13: a whole block that appears
		{"nor when the block goes", `{"mcp":{"allowed":["a"]}}`, `{}`, true, ""},
		{"nor below", `{}`, `{"mcp":{"excluded":{"x":1}}}`, true, ""},
		{"security is hot, security.auth is not", `{}`, `{"security":{"x":1,"auth":{"y":1}}}`, true, "security.auth"},
		{"one key with a dot is never two", `{}`, `{"security.auth":1}`, true, ""},
		{"nor the lists'", `{}`, `{"mcp":{"x.allowed":1}}`, false, "mcp"},
		{"a mixed save", `{}`, `{"env":{"A":"1"},"proxy":"p","x":1}`, true, "env,proxy"},
		{"keys are sorted and named once", `{}`, `{"proxy":"p","env":{"B":"1","A":"2"}}`, false, "env,proxy"},
		{"many members", manyKeys(40, 1), manyKeys(40, 2), true, ""},
		{"many members, the same", manyKeys(40, 1), manyKeys(40, 1), false, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			tab := newTable()
			l, _ := tab.Load(User, nil, good(x.a))
			l, d := tab.Load(User, l, good(x.b))
			if d.Notify != x.notify || strings.Join(d.Restart, ",") != x.restart || strings.Join(l.Waiting, ",") != x.restart {
				t.Errorf("notify %v, restart %v, waiting %v", d.Notify, d.Restart, l.Waiting)
			}
			p, _ := tab.Load(Project, nil, good(x.a))
			if _, d := tab.Load(Project, p, good(x.b)); d.Notify != (x.notify || x.restart != "") || d.Restart != nil {
				t.Errorf(".mcp.json: notify %v, restart %v", d.Notify, d.Restart)
			}
		})
	}
}

// manyKeys has its members in an order that depends on salt, and the values of all but the last do not.
func manyKeys(n, salt int) string {
	var parts []string
	for i := range n {
		k := (i*7*salt + salt) % n
		v := k
		if k == n-1 {
			v = salt
		}
		parts = append(parts, fmt.Sprintf(`"k%d":%d`, k, v))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestRestartKeysWaitUntilTheirValueIsTheOneInForce(t *testing.T) { // D-20, WAT-4
	tab := newTable()
	l, _ := tab.Load(User, nil, good(`{"proxy":"a"}`))
	for i, x := range []struct {
		c    Content
		want string
	}{
		{good(`{"proxy":"b"}`), "proxy"},
		{good(`{"proxy":"c","x":1}`), "proxy"},
		{Content{State: Unparsable}, "proxy"},
		{missing, "proxy"},
		{good(`{"proxy":"a"}`), ""},
	} {
		if l, _ = tab.Load(User, l, x.c); strings.Join(l.Waiting, ",") != x.want {
			t.Errorf("load %d: %v waits", i, l.Waiting)
		}
	}
	bad, _ := tab.Load(User, nil, Content{State: Unparsable}) // nothing was in force at start
	if l, _ := tab.Load(User, bad, good(`{"proxy":"a"}`)); strings.Join(l.Waiting, ",") != "proxy" {
		t.Errorf("%v waits", l.Waiting)
	}
}

func TestNoticesOfASource(t *testing.T) {
	for _, x := range []struct {
		name  string
		scope Scope
		loads []Content
		want  []string // file server key kind
	}{
		{"none", User, []Content{good(`{"mcpServers":{"a":{"command":"c"}},"mcp":{"allowed":["a"]}}`)}, nil},
		{"none if missing", Project, []Content{missing}, nil},                                                                // SRC-15: it lacks no key
		{"one per file at a time", User, []Content{{State: Unparsable}, {State: Unreadable}}, []string{"user   unreadable"}}, // SRC-6
		{"not_object", Workspace, []Content{{State: NotObject}}, []string{"workspace   not_object"}},
		{"cleared when good", User, []Content{{State: Unparsable}, good(`{}`)}, nil},
		{"cleared when gone", User, []Content{{State: Unparsable}, missing}, nil},
		{"no_servers", Project, []Content{good(`{"servers":{}}`)}, []string{"project   no_servers"}},
		{"also of {}", Project, []Content{good(`{}`)}, []string{"project   no_servers"}},
		{"null is the key", Project, []Content{good(`{"mcpServers":null}`)}, nil},
		{"settings may lack it", User, []Content{good(`{}`)}, nil},
		{"inside notices stand while the document is in memory", Project, []Content{good(`{"x":1}`), {State: Unparsable}},
			[]string{"project   unparsable", "project   no_servers"}},
		{"wrong types", User, []Content{good(`{"mcpServers":[],"mcp":{"allowed":1,"excluded":"x"}}`)},
			[]string{"user  mcpServers wrong_type", "user  mcp.allowed wrong_type", "user  mcp.excluded wrong_type"}},
		{"mcp of the wrong type", User, []Content{good(`{"mcp":[]}`)}, []string{"user  mcp wrong_type"}},
		{"dropped, one per list", User, []Content{good(`{"mcp":{"allowed":[1,2],"excluded":[null,"a"]}}`)},
			[]string{"user  mcp.allowed dropped", "user  mcp.excluded dropped"}},
		{"duplicates", User, []Content{good(`{"x":1,"x":2,"x":3,"mcpServers":{"a":{},"a":{"command":"c","env":{"X":"1","X":"2"}}},"l":[{"y":1,"y":2}]}`)},
			[]string{"user  x duplicate", "user a mcpServers.a duplicate", "user a mcpServers.a.env.X duplicate", "user  l.0.y duplicate"}},
		{"a duplicate mcpServers", Project, []Content{good(`{"mcpServers":{"a":{"command":"c"}},"mcpServers":{}}`)}, []string{"project  mcpServers duplicate"}},
		{"entries", User, []Content{good(`{"mcpServers":{"a":null,"b":{"command":"$X","autoApprove":[1]}}}`)},
			[]string{"user a  malformed", "user b  ignored", "user b command variable"}},
		{"variables of what a wrong type leaves in force", User, []Content{good(`{"mcpServers":{"b":{"command":"$X","autoApprove":[1]}}}`), good(`{"mcpServers":1}`)},
			[]string{"user  mcpServers wrong_type", "user b command variable"}},
		{"restart keys, in one notice", User, []Content{good(`{}`), good(`{"proxy":"p","env":{"A":"1"}}`)}, []string{"user  env,proxy restart"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			tab := newTable()
			var l *Loaded
			for _, c := range x.loads {
				l, _ = tab.Load(x.scope, l, c)
			}
			var got []string
			for _, n := range l.Notices(x.scope) {
				got = append(got, n.File+" "+n.Server+" "+n.Key+" "+n.Kind)
			}
			if !sameStrings(got, x.want) {
				t.Errorf("%q", got)
			}
		})
	}
}
