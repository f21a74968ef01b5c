package model

import (
	"strings"
	"testing"
)

func TestBothShapesAreOneConfig(t *testing.T) { // SRC-4, SRC-16
	for _, x := range []struct {
		name, a, b string
		same       bool
	}{
		{"stdio", `{"type":"stdio","command":"c"}`, `{"command":"c"}`, true},
		{"http", `{"type":"http","url":"http://h"}`, `{"httpUrl":"http://h"}`, true},
		{"streamable-http", `{"type":"streamable-http","url":"http://h"}`, `{"httpUrl":"http://h"}`, true},
		{"streamableHttp", `{"type":"streamableHttp","url":"http://h"}`, `{"httpUrl":"http://h"}`, true},
		{"http with httpUrl", `{"type":"http","httpUrl":"http://h"}`, `{"httpUrl":"http://h"}`, true},
		{"sse", `{"type":"sse","url":"http://h"}`, `{"url":"http://h"}`, true},
		{"sse is not http", `{"url":"http://h"}`, `{"httpUrl":"http://h"}`, false},
		{"null type", `{"type":null,"command":"c"}`, `{"command":"c"}`, true},
		{"empty url", `{"command":"c","url":""}`, `{"command":"c"}`, true},
		{"key order", `{"args":["a"],"command":"c"}`, `{"command":"c","args":["a"]}`, true},
		{"array order", `{"command":"c","args":["a","b"]}`, `{"command":"c","args":["b","a"]}`, false},
		{"absent equals empty", `{"command":"c","args":[],"env":{},"x":null,"cwd":null}`, `{"command":"c"}`, true},
		{"at any depth", `{"command":"c","x":{"y":{"z":[]},"k":1}}`, `{"command":"c","x":{"k":1}}`, true},
		{"all the way up", `{"command":"c","x":{"y":{"z":null}}}`, `{"command":"c"}`, true},
		{"elements are not absent", `{"command":"c","x":[null,{}]}`, `{"command":"c","x":[]}`, false},
		{"elements stay apart", `{"command":"c","x":[null]}`, `{"command":"c","x":[{}]}`, false},
		{"inside elements", `{"command":"c","x":[{"a":null}]}`, `{"command":"c","x":[{}]}`, true},
		{"a null env value", `{"command":"c","env":{"A":null}}`, `{"command":"c"}`, true},
		{"an empty env value is there", `{"command":"c","env":{"A":""}}`, `{"command":"c"}`, false},
		{"a number is its text", `{"command":"c","env":{"A":1}}`, `{"command":"c","env":{"A":"1"}}`, true},
		{"unknown fields count", `{"command":"c","zzz":1}`, `{"command":"c"}`, false},
		{"fields of other hosts count", `{"command":"c","autoApprove":["x"]}`, `{"command":"c"}`, false},
		{"trust counts", `{"command":"c","trust":true}`, `{"command":"c"}`, false},
		{"filters count", `{"command":"c","includeTools":["x"]}`, `{"command":"c"}`, false},
		{"description does not", `{"command":"c","description":"d"}`, `{"command":"c"}`, true},
		{"disabled and enabled do not", `{"command":"c","disabled":true,"enabled":false}`, `{"command":"c"}`, true},
		{"scope and extensionName do not", `{"command":"c","scope":"user","extensionName":"e"}`, `{"command":"c"}`, true}, // SRC-3
		{"but below the top they do", `{"command":"c","x":{"description":"d"}}`, `{"command":"c","x":{"description":"e"}}`, false},
		{"injective text", `{"command":"c","x":"\",\"y\":\"z"}`, `{"command":"c","x":"","y":"z"}`, false},
		{"the command's case", `{"command":"C"}`, `{"command":"c"}`, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			tab := newTable()
			a, _ := tab.Entry("s", js(x.a), true)
			b, _ := tab.Entry("s", js(x.b), true)
			if a == nil || b == nil {
				t.Fatal("malformed")
			}
			if (a.ID == b.ID) != x.same {
				t.Errorf("%s and %s", a.Text, b.Text)
			}
		})
	}
}

