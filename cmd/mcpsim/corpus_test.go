package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpsim/corpus"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/trace"
)

// TestUpdateFillsInWhatThePlayGives: the whole corpus, updated, plays clean, and a second update finds nothing to do.
func TestUpdateFillsInWhatThePlayGives(t *testing.T) {
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := check.NewPlayer()
	read := func(file string, text []byte) *trace.Trace {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Parse(file, text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		return tr
	}
	for i, tr := range all {
		if testing.Short() && i%10 > 0 {
			continue
		}
		text, err := corpus.Text(strings.TrimPrefix(tr.Name, "corpus/"))
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.Base(tr.Name))
		full, _, why := updated(read(file, text))
		if why != "" {
			t.Errorf("%s: %s", tr.Name, why)
			continue
		}
		again := read(file, full)
		if r := p.Play(again, sim.PlayOptions{}); r.Failed() {
			t.Errorf("%s, updated: %v %v %v", tr.Name, r.Violations, r.Mismatches, r.Err)
		}
		if _, n, _ := updated(again); n != 0 {
			t.Errorf("%s: a second update changes %d expectations", tr.Name, n)
		}
	}
}

// TestUpdateCorrectsAFalseExpectation and leaves the rest of the file as it is.
func TestUpdateCorrectsAFalseExpectation(t *testing.T) {
	const before, after = `{"mcpsim":1,
  "servers":{"srv-a":{"tools":["x"]}}}
{"do":"edit","file":"user",
  "servers":{"a":{"command":"srv-a"}}}
{"do":"settle"}
`, "\n{\"do\":\"note\",\"text\":\"kept\"}\n"
	file := filepath.Join(t.TempDir(), "t.ndjson")
	text := before + `{"expect":{"s1":{"servers":{"a":"removed"}}}}` + after
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Parse(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, n, why := updated(tr)
	if why != "" || n != 1 {
		t.Fatalf("%d changed, %s", n, why)
	}
	s := string(got)
	if !strings.HasPrefix(s, before) || !strings.HasSuffix(s, after) || !strings.Contains(s, `"servers":{"a":"live"},"tools":{"a":["x"]}`) {
		t.Error(s)
	}
}
