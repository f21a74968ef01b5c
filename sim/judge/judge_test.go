package judge

import (
	"bytes"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpsim/corpus"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/trace"
)

// recorded is one corpus trace's log in one mode.
type recorded struct {
	name string
	log  []byte
	r    *sim.Result
}

// logs are those of the whole corpus in both modes, unless a trace says that it is about one.
var logs = sync.OnceValues(func() ([]recorded, error) {
	all, err := corpus.All()
	if err != nil {
		return nil, err
	}
	var out []recorded
	for _, tr := range all {
		list := []*trace.Trace{tr}
		if tr.Header.Modes == "" {
			list = append(list, check.OtherMode(tr))
		}
		for i, t := range list {
			var b bytes.Buffer
			r, err := Record(t, &b)
			if err != nil {
				return nil, err
			}
			out = append(out, recorded{tr.Name + []string{"", " (other mode)"}[i], b.Bytes(), r})
		}
	}
	return out, nil
})

func recordings(t testing.TB) []recorded {
	t.Helper()
	list, err := logs()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 300 {
		t.Fatalf("only %d logs", len(list))
	}
	return list
}

// TestEveryCorpusLogIsClean: a masked log says to its judge exactly what the run said to the model.
func TestEveryCorpusLogIsClean(t *testing.T) {
	lines := 0
	for _, x := range recordings(t) {
		rep, err := Log(x.name, x.log, Options{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		lines += rep.Lines
		for _, f := range rep.Findings {
			t.Errorf("%s:%d: %s %s %s: %s", x.name, f.Line, f.Invariant, f.Session, f.Server, f.Detail)
		}
		if len(rep.Unchecked) > 0 {
			t.Errorf("%s: not checkable: %v", x.name, rep.Unchecked)
		}
		if d := cmp.Diff(x.r.Checks, rep.Checks); d != "" {
			t.Errorf("%s: other checks than in the run (-run +log):\n%s", x.name, d)
		}
		if rep.Events != x.r.Events || rep.Shown != len(x.r.Settles) {
			t.Errorf("%s: %d events and %d settled, the run had %d and %d", x.name, rep.Events, rep.Shown, x.r.Events, len(x.r.Settles))
		}
	}
	t.Logf("%d lines", lines)
}
