package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

func newCorpus() *cobra.Command {
	c := &cobra.Command{Use: "corpus", Short: "The traces worth keeping: list, verify"}
	c.AddCommand(&cobra.Command{
		Use: "list", Short: "List every trace with its title", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := corpus.All()
			if err != nil {
				return err
			}
			for _, tr := range all {
				fmt.Fprintf(cmd.OutOrStdout(), "%-48s %s\n", tr.Name, tr.Header.Title)
			}
			return nil
		},
	}, &cobra.Command{
		Use: "verify", Short: "Check that every trace parses and that each text denotes what its step says", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := corpus.All()
			if err != nil {
				return err
			}
			bad := 0
			for _, tr := range all {
				for i := range tr.Steps {
					if !trace.Verify(&tr.Steps[i]) {
						bad++
						fmt.Fprintf(cmd.OutOrStdout(), "%s:%d: the text does not denote what the step says\n", tr.Name, tr.Steps[i].Line)
					}
				}
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d traces, %d wrong\n", len(all), bad)
			if bad > 0 {
				return errFinding
			}
			return nil
		},
	})
	return c
}

func newRules() *cobra.Command {
	return &cobra.Command{
		Use: "rules", Short: "Every rule with the traces and invariants that exercise it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := corpus.All()
			if err != nil {
				return err
			}
			traces := map[string][]string{}
			for _, tr := range all {
				for _, r := range tr.Header.Rules {
					traces[r] = append(traces[r], tr.Name)
				}
			}
			invs := map[string][]string{}
			for _, inv := range model.Invariants {
				for _, r := range inv.Rules {
					invs[r] = append(invs[r], inv.ID)
				}
			}
			for _, r := range model.Rules {
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s\n", r.ID, r.Summary)
				if len(invs[r.ID]) > 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "         invariants %s\n", strings.Join(invs[r.ID], ", "))
				}
				fmt.Fprintf(cmd.OutOrStdout(), "         traces     %s\n", strings.Join(traces[r.ID], ", "))
			}
			return nil
		},
	}
}
