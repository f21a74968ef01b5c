package mutants

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var which = flag.String("mutants", "few", "which mutants are run: all, few, or a name")

var record = flag.Bool("record", false, "write what this run finds into KILLED.md")

const traces = "3000"

// TestMutantsApply keeps the table in step with the sources: what a mutant replaces is there exactly once.
func TestMutantsApply(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All {
		if seen[m.Name] {
			t.Errorf("%s: twice in the table", m.Name)
		}
		seen[m.Name] = true
		mutate(t, &m)
	}
	for _, name := range Few {
		if !seen[name] {
			t.Errorf("there is no mutant %s", name)
		}
	}
}

// mutate returns the mutated files by their path in the module.
func mutate(t *testing.T, m *Mutant) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, e := range m.Edits() {
		text, ok := files[e.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root(t), e.File))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			t.Errorf("%s: %s holds %q %d times, want once", m.Name, e.File, e.Old, n)
		}
		if e.Old == e.New {
			t.Errorf("%s: it changes nothing in %s", m.Name, e.File)
		}
		files[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return files
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// build compiles cmd/mcpsim with files in place of those of the module.
func build(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	replace := map[string]string{}
	for file, text := range files {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(root(t), file)] = to
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, bin := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "mcpsim")
	if err := os.WriteFile(overlay, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-overlay", overlay, "-o", bin, "./cmd/mcpsim")
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("it does not compile: %v\n%s", err, out)
	}
	return bin
}

type report struct {
	Traces   int
	Failures []struct {
		Invariant, Detail string
		Trace, Steps      int
		Drawn             int `json:"steps_drawn"`
	}
	Errors []string
}

// check runs a binary; a finding is no error.
func check(t *testing.T, bin, profile string) *report {
	t.Helper()
	args := []string{"check", "-json", "-n", traces, "-seed", "1", "-stop", "1", "-dir", t.TempDir()}
	if profile != "" {
		args = append(args, "-profile", profile)
	}
	var stderr strings.Builder
	cmd := exec.Command(bin, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("no report: %v\n%s", err, stderr.String())
	}
	return &r
}

// corpusFinds replays the corpus with a mutant that no drawn trace found: states that are too rare to draw are kept there.
func corpusFinds(t *testing.T, bin string) string {
	t.Helper()
	out, err := exec.Command(bin, "replay").Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		return ""
	}
	return string(corpusFinding.Find(out))
}

var corpusFinding = regexp.MustCompile(`(INV|LIVE)-\d+|EXPECT`)

var invariantID = regexp.MustCompile(`^(INV|LIVE)-\d+$`)

// killed is the table that a recorded run leaves.
const killed = "KILLED.md"

// TestKilledIsComplete: every mutant has its line in the record, and no line is of a mutant that is gone.
func TestKilledIsComplete(t *testing.T) {
	lines, err := Killed()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range All {
		if lines[m.Name].By == "" {
			t.Errorf("%s has no line in %s: run make mutants", m.Name, killed)
		}
		delete(lines, m.Name)
	}
	for name := range lines {
		t.Errorf("%s has a line in %s and is no mutant", name, killed)
	}
}

// writeKilled writes the record, in the order of All.
func writeKilled(t *testing.T, lines map[string]Kill) {
	t.Helper()
	var b strings.Builder
	b.WriteString(`# What killed each mutant

Written by ` + "`make mutants`" + `: the invariant that found the mistake, after how many drawn traces (seed 1) and
seconds, and the steps of the failing trace, shrunk and as drawn. Where no drawn trace found it, the
corpus did. Seconds are of the machine that ran it.

| mutant | breaks | killed by | traces | seconds | steps (drawn) |
|---|---|---|---|---|---|
`)
	for _, m := range All {
		k, ran := lines[m.Name]
		if !ran {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", m.Name, m.Hole, k.By, k.Traces, k.Seconds, k.Steps)
	}
	if err := os.WriteFile(killed, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// TestMutants runs the checker on mutants: each must be found, and found as a broken invariant rather than as a crash. A
// finding says nothing unless the sources as they are have none on the same traces.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a checker per mutant")
	}
	var chosen []Mutant
	for _, m := range All {
		if *which == "all" || *which == m.Name || *which == "few" && slices.Contains(Few, m.Name) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		t.Fatalf("there is no mutant %q", *which)
	}
	bin := build(t, nil)
	var profiles []string
	for _, m := range chosen {
		if !slices.Contains(profiles, m.Profile) {
			profiles = append(profiles, m.Profile)
		}
	}
	for _, p := range profiles {
		if r := check(t, bin, p); len(r.Failures) > 0 || len(r.Errors) > 0 {
			t.Fatalf("the sources as they are fail with profile %q: %+v", p, r)
		}
	}
	lines, err := Killed()
	if err != nil {
		t.Fatal(err)
	}
	known := maps.Clone(lines)
	var mu sync.Mutex
	line := func(m *Mutant, k Kill) {
		mu.Lock()
		defer mu.Unlock()
		lines[m.Name] = k
	}
	t.Cleanup(func() { // after the parallel ones
		if *record && !t.Failed() {
			writeKilled(t, lines)
		}
	})
	for _, m := range chosen {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			bin := build(t, mutate(t, &m))
			began := time.Now()
			if known[m.Name].Traces == "corpus" && !*record { // no drawn trace finds it: see KILLED.md
				if id := corpusFinds(t, bin); id != "" {
					t.Logf("%s (%s): %s on the corpus", m.Name, m.Hole, id)
					return
				}
			}
			r := check(t, bin, m.Profile)
			took := time.Since(began).Seconds()
			if len(r.Failures) == 0 {
				if id := corpusFinds(t, bin); id != "" {
					line(&m, Kill{By: id, Traces: "corpus", Seconds: fmt.Sprintf("%.1f", time.Since(began).Seconds()), Steps: "-"})
					t.Logf("%s (%s): %s on the corpus, after %d drawn traces found nothing in %.1f s", m.Name, m.Hole, id, r.Traces, took)
					return
				}
				t.Fatalf("%s (%s) survived %d traces, %.1f s; errors: %q", m.Name, m.Hole, r.Traces, took, r.Errors)
			}
			f := r.Failures[0]
			if !invariantID.MatchString(f.Invariant) {
				t.Fatalf("%s (%s): %s is no invariant: %s", m.Name, m.Hole, f.Invariant, f.Detail)
			}
			line(&m, Kill{f.Invariant, fmt.Sprint(f.Trace + 1), fmt.Sprintf("%.1f", took), fmt.Sprintf("%d (%d)", f.Steps, f.Drawn)})
			t.Logf("%s (%s): %s after %d traces, %.1f s; %d steps of %d drawn", m.Name, m.Hole, f.Invariant, f.Trace+1, took, f.Steps, f.Drawn)
		})
	}
}
