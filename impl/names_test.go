package impl

import (
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

func TestToolNames(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"a", "x", "mcp__a__x"},
		{"a.b", "é/1", "mcp__a_b____1"},
		{"a::b", "x-y_z", "mcp__a__b__x-y_z"},
		{strings.Repeat("s", 50), "1234567", "mcp__" + strings.Repeat("s", 50) + "__1234567"},
	} {
		if got := ToolName(c.server, c.tool); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	long := strings.Repeat("s", 70)
	a, b := ToolName(long, "x"), ToolName(long, "y")
	if len(a) != 64 || a == b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestTwoPairsOfOneName(t *testing.T) {
	both(t, func(t *testing.T, pool bool) {
		w := newWorld(t)
		w.servers["1"] = &server{tools: []string{"b__x", "only"}}
		w.servers["2"] = &server{tools: []string{"x"}}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"1"},"a__b":{"command":"2"}}}`)
		w.start(Options{Pool: pool}, "s1")
		w.expect("s1", "a live only, a__b live x")
		n := w.host.Status("s1").Notices
		if len(n) != 1 || n[0].Kind != "tool_name" || n[0].Server != "a" || n[0].Key != "b__x" || n[0].Session != "s1" {
			t.Errorf("%+v", n)
		}
		server := ""
		w.host.CallName("s1", "1", "mcp__a__b__x", nil, func(o string, _ *mcpgo.CallToolResult) { server = o })
		w.settle()
		w.advance(0)
		if server != "ok" {
			t.Error(server)
		}
		w.edit(userFile, `{"mcpServers":{"a":{"command":"1"}}}`)
		w.settle()
		w.expect("s1", "a live b__x+only, a__b removed")
		if n := w.host.Status("s1").Notices; len(n) != 0 {
			t.Errorf("%+v", n)
		}
	})
}

func TestAMissNamesTheServerAndTheWayBack(t *testing.T) {
	w := newWorld(t)
	w.servers["a"] = &server{tools: []string{"x"}}
	w.edit(userFile, `{"mcp":{"allowed":["*"],"excluded":["ex"]},"mcpServers":{"a":{"command":"a"},"gone":{"command":"a"},"dis":{"command":"a","disabled":true},"ex":{"command":"a"},"ex_long":{"command":"a"},"bad":{"url":"http://bad"},"barred":{"command":"a"}}}`)
	w.edit(projectFile, `{"mcpServers":{"pend":{"command":"a"}}}`)
	w.start(Options{HasFlag: true, Flag: []string{"a", "gone", "dis", "ex", "bad", "pend", "late"}}, "s1")
	w.edit(userFile, `{"mcp":{"allowed":["a","dis","ex","bad","pend","late"],"excluded":["ex"]},"mcpServers":{"a":{"command":"a"},"dis":{"command":"a","disabled":true},"ex":{"command":"a"},"ex_long":{"command":"a"},"bad":{"url":"http://bad"},"barred":{"command":"a"}}}`)
	w.settle()
	for _, c := range []struct{ name, want string }{
		{"mcp__a__nothing", "no tool"},
		{"mcp__zzz__x", "no tool"},
		{"mcp__gone__x", `"gone" was removed`},
		{"mcp__dis__x", `"dis" is disabled; enable it`},
		{"mcp__ex__x", "mcp.excluded"},
		{"mcp__ex_long__x", "launch flag"},
		{"mcp__barred__x", "launch flag"},
		{"mcp__pend__x", "approve it"},
		{"mcp__bad__x", "no type"},
	} {
		if got := w.host.MissMessage("s1", c.name); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.name, got)
		}
	}
	outcome := func(name string) (out string) {
		w.host.CallName("s1", "1", name, nil, func(o string, _ *mcpgo.CallToolResult) { out = o })
		return out
	}
	for name, want := range map[string]string{"mcp__a__nothing": "refused:no_tool", "mcp__zzz__x": "refused:no_tool", "mcp__gone__x": "refused:removed",
		"mcp__dis__x": "refused:disabled", "mcp__bad__x": "refused:failed"} {
		if got := outcome(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
