package model

import (
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"
)

// world builds Memories from JSON texts.
type world struct {
	t *Table
	m *Memory
}

func newWorld(l *Launch) *world {
	return &world{NewTable(l), &Memory{Launch: l, Trusted: true, Records: map[string]Record{}, Sessions: []*SessionState{{ID: "s1"}, {ID: "s2"}}}}
}

func (w *world) file(s Scope, text string) *world {
	w.m.Files[s], _ = w.t.Load(s, w.m.Files[s], good(text))
	return w
}

func (w *world) servers(text string) []NamedConfig {
	list, _ := w.t.Servers(js(text), true)
	return list
}

func (w *world) record(server, entry string, approved bool) *world {
	cfg, _ := w.t.Entry(server, js(entry), true)
	w.m.Records[server] = Record{cfg.ID, approved}
	return w
}

// one is a map with one server per name; the source is in the command.
func one(source string, names ...string) string {
	var parts []string
	for _, n := range names {
		parts = append(parts, fmt.Sprintf(`%q:{"command":%q}`, n, source))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func file(source string, names ...string) string {
	return `{"mcpServers":` + one(source, names...) + `}`
}

// shown is a session's effective map: name, where it comes from, what it shadows.
func shown(e *Effective, s SessionID) string {
	var parts []string
	for _, es := range e.Servers(s) {
		p := es.Name + "=" + SourceName(es.Source)
		for _, sh := range es.Shadows {
			p += ">" + SourceName(sh)
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, " ")
}

func TestTheMapIsMergedByRankWhole(t *testing.T) { // SRC-1, SRC-2
	w := newWorld(&Launch{})
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"}
	w.m.Extensions = []Extension{{"x", w.servers(one("ext", all...))}, {"y", w.servers(one("ext2", "a", "z"))}}
	w.file(Defaults, file("defaults", all[1:]...)).file(User, file("user", all[2:]...)).file(Project, file("project", all[3:]...))
	w.file(Workspace, file("workspace", all[4:]...)).file(System, file("system", all[5:]...))
	w.m.LaunchServers = w.servers(one("launch", all[6:]...))
	w.m.Sessions[0].Own = w.servers(one("session", all[7:]...))
	w.m.Sessions[0].Runtime = w.servers(one("runtime", "i", "r"))
	e := Derive(w.m)
	want := "a=extension b=defaults>extension c=user>defaults>extension d=project>user>defaults>extension " +
		"e=workspace>project>user>defaults>extension f=system>workspace>project>user>defaults>extension " +
		"g=launch>system>workspace>project>user>defaults>extension h=session>launch>system>workspace>project>user>defaults>extension " +
		"i=runtime>session>launch>system>workspace>project>user>defaults>extension r=runtime z=extension"
	if got := shown(e, "s1"); got != want {
		t.Errorf("s1 %s", got)
	}
	if got := shown(e, "s2"); !strings.Contains(got, "h=launch>system") || strings.Contains(got, "r=") {
		t.Errorf("s2 has what is another session's: %s", got)
	}
	for _, es := range e.Servers("s1") { // the entry is replaced whole; of two extensions the first keeps a name
		if want := strings.Replace(SourceName(es.Source), "extension", "ext", 1); es.Config.CommandLine != want && es.Name != "z" {
			t.Errorf("%s is %s", es.Name, es.Config.CommandLine)
		}
	}
	if e.Servers("s9") != nil || e.Queue("s9") != nil || e.Names("s9") != nil || e.SettingsMap("s9") != "" || e.Server("s9", "a") != nil {
		t.Error("a session that is not open has something")
	}
}

func TestSourcesThatDoNotCount(t *testing.T) {
	for _, x := range []struct {
		name    string
		launch  Launch
		trusted bool
		want    string
		lists   string
	}{
		{"all count", Launch{}, true, "d=defaults e=extension l=launch p=project s=system u=user w=workspace", "user,workspace [xp xu xw]"},
		{"untrusted folder", Launch{}, false, "d=defaults e=extension l=launch s=system u=user", "user [xu]"},                      // SRC-12
		{"bare launch", Launch{Bare: true, HasFlag: true}, true, "l=launch", "flag []"},                                            // SRC-13
		{"root is home", Launch{HomeIsRoot: true}, true, "d=defaults e=extension l=launch p=project s=system u=user", "user [xu]"}, // SRC-11
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newWorld(&x.launch)
			w.m.Trusted = x.trusted
			lists := `,"mcp":{"allowed":["*"],"excluded":["%s"]}}`
			w.file(Defaults, file("c", "d")).file(System, file("c", "s"))
			w.file(User, strings.TrimSuffix(file("c", "u"), "}")+fmt.Sprintf(lists, "xu"))
			w.file(Workspace, strings.TrimSuffix(file("c", "w"), "}")+fmt.Sprintf(lists, "xw"))
			w.file(Project, strings.TrimSuffix(file("c", "p"), "}")+fmt.Sprintf(lists, "xp"))
			w.m.Extensions = []Extension{{"x", w.servers(one("c", "e"))}}
			w.m.LaunchServers = w.servers(one("c", "l"))
			e := Derive(w.m)
			if got := shown(e, "s1"); got != x.want {
				t.Error(got)
			}
			l := e.Lists("s1")
			var layers []string
			for _, a := range l.Allowed {
				layers = append(layers, a.Layer)
			}
			// SRC-15: what .mcp.json says under mcp is not read
			if got := strings.Join(layers, ",") + " " + fmt.Sprint(l.Excluded); got != strings.Replace(x.lists, "xp ", "", 1) {
				t.Error(got)
			}
		})
	}
}

func TestListsAreSetsOnePerLayer(t *testing.T) { // GATE-3, D-11, ADM-4
	w := newWorld(&Launch{HasFlag: true, Flag: []string{"b", "a", "", "b"}})
	w.file(User, `{"mcp":{"allowed":["z","","z","a"],"excluded":["q","p"]}}`).file(System, `{"mcp":{"allowed":[""],"excluded":["p",""]}}`)
	w.file(Project, file("c", "g", "h", "i")).record("h", `{"command":"c"}`, true).record("i", `{"command":"c"}`, false)
	l := Derive(w.m).Lists("s1")
	want := Lists{Excluded: []string{"p", "q"}, Pending: []string{"g", "i"},
		Allowed: []AllowList{{"flag", []string{"a", "b"}}, {"user", []string{"a", "z"}}, {"system", []string{}}}}
	if fmt.Sprint(l) != fmt.Sprint(want) {
		t.Errorf("%v", l)
	}
	w.m.Launch.ApprovalsOff = true // ASK-5
	if l := Derive(w.m).Lists("s1"); len(l.Pending) != 0 {
		t.Errorf("%v is pending with approvals off", l.Pending)
	}
}

func TestTheSettingsLevelMapLeavesOutExtensionsAndRuntimeServers(t *testing.T) { // GATE-1, GATE-2
	base := func() *world {
		w := newWorld(&Launch{})
		w.file(User, file("c", "a", "b"))
		w.m.LaunchServers = w.servers(one("c", "l"))
		w.m.Sessions[0].Own = w.servers(one("c", "o"))
		return w
	}
	for _, x := range []struct {
		name   string
		change func(w *world)
		same   bool
	}{
		{"nothing", func(*world) {}, true},
		{"an extension", func(w *world) { w.m.Extensions = []Extension{{"x", w.servers(one("c", "e"))}} }, true},
		{"a runtime server", func(w *world) { w.m.Sessions[0].Runtime = w.servers(one("c", "r")) }, true},
		{"a runtime server that shadows", func(w *world) { w.m.Sessions[0].Runtime = w.servers(one("c", "a", "l", "o")) }, true},
		{"key order and what is absent", func(w *world) {
			w.file(User, `{"mcpServers":{"b":{"command":"c"},"a":{"args":[],"command":"c"}}}`)
		}, true},
		{"another layer with the same entries", func(w *world) { w.file(User, `{}`).file(System, file("c", "a", "b")) }, true},
		{"an entry", func(w *world) { w.file(User, file("d", "a", "b")) }, false},
		{"a description", func(w *world) {
			w.file(User, `{"mcpServers":{"a":{"command":"c","description":"d"},"b":{"command":"c"}}}`)
		}, false},
		{"disabled", func(w *world) {
			w.file(User, `{"mcpServers":{"a":{"command":"c","disabled":true},"b":{"command":"c"}}}`)
		}, false},
		{"a name", func(w *world) { w.file(User, file("c", "a", "B")) }, false},
		{"a server gone", func(w *world) { w.file(User, file("c", "a")) }, false},
		{"a record", func(w *world) { w.record("a", `{"command":"c"}`, true) }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := base()
			before := Derive(w.m).SettingsMap("s1")
			x.change(w)
			if got := Derive(w.m).SettingsMap("s1"); (got == before) != x.same {
				t.Errorf("%q, before %q", got, before)
			}
		})
	}
	w := base()
	e := Derive(w.m)
	if e.SettingsMap("s1") == e.SettingsMap("s2") {
		t.Error("a session's own servers are not in its map")
	}
}

