package properties

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/adapter"
	"mcpsim/sim/check"
	"mcpsim/sim/gen"
	"mcpsim/sim/host"
	"mcpsim/sim/shrink"
	"mcpsim/sim/trace"
)

// BenchmarkBars measures what the design sets a bar for and prints bar and figure side by side; it fails on none. Every figure
// is one core's (GOMAXPROCS 1) but the pipe's, whose two ends run at once. A rate is per second of processor time, so that a
// busy machine does not count: the median of several turns, then the best one and the median by the wall clock. What is
// compared takes turns within one run. Times of single edits are processor time, those of shrinking are by the wall clock.
//
//	go test ./properties -run '^$' -bench Bars -benchtime 1x            all of it, some minutes
//	go test ./properties -run '^$' -bench Bars/shrink -benchtime 1x     one part
func BenchmarkBars(b *testing.B) {
	check.CollectLessOften() // as the command does
	t := &table{}
	for _, part := range []struct {
		name string
		run  func(*testing.B, *table)
	}{
		{"decide", benchDecide}, {"model", benchModel}, {"drawn", benchDrawn}, {"shrink", benchShrink}, {"edit", benchEdit},
		{"reconcile", benchReconcile}, {"memory", benchMemory}, {"pipe", benchPipe},
	} {
		b.Run(part.name, func(b *testing.B) {
			old := runtime.GOMAXPROCS(1)
			defer runtime.GOMAXPROCS(old)
			part.run(b, t)
			runtime.GC()
			debug.FreeOSMemory()
		})
	}
	t.print(os.Stdout)
}

// table is the bars and what was measured.
type table struct {
	rows  []row
	notes []string
}

type row struct{ what, bar, measured, reached string }

// add puts a row, in place of an earlier one of its name. best is whether the best turn reaches the bar, if that differs.
func (t *table) add(what, bar, measured string, reached, best bool) {
	word := "no"
	switch {
	case reached:
		word = "yes"
	case best:
		word = "at best"
	}
	r := row{what, bar, measured, word}
	for i := range t.rows {
		if t.rows[i].what == what {
			t.rows[i] = r
			return
		}
	}
	t.rows = append(t.rows, r)
}

