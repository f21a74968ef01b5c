package properties

import (
	"fmt"
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

// groups are the invariants by what they protect.
var groups = []struct {
	name string
	ids  []string
}{
	{"admission", []string{"INV-1", "INV-2", "INV-3", "INV-4", "INV-5"}},
	{"no gap", []string{"INV-6", "INV-7"}},
	{"connections", []string{"INV-8", "INV-9", "INV-10", "INV-17"}},
	{"questions and records", []string{"INV-11", "INV-12"}},
	{"watching", []string{"INV-13", "INV-14", "INV-15", "INV-19"}},
	{"showing", []string{"INV-16", "INV-18"}},
	{"modes", []string{"INV-20"}},
	{"calls", []string{"INV-21"}},
	{"in the end", []string{"LIVE-1", "LIVE-2", "LIVE-3"}},
}

// judgedThroughOthers are the invariants without a guard of their own, and what judges them.
var judgedThroughOthers = map[string]string{
	"INV-7": "INV-6", "INV-18": "the snapshot at settle", "INV-19": "INV-13", "LIVE-3": "the bounds of a pass and of settling",
}

// TestDrawnTraces plays traces of every profile in both modes; each invariant's guard must have been evaluated.
func TestDrawnTraces(t *testing.T) {
	checks := map[string]int{}
	goals := map[string]int{}
	failures := map[string][]string{}
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
			id := f.Violation.Invariant
			failures[id] = append(failures[id], fmt.Sprintf("%s: %s %s (trace %d, %d steps)", name, id, f.Violation.Detail, f.Index, len(f.Shrunk.Steps)))
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
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			for _, id := range g.ids {
				for _, f := range failures[id] {
					t.Error(f)
				}
				delete(failures, id)
				if checks[id] == 0 && judgedThroughOthers[id] == "" {
					t.Errorf("%s was never evaluated", id)
				}
			}
		})
	}
	for id, list := range failures { // of no group, such as a panic
		t.Errorf("%s: %v", id, list)
	}
	for _, g := range check.Sometimes {
		if goals[g] == 0 {
			t.Errorf("never reached: %s", g)
		}
	}
}

// TestEveryInvariantIsInOneGroup: none is forgotten when the list grows.
func TestEveryInvariantIsInOneGroup(t *testing.T) {
	n := map[string]int{}
	for _, g := range groups {
		for _, id := range g.ids {
			n[id]++
		}
	}
	for _, inv := range model.Invariants {
		if n[inv.ID] != 1 {
			t.Errorf("%s is in %d groups", inv.ID, n[inv.ID])
		}
		delete(n, inv.ID)
	}
	if len(n) > 0 {
		t.Errorf("these are no invariants: %v", n)
	}
}

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

// TestCannedDialerSameHistory: what the benchmarks leave out is the mcp-go client and nothing else.
func TestCannedDialerSameHistory(t *testing.T) {
	p, q := check.NewPlayer(), check.NewPlayer()
	q.Stage.Canned()
	opt := sim.PlayOptions{History: true, KeepGoing: true}
	for _, name := range []string{"default", "bench", "calls", "reconcile"} {
		for i := range 100 {
			tr := gen.Draw(check.Mix(9, i), profile(t, name))
			if d := cmp.Diff(p.Play(tr, opt).History, q.Play(tr, opt).History); d != "" {
				t.Fatalf("profile %s, trace %d: with and without the client (-with +without):\n%s", name, i, d)
			}
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
	signatures := func(r *check.Report) (out []string) {
		for _, f := range r.Failures {
			out = append(out, fmt.Sprintf("%s, %d times, first in trace %d", f.Signature, f.Count, f.Index))
		}
		return out
	}
	if d := cmp.Diff(signatures(a), signatures(b)); d != "" {
		t.Fatalf("failures differ:\n%s", d)
	}
	if d := cmp.Diff(a.Goals, b.Goals); d != "" {
		t.Fatalf("goals differ:\n%s", d)
	}
}
