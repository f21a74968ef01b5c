package trace

import (
	"reflect"
	"strings"
	"testing"

	"mcpsim/model"
)

// unplaced drops what is not part of the text.
func unplaced(t *Trace) *Trace {
	c := t.Clone()
	c.Name = ""
	for i := range c.Steps {
		c.Steps[i].Line = 0
	}
	for i := range c.Header.Files {
		c.Header.Files[i].Write.Line = 0
	}
	for i := range c.Header.Faults {
		c.Header.Faults[i].Line = 0
	}
	return c
}

// roundTrip fails unless what is printed reads back as the same trace, and prints the same again.
func roundTrip(t *testing.T, tr *Trace) {
	t.Helper()
	text := Print(tr)
	back, err := Parse(tr.Name, text)
	if err != nil {
		t.Fatalf("%s: what is printed does not parse: %v\n%s", tr.Name, err, text)
	}
	if a, b := unplaced(tr), unplaced(back); !reflect.DeepEqual(a, b) {
		t.Fatalf("%s: what is printed reads back as another trace\n%s\n%s", tr.Name, text, Print(back))
	}
	if again := Print(back); string(again) != string(text) {
		t.Fatalf("%s: printing is not stable\n%s\n%s", tr.Name, text, again)
	}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line == "" || strings.ContainsAny(line, "\r\t") {
			t.Fatalf("%s: not one line per value: %q", tr.Name, line)
		}
	}
}

const design = `{"mcpsim":1, "title":"a gated server never starts before approval", "why":"pool path once skipped the gate (qwen-code 5561)", "rules":["D.12","POOL-1"],
 "launch":{"mode":"pool","sessions":["s1"]}, "servers":{"srv-a":{"tools":["x","y"],"delay":{"start":20}}}}
{"do":"edit","file":"project","servers":{"a":{"command":"srv-a"}}}
{"do":"settle"}
{"expect":{"s1":{"servers":{"a":"held:pending_approval"},"tools":{},"ask":["a"]}}}
{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
{"expect":{"s1":{"servers":{"a":"live"},"tools":{"a":["x","y"]},"ask":[]}}}
`

func TestTheDesignsExampleParses(t *testing.T) {
	tr, err := Parse("design", []byte(design))
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Steps) != 6 || tr.Steps[0].Line != 3 || tr.Steps[2].Expect.Sessions[0].Servers[0].State != model.StateHeldPending {
		t.Fatalf("%+v", tr)
	}
	roundTrip(t, tr)
}

func TestEveryExampleParsesAndRoundTrips(t *testing.T) {
	for _, d := range Steps {
		tr, err := Parse(string(d.Do), []byte(`{"mcpsim":1}`+d.Example))
		if err != nil {
			t.Error(err)
			continue
		}
		if tr.Steps[0].Do != d.Do {
			t.Errorf("the example of %s is a %s", d.Do, tr.Steps[0].Do)
		}
		roundTrip(t, tr)
		if !strings.Contains(Manual(), d.Example) {
			t.Errorf("the manual lacks %s", d.Do)
		}
	}
}

func TestSpellingsThatMeanTheSame(t *testing.T) {
	for _, same := range [][]string{
		{`{"expect":{"s1":{"ask":[]}}}`, `{"do":"expect","expect":{"s1":{"ask":[]}}}`},
		{`{"note":"x"}`, `{"do":"note","text":"x"}`, `{"do":"note","note":"x"}`},
		{`{"do":"mkdir","file":"user"}`, `{"do":"mkdir","dir":"user"}`},
		{`{"do":"chmod","file":"user","mode":"0644"}`, `{"do":"chmod","file":"user","mode":644}`, `{"do":"chmod","file":"user","mode":420}`, `{"do":"chmod","file":"user","mode":"0o644"}`},
		{`{"do":"chmod","file":"user","mode":"0600","dir":true}`, `{"do":"chmod","dir":"user","mode":384}`},
		{`{"do":"crash","server":"k"}`, `{"do":"crash","key":"k"}`},
		{`{"do":"look"}`, `{"do":"look","session":"s1"}`},
		{`{"do":"settle","why":"x"}`, `{"do":"settle","note":"x"}`},
		{`{"do":"server","server":"k","list_changed":["tools"]}`, `{"do":"server","server":"k","list_changed":"tools"}`},
		{`{"do":"server","server":"k","behaviour":{"delay":{"init":5}}}`, `{"do":"server","server":"k","behaviour":{"delay":{"init":{"ms":5,"hold":"request"}}}}`},
		{`{"do":"server","server":"k","behaviour":{"fault":"hang"}}`, `{"do":"server","server":"k","behaviour":{"fault":"hang","at":"init"}}`},
		{`{"do":"advance","ms":300}`, `{"do":"advance","ms":3e2}`},
		{`{"expect":{"s1":{"servers":{"a":"live|dialing"}}}}`, `{"expect":{"s1":{"servers":{"a":["dialing","live"]}}}}`},
		{`{"expect":{"s1":{"shows":{"a":{"error":""}}}}}`, `{"expect":{"s1":{"shows":{"a":{"error":null}}}}}`, `{"expect":{"s1":{"shows":{"a":{"error":false}}}}}`},
		{`{"expect":{"s1":{"calls":{"a":"refused:filtered"}}}}`, `{"expect":{"s1":{"calls":{"a":"refused: filtered"}}}}`},
	} {
		var first Step
		for i, text := range same {
			s, err := ParseStep("x", []byte(text))
			if err != nil {
				t.Error(err)
				continue
			}
			if i == 0 {
				first = s
			} else if !reflect.DeepEqual(s, first) {
				t.Errorf("%s is not the same as %s", text, same[0])
			}
		}
	}
}

