package main

import (
	"strings"
	"testing"
)

// TestOracleAnswersAsItsHelpSays: the example of --help, line by line.
func TestOracleAnswersAsItsHelpSays(t *testing.T) {
	var in, want []string
	for _, l := range strings.Split(oracleExample, "\n") {
		if s, ok := strings.CutPrefix(l, "  → "); ok {
			in = append(in, s)
		} else if s, ok := strings.CutPrefix(l, "  ← "); ok {
			want = append(want, s)
		}
	}
	out, exit, err := mcpsim(strings.Join(in, "\n")+"\n", "oracle")
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if exit != 1 || len(got) != len(want) || len(want) != len(in) || len(want) < 5 {
		t.Fatalf("exit %d (%v), %d lines in, %d answers:\n%s", exit, err, len(in), len(got), out)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s\n got %s\nwant %s", in[i], got[i], want[i])
		}
	}
}

func TestOracleSaysWhatIsDueAndWhatItDoesNotUnderstand(t *testing.T) {
	for _, c := range []struct {
		in, want string
		exit     int
	}{
		{`{"mcpsim":1,"log":{"version":1,"clock":"virtual"},"launch":{"sessions":[]}}
{"t":10,"input":"file","scope":"user","state":"good","content":{}}
{"t":10,"input":"woken","scope":"user"}
{"t":20,"event":"jump"}
{"t":320,"settled":true}`, `{"line":1}
{"line":2}
{"line":3,"due":310}
{"line":4,"error":"stdin:4:1: there is no event \"jump\"`, 2},
		{`[]`, `{"line":1,"error":"stdin:1:1: the first line must be the header`, 2},
		{``, `{"line":1,"error":`, 2},
		{`{"mcpsim":1}
{"t":0,"input":"witness","invariant":"INV-10","detail":"seen"}
{"t":0,"expect":true}
{"t":0,"passed":true}`, `{"line":1,"due":0}
{"line":2,"due":0}
{"line":3,"found":[{"line":3,"ms":0,"invariant":"INV-10",`, 1},
	} {
		out, exit, err := mcpsim(c.in, "oracle")
		if exit != c.exit || !strings.HasPrefix(out, c.want) {
			t.Errorf("exit %d (%v):\n%s\nwant\n%s", exit, err, out, c.want)
		}
	}
}
