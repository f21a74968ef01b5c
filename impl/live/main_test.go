package live

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mcpsim/impl"
	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/sim/realserver"
)

// The test binary is also every server (see realserver), and the host that is killed.
func TestMain(m *testing.M) {
	switch {
	case realserver.IsServer():
		realserver.Main()
	case os.Getenv(hostVariable) != "":
		hostMain()
	case os.Getenv(deciderVariable) != "":
		deciderMain()
	default:
		impl.AssertInvariants(true)
		os.Exit(m.Run())
	}
}

// patience bounds every wait of a test. It is never slept.
const patience = 20 * time.Second

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func contextOf(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// noLeaks fails the test if it leaves a goroutine. Call it first.
func noLeaks(t testing.TB) {
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
}

// yard is where a test's servers are: a directory of commands, each of which is this binary, and their controller.
type yard struct {
	*realserver.Controller
	t   testing.TB
	bin string
}

func newYard(t testing.TB) *yard {
	// A unix socket's path has to be short, so not t.TempDir.
	dir, err := os.MkdirTemp("", "yard")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c, err := realserver.Listen(filepath.Join(dir, "sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if n := c.Alive(""); n > 0 {
			t.Errorf("%d processes are left: %v", n, c.Pids(""))
		}
		_ = c.Close()
	})
	y := &yard{Controller: c, t: t, bin: filepath.Join(dir, "bin")}
	exe, err := os.Executable()
	if err == nil {
		err = os.Mkdir(y.bin, 0o755)
	}
	if err == nil {
		err = c.Commands(y.bin, exe)
	}
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// serve says how the servers of a command act.
func (y *yard) serve(command string, b realserver.Behaviour) {
	y.t.Helper()
	if err := y.Behave(command, b); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) environ() []string {
	// A binary with the race detector otherwise takes a second to exit.
	return append(y.Env(), "PATH="+y.bin+":"+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "GORACE=atexit_sleep_ms=0")
}

// await waits until ok, which is asked at every report of a server.
func (y *yard) await(what string, ok func() bool) {
	y.t.Helper()
	if err := y.Wait(patient(y.t), ok); err != nil {
		y.t.Fatalf("waiting for %s: %v; reports: %+v", what, err, y.Reports())
	}
}

// line is a loop with a dialer, and what its connections told.
type line struct {
	t    testing.TB
	loop *Loop
	d    *Dialer
}

func newLine(t testing.TB, y *yard) *line {
	l := NewLoop()
	var env []string
	if y != nil {
		env = y.environ()
	}
	x := &line{t: t, loop: l, d: NewDialer(l, DialerOptions{Environ: env})}
	t.Cleanup(func() {
		x.d.Close()
		l.Close()
	})
	return x
}

// dialed is one connection and what became of it.
type dialed struct {
	port.Conn
	*hostmcp.Client
	exit    chan error
	gone    chan struct{}
	changed chan hostmcp.ListKind
}

func (x *line) dial(id port.ConnID, spec config.DialSpec) *dialed {
	x.t.Helper()
	if spec.Cwd == "" {
		spec.Cwd = x.t.TempDir()
	}
	c, err := x.d.Dial(port.Op{Kind: port.OpStart, Conn: id}, spec)
	if err != nil {
		x.t.Fatal(err)
	}
	d := &dialed{Conn: c, exit: make(chan error, 1), gone: make(chan struct{}), changed: make(chan hostmcp.ListKind, 100)}
	c.OnExit(func(err error) { d.exit <- err })
	c.OnGone(func() { close(d.gone) })
	d.Client = hostmcp.NewClient(c.Transport(), func(k hostmcp.ListKind) { d.changed <- k })
	return d
}

func (x *line) stdio(id port.ConnID, command string, args ...string) *dialed {
	x.t.Helper()
	return x.dial(id, config.DialSpec{Server: "s", Kind: config.Stdio, Command: command, Args: args})
}

// up brings a connection up and returns its tools.
func (x *line) up(d *dialed) []string {
	x.t.Helper()
	ctx := patient(x.t)
	if err := d.Start(ctx); err != nil {
		x.t.Fatal(err)
	}
	if err := d.Initialize(ctx); err != nil {
		x.t.Fatal(err)
	}
	tools, err := d.ListTools(ctx)
	if err != nil {
		x.t.Fatal(err)
	}
	return tools
}

func wait[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("waited %v for %s", patience, what)
		panic("unreachable")
	}
}

func shell(script string) config.DialSpec {
	return config.DialSpec{Server: "s", Kind: config.Stdio, Command: "/bin/sh", Args: []string{"-c", script}}
}

func portOp(id port.ConnID) port.Op { return port.Op{Kind: port.OpStart, Conn: id} }
