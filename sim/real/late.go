package real

import (
	"sync"
	"time"

	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// lateness measures how late the machine is: a goroutine that wants to run every few milliseconds notes how long it was
// kept from it.
type lateness struct {
	stop chan struct{}
	done sync.WaitGroup
	most time.Duration // of the goroutine, until it has ended
}

const lookEvery = 10 * time.Millisecond

func watchLateness() *lateness {
	l := &lateness{stop: make(chan struct{})}
	l.done.Add(1)
	go func() {
		defer l.done.Done()
		t := time.NewTimer(lookEvery)
		for due := time.Now().Add(lookEvery); ; due = time.Now().Add(lookEvery) {
			select {
			case <-t.C:
				l.most = max(l.most, time.Since(due))
				t.Reset(lookEvery)
			case <-l.stop:
				t.Stop()
				return
			}
		}
	}()
	return l
}

// end is the most that it was.
func (l *lateness) end() time.Duration {
	close(l.stop)
	l.done.Wait()
	return l.most
}

// triesMost bounds how often a trace is played for one outcome; from quietFrom on no other trace is played beside it.
const triesMost, quietFrom = 5, 4

// Judge plays a trace until the outcome says something about the host: a finding of a play during which the machine itself
// came later than an instant of a trace is sharp, or bore a process so late, is none, and the trace is played again, a few
// times. So is one that slid: a millisecond at an edge made another course of it. What is found then is reported, with how
// late the machine was. The last tries are made while no other play of the process runs: what only the load of the
// others did is not found.
func Judge(tr *trace.Trace, opt sim.PlayOptions) Outcome {
	o := Outcome{Trace: tr}
	for {
		o.Tries++
		o.R, o.Took, o.Late = playing(tr, opt, o.Tries >= quietFrom)
		if !o.R.Failed() || o.Late < lateMost && !slid(o.R) || o.Tries == triesMost {
			return o
		}
	}
}

// plays that run; whoever holds it for writing plays alone.
var plays sync.RWMutex

func playing(tr *trace.Trace, opt sim.PlayOptions, alone bool) (r *sim.Result, took, late time.Duration) {
	if alone {
		plays.Lock()
		defer plays.Unlock()
	} else {
		plays.RLock()
		defer plays.RUnlock()
	}
	began, l := time.Now(), watchLateness()
	r, slow := play(tr, opt)
	return r, time.Since(began), max(l.end(), slow)
}

// slid reports whether a play took another course than its trace: the model, told of what truly happened and when, expects
// something else than the trace does, and the host did nothing that the model forbids.
func slid(r *sim.Result) bool {
	for _, v := range r.Violations {
		if v.Invariant != "EXPECT" {
			return false
		}
	}
	return r.Err == nil && len(r.Mismatches) > 0
}

// lateMost is how late the machine may be for a finding to count.
const lateMost = time.Duration(early) * time.Millisecond
