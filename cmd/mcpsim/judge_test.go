package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mcpsim runs the command and returns what it printed and how it ended.
func mcpsim(in string, args ...string) (out string, exit int, err error) {
	root := newRoot()
	var b, e bytes.Buffer
	root.SetIn(strings.NewReader(in))
	root.SetOut(&b)
	root.SetErr(&e)
	root.SetArgs(longFlags(args))
	switch err = root.Execute(); {
	case err == nil:
		return b.String(), 0, nil
	case errors.Is(err, errFinding):
		return b.String(), 1, err
	}
	return b.String(), 2, err
}

func TestRecordAndJudge(t *testing.T) {
	dir := t.TempDir()
	tr, log := filepath.Join(dir, "t.ndjson"), filepath.Join(dir, "t.log")
	if err := os.WriteFile(tr, []byte(`{"mcpsim":1,"title":"x","servers":{"srv-a":{"tools":["x"]}}}
{"do":"edit","file":"project","servers":{"a":{"command":"srv-a"}}}
{"do":"settle"}
{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, exit, err := mcpsim("", "record", tr, "-o", log); exit != 0 {
		t.Fatal(err)
	}
	if out, exit, _ := mcpsim("", "judge", log); exit != 0 || !strings.Contains(out, " 0 findings, 0 invariants not checkable") {
		t.Errorf("exit %d: %s", exit, out)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, l := range strings.SplitAfter(string(data), "\n") {
		if !strings.Contains(l, `"event":"decided"`) {
			kept = append(kept, l)
		}
	}
	bad := strings.Join(kept, "")
	out, exit, _ := mcpsim(bad, "judge", "-")
	for _, want := range []string{"INV-1  no dial of a gated server", "(APR-5, POOL-1, D-1)", "  log     -:", "  found   at 300 ms: s1 a (connection 1) it is not approved"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if exit != 1 {
		t.Errorf("exit %d", exit)
	}
	out, exit, _ = mcpsim(bad, "judge", "-json", "-")
	var rep struct {
		Host     string
		Findings []struct {
			Line      int
			Invariant string
		}
	}
	if err := json.Unmarshal([]byte(out), &rep); err != nil || exit != 1 || rep.Host != "mcpsim" || len(rep.Findings) == 0 || rep.Findings[0].Line < 2 {
		t.Errorf("exit %d, %v: %s", exit, err, out)
	}
	for _, c := range []struct {
		in   string
		args []string
		want string
	}{
		{string(data) + "{", []string{"-"}, "-:"},
		{"", []string{"-"}, "the log is empty"},
		{"", []string{filepath.Join(dir, "none")}, "write one with `mcpsim record`"},
		{string(data), []string{"-slack", "-1", "-"}, "-slack -1"},
	} {
		if _, exit, err := mcpsim(c.in, append([]string{"judge"}, c.args...)...); exit != 2 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: exit %d, %v", c.args, exit, err)
		}
	}
}
