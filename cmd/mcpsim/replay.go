package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/trace"
)

type replayFlags struct {
	verbose, step, oneMode bool
}

func newReplay() *cobra.Command {
	var f replayFlags
	c := &cobra.Command{
		Use:   "replay [FILE or DIR…]",
		Short: "Play traces on model and host (without arguments: the whole corpus, in both modes)",
		Long: `Plays each trace in the simulated world. A file is played as its header says; the corpus is
played in both modes, unless a trace's header says in "modes" why it is about one.
With -v every input and event of the history is printed and, after each step, what the model expects and the host shows.`,
		Example: "  mcpsim replay\n  mcpsim replay failures/inv-1-3f9c.ndjson -v",
		RunE: func(cmd *cobra.Command, args []string) error {
			traces, err := readTraces(args)
			if err != nil {
				return err
			}
			return replay(cmd.OutOrStdout(), cmd.InOrStdin(), traces, f, len(args) == 0)
		},
	}
	c.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "print the history and the state after each step")
	c.Flags().BoolVar(&f.step, "step", false, "wait for a line on standard input before each step")
	c.Flags().BoolVar(&f.oneMode, "one-mode", false, "corpus: only in the mode of the header")
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
	for _, tr := range traces {
		list := []*trace.Trace{tr}
		if bothModes && !f.oneMode && tr.Header.Modes == "" {
			list = append(list, check.OtherMode(tr))
		}
		for _, t := range list {
			plays++
			if !replayOne(w, lines, p, t, f) {
				bad++
			}
		}
	}
	fmt.Fprintf(w, "%d traces, %d plays, %d failed\n", len(traces), plays, bad)
	if bad > 0 {
		return errFinding
	}
	return nil
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
	for _, l := range r.History {
		fmt.Fprintln(w, l)
	}
	if !r.Failed() {
		if f.verbose {
			fmt.Fprintf(w, "ok      %s\n", tr.Name)
		}
		return true
	}
	mode := tr.Header.Launch.Mode
	if mode == "" {
		mode = "single"
	}
	fmt.Fprintf(w, "FAIL    %s (%s mode, step %d): %s\n", tr.Name, mode, r.Step+1, tr.Header.Title)
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
