package model

import (
	"fmt"
	"strings"
)

// Observe judges one thing the host did; nil when it is fine. The time must not run backwards; silence between two events
// is judged by Advance, which Observe calls for a later moment.
func (m *Machine) Observe(at Ms, ev *Event) []Violation {
	if at > m.now {
		m.silence(at)
	}
	m.now = at
	switch ev.Kind {
	case EvWake:
		m.wake(ev)
	case EvLoad:
		m.load(ev)
	case EvNotify:
		m.notified(ev)
	case EvLists:
		m.listsPushed(ev)
	case EvPassStart:
		m.passStart(ev)
	case EvPassCompared:
		m.passCompared(ev)
	case EvPassEnd:
		m.passEnd(ev)
		m.session(ev.Session).tell(m.now, "", "a pass has ended")
	case EvDial:
		m.dial(ev)
		m.stateChanged(ev, "it is being dialled")
	case EvDialed:
		m.dialed(ev)
	case EvDialFailed:
		m.dialFailed(ev)
	case EvPublished:
		m.published(ev)
		m.stateChanged(ev, "it is live")
	case EvPurged:
		m.purged(ev)
	case EvClosing:
		m.closing(ev)
	case EvClosed:
		m.closedConn(ev)
	case EvAcquired:
		m.acquired(ev)
	case EvReleased:
		m.released(ev)
		m.stateChanged(ev, "it was released")
	case EvDrainStart:
		if c := m.conns[ev.Conn]; c != nil {
			m.checked("INV-9")
			if c.emptyWhy == "pass" && c.emptyAt == m.now {
				m.fail("INV-9", "", c.server, c.id, "drains though a pass released it last: it must close at once", "POOL-3", "D-18")
			}
			if len(c.holders) > 0 {
				m.fail("INV-9", "", c.server, c.id, "drains though a session holds it", "POOL-3")
			}
			c.drainFrom = m.now
		}
	case EvDrainEnd:
		if c := m.conns[ev.Conn]; c != nil && ev.Why == "expired" {
			m.checked("INV-9")
			if c.drainFrom < 0 || m.now < c.drainFrom+drainMs {
				m.fail("INV-9", "", c.server, c.id, "a drain expired that was not due", "POOL-3")
			}
		}
	case EvAsk:
		m.asked(ev)
	case EvDecided:
		m.decided(ev)
	case EvRefused:
		m.refused(ev)
	case EvCallStart:
		m.callStart(ev)
	case EvCallEnd:
		m.callEnd(ev)
	case EvWatch, EvUnwatch:
		m.watching(ev)
	case EvUpdated:
		m.updated(ev)
	case EvWrote:
		m.wrote(ev.Path)
	case EvNotice:
		m.noticeRaised(ev)
		m.deafTo(ev.Notice, true)
	case EvNoticeCleared:
		m.deafTo(ev.Notice, false)
	}
	return m.take()
}

// wake judges that the host was woken by something (WAT-1): names beside the watched ones never count.
func (m *Machine) wake(ev *Event) {
	if m.opt.Loose {
		m.win.wake(ev.Scope, m.now)
		return
	}
	m.win.hostWake(m.now)
	m.win.woken = m.now + 1
	m.checked("INV-13")
	if ev.Scope < NumScopes && !m.win.pending[ev.Scope] && !m.unloaded(ev.Scope) && m.win.fileAt != m.now {
		m.fail("INV-13", "", "", 0, fmt.Sprintf("%s woke the host though nothing concerned it", ev.Scope), "WAT-1")
	}
}

// unloaded reports whether what a read gives differs from what is loaded: a re-check after arming may find that.
func (m *Machine) unloaded(s Scope) bool {
	if s == Approvals {
		return !sameRecords(m.onDisk, m.mem.Records) || m.visible[s].State != m.records
	}
	l := m.mem.Files[s]
	c := m.visible[s]
	if l == nil {
		return true
	}
	return l.File != c.State || c.State == Good && !Equal(l.Memory, c.Value)
}

// wrote judges a write of the host (INV-15).
func (m *Machine) wrote(path string) {
	m.checked("INV-15")
	base := path[strings.LastIndexByte(path, '/')+1:]
	if base != ".qwen" && !strings.HasPrefix(base, "mcpApprovals.json") && !strings.HasPrefix(base, ".mcpApprovals.json") && !strings.Contains(base, "pprovals") {
		m.fail("INV-15", "", "", 0, "the host wrote "+path)
	}
	switch {
	case strings.Contains(base, ".corrupt-"):
		m.setAside = true
	case base == "mcpApprovals.json" && (m.records == Unparsable || m.records == NotObject) && !m.setAside:
		m.fail("INV-15", "", "", 0, "a corrupt approvals file was written over and not set aside", "APR-8")
	}
}

// watching follows the host's watches: after a shutdown none stands (WAT-10).
func (m *Machine) watching(ev *Event) {
	for i, dir := range m.watches {
		if dir == ev.Path {
			m.watches = append(m.watches[:i], m.watches[i+1:]...)
			break
		}
	}
	if ev.Kind == EvWatch {
		m.watches = append(m.watches, ev.Path)
	}
}

// tell notes what observers must be told before the instant is over (REC-10).
func (s *session) tell(at Ms, server, what string) {
	if s != nil && s.untold == "" {
		s.untold, s.untoldAt, s.untoldName = what, at, server
	}
}

// updated: observers look at everything then, whichever server it names.
func (m *Machine) updated(ev *Event) {
	m.updates = true
	if s := m.session(ev.Session); s != nil {
		s.untold = ""
	}
}

// stateChanged notes that a server's state changed in a session, or in every session that has its connection.
func (m *Machine) stateChanged(ev *Event, what string) {
	if ev.Session != "" { // perhaps it has closed: nobody observes it
		m.session(ev.Session).tell(m.now, ev.Server, what)
	} else if c := m.conns[ev.Conn]; c != nil {
		for _, id := range c.holders {
			m.session(id).tell(m.now, ev.Server, what)
		}
	}
}

// noticeRaised judges that a notice shows no secret (INV-16).
func (m *Machine) noticeRaised(ev *Event) {
	m.checked("INV-16")
	if ev.Notice != nil {
		m.noSecret(ev.Notice.Text, "a notice", true)
	}
}

// deafTo follows the notices about watches that cannot be established.
func (m *Machine) deafTo(n *Notice, stands bool) {
	if n == nil || n.Kind != "watch" {
		return
	}
	for i, file := range m.deaf {
		if file == n.File {
			m.deaf = append(m.deaf[:i], m.deaf[i+1:]...)
			break
		}
	}
	if stands {
		m.deaf = append(m.deaf, n.File)
	}
}

// noSecret: no env or header value; where arguments and URLs have no place either, none of those. Short ones are words that
// a sentence may hold for other reasons.
func (m *Machine) noSecret(text, where string, arguments bool) {
	if text == "" {
		return
	}
	e := m.effective()
	for _, s := range m.sessions {
		for _, es := range e.Servers(s.id) {
			for _, secret := range es.Config.Secrets {
				if len(secret) >= 6 && strings.Contains(text, secret) {
					m.fail("INV-16", s.id, es.Name, 0, where+" shows an env or header value")
				}
			}
			if !arguments {
				continue
			}
			for _, a := range es.Config.Arguments {
				if len(a) >= 12 && strings.Contains(text, a) {
					m.fail("INV-16", s.id, es.Name, 0, where+" shows an argument or a URL")
				}
			}
		}
	}
}

// Due is the next moment at which silence is a violation; ok is false if there is none.
func (m *Machine) Due() (Ms, bool) {
	best, ok := Ms(0), false
	at := func(t Ms) {
		if !ok || t < best {
			best, ok = t, true
		}
	}
	if m.down {
		return 0, false
	}
	if m.win.any && m.anyWatchedPending() {
		at(m.win.due())
	}
	if len(m.notify) > 0 {
		at(m.notifyAt)
	}
	for _, s := range m.sessions {
		if s.owed {
			at(s.owedAt)
		}
		if s.askOwed {
			at(s.askAt)
		}
		if s.retryAt > 0 {
			at(s.retryAt)
		}
	}
	for _, c := range m.open {
		switch {
		case c.phase < retired && c.mustLose:
			at(c.lostAt)
		case c.phase == dialling:
			at(c.dialAt + c.bound)
		case c.phase == retired && !c.stuck:
			at(c.endBy())
		case c.drainFrom >= 0:
			at(c.drainFrom + drainMs)
		}
	}
	for _, k := range m.calls {
		if k.outcome == "" && k.mustEnd != "" {
			at(k.endAt)
		} else if k.outcome == "" && k.conn != nil {
			at(k.at + k.timeout)
		} else if k.outcome == "" {
			at(k.at)
		}
	}
	return best, ok
}

// stuckFrom is the first moment at which a retired connection may count as stuck: a process that never answered is killed
// at once, and whether one that was still being discovered had answered is not seen.
func (c *conn) stuckFrom() Ms {
	if c.process() && !(c.answered && c.class == 0) {
		return c.retiredAt + killMs
	}
	return c.endBy()
}

// endBy is the moment by which a retired connection has ended, or is stuck (REC-13).
func (c *conn) endBy() Ms {
	if !c.process() {
		return c.retiredAt + remoteEndMs
	}
	return c.retiredAt + closeInputMs + terminateMs + killMs
}

func (m *Machine) anyWatchedPending() bool {
	for s := Defaults; s < NumScopes; s++ {
		if m.win.pending[s] && m.watched(s) {
			return true
		}
	}
	return false
}

// Advance judges silence up to a moment: everything at or before it has happened.
func (m *Machine) Advance(at Ms) []Violation {
	m.silence(at + 1)
	if at > m.now {
		m.now = at
	}
	return m.take()
}

// silence judges everything that must have happened before at.
func (m *Machine) silence(at Ms) {
	late := at - 1 - m.opt.Slack
	if m.down {
		m.silentConns(late)
		return
	}
	if !m.started && m.now >= m.first && at > m.now {
		m.started = true
		for s := Defaults; s < NumScopes; s++ {
			if s != Approvals && m.counts(s) && m.mem.Files[s] == nil && m.visible[s].State != Missing {
				m.fail("LIVE-2", "", "", 0, fmt.Sprintf("%s was not read at start", s), "SRC-1")
			}
		}
	}
	if m.win.any && m.anyWatchedPending() && m.win.due() <= late {
		for s := Defaults; s < NumScopes; s++ {
			if m.win.pending[s] && m.watched(s) {
				m.checked("INV-13")
				m.fail("INV-13", "", "", 0, fmt.Sprintf("a change of %s was not loaded by %d, the end of its debounce window", s, m.win.due()), "WAT-2", "LIVE-2")
			}
		}
		m.win = window{loadedAt: m.win.loadedAt, fileAt: m.win.fileAt}
	}
	if len(m.notify) > 0 && m.notifyAt <= late {
		for _, n := range m.notify {
			m.fail("LIVE-2", "", "", 0, fmt.Sprintf("a change of %s was loaded and nobody was told", n.Scope), "WAT-11", "GATE-6")
		}
		m.notify = m.notify[:0]
	}
	for _, s := range m.sessions {
		m.judgePurges(s)
		m.judgeRegistry(s)
		m.judgeQueue(s)
		if s.untold != "" && m.updates {
			m.checked("INV-18")
			if s.untoldAt <= late {
				m.fail("INV-18", s.id, s.untoldName, 0, "status observers were not told: "+s.untold, "REC-10")
				s.untold = ""
			}
		}
		if s.passedAt <= late {
			m.judgePass(s)
		}
		if s.owed && s.owedAt <= late {
			s.owed = false
			if m.needsPass(s) && !s.failedLast { // what failed is tried again by its retry
				m.fail("LIVE-2", s.id, "", 0, "no pass followed: "+s.owedWhy, "CFG-3", "GATE-6")
			}
		}
		if s.askOwed && s.askAt <= late {
			s.askOwed = false
			if q := m.effective().Queue(s.id); len(q) > 0 {
				m.fail("INV-11", s.id, "", 0, fmt.Sprintf("no question was raised though %v is asked", q), "ASK-1")
			}
		}
		if s.retryAt > 0 && s.retryAt <= late {
			m.fail("LIVE-2", s.id, "", 0, fmt.Sprintf("a failed pass was not tried again at %d", s.retryAt), "D-4")
			s.retryAt = 0
		}
	}
	m.silentConns(late)
	m.silentCalls(late)
	m.win.trust = false
}

// needsPass: an owed pass that was served by coalescing leaves nothing to do.
func (m *Machine) needsPass(s *session) bool {
	return m.differs(s, m.effective()) || s.owedWhy == "/reload" && s.passedAt < s.owedAt
}

func (m *Machine) silentConns(late Ms) {
	for _, c := range m.open {
		switch {
		case c.phase < retired && c.mustLose && c.lostAt <= late:
			c.mustLose = false
			m.fail("INV-8", first(c.holders), c.server, c.id, "its process or stream ended and the host did not notice", "REC-14")
		case c.phase == dialling && c.dialAt+c.bound <= late:
			m.fail("LIVE-1", first(c.holders), c.server, c.id, fmt.Sprintf("still dialling after its bound of %d ms", c.bound), "REC-7")
			c.bound = 1 << 40
		case c.phase == retired && !c.stuck && c.endBy() <= late:
			c.stuck = true
			m.reach("a process that will not end")
		case c.phase == live && c.drainFrom >= 0 && c.drainFrom+drainMs <= late:
			m.fail("INV-9", "", c.server, c.id, "its drain is over and it was not closed", "POOL-3")
			c.drainFrom = -1
		case c.phase < retired && len(c.holders) == 0 && c.drainFrom < 0 && c.emptyWhy != "" && c.emptyAt <= late:
			m.fail("INV-9", "", c.server, c.id, "nobody holds it, and it neither closes nor drains", "POOL-3")
			c.emptyWhy = ""
		}
	}
}

func (m *Machine) silentCalls(late Ms) {
	for _, k := range m.calls {
		if k.outcome != "" {
			continue
		}
		if k.mustEnd != "" && k.endAt <= late {
			m.fail("INV-21", k.session, k.server, 0, "a call did not end with its connection or session", "CALL-2")
			k.outcome = k.mustEnd
		} else if k.conn != nil && k.at+k.timeout <= late {
			m.fail("INV-21", k.session, k.server, 0, "a call outlasted its timeout", "CALL-3")
			k.outcome = "error:timeout"
		}
	}
}
