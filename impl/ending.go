package impl

import (
	"context"
	"slices"
	"strconv"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// The times of REC-13.
const (
	terminateAfter port.Ms = 500  // after its input was closed
	killAfter      port.Ms = 2000 // after it was told to terminate
	stuckAfter     port.Ms = 1000 // after the kill
	remoteEnd      port.Ms = 2000
)

// end brings a retired connection to its end: a process by closing its input, then terminate, then kill, the whole group
// each time, at once by kill if it never answered; a remote one by a close that gets 2 s (REC-13). Nothing waits for it
// but the next dial of its slot.
func (h *Host) end(c *conn) {
	switch {
	case c.port == nil:
		h.ended(c)
	case !c.starting && !c.begun: // nothing was started; whatever a failed start left goes too
		c.port.Kill()
		h.ended(c)
	case !c.port.Process():
		h.endRemote(c)
	case !c.answered:
		h.kill(c)
	default:
		c.port.CloseInput()
		h.endStep(c, terminateAfter, func() {
			c.port.Terminate()
			h.endStep(c, killAfter, func() { h.kill(c) })
		})
	}
}

// endStep arranges the next step of an end, in place of the one arranged before. f may have been overtaken by the end.
func (h *Host) endStep(c *conn, d port.Ms, f func()) {
	stop(&c.timer)
	if c.phase != ending { // the step before ended it
		return
	}
	c.timer = h.p.Clock.AfterFunc(port.TimerKill, d, func() {
		c.timer = nil
		if c.phase == ending {
			f()
		}
	})
}

// kill is the last step: what is not gone a second after the first kill is stuck.
func (h *Host) kill(c *conn) {
	c.port.Kill()
	if !c.killed {
		c.killed = true
		h.endStep(c, stuckAfter, func() { h.getStuck(c) })
	}
}

// endRemote closes a stream. If its start is still out, that is waited for first: it cannot be closed before.
func (h *Host) endRemote(c *conn) {
	h.endStep(c, remoteEnd, func() {
		stop(&c.job)
		h.ended(c)
	})
	if !c.starting {
		h.closeRemote(c)
	}
}

func (h *Host) closeRemote(c *conn) {
	c.job = h.p.Exec.Go(h.op(c, port.OpEnd), func(ctx context.Context) error { return c.client.Close(ctx) }, func(error) {
		if c.phase == ending {
			h.ended(c)
		}
	})
}

// startedLate: the Start job of a connection that was retired meanwhile has come back.
func (h *Host) startedLate(c *conn) {
	switch {
	case c.phase != ending:
	case !c.begun: // it never came to be
		h.ended(c)
	case c.port.Process():
		h.kill(c)
	default:
		h.closeRemote(c)
	}
}

// gone: nothing is left of a connection's process group.
func (h *Host) gone(c *conn) {
	switch c.phase {
	case dialling, live:
		h.lose(c, "exit")
		if c.phase == ending {
			h.ended(c)
		}
	case ending:
		h.ended(c)
	}
}

// ended closes a connection and lets the dial begin that waits for it.
func (h *Host) ended(c *conn) {
	stop(&c.timer)
	c.phase = closed
	h.closed++
	sl := c.slot
	sl.end = nil
	h.emit(&event.Event{Kind: event.Closed, Server: c.server, Conn: c.id})
	if c.stuck {
		h.unstick(c)
	}
	if sl.cur != nil && sl.cur.phase == waiting {
		h.begin(sl.cur)
	}
	h.vacate(sl)
	h.compact()
	h.shutdownStep()
}

// getStuck reports a process that is alive 1 s after the kill. It is no longer in flight; whoever waits for its end has
// tried, and failed (REC-13).
func (h *Host) getStuck(c *conn) {
	c.stuck = true
	told := false
	for _, id := range c.past {
		s := h.session(id)
		if s == nil {
			continue
		}
		told = true
		h.reportStuck(s, c)
		if l := s.link(c.server); l != nil && l.conn == nil && l.last == c {
			l.class = "stuck"
			h.updated(s, c.server)
		}
	}
	w := c.slot.cur
	if !told && w == nil { // its sessions have closed: somebody should know all the same
		h.reportStuck(nil, c)
	}
	if w != nil {
		waiters := w.holders
		w.holders = nil
		h.abandon(w)
		for _, s := range waiters {
			l := s.link(c.server)
			l.conn = nil
			h.failStuck(s, l, c)
		}
		h.dialOver(w)
	}
	h.shutdownStep()
}

// failStuck: the session's server cannot be dialled before c is gone.
func (h *Host) failStuck(s *session, l *link, c *conn) {
	l.fail("stuck")
	l.last = c
	h.reportStuck(s, c)
	h.updated(s, l.server)
}

// reportStuck raises the notice for one session, or for the whole host if s is nil.
func (h *Host) reportStuck(s *session, c *conn) {
	n := event.Notice{Server: c.server, Kind: "stuck",
		Text: "a process of this server is alive 1 s after it was killed; the server is not started again until it is gone"}
	if s != nil {
		n.Session = s.id
	}
	h.give(stuckGiver(n.Session, c), []event.Notice{n})
}

func stuckGiver(id port.SessionID, c *conn) string {
	return sessionGiver(id, "stuck\x00"+strconv.Itoa(int(c.id)))
}

// unstick: the process is gone after all. Its end asks for a pass in every session that had it or wants it.
func (h *Host) unstick(c *conn) {
	h.give(stuckGiver("", c), nil)
	for _, s := range h.allSessions() {
		l := s.link(c.server)
		if slices.Contains(c.past, s.id) || l != nil && l.last == c {
			h.give(stuckGiver(s.id, c), nil)
			h.requestPass(s, nil)
		}
	}
}

// compact drops closed connections from the list of all, once they are the larger part.
func (h *Host) compact() {
	if h.closed < 64 || 2*h.closed < len(h.conns) {
		return
	}
	kept := make([]*conn, 0, len(h.conns)-h.closed)
	for _, c := range h.conns {
		if c.phase != closed {
			kept = append(kept, c)
		}
	}
	h.conns, h.closed = kept, 0
}
