package impl

import (
	"context"
	"slices"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/mcp"
	"mcpsim/impl/port"
)

// phase is where a connection is in its life.
type phase uint8

const (
	waiting  phase = iota // for its predecessor's end; it has no number, no process and no bound yet (REC-13)
	dialling              // announced, not discovered
	live                  // discovered and published
	ending                // retired: nothing it says counts (REC-9)
	closed
)

// conn is one connection: one attempt to have a server. Every completion is compared with its phase on arrival.
type conn struct {
	id      port.ConnID // unique in the process; 0 while waiting
	server  string
	slot    *slot
	exp     *config.Expanded
	phase   phase
	holders []*session       // a set, in order of id; while dialling these are the waiters
	held    []*session       // ending: who held it when it was lost
	past    []port.SessionID // open sessions that hold or held it (REC-13)
	passes  []*pass          // that wait for its dial

	port     port.Conn
	client   *mcp.Client
	starting bool // the Start job is out
	begun    bool // Start succeeded: there is a process or an open client
	answered bool // to initialize: it gets the chance to end by itself (REC-13)
	job      func()
	bound    func()
	boundMs  int64

	lists   listing // what it listed last
	refresh refresh

	drain func() // stops the drain; nil: not draining

	timer  func() // the next step of its end
	killed bool
	stuck  bool
}

// begin announces a dial and starts it, if anybody still wants it (REC-15).
func (h *Host) begin(c *conn) {
	h.dropUnwanted(c)
	if c.phase != waiting {
		return // the last waiter left
	}
	h.nextConn++
	c.id, c.phase = h.nextConn, dialling
	h.conns = append(h.conns, c)
	// Entries of one fingerprint may still differ, in filters say. The dial is the first waiter's and theirs who have the
	// very same entry; the others join it.
	entry := c.holders[0].link(c.server).entry
	var ids []port.SessionID
	for _, s := range c.holders {
		if s.link(c.server).entry.Hash == entry.Hash {
			ids = append(ids, s.id)
		}
	}
	invariant(h.initialized && h.trusted && !h.down, "INV-5", "%s dialled", c.server)
	h.emit(&event.Event{Kind: event.Dial, Sessions: ids, Server: c.server, Conn: c.id, Entry: entry, Fingerprint: c.exp.Fingerprint})
	for _, s := range c.holders {
		h.emit(&event.Event{Kind: event.Acquired, Session: s.id, Server: c.server, Conn: c.id})
		h.updated(s, c.server)
	}
	var err error
	if c.port, err = h.p.Dialer.Dial(h.op(c, port.OpStart), c.exp.Spec); err != nil {
		c.port = nil
		h.lose(c, "refused")
		return
	}
	c.port.OnExit(func(error) { h.exited(c) })
	c.port.OnGone(func() { h.gone(c) })
	c.client = mcp.NewClient(c.port.Transport(), func(k mcp.ListKind) {
		h.p.Post(func() { h.listChanged(c, k) }) // it comes from the transport's reader
	})
	c.boundMs = entry.DiscoveryBound()
	c.bound = h.p.Clock.AfterFunc(port.TimerDiscovery, port.Ms(c.boundMs), func() {
		c.bound = nil
		if c.phase == dialling {
			h.lose(c, "timeout") // REC-7
		}
	})
	c.starting = true
	h.step(c, port.OpStart, c.client.Start, func() {
		h.step(c, port.OpInitialize, c.client.Initialize, func() {
			h.list(c, allLists, &c.lists, func() { h.dialled(c) })
		})
	})
}

// step is one job of a connection's protocol. then runs if it succeeded and the connection is still what it was: while
// dialling a failure fails the dial, afterwards it is a lost connection (REC-8, REC-11). What comes for a retired
// connection is dropped (REC-9).
func (h *Host) step(c *conn, kind port.OpKind, work func(context.Context) error, then func()) {
	c.job = h.p.Exec.Go(h.op(c, kind), work, func(err error) {
		if kind == port.OpStart {
			c.starting, c.begun = false, err == nil || began(c.port) // a start that was called off may have begun a process
		}
		if c.phase != dialling && c.phase != live {
			if kind == port.OpStart {
				h.startedLate(c)
			}
			return
		}
		c.job = nil
		class := ""
		if err != nil {
			class = h.classOf(c, kind, err)
		}
		if kind == port.OpInitialize && (err == nil || class == "protocol") {
			c.answered = true
		}
		if err != nil {
			h.lose(c, class)
			return
		}
		then()
	})
}

