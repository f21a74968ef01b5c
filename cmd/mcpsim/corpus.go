package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpsim/corpus"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/check"
	"mcpsim/sim/trace"
)

func newCorpus() *cobra.Command {
	c := &cobra.Command{Use: "corpus", Short: "The traces worth keeping: list, verify, update"}
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
	}, newUpdate())
	return c
}

func newUpdate() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "update FILE…", Short: "Fill in the expectations of traces from the model, for a person to read the difference",
		Long: `Plays each file and puts in place of every expectation the full one that the model has at that step. The rest of the
file stays as it is. A file whose play finds something else than a wrong expectation is left alone.`,
		Example: "  mcpsim corpus update corpus/adm/new.ndjson && git diff corpus/adm/new.ndjson",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			traces, err := readTraces(args)
			if err != nil {
				return err
			}
			bad := 0
			for _, tr := range traces {
				text, n, why := updated(tr)
				switch {
				case why != "":
					bad++
					fmt.Fprintf(cmd.OutOrStdout(), "%s: left alone: %s\n", tr.Name, why)
				case n == 0:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: full and right already\n", tr.Name)
				case dry:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %d expectations would change\n", tr.Name, n)
				default:
					if err := os.WriteFile(tr.Name, text, 0o644); err != nil {
						return err
					}
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %d expectations changed\n", tr.Name, n)
				}
			}
			if bad > 0 {
				return errFinding
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&dry, "dry-run", "n", false, "write nothing, say what would change")
	return c
}

// updated returns a trace's file with the model's expectations, and how many of them are new.
func updated(tr *trace.Trace) (text []byte, changed int, why string) {
	text, err := os.ReadFile(tr.Name)
	if err != nil {
		return nil, 0, err.Error()
	}
	full := map[int]*trace.Expect{}
	r := check.NewPlayer().Play(tr, sim.PlayOptions{KeepGoing: true, Fill: func(i int, e *trace.Expect) { full[i] = e }})
	if r.Err != nil {
		return nil, 0, r.Err.Error()
	}
	for _, v := range r.Violations {
		if v.Invariant != "EXPECT" {
			return nil, 0, fmt.Sprintf("%s: %s", v.Invariant, v.Detail)
		}
	}
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true))
	var out []byte
	done := 0
	for i := -1; i < len(tr.Steps); i++ { // -1: the header
		raw, err := d.ReadValue()
		if err != nil {
			return nil, 0, err.Error()
		}
		e := full[i]
		if i < 0 || e == nil {
			continue
		}
		s := trace.Step{Do: trace.ExpectStep, Expect: e}
		end := int(d.InputOffset())
		if now := tr.Steps[i]; string(raw) == s.String() || (&trace.Step{Do: now.Do, Expect: now.Expect}).String() == s.String() {
			continue
		}
		out = append(append(out, text[done:end-len(raw)]...), s.String()...)
		done = end
		changed++
	}
	return append(out, text[done:]...), changed, ""
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
