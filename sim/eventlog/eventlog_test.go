package eventlog_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/host"
	"mcpsim/sim/judge"
	"mcpsim/sim/trace"
)

// stage hands each input and event to a test before the model sees it.
type stage struct {
	*host.FakeStage
	sink *tee
}

type tee struct {
	sim.Sink
	t     *model.Table
	input func(model.Ms, *model.Input)
	event func(model.Ms, *model.Event)
}

func (s *tee) Input(at model.Ms, in model.Input) {
	s.input(at, &in)
	s.Sink.Input(at, in)
}

func (s *tee) Event(at model.Ms, ev *model.Event) {
	s.event(at, ev)
	s.Sink.Event(at, ev)
}

func (s *stage) Reset(h *trace.Header, t *model.Table, sink sim.Sink) error {
	s.sink.Sink, s.sink.t = sink, t
	return s.FakeStage.Reset(h, t, s.sink)
}

type system struct {
	*host.InProcess
	sink *tee
}

func (s *system) Reset(h *trace.Header, st sim.Stage, t *model.Table, _ sim.Sink) error {
	return s.InProcess.Reset(h, st, t, s.sink)
}

// alike: what is absent and what is empty are one in a log; the text of the approvals file is the host's own.
var alike = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(model.Event{}, "ConfigVal"), cmpopts.IgnoreFields(model.Launch{}, "Root")}

// TestInputsAndEventsComeBack: every input and event of the corpus is read from its line as it was.
func TestInputsAndEventsComeBack(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	inputs, events := map[model.InputKind]int{}, map[model.EventKind]int{}
	for _, tr := range append(all, everyInput(t)) {
		st := &stage{host.NewFakeStage(), &tee{}}
		var r *eventlog.Reader
		reader := func() *eventlog.Reader {
			if r == nil {
				if r, err = eventlog.NewReader(tr.Name, 1, []byte(`{"mcpsim":1}`)); err != nil {
					t.Fatal(err)
				}
				l := *sim.LaunchOf(&tr.Header.Launch)
				r.Begin(&l)
				r.Table = st.sink.t // numbers mean the same on both sides
			}
			return r
		}
		come := func(e eventlog.Entry) *eventlog.Item {
			text, err := e.Append(nil)
			if err != nil {
				t.Fatalf("%s: %v", tr.Name, err)
			}
			it, err := reader().Line(text)
			if err != nil {
				t.Fatalf("%s: %v in %s", tr.Name, err, text)
			}
			again := eventlog.Entry{}
			if it.Input != nil {
				again = eventlog.FromInput(it.T, it.Input, st.sink.t)
			} else {
				again.Line = eventlog.FromEvent(it.T, it.Event, st.sink.t)
			}
			if twice, err := again.Append(nil); err != nil || !bytes.Equal(text, twice) {
				t.Errorf("%s: written again (%v):\n%s%s", tr.Name, err, text, twice)
			}
			return it
		}
		st.sink.input = func(at model.Ms, in *model.Input) {
			inputs[in.Kind]++
			want := *in
			if in.Scope == model.Approvals || in.Kind == model.InRecords {
				want.Content.Value = nil
			}
			it := come(eventlog.FromInput(at, in, st.sink.t))
			if d := cmp.Diff(&want, it.Input, alike); d != "" || it.T != at {
				t.Errorf("%s at %d (-told +read):\n%s", tr.Name, at, d)
			}
		}
		st.sink.event = func(at model.Ms, ev *model.Event) {
			events[ev.Kind]++
			it := come(eventlog.Entry{Line: eventlog.FromEvent(at, ev, st.sink.t)})
			want := *ev
			switch ev.Kind {
			case model.EvWake, model.EvLoad, model.EvRestartPending:
			default:
				want.Scope = 0
			}
			if d := cmp.Diff(&want, it.Event, alike); d != "" {
				t.Errorf("%s at %d (-told +read):\n%s", tr.Name, at, d)
			}
		}
		sim.Play(tr, st, &system{host.NewInProcess(st.FakeStage), st.sink}, sim.PlayOptions{KeepGoing: true})
		if t.Failed() {
			return
		}
	}
	for k := model.InFile; k < model.InWitness; k++ {
		if inputs[k] == 0 {
			t.Errorf("no input %s came", eventlog.InputName(k))
		}
	}
	for k := model.EvWake; k < model.NumEvents; k++ {
		if events[k] == 0 {
			t.Errorf("no event %s came", k)
		}
	}
	if eventlog.InputName(model.InWitness) == "" || eventlog.InputName(model.InWitness+1) != "" {
		t.Error("the model knows an input that a log cannot hold")
	}
}

