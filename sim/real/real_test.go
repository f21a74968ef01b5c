package real

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"mcpsim/corpus"
	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/gen"
	"mcpsim/sim/realserver"
	"mcpsim/sim/trace"
)

// The test binary is also every server.
func TestMain(m *testing.M) {
	if realserver.IsServer() {
		realserver.Main()
	}
	impl.AssertInvariants(true)
	os.Exit(m.Run())
}

func parse(t *testing.T, text string) *trace.Trace {
	t.Helper()
	tr, err := trace.Parse("made.ndjson", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func kept(t *testing.T, name string) *trace.Trace {
	t.Helper()
	all, err := corpus.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, tr := range all {
		if strings.HasSuffix(tr.Name, name) {
			return tr
		}
	}
	t.Fatalf("the corpus has no trace %s", name)
	return nil
}

func in(mode string, tr *trace.Trace) *trace.Trace {
	c := *tr
	c.Header.Launch.Mode = mode
	return &c
}

// TestTracesHoldInTheRealWorld: an approval, a lost process, a restart of the host, in both modes, over files, processes
// and clocks that are real.
func TestTracesHoldInTheRealWorld(t *testing.T) {
	leaks := goleak.IgnoreCurrent()
	t.Run("traces", func(t *testing.T) {
		for _, name := range []string{"apr/approve-reaches-every-session.ndjson", "rec/lost-connection-is-noticed.ndjson", "rec/remote-stream-that-closes.ndjson",
			"apr/decision-survives-a-crash.ndjson"} {
			for _, mode := range []string{"single", "pool"} {
				tr := in(mode, kept(t, name))
				t.Run(mode+"/"+filepath.Base(name), func(t *testing.T) {
					t.Parallel()
					if why := Why(tr, 20000); why != "" {
						t.Skip(why)
					}
					o := Judge(tr, sim.PlayOptions{History: true})
					r := o.R
					if r.Failed() {
						t.Errorf("%d plays, %v late: %v %v %v\n%s", o.Tries, o.Late, r.Err, r.Violations, r.Mismatches, strings.Join(r.History, "\n"))
					}
					if r.Events == 0 || len(r.Settles) == 0 {
						t.Errorf("nothing was judged: %d events, %d settles", r.Events, len(r.Settles))
					}
				})
			}
		}
	})
	goleak.VerifyNone(t, leaks)
}

const small = `{"mcpsim":1,"title":"a server is live","servers":{"srv-a":{"tools":["x"]}}}
{"do":"edit","file":"user","servers":{"a":{"command":"srv-a"}}}
{"do":"settle"}
{"expect":{"s1":{"servers":{"a":"live"},"tools":{"a":["x"]}},"host":{"dials":{"a":1},"processes":{"a":1}}}}
`

// TestAFalseExpectationIsFound: about the state, a list, a count; by what the host shows and by what the model says.
func TestAFalseExpectationIsFound(t *testing.T) {
	for _, c := range []struct{ from, to string }{
		{`"a":"live"`, `"a":"failed:exit"`},
		{`["x"]}},"host"`, `["y"]}},"host"`},
		{`"dials":{"a":1}`, `"dials":{"a":2}`},
		{`"processes":{"a":1}`, `"processes":{"a":0}`},
	} {
		t.Run(c.to, func(t *testing.T) {
			t.Parallel()
			text := strings.Replace(small, c.from, c.to, 1)
			if text == small {
				t.Fatal("nothing was changed")
			}
			r := Play(parse(t, text), sim.PlayOptions{Slack: 300})
			if r.Err != nil || len(r.Mismatches) == 0 || len(r.Violations) == 0 || r.Violations[0].Invariant != "EXPECT" {
				t.Errorf("not found: %v %v %v", r.Err, r.Violations, r.Mismatches)
			}
		})
	}
}

// deaf is a file system whose watches tell nothing.
type deaf struct{ port.FS }

func (deaf) Watch(string, func(port.FSEvent)) (port.Watch, error) { return silent{}, nil }

type silent struct{}

func (silent) Close() error { return nil }

// twisted is a file system that reads something else than is written.
type twisted struct{ port.FS }

func (t twisted) Open(p string) (afero.File, error) {
	f, err := t.FS.Open(p)
	if err != nil {
		return nil, err
	}
	return &twistedFile{File: f}, nil
}

type twistedFile struct{ afero.File }

func (t *twistedFile) Read(b []byte) (int, error) {
	n, err := t.File.Read(b)
	copy(b, strings.ReplaceAll(string(b[:n]), "srv-a", "srv-b"))
	return n, err
}

// doubled is a dialer that dials everything twice; hidden ones are not counted, but begin.
type doubled struct {
	port.Dialer
	again  port.Dialer
	starts bool
}

func (d doubled) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	c, err := d.again.Dial(op, spec)
	if err == nil && d.starts {
		spec.Env = append(spec.Env, config.KV{Name: realserver.ConnVariable, Value: fmt.Sprintf("1/%d", op.Conn)})
		if c, err = d.again.Dial(op, spec); err == nil {
			err = c.Transport().Start(context.Background())
		}
	}
	if err != nil {
		return nil, err
	}
	return d.Dialer.Dial(op, spec)
}

// TestAWrongHostIsFound: one that is deaf to its files, one that reads something else, one that dials what it does not say,
// and one that has a process too many.
func TestAWrongHostIsFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		wrong func(port.FS, port.Dialer) (port.FS, port.Dialer)
		want  string
	}{
		{"deaf", func(f port.FS, d port.Dialer) (port.FS, port.Dialer) { return deaf{f}, d }, "LIVE-2"},
		{"another file is read", func(f port.FS, d port.Dialer) (port.FS, port.Dialer) { return twisted{f}, d }, "LIVE-1"},
		{"a dial that is not announced", func(f port.FS, d port.Dialer) (port.FS, port.Dialer) { return f, doubled{Dialer: d, again: d} }, "INV-1"},
		{"a process too many", func(f port.FS, d port.Dialer) (port.FS, port.Dialer) {
			return f, doubled{Dialer: d, again: d.(*dialer).inner, starts: true}
		}, "INV-9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			st, err := NewStage(exe)
			if err != nil {
				t.Fatal(err)
			}
			st.outside = c.wrong
			y := NewSystem(st)
			r := sim.Play(parse(t, small), st, y, sim.PlayOptions{Loose: true, Slack: 500, Patience: 500, Early: early})
			if err := y.Close(); err != nil {
				t.Error(err)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			if len(r.Violations) == 0 || r.Violations[0].Invariant != c.want {
				t.Errorf("found %v %v, not %s", r.Err, r.Violations, c.want)
			}
		})
	}
}

