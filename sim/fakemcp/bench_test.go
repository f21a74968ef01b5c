package fakemcp

import (
	"context"
	"slices"
	"testing"

	"mcpsim/impl/port"
	"mcpsim/model"
)

func sortedCopy(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// BenchmarkConnect is a whole connection through the real client: start, initialise, three lists, end.
func BenchmarkConnect(b *testing.B) {
	for _, name := range []string{"prepared", "real server"} {
		b.Run(name, func(b *testing.B) {
			w := newBench(b, 1, map[string]*model.Behaviour{"srv": {Tools: []string{"a", "b", "c", "d", "e"}, Prompts: []string{"p"}, Resources: []string{"r"}}})
			w.w.Real = name != "prepared"
			spec := stdio("a", "srv")
			b.ReportAllocs()
			for b.Loop() {
				d := w.dial(spec)
				w.run(1)
				if !d.done {
					b.Fatal(d.failed)
				}
				d.conn.CloseInput()
				w.run(1)
			}
		})
	}
}

// BenchmarkJob is one job without a connection: what the queue and the jobs cost by themselves.
func BenchmarkJob(b *testing.B) {
	w := newBench(b, 1, nil)
	work, done := func(context.Context) error { return nil }, func(error) {}
	b.ReportAllocs()
	for b.Loop() {
		w.w.Go(port.Op{Kind: port.OpRead, Server: "a"}, work, done)
		w.run(1)
	}
}

// BenchmarkFind looks a server up among 1,000 keys.
func BenchmarkFind(b *testing.B) {
	w := newBench(b, 1, nil)
	for i := range 1000 {
		w.w.Set("srv-"+string(rune('a'+i%26))+string(rune('a'+i/26)), &model.Behaviour{})
	}
	spec := stdio("a", "srv-ha --with some arguments")
	target := Target(&spec)
	b.ReportAllocs()
	for b.Loop() {
		w.w.find(spec.Kind, target)
	}
}
