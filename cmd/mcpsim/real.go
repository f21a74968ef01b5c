package main

import (
	"fmt"
	"io"
	"runtime"
	"sort"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/real"
	"mcpsim/sim/trace"
)

// replayReal plays traces in the real world, several at once, and prints in their order.
func replayReal(w io.Writer, traces []*trace.Trace, f replayFlags, bothModes bool) error {
	list := inModes(traces, bothModes && !f.oneMode)
	skipped := map[string]int{}
	played, bad := map[string]int{}, map[string]int{}
	again := 0
	opt := func(*trace.Trace) sim.PlayOptions { return sim.PlayOptions{History: f.verbose} }
	real.Run(list, workers(f.workers), model.Ms(f.long.Milliseconds()), opt, func(o real.Outcome) {
		if o.Why != "" {
			skipped[o.Why]++
			if f.verbose || !bothModes {
				fmt.Fprintf(w, "skipped: %s: %s\n", o.Trace.Name, o.Why)
			}
			return
		}
		mode := modeOf(o.Trace)
		played[mode]++
		again += o.Tries - 1
		if f.verbose {
			fmt.Fprintf(w, "%s (%s mode, %d ms): %s\n", o.Trace.Name, mode, o.Took.Milliseconds(), o.Trace.Header.Title)
		}
		if !printed(w, o.Trace, o.R, f.verbose) {
			bad[mode]++
			if o.Tries > 1 {
				fmt.Fprintf(w, "  late    the machine was %d ms late, in the last of %d plays\n", o.Late.Milliseconds(), o.Tries)
			}
		}
	})
	if again > 0 {
		fmt.Fprintf(w, "%5d times played again: a finding while the machine itself was late is none\n", again)
	}
	n := 0
	for _, why := range byCount(skipped) {
		fmt.Fprintf(w, "%5d skipped: %s\n", skipped[why], why)
		n += skipped[why]
	}
	for _, mode := range []string{"single", "pool"} {
		fmt.Fprintf(w, "%5d played for real in %s mode, %d failed\n", played[mode], mode, bad[mode])
	}
	fmt.Fprintf(w, "%d traces, %d plays, %d skipped, %d failed\n", len(traces), played["single"]+played["pool"], n, bad["single"]+bad["pool"])
	if bad["single"]+bad["pool"] > 0 {
		return errFinding
	}
	return nil
}

func workers(n int) int {
	if n > 0 {
		return n
	}
	return 4 * runtime.GOMAXPROCS(0)
}

// byCount lists the keys, the most frequent first.
func byCount(n map[string]int) []string {
	var out []string
	for k := range n {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool {
		if n[out[i]] != n[out[j]] {
			return n[out[i]] > n[out[j]]
		}
		return out[i] < out[j]
	})
	return out
}
