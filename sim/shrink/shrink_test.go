package shrink

import (
	"bytes"
	"fmt"
	"sort"
	"testing"

	"mcpsim/model"
	"mcpsim/sim/gen"
	"mcpsim/sim/trace"
)

// bug is a made-up defect: a predicate over whole traces that needs some steps in order, and at best how many.
type bug struct {
	name    string
	profile string
	steps   int // the fewest that show it
	fails   func(*trace.Trace) bool
}

// inOrder needs steps that meet the conditions, one after another.
func inOrder(conds ...func(*trace.Trace, *trace.Step) bool) func(*trace.Trace) bool {
	return func(t *trace.Trace) bool {
		k := 0
		for i := range t.Steps {
			if k < len(conds) && conds[k](t, &t.Steps[i]) {
				k++
			}
		}
		return k == len(conds)
	}
}

func is(kinds ...trace.StepKind) func(*trace.Trace, *trace.Step) bool {
	return func(_ *trace.Trace, s *trace.Step) bool {
		for _, k := range kinds {
			if s.Do == k {
				return true
			}
		}
		return false
	}
}

func gated(_ *trace.Trace, s *trace.Step) bool {
	return s.Do == trace.Edit && s.File == "project" && s.Servers != nil && len(s.Servers.Members) > 0
}

func waits(ms model.Ms) func(*trace.Trace, *trace.Step) bool {
	return func(_ *trace.Trace, s *trace.Step) bool {
		return s.Do == trace.Settle || s.Do == trace.Advance && s.Ms >= ms
	}
}

var bugs = []bug{
	{"a stale answer: 5 steps of certain kinds in order", "approvals", 5,
		inOrder(gated, waits(300), is(trace.Look), gated, is(trace.Approve))},
	{"a session that comes back after the drain, in pool mode", "pool", 3, func(t *trace.Trace) bool {
		if t.Header.Launch.Mode != "pool" {
			return false
		}
		gone := map[string]model.Ms{}
		var now model.Ms
		for _, s := range t.Steps {
			switch s.Do {
			case trace.Advance:
				now += s.Ms
			case trace.Close:
				gone[s.Session] = now
			case trace.Open:
				if at, ok := gone[s.Session]; ok && now-at > 30000 {
					return true
				}
			}
		}
		return false
	}},
	{"a late answer: an edit of a server whose behaviour holds its answer, and another edit", "reconcile", 2, func(t *trace.Trace) bool {
		for i := range t.Header.Servers {
			v := &t.Header.Servers[i]
			for _, d := range v.Behaviour.Delays {
				if d.Hold == model.HoldAnswer && d.Ms >= 300 {
					n := 0
					for j := range t.Steps {
						if s := &t.Steps[j]; s.Do == trace.Edit && s.Servers != nil && bytes.Contains(s.Servers.Append(nil), []byte(v.Key)) {
							n++
						}
					}
					if n >= 2 {
						return true
					}
				}
			}
		}
		return false
	}},
	{"a text with a byte order mark that lists a server with arguments", "files", 1, func(t *trace.Trace) bool {
		for i := range t.Steps {
			if s := &t.Steps[i]; s.Do == trace.Write && s.HasText && bytes.HasPrefix([]byte(s.Text), []byte("\xef\xbb\xbf")) && bytes.Contains([]byte(s.Text), []byte("args")) {
				return true
			}
		}
		return false
	}},
	{"a call after a crash, with two sessions", "calls", 4,
		func(t *trace.Trace) bool {
			sessions := map[string]bool{}
			for _, s := range t.Steps {
				if s.Do == trace.Call {
					sessions[s.Session] = true
				}
			}
			return len(sessions) >= 2 && inOrder(is(trace.Crash), waits(0), is(trace.Call))(t)
		}},
}

// failing draws long traces in which a bug shows.
func failing(t testing.TB, b bug, n int) []*trace.Trace {
	p, err := gen.ParseProfile(b.profile)
	if err != nil {
		t.Fatal(err)
	}
	var out []*trace.Trace
	for seed := uint64(0); len(out) < n; seed++ {
		if seed > 200000 {
			t.Fatalf("%s: no trace shows it", b.name)
		}
		if tr := gen.Draw(seed, p); len(tr.Steps) >= 30 && b.fails(tr) {
			out = append(out, tr)
		}
	}
	return out
}

func TestShrinksToFewStepsInFewPlays(t *testing.T) {
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			var steps, plays []int
			for _, tr := range failing(t, b, 25) {
				before := trace.Print(tr)
				small, stats := Shrink(tr, func(c *trace.Trace) bool {
					if err := legal(c); err != nil {
						t.Fatal(err)
					}
					return b.fails(c)
				}, Limit{})
				if !bytes.Equal(before, trace.Print(tr)) {
					t.Fatal("the original was changed")
				}
				if !b.fails(small) || len(small.Steps) != stats.To || stats.From != len(tr.Steps) {
					t.Fatalf("the result does not fail, or the numbers are wrong: %+v", stats)
				}
				if stats.Capped {
					t.Errorf("not at rest after %d plays", stats.Plays)
				}
				if again, s2 := Shrink(small, b.fails, Limit{}); s2.Accepted != 0 {
					t.Errorf("no fixpoint: %d more\n%s\n%s", s2.Accepted, trace.Print(small), trace.Print(again))
				}
				steps, plays = append(steps, len(small.Steps)), append(plays, stats.Plays)
			}
			sort.Ints(steps)
			sort.Ints(plays)
			t.Logf("steps %d/%d/%d (at best %d), plays %d/%d/%d", steps[0], steps[len(steps)/2], steps[len(steps)-1], b.steps, plays[0], plays[len(plays)/2], plays[len(plays)-1])
			if steps[len(steps)/2] > b.steps || steps[len(steps)-1] > b.steps+1 {
				t.Errorf("steps: median %d, most %d; at best %d", steps[len(steps)/2], steps[len(steps)-1], b.steps)
			}
			if plays[len(plays)/2] > 300 {
				t.Errorf("plays: median %d", plays[len(plays)/2])
			}
		})
	}
}

