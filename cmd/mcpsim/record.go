package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mcpsim/sim/judge"
)

func newRecord() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "record [FILE or DIR…]",
		Short: "Play traces on the reference host and write their event logs",
		Long: `Plays each trace in the simulated world and writes what world and host did, as ` + "`mcpsim judge`" + ` takes it: one log after the
other, each with its own header. Without arguments: the corpus. Secrets are masked, with a key that is written nowhere.`,
		Example: "  mcpsim record failures/inv-1-3f9c.ndjson -o run.log\n  mcpsim record | mcpsim judge -",
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			traces, err := readTraces(args)
			if err != nil {
				return err
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			if out != "" {
				f, err := os.Create(out)
				if err != nil {
					return err
				}
				defer func() {
					if e := f.Close(); err == nil {
						err = e
					}
				}()
				w = bufio.NewWriter(f)
			}
			failed := 0
			for _, tr := range traces {
				r, err := judge.Record(tr, w)
				if err != nil {
					return fmt.Errorf("%s: %w", tr.Name, err)
				}
				if len(r.Violations) > 0 {
					failed++
				}
			}
			if err := w.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d traces recorded, in %d of them the model found something\n", len(traces), failed)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "where the log goes (default: standard output)")
	return c
}
