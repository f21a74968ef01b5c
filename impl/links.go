package impl

import (
	"slices"
	"strings"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const drainAfter port.Ms = 30000 // POOL-3

// link is one server of one session: the connection it holds or waits for, or why it has none.
type link struct {
	server string
	entry  *config.Entry // as of the last pass that saw it admitted
	conn   *conn         // nil: failed, or not tried
	class  string        // why it failed; "" if it has a connection or was not tried
	last   *conn         // the connection that failed
}

func (l *link) fail(class string) {
	l.class = class
	if class == "" {
		l.last = nil
	}
}

func (s *session) link(server string) *link {
	i, found := slices.BinarySearchFunc(s.links, server, func(l *link, name string) int { return strings.Compare(l.server, name) })
	if !found {
		return nil
	}
	return s.links[i]
}

// acquire gives the session the connection of its server: the one that is there, or a new one. A dial in flight is
// joined, a drain is over (POOL-2, POOL-3).
func (h *Host) acquire(s *session, l *link) {
	x := h.expand(l.entry)
	sl := h.slot(h.key(s.id, l.server, x))
	l.fail("")
	c := sl.cur
	if c == nil {
		if sl.end != nil && sl.end.stuck { // REC-13: not dialled until it is gone; that counts as tried
			h.failStuck(s, l, sl.end)
			return
		}
		c = &conn{server: l.server, slot: sl, exp: x, phase: waiting}
		sl.cur = c
		h.hold(s, l, c)
		if sl.end == nil {
			h.begin(c)
		} else {
			h.updated(s, l.server) // shown as dialling
		}
		return
	}
	invariant(c.exp.Fingerprint == x.Fingerprint, "INV-9", "%s: joined a connection of another config", l.server)
	h.hold(s, l, c)
	if c.phase == waiting {
		h.updated(s, l.server)
		return
	}
	if c.drain != nil {
		h.endDrain(c, "reused")
	}
	h.emit(&event.Event{Kind: event.Acquired, Session: s.id, Server: c.server, Conn: c.id})
	h.updated(s, l.server)
	if c.phase == live {
		h.publish(s, l)
	}
}

// hold adds a session to a connection's holders: a set, in order of id (POOL-3).
func (h *Host) hold(s *session, l *link, c *conn) {
	l.conn = c
	i, found := slices.BinarySearchFunc(c.holders, s.id, func(x *session, id port.SessionID) int {
		return strings.Compare(string(x.id), string(id))
	})
	invariant(!found, "INV-9", "%s holds %s twice", s.id, c.server)
	c.holders = slices.Insert(c.holders, i, s)
	if !slices.Contains(c.past, s.id) {
		c.past = append(c.past, s.id)
	}
}

// release takes a session's hold away and purges what it published (REC-2). The last release ends the connection at once,
// except that a session that closes leaves a shared one to drain (POOL-3).
func (h *Host) release(s *session, l *link, why string) {
	c := l.conn
	l.conn = nil
	h.purge(s, l.server)
	c.holders = slices.DeleteFunc(slices.Clone(c.holders), func(x *session) bool { return x == s })
	if s.closed {
		c.past = slices.DeleteFunc(c.past, func(id port.SessionID) bool { return id == s.id })
	}
	outcome := ""
	if l.class == "publish" {
		outcome = l.class
	}
	if c.id != 0 {
		h.emit(&event.Event{Kind: event.Released, Session: s.id, Server: c.server, Conn: c.id, Why: why, Outcome: outcome})
	}
	h.endCalls(s, c, outcomeRetired) // CALL-2
	if len(c.holders) == 0 && c.phase < ending {
		switch {
		case c.phase == waiting:
			h.abandon(c)
		case c.phase == live && s.closed && !h.down && c.slot.key.shared():
			h.startDrain(c)
		default:
			h.retire(c, why)
		}
	}
	h.leavePasses(s, c)
}

// leavePasses ends the wait of the session's passes for a dial that goes on without it.
func (h *Host) leavePasses(s *session, c *conn) {
	var mine []*pass
	var others []*pass
	for _, p := range c.passes {
		if p.session == s {
			mine = append(mine, p)
		} else {
			others = append(others, p)
		}
	}
	c.passes = others
	for _, p := range mine {
		h.waitOver(p)
	}
}

// abandon drops a connection that waits for its predecessor's end and has no waiter left.
func (h *Host) abandon(c *conn) {
	c.phase = closed
	c.slot.cur = nil
	h.vacate(c.slot)
}

func (h *Host) startDrain(c *conn) {
	h.emit(&event.Event{Kind: event.DrainStart, Server: c.server, Conn: c.id})
	c.drain = h.p.Clock.AfterFunc(port.TimerDrain, drainAfter, func() {
		if c.phase != live || len(c.holders) > 0 || c.drain == nil {
			return
		}
		h.endDrain(c, "expired")
		h.retire(c, "drained")
	})
}

func (h *Host) endDrain(c *conn, why string) {
	c.drain()
	c.drain = nil
	h.emit(&event.Event{Kind: event.DrainEnd, Server: c.server, Conn: c.id, Why: why})
}

// wants is REC-15: the session is open, and by what is loaded now it is to have this very connection.
func (h *Host) wants(s *session, c *conn) bool {
	_, x := h.desired(s, c.server)
	return x != nil && x.Fingerprint == c.exp.Fingerprint
}

// dropUnwanted releases the holders that would not be given this connection now (REC-15).
func (h *Host) dropUnwanted(c *conn) {
	for _, s := range slices.Clone(c.holders) {
		if !h.wants(s, c) {
			l := s.link(c.server)
			h.release(s, l, "no_longer_admitted")
			h.updated(s, c.server)
		}
	}
}
