package real

import (
	"errors"
	"os"
	"sync"
	"time"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/realserver"
	"mcpsim/sim/trace"
)

// Slack is how late a reaction may be in a real play, and how long an expectation is asked again: the machine may have
// other things to do.
const Slack model.Ms = 2000

// early is how late the player itself may be: an instant of a trace is not sharper than that.
const early model.Ms = 80

// MayServe makes this process a server if it was started to be one. A program that plays for real calls it first.
func MayServe() {
	if realserver.IsServer() {
		realserver.Main()
	}
}

// Play plays a trace for real, in a world of its own. Options are those of sim.Play; what they need to be for real time is
// set here.
func Play(tr *trace.Trace, opt sim.PlayOptions) *sim.Result {
	r, _ := play(tr, opt)
	return r
}

// play also says by how much a dial outlasted its script.
func play(tr *trace.Trace, opt sim.PlayOptions) (*sim.Result, time.Duration) {
	if opt.Slack == 0 {
		opt.Slack = Slack
	}
	opt.Loose, opt.Patience, opt.Early = true, opt.Slack, early
	if opt.Budget == 0 {
		opt.Budget = 60000
	}
	failed := func(err error) (*sim.Result, time.Duration) {
		return &sim.Result{Err: err, Checks: map[string]int{}, Skipped: map[string]int{}, Goals: map[string]int{}}, 0
	}
	exe, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	st, err := NewStage(exe)
	if err != nil {
		return failed(err)
	}
	y := NewSystem(st)
	r := sim.Play(tr, st, y, opt)
	if err := errors.Join(y.Close(), st.Close()); err != nil && r.Err == nil {
		r.Err = err
	}
	return r, time.Duration(st.slow) * time.Millisecond
}

// Outcome is what became of one trace of a run.
type Outcome struct {
	Trace *trace.Trace
	Why   string // it was not played, because …
	R     *sim.Result
	Took  time.Duration // the last play
	Late  time.Duration // how late the machine was in it, at most
	Tries int           // plays; more than one if the machine was too late
}

// Run plays traces, so many at once, and hands out each outcome in the order of the traces. Long is the longest trace, in
// time of the trace, that is played.
func Run(traces []*trace.Trace, workers int, long model.Ms, opt func(*trace.Trace) sim.PlayOptions, each func(Outcome)) {
	out := make([]chan Outcome, len(traces))
	for i := range out {
		out[i] = make(chan Outcome, 1)
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range max(workers, 1) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if why := Why(traces[i], long); why != "" {
					out[i] <- Outcome{Trace: traces[i], Why: why}
					continue
				}
				out[i] <- Judge(traces[i], opt(traces[i]))
			}
		}()
	}
	go func() {
		for i := range traces {
			next <- i
		}
		close(next)
	}()
	for i := range out {
		each(<-out[i])
	}
	wg.Wait()
}