// began asks a connection whether anything of it exists, or did.
func began(p port.Conn) bool {
	b, ok := p.(interface{ Began() bool })
	return ok && p.Process() && b.Began()
}

// classOf is the class of a step's failure (REC-8). What a process and a stream end as is told apart by what they are.
func (h *Host) classOf(c *conn, kind port.OpKind, err error) string {
	class := mcp.Class(err)
	process := c.port.Process()
	switch {
	case class == "closed" && process:
		return "exit"
	case class == "exit" && !process:
		return "closed"
	case class == "" && kind == port.OpStart:
		return "refused"
	case class == "":
		return "protocol"
	}
	return class
}

// dialled: discovery is complete. It publishes to everybody who still wants it (REC-15); a waiter that left meanwhile is
// no holder any more (POOL-7).
func (h *Host) dialled(c *conn) {
	stop(&c.bound)
	c.phase = live
	h.emit(&event.Event{Kind: event.Dialed, Server: c.server, Conn: c.id})
	for _, s := range slices.Clone(c.holders) {
		if l := s.link(c.server); l != nil && l.conn == c {
			h.publish(s, l)
		}
	}
	h.dialOver(c)
	if c.phase == live {
		h.refreshNext(c) // a list may have changed since it was asked for
	}
}

// lose fails a connection: it is evicted and purged from every holder (POOL-8), its calls end, its class is every holder's
// to show, and it is dialled again by the next pass (REC-8, REC-14).
func (h *Host) lose(c *conn, class string) {
	was := c.phase
	h.leaveService(c)
	for _, s := range c.held {
		h.purge(s, c.server)
	}
	if c.drain != nil {
		h.endDrain(c, "lost")
	}
	if was == dialling {
		h.emit(&event.Event{Kind: event.DialFailed, Server: c.server, Conn: c.id, Outcome: class})
	}
	h.emit(&event.Event{Kind: event.Closing, Server: c.server, Conn: c.id, Why: "failed", Outcome: class})
	for _, s := range c.held {
		l := s.link(c.server)
		if l == nil || l.conn != c {
			continue
		}
		l.conn = nil
		l.fail(class)
		l.last = c
		h.emit(&event.Event{Kind: event.Released, Session: s.id, Server: c.server, Conn: c.id, Why: "failed", Outcome: class})
		h.endCalls(s, c, outcomeLost)
	}
	h.end(c)
	for _, s := range c.held {
		h.updated(s, c.server)
	}
	h.dialOver(c)
}

// retire takes a connection that nobody holds any more out of service and begins its end.
func (h *Host) retire(c *conn, why string) {
	h.leaveService(c)
	h.emit(&event.Event{Kind: event.Closing, Server: c.server, Conn: c.id, Why: why})
	h.end(c)
	h.dialOver(c)
}

// leaveService makes the slot free for a successor, which waits for this one's end, and stops what the connection does.
func (h *Host) leaveService(c *conn) {
	invariant(c.phase == dialling || c.phase == live, "INV-17", "connection %d leaves service twice", c.id)
	invariant(c.slot.end == nil, "INV-9", "connection %d began before its predecessor's end", c.id)
	c.phase = ending
	c.held, c.holders = c.holders, nil
	c.slot.cur, c.slot.end = nil, c
	stop(&c.bound)
	stop(&c.job)
}

// exited: the process has exited or the other side closed the stream, noticed without a call (REC-14).
func (h *Host) exited(c *conn) {
	class := "closed"
	if c.port.Process() {
		class = "exit"
	}
	switch c.phase {
	case dialling, live:
		h.lose(c, class)
	}
	// While it is ending, the steps of REC-13 go on for what is left of its group.
}

func (h *Host) op(c *conn, kind port.OpKind) port.Op {
	op := port.Op{Kind: kind, Conn: c.id, Server: c.server}
	if len(c.holders) > 0 {
		op.Session = c.holders[0].id
	}
	return op
}

// stop runs and forgets a cancel or stop function.
func stop(f *func()) {
	if *f != nil {
		(*f)()
		*f = nil
	}
}
