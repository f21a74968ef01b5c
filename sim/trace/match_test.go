package trace

import (
	"strings"
	"testing"

	"mcpsim/model"
)

var seen = model.Snapshot{
	Sessions: []model.SessionView{{
		ID: "s1",
		Servers: []model.ServerView{
			{Name: "a", States: model.StateLive, Tools: []string{"x", "y"}, Prompts: []string{"p"}, File: "user", Shadows: []string{"defaults"}},
			{Name: "b", States: model.StateFailedExit, Error: "exit: the process ended", File: "project"},
			{Name: "c", States: model.StateLive | model.StateDialing, File: "user"},
			{Name: "d", States: model.StateHeldPending, Text: "needs approval", File: "project"},
		},
		Ask:     []model.Question{{Server: "d", Config: 4, Source: model.Project}},
		Notices: []model.Notice{{File: "user", Server: "z", Kind: "malformed"}, {File: "project", Kind: "unparsable"}},
		Hint:    true,
		Calls:   []model.CallView{{ID: "c1", Outcome: "ok"}},
	}},
	Host: model.HostView{
		Pool:      []model.PoolView{{Server: "a", Config: 1, Sessions: []model.SessionID{"s1", "s2"}}},
		Records:   []model.RecordView{{Server: "b", Config: 2, Approved: true}},
		Dials:     []model.Count{{Server: "a", N: 3}},
		Processes: []model.Count{{Server: "a", N: 1}},
	},
}

// byCommand numbers configs by the last character of their command.
func byCommand(_ string, v *model.Value) (model.ConfigID, model.FpID) {
	c := v.Get("command").Text
	n := c[len(c)-1] - '0'
	return model.ConfigID(n), model.FpID(n)
}

func TestMatch(t *testing.T) {
	for _, c := range []struct{ expect, want string }{
		{`{}`, ""},
		{`{"s1":{"servers":{"a":"live"},"tools":{"a":["y","x"],"b":[]},"prompts":{"a":["p"]},"resources":{},"ask":["d"],"hint":true,"calls":{"c1":"ok"}}}`, ""},
		{`{"s1":{"servers":{"a":"failed:exit|live","c":"dialing","nope":"unknown"}}}`, ""},
		{`{"s1":{"servers":{"a":"dialing"}}}`, "s1.servers.a: expected dialing, there is live"},
		{`{"s1":{"servers":{"nope":"live"}}}`, "s1.servers.nope: expected live, there is unknown"},
		{`{"s1":{"tools":{}}}`, "s1.tools.a: expected [], there is [x y]"},
		{`{"s1":{"tools":{"a":["x","y"],"d":["x"]}}}`, "s1.tools.d: expected [x], there is []"},
		{`{"s1":{"tools":{"a":["x","y"],"c":["any"]}}}`, ""},
		{`{"s1":{"ask":[]}}`, "s1.ask: expected [], there is [d]"},
		{`{"s1":{"ask":[{"server":"d","config":{"command":"4"},"source":"project"}]}}`, ""},
		{`{"s1":{"ask":[{"server":"d","config":{"command":"5"},"source":"workspace"}]}}`, `s1.ask.d.source: expected workspace, there is project; s1.ask.d.config: expected {"command":"5"}, there is another config`},
		{`{"s1":{"notices":[{"kind":"malformed"},{"file":"project"}]}}`, ""},
		{`{"s1":{"notices":[{"kind":"malformed","server":"z"}]}}`, `s1.notices: expected nothing, there is {"file":"project","kind":"unparsable"}`},
		{`{"s1":{"notices":[{},{"kind":"watch"}]}}`, `s1.notices: expected {"kind":"watch"}, there is nothing`},
		{`{"s1":{"shows":{"a":{"text":"","error":null,"file":"user","shadows":["defaults"]},"b":{"error":"exit"}}}}`, ""},
		{`{"s1":{"shows":{"b":{"error":"failed:exit"},"d":{"text":"needs approval","shadows":[]}}}}`, ""},
		{`{"s1":{"shows":{"b":{"error":"timeout"}}}}`, `s1.shows.b.error: expected "timeout", there is "exit: the process ended"`},
		{`{"s1":{"shows":{"a":{"error":"exit"},"b":{"error":""}}}}`, `s1.shows.a.error: expected "exit", there is ""; s1.shows.b.error: expected "", there is "exit: the process ended"`},
		{`{"s1":{"hint":false,"calls":{"c1":"running","c2":"ok"}}}`, "s1.hint: expected false, there is true; s1.calls.c1: expected running, there is ok; s1.calls.c2: expected ok, there is no such call"},
		{`{"s9":{"servers":{"a":"unknown"},"tools":{},"ask":[],"calls":{"c1":"ok"}}}`, ""},
		{`{"host":{"dials":{"a":2,"b":0},"processes":{"a":1,"b":0},"records":[{"server":"b","config":{"command":"2"},"status":"approved"}],"pool":[{"server":"a","config":{"command":"1"},"sessions":["s2","s1"]}]}}`, ""},
		{`{"host":{"dials":{"a":3},"processes":{"b":1}}}`, "host.dials.a: expected 3, there is 2; host.processes.b: expected 1, there is 0"},
		{`{"host":{"records":[{"server":"b","status":"rejected"}],"pool":[]}}`, "host.pool: expected nothing, there is a held by [s1 s2]; host.records: expected b rejected, there is no such record; host.records: expected nothing, there is b approved"},
	} {
		s, err := ParseStep("x", []byte(`{"expect":`+c.expect+`}`))
		if err != nil {
			t.Error(err)
			continue
		}
		var got []string
		for _, m := range Match(s.Expect, &seen, byCommand, []model.Count{{Server: "a", N: 1}}) {
			got = append(got, m.String())
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.expect, text, c.want)
		}
	}
}

