package fakemcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakeclock"
)

var (
	_ port.Dialer = (*World)(nil)
	_ port.Exec   = (*World)(nil)
	_ port.Conn   = (*conn)(nil)
)

// bench is a world with the smallest of hosts: it takes the steps of a dial one after the other, as jobs.
type bench struct {
	t    testing.TB
	q    *fakeclock.Queue
	w    *World
	next port.ConnID
	log  []string
}

func newBench(t testing.TB, order uint64, behaviours map[string]*model.Behaviour) *bench {
	q := fakeclock.New(order)
	b := &bench{t: t, q: q, w: New(q)}
	for key, v := range behaviours {
		b.w.Set(key, v)
	}
	return b
}

// dialled is what the small host knows of a connection.
type dialled struct {
	b         *bench
	op        port.Op
	conn      port.Conn
	client    *hostmcp.Client
	lists     [3][]string
	job       func()
	at        port.OpKind // the step that is out
	failed    string      // class, or canceled
	done      bool
	exit      string
	gone      bool
	announced []hostmcp.ListKind
}

func (b *bench) dial(spec config.DialSpec) *dialled {
	b.next++
	d := &dialled{b: b, op: port.Op{Conn: b.next, Server: spec.Server}}
	var err error
	if d.conn, err = b.w.Dial(d.op, spec); err != nil {
		b.t.Fatal(err)
	}
	d.conn.OnExit(func(err error) {
		if d.exit != "" {
			b.t.Error("two exits")
		}
		d.exit = fmt.Sprint("at ", b.q.Now(), " ", hostmcp.Class(err))
	})
	d.conn.OnGone(func() {
		if d.gone || d.exit == "" {
			b.t.Error("gone twice, or before the exit")
		}
		d.gone = true
	})
	d.client = hostmcp.NewClient(d.conn.Transport(), func(k hostmcp.ListKind) { d.announced = append(d.announced, k) })
	d.step(port.OpStart)
	return d
}

func (d *dialled) step(k port.OpKind) {
	d.at = k
	op := d.op
	op.Kind = k
	d.job = d.b.w.Go(op, func(ctx context.Context) (err error) {
		switch k {
		case port.OpStart:
			return d.client.Start(ctx)
		case port.OpInitialize:
			return d.client.Initialize(ctx)
		case port.OpListTools:
			d.lists[0], err = d.client.ListTools(ctx)
		case port.OpListPrompts:
			d.lists[1], err = d.client.ListPrompts(ctx)
		case port.OpListResources:
			d.lists[2], err = d.client.ListResources(ctx)
		}
		return err
	}, func(err error) {
		switch {
		case errors.Is(err, context.Canceled):
			d.failed = fmt.Sprint("canceled at ", d.b.q.Now())
		case err != nil:
			d.failed = fmt.Sprint(hostmcp.Class(err), " in ", k, " at ", d.b.q.Now())
		case k == port.OpListResources:
			d.done = true
		case d.failed == "":
			d.step(k + 1)
		}
	})
}

func (b *bench) run(d port.Ms) {
	b.t.Helper()
	if err := b.q.RunUntil(b.q.Now() + d); err != nil {
		b.t.Fatal(err)
	}
}

func stdio(server, line string) config.DialSpec {
	words := strings.Split(line, " ")
	return config.DialSpec{Server: server, Kind: config.Stdio, Command: words[0], Args: words[1:]}
}

func remote(server, url string) config.DialSpec {
	return config.DialSpec{Server: server, Kind: config.SSE, URL: url}
}

func delays(d map[model.Step]model.Delay) (out [model.NumSteps]model.Delay) {
	for s, v := range d {
		out[s] = v
	}
	return out
}

func one(s model.Step, ms model.Ms, h model.Hold) [model.NumSteps]model.Delay {
	return delays(map[model.Step]model.Delay{s: {Ms: ms, Hold: h}})
}

