package fakemcp

import (
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/sim/fakeclock"
)

// conn is one connection: a process with its group, or a stream. It is its own transport.
type conn struct {
	w       *World
	id      port.ConnID
	spec    config.DialSpec
	target  string
	ordinal int // of this server's connections, from 1

	found   *script // of version seen
	version int

	begun  bool // the process was started, the connection opened
	up     bool // the direct child is alive, the stream is open
	helper bool // a helper in the process group is alive
	inited bool // it answered initialize
	over   bool // nothing is left of it
	orphan bool // its host has died

	inputClosed bool
	end         fakeclock.Handle // when it ends by itself
	ended       port.Ms
	lingers     port.Ms // how long after its end it still speaks

	onExit func(error)
	onGone func()
	notify func(mcp.JSONRPCNotification)
	real   *realServer
}

// Dial implements port.Dialer. Every dial counts, refused ones too.
func (w *World) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	if w.conns[op.Conn] != nil {
		return nil, fmt.Errorf("fakemcp: connection %d is dialled twice", op.Conn)
	}
	w.sweep()
	w.dials[spec.Server]++
	c := &conn{w: w, id: op.Conn, spec: spec, ordinal: w.dials[spec.Server], version: -1}
	c.target = Target(&c.spec)
	w.conns[c.id] = c
	w.list = append(w.list, c)
	return c, nil
}

// script is how the server behaves now.
func (c *conn) script() *script {
	if c.version != c.w.version {
		c.found, c.version = c.w.find(c.spec.Kind, c.target), c.w.version
	}
	return c.found
}

func (c *conn) tie(k fakeclock.Kind) uint64 { return c.w.q.Tie(k, c.spec.Server, c.ordinal) }

func (c *conn) process() bool { return c.spec.Kind == config.Stdio }
func (c *conn) alive() bool   { return c.up || c.helper }
func (c *conn) dead() bool    { return c.begun && !c.up }

// lost is what a request finds out about a connection that has ended.
func (c *conn) lost() error {
	if c.process() {
		return hostmcp.ErrExit
	}
	return hostmcp.ErrClosed
}

// Transport, OnExit, OnGone and Process implement port.Conn.
func (c *conn) Transport() transport.Interface {
	if c.w.Canned {
		return canned{c}
	}
	return c
}

// OnExit registers f for the end of the process or stream.
func (c *conn) OnExit(f func(err error)) { c.onExit = f }

// OnGone registers f for the end of the process group.
func (c *conn) OnGone(f func()) { c.onGone = f }

// Began reports whether a process or stream was begun and is not over.
func (c *conn) Began() bool { return c.begun && c.up }

// Process reports whether it is a child process.
func (c *conn) Process() bool { return c.process() }

// begin starts the process or opens the stream.
func (c *conn) begin() {
	s := c.script()
	if c.begun || s.refuses() {
		return
	}
	c.begun, c.up = true, true
	c.helper = c.process() && s.b.Grandchild
	if c.w.OnStart != nil {
		c.w.OnStart(c.id, c.spec, s.key)
	}
}

// exit ends the direct child or the stream now; the host hears of it in the course of this instant. Requests that were not
// answered yet fail; answers in the pipe arrive.
func (c *conn) exit(why error) {
	c.up = false
	c.ended, c.lingers = c.w.q.Now(), port.Ms(c.script().b.Linger)
	c.w.q.Cancel(c.end)
	if c.onExit != nil {
		c.w.q.At(c.w.q.Now(), c.tie(fakeclock.Exit), fakeclock.Func(func() {
			if f := c.onExit; f != nil {
				c.onExit = nil
				f(why)
			}
		}))
	}
	c.w.failJobs(c)
	c.settle()
}

// settle notes when nothing is left.
func (c *conn) settle() {
	if c.over || c.alive() {
		return
	}
	c.over = true
	if !c.orphan {
		c.w.over++
	}
	if c.process() && c.onGone != nil {
		c.w.q.At(c.w.q.Now(), c.tie(fakeclock.Exit), fakeclock.Func(func() { // the same tie: after its exit
			if f := c.onGone; f != nil {
				c.onGone = nil
				f()
			}
		}))
	}
}

// close ends a stream from the host's side.
func (c *conn) close() {
	if c.up {
		c.exit(nil)
	}
}

// drop is a close that nobody waits for: the host has given the stream up.
func (c *conn) drop() {
	c.onExit = nil
	c.close()
	c.settle()
}

// abandon: the host has died. Nobody hears of the connection any more.
func (c *conn) abandon() {
	c.onExit, c.onGone, c.notify, c.orphan = nil, nil, nil, true
	if c.process() {
		c.CloseInput()
	} else {
		c.close()
	}
}

// sweep drops connections of which nothing is left and which have nothing more to say, once they are the larger part.
func (w *World) sweep() {
	if w.over < 64 || 2*w.over < len(w.list) {
		return
	}
	kept := make([]*conn, 0, len(w.list)-w.over)
	w.over = 0
	for _, c := range w.list {
		switch {
		case !c.over:
			kept = append(kept, c)
		case c.maySpeak():
			kept = append(kept, c)
			w.over++
		default:
			delete(w.conns, c.id)
		}
	}
	w.list = kept
}

// maySpeak reports whether the server can still say something: while it runs, and a while longer if it lingers (REC-9).
func (c *conn) maySpeak() bool {
	return c.up || c.begun && c.lingers > 0 && c.w.q.Now() <= c.ended+c.lingers
}
