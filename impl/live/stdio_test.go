package live

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"

	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/sim/realserver"
)

func TestStdioServerInBothErasListsCallsAndAnnounces(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			noLeaks(t)
			y := newYard(t)
			y.serve("srv-a", realserver.Behaviour{Tools: []string{"x", "y"}, Era: era})
			x := newLine(t, y)
			d := x.stdio(1, "srv-a", "1")
			if tools := x.up(d); !slices.Equal(tools, []string{"x", "y"}) {
				t.Errorf("tools %v", tools)
			}
			if got := d.ProtocolVersion(); (got == "2026-07-28") != (era == "modern") {
				t.Errorf("speaks %s", got)
			}
			res, err := d.Call(patient(t), "x", map[string]any{"n": 1})
			if err != nil || res.IsError {
				t.Errorf("call: %v %v", res, err)
			}
			if def, ok := x.d.conn(1).definition("x"); !ok || def.Description != "does x" {
				t.Errorf("definition %v %v", def, ok)
			}
			for len(d.changed) > 0 {
				<-d.changed
			}
			y.Announce("srv-a", "tools")
			for wait(t, "the announcement", d.changed) != hostmcp.Tools {
			}
			d.CloseInput()
			wait(t, "the exit", d.exit)
			wait(t, "the end", d.gone)
			y.await("nobody", func() bool { return y.Alive("") == 0 })
		})
	}
}

func TestDeathOfAChildIsNoticedWithoutACall(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	x.up(d)
	y.Crash("srv-a")
	var status *exec.ExitError
	if err := wait(t, "the exit", d.exit); !errors.As(err, &status) || status.ExitCode() != 9 {
		t.Errorf("ended as %v", err)
	}
	wait(t, "the end", d.gone)
	if _, err := d.ListTools(patient(t)); hostmcp.Class(err) != "closed" {
		t.Errorf("asking the dead: %v (%s)", err, hostmcp.Class(err))
	}
}

func TestTerminateAndKillReachTheWholeGroup(t *testing.T) {
	for _, c := range []struct {
		name string
		b    realserver.Behaviour
		end  func(*dialed)
	}{
		{"terminate", realserver.Behaviour{Grandchild: true}, func(d *dialed) { d.Terminate() }},
		{"kill", realserver.Behaviour{Grandchild: true, IgnoreTerm: true}, func(d *dialed) { d.CloseInput(); d.Terminate(); d.Kill() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			y := newYard(t)
			y.serve("srv-a", c.b)
			x := newLine(t, y)
			d := x.stdio(1, "srv-a")
			x.up(d)
			y.await("the helper", func() bool { return y.Alive("srv-a") == 2 })
			c.end(d)
			wait(t, "the end", d.gone)
			y.await("nobody", func() bool { return y.Alive("") == 0 })
		})
	}
}

func TestExitOfTheChildIsNotTheEndOfItsGroup(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{Grandchild: true, IgnoreTerm: true})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	x.up(d)
	y.await("the helper", func() bool { return y.Alive("srv-a") == 2 })
	y.Crash("srv-a")
	wait(t, "the exit", d.exit)
	select {
	case <-d.gone:
		t.Error("gone while the helper lives")
	default:
	}
	if y.Alive("srv-a") != 1 {
		t.Errorf("%d alive", y.Alive("srv-a"))
	}
	d.Kill()
	wait(t, "the end", d.gone)
}

func TestKillBeforeTheStartStartsNothing(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	d.Kill()
	if err := d.Start(patient(t)); err == nil {
		t.Error("a killed connection started")
	}
	if y.Started("srv-a") != 0 {
		t.Error("a process began")
	}
}

func TestStartThatFailsIsRefused(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	x := newLine(t, y)
	for name, want := range map[string]error{"no-such-command": exec.ErrNotFound, "/no/such/file": fs.ErrNotExist, "/etc/passwd": fs.ErrPermission} {
		err := x.stdio(1, name).Start(patient(t))
		if !errors.Is(err, want) || hostmcp.Class(err) != "refused" {
			t.Errorf("%s: %v (%s)", name, err, hostmcp.Class(err))
		}
	}
}

