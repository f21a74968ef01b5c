package model

import (
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
