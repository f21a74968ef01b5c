package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/sim/realserver"
)

// times collects durations and reports their percentiles.
type times []time.Duration

func (x times) at(p float64) time.Duration {
	slices.Sort(x)
	return x[min(int(p*float64(len(x))), len(x)-1)]
}

func (x times) report(b *testing.B, what string) {
	for name, p := range map[string]float64{"p50": 0.5, "p99": 0.99} {
		b.ReportMetric(float64(x.at(p).Microseconds())/1000, what+"-"+name+"-ms")
	}
}

// From a save to the tools of the server it changes: less the debounce, it is to be the server's own start and 20 ms at most.
// Run it with -benchtime=50x.
func BenchmarkSaveToTools(b *testing.B) {
	for _, kind := range []string{"stdio", "http"} {
		b.Run(kind, func(b *testing.B) {
			p := newPlace(b, nil)
			p.serve("srv", realserver.Behaviour{Tools: []string{"x"}})
			h, err := p.HTTP("srv")
			must2(b, err)
			entry := func(i int) any {
				if kind == "http" {
					return map[string]any{"httpUrl": fmt.Sprintf("%s?n=%d", h.URL, i)}
				}
				return fmt.Sprintf("srv %d", i)
			}
			own := ownStart(b, p, kind, h.URL, 20)
			events := p.h.Events(10000)
			defer events.Close()
			var toDial, toTools times
			for i := range b.N {
				saved := time.Now()
				p.user(servers("a", entry(i)))
				for d := range events.C {
					if d.Event.Kind == event.Dial {
						toDial = append(toDial, time.Since(saved)-300*time.Millisecond)
					}
					if d.Event.Kind == event.Published {
						toTools = append(toTools, time.Since(saved)-300*time.Millisecond)
						break
					}
				}
				must2(b, p.h.Settled(patient(b)))
			}
			toDial.report(b, "dial")
			toTools.report(b, "tools")
			own.report(b, "own-start")
		})
	}
}

// ownStart is how long a server takes from its start to its tools, without a host.
func ownStart(b *testing.B, p *place, kind, url string, n int) times {
	x := newLine(b, p.yard)
	spec := config.DialSpec{Server: "s", Kind: config.Stdio, Command: "srv", Cwd: b.TempDir()}
	if kind == "http" {
		spec = config.DialSpec{Server: "s", Kind: config.HTTP, URL: url}
	}
	var out times
	for range n {
		d := x.dial(1, spec)
		began := time.Now()
		x.up(d)
		_, err := d.ListPrompts(context.Background())
		must2(b, err)
		_, err = d.ListResources(context.Background())
		must2(b, err)
		out = append(out, time.Since(began))
		if kind == "http" {
			must2(b, d.Close(context.Background()))
		} else {
			d.Kill()
			<-d.gone
		}
	}
	return out
}

// One edit among n live servers, from the save to the end of its pass less the debounce.
func BenchmarkEditAmong(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := newPlace(b, nil)
			p.serve("srv", realserver.Behaviour{Tools: []string{"x"}})
			h, err := p.HTTP("srv")
			must2(b, err)
			all := func(edit int) map[string]any {
				m := map[string]any{}
				for i := range n {
					m[fmt.Sprintf("s%04d", i)] = map[string]any{"httpUrl": fmt.Sprintf("%s?n=%d", h.URL, i)}
				}
				m["s0000"] = map[string]any{"httpUrl": fmt.Sprintf("%s?edit=%d", h.URL, edit)}
				return map[string]any{"mcpServers": m}
			}
			began := time.Now()
			p.user(all(-1))
			live := func(core *impl.Host) bool {
				st := core.Status(p.s.id)
				return len(st.Servers) == n && !slices.ContainsFunc(st.Servers, func(s impl.ServerStatus) bool { return s.State != "live" })
			}
			if err := p.h.until(patient(b), live); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64((time.Since(began) - 300*time.Millisecond).Milliseconds()), "all-live-ms")
			events := p.h.Events(100000)
			defer events.Close()
			var toDial, toTools times
			for i := range b.N {
				saved := time.Now()
				p.user(all(i))
				for d := range events.C {
					if d.Event.Kind == event.Dial {
						toDial = append(toDial, time.Since(saved)-300*time.Millisecond)
					}
					if d.Event.Kind == event.Published {
						toTools = append(toTools, time.Since(saved)-300*time.Millisecond)
						break
					}
				}
				must2(b, p.h.Settled(patient(b)))
			}
			toDial.report(b, "dial")
			toTools.report(b, "tools")
		})
	}
}

// How long a function waits for the loop, and an edit for its effect, while 50 servers hang in their start.
func BenchmarkLoopWhileServersHang(b *testing.B) {
	p := newPlace(b, nil)
	p.serve("hang", realserver.Behaviour{Fault: "hang"})
	p.serve("srv", realserver.Behaviour{Tools: []string{"x"}})
	pairs := []any{}
	for i := range 50 {
		pairs = append(pairs, fmt.Sprintf("h%02d", i), fmt.Sprintf("hang %d", i))
	}
	p.user(servers(pairs...))
	p.await("all to hang", func() bool { return p.Alive("") == 50 })
	p.user(servers(append(pairs, "a", "srv")...))
	if err := p.h.until(patient(b), func(core *impl.Host) bool { return strings.Contains(show(core, p.s.id), "a live x") }); err != nil {
		b.Fatal(err)
	}
	var waits times
	ctx := context.Background()
	for range b.N {
		began := time.Now()
		must2(b, p.h.Core(ctx, func(*impl.Host) {}))
		waits = append(waits, time.Since(began))
	}
	waits.report(b, "loop")
}
