package gen

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

func profile(t testing.TB, name string) Profile {
	t.Helper()
	p, err := ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every drawn trace is a legal one: it parses back to what it was, its texts denote what they say, and it expects nothing.
func TestDrawnTracesAreLegal(t *testing.T) {
	for _, name := range Profiles() {
		p := profile(t, name)
		for seed := uint64(0); seed < 400; seed++ {
			if err := legal(Draw(seed, p)); err != nil {
				t.Fatalf("profile %s, seed %d: %v", name, seed, err)
			}
		}
	}
}

func legal(tr *trace.Trace) error {
	text := trace.Print(tr)
	back, err := trace.Parse("drawn", text)
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
		s := &tr.Steps[i]
		if s.Do == trace.ExpectStep || s.Do == trace.Note {
			return fmt.Errorf("step %d is a %s", i, s.Do)
		}
		if !trace.Verify(s) {
			return fmt.Errorf("step %d: the text does not denote what it says: %s", i, s)
		}
	}
	return nil
}

func TestDrawIsDeterministic(t *testing.T) {
	for _, name := range Profiles() {
		p := profile(t, name)
		for seed := uint64(0); seed < 50; seed++ {
			if a, b := trace.Print(Draw(seed, p)), trace.Print(Draw(seed, p)); !bytes.Equal(a, b) {
				t.Fatalf("profile %s, seed %d: two draws differ", name, seed)
			}
		}
		if a, b := trace.Print(Draw(1, p)), trace.Print(Draw(2, p)); bytes.Equal(a, b) {
			t.Errorf("profile %s: seeds 1 and 2 give one trace", name)
		}
	}
}

// Weights mean what they say: over thousands of draws each kind of step is taken as often as the weights at its draws say.
func TestStepFrequencies(t *testing.T) {
	for _, name := range Profiles() {
		p := profile(t, name)
		var want, variance [numChoices]float64
		var got [numChoices]int
		for seed := uint64(0); seed < 3000; seed++ {
			s := seeded(seed)
			draw(&s, p, func(w []uint16, taken choice) {
				total := float64(sum(w))
				for c, x := range w {
					q := float64(x) / total
					want[c] += q
					variance[c] += q * (1 - q)
				}
				got[taken]++
			})
		}
		for c := range got {
			if d := math.Abs(float64(got[c]) - want[c]); d > 5*math.Sqrt(variance[c])+1 {
				t.Errorf("profile %s, %s: taken %d times, the weights say %.0f", name, choiceName(choice(c)), got[c], want[c])
			}
			if p.weights[c] > 0 && got[c] < 20 {
				t.Errorf("profile %s, %s: taken %d times in 3,000 traces, which is too seldom to matter", name, choiceName(choice(c)), got[c])
			}
		}
	}
}

func choiceName(c choice) string {
	if c >= firstMotif {
		return "motif " + motifs[c-firstMotif].name
	}
	return string(kinds[c].do)
}

// The swarm takes nothing away from the whole: without bending by state, shares over many traces stay near the profile's.
func TestSharesOfTheDefaultProfile(t *testing.T) {
	p := profile(t, "default")
	steps, count := 0, map[trace.StepKind]int{}
	for seed := uint64(0); seed < 3000; seed++ {
		for _, s := range Draw(seed, p).Steps {
			count[s.Do]++
			steps++
		}
	}
	if mean := float64(steps) / 3000; mean < 27 || mean > 33 {
		t.Errorf("a trace of the default profile has %.1f steps on average, meant are 30", mean)
	}
	for c := choice(0); c < firstMotif; c++ {
		share := float64(count[kinds[c].do]) / float64(steps)
		switch {
		case share < 0.0015:
			t.Errorf("%s: %.4f of all steps, too seldom", kinds[c].do, share)
		case share > 0.30:
			t.Errorf("%s: %.2f of all steps, too often", kinds[c].do, share)
		}
	}
}

