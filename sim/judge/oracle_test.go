package judge

import (
	"bufio"
	"bytes"
	"io"
	"testing"

	"github.com/go-json-experiment/json"

	"mcpsim/sim/eventlog"
)

// TestOracleAndJudgeAgree: every line of every log gets one answer, at once; at settle it is what the host showed.
func TestOracleAndJudgeAgree(t *testing.T) {
	same, open := 0, 0
	for i, x := range recordings(t) {
		if i%4 != 0 {
			continue
		}
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		ended := make(chan bool, 1)
		go func() {
			found, err := Oracle(inR, outW)
			ended <- found || err != nil
			_ = outW.Close()
		}()
		answers := bufio.NewReader(outR)
		for n, line := range bytes.Split(bytes.TrimSuffix(x.log, []byte("\n")), []byte("\n")) {
			if _, err := inW.Write(append(line, '\n')); err != nil {
				t.Fatal(err)
			}
			var a Answer
			text, err := answers.ReadBytes('\n')
			if err == nil {
				err = json.Unmarshal(text, &a, asWritten)
			}
			if err != nil || a.Line != n+1 || a.Error != "" || len(a.Found) > 0 {
				t.Fatalf("%s:%d: %v %+v", x.name, n+1, err, a)
			}
			var e eventlog.Entry
			if n == 0 || json.Unmarshal(line, &e, asWritten) != nil || e.Snapshot == nil {
				continue
			}
			for k := range a.Expect.Sessions {
				for m := range a.Expect.Sessions[k].Servers {
					want := a.Expect.Sessions[k].Servers[m]
					if bytes.ContainsRune([]byte(want.State), '|') {
						open++
						continue
					}
					if got := e.Snapshot.Sessions[k].Servers[m]; got.Name != want.Name || got.State != want.State {
						t.Errorf("%s:%d: %+v, expected %+v", x.name, n+1, got, want)
					}
					same++
				}
			}
		}
		_ = inW.Close()
		if <-ended {
			t.Errorf("%s: not clean", x.name)
		}
	}
	if same < 100 {
		t.Errorf("only %d servers were compared, %d were open", same, open)
	}
}