func TestWhatADialComesTo(t *testing.T) {
	tools := []string{"x", "y", "x"}
	for _, c := range []struct {
		name   string
		b      model.Behaviour
		stdio  string // what became of it: done, or a failure, and the exit if there was one
		remote string
	}{
		{"healthy", model.Behaviour{Tools: tools, Prompts: []string{"p"}, Resources: []string{"r"}}, "done at 0", "done at 0"},
		{"slow", model.Behaviour{Delays: delays(map[model.Step]model.Delay{model.StepStart: {Ms: 20}, model.StepInit: {Ms: 5, Hold: model.HoldAnswer},
			model.StepTools: {Ms: 1}, model.StepPrompts: {Ms: 1}, model.StepResources: {Ms: 1}})}, "done at 28", "done at 28"},
		{"refuse", model.Behaviour{Fault: model.Refuse}, "refused in 1 at 0", "refused in 1 at 0"},
		{"refuse late", model.Behaviour{Fault: model.Refuse, FaultAt: model.StepTools}, "refused in 3 at 0", "refused in 3 at 0"},
		{"refuse slowly", model.Behaviour{Fault: model.Refuse, Delays: one(model.StepStart, 7, 0)}, "refused in 1 at 7", "refused in 1 at 7"},
		{"exit at start", model.Behaviour{Fault: model.Exit}, "exit in 2 at 0, exit at 0 exit", "closed in 2 at 0, exit at 0 closed"},
		{"exit at init", model.Behaviour{Fault: model.Exit, FaultAt: model.StepInit, Delays: one(model.StepInit, 9, 0)},
			"exit in 2 at 9, exit at 9 exit", "closed in 2 at 9, exit at 9 closed"},
		{"exit with the answer held", model.Behaviour{Fault: model.Exit, FaultAt: model.StepInit, Delays: one(model.StepInit, 9, model.HoldAnswer)},
			"exit in 2 at 9, exit at 0 exit", "closed in 2 at 9, exit at 0 closed"},
		{"exit at prompts", model.Behaviour{Fault: model.Exit, FaultAt: model.StepPrompts}, "exit in 4 at 0, exit at 0 exit", "closed in 4 at 0, exit at 0 closed"},
		{"garbage at start", model.Behaviour{Fault: model.Garbage}, "protocol in 1 at 0", "protocol in 1 at 0"},
		{"garbage at init", model.Behaviour{Fault: model.Garbage, FaultAt: model.StepInit}, "protocol in 2 at 0", "protocol in 2 at 0"},
		{"garbage at resources", model.Behaviour{Fault: model.Garbage, FaultAt: model.StepResources}, "protocol in 5 at 0", "protocol in 5 at 0"},
		{"hang at start", model.Behaviour{Fault: model.Hang}, "hangs in 1", "hangs in 1"},
		{"hang at init", model.Behaviour{Fault: model.Hang, FaultAt: model.StepInit}, "hangs in 2", "hangs in 2"},
		{"hang at tools, held", model.Behaviour{Fault: model.Hang, FaultAt: model.StepTools, Delays: one(model.StepTools, 3, model.HoldAnswer)}, "hangs in 3", "hangs in 3"},
		{"faults of a call do not matter", model.Behaviour{Fault: model.Garbage, FaultAt: model.StepCall}, "done at 0", "done at 0"},
	} {
		for i, want := range []string{c.stdio, c.remote} {
			b := newBench(t, 0, map[string]*model.Behaviour{"srv": &c.b})
			spec := stdio("a", "srv 1")
			if i == 1 {
				spec = remote("a", ResolveURL("srv")+"/sse")
			}
			d := b.dial(spec)
			done := port.Ms(-1)
			for range 100_000 {
				if d.done && done < 0 {
					done = b.q.Now()
				}
				if b.q.Len() == 0 {
					break
				}
				if err := b.q.Step(); err != nil {
					t.Fatal(err)
				}
			}
			got := fmt.Sprint("done at ", done)
			switch {
			case d.failed != "":
				got = d.failed
			case !d.done:
				got = fmt.Sprint("hangs in ", d.at)
			}
			if d.exit != "" {
				got += ", exit " + d.exit
			}
			if got != want {
				t.Errorf("%s, %d: %s, want %s", c.name, i, got, want)
			}
			if d.done && !reflect.DeepEqual(d.lists, [3][]string{c.b.Tools, c.b.Prompts, c.b.Resources}) {
				t.Errorf("%s lists %q", c.name, d.lists)
			}
			if n := b.w.Dials(); !reflect.DeepEqual(n, []model.Count{{Server: "a", N: 1}}) {
				t.Errorf("%s: dials %v", c.name, n)
			}
		}
	}
}