func TestHeaderSpellings(t *testing.T) {
	for _, text := range []string{
		`{"mcpsim":1,"records":"corrupt","files":{"user":{"mcpServers":{}}},"faults":[{"kind":"watch"}]}`,
		`{"mcpsim":1,"records":[{"server":"a","config":{"command":"x"},"status":"approved"}],"files":{"user":"{}","project":{"servers":{"a":{"command":"x"}}},"system":{"text":""},"defaults":{},"workspace":{"kind":"dangling"}}}`,
		`{"mcpsim":1,"files":[{"file":"user","json":{}},{"do":"write","file":"user","name":"settings.json~","text":"x"}],"dirs":["workspace"],"order":18446744073709551615}`,
		`{"mcpsim":1,"launch":{"mcp_config":{"mcpServers":{"a":{"command":"x"}}},"allowed":[],"env":{"A":""},"cwd":"link","initialized":false,"trusted":false,"bare":true,"approvals":"off"}}{"do":"restart","launch":{"allowed":null}}`,
		`{"mcpsim":1,"launch":{"mcp_config":{"a":{"command":"x"}},"allowed":null,"sessions":[]},"servers":{"{{url:k}}":{"tools":[]},"http://h/p":{"linger":3,"unkillable":true,"ignore_term":true,"grandchild":true,"prompts":["p"],"resources":["r"],"fault":"refuse","at":"call"}}}`,
	} {
		tr, err := Parse("x", []byte(text))
		if err != nil {
			t.Error(err)
			continue
		}
		roundTrip(t, tr)
	}
	tr, _ := Parse("x", []byte(`{"mcpsim":1,"launch":{"sessions":["b","a"]}}{"do":"look"}`))
	if tr.Steps[0].Session != "b" {
		t.Errorf("a step without a session means the first of the launch, not %q", tr.Steps[0].Session)
	}
}

