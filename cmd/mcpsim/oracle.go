package main

import (
	"github.com/spf13/cobra"

	"mcpsim/sim/judge"
)

func newOracle() *cobra.Command {
	return &cobra.Command{
		Use:   "oracle",
		Short: "The model over standard input and output, for a program that asks as it goes",
		Long: `Reads a log line by line, as ` + "`mcpsim judge`" + ` takes it (` + "`go doc mcpsim/sim/eventlog`" + `), and answers each line
at once with one line:

  line    the number of the line that is answered
  error   it was not understood, and counts as not written
  found   the rules that it, or the silence before it, breaks
  due     the next moment at which silence is a finding; absent: there is none, or it cannot be told, because the
          header lists the host's "events" and some are missing
  expect  what must be seen, in the form of a snapshot. A state may be several, joined by |: any of them is right.
          "optional" names notices that may stand or not

Two lines are questions: {"t":T,"settled":true} when nothing is in flight, with or without the snapshot that the host
shows, and {"t":T,"expect":true} at any moment. Events that the header's "events" does not list count as never written; without
the list all are expected. Exit 1: something was found. 2: a line was not understood.`,
		Example: oracleExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := judge.Oracle(cmd.InOrStdin(), cmd.OutOrStdout())
			if err == nil && found {
				return errFinding
			}
			return err
		},
	}
}

// oracleExample holds a conversation: what is read, and behind the arrows what is answered.
const oracleExample = `  → {"mcpsim":1,"log":{"version":1,"clock":"virtual","events":["load","dial"]}}
  ← {"line":1}
  → {"t":0,"input":"file","scope":"project","state":"good","content":{"mcpServers":{"a":{"command":"srv-a"}}}}
  ← {"line":2}
  → {"t":0,"event":"load","scope":"project","outcome":"ok","why":"start"}
  ← {"line":3}
  → {"t":0,"expect":true}
  ← {"line":4,"expect":{"sessions":[{"id":"s1","servers":[{"name":"a","state":"held:pending_approval","text":"needs approval","file":"project"}],"ask":[{"server":"a","config":{"command":"srv-a"},"source":"project"}]}],"optional":["stuck"]}}
  → {"t":5,"event":"dial","sessions":["s1"],"server":"a","conn":1,"config":{"command":"srv-a"}}
  ← {"line":5,"found":[{"line":5,"ms":5,"invariant":"INV-1","sentence":"no dial of a gated server whose exact config is not approved","rules":["APR-5","POOL-1","D-1"],"detail":"it is not approved","session":"s1","server":"a","conn":1}]}`
