package judge

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"regexp"
	"testing"

	"mcpsim/model"
)

var declared = regexp.MustCompile(`"events":\[[^\]]*\],|"woken":(true|false),`)

var everyLog = flag.Bool("every-log", false, "drop each kind of event from every log, not from a third of them")

// undeclared takes out of a header what the host says of its events.
func undeclared(log []byte) []byte {
	first, rest, _ := bytes.Cut(log, []byte("\n"))
	return append(append(declared.ReplaceAll(first, nil), '\n'), rest...)
}

// without drops every line that holds a text, as a host would that never wrote it.
func without(log []byte, texts ...string) []byte {
	var out []byte
	for _, line := range bytes.SplitAfter(log, []byte("\n")) {
		drop := false
		for _, s := range texts {
			drop = drop || bytes.Contains(line, []byte(s))
		}
		if !drop {
			out = append(out, line...)
		}
	}
	return out
}

// TestNoKindOfEventIsNeeded: without any one kind nothing becomes a finding, and what depends on it is counted.
func TestNoKindOfEventIsNeeded(t *testing.T) {
	for k := model.EvWake; k < model.NumEvents; k++ {
		kind := k.String()
		t.Run(kind, func(t *testing.T) {
			var with []recorded
			for _, x := range recordings(t) {
				if bytes.Contains(x.log, []byte(`"event":"`+kind+`"`)) {
					with = append(with, x)
				}
			}
			counted := 0
			for i, x := range with {
				if i%3 != int(k)%3 && len(with) > 30 && !*everyLog {
					continue
				}
				rep, err := Log(x.name, without(undeclared(x.log), `"event":"`+kind+`"`), Options{})
				if err != nil {
					t.Errorf("%v", err)
					continue
				}
				for _, f := range rep.Findings {
					t.Errorf("%s:%d: %s %v %s: %s", x.name, f.Line, f.Invariant, f.Rules, f.Server, f.Detail)
				}
				for _, u := range rep.Unchecked {
					if u.Count > 0 || u.All {
						counted++
						break
					}
				}
			}
			if len(holes[kind]) > 0 && counted == 0 {
				t.Errorf("of %d logs none says what cannot be checked", len(with))
			}
		})
	}
}

// TestNoSetOfEventsIsNeeded: nor without several kinds at once, whichever.
func TestNoSetOfEventsIsNeeded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, x := range recordings(t) {
		if testing.Short() && i%5 != 0 {
			continue
		}
		var drop []string
		share := []int{2, 4, 10}[i%3] // a half, a quarter, a tenth of the kinds
		for k := model.EvWake; k < model.NumEvents; k++ {
			if i%50 == 0 || r.IntN(share) == 0 {
				drop = append(drop, `"event":"`+k.String()+`"`)
			}
		}
		if i%2 == 0 {
			drop = append(drop, `"input":"woken"`)
		}
		rep, err := Log(x.name, without(undeclared(x.log), drop...), Options{})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, f := range rep.Findings {
			t.Errorf("%s:%d: without %v: %s %v %s: %s", x.name, f.Line, drop, f.Invariant, f.Rules, f.Server, f.Detail)
		}
	}
}