func TestFingerprintCoversTheTransport(t *testing.T) { // spec section 1
	base := `{"command":"c"`
	for _, x := range []struct {
		more string
		same bool
	}{
		{``, true},
		{`,"args":["a"]`, false},
		{`,"cwd":"d"`, false},
		{`,"env":{"A":"1"}`, false},
		{`,"headers":{"A":"1"}`, false}, // foreign fields too
		{`,"timeout":5`, false},
		{`,"discoveryTimeoutMs":500`, true},
		{`,"trust":true`, true},
		{`,"includeTools":["a"]`, true},
		{`,"excludeTools":["a"]`, true},
		{`,"description":"d","zzz":1`, true},
		{`,"disabled":true`, true},
		{`,"args":[],"env":{},"cwd":null`, true},
	} {
		tab := newTable()
		a, _ := tab.Entry("s", js(base+"}"), false)
		b, _ := tab.Entry("s", js(base+x.more+"}"), false)
		if b == nil || (a.Fp == b.Fp) != x.same {
			t.Errorf("%s", x.more)
		}
	}
	tab := newTable()
	two := func(a, b string) bool {
		x, _ := tab.Entry("s", js(a), false)
		y, _ := tab.Entry("s", js(b), false)
		return x.Fp == y.Fp
	}
	for _, x := range [][2]string{
		{`{"command":"c","args":["a","b"]}`, `{"command":"c","args":["a b"]}`},
		{`{"command":"c","args":["a","b"]}`, `{"command":"c","args":["a"],"env":{"b":""}}`},
		{`{"command":"c","env":{"A":"1"}}`, `{"command":"c","headers":{"A":"1"}}`},
		{`{"url":"http://h"}`, `{"httpUrl":"http://h"}`},
		{`{"command":"c","args":["a"]}`, `{"command":"c","cwd":"a"}`},
	} {
		if two(x[0], x[1]) {
			t.Errorf("%s and %s have one fingerprint", x[0], x[1])
		}
	}
	if !two(`{"command":"c","env":{"A":"1","B":"2"}}`, `{"command":"c","env":{"B":2,"A":1}}`) {
		t.Error("the order of env counts, or a number is not its text")
	}
}

func TestEntriesThatAreSkippedGiveOneNotice(t *testing.T) { // SRC-8
	for _, x := range []struct{ name, entry string }{
		{"null", `null`}, {"empty", `{}`}, {"all absent", `{"command":null,"env":{}}`},
		{"no object", `"c"`}, {"array", `[]`}, {"number", `1`},
		{"no transport", `{"args":["a"]}`},
		{"empty command", `{"command":""}`}, {"empty url", `{"url":"","type":"http"}`},
		{"two transports", `{"command":"c","url":"u"}`}, {"url and httpUrl", `{"httpUrl":"c","url":"u"}`},
		{"unknown type", `{"type":"ws","url":"u"}`}, {"empty type", `{"type":"","command":"c"}`},
		{"type of another case", `{"type":"HTTP","url":"u"}`},
		{"stdio with url", `{"type":"stdio","url":"u"}`}, {"http with command", `{"type":"http","command":"c"}`},
		{"sse with httpUrl", `{"type":"sse","httpUrl":"u"}`}, {"sse with command", `{"type":"sse","command":"u"}`},
		{"sdk in a file", `{"type":"sdk"}`},
		{"type of the wrong type", `{"type":1,"command":"c"}`},
		{"command", `{"command":["c"]}`}, {"args", `{"command":"c","args":"a"}`}, {"args element", `{"command":"c","args":[1]}`},
		{"null element", `{"command":"c","args":[null]}`},
		{"env", `{"command":"c","env":["A=1"]}`}, {"env value", `{"command":"c","env":{"A":["x"]}}`},
		{"headers value", `{"url":"u","headers":{"A":{"b":"x"}}}`},
		{"cwd", `{"command":"c","cwd":1}`}, {"trust", `{"command":"c","trust":"yes"}`}, {"disabled", `{"command":"c","disabled":1}`},
		{"includeTools", `{"command":"c","includeTools":"x"}`}, {"description", `{"command":"c","description":["x"]}`},
		{"timeout 0", `{"command":"c","timeout":0}`}, {"timeout -1", `{"command":"c","timeout":-1}`},
		{"timeout 1.5", `{"command":"c","timeout":1.5}`}, {"timeout text", `{"command":"c","timeout":"5"}`},
		{"discovery 0", `{"command":"c","discoveryTimeoutMs":0}`},
		{"huge integer", `{"command":"c","x":9007199254740993}`}, {"huge, deep", `{"command":"c","x":[{"y":-9007199254740993}]}`},
		{"huge env value", `{"command":"c","env":{"A":99999999999999999999}}`},
		{"bad text", `{"command":"c","x":"\ud800"}`}, {"bad key", `{"command":"c","x":{"\ud800":1}}`},
		{"bad element", `{"command":"c","args":["\ud800"]}`},
		{"other notices are not given", `{"command":"c","url":"u","env":{"A":1},"autoApprove":["x"],"args":["$X"]}`},
	} {
		t.Run(x.name, func(t *testing.T) {
			cfg, probs := newTable().Entry("s", js(x.entry), false)
			if cfg != nil || !sameProblems(probs, []Problem{{"s", "", "malformed"}}) {
				t.Errorf("%v %v", cfg, probs)
			}
		})
	}
	for _, name := range []string{"", "a\xff"} {
		if cfg, _ := newTable().Entry(name, js(`{"command":"c"}`), false); cfg != nil {
			t.Errorf("the name %q is legal", name)
		}
	}
	if cfg, _ := newTable().Entry("s", nil, false); cfg != nil {
		t.Error("nothing is an entry")
	}
}

