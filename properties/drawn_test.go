package properties

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/gen"
)

func profile(t *testing.T, name string) gen.Profile {
	t.Helper()
	p, err := gen.ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDrawnTraces plays traces of every profile in both modes; each invariant's guard must have been evaluated.
func TestDrawnTraces(t *testing.T) {
	checks := map[string]int{}
	goals := map[string]int{}
	for _, name := range gen.Profiles() {
		n := 400
		if name == "default" || name == "files" { // the rare states need more
			n = 800
		}
		rep, err := check.Run(check.Options{N: n, Seed: 1, Profile: profile(t, name)})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range rep.Failures {
			t.Errorf("%s: %s %s (trace %d, %d steps)", name, f.Violation.Invariant, f.Violation.Detail, f.Index, len(f.Shrunk.Steps))
		}
		for _, err := range rep.Errors {
			t.Errorf("%s: %v", name, err)
		}
		for k, n := range rep.Checks {
			checks[k] += n
		}
		for k, n := range rep.Goals {
			goals[k] += n
		}
	}
	for _, inv := range model.Invariants {
		switch inv.ID {
		case "INV-7", "INV-18", "INV-19", "LIVE-3": // judged through others: INV-6; the snapshot at settle; INV-13; the pass and settle bounds
			continue
		}
		if checks[inv.ID] == 0 {
			t.Errorf("%s was never evaluated", inv.ID)
		}
	}
	for _, g := range Sometimes {
		if goals[g] == 0 {
			t.Errorf("never reached: %s", g)
		}
	}
}

// Sometimes are the states that a run of every profile must reach, or its silence means nothing.
var Sometimes = []string{"a superseded dial", "a dial given up", "a retry", "a stale answer refused", "mixed save",
	"a revocation from elsewhere", "a process that will not end", "a retired connection spoke", "a pass during a debounce",
	"re-acquired within the drain", "last waiter left", "two fingerprints alive", "evicted with two holders",
	"session closed during its acquisition"}

// TestSameTraceSameHistory: one trace gives one history, byte for byte, whoever plays it and however often.
func TestSameTraceSameHistory(t *testing.T) {
	p, q := check.NewPlayer(), check.NewPlayer()
	opt := sim.PlayOptions{History: true, KeepGoing: true}
	for i := range 150 {
		tr := gen.Draw(check.Mix(7, i), profile(t, "default"))
		a := p.Play(tr, opt)
		b := q.Play(tr, opt)
		if d := cmp.Diff(a.History, b.History); d != "" {
			t.Fatalf("trace %d: two plays differ (-first +second):\n%s", i, d)
		}
		if len(a.History) == 0 {
			t.Fatalf("trace %d: no history", i)
		}
	}
}

// TestReportDoesNotDependOnWorkers: one worker and two see the same.
func TestReportDoesNotDependOnWorkers(t *testing.T) {
	run := func(workers int) *check.Report {
		rep, err := check.Run(check.Options{N: 200, Seed: 3, Workers: workers, NoShrink: true, Profile: profile(t, "default")})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	a, b := run(1), run(2)
	if a.Events != b.Events || len(a.Failures) != len(b.Failures) {
		t.Fatalf("1 worker: %d events, %d failures; 2 workers: %d events, %d failures", a.Events, len(a.Failures), b.Events, len(b.Failures))
	}
	if d := cmp.Diff(a.Goals, b.Goals); d != "" {
		t.Fatalf("goals differ:\n%s", d)
	}
}