// Each source is fair: an item of weight 1 in 100 comes in 1 of 100 draws, in both.
func TestPickIsFairInEverySource(t *testing.T) {
	w := []uint16{1, 30, 0, 69}
	check := func(name string, n int, got [4]int) {
		for i := range w {
			q := float64(w[i]) / 100
			if d := math.Abs(float64(got[i]) - q*float64(n)); d > 5*math.Sqrt(float64(n)*q*(1-q)) {
				t.Errorf("%s: weight %d of 100 came %d times in %d draws", name, w[i], got[i], n)
			}
		}
	}
	var got [4]int
	s := seeded(7)
	for i := 0; i < 20000; i++ {
		got[s.Pick(w)]++
	}
	check("seeded", 20000, got)
	got = [4]int{}
	picks := rapid.Custom(func(t *rapid.T) int { return fromRapid{t}.Pick(w) })
	for i := 0; i < 20000; i++ {
		got[picks.Example(i)]++
	}
	check("rapid", 20000, got)
}

func TestRapidDrawsTheSameKindOfTrace(t *testing.T) {
	steps, n := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		tr := From(fromRapid{t}, Profile{})
		if err := legal(tr); err != nil {
			t.Fatal(err)
		}
		steps += len(tr.Steps)
		n++
	})
	if mean := steps / n; mean < 20 || mean > 40 {
		t.Errorf("%d steps on average", mean)
	}
	if err := legal(Trace(Profile{}).Example(3)); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWalksEachSequenceOnce(t *testing.T) {
	seen := map[string]bool{}
	runs, all := Every(1000, func(s Source) {
		text := fmt.Sprint(s.Below(2), s.Pick([]uint16{5, 0, 1}))
		for s.Below(3) > 0 && len(text) < 8 {
			text += "+"
		}
		seen[text] = true
	})
	if !all || len(seen) < 20 {
		t.Errorf("%d runs, all %v, %d different", runs, all, len(seen))
	}
	runs, all = Every(500, func(s Source) { From(s, Profile{}) })
	if runs != 500 || all {
		t.Errorf("%d runs, all %v: a walk over every trace must stop at its limit", runs, all)
	}
}

// What makes a state worth reaching meets in some trace.
func TestProfilesReachWhatTheyAreFor(t *testing.T) {
	type goal struct {
		profile, name string
		per1000       int
		in            func(*trace.Trace) bool
	}
	any := func(f func(*trace.Step) bool) func(*trace.Trace) bool {
		return func(t *trace.Trace) bool {
			for i := range t.Steps {
				if f(&t.Steps[i]) {
					return true
				}
			}
			return false
		}
	}
	for _, g := range []goal{
		{"default", "pool mode", 350, func(t *trace.Trace) bool { return t.Header.Launch.Mode == "pool" }},
		{"default", "an odd name", 150, func(t *trace.Trace) bool { return bytes.ContainsAny(trace.Print(t), "é/:") }},
		{"default", "a file in pieces", 40, any(func(s *trace.Step) bool { return s.How == "chunks" && s.Parts > 1 })},
		{"files", "a broken text", 170, any(func(s *trace.Step) bool { return s.Do == trace.Write && s.Unreadable && s.HasText })},
		{"files", "another kind of file", 60, any(func(s *trace.Step) bool { return s.Kind == "loop" || s.Kind == "dangling" || s.Kind == "directory" })},
		{"files", "a BOM", 100, any(func(s *trace.Step) bool { return s.HasText && bytes.HasPrefix([]byte(s.Text), []byte("\xef\xbb\xbf")) })},
		{"approvals", "an answer", 850, any(func(s *trace.Step) bool { return s.Do == trace.Approve })},
		{"pool", "30,000 ms", 350, any(func(s *trace.Step) bool { return s.Ms == 30000 })},
		{"pool", "a session that comes back", 500, func(t *trace.Trace) bool {
			gone := map[string]bool{}
			for _, s := range t.Steps {
				if s.Do == trace.Close {
					gone[s.Session] = true
				} else if s.Do == trace.Open && gone[s.Session] {
					return true
				}
			}
			return false
		}},
		{"calls", "three calls", 750, func(t *trace.Trace) bool {
			n := 0
			for _, s := range t.Steps {
				if s.Do == trace.Call {
					n++
				}
			}
			return n >= 3
		}},
		{"bench", "two sessions", 1000, func(t *trace.Trace) bool { return len(t.Header.Launch.Sessions) == 2 }},
	} {
		p, n := profile(t, g.profile), 0
		for seed := uint64(0); seed < 1000; seed++ {
			if g.in(Draw(seed, p)) {
				n++
			}
		}
		if n < g.per1000 {
			t.Errorf("profile %s: %s in %d of 1,000 traces, meant are %d", g.profile, g.name, n, g.per1000)
		}
	}
}

