package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcpsim/model"
	"mcpsim/sim/judge"
)

func newJudge() *cobra.Command {
	var asJSON bool
	var slack int64
	c := &cobra.Command{
		Use:   "judge LOG…",
		Short: "Hold recorded event logs, of this host or another, against the model",
		Long: `Reads logs (- is standard input) and judges them without running anything: a header, then one line per thing that
the world or the host did, and what the host showed whenever it was settled. ` + "`go doc mcpsim/sim/eventlog`" + ` has the
form; ` + "`mcpsim record`" + ` and ` + "`mcpsim live -log`" + ` write it.

Events that a log lacks make checks impossible. Those are counted and listed as not checkable; they are never findings.
A header that lists its host's "events" makes their absence count. Exit 1: something was found. 2: a log is malformed.`,
		Example: "  mcpsim judge run.ndjson\n  mcpsim record corpus/apr/*.ndjson | mcpsim judge -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var opt judge.Options
			if cmd.Flags().Changed("slack") {
				if slack < 0 {
					return fmt.Errorf("-slack %d: give milliseconds, 0 or more", slack)
				}
				ms := model.Ms(slack)
				opt.SlackMs = &ms
			}
			found := false
			for _, name := range args {
				data, err := readLog(cmd, name)
				if err != nil {
					return err
				}
				reports, err := judge.Logs(name, data, opt)
				for _, rep := range reports {
					found = found || len(rep.Findings) > 0
					if asJSON {
						if err := json.NewEncoder(cmd.OutOrStdout()).Encode(rep.JSON()); err != nil {
							return err
						}
						continue
					}
					writeVerdict(cmd.OutOrStdout(), rep)
				}
				if err != nil {
					return err
				}
			}
			if found {
				return errFinding
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print a JSON object per log")
	c.Flags().Int64Var(&slack, "slack", 0, "how many milliseconds late a reaction may be, instead of what the log says")
	return c
}

func readLog(cmd *cobra.Command, name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(cmd.InOrStdin())
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w; give the path of a log, or write one with `mcpsim record`", err)
	}
	return data, nil
}

// maxFindings are printed of one log; the rest is counted.
const maxFindings = 20

func writeVerdict(w io.Writer, r *judge.Report) {
	for i, f := range r.Findings {
		if i == maxFindings {
			fmt.Fprintf(w, "and %d more; -json has them all\n\n", len(r.Findings)-i)
			break
		}
		who := ""
		if f.Session != "" {
			who = string(f.Session) + " "
		}
		if f.Server != "" {
			who += f.Server + " "
		}
		if f.Conn != 0 {
			who += fmt.Sprintf("(connection %d) ", f.Conn)
		}
		fmt.Fprintf(w, "%-6s %s   (%s)\n  log     %s:%d\n  found   at %d ms: %s%s\n\n", f.Invariant, f.Sentence,
			strings.Join(f.Rules, ", "), r.Log, f.Line, f.At, who, f.Detail)
	}
	if len(r.Unchecked) > 0 {
		fmt.Fprintf(w, "not checkable in %s\n", r.Log)
		for _, u := range r.Unchecked {
			how := "in part"
			if u.All {
				how = "not at all"
			}
			var lacks []string
			for _, l := range u.Lacks {
				lacks = append(lacks, strings.ReplaceAll(l, "snapshot:", "snapshots' "))
			}
			fmt.Fprintf(w, "  %-7s %-10s %6d undecided   no %s\n", u.Invariant, how, u.Count, strings.Join(lacks, ", "))
		}
	}
	if len(r.Lacks) > 0 && !r.Listed {
		fmt.Fprintln(w, `  the header's "log" may list as "events" what the host writes: then what is missing of those is judged as silence`)
	}
	checks := 0
	for _, n := range r.Checks {
		checks += n
	}
	host := r.Host
	if host == "" {
		host = "unnamed host"
	}
	fmt.Fprintf(w, "%s: %s, %d lines (%d inputs, %d events, %d settled), %d checks of %d invariants, %d findings, %d invariants not checkable\n",
		r.Log, host, r.Lines, r.Inputs, r.Events, r.Shown, checks, len(r.Checks), len(r.Findings), len(r.Unchecked))
	if checks == 0 {
		fmt.Fprintf(w, "nothing was checked: the log says nothing that the model can hold against its host\n")
	}
}
