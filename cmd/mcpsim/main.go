// Command mcpsim checks, replays, shrinks and shows how a host changes its MCP servers while it runs.
//
// It is thin: the engine is mcpsim/sim/check. Exit 0 is fine, 1 a finding, 2 a broken invocation.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mcpsim/sim/check"
	"mcpsim/sim/real"
)

// errFinding ends the command with exit 1: something was found and has been printed.
var errFinding = errors.New("finding")

func main() {
	check.CollectLessOften()
	real.MayServe() // every server of a real play is this program
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	root := newRoot()
	root.SetArgs(longFlags(args))
	err := root.Execute()
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errFinding):
		return 1
	}
	fmt.Fprintf(os.Stderr, "mcpsim: %v\n", err)
	return 2
}

// longFlags lets flags be written with one dash, as Go's own tools do: -seed is --seed.
func longFlags(args []string) []string {
	out := make([]string, 0, len(args))
	for i, a := range args {
		if a == "--" {
			return append(out, args[i:]...)
		}
		if len(a) > 2 && a[0] == '-' && a[1] != '-' && (a[1] < '0' || a[1] > '9') {
			a = "-" + a
		}
		out = append(out, a)
	}
	return out
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpsim",
		Short: "The reference for changing the MCP servers of a running session",
		Long: `mcpsim holds a host that keeps MCP connections against a model of what is right
when its configuration changes while it runs.

  mcpsim check            draw traces, play them on model and host, shrink what fails
  mcpsim replay FILE…     play traces (without FILE: the whole corpus)
  mcpsim rules            every rule with the traces and invariants that exercise it

Exit 0: fine. 1: something was found. 2: the invocation or an input is broken.`,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(newCheck(), newReplay(), newShrink(), newCorpus(), newRules(), newAdapter(), newConform(), newJudge(), newRecord(), newOracle(), newLive(), newFakeServer())
	return root
}