func TestSinceCountsFromTheLastExpectOfAServer(t *testing.T) {
	s, _ := ParseStep("x", []byte(`{"expect":{"host":{"dials":{"a":3}}}}`))
	since := Since(s.Expect, &seen, []model.Count{{Server: "b", N: 7}})
	if count(since, "a") != 3 || count(since, "b") != 7 {
		t.Error(since)
	}
}

func TestASnapshotFulfilsItsOwnExpectation(t *testing.T) {
	e := FromSnapshot(&seen, EntryOf{}, nil, true)
	if got := Match(e, &seen, byCommand, nil); got != nil {
		t.Error(got)
	}
	roundTrip(t, &Trace{Header: Header{Version: 1}, Steps: []Step{{Do: ExpectStep, Expect: e}}})
}

func TestCloneSharesNothing(t *testing.T) {
	tr, err := Parse("x", []byte(`{"mcpsim":1,"rules":["A"],"launch":{"sessions":["s1"],"trusted":true},"servers":{"k":{"tools":["x"]}}}
		{"expect":{"s1":{"servers":{"a":"live"},"tools":{"a":["x"]},"ask":["a"],"shows":{"a":{"shadows":["user"]}}},"host":{"pool":[{"server":"a","sessions":["s1"]}],"dials":{"a":1}}}}
		{"do":"server","server":"k","behaviour":{"tools":["x"]},"list_changed":["tools"]}`))
	if err != nil {
		t.Fatal(err)
	}
	before := string(Print(tr))
	c := tr.Clone()
	c.Header.Rules[0], c.Header.Launch.Sessions[0], *c.Header.Launch.Trusted, c.Header.Servers[0].Behaviour.Tools[0] = "B", "z", false, "z"
	s := &c.Steps[0].Expect.Sessions[0]
	s.Servers[0].Name, s.Tools.Lists[0].Names[0], (*s.Ask)[0].Server, (*s.Shows[0].Shadows)[0] = "z", "z", "z", "z"
	(*c.Steps[0].Expect.Host.Pool)[0].Sessions[0], c.Steps[0].Expect.Host.Dials[0].N = "z", 9
	c.Steps[1].Behaviour.Tools[0], c.Steps[1].ListKinds[0] = "z", "prompts"
	if string(Print(tr)) != before {
		t.Error("changing the copy changed the trace")
	}
}
