package corpus

import (
	"bytes"
	"fmt"
	"path"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mcpsim/sim/trace"
)

func read(t *testing.T, name string) *trace.Trace {
	t.Helper()
	tr, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestEveryTraceSaysWhatItIsFor(t *testing.T) {
	titles := map[string]string{}
	for _, name := range List() {
		h := read(t, name).Header
		if h.Title == "" || h.Why == "" || len(h.Rules) == 0 {
			t.Errorf("%s needs a title, a why and its rules", name)
		}
		if other := titles[h.Title]; other != "" {
			t.Errorf("%s and %s have one title", name, other)
		}
		titles[h.Title] = name
		if pooled := h.Launch.Mode != ""; pooled != (h.Modes != "") {
			t.Errorf("%s: launch.mode and modes go together: a trace holds in both modes unless it says why not", name)
		}
		if strings.HasPrefix(name, "pool/") && h.Modes == "" {
			t.Errorf("%s is about the pool and does not say so", name)
		}
	}
	if n := len(titles); n < 150 {
		t.Errorf("only %d traces", n)
	}
}

func TestEveryTraceExpectsSomething(t *testing.T) {
	for _, name := range List() {
		tr := read(t, name)
		if len(tr.Steps) == 0 || tr.Steps[len(tr.Steps)-1].Do != trace.ExpectStep {
			t.Errorf("%s does not end with an expectation", name)
		}
	}
}

func TestEveryRuleHasATrace(t *testing.T) {
	named := map[string]bool{}
	for _, name := range List() {
		for _, r := range read(t, name).Header.Rules {
			named[r] = true
		}
	}
	for _, g := range []struct {
		prefix string
		n      int
	}{{"SRC", 17}, {"WAT", 11}, {"GATE", 7}, {"ADM", 7}, {"APR", 9}, {"CFG", 6}, {"REC", 15}, {"CALL", 4}, {"POOL", 8},
		{"ASK", 5}, {"VIEW", 3}, {"D", 22}} {
		for i := 1; i <= g.n; i++ {
			if r := fmt.Sprintf("%s-%d", g.prefix, i); !named[r] {
				t.Errorf("no trace names %s", r)
			}
		}
	}
	for _, r := range []string{"A.1", "A.2", "A.3", "A.3b", "A'.3c", "A'.3d", "B.4", "B.5", "B.6", "B.7", "B.8", "C.9", "C.10",
		"D.11", "D.12", "E.13", "E.14", "E.15", "E.16", "Part-D", "Part-E", "Part-F"} {
		if !named[r] {
			t.Errorf("no trace names item %s of section 14", r)
		}
	}
}

func TestEveryTraceReadsBack(t *testing.T) {
	for _, name := range List() {
		tr := read(t, name)
		back, err := trace.Parse(tr.Name, trace.Print(tr))
		if err != nil {
			t.Errorf("what is printed does not parse: %v", err)
			continue
		}
		for i := range back.Steps {
			back.Steps[i].Line = tr.Steps[i].Line
		}
		for i := range back.Header.Files {
			back.Header.Files[i].Write.Line = tr.Header.Files[i].Write.Line
		}
		for i := range back.Header.Faults {
			back.Header.Faults[i].Line = tr.Header.Faults[i].Line
		}
		if !reflect.DeepEqual(tr, back) {
			t.Errorf("%s reads back as another trace:\n%s\n%s", name, trace.Print(tr), trace.Print(back))
		}
	}
}

func TestEveryStepStandsInOneLine(t *testing.T) {
	for _, name := range List() {
		tr := read(t, name)
		text, _ := Text(name)
		lines := bytes.Count(text, []byte("\n"))
		for i, s := range tr.Steps {
			if want := lines - len(tr.Steps) + i + 1; s.Line != want {
				t.Errorf("%s: step %d stands in line %d, not %d", name, i+1, s.Line, want)
				break
			}
		}
	}
}

func TestTextDenotesWhatItIsSaidToDenote(t *testing.T) {
	for _, name := range List() {
		tr := read(t, name)
		for i := range tr.Steps {
			if !trace.Verify(&tr.Steps[i]) {
				t.Errorf("%s.ndjson:%d: the text does not denote what the step says", name, tr.Steps[i].Line)
			}
		}
		for _, f := range tr.Header.Files {
			if !trace.Verify(&f.Write) {
				t.Errorf("%s.ndjson:%d: the text does not denote what the step says", name, f.Write.Line)
			}
		}
	}
}

func TestSchemaAcceptsTheCorpus(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(trace.SchemaJSON))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("trace.json", doc); err != nil {
		t.Fatal(err)
	}
	sub := func(def string) *jsonschema.Schema {
		s, err := c.Compile("trace.json#/$defs/" + def)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	header, step := sub("header"), sub("step")
	for _, name := range List() {
		text, _ := Text(name)
		dec := jsontext.NewDecoder(bytes.NewBuffer(text))
		for i := 0; ; i++ {
			raw, err := dec.ReadValue()
			if err != nil {
				break
			}
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			s := step
			if i == 0 {
				s = header
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%s: value %d: %v", name, i+1, err)
			}
		}
	}
}

func TestFoldersAreRuleGroups(t *testing.T) {
	for _, name := range List() {
		group := strings.ToUpper(path.Dir(name))
		if group == "SOURCE" || group == "REPORTS" { // the source's own list, and bug reports: of every group
			continue
		}
		found := false
		for _, r := range read(t, name).Header.Rules {
			found = found || strings.HasPrefix(r, group+"-")
		}
		if !found {
			t.Errorf("%s names no %s rule", name, group)
		}
	}
}
