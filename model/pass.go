package model

import "fmt"

const (
	retryFirstMs Ms = 1000  // D-4
	retryMaxMs   Ms = 30000 // D-4
)

// listsPushed judges what a session's next pass will read (GATE-4, D-5, D-11).
func (m *Machine) listsPushed(ev *Event) {
	s := m.session(ev.Session)
	if s == nil || ev.Lists == nil {
		return
	}
	m.checked("INV-14")
	l := *ev.Lists
	s.pushed = &l
	if want := m.effective().Lists(s.id); !sameLists(l, want) {
		m.fail("INV-14", s.id, "", 0, fmt.Sprintf("pushed %v, in force is %v", l, want), "GATE-4", "GATE-3")
	}
}

// passStart judges that a pass has a reason (GATE-1, GATE-5) and that none is comparing already (INV-10).
func (m *Machine) passStart(ev *Event) {
	s := m.session(ev.Session)
	if s == nil {
		m.fail("INV-10", ev.Session, "", 0, "a pass of a session that is not open")
		return
	}
	m.checked("INV-10")
	if s.comparing {
		m.fail("INV-10", s.id, "", 0, "a pass began while another was comparing", "CFG-3")
	}
	if !m.initialized {
		m.fail("INV-5", s.id, "", 0, "a pass before initialisation", "CFG-2")
	}
	e := m.effective()
	switch { // a refused publication asks for passes of its own (CFG-4)
	case m.differs(s, e) || s.failedLast || s.refused || m.faultAny["publish"]: // reason enough: what was asked for may still follow
	case s.credit > 0:
		s.credit--
	default:
		m.fail("INV-6", s.id, "", 0, "a pass for which there is no reason: the map, the lists and trust are what was applied", "GATE-1", "GATE-5")
	}
	if s.retryAt > 0 {
		if m.now == s.retryAt {
			m.reach("a retry")
		}
		s.retryAt = 0
	}
	if want := e.Lists(s.id); s.lists0 && !sameLists(s.lists, want) && (s.pushed == nil || !sameLists(*s.pushed, want)) {
		m.fail("INV-14", s.id, "", 0, "the pass began before the changed lists were pushed", "GATE-4")
	}
	s.comparing, s.inPass, s.owed, s.refused = true, ev.Pass, false, false
}

// passCompared: the comparing part succeeded; what it read is now applied (D-4), and everything admitted is live, being
// dialled, or waits for its predecessor's end (REC-1).
func (m *Machine) passCompared(ev *Event) {
	s := m.session(ev.Session)
	if s == nil {
		return
	}
	m.checked("INV-10")
	if !s.comparing {
		m.fail("INV-10", s.id, "", 0, "a pass compared that had not begun", "CFG-3")
	}
	s.comparing = false
	e := m.effective()
	s.appliedOK, s.applied, s.lists, s.trusted, s.pushed, s.lists0 = true, e.SettingsMap(s.id), e.Lists(s.id), m.mem.Trusted, nil, true
	s.failedLast, s.retryStep = false, 0
	if m.win.any {
		m.reach("a pass during a debounce")
	}
	s.passedAt, s.passJudged = m.now, false
	for name := range s.last { // what is not wanted any more has no failure to remember
		if es := e.Server(s.id, name); es == nil || es.Verdict != Admitted {
			delete(s.last, name)
		}
	}
}

// judgePass is called when the instant of a successful comparison is over: what the pass had to begin has begun (REC-1, LIVE-3).
func (m *Machine) judgePass(s *session) {
	if s.passJudged {
		return
	}
	s.passJudged = true
	m.checked("LIVE-1")
	if m.differs(s, m.effective()) {
		return // something newer is on its way
	}
	e := m.effective()
	for _, es := range e.Servers(s.id) {
		if es.Verdict != Admitted {
			continue
		}
		c := s.last[es.Name]
		if c != nil && c.cfg.Fp == es.Config.Fp && c.holds(s.id) && c.phase < retired {
			continue
		}
		if c != nil && c.cfg.Fp == es.Config.Fp && (c.dialAt >= s.passedAt || c.class != 0 && c.retiredAt >= s.passedAt) {
			continue // tried or joined, and over already
		}
		if m.predecessor(s.id, &es) != nil {
			continue
		}
		m.fail("LIVE-1", s.id, es.Name, 0, "the pass left an admitted server that is neither live nor being dialled", "REC-1", "LIVE-3")
	}
	for _, c := range m.open {
		if c.phase < retired && c.holds(s.id) {
			es := e.Server(s.id, c.server)
			if es == nil || es.Verdict != Admitted || es.Config.Fp != c.cfg.Fp {
				m.fail("LIVE-1", s.id, c.server, c.id, "the pass left a connection that is no longer wanted", "REC-1", "ADM")
			}
		}
	}
}

// predecessor is the connection whose end a dial of this server waits for (REC-13), or nil.
func (m *Machine) predecessor(sid SessionID, es *EffectiveServer) *conn {
	for _, c := range m.open {
		if c.phase == retired && m.rivals(c, es.Name, es.Config, []SessionID{sid}) {
			return c
		}
	}
	return nil
}

// passEnd notes a failed pass and when it must be tried again (CFG-4, D-4).
func (m *Machine) passEnd(ev *Event) {
	s := m.session(ev.Session)
	if s == nil {
		return
	}
	if ev.Outcome != "failed" {
		if s.comparing && ev.Pass == s.inPass {
			s.comparing = false
		}
		return
	}
	m.checked("LIVE-2")
	s.comparing = false
	if m.faults["pass"] > 0 {
		m.faults["pass"]--
	} else {
		m.fail("LIVE-2", s.id, "", 0, "a pass failed though nothing made it fail", "CFG-4")
	}
	s.failedLast, s.passJudged = true, true
	m.scheduleRetry(s)
	if len(m.effective().Queue(s.id)) > 0 {
		m.judgeQueue(s)
		s.askAfterPass = s.askAfterPass || !s.askOwed
		s.askOwed, s.askAt = true, m.now
	}
}

func (m *Machine) scheduleRetry(s *session) {
	if s.retryStep == 0 {
		s.retryStep = retryFirstMs
	} else {
		s.retryStep = min(2*s.retryStep, retryMaxMs)
	}
	s.retryAt = m.now + s.retryStep
}
