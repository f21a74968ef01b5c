package impl

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// BenchmarkOneEdit measures what one edit among many servers costs the core: from the notification until every session's
// pass has compared and begun its work, that is assembling, judging, the gates and one connection replaced. Reading and
// parsing the file come before and are not part of it. The figure is core-ms/edit.
func BenchmarkOneEdit(b *testing.B) {
	for _, sessions := range []int{1, 10, 100} {
		for _, n := range []int{10, 100, 1000, 10_000} {
			if n*sessions > 100_000 {
				continue
			}
			b.Run(fmt.Sprintf("sessions=%d/servers=%d", sessions, n), func(b *testing.B) { benchmarkEdit(b, n, sessions) })
		}
	}
}

func benchmarkEdit(b *testing.B, n, sessions int) {
	w := newWorld(b)
	w.quiet = true
	text := func(version int) string {
		var t strings.Builder
		for i := range n {
			args := 0
			if i == n/2 {
				args = version
			}
			fmt.Fprintf(&t, `,"srv-%05d":{"command":"none","args":["%d"]}`, i, args)
		}
		return `{"mcpServers":{` + t.String()[1:] + `}}`
	}
	texts := [2]string{text(0), text(1)}
	w.servers["none 0"], w.servers["none 1"] = &server{}, &server{}
	w.edit(userFile, texts[0])
	var began time.Time
	var spent time.Duration
	w.watch = func(ev *event.Event) {
		switch ev.Kind {
		case event.Notify:
			began = time.Now()
		case event.PassCompared:
			if !began.IsZero() {
				spent += time.Since(began)
				began = time.Now()
			}
		}
	}
	w.start(Options{Pool: true})
	for i := range sessions {
		if err := w.host.OpenSession(port.SessionID(fmt.Sprintf("s%03d", i)), nil); err != nil {
			b.Fatal(err)
		}
	}
	w.settle()
	i := 0
	for b.Loop() {
		i++
		w.edit(userFile, texts[i%2])
		w.settle()
	}
	b.ReportMetric(float64(spent.Microseconds())/1000/float64(b.N), "core-ms/edit")
}
