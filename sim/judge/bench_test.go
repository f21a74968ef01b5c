package judge

import (
	"bytes"
	"testing"
	"time"
)

// BenchmarkJudge judges the logs of the whole corpus in both modes. Bar: 100,000 lines a second.
func BenchmarkJudge(b *testing.B) {
	var declared, bare [][]byte
	lines := 0
	for _, x := range recordings(b) {
		declared, bare = append(declared, x.log), append(bare, undeclared(x.log))
		lines += bytes.Count(x.log, []byte("\n"))
	}
	for _, c := range []struct {
		name string
		logs [][]byte
	}{{"events listed", declared}, {"events found out", bare}} {
		b.Run(c.name, func(b *testing.B) {
			start := time.Now()
			for b.Loop() {
				for _, log := range c.logs {
					if rep, err := Log("log", log, Options{}); err != nil || len(rep.Findings) > 0 {
						b.Fatal(err, rep.Findings)
					}
				}
			}
			b.ReportMetric(float64(b.N*lines)/time.Since(start).Seconds(), "lines/s")
			b.ReportMetric(100_000, "bar(lines/s)")
		})
	}
}

// BenchmarkRecord writes them: what masking and writing cost beside the play.
func BenchmarkRecord(b *testing.B) {
	var log bytes.Buffer
	for b.Loop() {
		log.Reset()
		w := logOf(b, gated)
		if len(w) < 50 {
			b.Fatal(len(w))
		}
	}
}
