package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"mcpsim/corpus"
	"mcpsim/sim/adapter"
)

func newAdapter() *cobra.Command {
	c := &cobra.Command{Use: "adapter", Short: "Our own host as an adapter"}
	c.AddCommand(&cobra.Command{
		Use: "serve", Short: "Answer an adapter's requests on standard input and output", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return adapter.Serve(cmd.InOrStdin(), cmd.OutOrStdout(), "mcpsim")
		},
	})
	return c
}

func newConform() *cobra.Command {
	return &cobra.Command{
		Use:   "conform -- COMMAND…",
		Short: "Play the corpus on a host in another process",
		Long: `Starts COMMAND, which speaks the adapter protocol on its standard input and output, and plays
each trace of the corpus in the mode of its header. What it shows is held against the trace's expectations and, at
every settle, against what the model expects; single events are not judged. A trace that needs a capability the
adapter does not declare is skipped.`,
		Example: "  mcpsim conform -- mcpsim adapter serve\n  mcpsim conform -- node my-adapter.js",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := corpus.All()
			if err != nil {
				return err
			}
			p, err := adapter.Start(args...)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			w := cmd.OutOrStdout()
			ok, bad, skipped := 0, 0, 0
			for _, tr := range all {
				v := adapter.Judge(tr, p)
				switch {
				case v.Missing != "":
					skipped++
					fmt.Fprintf(w, "skip    %s (needs %s)\n", tr.Name, v.Missing)
				case !v.Failed():
					ok++
					fmt.Fprintf(w, "ok      %s\n", tr.Name)
				default:
					bad++
					fmt.Fprintf(w, "FAIL    %s: %s\n", tr.Name, tr.Header.Title)
					if v.Err != nil {
						fmt.Fprintf(w, "  error   %v\n", v.Err)
					}
					for _, f := range v.Findings {
						fmt.Fprintf(w, "  %s\n", f)
					}
				}
			}
			closed := p.Close()
			fmt.Fprintf(w, "%s: %d traces, %d ok, %d failed, %d skipped\n", p.Name, len(all), ok, bad, skipped)
			if bad > 0 {
				return errFinding
			}
			return closed
		},
	}
}
