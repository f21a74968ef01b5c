package model

import "testing"

// TestOutcomesInRealTime: a script near its bound may go either way where time is only exact to the slack, one that is
// far from it may not, and in virtual time only the exact bound may (REC-7, LIVE-1).
func TestOutcomesInRealTime(t *testing.T) {
	after := func(d Ms) *Behaviour {
		b := &Behaviour{}
		b.Delays[StepInit].Ms = d
		return b
	}
	hang := &Behaviour{Fault: Hang, FaultAt: StepTools}
	exits := &Behaviour{Fault: Exit, FaultAt: StepInit}
	const both = StateLive | StateFailedTimeout
	for _, c := range []struct {
		name         string
		b            *Behaviour
		bound, slack Ms
		want         State
	}{
		{"born within a bound far longer", after(0), 30000, 2000, StateLive},
		{"born at once, virtual", after(0), 101, 0, StateLive},
		{"born while a short bound passes", after(0), 101, 2000, both},
		{"a slack shorter than the bound", after(0), 300, 250, StateLive},
		{"just under the bound", after(99), 100, 250, both},
		{"just under the bound, virtual", after(99), 100, 0, StateLive},
		{"at the bound, virtual", after(100), 100, 0, both},
		{"just over the bound, the timer is late", after(101), 100, 250, both},
		{"just over the bound, virtual", after(101), 100, 0, StateFailedTimeout},
		{"far over the bound", after(5000), 100, 250, StateFailedTimeout},
		{"hangs for ever", hang, 100, 2000, StateFailedTimeout},
		{"exits, if it is there in time", exits, 100, 250, StateFailedExit | StateFailedTimeout},
		{"exits well within the bound", exits, 30000, 250, StateFailedExit},
	} {
		if got := outcomes(c.b, Stdio, c.bound, c.slack); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
