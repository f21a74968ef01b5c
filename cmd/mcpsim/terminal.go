package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"mcpsim/sim/check"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func writeSummary(w io.Writer, r *check.Report) {
	rate := float64(r.Traces) / r.Elapsed.Seconds()
	fmt.Fprintf(w, "%d traces, %d plays, %d events, %d loads, %d dials in %.1f s (%.0f traces/s)\n",
		r.Traces, r.Plays, r.Events, r.Loads, r.Dials, r.Elapsed.Seconds(), rate)
	fmt.Fprintf(w, "reached: %s\n", strings.Join(r.SortedGoals(), "; "))
	if missed := r.Missed(); len(missed) > 0 {
		fmt.Fprintf(w, "not reached, so that this run's silence means little: %s\n", strings.Join(missed, "; "))
	}
	if len(r.Skipped) > 0 {
		fmt.Fprintf(w, "not checkable: %v\n", r.Skipped)
	}
	if r.Clean() {
		fmt.Fprintln(w, "clean")
	} else {
		fmt.Fprintf(w, "%d different failures\n", len(r.Failures)+len(r.Errors))
	}
}