// everyInput holds the steps that a corpus might not.
func everyInput(t *testing.T) *trace.Trace {
	t.Helper()
	tr, err := trace.Parse("every input", []byte(`{"mcpsim":1,"title":"x","launch":{"initialized":false},"servers":{"srv-a":{"tools":["x"]}}}
{"do":"initialize"}
{"do":"runtime_add","session":"s1","server":"r","config":{"command":"srv-a"}}
{"do":"runtime_remove","session":"s1","server":"r"}
{"do":"extension","name":"e","servers":{"q":{"command":"srv-a"}}}
{"do":"trust","trusted":false}
{"do":"server","server":"srv-a","behaviour":{"tools":["y"]},"list_changed":true}
{"do":"crash","server":"srv-a"}
{"do":"fault","kind":"pass"}
{"do":"reload","session":"s1"}
{"do":"restart","launch":{"mode":"pool","allowed":["a"]}}
{"do":"shutdown"}
`))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// secretive holds a value of every kind that must not be written, each with "hush" in it, or as a number with 777777777, which no masked number holds by chance.
const secretive = `{"mcpsim":1,"title":"x","launch":{"env":{"TOKEN":"hush-env-token","PLACE":"hush-place","PORT":"7777777771"},
 "mcp_config":{"l":{"command":"srv-l","env":{"A":"hush-launch"}}}},
 "servers":{"srv-a":{"tools":["x"]},"srv-a hush-arg":{"tools":["y"]},"srv-u":{"tools":["u"]},"srv-l":{"tools":["l"]},"hush-place/srv-p":{"tools":["p"]}},
 "files":{"user":{"json":{"mcpServers":{
   "a":{"command":"srv-a","args":["hush-arg","--key=${TOKEN}","$MISSING-hush"],"env":{"K":"hush-env","N":7777777772,"B":true,"T":"${TOKEN}","P":"$PORT","D":"${NO:-hush-default}","E":"cost $$ hush"},"password":"hush-unknown","cwd":"/tmp"},
   "n":{"command":"srv-a","env":{"N":"7777777772","P":7777777771,"big":"9999999999999999997777777773"}},
   "bad":{"command":"srv-a","env":{"N":9999999999999999997777777773}},
   "p":{"command":"${PLACE}/srv-p","cwd":"${PLACE}"},
   "u":{"httpUrl":"{{url:srv-u}}/hush-path?key=hush-query","headers":{"Authorization":"Bearer hush-header"}},
   "w":"hush-not-an-entry"},
  "security":{"auth":{"secret":"hush-auth","pin":7777777774}},"env":{"X":"hush-env-key"},"proxy":"http://hush:hush@proxy","theme":"hush","mcp":{"serverCommand":"hush-command","allowed":["a","n","p","u","l","r","o","e"]}}}}}
{"do":"settle"}
{"do":"edit","file":"project","servers":{"g":{"command":"srv-a","args":["hush-arg"],"env":{"K":"hush-gated"}}}}
{"do":"settle"}
{"do":"approve_all","session":"s1"}
{"do":"runtime_add","session":"s1","server":"r","config":{"command":"srv-a","env":{"R":"hush-runtime"}}}
{"do":"open","session":"s2","servers":{"o":{"command":"srv-a","env":{"O":"hush-own"}}}}
{"do":"extension","name":"x","servers":{"e":{"command":"srv-a","env":{"X":"hush-extension"}}}}
{"do":"settle"}
{"do":"crash","server":"srv-a hush-arg"}
{"do":"server","server":"srv-u","behaviour":{"tools":["u","v"]},"list_changed":true}
{"do":"settle"}
{"do":"restart","launch":{"env":{"TOKEN":"hush-rotated","PLACE":"hush-place","PORT":"7777777775"}}}
{"do":"settle"}
{"do":"edit","file":"user","servers":{"p":{"command":"hush-place/srv-p","cwd":"hush-place"},"n":{"command":"srv-a","env":{"P":"7777777771"}}}}
{"do":"settle"}
`

// TestALogHoldsNoSecret: no value that a person keeps for themselves is in a log, and its judge sees what the model saw.
func TestALogHoldsNoSecret(t *testing.T) {
	tr, err := trace.Parse("secretive", []byte(secretive))
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range []*trace.Trace{tr, check.OtherMode(tr)} {
		var b bytes.Buffer
		r, err := judge.Record(tr, &b)
		if err != nil || len(r.Violations) > 0 || r.Dials < 8 {
			t.Fatal(err, r.Violations, r.Dials)
		}
		for i, l := range strings.Split(b.String(), "\n") {
			for _, s := range []string{"hush", "777777777"} {
				if strings.Contains(l, s) {
					t.Errorf("line %d holds a secret: %s", i+1, l)
				}
			}
		}
		rep, err := judge.Log("log", b.Bytes(), judge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rep.Findings {
			t.Errorf("line %d: %s %s %s", f.Line, f.Invariant, f.Server, f.Detail)
		}
		if d := cmp.Diff(r.Checks, rep.Checks); d != "" {
			t.Errorf("other checks than in the run:\n%s", d)
		}
		var c bytes.Buffer
		if _, err := judge.Record(tr, &c); err != nil || bytes.Equal(b.Bytes(), c.Bytes()) {
			t.Error("two logs have one key", err)
		}
	}
}

// TestASecretThatIsShownIsFound: a notice or a question that holds one is masked, and still found out (INV-16).
func TestASecretThatIsShownIsFound(t *testing.T) {
	const secret, url = "topsecret-value", "http://example.test/long/path"
	launch := model.Launch{Trusted: true, Sessions: []model.SessionID{"s1"}}
	entry, err := trace.ParseValue([]byte(`{"mcpServers":{"a":{"httpUrl":"` + url + `","headers":{"K":"` + secret + `"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, text string }{
		{"nothing", "a notice about a file"}, {"a header's value", "cannot dial with " + secret + "!"}, {"a URL", "cannot dial " + url},
	} {
		for _, asked := range []bool{false, true} {
			var b bytes.Buffer
			l := launch
			table := model.NewTable(&l)
			w := eventlog.NewWriter(&b, &trace.Header{Title: "x"}, &l, table, eventlog.About{Clock: "virtual"})
			w.Input(0, model.Input{Kind: model.InFile, Scope: model.Project, Content: model.Content{State: model.Good, Value: entry}})
			w.Event(0, &model.Event{Kind: model.EvLoad, Scope: model.Project, Outcome: "ok", Why: "start"})
			if asked {
				cfg, _ := table.Entry("a", entry.At("mcpServers", "a"), false)
				w.Event(0, &model.Event{Kind: model.EvAsk, Session: "s1", Questions: []model.Question{{Server: "a", Config: cfg.ID, Source: model.Project, Text: c.text}}})
			} else {
				w.Event(0, &model.Event{Kind: model.EvNotice, Notice: &model.Notice{Kind: "x", Text: c.text}})
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), secret) || strings.Contains(b.String(), url) {
				t.Errorf("%s: the log holds it: %s", c.what, b.String())
			}
			rep, err := judge.Log("log", b.Bytes(), judge.Options{})
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, f := range rep.Findings {
				found = found || f.Invariant == "INV-16"
			}
			if want := c.what != "nothing" && !(asked && c.what == "a URL"); found != want { // a question may show URLs
				t.Errorf("%s (in a question: %v): %v", c.what, asked, rep.Findings)
			}
		}
	}
}

// failing is a log that cannot be written.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAWriterReturnsItsError(t *testing.T) {
	l := model.Launch{Trusted: true}
	w := eventlog.NewWriter(failing{}, &trace.Header{}, &l, model.NewTable(&l), eventlog.About{})
	w.Passed(1)
	if err := w.Flush(); err == nil {
		t.Error("no error")
	}
	w = eventlog.NewWriter(io.Discard, &trace.Header{}, &l, model.NewTable(&l), eventlog.About{})
	w.Input(0, model.Input{Kind: 200})
	if err := w.Flush(); err == nil {
		t.Error("an input without a name is no error")
	}
}