// legal says why a trace is none.
func legal(tr *trace.Trace) error {
	text := trace.Print(tr)
	back, err := trace.Parse("shrunk", text)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	if again := trace.Print(back); !bytes.Equal(text, again) {
		return fmt.Errorf("prints differently after parsing:\n%s\n%s", text, again)
	}
	for i := range tr.Header.Files {
		if w := &tr.Header.Files[i].Write; !trace.Verify(w) {
			return fmt.Errorf("a file's text does not denote what it says: %s", w)
		}
	}
	for i := range tr.Steps {
		if s := &tr.Steps[i]; !trace.Verify(s) {
			return fmt.Errorf("step %d: the text does not denote what it says: %s", i, s)
		}
	}
	return nil
}

// Whatever a predicate accepts, each candidate is a legal trace: predicates that say yes at random lead everywhere.
func TestEveryCandidateIsLegal(t *testing.T) {
	for _, name := range gen.Profiles() {
		p, _ := gen.ParseProfile(name)
		for seed := uint64(0); seed < 25; seed++ {
			n, salt := 0, seed
			Shrink(gen.Draw(seed, p), func(c *trace.Trace) bool {
				if err := legal(c); err != nil {
					t.Fatalf("profile %s, seed %d: %v", name, seed, err)
				}
				n++
				salt = salt*6364136223846793005 + 1442695040888963407
				return n == 1 || salt>>60 < 3
			}, Limit{Plays: 400})
		}
	}
}

func TestShrinkIsDeterministicAndBounded(t *testing.T) {
	b := bugs[0]
	for _, tr := range failing(t, b, 5) {
		x, sx := Shrink(tr, b.fails, Limit{})
		y, sy := Shrink(tr, b.fails, Limit{})
		if !bytes.Equal(trace.Print(x), trace.Print(y)) || sx != sy {
			t.Errorf("two runs differ: %+v, %+v", sx, sy)
		}
		calls := 0
		z, sz := Shrink(tr, func(c *trace.Trace) bool { calls++; return b.fails(c) }, Limit{Plays: 20})
		if calls > 20 || !sz.Capped || !b.fails(z) {
			t.Errorf("%d calls of at most 20: %+v", calls, sz)
		}
	}
}

func TestWhatDoesNotFailStays(t *testing.T) {
	tr := gen.Draw(1, gen.Profile{})
	same, stats := Shrink(tr, func(*trace.Trace) bool { return false }, Limit{})
	if same == tr || !bytes.Equal(trace.Print(same), trace.Print(tr)) || stats.Plays != 1 {
		t.Errorf("%+v", stats)
	}
}

// A shrunk trace reads as a person would write it.
func TestShrunkTraceReads(t *testing.T) {
	tr, err := trace.Parse("long", []byte(`{"mcpsim":1,"launch":{"mode":"pool","sessions":["s2","s1","s3"],"approvals":"ask","env":{"X":"1"}},
 "servers":{"srv-q":{"tools":["x","y"],"delay":{"init":2500}},"srv-z":{"tools":["z"],"prompts":["p"]}},"order":7}
{"do":"write","file":"workspace","json":{"mcpServers":{"zed":{"command":"srv-z","args":["1"]},"__proto__":{"command":"srv-q"}}},"how":"chunks","parts":3,"gap_ms":100}
{"do":"settle"}
{"do":"reload","session":"s2"}
{"do":"advance","ms":5001}
{"do":"look","session":"s3"}
{"do":"edit","file":"workspace","servers":{"zed":{"command":"srv-z","args":["2"],"trust":true}},"other":{"theme":"dark"}}
{"do":"advance","ms":300}
{"do":"advance","ms":1}
{"do":"approve","session":"s3","server":"zed"}
{"do":"settle"}
`))
	if err != nil {
		t.Fatal(err)
	}
	has := func(s *trace.Step, arg string) bool {
		return bytes.Contains(trace.Print(&trace.Trace{Steps: []trace.Step{*s}}), []byte(`"`+arg+`"`)) && (s.File == "project" || s.File == "workspace")
	}
	small, _ := Shrink(tr, inOrder(
		func(_ *trace.Trace, s *trace.Step) bool { return has(s, "1") }, waits(300), is(trace.Look),
		func(_ *trace.Trace, s *trace.Step) bool { return has(s, "2") }, waits(300), is(trace.Approve)), Limit{})
	want := `{"mcpsim":1}
{"do":"write","file":"project","json":{"mcpServers":{"a":{"args":["1"]}}}}
{"do":"settle"}
{"do":"look","session":"s1"}
{"do":"edit","file":"project","servers":{"a":{"args":["2"]}}}
{"do":"advance","ms":300}
{"do":"approve","session":"s1","server":"a"}
`
	if got := string(trace.Print(small)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// BenchmarkShrink measures the shrinker's own cost: the predicate costs next to nothing.
func BenchmarkShrink(b *testing.B) {
	for _, bug := range bugs {
		b.Run(bug.profile, func(b *testing.B) {
			traces := failing(b, bug, 10)
			plays := 0
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, stats := Shrink(traces[i%len(traces)], bug.fails, Limit{})
				plays += stats.Plays
			}
			b.ReportMetric(float64(plays)/float64(b.N), "plays/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(plays), "ns/play")
		})
	}
}