func (t *table) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *table) print(to io.Writer) {
	if len(t.rows) == 0 && len(t.notes) == 0 {
		return
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nwhat\t| bar\t| measured\t| reached\n")
	for _, r := range t.rows {
		fmt.Fprintf(w, "%s\t| %s\t| %s\t| %s\n", r.what, r.bar, r.measured, r.reached)
	}
	w.Flush()
	for _, n := range t.notes {
		fmt.Fprintf(to, "\n%s\n", n)
	}
}

// figures are what several turns measured.
type figures []float64

func (f figures) median() float64 { return f.at(0.5) }

func (f figures) at(q float64) float64 {
	s := slices.Sorted(slices.Values(f))
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// rates are turns of a rate, per second of processor time and by the wall clock.
type rates struct{ core, wall figures }

// turn is how many a second f does, at least for d.
func (r *rates) turn(d time.Duration, f func() int) {
	n := 0
	start, used := time.Now(), processor()
	for time.Since(start) < d {
		n += f()
	}
	r.core = append(r.core, float64(n)/(processor()-used).Seconds())
	r.wall = append(r.wall, float64(n)/time.Since(start).Seconds())
}

const turns = 5

// rateRow adds a row whose bar is so many a second.
func (t *table) rateRow(what string, bar float64, unit string, scale float64, got rates, more string) {
	m, best := got.core.median(), slices.Max(got.core)
	t.add(what, fmt.Sprintf("≥ %s %s", short(bar/scale), unit), got.text(unit, scale)+more, m >= bar, best >= bar)
}

func (r *rates) text(unit string, scale float64) string {
	return fmt.Sprintf("%s %s (best %s, wall %s)", short(r.core.median()/scale), unit, short(slices.Max(r.core)/scale), short(r.wall.median()/scale))
}

func short(x float64) string {
	switch {
	case x >= 100 || x == float64(int(x)):
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// benchDecide: five layers, an allowed list with globs in two of them, excluded lists in two, 100 servers, two sessions.
func benchDecide(b *testing.B, t *table) {
	launch := &model.Launch{Trusted: true}
	tab := model.NewTable(launch)
	m := &model.Memory{Launch: launch, Trusted: true, Records: map[string]model.Record{}}
	lists := [model.Approvals]model.Value{
		model.Defaults:  *model.Obj(model.Member{Key: "allowed", Value: model.Strs("server-*", "x?z")}),
		model.User:      *model.Obj(model.Member{Key: "allowed", Value: model.Strs("a", "b", "*-0*", "z*")}),
		model.Workspace: *model.Obj(model.Member{Key: "excluded", Value: model.Strs("old", "older")}),
		model.System:    *model.Obj(model.Member{Key: "excluded", Value: model.Strs("server-99999")}),
	}
	for s := model.Defaults; s < model.Approvals; s++ {
		servers := model.Obj()
		for i := int(s); i < 100; i += int(model.Approvals) {
			name := fmt.Sprintf("server-%05d", i)
			servers.Members = append(servers.Members, model.Member{Key: name, Value: entryOf("srv", i)})
		}
		doc := model.Obj(model.Member{Key: "mcpServers", Value: servers})
		if s != model.Project {
			doc.Members = append(doc.Members, model.Member{Key: "mcp", Value: &lists[s]})
		}
		m.Files[s], _ = tab.Load(s, nil, model.Content{State: model.Good, Value: doc})
		for _, nc := range m.Files[s].Layer.Servers {
			m.Records[nc.Name] = model.Record{Config: nc.Config.ID, Approved: true}
		}
	}
	m.Sessions = []*model.SessionState{{ID: "s1"}, {ID: "s2"}}
	e := model.Derive(m)
	names, sessions, i := e.Names("s1"), [2]model.SessionID{"s1", "s2"}, 0
	decide := func() {
		if model.Decide(e, sessions[i&1], names[i%len(names)]) != model.Admitted {
			b.Fatal("not admitted")
		}
		i++
	}
	var got rates
	for range turns {
		got.turn(300*time.Millisecond, func() int {
			for range 1000 {
				decide()
			}
			return 1000
		})
	}
	allocs := testing.AllocsPerRun(1000, decide)
	if len(names) != 100 {
		b.Fatalf("%d servers", len(names))
	}
	t.rateRow("Decide: 5 layers, 2 glob lists, 100 servers, 2 sessions", 5e6, "M/s", 1e6, got, fmt.Sprintf(", %.0f allocs", allocs))
	if allocs > 0 {
		t.rows[len(t.rows)-1].reached = "no"
	}
	b.ReportMetric(got.core.median()/1e6, "M/s")
}

func entryOf(command string, version int) *model.Value {
	return model.Obj(model.Member{Key: "command", Value: model.Str(command)}, model.Member{Key: "args", Value: model.Strs(fmt.Sprint(version))})
}

// tape is all that a model.Machine is told in one play.
type tape struct {
	table  *model.Table
	items  []heard
	events int
}

type heard struct {
	at      model.Ms
	in      *model.Input
	ev      *model.Event
	settled bool // neither: time passed to here, and the host is settled or not
}

func (k *tape) Input(at model.Ms, in model.Input) { k.items = append(k.items, heard{at: at, in: &in}) }

func (k *tape) Event(at model.Ms, ev *model.Event) {
	c := *ev
	k.items = append(k.items, heard{at: at, ev: &c})
	k.events++
}

// replay judges the tape with a new machine and nothing else.
func (k *tape) replay() (violations int) {
	m := model.NewMachine(k.table, model.Options{})
	for i := range k.items {
		h := &k.items[i]
		switch {
		case h.in != nil:
			if err := m.Input(h.at, h.in); err != nil {
				violations++
			}
		case h.ev != nil:
			violations += len(m.Observe(h.at, h.ev))
		case h.settled:
			_, bad := m.Settled(h.at)
			violations += len(bad)
		default:
			violations += len(m.Advance(h.at))
		}
	}
	return violations
}

// perform plays a trace for a sink, without a model of its own. mark is told after each step that let time pass.
func perform(p *check.Player, tr *trace.Trace, tab *model.Table, sink sim.Sink, mark func(at model.Ms, settled bool)) error {
	h := sim.Resolve.Header(&tr.Header)
	if err := p.Stage.Reset(h, tab, sink); err != nil {
		return err
	}
	if err := p.Host.Reset(h, p.Stage, tab, sink); err != nil {
		return err
	}
	for i := range tr.Steps {
		if err := step(p, &tr.Steps[i], mark); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, tr.Steps[i].Do, err)
		}
	}
	return nil
}

func step(p *check.Player, s *trace.Step, mark func(at model.Ms, settled bool)) error {
	s = sim.Resolve.Step(s)
	switch s.Do {
	case trace.Advance:
		if err := p.Stage.Advance(s.Ms); err != nil {
			return err
		}
		mark(p.Stage.Now(), false)
		return nil
	case trace.Settle:
		ok, err := p.Host.Settle(sim.SettleBudget)
		if err != nil {
			return err
		}
		mark(p.Stage.Now(), ok)
		return nil
	}
	if ok, err := p.Stage.Do(s); ok || err != nil {
		return err
	}
	return p.Host.Do(s)
}

func newTable(tr *trace.Trace) *model.Table {
	l := sim.Resolve.Launch(tr.Header.Launch)
	return model.NewTable(sim.LaunchOf(&l))
}

func record(b *testing.B, p *check.Player, tr *trace.Trace) *tape {
	k := &tape{table: newTable(tr)}
	err := perform(p, tr, k.table, k, func(at model.Ms, settled bool) { k.items = append(k.items, heard{at: at, settled: settled}) })
	if err != nil {
		b.Fatal(err)
	}
	return k
}

func benchProfile(b *testing.B) gen.Profile {
	p, err := gen.ParseProfile("bench")
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// benchModel: histories of drawn traces, the model alone, Settled at every settle. What is loaded was interpreted before.
func benchModel(b *testing.B, t *table) {
	profile, p := benchProfile(b), check.NewPlayer()
	var tapes []*tape
	events, inputs := 0, 0
	for i := range 200 {
		tr := gen.Draw(check.Mix(2, i), profile)
		k := record(b, p, tr)
		tapes = append(tapes, k)
		events, inputs = events+k.events, inputs+len(k.items)-k.events
		if n := k.replay(); n > 0 {
			b.Fatalf("trace %d: %d violations", i, n)
		}
	}
	var got rates
	i := 0
	for range turns {
		got.turn(500*time.Millisecond, func() int {
			k := tapes[i%len(tapes)]
			i++
			k.replay()
			return k.events
		})
	}
	t.rateRow("model on recorded histories, Settled at every settle", 2e6, "M events/s", 1e6, got,
		fmt.Sprintf("; %.1f inputs and settles per 10 events come on top", 10*float64(inputs)/float64(events)))
	b.ReportMetric(got.core.median()/1e6, "Mevents/s")
}

// benchDrawn: draw, play and judge, with the real client and with the canned dialer, in both modes.
func benchDrawn(b *testing.B, t *table) {
	profile := benchProfile(b)
	type variant struct {
		mode                        string
		canned                      bool
		got                         rates
		traces, steps, loads, dials int
		sessions                    int
		player                      *check.Player
	}
	var vs []*variant
	for _, canned := range []bool{false, true} {
		for _, mode := range []string{"single", "pool"} {
			v := &variant{mode: mode, canned: canned, player: check.NewPlayer()}
			if canned {
				v.player.Stage.Canned()
			}
			vs = append(vs, v)
		}
	}
	seed := 0
	for range turns {
		for _, v := range vs {
			v.got.turn(1500*time.Millisecond, func() int {
				seed++
				tr := gen.Draw(check.Mix(3, seed), profile)
				tr.Header.Launch.Mode = v.mode
				r := v.player.Play(tr, sim.PlayOptions{})
				if r.Failed() {
					b.Fatalf("trace %d: %v %v", seed, r.Violations, r.Err)
				}
				v.traces, v.steps, v.loads, v.dials = v.traces+1, v.steps+len(tr.Steps), v.loads+r.Loads, v.dials+r.Dials
				v.sessions += len(tr.Header.Launch.Sessions)
				return 1
			})
		}
	}
	for _, v := range vs {
		what, bar := "drawn traces, real mcp-go client, "+v.mode, 1000.0
		if v.canned {
			what, bar = "drawn traces, canned dialer, "+v.mode, 2500.0
		}
		n := float64(v.traces)
		t.rateRow(what, bar, "traces/s", 1, v.got, fmt.Sprintf("; %.1f steps, %.1f loads, %.1f dials, %.0f sessions",
			float64(v.steps)/n, float64(v.loads)/n, float64(v.dials)/n, float64(v.sessions)/n))
		b.ReportMetric(v.got.core.median(), fmt.Sprintf("%s-canned=%v/s", v.mode, v.canned))
	}
	for _, mode := range []string{"single", "pool"} {
		t.note("%s", shares(b, profile, mode))
	}
}

// shares times each trace five ways and takes the differences: drawn; played cold; played again, when every text was parsed
// before; with the canned dialer; and without a model.
func shares(b *testing.B, profile gen.Profile, mode string) string {
	real, canned, bare := check.NewPlayer(), check.NewPlayer(), check.NewPlayer()
	canned.Stage.Canned()
	var draw, cold, warm, noClient, noModel time.Duration
	timed := func(sum *time.Duration, f func()) {
		start := processor()
		f()
		*sum += processor() - start
	}
	n := 0
	for began := time.Now(); time.Since(began) < 6*time.Second; n++ {
		var tr *trace.Trace
		timed(&draw, func() { tr = gen.Draw(check.Mix(4, n), profile) })
		tr.Header.Launch.Mode = mode
		timed(&cold, func() { real.Play(tr, sim.PlayOptions{}) })
		canned.Play(tr, sim.PlayOptions{}) // fills the caches of its own and of the third player
		err := perform(bare, tr, newTable(tr), nothing{}, func(model.Ms, bool) {})
		timed(&warm, func() { real.Play(tr, sim.PlayOptions{}) })
		timed(&noClient, func() { canned.Play(tr, sim.PlayOptions{}) })
		timed(&noModel, func() {
			err = perform(bare, tr, newTable(tr), nothing{}, func(_ model.Ms, settled bool) {
				if settled {
					if _, err := bare.Host.Observe(); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	total := draw + cold
	share := func(d time.Duration) float64 { return 100 * float64(d) / float64(total) }
	client, parse, judge := warm-noClient, cold-warm, warm-noModel
	return fmt.Sprintf("shares of a drawn trace, %s, by leaving parts out (%d traces, %.2f ms each): client %.0f %%, parse %.0f %%, draw %.0f %%, model %.0f %%, rest (host, files, clock, servers) %.0f %%",
		mode, n, total.Seconds()*1000/float64(n), share(client), share(parse), share(draw), share(judge), share(total-client-parse-judge-draw))
}

type nothing struct{}

func (nothing) Input(model.Ms, model.Input)  {}
func (nothing) Event(model.Ms, *model.Event) {}

// liar is a host that shows or reports something false.
type liar struct {
	*host.InProcess
	show func(*model.Snapshot)
	tell func(*model.Event) bool // false: the event is kept back
	sink sim.Sink
}

func (l *liar) Reset(h *trace.Header, st sim.Stage, t *model.Table, sink sim.Sink) error {
	l.sink = sink
	return l.InProcess.Reset(h, st, t, l)
}

func (l *liar) Input(at model.Ms, in model.Input) { l.sink.Input(at, in) }

func (l *liar) Event(at model.Ms, ev *model.Event) {
	if l.tell == nil || l.tell(ev) {
		l.sink.Event(at, ev)
	}
}

func (l *liar) Observe() (model.Snapshot, error) {
	s, err := l.InProcess.Observe()
	if l.show != nil {
		l.show(&s)
	}
	return s, err
}

func eachServer(f func(*model.ServerView)) func(*model.Snapshot) {
	return func(s *model.Snapshot) {
		for i := range s.Sessions {
			for j := range s.Sessions[i].Servers {
				f(&s.Sessions[i].Servers[j])
			}
		}
	}
}

// lies are the defects whose failures are shrunk.
var lies = []struct {
	name string
	show func(*model.Snapshot)
	tell func(*model.Event) bool
}{
	{name: "a refused server is shown as live", show: eachServer(func(v *model.ServerView) {
		if v.States == model.StateFailedRefused {
			v.States, v.Error = model.StateLive, ""
		}
	})},
	{name: "a rejected server is shown as waiting for an answer", show: eachServer(func(v *model.ServerView) {
		if v.States == model.StateHeldRejected {
			v.States = model.StateHeldPending
		}
	})},
	{name: "the second prompt is not shown", show: eachServer(func(v *model.ServerView) {
		if len(v.Prompts) > 1 {
			v.Prompts = v.Prompts[:1]
		}
	})},
	{name: "the second question is not asked", show: func(s *model.Snapshot) {
		for i := range s.Sessions {
			if a := s.Sessions[i].Ask; len(a) > 1 {
				s.Sessions[i].Ask = a[:1]
			}
		}
	}},
	{name: "a shadowed entry is not shown", show: eachServer(func(v *model.ServerView) { v.Shadows = nil })},
	{name: "a shared connection shows one holder", show: func(s *model.Snapshot) {
		for i := range s.Host.Pool {
			if x := &s.Host.Pool[i]; len(x.Sessions) > 1 {
				x.Sessions = x.Sessions[:1]
			}
		}
	}},
	{name: "a changed server is not purged", tell: func(ev *model.Event) bool { return ev.Kind != model.EvPurged }},
	{name: "nobody is told of a removed file", tell: func(ev *model.Event) bool {
		return ev.Kind != model.EvNotify || len(ev.Scopes) == 0 || ev.Scopes[0].How != "deleted"
	}},
	{name: "a call that was lost never ends", tell: func(ev *model.Event) bool {
		return ev.Kind != model.EvCallEnd || ev.Outcome == "ok"
	}},
}

// benchShrink: failures of traces of 50 steps, shrunk as `mcpsim check` does it, every play included.
func benchShrink(b *testing.B, t *table) {
	const perLie = 4
	profile, err := gen.ParseProfile("")
	if err != nil {
		b.Fatal(err)
	}
	profile.MinSteps, profile.MaxSteps = 50, 50
	var ms, sizes, plays figures
	capped, of, kinds := 0, 0, 0
	stage := host.NewFakeStage()
	for _, lie := range lies {
		sys := &liar{InProcess: host.NewInProcess(stage), show: lie.show, tell: lie.tell}
		play := func(tr *trace.Trace) []model.Violation { return sim.Play(tr, stage, sys, sim.PlayOptions{}).Violations }
		found := 0
		for i := 0; found < perLie && i < 2000; i++ {
			tr := gen.Draw(check.Mix(5, i), profile)
			bad := play(tr)
			if len(bad) == 0 || len(tr.Steps) < 50 {
				continue
			}
			found++
			sig := check.Signature(tr, bad[0])
			start := time.Now()
			small, stats := shrink.Shrink(tr, func(c *trace.Trace) bool {
				return slices.ContainsFunc(play(c), func(v model.Violation) bool { return check.Signature(c, v) == sig })
			}, shrink.DefaultLimit)
			ms = append(ms, float64(time.Since(start).Microseconds())/1000)
			sizes, plays = append(sizes, float64(len(small.Steps))), append(plays, float64(stats.Plays))
			if stats.Capped {
				capped++
			}
		}
		of += found
		if found > 0 {
			kinds++
		} else {
			t.note("shrink: no drawn trace failed of %q", lie.name)
		}
	}
	if of < 20 {
		b.Fatalf("only %d failures", of)
	}
	what := fmt.Sprintf("shrink a 50-step failure (%d failures of %d kinds)", of, kinds)
	t.add(what+": time", "median ≤ 100 ms, worst ≤ 1 s", fmt.Sprintf("median %.0f ms, worst %.0f ms; %.0f plays, worst %.0f", ms.median(), slices.Max(ms), plays.median(), slices.Max(plays)),
		ms.median() <= 100 && slices.Max(ms) <= 1000, false)
	t.add(what+": steps", "median ≤ 5, at most 10", fmt.Sprintf("median %.0f, at most %.0f; %d ended by the limit", sizes.median(), slices.Max(sizes), capped),
		sizes.median() <= 5 && slices.Max(sizes) <= 10, false)
	b.ReportMetric(ms.median(), "median-ms")
	b.ReportMetric(sizes.median(), "median-steps")
}

// crowd is a host with n servers and so many sessions in a simulated world, and what one edit of one of them costs it.
type crowd struct {
	p       *check.Player
	n       int
	version int
	read    time.Duration // when the read of the changed file was back, in processor time as all of this
	passAt  map[model.SessionID]time.Duration

	firstDial, compared time.Duration // from the read
	pass                time.Duration // the longest
}

func (c *crowd) Input(_ model.Ms, in model.Input) {
	if in.Kind == model.InRead && in.Scope == model.User {
		c.read = processor()
		c.firstDial, c.compared, c.pass = 0, 0, 0
	}
}

func (c *crowd) Event(_ model.Ms, ev *model.Event) {
	switch ev.Kind {
	case model.EvPassStart:
		c.passAt[ev.Session] = processor()
	case model.EvPassCompared:
		now := processor()
		c.pass = max(c.pass, now-c.passAt[ev.Session])
		c.compared = now - c.read
	case model.EvDial:
		if c.firstDial == 0 {
			c.firstDial = processor() - c.read
		}
	}
}

func newCrowd(n, sessions int, mode string, canned bool) (*crowd, error) {
	c := &crowd{p: check.NewPlayer(), n: n, passAt: map[model.SessionID]time.Duration{}}
	if canned {
		c.p.Stage.Canned()
	}
	servers := model.Obj()
	for i := range n {
		servers.Members = append(servers.Members, model.Member{Key: nameOf(i), Value: entryOf(commandOf(i), 0)})
	}
	h := trace.Header{Version: 1, Launch: trace.Launch{Mode: mode},
		Files: []trace.FileAtStart{{File: "user", Write: trace.Step{Do: trace.Edit, File: "user", Servers: servers}}}}
	for i := range commands {
		b := model.Behaviour{Tools: []string{"x", "y"}}
		b.Delays[model.StepStart].Ms = model.Ms(i + 1) // or a million meet in one instant
		h.Servers = append(h.Servers, trace.ServerBehaviour{Key: commandOf(i), Behaviour: b})
	}
	for i := range sessions {
		h.Launch.Sessions = append(h.Launch.Sessions, fmt.Sprintf("s%03d", i+1))
	}
	tr := &trace.Trace{Header: h, Steps: []trace.Step{{Do: trace.Settle}}}
	return c, perform(c.p, tr, newTable(tr), c, func(model.Ms, bool) {})
}

// commands is how many different commands a crowd has.
const commands = 50

func nameOf(i int) string    { return fmt.Sprintf("server-%05d", i) }
func commandOf(i int) string { return fmt.Sprintf("srv-%02d", i%commands) }

// edit changes one server and settles.
func (c *crowd) edit() error {
	c.version++
	servers := model.Obj(model.Member{Key: nameOf(c.n / 2), Value: entryOf(commandOf(c.n/2), c.version)})
	for _, s := range []trace.Step{{Do: trace.Edit, File: "user", Servers: servers}, {Do: trace.Settle}} {
		if err := step(c.p, &s, func(model.Ms, bool) {}); err != nil {
			return err
		}
	}
	return nil
}

// measure makes k edits; all figures are milliseconds of processor time from the moment the read is back: the file's parse is part of it.
func (c *crowd) measure(k int) (firstDial, compared, pass figures, err error) {
	runtime.GC() // what building left is not the edits' to clear away
	for range k {
		if err := c.edit(); err != nil {
			return nil, nil, nil, err
		}
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		firstDial, compared, pass = append(firstDial, ms(c.firstDial)), append(compared, ms(c.compared)), append(pass, ms(c.pass))
	}
	return firstDial, compared, pass, nil
}

// benchEdit: one edit among 1,000 servers, two sessions, the real client.
func benchEdit(b *testing.B, t *table) {
	for _, mode := range []string{"single", "pool"} {
		small, err := newCrowd(1000, 2, mode, false)
		if err != nil {
			b.Fatal(err)
		}
		large, err := newCrowd(10_000, 2, mode, false)
		if err != nil {
			b.Fatal(err)
		}
		var dial, cost, pass, costLarge figures
		for range 8 { // in turns
			d, c, p, err := small.measure(10)
			if err != nil {
				b.Fatal(err)
			}
			_, cl, _, err := large.measure(3)
			if err != nil {
				b.Fatal(err)
			}
			dial, cost, pass, costLarge = append(dial, d...), append(cost, c...), append(pass, p...), append(costLarge, cl...)
		}
		ratio := costLarge.median() / cost.median()
		what := "one edit among 1,000 servers, 2 sessions, " + mode
		t.add(what+": pass", "≤ 2 ms", fmt.Sprintf("%.2f ms (p95 %.2f)", pass.median(), pass.at(0.95)), pass.median() <= 2, false)
		t.add(what+": load to first dial", "≤ 25 ms", fmt.Sprintf("%.2f ms (p95 %.2f), the parse included", dial.median(), dial.at(0.95)), dial.median() <= 25, false)
		t.add(what+": cost(10,000)/cost(1,000)", "≤ 13", fmt.Sprintf("%.1f (%.2f ms / %.2f ms)", ratio, costLarge.median(), cost.median()), ratio <= 13, false)
		b.ReportMetric(ratio, mode+"-ratio")
	}
}

// benchReconcile: what one edit costs the host, load to the last session's comparison, by servers and sessions. The canned
// dialer builds the worlds; nothing of the world or the model is in the figures.
func benchReconcile(b *testing.B, t *table) {
	const most = time.Minute // to build one cell
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "servers × sessions\t1\t10\t100\t\n")
	for _, mode := range []string{"single", "pool"} {
		perLink := 20 * time.Microsecond
		for _, n := range []int{10, 100, 1000, 10_000} {
			fmt.Fprintf(w, "%d, %s\t", n, mode)
			for _, sessions := range []int{1, 10, 100} {
				if guess := perLink * time.Duration(n*sessions); guess > most {
					fmt.Fprintf(w, "skipped\t")
					t.note("reconcile cost, %d servers × %d sessions, %s: skipped, its %d links would take about %.0f s to build", n, sessions, mode, n*sessions, guess.Seconds())
					continue
				}
				start := time.Now()
				c, err := newCrowd(n, sessions, mode, true)
				if err != nil {
					b.Fatal(err)
				}
				if n*sessions >= 10_000 {
					perLink = max(perLink, time.Since(start)/time.Duration(n*sessions))
				}
				_, cost, _, err := c.measure(15)
				if err != nil {
					b.Fatal(err)
				}
				fmt.Fprintf(w, "%.3f ms\t", cost.median())
				b.ReportMetric(cost.median(), fmt.Sprintf("%s-%dx%d-ms", mode, n, sessions))
				c = nil
				runtime.GC()
			}
			fmt.Fprintln(w)
		}
	}
	w.Flush()
	t.note("reconcile cost of one edit, read of the file to the last session's comparison (median):\n%s", strings.TrimRight(out.String(), "\n"))
}

// day is what a long life repeats: what is taken in goes again.
const day = `{"mcpsim":1,"launch":{"mode":"pool","sessions":["s1","s2"]},"servers":{"srv-a":{"tools":["x","y"],"delay":{"init":20}},"srv-b":{"tools":["z"]}}}
{"do":"edit","file":"user","servers":{"a":{"command":"srv-a","args":["1"]}}}
{"do":"edit","file":"project","servers":{"b":{"command":"srv-b","args":["1"]}}}
{"do":"advance","ms":300}
{"do":"look","session":"s1"}
{"do":"approve","session":"s1","server":"b"}
{"do":"settle"}
{"do":"open","session":"s3"}
{"do":"edit","file":"user","servers":{"a":{"command":"srv-a","args":["2"]}}}
{"do":"advance","ms":350}
{"do":"server","server":"srv-b","list_changed":true}
{"do":"crash","server":"srv-a"}
{"do":"reload","session":"s1"}
{"do":"settle"}
{"do":"close","session":"s3"}
{"do":"edit","file":"project","servers":{"b":{"command":"srv-b","args":["2"]}}}
{"do":"settle"}
{"do":"reject","session":"s2","server":"b"}
{"do":"edit","file":"user","mcp":{"excluded":["a"]}}
{"do":"settle"}
{"do":"edit","file":"user","mcp":{"excluded":[]},"servers":{"a":null}}
{"do":"remove","file":"project"}
{"do":"settle"}
`

// benchMemory: one host and one machine that live through a million steps.
func benchMemory(b *testing.B, t *table) {
	tr, err := trace.Parse("day", []byte(day))
	if err != nil {
		b.Fatal(err)
	}
	tab := newTable(tr)
	m := model.NewMachine(tab, model.Options{})
	p := check.NewPlayer()
	judge := &judged{m: m}
	fail := func(err error) {
		if err == nil && len(judge.bad) > 0 {
			err = fmt.Errorf("%v", judge.bad[0])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	mark := func(at model.Ms, settled bool) {
		if settled {
			want, bad := m.Settled(at)
			judge.bad = append(judge.bad, bad...)
			got, err := p.Host.Observe()
			p.Stage.Snapshot(&got.Host)
			fail(err)
			judge.bad = append(judge.bad, sim.Compare(at, want, &got)...)
			return
		}
		judge.bad = append(judge.bad, m.Advance(at)...)
	}
	fail(perform(p, &trace.Trace{Header: tr.Header}, tab, judge, mark))
	steps := 0
	heap := func(until int) float64 {
		for steps < until {
			for i := range tr.Steps {
				fail(step(p, &tr.Steps[i], mark))
				steps++
			}
		}
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return float64(s.HeapAlloc) / (1 << 20)
	}
	start := time.Now()
	x, y := heap(200_000), heap(1_000_000)
	runtime.KeepAlive(p)
	runtime.KeepAlive(judge)
	perSecond := float64(steps) / time.Since(start).Seconds()
	t.add("memory over 1 M steps of one host and its model", "flat", fmt.Sprintf("%.2f MiB at 200 k, %.2f MiB at 1 M: × %.2f (%.0f steps/s)", x, y, y/x, perSecond), y/x <= 1.1, false)
	b.ReportMetric(y/x, "ratio")
}

type judged struct {
	m   *model.Machine
	bad []model.Violation
}

func (j *judged) Input(at model.Ms, in model.Input) {
	if err := j.m.Input(at, &in); err != nil {
		panic(err)
	}
}

func (j *judged) Event(at model.Ms, ev *model.Event) { j.bad = append(j.bad, j.m.Observe(at, ev)...) }

// benchPipe: steps of drawn traces through an adapter at the other end of two pipes of the system.
func benchPipe(b *testing.B, t *table) {
	runtime.GOMAXPROCS(min(2, runtime.NumCPU())) // both ends
	profile := benchProfile(b)
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	served := make(chan error, 1)
	go func() {
		served <- adapter.Serve(inR, outW, "mcpsim")
		outW.Close()
	}()
	p, err := adapter.Connect(inW, outR)
	if err != nil {
		b.Fatal(err)
	}
	seed := 0
	var got, empty rates
	for range turns {
		got.turn(time.Second, func() int {
			seed++
			tr := gen.Draw(check.Mix(6, seed), profile)
			if err := p.Reset(&tr.Header, nil, newTable(tr), nothing{}); err != nil {
				b.Fatal(err)
			}
			for i := range tr.Steps {
				var err error
				switch s := &tr.Steps[i]; s.Do {
				case trace.Advance:
					err = p.Advance(s.Ms)
				case trace.Settle:
					_, err = p.Settle(sim.SettleBudget)
				default:
					err = p.Do(s)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			return len(tr.Steps)
		})
		note := &trace.Step{Do: trace.Note, Text: "nothing happens"}
		empty.turn(300*time.Millisecond, func() int {
			if err := p.Do(note); err != nil {
				b.Fatal(err)
			}
			return 1
		})
	}
	if err := p.Close(); err != nil {
		b.Fatal(err)
	}
	if err := <-served; err != nil {
		b.Fatal(err)
	}
	t.rateRow("adapter pipe, steps of drawn traces, the host's work and the resets included", 8000, "k steps/s", 1000, got,
		"; of steps that do nothing "+empty.text("k steps/s", 1000))
	b.ReportMetric(got.core.median()/1000, "ksteps/s")
}
