// Package properties sets the model against the host: on every kept trace, on drawn ones, and twice on the same one.
package properties

import (
	"strings"
	"testing"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
)

// TestCorpusPlaysCleanInBothModes: every kept trace holds on model and host, in the other mode too unless it says why not.
func TestCorpusPlaysCleanInBothModes(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 150 {
		t.Fatalf("only %d traces", len(all))
	}
	p := check.NewPlayer()
	for _, tr := range all {
		if r := p.Play(tr, sim.PlayOptions{}); r.Failed() {
			t.Errorf("%s: %v %v %v", tr.Name, r.Violations, r.Mismatches, r.Err)
		}
		if tr.Header.Modes == "" {
			if r := p.Play(check.OtherMode(tr), sim.PlayOptions{}); r.Failed() {
				t.Errorf("%s in the other mode: %v %v %v", tr.Name, r.Violations, r.Mismatches, r.Err)
			}
		}
	}
}

// TestEveryRuleHasATrace: a rule that nothing exercises is a hole.
func TestEveryRuleHasATrace(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, tr := range all {
		for _, r := range tr.Header.Rules {
			named[r] = true
		}
	}
	for _, r := range model.Rules {
		if !named[r.ID] {
			t.Errorf("%s has no trace: %s", r.ID, r.Summary)
		}
	}
}

// TestAFalseExpectationFails is the canary: a trace that expects what is not so must be found, on the host and on the model.
func TestAFalseExpectationFails(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range all {
		if !strings.HasSuffix(tr.Name, "zero-to-one-and-back.ndjson") && len(tr.Steps) < 3 {
			continue
		}
		bad := tr.Clone()
		changed := false
		for i := range bad.Steps {
			if e := bad.Steps[i].Expect; e != nil && len(e.Sessions) > 0 && len(e.Sessions[0].Servers) > 0 && !changed {
				e.Sessions[0].Servers[0].State = model.StateHeldExcluded | model.StateRemoved
				if tr.Steps[i].Expect.Sessions[0].Servers[0].State&e.Sessions[0].Servers[0].State == 0 {
					changed = true
				}
			}
		}
		if !changed {
			continue
		}
		r := check.NewPlayer().Play(bad, sim.PlayOptions{})
		if len(r.Violations) == 0 || len(r.Mismatches) == 0 {
			t.Errorf("%s with a false expectation was not found: %v %v", tr.Name, r.Violations, r.Mismatches)
		}
		return
	}
	t.Fatal("no trace of the corpus has an expectation to falsify")
}
