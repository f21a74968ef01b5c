package trace

import (
	"testing"

	"mcpsim/model"
)

func TestDenote(t *testing.T) {
	const a = `{"mcpServers":{"a":{"command":"x"}}}`
	doc := func(s string) *model.Value {
		v, err := ParseValue([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, c := range []struct {
		name, text string
		state      model.ContentState
		value      *model.Value
	}{
		{"plain", a, model.Good, doc(a)},
		{"BOM", "\xEF\xBB\xBF" + a, model.Good, doc(a)},
		{"two BOMs", "\xEF\xBB\xBF\xEF\xBB\xBF" + a, model.Unparsable, nil},
		{"comments", "// x\n{/* y */\"a\":1,}\n// z", model.Good, doc(`{"a":1}`)},
		{"trailing comma in an array", `{"a":[1,2,],}`, model.Good, doc(`{"a":[1,2]}`)},
		{"CRLF", "{\r\n\"a\":1\r\n}\r\n", model.Good, doc(`{"a":1}`)},
		{"comment marks in a string", `{"a":"// /* ,]"}`, model.Good, doc(`{"a":"// /* ,]"}`)},
		{"unterminated comment", `{} /* x`, model.Unparsable, nil},
		{"empty", "", model.Unparsable, nil},
		{"only a BOM", "\xEF\xBB\xBF", model.Unparsable, nil},
		{"only a comment", "// x", model.Unparsable, nil},
		{"cut off", `{"mcpServers":{"a":`, model.Unparsable, nil},
		{"two values", `{}{}`, model.Unparsable, nil},
		{"a lone comma", `{,}`, model.Unparsable, nil},
		{"two commas", `{"a":1,,}`, model.Unparsable, nil},
		{"single quotes", `{'a':1}`, model.Unparsable, nil},
		{"unquoted key", `{a:1}`, model.Unparsable, nil},
		{"NaN", `{"a":NaN}`, model.Unparsable, nil},
		{"leading zero", `{"a":01}`, model.Unparsable, nil},
		{"control character in a string", "{\"a\":\"\x01\"}", model.Unparsable, nil},
		{"UTF-16", "\xFF\xFE{\x00}\x00", model.Unparsable, nil},
		{"UTF-16 without a BOM", "{\x00}\x00", model.Unparsable, nil},
		{"array", `[]`, model.NotObject, nil},
		{"null", `null`, model.NotObject, nil},
		{"string", `"../x"`, model.NotObject, nil},
	} {
		got := Denote([]byte(c.text))
		if got.State != c.state || !model.Equal(got.Value, c.value) {
			t.Errorf("%s: state %d %v", c.name, got.State, got.Value)
		}
	}
}

func TestDenoteMarksBadText(t *testing.T) {
	c := Denote([]byte("{\"mcpServers\":{\"a\":{\"command\":\"\\ud800\"},\"b\":{\"command\":\"\xff\"},\"\xfe\":{},\"c\":{\"command\":\"\\ud83d\\ude00\"}}} // \xff"))
	if c.State != model.Good {
		t.Fatalf("SRC-8: bad text costs its entry only, not the document (state %d)", c.State)
	}
	servers := c.Value.Get("mcpServers")
	if !servers.BadText || !servers.At("a", "command").BadText || !servers.At("b", "command").BadText || servers.At("c", "command").BadText || c.Value.BadText {
		t.Errorf("%v", servers)
	}
}

func TestDenoteLinkText(t *testing.T) {
	for text, want := range map[string]bool{
		"../shared/.gemini/settings.json": true, "shared.json\n": true, "../a/b": true,
		"": false, "/etc/x": false, "{": false, "a b/c": false, "a/b\nc/d": false, "word": false,
	} {
		if got := Denote([]byte(text)); got.LinkText != want || got.State != model.Unparsable {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestDuplicatesAndNumbers(t *testing.T) {
	v, err := ParseValue([]byte(`{"a":1,"b":{"x":1,"x":2},"a":{"y":3}}`))
	if err != nil || v.String() != `{"a":{"y":3},"b":{"x":2}}` || len(v.Dups) != 1 || v.Dups[0] != "a" || v.Get("b").Dups[0] != "x" {
		t.Errorf("%v %v %v", v, v.Dups, err)
	}
	for in, want := range map[string]string{
		"1.0": "1", "1e3": "1000", "100": "100", "-0": "0", "0.10": "0.1", "1E-7": "1e-7", "1e21": "1e+21", "-1.50e1": "-15",
		"12345678901234567890": "12345678901234567890", "9007199254740993": "9007199254740993", "9007199254740992": "9007199254740992",
		"1e400": "1e400", "1e999999999999": "1e999999999999", "0e999999999999": "0", "1e-400": "1e-400",
	} {
		if got := canonicalNumber(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestFileText(t *testing.T) {
	step := func(s string) *Step {
		st, err := ParseStep("x", []byte(s))
		if err != nil {
			t.Fatal(err)
		}
		return &st
	}
	prev, _ := ParseValue([]byte(`{"theme":"x","mcpServers":{"a":{"command":"1"},"b":{"command":"2"}},"mcp":{"allowed":["a"]}}`))
	for _, c := range []struct{ step, want string }{
		{`{"do":"write","file":"user","json":{"a":[1,{}],"b":{}}}`, "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": {}\n}\n"},
		{`{"do":"write","file":"user","text":"x\r\n"}`, "x\r\n"},
		{`{"do":"write","file":"user","json":{},"text":"{ }"}`, "{ }"},
		{`{"do":"write","file":"user","base64":"/w=="}`, "\xff"},
		{`{"do":"write","file":"user","kind":"directory"}`, ""},
		{`{"do":"edit","file":"user","servers":{"a":{"command":"3"},"b":null,"c":{"command":"4"}},"other":{"theme":null,"env":{}}}`,
			"{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"3\"\n    },\n    \"c\": {\n      \"command\": \"4\"\n    }\n  },\n  \"mcp\": {\n    \"allowed\": [\n      \"a\"\n    ]\n  },\n  \"env\": {}\n}\n"},
		{`{"do":"edit","file":"user","servers":null,"mcp":null}`, "{\n  \"theme\": \"x\"\n}\n"},
		{`{"do":"edit","file":"user","mcp":{"allowed":null,"excluded":[]},"servers":null,"other":{"theme":null}}`, "{\n  \"mcp\": {\n    \"excluded\": []\n  }\n}\n"},
	} {
		if got := string(FileText(step(c.step), prev)); got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.step, got, c.want)
		}
	}
	if got := string(FileText(step(`{"do":"edit","file":"user","servers":{}}`), nil)); got != "{\n  \"mcpServers\": {}\n}\n" {
		t.Errorf("%q", got)
	}
	for text, want := range map[string]bool{
		`{"do":"write","file":"user","json":{"a":1},"text":"{\"a\":1.0,}"}`: true,
		`{"do":"write","file":"user","json":{"a":1},"text":"{\"a\":2}"}`:    false,
		`{"do":"write","file":"user","unreadable":true,"text":"{"}`:         true,
		`{"do":"write","file":"user","unreadable":true,"text":"{}"}`:        false,
		`{"do":"write","file":"user","json":[]}`:                            true,
	} {
		if Verify(step(text)) != want {
			t.Errorf("%s verifies: want %v", text, want)
		}
	}
}

func TestResolve(t *testing.T) {
	tr, err := Parse("x", []byte(`{"mcpsim":1,"files":{"user":{"json":{"mcpServers":{"a":{"url":"{{url:k}}/sse"}}}}},"records":[{"server":"a","config":{"url":"{{url:k}}"},"status":"approved"}]}
		{"do":"write","file":"user","text":"{{url:a}}{{url:b}}{{url:"}
		{"expect":{"s1":{"ask":[{"server":"a","config":{"httpUrl":"{{url:k}}"}}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	before := string(Print(tr))
	u := URL(func(key string) string { return "http://" + key })
	h := u.Header(&tr.Header)
	if got := h.Files[0].Write.JSON.At("mcpServers", "a", "url").Text; got != "http://k/sse" {
		t.Error(got)
	}
	if got := h.Records[0].Config.Get("url").Text; got != "http://k" {
		t.Error(got)
	}
	if got := u.Step(&tr.Steps[0]).Text; got != "http://ahttp://b{{url:" {
		t.Error(got)
	}
	if got := (*u.Step(&tr.Steps[1]).Expect.Sessions[0].Ask)[0].Config.Get("httpUrl").Text; got != "http://k" {
		t.Error(got)
	}
	if string(Print(tr)) != before {
		t.Error("resolving changed the trace")
	}
}