func TestParseProfile(t *testing.T) {
	if p, err := ParseProfile(""); err != nil || p.String() != "default" || (Profile{}).String() != "default" {
		t.Errorf("%v, %v", p, err)
	}
	if _, err := ParseProfile("nope"); err == nil {
		t.Error("an unknown profile is no error")
	}
}

func ExampleDraw() {
	t := Draw(1, Profile{})
	same := Draw(1, Profile{})
	fmt.Println(bytes.Equal(trace.Print(t), trace.Print(same)))
	// Output: true
}

func BenchmarkDraw(b *testing.B) {
	for _, name := range Profiles() {
		b.Run(name, func(b *testing.B) {
			p := profile(b, name)
			b.ReportAllocs()
			steps := 0
			for i := 0; i < b.N; i++ {
				steps += len(Draw(uint64(i), p).Steps)
			}
			b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
		})
	}
}

func BenchmarkDrawByRapid(b *testing.B) {
	g := Trace(profile(b, "bench"))
	for i := 0; i < b.N; i++ {
		g.Example(i)
	}
}

// The bench profile has what its bars ask for: at least 6 loads and 4 dials a trace, counted from below: a load is a watched source
// that changed before time passed, the first read not counted; a dial is a runnable config that is new in the user file,
// in one session.
func TestBenchTracesHaveLoadsAndDials(t *testing.T) {
	const n = 1000
	p := profile(t, "bench")
	loads, dials := 0, 0
	for seed := uint64(0); seed < n; seed++ {
		tr := Draw(seed, p)
		var user *model.Value
		for i := range tr.Header.Files {
			if w := &tr.Header.Files[i].Write; w.File == "user" {
				user = w.JSON
				dials += fresh(nil, user)
			}
		}
		dirty := map[string]bool{}
		for i := range tr.Steps {
			s := &tr.Steps[i]
			switch {
			case s.Do == trace.Edit || s.Do == trace.Write && s.JSON != nil || s.Do == trace.Remove:
				dirty[s.File] = true
				if s.File == "user" {
					next := s.JSON
					if s.Do == trace.Edit {
						next = edited(user, s)
					}
					dials += fresh(user, next)
					user = next
				}
			case s.Do == trace.Settle || s.Do == trace.Advance && s.Ms >= 300:
				loads += len(dirty)
				dirty = map[string]bool{}
			}
		}
	}
	t.Logf("%.1f loads, %.1f dials a trace, from below", float64(loads)/n, float64(dials)/n)
	if loads < 6*n || dials < 4*n {
		t.Errorf("%.1f loads and %.1f dials a trace, meant are 6 and 4", float64(loads)/n, float64(dials)/n)
	}
}

// fresh counts the runnable configs of a document that another one does not have.
func fresh(before, now *model.Value) int {
	n, servers := 0, now.Get("mcpServers")
	if servers == nil {
		return 0
	}
	for _, m := range servers.Members {
		on := m.Value.Get("disabled") == nil && m.Value.Get("enabled") == nil
		if old := before.At("mcpServers", m.Key); on && (old == nil || !model.Equal(old, m.Value)) {
			n++
		}
	}
	return n
}
