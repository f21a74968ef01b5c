package config

import (
	"strings"
	"testing"
)

func entries(t *testing.T, text string) ([]*Entry, []Problem) {
	t.Helper()
	es, ps, err := NewCache().Entries([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return es, ps
}

func one(t *testing.T, entry string) *Entry {
	t.Helper()
	es, ps := entries(t, `{"a":`+entry+`}`)
	if len(es) != 1 {
		t.Fatalf("%s: %v", entry, ps)
	}
	return es[0]
}

func kinds(ps []Problem) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Kind+" "+p.Server+" "+p.Key)
	}
	return strings.Join(out, ", ")
}

func TestBadTextIsRefusedWithItsPlace(t *testing.T) {
	for _, c := range []struct {
		text, kind   string
		line, column int
	}{
		{"", "unparsable", 1, 1},
		{" // c\n", "unparsable", 1, 1},
		{"{", "unparsable", 1, 2},
		{"{\n \"a\": tru}", "unparsable", 2, 10},
		{"{\"a\": \"b", "unparsable", 1, 9},
		{"{}{}", "unparsable", 1, 3},
		{"{,}", "unparsable", 1, 2},
		{"{\"a\": [ /* x */ , ]}", "unparsable", 1, 17},
		{"{\"a\":1,,}", "unparsable", 1, 7},
		{"{\"a\":}", "unparsable", 1, 6},
		{"{/*", "unparsable", 1, 2},
		{"{'a':1}", "unparsable", 1, 2},
		{"{\"a\":01}", "unparsable", 1, 7},
		{"\xff\xfe{\x00}\x00", "unparsable", 0, 0},
		{"{\x00}\x00", "unparsable", 0, 0},
		{"[]", "not_object", 1, 1},
		{" \n null", "not_object", 2, 2},
		{"\"x\"", "not_object", 1, 1},
		{"\xEF\xBB\xBF\xEF\xBB\xBF{}", "unparsable", 1, 1},
		{"../../.mcp.json\n", "unparsable", 1, 1},
	} {
		_, err := NewCache().Parse([]byte(c.text))
		pe, ok := err.(*ParseError)
		if !ok || pe.Kind != c.kind || pe.Line != c.line || pe.Column != c.column {
			t.Errorf("%q: %#v, want %v", c.text, err, c)
		}
	}
	if _, err := NewCache().Parse([]byte("../x.json")); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link checked out as text: %v", err) // SRC-15
	}
}