// sluggish is a dialer whose servers are born late, as on a machine that has much else to do.
type sluggish struct {
	port.Dialer
	by time.Duration
}

func (d sluggish) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	c, err := d.Dialer.Dial(op, spec)
	if err != nil {
		return nil, err
	}
	return lateConn{c, d.by}, nil
}

type lateConn struct {
	port.Conn
	by time.Duration
}

func (c lateConn) Transport() transport.Interface { return lateStart{c.Conn.Transport(), c.by} }

type lateStart struct {
	transport.Interface
	by time.Duration
}

func (t lateStart) Start(ctx context.Context) error {
	select {
	case <-time.After(t.by):
		return t.Interface.Start(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestALateBirthIsNoFinding: a script says when a server answers, and a short bound may pass before a real one is born. The
// host that says so tells the truth (REC-7); one that gives up a server that is born in good time does not.
func TestALateBirthIsNoFinding(t *testing.T) {
	for _, c := range []struct {
		name  string
		entry string
		by    time.Duration
		start bool // it is there when the host starts, where time stands still
		found bool
	}{
		{"the bound is short", `"discoveryTimeoutMs":100,`, 200 * time.Millisecond, false, false},
		{"the bound is short, at the start", `"discoveryTimeoutMs":100,`, 200 * time.Millisecond, true, false},
		{"the bound is long", `"discoveryTimeoutMs":30000,`, 200 * time.Millisecond, false, false},
		{"the bound is long, at the start", `"discoveryTimeoutMs":30000,`, 200 * time.Millisecond, true, false},
		{"later than any machine", `"discoveryTimeoutMs":1500,`, 3 * time.Second, false, true},
		{"later than any machine, at the start", `"discoveryTimeoutMs":1500,`, 3 * time.Second, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			st, err := NewStage(exe)
			if err != nil {
				t.Fatal(err)
			}
			st.outside = func(f port.FS, d port.Dialer) (port.FS, port.Dialer) { return f, sluggish{d, c.by} }
			y := NewSystem(st)
			servers := `{"a":{` + c.entry + `"command":"srv-a"}}`
			text := `{"mcpsim":1,"servers":{"srv-a":{"tools":["x"]}}}
{"do":"edit","file":"user","servers":` + servers + `}
{"do":"settle"}
`
			if c.start {
				text = `{"mcpsim":1,"servers":{"srv-a":{"tools":["x"]}},"files":{"user":{"json":{"mcpServers":` + servers + `}}}}
{"do":"settle"}
`
			}
			tr := parse(t, text)
			slack := Slack
			if c.found {
				slack = 500
			}
			r := sim.Play(tr, st, y, sim.PlayOptions{Loose: true, Slack: slack, Patience: slack, Early: early, History: true})
			if err := y.Close(); err != nil {
				t.Error(err)
			}
			if err := st.Close(); err != nil {
				t.Error(err)
			}
			if r.Err != nil || len(r.Settles) == 0 || c.found != (len(r.Violations) > 0) {
				t.Errorf("found: %v %v\n%s", r.Err, r.Violations, strings.Join(r.History, "\n"))
			}
		})
	}
}

// TestWhatIsTameIsForReal: and tame is the nearest that there is; the drawn trace stays as it was.
func TestWhatIsTameIsForReal(t *testing.T) {
	tr := parse(t, `{"mcpsim":1,"servers":{"srv-a":{"unkillable":true,"linger":9,"delay":{"init":{"ms":5,"hold":"answer"}}},"srv-b":{"fault":"garbage","at":"start"}}}
{"do":"edit","file":"user","servers":{"b":{"url":"{{url:srv-b}}"}}}
{"do":"server","server":"srv-a","behaviour":{"linger":7}}
{"do":"restart","unsynced":"lost"}
`)
	before := string(trace.Print(tr))
	if why := Why(Tame(tr), 20000); why != "" {
		t.Error(why)
	}
	if b := Tame(tr).Header.Servers[0].Behaviour; !b.IgnoreTerm || b.Delays[model.StepInit].Ms != 5 {
		t.Errorf("%+v", b)
	}
	if string(trace.Print(tr)) != before {
		t.Error("the trace was changed")
	}
}

// TestWhatCannotBeRealSaysWhy: and what can be does not.
func TestWhatCannotBeRealSaysWhy(t *testing.T) {
	for _, c := range []struct{ header, steps, want string }{
		{`"servers":{"srv-a":{"unkillable":true}}`, ``, "kill"},
		{`"servers":{"srv-a":{"linger":50}}`, ``, "after its end"},
		{`"servers":{"srv-a":{"delay":{"init":{"ms":5,"hold":"answer"}}}}`, ``, "closed"},
		{`"real":"No program has that name."`, ``, "No program has that name."},
		{`"title":"t"`, `{"do":"restart","unsynced":"lost"}`, "lost"},
		{`"title":"t"`, `{"do":"advance","ms":30000}`, "longer than 20 s"},
		{`"title":"t"`, `{"do":"server","server":"srv-a","behaviour":{"unkillable":true}}`, "kill"},
		{`"title":"t"`, `{"do":"advance","ms":3000}`, ""},
		{`"servers":{"srv-a":{"fault":"hang","delay":{"init":5}}}`, ``, ""},
	} {
		got := Why(parse(t, `{"mcpsim":1,`+c.header+"}\n"+c.steps+"\n"), 20000)
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, not %q", c.header, c.steps, got, c.want)
		}
	}
}

// TestDrawnTracesHoldInTheRealWorld plays drawn traces in both modes; it takes about a second a trace.
// MCPSIM_REAL says how many: it is for the machine that nothing else runs on.
func TestDrawnTracesHoldInTheRealWorld(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("MCPSIM_REAL"))
	if n == 0 {
		t.Skip("set MCPSIM_REAL to a number of traces, such as 200")
	}
	p, err := gen.ParseProfile("quick")
	if err != nil {
		t.Fatal(err)
	}
	var traces []*trace.Trace
	for i := 0; len(traces) < 2*n && i < 100*n; i++ {
		tr := Tame(gen.Draw(uint64(i), p))
		tr.Name = fmt.Sprintf("drawn %d", i)
		if Why(tr, 5000) == "" {
			traces = append(traces, in("single", tr), in("pool", tr))
		}
	}
	played := 0
	Run(traces, 4*runtime.GOMAXPROCS(0), 10000, func(*trace.Trace) sim.PlayOptions { return sim.PlayOptions{} }, func(o Outcome) {
		if o.Why != "" {
			return
		}
		played++
		if o.R.Failed() {
			t.Errorf("%s, %s mode: %v %v\n%s", o.Trace.Name, o.Trace.Header.Launch.Mode, o.R.Err, o.R.Violations, trace.Print(o.Trace))
		}
	})
	if played < n {
		t.Errorf("%d plays of %d traces", played, n)
	}
}
