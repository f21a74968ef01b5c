package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/trace"
)

type replayFlags struct {
	verbose, step, oneMode, real bool
	workers                      int
	long                         time.Duration
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay [FILE or DIR…]",
		Short: "Play traces on model and host (without arguments: the whole corpus, in both modes)",
		Long: `Plays each trace in the simulated world. A file is played as its header says; the corpus is
played in both modes, unless a trace's header says in "modes" why it is about one.
With -real it is played in the real world instead: a temporary directory, the kernel's file events, the machine's clock,
processes and HTTP servers. A trace that cannot be is skipped, and the reason is printed.
With -v every input and event of the history is printed and, after each step, what the model expects and the host shows.`,
		Example: "  mcpsim replay\n  mcpsim replay failures/inv-1-3f9c.ndjson -v",
		RunE: func(cmd *cobra.Command, args []string) error {
			traces, err := readTraces(args)
			if err != nil {
				return err
			}
			if f.real {
				return replayReal(cmd.OutOrStdout(), traces, f, len(args) == 0)
			}
			return replay(cmd.OutOrStdout(), cmd.InOrStdin(), traces, f, len(args) == 0)
		},
	}
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the history and the state after each step")
	c.Flags().BoolVar(&f.step, "step", false, "wait for a line on standard input before each step")
	c.Flags().BoolVar(&f.oneMode, "one-mode", false, "corpus: only in the mode of the header")
	c.Flags().BoolVar(&f.real, "real", false, "play in the real world, in real time")
	c.Flags().IntVar(&f.workers, "workers", 0, "real: plays at once (default: four per core, they mostly wait)")
	c.Flags().DurationVar(&f.long, "long", 20*time.Second, "real: skip what takes longer than this")
	return c
}

// readTraces reads files, folders (every .ndjson below) or, without arguments, the corpus.
func readTraces(args []string) ([]*trace.Trace, error) {
	if len(args) == 0 {
		return corpus.All()
	}
	var out []*trace.Trace
	for _, a := range args {
		files := []string{a}
		if st, err := os.Stat(a); err == nil && st.IsDir() {
			files = nil
			err := filepath.WalkDir(a, func(p string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() && strings.HasSuffix(p, ".ndjson") {
					files = append(files, p)
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			sort.Strings(files)
			if len(files) == 0 {
				return nil, fmt.Errorf("%s: no .ndjson file below this folder; give a trace or a folder of traces", a)
			}
		}
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil {
				return nil, fmt.Errorf("%w; give the path of a trace, or run `mcpsim corpus list`", err)
			}
			tr, err := trace.Parse(f, data)
			if err != nil {
				return nil, err
			}
			out = append(out, tr)
		}
	}
	return out, nil
}

func replay(w io.Writer, in io.Reader, traces []*trace.Trace, f replayFlags, bothModes bool) error {
	p := check.NewPlayer()
	bad := 0
	plays := 0
	lines := bufio.NewReader(in)
	for _, t := range inModes(traces, bothModes && !f.oneMode) {
		plays++
		if !replayOne(w, lines, p, t, f) {
			bad++
		}
	}
	fmt.Fprintf(w, "%d traces, %d plays, %d failed\n", len(traces), plays, bad)
	if bad > 0 {
		return errFinding
	}
	return nil
}

// inModes lists what is to be played: each trace as it is and, if both is set, in the other mode too.
func inModes(traces []*trace.Trace, both bool) []*trace.Trace {
	var out []*trace.Trace
	for _, tr := range traces {
		out = append(out, tr)
		if both && tr.Header.Modes == "" {
			out = append(out, check.OtherMode(tr))
		}
	}
	return out
}

func replayOne(w io.Writer, in *bufio.Reader, p *check.Player, tr *trace.Trace, f replayFlags) bool {
	opt := sim.PlayOptions{History: f.verbose}
	var r *sim.Result
	if f.verbose || f.step {
		fmt.Fprintf(w, "%s: %s\n", tr.Name, tr.Header.Title)
		opt.OnStep = func(i int, at model.Ms, want *model.Expectation, got *model.Snapshot) {
			fmt.Fprintf(w, "-- step %d at %d: %s\n", i+1, at, check.StepLine(&tr.Steps[i]))
			for _, l := range sim.SnapshotLines(at, got) {
				fmt.Fprintln(w, l)
			}
			if f.step {
				_, _ = in.ReadString('\n')
			}
		}
	}
	r = p.Play(tr, opt)
	return printed(w, tr, r, f.verbose)
}

// printed prints what a play came to and reports whether it found nothing.
func printed(w io.Writer, tr *trace.Trace, r *sim.Result, verbose bool) bool {
	for _, l := range r.History {
		fmt.Fprintln(w, l)
	}
	if !r.Failed() {
		if verbose {
			fmt.Fprintf(w, "ok      %s\n", tr.Name)
		}
		return true
	}
	fmt.Fprintf(w, "FAIL    %s (%s mode, step %d): %s\n", tr.Name, modeOf(tr), r.Step+1, tr.Header.Title)
	if r.Err != nil {
		fmt.Fprintf(w, "  error   %v\n", r.Err)
	}
	for _, m := range r.Mismatches {
		fmt.Fprintf(w, "  model   %s\n", m)
	}
	if len(r.Violations) > 0 {
		check.WriteFailure(w, tr, r.Violations[0], tr.Name, "")
		for _, v := range r.Violations[1:] {
			fmt.Fprintf(w, "  also    %s %s %s %s\n", v.Invariant, v.Session, v.Server, v.Detail)
		}
	}
	return false
}

func modeOf(tr *trace.Trace) string {
	if m := tr.Header.Launch.Mode; m != "" {
		return m
	}
	return "single"
}
