package live

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"mcpsim/impl/config"
	"mcpsim/impl/port"
)

// exitGrace is how long a reader gets, after the child has exited, to find what it left in the pipe. A helper that holds
// the pipe open would keep it waiting for ever.
const exitGrace = 50 * time.Millisecond

// stdioConn is a child process in a group of its own, spoken to over its stdin and stdout. mcp-go frames the messages; the
// process, its pipes and its end are ours, because mcp-go's Close waits, ends the child alone and notices no death.
type stdioConn struct {
	stdioWire
	d    *Dialer
	id   port.ConnID
	spec config.DialSpec

	onExit func(error)
	onGone func()

	stderr tail

	mu          sync.Mutex
	proc        *group // nil: not started
	stdin       *os.File
	inputClosed bool
	killed      bool // kill what starts from now on
}

func newStdioConn(d *Dialer, id port.ConnID, spec config.DialSpec) *stdioConn {
	c := &stdioConn{d: d, id: id, spec: spec}
	c.stdioWire.conn = c
	return c
}

func (c *stdioConn) Transport() transport.Interface { return &c.stdioWire }
func (c *stdioConn) OnExit(f func(err error))       { c.onExit = f }
func (c *stdioConn) OnGone(f func())                { c.onGone = f }

// Began reports whether a process was started.
func (c *stdioConn) Began() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proc != nil
}

// Process reports that it is one.
func (c *stdioConn) Process() bool { return true }

// CloseInput closes the child's stdin, which well-behaved servers take as their end.
func (c *stdioConn) CloseInput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inputClosed = true
	closeFile(c.stdin)
}

// Terminate asks every member of the group to end.
func (c *stdioConn) Terminate() { c.signal(syscall.SIGTERM) }

// Kill ends every member of the group.
func (c *stdioConn) Kill() {
	c.CloseInput() // who waits in a write to the child is let go
	c.mu.Lock()
	c.killed = true
	started := c.proc != nil
	c.mu.Unlock()
	if !started {
		c.d.forget(c.id) // unless it is being started: then start kills it, and its end forgets it again
		return
	}
	c.signal(syscall.SIGKILL)
}

func (c *stdioConn) kill() {
	c.mu.Lock()
	c.killed = true
	c.mu.Unlock()
	c.signal(syscall.SIGKILL)
}

func (c *stdioConn) signal(sig syscall.Signal) {
	c.mu.Lock()
	g := c.proc
	c.mu.Unlock()
	if g != nil {
		g.signal(sig)
	}
}

// log is the end of the child's stderr, with the values of the entry's env masked (INV-16).
func (c *stdioConn) log() []string {
	lines := c.stderr.lines()
	for _, kv := range c.spec.Env {
		if len(kv.Value) < 3 { // too short to be told from any other text
			continue
		}
		for i := range lines {
			lines[i] = strings.ReplaceAll(lines[i], kv.Value, "***")
		}
	}
	return lines
}

// pipes are the ends that the host keeps, and those the child gets.
type pipes struct{ stdin, stdout, stderr, childIn, childOut, childErr *os.File }

func newPipes() (p pipes, err error) {
	for _, x := range [...]struct{ r, w **os.File }{{&p.childIn, &p.stdin}, {&p.stdout, &p.childOut}, {&p.stderr, &p.childErr}} {
		if *x.r, *x.w, err = os.Pipe(); err != nil {
			p.closeOurs()
			p.closeChilds()
			return pipes{}, err
		}
	}
	return p, nil
}

func (p *pipes) closeOurs() {
	closeFile(p.stdin)
	closeFile(p.stdout)
	closeFile(p.stderr)
}

func (p *pipes) closeChilds() {
	closeFile(p.childIn)
	closeFile(p.childOut)
	closeFile(p.childErr)
}

// start starts the child and everything that looks after it.
func (c *stdioConn) start(ctx context.Context) error {
	file, err := c.d.environ.find(c.spec)
	if err != nil {
		return err
	}
	p, err := newPipes()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{Path: file, Args: append([]string{c.spec.Command}, c.spec.Args...), Dir: c.spec.Cwd,
		Env: c.d.environ.with(c.spec.Env), Stdin: p.childIn, Stdout: p.childOut, Stderr: p.childErr, SysProcAttr: childAttr()}
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	if err = ctx.Err(); err == nil && killed {
		err = context.Canceled
	}
	if err == nil {
		err = c.d.spawner.start(cmd)
	}
	p.closeChilds()
	if err != nil {
		p.closeOurs()
		return err
	}
	g := &group{pid: cmd.Process.Pid}
	_ = c.d.watchdog.add(g.pid) // a net that may be missing
	frames := newFraming(p.stdout, c.stdioWire.fail)
	eof := frames.eof
	inner := transport.NewIO(frames, p.stdin, p.stderr)
	c.stdioWire.begin(inner)

	c.mu.Lock()
	c.proc, c.stdin = g, p.stdin
	inputClosed, killed := c.inputClosed, c.killed
	c.mu.Unlock()
	if inputClosed {
		closeFile(p.stdin)
	}
	if killed { // while it was being started
		g.signal(syscall.SIGKILL)
	}
	stderrRead := make(chan struct{})
	go func() {
		defer close(stderrRead)
		c.stderr.drain(p.stderr)
	}()
	c.d.work.Add(1)
	go func() {
		defer c.d.work.Done()
		c.attend(cmd, g, p, eof, stderrRead)
	}()
	// The reader's context lasts as long as the connection, whatever becomes of the job that starts it.
	return inner.Start(context.WithoutCancel(ctx))
}

// attend waits for the child's exit and for the end of its group, and says so.
func (c *stdioConn) attend(cmd *exec.Cmd, g *group, p pipes, stdoutRead, stderrRead <-chan struct{}) {
	err := cmd.Wait()
	g.childExited()
	// What the child has answered before it exited is read first, so that a request that was answered succeeds; and what it
	// said on its stderr, which may say why it exited.
	end := time.Now().Add(exitGrace)
	_ = errors.Join(p.stdout.SetReadDeadline(end), p.stderr.SetReadDeadline(end))
	<-stderrRead
	select {
	case <-stdoutRead:
	case <-time.After(2 * exitGrace): // its reader waits for somebody to read what it answers
	}
	c.d.loop.Post(func() {
		if c.onExit != nil {
			c.onExit(exitError(err))
		}
	})
	gone := g.waitGone(c.d.stop)
	c.d.watchdog.remove(g.pid)
	p.closeOurs()
	_ = c.stdioWire.inner.Close() // ends the reader; there is no process for it to wait for
	c.d.forget(c.id)
	if gone {
		c.d.loop.Post(func() {
			if c.onGone != nil {
				c.onGone()
			}
		})
	}
}

// ErrExited is why a connection ended whose process ended with status 0.
var ErrExited = errors.New("the process ended")

func exitError(err error) error {
	if err == nil {
		return ErrExited
	}
	return err
}
