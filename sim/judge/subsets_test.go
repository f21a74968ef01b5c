package judge

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"mcpsim/model"
	"mcpsim/sim/check"
	"mcpsim/sim/gen"
)

// TestNoSetOfEventsIsNeededOfDrawnLogs: what a host does not write makes no finding of any drawn log.
func TestNoSetOfEventsIsNeededOfDrawnLogs(t *testing.T) {
	n := 40
	r := rand.New(rand.NewPCG(9, 8))
	for _, name := range gen.Profiles() {
		p, err := gen.ParseProfile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			tr := gen.Draw(check.Mix(21, i), p)
			if i%2 == 0 {
				tr = check.OtherMode(tr)
			}
			var b bytes.Buffer
			if res, err := Record(tr, &b); err != nil || len(res.Violations) > 0 {
				continue // another test's
			}
			var drop []string
			share := []int{1, 2, 4, 10}[i%4] // nearly all of the kinds, a half, a quarter, a tenth
			for k := model.EvWake; k < model.NumEvents; k++ {
				if share == 1 && r.IntN(20) > 0 || share > 1 && r.IntN(share) == 0 {
					drop = append(drop, `"event":"`+k.String()+`"`)
				}
			}
			if i%3 == 0 {
				drop = append(drop, `"input":"woken"`)
			}
			if i%5 == 0 {
				drop = append(drop, `"input":"read"`)
			}
			rep, err := Log(name, without(undeclared(b.Bytes()), drop...), Options{})
			if err != nil {
				t.Errorf("%s %d: %v", name, i, err)
				continue
			}
			for _, f := range rep.Findings {
				t.Errorf("%s %d:%d: %s %v %s; without %v", name, i, f.Line, f.Invariant, f.Rules, f.Detail, drop)
				break
			}
		}
	}
}
