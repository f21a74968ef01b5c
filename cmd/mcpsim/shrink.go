package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/shrink"
	"mcpsim/sim/trace"
)

func newShrink() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:     "shrink FILE",
		Short:   "Make a failing trace small, keeping what it fails for",
		Example: "  mcpsim shrink failures/inv-1-3f9c.ndjson -o small.ndjson",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			traces, err := readTraces(args)
			if err != nil {
				return err
			}
			tr := traces[0]
			r := check.NewPlayer().Play(tr, sim.PlayOptions{})
			if r.Err != nil {
				return r.Err
			}
			if len(r.Violations) == 0 {
				return fmt.Errorf("%s: the trace does not fail, so there is nothing to keep while shrinking; `mcpsim replay -v` shows its run", args[0])
			}
			sig := check.Signature(tr, r.Violations[0])
			small, stats := shrink.Shrink(tr, check.Fails(sig), shrink.DefaultLimit)
			if out == "" {
				out = strings.TrimSuffix(args[0], ".ndjson") + ".small.ndjson"
			}
			if err := os.WriteFile(out, trace.Print(small), 0o644); err != nil {
				return err
			}
			check.WriteFailure(cmd.OutOrStdout(), small, r.Violations[0], out,
				fmt.Sprintf(", shrunk from %d (%d plays)", len(tr.Steps), stats.Plays))
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "where the small trace goes (default: FILE with .small before .ndjson)")
	return c
}
