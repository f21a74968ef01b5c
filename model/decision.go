package model

import "fmt"

// decision is one answer that a person gave and the host has not yet acknowledged.
type decision struct {
	session   SessionID
	server    string
	config    ConfigID
	approve   bool
	at        Ms
	asked     bool // the question was in the queue when the answer was given
	askedTill Ms   // and at least until then
	group     int
}

func (m *Machine) asks(sid SessionID, server string, cfg ConfigID) bool {
	for _, q := range m.effective().Queue(sid) {
		if q.Server == server && q.Config == cfg {
			return true
		}
	}
	return false
}

// inDecide notes an answer (APR-5).
func (m *Machine) inDecide(in *Input) {
	if m.session(in.Session) == nil {
		return
	}
	d := &decision{session: in.Session, server: in.Server, config: in.Config, approve: in.Approve, at: m.now, group: in.Group}
	d.asked = m.asks(in.Session, in.Server, in.Config)
	d.askedTill = m.now
	m.decisions = append(m.decisions, d)
}

// takeDecision finds the answer that an event is about. Of several to one question, what is recorded is the first that says
// so; what is refused is one that was given just now and was not asked then, else the first.
func (m *Machine) takeDecision(ev *Event) *decision {
	best, rank := -1, 0
	for i, d := range m.decisions {
		if d.session != ev.Session || d.server != ev.Server || ev.Config != 0 && ev.Config != d.config {
			continue
		}
		r := 1
		if ev.Kind == EvDecided && d.approve == (ev.Outcome == "approved") || ev.Kind == EvRefused && d.at == m.now && !d.asked {
			r = 2
		}
		if r > rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return nil
	}
	d := m.decisions[best]
	m.decisions = append(m.decisions[:best:best], m.decisions[best+1:]...)
	return d
}

// decided judges a recorded decision: exactly what was asked, and only that (APR-5, INV-11, INV-12).
func (m *Machine) decided(ev *Event) {
	m.checked("INV-11")
	m.checked("INV-12")
	d := m.takeDecision(ev)
	approve := ev.Outcome == "approved"
	switch {
	case d == nil:
		m.fail("INV-12", ev.Session, ev.Server, 0, "a decision was recorded that nobody took", "APR-2")
	case d.approve != approve:
		m.fail("INV-12", ev.Session, ev.Server, 0, "recorded as "+ev.Outcome+", the person said otherwise", "APR-2")
	case ev.Config != d.config:
		m.fail("INV-11", ev.Session, ev.Server, 0, "recorded for another config than the one shown", "APR-5", "D-1")
	case m.mem.Records[ev.Server] == (Record{ev.Config, approve}): // a load has read what was written, before it was durable and told
	case !m.asks(d.session, d.server, d.config) && !(d.asked && d.askedTill == m.now):
		m.fail("INV-11", ev.Session, ev.Server, 0, "a decision was recorded for a question that is not asked now", "APR-5", "D-1", "D-14")
	}
	cfg := ev.Config
	if cfg == 0 && d != nil {
		cfg = d.config
	}
	rec := Record{cfg, approve}
	m.mem.Records[ev.Server] = rec
	if m.keptBad {
		m.kept, m.keptBad = map[string]Record{}, false
	}
	m.kept[ev.Server] = rec
	m.clearExtra("decision")
	m.changed()
	if approve {
		m.oweAll("an approval")
	} else {
		for _, s := range m.sessions {
			s.credit++
		}
	}
}

// refused judges a refusal: only what is not asked, or what could not be persisted (APR-5, APR-9).
func (m *Machine) refused(ev *Event) {
	m.checked("INV-11")
	d := m.takeDecision(ev)
	if d == nil {
		return
	}
	switch ev.Why {
	case "lock", "read", "write":
		if !m.faultAny["lock"] && !m.faultAny["eio"] && !m.faultAny["enospc"] && m.visible[Approvals].State != Unreadable && !m.diskFault() {
			m.fail("INV-11", d.session, d.server, 0, "a decision was not persisted ("+ev.Why+") though nothing stood in its way", "APR-9")
		}
		m.addExtra(Notice{File: "approvals", Kind: "decision"})
	default:
		if d.asked && m.asks(d.session, d.server, d.config) && d.at == m.now {
			m.fail("INV-11", d.session, d.server, 0, "an answer to a question that is asked was refused: "+ev.Why, "APR-5")
		}
		if !d.asked {
			m.reach("a stale answer refused")
		}
	}
}

// diskFault reports whether the world made the approvals file's directory unusable.
func (m *Machine) diskFault() bool { return m.faultAny["disk"] }

func (m *Machine) addExtra(n Notice) {
	for _, x := range m.extra {
		if x.File == n.File && x.Server == n.Server && x.Key == n.Key && x.Kind == n.Kind {
			return
		}
	}
	m.extra = append(m.extra, n)
}

func (m *Machine) clearExtra(kind string) {
	for i := 0; i < len(m.extra); i++ {
		if m.extra[i].Kind == kind {
			m.extra = append(m.extra[:i:i], m.extra[i+1:]...)
			i--
		}
	}
}

// asked judges a question event (ASK-1): exactly the queue as it is now.
func (m *Machine) asked(ev *Event) {
	s := m.session(ev.Session)
	if s == nil {
		return
	}
	m.checked("INV-11")
	m.judgeQueue(s)
	want := m.effective().Queue(s.id)
	if !sameQuestions(want, ev.Questions) {
		m.fail("INV-11", s.id, "", 0, fmt.Sprintf("asked %v, strictly pending are %v", ev.Questions, want), "ASK-1")
	}
	s.askOwed = false
	m.checked("INV-16")
	for _, q := range ev.Questions {
		m.noSecret(q.Text, "a question", false)
	}
}

func sameQuestions(a, b []Question) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

// judgeQueue notes when a question event is owed (ASK-1): the queue holds one that was not in it.
func (m *Machine) judgeQueue(s *session) {
	if !s.askDirty {
		return
	}
	s.askDirty = false
	q := m.effective().Queue(s.id)
	if sameQuestions(q, s.queue) {
		return
	}
	for _, x := range q {
		isNew := true
		for _, y := range s.queue {
			if x.Same(y) {
				isNew = false
			}
		}
		if isNew && !s.askOwed && m.initialized {
			s.askOwed, s.askAt, s.askAfterPass = true, m.now, false
		}
	}
	s.queue = q
}
