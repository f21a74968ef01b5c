package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpsim/sim/check"
	"mcpsim/sim/gen"
)

func newCheck() *cobra.Command {
	var o check.Options
	var profile string
	var asJSON, inReality bool
	var long time.Duration
	c := &cobra.Command{
		Use:   "check",
		Short: "Draw traces, play them on model and host, shrink and write what fails",
		Long: `Draws traces, plays each in the simulated world on the model and the reference host, in
both modes, and lets the model judge every event. What fails is shrunk and written to a file
with the line that replays it. The same seed and number give the same output on any number of cores.`,
		Example: "  mcpsim check\n  mcpsim check -n 20000 -seed 7 -profile pool\n  mcpsim check -for 30s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := gen.ParseProfile(profile)
			if err != nil {
				return err
			}
			o.Profile = p
			if inReality {
				if !cmd.Flags().Changed("n") {
					o.N = realN
				}
				return checkReal(cmd.OutOrStdout(), o, long)
			}
			return runCheck(cmd, o, asJSON)
		},
	}
	c.Flags().IntVarP(&o.N, "n", "n", check.DefaultN, "how many traces to draw")
	c.Flags().Uint64Var(&o.Seed, "seed", 1, "the run's seed")
	c.Flags().StringVar(&profile, "profile", "default", "what is drawn: "+strings.Join(gen.Profiles(), ", "))
	c.Flags().DurationVar(&o.For, "for", 0, "go on for this long instead of -n traces, such as 30s")
	c.Flags().IntVar(&o.Workers, "workers", 0, "plays at once (default: one per core)")
	c.Flags().StringVar(&o.Dir, "dir", "failures", "where failing traces are written")
	c.Flags().IntVar(&o.StopAt, "stop", check.DefaultStopAt, "stop after so many different failures")
	c.Flags().BoolVar(&o.OneMode, "one-mode", false, "play each trace in its own mode only")
	c.Flags().BoolVar(&inReality, "real", false, "play in the real world (see replay -real); what cannot be real is drawn anew")
	c.Flags().DurationVar(&long, "long", 10*time.Second, "real: draw anew what takes longer than this")
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as one JSON object")
	return c
}

func runCheck(cmd *cobra.Command, o check.Options, asJSON bool) error {
	out := cmd.OutOrStdout()
	terminal := isTerminal(os.Stderr)
	if !asJSON {
		how := fmt.Sprintf("%d traces", o.N)
		if o.For > 0 {
			how = "for " + o.For.String()
		}
		fmt.Fprintf(out, "check   seed %d, profile %s, %s\n", o.Seed, o.Profile, how)
	}
	o.Progress = func(p check.Progress) {
		if terminal && !asJSON {
			fmt.Fprintf(os.Stderr, "\r  %7d traces  %9d events  %3d goals  %d failures  %s ", p.Traces, p.Events, p.Goals, p.Failures, p.Elapsed.Round(time.Second))
		}
	}
	rep, err := check.Run(o)
	if terminal && !asJSON {
		fmt.Fprint(os.Stderr, "\r\033[K")
	}
	if err != nil {
		return err
	}
	if asJSON {
		if err := json.NewEncoder(out).Encode(rep.JSON()); err != nil {
			return err
		}
	} else {
		rep.Write(out)
		writeSummary(out, rep)
	}
	if !rep.Clean() || len(rep.Missed()) > 0 {
		return errFinding
	}
	return nil
}