func TestErrorsNameThePlaceAndTheCure(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "f:1:1: the trace is empty"},
		{"\n {\"do\":\"settle\"}", "f:2:2: the first value must be the header"},
		{`[]`, "f:1:1: the first value must be the header"},
		{`{"mcpsim":2}`, "f:1:11: this is version 2"},
		{`{"mcpsim":"1"}`, "f:1:11: mcpsim must be a number, this is a string"},
		{"{\"mcpsim\":1,\n\"titel\":\"x\"}", `f:2:1: the header has no key "titel"`},
		{`{"mcpsim":1}` + "\n{\"do\":\"setle\"}", `f:2:7: there is no step "setle"; the steps are write, edit`},
		{`{"mcpsim":1}` + "\n{\"do\":\"settle\",\"ms\":3}", `f:2:16: the step settle has no key "ms"; it takes why`},
		{`{"mcpsim":1}` + "\n{\"do\":\"advance\"}", `f:2:1: the step advance needs the key "ms"`},
		{`{"mcpsim":1}` + "\n{\"do\":\"advance\",\"ms\":-1}", `f:2:22: ms must be a whole number`},
		{`{"mcpsim":1}` + "\n{\"do\":\"advance\",\"ms\":1.5}", `f:2:22: ms must be a whole number`},
		{`{"mcpsim":1}` + "\n{\"do\":\"advance\",\"ms\":\"5\"}", `f:2:22: ms must be a number, this is a string`},
		{`{"mcpsim":1}` + "\n{\"ms\":5}", `f:2:1: a step needs the key "do"`},
		{`{"mcpsim":1}` + "\n7", `f:2:1: a step must be an object`},
		{`{"mcpsim":1}` + "\n{\"do\":\"settle\"", "f:2:15: not JSON: "},
		{`{"mcpsim":1}` + "\n{\"do\":\"settle\",}", "f:2:16: not JSON: "},
		{`{"mcpsim":1}{"mcpsim":1}`, `f:1:14: a header stands only at the beginning`},
		{`{"mcpsim":1,"mcpsim":1}`, `f:1:13: the header has the key "mcpsim" twice`},
		{`{"mcpsim":1,"launch":{"mode":"both"}}`, `f:1:30: mode must be one of single, pool, this is "both"`},
		{`{"mcpsim":1,"launch":{"moed":1}}`, `f:1:23: launch has no key "moed"`},
		{`{"mcpsim":1,"servers":{"a":{"tool":[]}}}`, `f:1:29: a behaviour has no key "tool"`},
		{`{"mcpsim":1,"servers":{"a":{"at":"init"}}}`, `f:1:29: "at" says where a fault happens`},
		{`{"mcpsim":1,"servers":{"a":{"delay":{"stop":1}}}}`, `f:1:38: delay has no step "stop"`},
		{`{"mcpsim":1,"files":{"usr":{}}}`, `f:1:22: files has no source "usr"`},
		{`{"mcpsim":1,"files":{"user":{"jsn":{}}}}`, `f:1:30: the step write has no key "jsn"`},
		{`{"mcpsim":1}{"expect":{"s1":{"servers":{"a":"alive"}}}}`, `f:1:45: there is no state "alive"; the states are unknown|live`},
		{`{"mcpsim":1}{"expect":{"s1":{"server":{}}}}`, `f:1:30: an expectation of a session has no key "server"`},
		{`{"mcpsim":1}{"expect":{"s1":{"calls":{"c":"okay"}}}}`, `f:1:43: there is no outcome "okay"`},
		{`{"mcpsim":1}{"expect":{"host":{"s1":{}}}}`, `f:1:32: an expectation of the host has no key "s1"`},
		{`{"mcpsim":1}{"do":"write","file":"user"}`, `f:1:13: a write step needs json, text, base64, unreadable or kind`},
		{`{"mcpsim":1}{"do":"write","file":"approvals","json":{}}`, `f:1:13: the approvals file takes text or unreadable only`},
		{`{"mcpsim":1}{"do":"edit","file":"approvals","servers":{}}`, `f:1:33: file must be one of user`},
		{`{"mcpsim":1}{"do":"write","file":"user","base64":"%"}`, `f:1:50: base64 does not decode`},
		{`{"mcpsim":1}{"do":"chmod","file":"user","mode":"rwx"}`, `f:1:48: mode must be permission bits`},
		{`{"mcpsim":1}{"do":"open","session":"host"}`, `f:1:36: a session's name must not be`},
		{`{"mcpsim":1}{"do":"crash","server":"k","key":"k"}`, `f:1:40: "server" and "key" say the same`},
		{`{"mcpsim":1}{"do":"call","id":"c"}`, `f:1:13: a call step needs server and tool, or name`},
		{`{"mcpsim":1,"title":"é` + "\xff" + `"}`, `f:1:21: title is not valid Unicode`},
		{`{"mcpsim":1,"title":"é","x":1}`, `f:1:25: the header has no key "x"`},
	} {
		_, err := Parse("f", []byte(c.text))
		e, ok := err.(*Error)
		if !ok || !strings.HasPrefix(e.Error(), c.want) {
			t.Errorf("%s\n  got  %v\n  want %s…", c.text, err, c.want)
		}
	}
}

// FuzzParse: whatever parses prints as something that reads back the same; nothing panics.
func FuzzParse(f *testing.F) {
	f.Add([]byte(design))
	for _, d := range Steps {
		f.Add([]byte(`{"mcpsim":1}` + d.Example))
	}
	f.Add([]byte(`{"mcpsim":1}{"do":"write","file":"user","json":{"a":"\ud800","a":[1.0,1e400,-0],"\udc00":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := Parse("fuzz", data)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatal(err)
			}
			return
		}
		roundTrip(t, tr)
	})
}
