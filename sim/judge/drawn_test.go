package judge

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpsim/sim/check"
	"mcpsim/sim/gen"
)

// TestDrawnLogsAreClean: the same of drawn traces of every profile, in both modes.
func TestDrawnLogsAreClean(t *testing.T) {
	n := 40
	if testing.Short() {
		n = 10
	}
	for _, name := range gen.Profiles() {
		p, err := gen.ParseProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			tr := gen.Draw(check.Mix(11, i), p)
			if i%2 == 1 {
				tr = check.OtherMode(tr)
			}
			var b bytes.Buffer
			r, err := Record(tr, &b)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := Log(name, b.Bytes(), Options{})
			if err != nil {
				t.Errorf("%s %d: %v", name, i, err)
				continue
			}
			if len(r.Violations) == 0 {
				for _, f := range rep.Findings {
					t.Errorf("%s %d:%d: %s %s %s: %s", name, i, f.Line, f.Invariant, f.Session, f.Server, f.Detail)
				}
			}
			if len(r.Violations) == 0 { // nor without what some host may not write
				drop := [][]string{{`"event":"load"`}, {`"event":"pass_`}, {`"event":"load"`, `"event":"notify"`, `"event":"wake"`, `"input":"woken"`},
					{`"event":"load"`, `"input":"read"`}}[i%4]
				rep, err := Log(name, without(undeclared(b.Bytes()), drop...), Options{})
				if err != nil || len(rep.Findings) > 0 {
					t.Errorf("%s %d without %v: %v %v", name, i, drop, err, rep.Findings)
				}
			}
			if d := cmp.Diff(r.Checks, rep.Checks); d != "" {
				t.Errorf("%s %d: other checks than in the run (-run +log):\n%s", name, i, d)
			}
		}
	}
}