// TestTheMapIsWhatItsDefinitionSays holds Derive against SRC-2 read literally, over random changes.
func TestTheMapIsWhatItsDefinitionSays(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	w := newWorld(&Launch{})
	names := []string{"a", "b", "c", "d", "e", "f"}
	some := func() []string {
		var out []string
		for _, n := range names {
			if r.Intn(3) == 0 {
				out = append(out, n)
			}
		}
		return out
	}
	for i := range 3000 {
		switch src := fmt.Sprint("c", r.Intn(3)); r.Intn(8) {
		case 0, 1, 2:
			s := Scope(r.Intn(int(Approvals)))
			w.file(s, file(src, some()...))
		case 3:
			w.m.Extensions = nil
			for _, x := range some() {
				w.m.Extensions = append(w.m.Extensions, Extension{x, w.servers(one(src, some()...))})
			}
		case 4:
			w.m.Sessions[r.Intn(2)].Runtime = w.servers(one(src, some()...))
		case 5:
			w.m.Trusted = r.Intn(4) > 0
		case 6:
			w.m.Sessions[0].Own = w.servers(one(src, some()...))
		case 7:
			w.record(names[r.Intn(len(names))], `{"command":"c1"}`, r.Intn(2) == 0)
		}
		e := Derive(w.m)
		for _, s := range []SessionID{"s1", "s2"} {
			if got, want := shown(e, s), defines(w.m, s); got != want {
				t.Fatalf("change %d: %s, by definition %s", i, got, want)
			}
		}
	}
}

