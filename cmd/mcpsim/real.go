package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"time"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/gen"
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

// realN is how many traces check -real draws by default.
const realN = 200

// checkReal draws traces, as many as asked for that can be real once they are tame, and plays them in both modes. What fails is written as it
// was drawn: a play takes too long to shrink by plays.
func checkReal(w io.Writer, o check.Options, long time.Duration) error {
	fmt.Fprintf(w, "check   for real, seed %d, profile %s, %d traces\n", o.Seed, o.Profile, o.N)
	most := model.Ms(long.Milliseconds())
	var traces []*trace.Trace
	skipped := map[string]int{}
	drawn := 0
	for ; len(traces) < o.N && drawn < 100*o.N; drawn++ {
		tr := real.Tame(gen.Draw(check.Mix(o.Seed, drawn), o.Profile))
		if why := real.Why(tr, most); why != "" {
			skipped[why]++
			continue
		}
		tr.Name = fmt.Sprintf("trace %d", drawn)
		traces = append(traces, tr)
	}
	began := time.Now()
	plays, events, bad, again := 0, 0, 0, 0
	var wrong error
	seen := map[string]bool{}
	real.Run(inModes(traces, !o.OneMode), workers(o.Workers), most+most/2, func(*trace.Trace) sim.PlayOptions { return sim.PlayOptions{} }, func(x real.Outcome) {
		if x.Why != "" { // in the other mode it takes longer
			skipped[x.Why]++
			return
		}
		plays++
		events += x.R.Events
		again += x.Tries - 1
		if !x.R.Failed() {
			return
		}
		bad++
		sig := "ERROR"
		if len(x.R.Violations) > 0 {
			sig = check.Signature(x.Trace, x.R.Violations[0])
		}
		if seen[sig] {
			return
		}
		seen[sig] = true
		x.Trace.Name = filepath.Join(o.Dir, fmt.Sprintf("real-%d.ndjson", len(seen)))
		if err := keep(x.Trace); err != nil {
			wrong = err
		}
		printed(w, x.Trace, x.R, false)
		if x.Tries > 1 {
			fmt.Fprintf(w, "  late    the machine was %d ms late, in the last of %d plays\n", x.Late.Milliseconds(), x.Tries)
		}
		fmt.Fprintf(w, "  replay  mcpsim replay -real %s\n", x.Trace.Name)
	})
	if again > 0 {
		fmt.Fprintf(w, "%5d times played again: a finding while the machine itself was late is none\n", again)
	}
	for _, why := range byCount(skipped) {
		fmt.Fprintf(w, "%5d drawn anew: %s\n", skipped[why], why)
	}
	fmt.Fprintf(w, "%d traces, %d plays for real, %d events in %.1f s, %d failed (%d kinds)\n", len(traces), plays, events, time.Since(began).Seconds(), bad, len(seen))
	switch {
	case wrong != nil:
		return wrong
	case bad > 0:
		return errFinding
	}
	return nil
}

func keep(tr *trace.Trace) error {
	if err := os.MkdirAll(filepath.Dir(tr.Name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(tr.Name, trace.Print(tr), 0o644)
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
