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

func TestTheMapIsLayeredAsSRC2Says(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"all", Options{}, "d:system(workspace project user defaults) e:extension l:launch(system) o:session(launch user) r:runtime(session) u:user(extension)"},
		{"bare", Options{Bare: true}, "l:launch o:session(launch) r:runtime(session)"}, // SRC-13
	} {
		w := newWorld(t)
		c.o.DefaultsPath, c.o.SystemPath = "/project/defaults.json", "/project/system.json"
		c.o.McpConfig = entries("l", "o")
		w.edit(c.o.DefaultsPath, string(wrapped("d")))
		w.edit(userFile, string(wrapped("d", "o", "u")))
		w.edit(projectFile, string(wrapped("d")))
		w.edit("/project/.qwen/settings.json", string(wrapped("d")))
		w.edit(c.o.SystemPath, string(wrapped("d", "l")))
		w.start(c.o)
		if err := w.host.OpenSession("s1", entries("o", "r")); err != nil {
			t.Fatal(err)
		}
		w.host.SetExtension("x", entries("e", "u"))
		w.host.SetExtension("y", entries("e"))
		w.host.AddRuntime("s1", "r", []byte(`{"command":"r"}`), nil)
		w.settle()
		var got []string
		for _, e := range w.host.EffectiveMap("s1") {
			s := e.Name + ":" + e.Source
			if len(e.Shadows) > 0 {
				s += "(" + strings.Join(e.Shadows, " ") + ")"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n     %s\nwant %s", c.name, s, c.want)
		}
		for _, e := range w.host.SettingsMap("s1") {
			if e.Source == "extension" || e.Source == "runtime" {
				t.Errorf("%s: %s of the settings-level map is from %s", c.name, e.Name, e.Source)
			}
		}
	}
}

func entries(names ...string) []byte {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf(`%q:{"command":%q}`, n, n))
	}
	return []byte("{" + strings.Join(out, ",") + "}")
}

func wrapped(names ...string) []byte { return fmt.Appendf(nil, `{"mcpServers":%s}`, entries(names...)) }

func TestAdmissionIsCheckedAgainBeforePublishing(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, delay: map[port.OpKind]port.Ms{port.OpListTools: 1000}}
		fail := false
		w.inject = func(point string, _ port.SessionID, _ string) error {
			if point == "pass" && fail {
				return errors.New("injected")
			}
			return nil
		}
		w.start(Options{Pool: pool}, "s1")
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
		w.advance(400)
		fail = true // the pass that would retire it does not come to it
		w.edit(userFile, `{"mcp":{"excluded":["a"]},"mcpServers":{"a":{"command":"a"}}}`)
		w.advance(2000)
		if got := w.names(event.Published, event.Released); got != "released s1 a#1" {
			t.Error(got)
		}
		fail = false
		w.advance(5000)
		w.settle()
		w.expect("s1", "a held:excluded")
		if w.alive() != 0 {
			t.Error("a process is left")
		}
	})
}

func TestACallbackMayCallTheHost(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["a"] = &server{tools: []string{"x"}, hang: map[port.OpKind]bool{port.OpCall: true}}
		w.servers["b"] = &server{tools: []string{"y"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"a"},"b":{"command":"b"}}}`)
		w.start(Options{Pool: pool}, "s1", "s2")
		w.host.Call("s1", "1", "a", "x", nil, func(string, *mcpgo.CallToolResult) { w.host.CloseSession("s1") })
		w.host.Call("s2", "2", "a", "x", nil, func(string, *mcpgo.CallToolResult) {
			w.host.AddRuntime("s2", "c", []byte(`{"command":"b"}`), nil)
		})
		w.edit(userFile, `{"mcpServers":{}}`)
		w.settle()
		w.expect("s2", "a removed, b removed, c live y")
		if s := w.host.Sessions(); len(s) != 1 {
			t.Errorf("%v", s)
		}
		w.host.Shutdown(nil)
		w.advance(5000)
		if w.alive() != 0 {
			t.Error("a process is left")
		}
	})
}

func TestAReopenedSessionWaitsForItsOldProcess(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}, ignoreTerm: true}
	w.edit(userFile, `{"mcpServers":{"a":{"command":"a"}}}`)
	w.start(Options{}, "s1")
	w.host.CloseSession("s1")
	if err := w.host.OpenSession("s1", nil); err != nil {
		t.Fatal(err)
	}
	w.advance(2499)
	w.expect("s1", "a dialing")
	if len(w.procs) != 1 {
		t.Error("dialled beside its predecessor")
	}
	w.settle()
	w.expect("s1", "a live x")
}
