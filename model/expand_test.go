package model

import (
	"strings"
	"testing"
)

func TestVariablesExpandOnceAndOnlyInTheirThreeForms(t *testing.T) { // SRC-9
	env := map[string]string{"A": "va", "EMPTY": "", "D": "$A", "_x1": "under", "B": "${A}$$"}
	for _, x := range []struct{ in, out, left string }{
		{"plain", "plain", ""},
		{"$A", "va", ""},
		{"${A}", "va", ""},
		{"x${A}y$A-z", "xvayva-z", ""},
		{"$_x1/", "under/", ""},
		{"$A_", "$A_", "A_"}, // the longest name
		{"$AA", "$AA", "AA"},
		{"$N", "$N", "N"},
		{"${N}", "${N}", "N"},
		{"${N:-d}", "d", ""},
		{"${N:-}", "", ""},
		{"${EMPTY:-d}", "d", ""},
		{"${EMPTY}", "", ""},
		{"$EMPTY", "", ""},
		{"${A:-d}", "va", ""},
		{"$D", "$A", ""}, // the result is not expanded again
		{"$B", "${A}$$", ""},
		{"${N:-$A}", "$A", ""},
		{"${N:-${A}}", "${A}", ""}, // the text ends at the first }
		{"$$A", "$A", ""},
		{"$$$A", "$va", ""},
		{"$$$$", "$$", ""},
		{"$", "$", ""},
		{"cost 5$", "cost 5$", ""},
		{"$é", "$é", ""},
		{"$-", "$-", ""},
		{"$(cmd)", "$(cmd)", "$("},
		{"$1", "$1", "$1"},
		{"${1}", "${1}", "${"},
		{"${}", "${}", "${"},
		{"${env:A}", "${env:A}", "${"},
		{"${input:token}", "${input:token}", "${"},
		{"${A:x}", "${A:x}", "${"},
		{"${A-x}", "${A-x}", "${"},
		{"${A", "${A", "${"},
		{"$N and $M", "$N and $M", "N,M"},
	} {
		out, left := Expand(x.in, env)
		if out != x.out || strings.Join(left, ",") != x.left {
			t.Errorf("Expand(%q) = %q, left %q", x.in, out, left)
		}
	}
}

func TestLeftoverVariablesAreNotedPerTransportField(t *testing.T) { // SRC-9
	tab := NewTable(&Launch{Env: map[string]string{"A": "va"}})
	_, probs := tab.Entry("s", js(`{"command":"$A","args":["$X","$Y","$X"],"env":{"T":"$(pass)","$K":"v"},"cwd":"${A}/x",
		"description":"$X","includeTools":["$X"],"note":"$X"}`), false)
	want := []Problem{{"s", "args", "variable"}, {"s", "env.T", "variable"}}
	if !sameProblems(probs, want) {
		t.Errorf("got %v", probs)
	}
}

func TestConsentCoversTheTextBeforeExpansionAndTheFingerprintTheTextAfter(t *testing.T) { // SRC-9, D-10
	tab := NewTable(&Launch{Env: map[string]string{"A": "x", "B": "x"}})
	a, _ := tab.Entry("s", js(`{"command":"run","args":["$A"]}`), false)
	b, _ := tab.Entry("s", js(`{"command":"run","args":["$B"]}`), false)
	if a.ID == b.ID || a.Fp != b.Fp {
		t.Errorf("ids %d %d, fingerprints %d %d", a.ID, b.ID, a.Fp, b.Fp)
	}
	if a.CommandLine != "run x" {
		t.Errorf("command line %q", a.CommandLine)
	}
	tab.Relaunch(&Launch{Env: map[string]string{"A": "y"}}) // a rotated variable needs a restart
	c, _ := tab.Entry("s", js(`{"command":"run","args":["$A"]}`), false)
	if c.ID != a.ID || c.Fp == a.Fp || tab.FpOf(a.ID) != c.Fp {
		t.Errorf("after the restart: %+v", c)
	}
}

func TestSecretsAreKeptBeforeAndAfterExpansion(t *testing.T) { // INV-16
	tab := NewTable(&Launch{Env: map[string]string{"T": "hidden"}})
	c, _ := tab.Entry("s", js(`{"httpUrl":"http://x","headers":{"B":"plain","A":"Bearer $T"}}`), false)
	if got := strings.Join(c.Secrets, "|"); got != "Bearer $T|Bearer hidden|plain" {
		t.Error(got)
	}
}

func sameProblems(a, b []Problem) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
