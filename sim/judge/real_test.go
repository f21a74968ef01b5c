package judge

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"mcpsim/sim"
	"mcpsim/sim/real"
	"mcpsim/sim/trace"
)

func TestMain(m *testing.M) {
	real.MayServe() // the servers of a real play are this program
	os.Exit(m.Run())
}

// TestALogOfTheRealWorld: files, processes and a clock that are real; the log is judged later, and a lie in it is found.
func TestALogOfTheRealWorld(t *testing.T) {
	if testing.Short() {
		t.Skip("takes real time")
	}
	tr, err := trace.Parse("real", []byte(gated))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	st, err := real.NewStage(exe)
	if err != nil {
		t.Fatal(err)
	}
	y := real.NewSystem(st)
	var b bytes.Buffer
	r, err := RecordOn(tr, st, y, sim.PlayOptions{Slack: real.Slack, Loose: true, Patience: real.Slack, Budget: 60000, KeepGoing: true}, "the live host", &b)
	if err := errors.Join(err, y.Close(), st.Close()); err != nil || r.Failed() {
		t.Fatal(err, r.Err, r.Violations, r.Mismatches)
	}
	rep, err := Log("log", b.Bytes(), Options{})
	if err != nil || len(rep.Findings) > 0 || rep.Shown < 4 || rep.Checks["INV-1"] == 0 {
		t.Fatalf("%v %+v", err, rep)
	}
	if strings.Contains(b.String(), "topsecret") || strings.Contains(b.String(), "one-two-three") {
		t.Error("a secret is in the log")
	}
	lines := strings.SplitAfter(b.String(), "\n")
	lie := dropped(lines, line(t, lines, 0, `"event":"decided"`))
	if rep, err = Log("log", []byte(strings.Join(lie, "")), Options{}); err != nil || len(rep.Findings) == 0 {
		t.Errorf("%v %+v", err, rep)
	}
	t.Logf("%d lines", len(lines))
}
