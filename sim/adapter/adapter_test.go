package adapter

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"mcpsim/corpus"
	"mcpsim/sim/eventlog"
)

// served returns what Serve answers to lines, one answer each.
func served(t *testing.T, lines ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := Serve(strings.NewReader(strings.Join(lines, "\n")+"\n"), &out, "my host"); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

const (
	header = `{"mcpsim":1,"title":"x","files":{"user":{"servers":{"a":{"command":"srv-a"}}}},"servers":{"srv-a":{"tools":["t"]}}}`
	remove = `{"do":"edit","file":"user","servers":{"a":null}}`
)

func TestServeAnswersTheDocumentedExamples(t *testing.T) {
	got := served(t,
		`{"seq":1,"op":"hello","protocol":1}`,
		`{"seq":2,"op":"reset","header":`+header+`}`,
		`{"seq":3,"op":"step","now_ms":0,"step":{"do":"settle"}}`,
		`{"seq":4,"op":"observe"}`,
		`{"seq":5,"op":"observe"}`,
		`{"seq":6,"op":"step","step":{"do":"advance","ms":5}}`,
		`{"seq":7,"op":"run","header":`+header+`,"steps":[{"do":"settle"},`+remove+`,{"do":"settle"}]}`,
		`{"seq":8,"op":"bye"}`)
	for i, want := range []string{
		`{"seq":1,"protocol":1,"name":"my host","language":"go","caps":["pool","sessions",`,
		`{"seq":2,"now_ms":0}`, `{"seq":3,"now_ms":`, `{"seq":4,"now_ms":`, `{"seq":5,"now_ms":`, `{"seq":6,"now_ms":`, `{"seq":7,"runs":[{"now_ms":0,`, `{"seq":8}`} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Fatalf("answer %d: %q does not begin with %s", i+1, got[min(i, len(got)-1)], want)
		}
	}
	if !strings.Contains(got[2], `"settled":true`) || strings.Contains(got[5], `"settled"`) {
		t.Errorf("settled belongs to the answer of a settle alone: %s, %s", got[2], got[5])
	}
	if !strings.Contains(got[3], `"event":"dial"`) || strings.Contains(got[4], `"events"`) {
		t.Errorf("events are those since the last observe: %s, %s", got[3], got[4])
	}
	var rep Reply
	if err := json.Unmarshal([]byte(got[6]), &rep); err != nil || len(rep.Runs) != 4 {
		t.Fatalf("%d runs, err %v", len(rep.Runs), err)
	}
	if n := len(rep.Runs[1].Snapshot.Sessions[0].Servers); n != 1 {
		t.Errorf("%d servers after the first settle", n)
	}
	if s := rep.Runs[3].Settled; s == nil || !*s {
		t.Error("the run does not say that it settled")
	}
}

func TestServeAnswersErrorsAndGoesOn(t *testing.T) {
	got := served(t,
		`{"seq":1,"op":"hello","protocol":99}`, `{"seq":2,"op":"step","step":{"do":"settle"}}`, `{"seq":3,"op":"observe"}`,
		`{"seq":4,"op":"dance"}`, `{"seq":5,`, `{"seq":6,"op":"reset","header":{"mcpsim":1,"nonsense":2}}`, `{"seq":7,"op":"reset"}`,
		`{"seq":8,"op":"reset","header":`+header+`}`, `{"seq":9,"op":"step","step":{"do":"nonsense"}}`, `{"seq":10,"op":"observe"}`)
	for i, want := range []string{
		`{"seq":1,"error":"protocol 99`, `{"seq":2,"error":"there is no world`, `{"seq":3,"error":"there is no world`,
		`{"seq":4,"error":"unknown op \"dance\"`, `{"seq":0,"error":"this line is no request`, `{"seq":6,"error":`, `{"seq":7,"error":"a reset needs`,
		`{"seq":8,"now_ms":0}`, `{"seq":9,"error":`, `{"seq":10,"now_ms":`} {
		if i >= len(got) || !strings.HasPrefix(got[i], want) {
			t.Errorf("answer %d: %q does not begin with %s", i+1, got[min(i, len(got)-1)], want)
		}
	}
}

// piped returns a pipe to our own host, without a process.
func piped(t *testing.T) *Pipe {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { _ = outW.CloseWithError(errors.Join(Serve(inR, outW, "here"), io.EOF)) }()
	p, err := Connect(inW, outR)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheCorpusShowsTheSameBehindAPipe(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	p := piped(t)
	compared := 0
	for _, tr := range all {
		v := Judge(tr, p)
		if v.Failed() || v.Missing != "" {
			t.Errorf("%s: %v %v %s", tr.Name, v.Err, v.Findings, v.Missing)
			continue
		}
		if len(v.Shown) != len(v.Here.Shown) {
			t.Errorf("%s: %d settled snapshots, %d here", tr.Name, len(v.Shown), len(v.Here.Shown))
			continue
		}
		for i := range v.Shown {
			compared++
			a, _ := json.Marshal(eventlog.FromSnapshot(&v.Shown[i], v.Table), asWritten)
			b, _ := json.Marshal(eventlog.FromSnapshot(&v.Here.Shown[i], v.Table), asWritten)
			if !bytes.Equal(a, b) {
				t.Errorf("%s: settle %d:\n pipe %s\n here %s", tr.Name, i+1, a, b)
			}
		}
	}
	if len(all) < 20 || compared < 20 {
		t.Errorf("only %d traces and %d snapshots were compared", len(all), compared)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A host that shows something else is found out: here one that shows live servers as dialing.
func TestJudgeFindsADifference(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	go func() { _ = outW.CloseWithError(errors.Join(Serve(inR, lying{outW}, "liar"), io.EOF)) }()
	p, err := Connect(inW, outR)
	if err != nil {
		t.Fatal(err)
	}
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, tr := range all[:20] {
		if v := Judge(tr, p); len(v.Findings) > 0 {
			found++
		}
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}

type lying struct{ w io.Writer }

func (l lying) Write(b []byte) (int, error) {
	_, err := l.w.Write(bytes.ReplaceAll(b, []byte(`"state":"live"`), []byte(`"state":"dialing"`)))
	return len(b), err
}

func TestPipeSaysWhenTheChildIsGoneOrOutOfStep(t *testing.T) {
	for _, c := range []struct{ answer, want string }{
		{"", "ended without answering"},
		{"hello\n", "no reply"},
		{`{"seq":7}` + "\n", "answer is to request 7"},
		{`{"seq":1,"error":"no"}` + "\n", "the adapter says: no"},
		{`{"seq":1,"protocol":2}` + "\n", "protocol 2"},
		{`{"seq":1,"protocol":1,"caps":["flight"]}` + "\n", `"flight"`},
	} {
		_, err := Connect(discard{}, strings.NewReader(c.answer))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %s", c.answer, err, c.want)
		}
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }
