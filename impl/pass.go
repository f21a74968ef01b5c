package impl

import (
	"slices"

	"mcpsim/impl/admission"
	"mcpsim/impl/event"
)

// pass is one reconcile of one session whose comparing part succeeded: it waits for the dials it began or joined (CFG-3).
type pass struct {
	number  int
	session *session
	waits   int
	callers []func(error)
}

// requestPass runs a pass of the session. done, if any, runs when a pass that began after the request has ended. Before
// the host is started and initialised it is a safe no-op: start-up uses what is loaded then (CFG-2).
func (h *Host) requestPass(s *session, done func(error)) {
	switch {
	case h.down:
		call(done, ErrDown)
		return
	case s.closed:
		call(done, ErrSessionClosed)
		return
	case !h.started || !h.initialized:
		call(done, nil)
		return
	}
	if done != nil {
		s.callers = append(s.callers, done)
	}
	if s.comparing { // comparing parts never overlap; the change behind this one gets its own pass
		s.again = true
		return
	}
	for {
		s.again = false
		callers := s.callers
		s.callers = nil
		h.runPass(s, callers)
		if !s.again || s.closed {
			return
		}
	}
}

func (h *Host) runPass(s *session, callers []func(error)) {
	v := h.view(s)
	h.pushLists(s, &v.lists) // GATE-4
	h.refreshQueue(s)        // ASK-1, D-16: before any dial
	h.passes++
	number := h.passes
	s.retry.passBegins()
	s.comparing = true
	h.emit(&event.Event{Kind: event.PassStart, Session: s.id, Pass: number})
	if err := h.inject("pass", s, ""); err != nil {
		s.comparing = false
		h.emit(&event.Event{Kind: event.PassEnd, Session: s.id, Pass: number, Outcome: "failed"})
		h.passFailed(s) // D-4: what was applied stays what it was
		h.afterPass(s)
		for _, f := range callers {
			f(err)
		}
		return
	}
	h.retireWhatGoes(s, v)
	h.dialWhatComes(s, v)
	s.comparing = false
	if s.closed {
		for _, f := range callers {
			f(ErrSessionClosed)
		}
		return
	}
	s.applied = applied{ok: true, settings: v.settings, lists: &v.lists, trusted: v.base.policy.Trusted}
	s.retry.passStep = 0
	h.emit(&event.Event{Kind: event.PassCompared, Session: s.id, Pass: number})
	p := &pass{number: number, session: s, callers: callers}
	for _, l := range s.links {
		if c := l.conn; c != nil && (c.phase == waiting || c.phase == dialling) {
			c.passes = append(c.passes, p)
			p.waits++
		}
	}
	if p.waits == 0 {
		h.endPass(p)
	} else {
		s.passes = append(s.passes, p)
	}
}

// retireWhatGoes releases what is gone, no longer admitted or changed (REC-1), in order of name, before anything is dialled.
func (h *Host) retireWhatGoes(s *session, v *view) {
	i, kept := 0, s.links[:0:0]
	changed := false
	for n, l := range s.links {
		for i < len(v.servers) && v.servers[i].name != l.server && v.servers[i].name < l.server {
			i++
		}
		var sv *served
		if i < len(v.servers) && v.servers[i].name == l.server {
			sv = &v.servers[i]
		}
		keep := true
		switch {
		case sv == nil:
			keep = false
			h.drop(s, l, "removed")
		case sv.verdict != admission.Admitted:
			keep = false
			h.drop(s, l, sv.verdict.String())
		case l.conn != nil && l.entry != sv.entry && l.conn.exp.Fingerprint != h.expand(sv.entry).Fingerprint:
			h.drop(s, l, "changed")
		}
		if !keep && !changed {
			changed = true
			kept = append(kept, s.links[:n]...)
		} else if keep && changed {
			kept = append(kept, l)
		}
	}
	if changed && !s.closed {
		s.links = kept
	}
}

// drop releases a link's connection and forgets its failure.
func (h *Host) drop(s *session, l *link, why string) {
	if l.conn != nil {
		h.release(s, l, why)
	}
	l.fail("")
	h.updated(s, l.server)
}

// dialWhatComes acquires what is admitted and neither live nor being dialled (REC-1, POOL-4), in order of name. What is
// held already is not even looked at, but for a changed entry: its filters and trust (REC-5, REC-6).
func (h *Host) dialWhatComes(s *session, v *view) {
	type task struct {
		link *link
		want *served
	}
	var tasks []task
	var added []*link
	i := 0
	for n := range v.servers {
		sv := &v.servers[n]
		if sv.verdict != admission.Admitted {
			continue
		}
		for i < len(s.links) && s.links[i].server != sv.name && s.links[i].server < sv.name {
			i++
		}
		if i < len(s.links) && s.links[i].server == sv.name {
			if l := s.links[i]; l.conn == nil || l.entry != sv.entry {
				tasks = append(tasks, task{l, sv})
			}
			i++
			continue
		}
		l := &link{server: sv.name}
		added = append(added, l)
		tasks = append(tasks, task{l, sv})
	}
	if len(added) > 0 {
		s.links = mergeLinks(s.links, added)
	}
	for _, t := range tasks {
		if s.closed {
			return
		}
		t.link.entry = t.want.entry
		if t.link.conn == nil {
			h.acquire(s, t.link)
		} else {
			h.refilter(s, t.link)
		}
	}
}

func mergeLinks(a, b []*link) []*link {
	if len(a) == 0 {
		return b
	}
	out := make([]*link, 0, len(a)+len(b))
	i := 0
	for _, l := range b {
		for i < len(a) && a[i].server < l.server {
			out = append(out, a[i])
			i++
		}
		out = append(out, l)
	}
	return append(out, a[i:]...)
}

// dialOver tells the passes that waited for a connection's dial that it is over, whatever came of it.
func (h *Host) dialOver(c *conn) {
	passes := c.passes
	c.passes = nil
	for _, p := range passes {
		h.waitOver(p)
	}
}

func (h *Host) waitOver(p *pass) {
	p.waits--
	if p.waits == 0 {
		h.endPass(p)
	}
}

// endPass ends a pass whose dials are over, and its callers' wait.
func (h *Host) endPass(p *pass) {
	s := p.session
	if s.closed {
		return // its callers were told when the session closed
	}
	s.passes = slices.DeleteFunc(s.passes, func(x *pass) bool { return x == p })
	if !s.retry.refused {
		s.retry.pubStep = 0
	}
	h.emit(&event.Event{Kind: event.PassEnd, Session: s.id, Pass: p.number, Outcome: "ok"})
	h.afterPass(s)
	for _, f := range p.callers {
		f(nil)
	}
}

// afterPass tells observers (REC-10) and asks what is left to ask (ASK-1).
func (h *Host) afterPass(s *session) {
	h.emit(&event.Event{Kind: event.Updated, Session: s.id})
	if !h.refreshQueue(s) && len(s.queue) > 0 {
		h.ask(s)
	}
}

func (h *Host) updated(s *session, server string) {
	if !s.closed {
		h.emit(&event.Event{Kind: event.Updated, Session: s.id, Server: server})
	}
}