func TestChildThatExitsWhileItIsAskedIsNoProtocolError(t *testing.T) {
	noLeaks(t)
	x := newLine(t, nil)
	for i := range 50 { // it depends on the moment what the asking meets
		d := x.dial(port.ConnID(i+1), shell("exec sleep 0.00"+strconv.Itoa(i%5)))
		must2(t, d.Start(patient(t)))
		if c := hostmcp.Class(d.Initialize(patient(t))); c != "exit" && c != "closed" {
			t.Errorf("class %s", c)
		}
		wait(t, "the end", d.gone)
	}
}

func TestGarbageFailsWhatWaitsForIt(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{Fault: "garbage", At: "tools"})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	ctx := patient(t)
	if err := errors.Join(d.Start(ctx), d.Initialize(ctx)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ListTools(ctx); hostmcp.Class(err) != "protocol" {
		t.Errorf("%v (%s)", err, hostmcp.Class(err))
	}
	d.Kill()
	wait(t, "the end", d.gone)
}

func TestCancelledInitializeLeavesTheProcessToItsOwner(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{Fault: "hang", At: "init"})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	ctx, cancel := context.WithCancel(patient(t))
	if err := d.Start(ctx); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- d.Initialize(ctx) }()
	y.await("the question", func() bool {
		return slices.ContainsFunc(y.Reports(), func(r realserver.Report) bool { return r.Method == "initialize" })
	})
	cancel()
	if err := wait(t, "initialize", failed); !errors.Is(err, context.Canceled) {
		t.Errorf("failed with %v", err)
	}
	if y.Alive("srv-a") != 1 {
		t.Error("the process went with the step")
	}
	d.Kill()
	wait(t, "the end", d.gone)
}

func TestNoiseOnStdoutIsNoMessage(t *testing.T) {
	noLeaks(t)
	x := newLine(t, nil)
	d := x.dial(1, shell(`echo "[INFO] listening"; echo "{ a: 1 }"; echo; cat >/dev/null; echo noise >&2`))
	ctx, cancel := context.WithCancel(patient(t))
	if err := d.Start(ctx); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- d.Initialize(ctx) }()
	cancel()
	if err := wait(t, "initialize", failed); errors.Is(err, ErrGarbage) {
		t.Errorf("noise is garbage: %v", err)
	}
	d.CloseInput()
	wait(t, "the exit", d.exit)
	wait(t, "the end", d.gone)
}

func TestStderrIsKept(t *testing.T) {
	noLeaks(t)
	x := newLine(t, nil)
	d := x.dial(1, shell(`echo one >&2; echo two >&2; read x; exit 5`))
	if err := d.Start(patient(t)); err != nil {
		t.Fatal(err)
	}
	c := x.d.conn(1)
	d.CloseInput()
	wait(t, "the exit", d.exit)
	wait(t, "the end", d.gone)
	if got := c.log(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("kept %q", got)
	}
}

func TestWatchdogIsRestartedAndKillsWhatItKnows(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv-a", realserver.Behaviour{IgnoreTerm: true, Grandchild: true})
	x := newLine(t, y)
	d := x.stdio(1, "srv-a")
	x.up(d)
	y.await("the helper", func() bool { return y.Alive("srv-a") == 2 })
	x.d.watchdog.close() // as if the host were gone: the kernel closes the pipe
	if err := wait(t, "the exit", d.exit); err == nil || err.Error() != "signal: killed" {
		t.Errorf("ended as %v", err)
	}
	wait(t, "the end", d.gone)
	y.await("nobody", func() bool { return y.Alive("") == 0 })
	x.d.watchdog.closed = false
	y.serve("srv-b", realserver.Behaviour{})
	e := x.stdio(2, "srv-b")
	x.up(e)
	_ = syscall.Kill(e.Conn.(*stdioConn).proc.pid, syscall.SIGKILL)
	wait(t, "the end", e.gone)
}