func TestGoodTextOfManyForms(t *testing.T) {
	want := NewCache()
	es, _, err := want.Entries([]byte(`{"a":{"command":"x","args":["1"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"\xEF\xBB\xBF{\"a\":{\"command\":\"x\",\"args\":[\"1\"]}}",
		"{\r\n\"a\":\r\n{\"args\":[\"1\",],\"command\":\"x\",},\r\n}\r\n",
		"// c\n{/* [,] */\"a\":{\"command\":\"\\u0078\",\"args\":[\"1\" /*,*/]}}// end",
		`{"a":{"type":"stdio","command":"x","args":["1"],"env":{},"cwd":null,"url":""}}`,
		`{"mcpServers":{"a":{"command":"x","args":["1"],"scope":"user","extensionName":7}}}`,
		"{\"a\":{\"command\":\"x\",\"args\":[\"1\"] // \xff \n}}",
	} {
		got, ps, err := NewCache().Entries([]byte(text))
		if err != nil || len(ps) > 0 || len(got) != 1 || got[0].Hash != es[0].Hash || got[0].Full != es[0].Full {
			t.Errorf("%q: %v %v %v", text, got, ps, err)
		}
	}
}

func TestMalformedEntriesCostOnlyThemselves(t *testing.T) {
	for _, e := range []string{
		`null`, `{}`, `[]`, `7`, `"x"`, `{"env":{"A":null}}`, `{"args":["x"]}`, `{"command":""}`,
		`{"command":"x","url":"http://y"}`, `{"url":"http://y","httpUrl":"http://y"}`,
		`{"type":"stdio","url":"http://y"}`, `{"type":"http","command":"x"}`, `{"type":"sse","httpUrl":"http://y"}`,
		`{"type":"ws","url":"http://y"}`, `{"type":"","url":"http://y"}`, `{"type":7,"url":"http://y"}`, `{"type":"STDIO","command":"x"}`,
		`{"command":["x"]}`, `{"command":"x","args":"y"}`, `{"command":"x","args":[1]}`, `{"command":"x","args":{"a":1}}`,
		`{"command":"x","env":[1]}`, `{"command":"x","env":{"A":["b"]}}`, `{"command":"x","env":"A=b"}`, `{"command":"x","cwd":1}`,
		`{"command":"x","timeout":0}`, `{"command":"x","timeout":-1}`, `{"command":"x","timeout":1.5}`, `{"command":"x","timeout":"30"}`,
		`{"command":"x","discoveryTimeoutMs":0.5}`, `{"command":"x","trust":"yes"}`, `{"command":"x","disabled":1}`, `{"command":"x","enabled":"no"}`,
		`{"command":"x","description":1}`, `{"command":"x","includeTools":[null]}`, `{"command":"x","excludeTools":"y"}`,
		`{"command":"x","timeout":9007199254740993}`, `{"command":"x","a":{"b":[9007199254740993.0]}}`, `{"command":"x","a":1e300}`, `{"command":"x","a":-1e400}`,
		`{"command":"\ud800"}`, `{"command":"x","env":{"\udc00":"y"}}`, `{"command":"x","a":[{"b":"\ud800\ud800"}]}`, "{\"command\":\"\xff\"}",
		`{"type":"sdk","command":"x"}`,
	} {
		es, ps := entries(t, `{"mcpServers":{"a":`+e+`,"b":{"command":"ok"}}}`)
		if len(es) != 1 || es[0].Name != "b" || kinds(ps) != "malformed a " {
			t.Errorf("%s: %v %s", e, es, kinds(ps))
		}
	}
	es, ps := entries(t, `{"":{"command":"x"},"\ud800":{"command":"x"},"\ufffd":{"command":"y"},"__proto__":{"command":"z"},"a::b":{"command":"z"}}`)
	if len(es) != 3 || kinds(ps) != "malformed  , malformed \ufffd " {
		t.Errorf("names: %v %s", es, kinds(ps))
	}
}

func TestSDKOnlyWhereItIsGiven(t *testing.T) {
	if e := one(t, `{"type":"sdk"}`); e.Kind != SDK {
		t.Errorf("kind %d", e.Kind)
	}
	d, err := NewCache().Parse([]byte(`{"mcpServers":{"a":{"type":"sdk"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if c := d.Settings(); len(c.Servers) != 0 || kinds(c.Problems) != "malformed a " {
		t.Errorf("in a file: %v", c)
	}
}

func TestTypesNormalise(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"type":"http","url":"u"}`, `{"httpUrl":"u"}`},
		{`{"type":"streamable-http","url":"u","httpUrl":""}`, `{"httpUrl":"u"}`},
		{`{"type":"streamableHttp","httpUrl":"u"}`, `{"httpUrl":"u"}`},
		{`{"type":"sse","url":"u"}`, `{"url":"u","type":null}`},
		{`{"type":"stdio","command":"c","httpUrl":null}`, `{"command":"c"}`},
	} {
		a, b := one(t, pair[0]), one(t, pair[1])
		if a.Canon != b.Canon || a.Hash != b.Hash || a.Kind != b.Kind || a.URL != b.URL {
			t.Errorf("%s and %s: %s and %s", pair[0], pair[1], a.Canon, b.Canon)
		}
	}
	if one(t, `{"url":"u","type":"sse"}`).UntypedURL || !one(t, `{"url":"u"}`).UntypedURL {
		t.Error("a url without a type is untyped, one with a type is not") // SRC-4
	}
}

func TestHashCoversAllButFiveFields(t *testing.T) {
	base := one(t, `{"command":"c","x":{"y":[null,{},{"z":null}]}}`)
	if base.Canon != `{"command":"c","x":{"y":[null,{},{}]}}` {
		t.Error(base.Canon)
	}
	for _, e := range []string{
		`{"command":"c","x":{"y":[null,{},{}],"n":null,"o":{"p":[]}},"description":"d","disabled":true,"enabled":false,"scope":"s","extensionName":"n"}`,
		`{"x":{"y":[null,{},{"z":{}}]},"command":"c","args":[],"env":{"A":null}}`,
	} {
		if got := one(t, e); got.Hash != base.Hash {
			t.Errorf("%s: %s", e, got.Canon)
		}
	}
	for _, e := range []string{
		`{"command":"c","x":{"y":[{},null,{}]}}`, `{"command":"c","x":{"y":[null,{},{}],"description":"d"}}`, `{"command":"c"}`,
		`{"command":"c","x":{"y":[null,{},{}]},"trust":true}`,
	} {
		if got := one(t, e); got.Hash == base.Hash {
			t.Errorf("%s has the same hash", e)
		}
	}
	if a, b := one(t, `{"command":"c","n":1.0}`), one(t, `{"command":"c","n":1e0}`); a.Hash != b.Hash {
		t.Error("1.0 is 1e0")
	}
	if a, b := one(t, `{"command":"c","n":0.1}`), one(t, `{"command":"c","n":0.10000000000000000001}`); a.Hash == b.Hash {
		t.Error("two numbers that round to one must not share an approval")
	}
	if one(t, `{"command":"c","description":"d"}`).Full == one(t, `{"command":"c"}`).Full {
		t.Error("GATE-2 compares the description too")
	}
}

func TestNoticesInsideAnEntry(t *testing.T) {
	es, ps := entries(t, `{"a":{"command":"x","env":{"N":64000,"B":false,"F":0.20,"S":"s"},"alwaysAllow":["t"],"autoApprove":[],"env2":1,"transport":"stdio"}}`)
	if kinds(ps) != "coerced a env.N, coerced a env.B, coerced a env.F, ignored a " {
		t.Error(kinds(ps))
	}
	if got := es[0].Env; len(got) != 4 || got[0] != (KV{"B", "false"}) || got[1] != (KV{"F", "0.2"}) || got[2] != (KV{"N", "64000"}) {
		t.Error(got)
	}
	if _, ps := entries(t, `{"a":{"command":"x","alwaysAllow":[]}}`); len(ps) != 0 {
		t.Error("what counts as absent is not ignored", kinds(ps))
	}
}

func TestLastDuplicateWinsEverywhere(t *testing.T) {
	d, err := NewCache().Parse([]byte("{\"mcpServers\":{\"a\":{\"command\":\"x\"},\n\"a\":{\"command\":\"y\",\"env\":{\"K\":\"1\",\"K\":\"2\"}}},\"mcp\":{\"allowed\":[\"a\"],\"allowed\":[]},\"mcp\":{\"allowed\":[\"b\"]},\"o\":[{\"p\":1,\"p\":1}]}"))
	if err != nil {
		t.Fatal(err)
	}
	c := d.Settings()
	if len(c.Servers) != 1 || c.Servers[0].Command != "y" || c.Servers[0].Env[0].Value != "2" || len(c.Allowed) != 1 || c.Allowed[0] != "b" {
		t.Errorf("%+v", c)
	}
	if got := kinds(c.Problems); got != "duplicate  mcp, duplicate a mcpServers.a, duplicate a mcpServers.a.env.K, duplicate  o.0.p" {
		t.Error(got)
	}
	if p := c.Problems[1]; p.Line != 2 || p.Column != 1 {
		t.Errorf("%+v", p)
	}
}

func TestWrongTypedKeys(t *testing.T) {
	for _, x := range []struct{ text, problems string }{
		{`{"mcpServers":[],"mcp":{"allowed":"a","excluded":{}}}`, "wrong_type  mcpServers, wrong_type  mcp.allowed, wrong_type  mcp.excluded"},
		{`{"mcp":[]}`, "wrong_type  mcp"},
		{`{"mcp":null,"mcpServers":null}`, ""},
		{`{"mcp":{"allowed":null,"excluded":null}}`, ""},
		{`{"mcp":{"allowed":["a",1,"\ud800","b"],"excluded":[null]}}`, "dropped  mcp.allowed, dropped  mcp.excluded"},
		{`{"mcp.allowed":["a"]}`, ""},
	} {
		d, err := NewCache().Parse([]byte(x.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := kinds(d.Settings().Problems); got != x.problems {
			t.Errorf("%s: %s", x.text, got)
		}
	}
	d, _ := NewCache().Parse([]byte(`{"mcp":{"allowed":["a",1,"b"]},"servers":{}}`))
	if c := d.Settings(); !c.HasAllowed || len(c.Allowed) != 2 || c.BadAllowed {
		t.Errorf("%+v", c)
	}
	if c := d.Project(); c.HasAllowed || kinds(c.Problems) != "no_servers  " || !strings.Contains(c.Problems[0].Text, `"mcp", "servers"`) {
		t.Errorf("%+v", c) // SRC-15
	}
}

func TestExpansion(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"A": "1", "E": "", "D": "$A"}[name]
		return v, ok
	}
	for _, c := range []struct{ in, out, left string }{
		{"$A", "1", ""}, {"x${A}y", "x1y", ""}, {"${A:-z}", "1", ""}, {"${E:-z}", "z", ""}, {"${U:-z}", "z", ""}, {"${U:-}", "", ""},
		{"$E", "", ""}, {"${E}", "", ""}, {"$D", "$A", ""}, {"$$A", "$A", ""}, {"$$$A", "$1", ""}, {"$", "$", ""}, {"a$ b", "a$ b", ""},
		{"$U", "$U", "U"}, {"${U}", "${U}", "U"}, {"$(A)", "$(A)", "$("}, {"${env:A}", "${env:A}", "${env:"}, {"${input:k}", "${input:k}", "${input:"},
		{"$1", "$1", "$1"}, {"${A", "${A", "${A"}, {"${}", "${}", "${"}, {"${A:x}", "${A:x}", "${A:"}, {"${U:-${A}}", "${A}", ""}, {"$A_", "$A_", "A_"},
		{"$A-$A", "1-1", ""}, {"$é", "$é", ""},
	} {
		out, left := expandText(c.in, env)
		if out != c.out || strings.Join(left, ",") != c.left {
			t.Errorf("%s: %q %q", c.in, out, left)
		}
	}
	e := one(t, `{"command":"$A","args":["$U","$V","${U}"],"env":{"$A":"$(x)"},"cwd":"d/$A","timeout":5}`)
	x := e.Expand(env, "/project")
	if s := x.Spec; s.Command != "1" || s.Cwd != "/project/d/1" || s.Env[0].Name != "$A" || s.Args[0] != "$U" || CommandLine(s) != "1 $U $V ${U}" {
		t.Errorf("%+v", s)
	}
	if kinds(x.Problems) != "variable a args, variable a env.$A" || !strings.HasPrefix(x.Problems[0].Text, "U, V stays") {
		t.Error(x.Problems)
	}
	if e.Expand(env, "/project") != x {
		t.Error("expanded again")
	}
	if y := e.Expand(func(string) (string, bool) { return "2", true }, "/project"); y.Spec.Command != "2" || y.Fingerprint == x.Fingerprint {
		t.Error("another environment gives another fingerprint")
	}
	if one(t, `{"command":"x"}`).Expand(env, "/r").Spec.Cwd != "/r" || one(t, `{"command":"x","cwd":"/a"}`).Expand(env, "/r").Spec.Cwd != "/a" {
		t.Error("SRC-16")
	}
}

func TestFingerprintCoversWhatIsDialled(t *testing.T) {
	fp := func(s string) string {
		return one(t, s).Expand(func(string) (string, bool) { return "", false }, "/r").Fingerprint
	}
	base := fp(`{"command":"c","args":["a","b"],"env":{"A":"1","B":"2"}}`)
	if fp(`{"env":{"B":"2","A":"1","C":null},"command":"c","args":["a","b"],"trust":true,"description":"d","discoveryTimeoutMs":5,"includeTools":["x"],"u":1,"headers":{}}`) != base {
		t.Error("a field that is not dialled changed the fingerprint")
	}
	for _, s := range []string{`{"command":"c","args":["b","a"],"env":{"A":"1","B":"2"}}`, `{"command":"c","args":["a","b"],"env":{"A":"1"}}`,
		`{"command":"c","args":["a","b"],"env":{"A":"1","B":"2"},"timeout":600000}`, `{"command":"c","args":["a","b"],"env":{"A":"1","B":"2"},"headers":{"H":"1"}}`,
		`{"command":"c","args":["a","b"],"env":{"A":"1","B":"2"},"cwd":"."}`, `{"command":"c","args":["a b"],"env":{"A":"1","B":"2"}}`} {
		if fp(s) == base {
			t.Errorf("%s has the same fingerprint", s)
		}
	}
	if fp(`{"url":"u"}`) == fp(`{"httpUrl":"u"}`) {
		t.Error("SSE and streamable HTTP differ")
	}
}

func TestDescribeKeepsSecrets(t *testing.T) {
	e := one(t, `{"command":"c\u0007\u202e","args":["--key","s3cret"],"env":{"TOKEN":"hunter2"},"headers":{"Authorization":"Bearer abc"},"other":"x\"y","trust":true}`)
	full, brief := e.Describe(true), e.Describe(false)
	if full != `"command": "c\u0007\u202e"
"args": ["--key","s3cret"]
"env": "TOKEN" (7 characters)
"headers": "Authorization" (10 characters)
"other": "x\"y"
"trust": true` {
		t.Error(full)
	}
	if brief != `"command": "c\u0007\u202e"
"args": [5 characters, 6 characters]
"env": "TOKEN" (7 characters)
"headers": "Authorization" (10 characters)
"other": 3 characters
"trust": true` {
		t.Error(brief)
	}
	if u := one(t, `{"httpUrl":"https://x/?key=1"}`); u.Describe(false) != `"httpUrl": 16 characters` || u.Describe(true) != `"httpUrl": "https://x/?key=1"` {
		t.Error(u.Describe(false))
	}
}

func TestLeaves(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{`{"a":1}`, `{"a":1.0}`, ""}, {`{"a":{"b":1,"c":2}}`, `{"a":{"c":2,"b":1}}`, ""}, {`{}`, `{"a":{}}`, ""}, {`{}`, `{"a":[]}`, "a"}, {`{}`, `{"a":null}`, "a"},
		{`{}`, `{"mcp":{"allowed":[],"x":{"y":1}}}`, "mcp/allowed mcp/x/y"}, {`{"a":1}`, `{"a":{"b":1}}`, "a a/b"}, {`{"a":{"b":1}}`, `{"a":[{"b":1}]}`, "a a/b"},
		{`{"a.b":1}`, `{"a":{"b":1}}`, "a.b a/b"}, {`{"a":[1,2]}`, `{"a":[2,1]}`, "a"}, {`{"a":[{"x":1,"y":2}]}`, `{"a":[{"y":2,"x":1}]}`, ""},
	} {
		cache := NewCache()
		a, _ := cache.Parse([]byte(c.a))
		b, _ := cache.Parse([]byte(c.b))
		var got []string
		ChangedLeaves(a, b, func(p []string) { got = append(got, strings.Join(p, "/")) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %q", c.a, c.b, got)
		}
	}
}

func BenchmarkCacheHit(b *testing.B) {
	c := NewCache()
	text := []byte(`{"mcpServers":{"a":{"command":"srv-a","args":["1"]},"b":{"command":"srv-b"}},"mcp":{"allowed":["a"]}}`)
	for b.Loop() {
		d, _ := c.Parse(text)
		d.Settings()
	}
}

func BenchmarkParse1000(b *testing.B) {
	var s strings.Builder
	s.WriteString(`{"mcpServers":{`)
	for i := range 1000 {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(`"s` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26)) + `":{"command":"srv-a","args":["1","2"],"env":{"A":"B"}}`)
	}
	s.WriteString(`}}`)
	text := []byte(s.String())
	c := NewCache()
	i := 0
	for b.Loop() {
		i++
		d, err := c.Parse(append(text, []byte(strings.Repeat(" ", i%1000))...))
		if err != nil {
			b.Fatal(err)
		}
		d.Settings()
	}
}