func TestEveryOtherNameIsLegal(t *testing.T) { // SRC-10
	for _, name := range []string{"__proto__", "toString", "a::b", "a/b", "..", " ", "\x00", "é", "e\u0301", "mcpServers"} {
		if cfg, _ := newTable().Entry(name, js(`{"command":"c"}`), false); cfg == nil {
			t.Errorf("%q is skipped", name)
		}
	}
}

func TestNoticesAboutEntriesThatCount(t *testing.T) {
	for _, x := range []struct {
		name, entry string
		want        []Problem
	}{
		{"nothing", `{"command":"c"}`, nil},
		{"coerced", `{"command":"c","env":{"A":1,"B":true,"C":"x"},"headers":{"H":0.5}}`, // SRC-8
			[]Problem{{"s", "env.A", "coerced"}, {"s", "env.B", "coerced"}, {"s", "headers.H", "coerced"}}},
		{"ignored once", `{"command":"c","alwaysAllow":["x"],"envFile":"f","disabledTools":["y"]}`, []Problem{{"s", "", "ignored"}}}, // SRC-17
		{"unknown fields are no matter", `{"command":"c","zzz":"$X"}`, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			cfg, probs := newTable().Entry("s", js(x.entry), false)
			if cfg == nil || !sameProblems(probs, x.want) {
				t.Errorf("%v %v", cfg, probs)
			}
		})
	}
}

func TestWhatAnEntryMeans(t *testing.T) {
	for _, x := range []struct {
		name, entry string
		check       func(c *Config) bool
	}{
		{"defaults", `{"command":"c"}`, func(c *Config) bool {
			return c.Transport == Stdio && c.Timeout == 600000 && c.Discovery == 30000 && !c.Trust && !c.Disabled && c.Include == nil
		}},
		{"remote discovery", `{"url":"u"}`, func(c *Config) bool { return c.Transport == SSE && c.Discovery == 5000 }},
		{"http", `{"type":"http","url":"u"}`, func(c *Config) bool { return c.Transport == HTTP && c.URL == "u" && c.Discovery == 5000 }},
		{"clamp below", `{"command":"c","discoveryTimeoutMs":1}`, func(c *Config) bool { return c.Discovery == 100 }},      // REC-7
		{"clamp above", `{"command":"c","discoveryTimeoutMs":1e9}`, func(c *Config) bool { return c.Discovery == 300000 }}, // REC-7
		{"timeout", `{"command":"c","timeout":1e3}`, func(c *Config) bool { return c.Timeout == 1000 }},                    // CALL-3
		{"untyped url", `{"url":"u"}`, func(c *Config) bool { return c.UntypedURL }},                                       // SRC-4
		{"typed url", `{"url":"u","type":"sse"}`, func(c *Config) bool { return !c.UntypedURL }},
		{"httpUrl", `{"httpUrl":"u"}`, func(c *Config) bool { return !c.UntypedURL }},
		{"disabled", `{"command":"c","disabled":true}`, func(c *Config) bool { return c.Disabled }},
		{"not enabled", `{"command":"c","enabled":false}`, func(c *Config) bool { return c.Disabled }},
		{"enabled and disabled", `{"command":"c","enabled":true,"disabled":true}`, func(c *Config) bool { return c.Disabled }},
		{"not disabled", `{"command":"c","enabled":null,"disabled":false}`, func(c *Config) bool { return !c.Disabled }},
		{"never split", `{"command":"a b","args":["c  d",""]}`, func(c *Config) bool { return c.CommandLine == "a b c  d " }}, // SRC-16
		{"filters", `{"command":"c","includeTools":["x","y"],"excludeTools":["y"]}`, func(c *Config) bool { // REC-6
			return c.Allows("x") && !c.Allows("y") && !c.Allows("z")
		}},
		{"exclude only", `{"command":"c","includeTools":[],"excludeTools":["y"]}`, func(c *Config) bool { return c.Allows("x") && !c.Allows("y") }},
		{"sdk", `{"type":"sdk"}`, func(c *Config) bool { return c.Transport == SDK && c.CommandLine == "s" && c.Discovery == 30000 }},
		{"full keeps what the hash leaves out", `{"command":"c","description":"d","scope":"x"}`, func(c *Config) bool {
			return strings.Contains(c.Full.String(), "description") && !strings.Contains(c.Full.String(), "scope") && c.Raw.String() == `{"command":"c"}`
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if c, probs := newTable().Entry("s", js(x.entry), true); c == nil || !x.check(c) {
				t.Errorf("%+v %v", c, probs)
			}
		})
	}
}