func TestUnlistedRefuses(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"srv": {}, "srv-b": nil})
	for _, spec := range []config.DialSpec{stdio("a", "other"), stdio("a", "srv-b"), remote("a", "http://elsewhere/"), {Server: "k", Kind: config.SDK}} {
		d := b.dial(spec)
		b.run(0)
		if d.failed != "refused in 1 at 0" {
			t.Errorf("%v: %q", spec, d.failed)
		}
	}
	if b.w.Processes() != nil {
		t.Error("a refused process is alive")
	}
}

func TestLongestKeyWins(t *testing.T) {
	b := newBench(t, 0, nil)
	keys := []string{"srv", "srv-a", "srv-a 1", "sdk:", "sdk:k", "mem", "http://x.test/", "ñandú", "ñan", "Srv", "srv.b", ""}
	for _, k := range keys {
		b.w.Set(k, &model.Behaviour{})
	}
	for _, c := range []struct{ spec, want string }{
		{"srv", "srv"}, {"srv-a", "srv-a"}, {"srv-ab", "srv-a"}, {"srv-a 1 2", "srv-a 1"}, {"srv-a 2", "srv-a"}, {"sr", ""}, {"ñandúes", "ñandú"},
		{"ñandx", "ñan"}, {"sdk:k", "sdk:k"},
		{"@k", "sdk:k"}, {"@kk", "sdk:k"}, {"@other", "sdk:"}, {"@mem", "sdk:"},
		{"http://srv.test/sse", "srv"}, {"http://srv-a.test", "srv-a"}, {"http://x.test/mcp", "http://x.test/"}, {"http://y.test/", ""},
		{ResolveURL("Srv") + "/x", "Srv"}, {ResolveURL("srv.b"), "srv.b"}, {ResolveURL("srv-a 1") + "/x", "srv-a 1"},
	} {
		spec := stdio("n", c.spec)
		if name, sdk := strings.CutPrefix(c.spec, "@"); sdk {
			spec = config.DialSpec{Server: name, Kind: config.SDK}
		} else if strings.HasPrefix(c.spec, "http") {
			spec = remote("n", c.spec)
		}
		if got := b.w.find(spec.Kind, Target(&spec)).key; got != c.want {
			t.Errorf("%s finds %q, want %q", c.spec, got, c.want)
		}
	}
}

func TestAddressesAreInjective(t *testing.T) {
	seen := map[string]string{}
	for _, k := range []string{"srv-a", "SRV-A", "Srv-a", "srv_a", "srv a", "srv.a", "srv.2ea", "srv.20a", "ñ", ".c3.b1", "", "-", "a/b", "a%2fb", "日本"} {
		u := ResolveURL(k)
		for o, p := range seen {
			if strings.HasPrefix(u, o) || strings.HasPrefix(o, u) {
				t.Errorf("%q and %q: %s, %s", k, p, u, o)
			}
		}
		seen[u] = k
	}
	if ResolveURL("srv-a") != "http://srv-a.test" {
		t.Error(ResolveURL("srv-a"))
	}
}

func TestGoroutinesStayFlat(t *testing.T) {
	b := newBench(t, 3, map[string]*model.Behaviour{"srv": {Tools: []string{"x"}, Grandchild: true}, "bad": {Fault: model.Hang, FaultAt: model.StepTools}})
	before := runtime.NumGoroutine()
	for range 100 {
		d, bad := b.dial(stdio("a", "srv")), b.dial(remote("b", ResolveURL("bad")))
		b.run(10)
		bad.job()
		b.w.ListChanged("srv")
		b.run(1)
		d.conn.Kill()
		b.w.Crash("bad")
		b.run(1)
	}
	if n := runtime.NumGoroutine(); n > before { // others may end meanwhile
		t.Errorf("%d goroutines, %d before", n, before)
	}
	if len(b.w.list) > 150 || len(b.w.conns) != len(b.w.list) || len(b.w.jobs) != 0 || b.q.Len() != 0 {
		t.Errorf("left over: %d connections, %d jobs, %d events", len(b.w.list), len(b.w.jobs), b.q.Len())
	}
}