// defines is SRC-2 read literally: per name, every source from the highest down.
func defines(m *Memory, id SessionID) string {
	type source struct {
		src  Source
		list []NamedConfig
	}
	var st *SessionState
	for _, x := range m.Sessions {
		if x.ID == id {
			st = x
		}
	}
	sources := []source{{FromRuntime, st.Runtime}, {FromSession, st.Own}, {FromLaunch, m.LaunchServers}}
	for s := int(System); s >= int(Defaults); s-- {
		if l := m.layer(Scope(s)); l != nil {
			sources = append(sources, source{FromDefaults + Source(s), l.Servers})
		}
	}
	for _, x := range m.Extensions {
		sources = append(sources, source{FromExtension, x.Servers})
	}
	found := map[string]string{}
	last := map[string]Source{}
	for _, src := range sources {
		for _, nc := range src.list {
			if found[nc.Name] == "" {
				found[nc.Name] = nc.Name + "=" + SourceName(src.src)
			} else if src.src != FromExtension || last[nc.Name] != FromExtension { // an extension shadows none of its kind
				found[nc.Name] += ">" + SourceName(src.src)
			}
			last[nc.Name] = src.src
		}
	}
	var out []string
	for n := range found {
		out = append(out, n)
	}
	sort.Strings(out)
	for i, n := range out {
		out[i] = found[n]
	}
	return strings.Join(out, " ")
}
