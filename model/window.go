package model

import "fmt"

const (
	debounceMs    Ms = 300  // WAT-2
	debounceMaxMs Ms = 3000 // WAT-2
	pollMs        Ms = 2000 // WAT-9
)

// window is the debounce as a demand on the host (WAT-2): each wake moves the moment by which every woken source must have
// been loaded to wake + 300 ms, but to no later than 3 s after the first wake not yet loaded.
type window struct {
	pending   [NumScopes]bool
	since     [NumScopes]Ms // the first event not yet loaded of each that is pending
	first     Ms
	last      Ms
	any       bool
	hostAny   bool // the host woke itself (a re-check after arming): its load is allowed, from then + 300
	hostLast  Ms
	hostFirst Ms
	reload    bool // /reload or a decision may load at any moment
	trust     bool
	fileAt    Ms // when the world last touched a source
	loadedAt  [NumScopes]Ms
	unsure    bool // an event came that the host may have missed (WAT-9): when its window ends is not known,
	ended     Ms   // when a window ended in the instant of a further event, plus 1: its load may be told after that
	served    Ms   // until it loads: when it did so, plus 1; 0: not yet
	woken     Ms   // when the host was last woken, plus 1; 0: never
}

func (w *window) wake(s Scope, at Ms) {
	if w.any && w.due() == at {
		w.ended = at + 1
	}
	if !w.any {
		w.any, w.first = true, at
	}
	w.last = at
	if !w.pending[s] {
		w.pending[s], w.since[s] = true, at
	}
}

func (w *window) hostWake(at Ms) {
	if !w.hostAny {
		w.hostAny, w.hostFirst = true, at
	}
	w.hostLast = at
}

// due is the moment by which what is pending must be loaded.
func (w *window) due() Ms { return min(w.last+debounceMs, w.first+debounceMaxMs) }

func (w *window) hostDue() Ms { return min(w.hostLast+debounceMs, w.hostFirst+debounceMaxMs) }

func (w *window) forget(s Scope) {
	w.pending[s] = false
	w.any = false
	for i := range w.pending {
		if w.pending[i] && (!w.any || w.since[i] < w.first) {
			w.any, w.first = true, w.since[i]
		}
	}
}

// counts reports whether a source is read at all in this process (SRC-11 to SRC-13, WAT-1).
func (m *Machine) counts(s Scope) bool {
	switch s {
	case Approvals:
		return !m.launch.Bare
	case Project:
		return !m.launch.Bare && m.mem.Trusted
	case Workspace:
		return !m.launch.Bare && m.mem.Trusted && !m.launch.HomeIsRoot
	}
	return !m.launch.Bare
}

// watched reports whether the watcher follows a source (WAT-1).
func (m *Machine) watched(s Scope) bool {
	return s != Defaults && s != System && m.counts(s)
}

// load handles a load event: the machine's memory takes what the read got.
func (m *Machine) load(ev *Event) {
	s := ev.Scope
	if s >= NumScopes {
		return
	}
	m.checked("INV-13")
	if ev.Why == "watcher" {
		m.windowLoad(s)
	}
	m.win.loadedAt[s] = m.now
	m.win.forget(s)
	switch {
	case m.win.any:
	case ev.Why != "watcher" && m.win.woken == m.now+1: // an event that came while it was read may not be in it
		m.win.hostFirst, m.win.hostLast = m.now, m.now
	default:
		m.win.hostAny = false
	}
	content := m.visible[s]
	if r := m.read[s]; r != nil {
		content, m.read[s] = *r, nil
	}
	if s == Approvals {
		m.loadRecords(content, ev.Why == "start")
		return
	}
	want := "kept"
	switch content.State {
	case Good:
		want = "ok"
	case Missing:
		want = "missing"
	}
	if ev.Outcome != "" && ev.Outcome != want {
		m.fail("LIVE-2", "", "", 0, fmt.Sprintf("%s was loaded as %s, but what a read gives is %s", s, ev.Outcome, want), "SRC-6")
	}
	if !m.counts(s) {
		return
	}
	next, diff := m.t.Load(s, m.mem.Files[s], content)
	if len(diff.Restart) > 0 && diff.Notify {
		m.reach("mixed save")
	}
	if diff.How == "created" && ev.Why == "watcher" {
		m.reach("a source moved in")
	}
	prev := m.mem.Files[s]
	first := prev == nil && (ev.Why == "start" || ev.Why == "trust")
	m.mem.Files[s] = next
	if diff.Notify && !first {
		m.mustNotify(s, diff.How)
	}
	if prev == nil {
		prev = &Loaded{}
	}
	if !sameLayer(&prev.Layer, &next.Layer) { // else every effective map is what it was
		m.changed()
	}
	if diff.Notify && !first {
		m.gateAll()
	}
}

// windowLoad judges the moment of a load by the watcher (WAT-2).
func (m *Machine) windowLoad(s Scope) {
	if m.win.unsure && m.win.served == 0 {
		m.win.served = m.now + 1
	}
	switch {
	case len(m.deaf) > 0 || m.win.unsure && m.win.served == m.now+1: // which events reached the host is not known
	case m.win.any && m.win.pending[s]:
		if due := m.win.due(); m.now < due && m.win.ended != m.now+1 && !(m.win.hostAny && m.now >= m.win.hostDue()) && !m.opt.Loose {
			m.fail("INV-13", "", "", 0, fmt.Sprintf("%s was loaded at %d, before its debounce window ends at %d", s, m.now, due))
		}
	case m.win.hostAny || m.win.hostDue() == m.now:
	case m.win.loadedAt[s] == m.now:
		m.fail("INV-13", "", "", 0, fmt.Sprintf("%s was loaded twice in one debounce window", s))
	case m.opt.Loose:
	default:
		m.fail("INV-13", "", "", 0, fmt.Sprintf("%s was loaded by the watcher though nothing concerned it", s))
	}
}

// mustNotify notes that listeners must hear of a scope at this instant.
func (m *Machine) mustNotify(s Scope, how string) {
	for i := range m.notify {
		if m.notify[i].Scope == s {
			m.notify[i].How = how
			return
		}
	}
	if len(m.notify) == 0 {
		m.notifyAt = m.now
	}
	m.notify = append(m.notify, ScopeChange{s, how})
}

// notified judges a notification (WAT-3 to WAT-5).
func (m *Machine) notified(ev *Event) {
	m.checked("INV-13")
	for _, ch := range ev.Scopes {
		found := false
		for i := range m.notify {
			if m.notify[i].Scope == ch.Scope {
				if m.notify[i].How != ch.How && ch.Scope != Approvals {
					m.fail("INV-13", "", "", 0, fmt.Sprintf("%s was announced as %s, it was %s", ch.Scope, ch.How, m.notify[i].How), "WAT-5")
				}
				m.notify = append(m.notify[:i:i], m.notify[i+1:]...)
				found = true
				break
			}
		}
		if !found && !m.win.trust {
			m.fail("INV-13", "", "", 0, fmt.Sprintf("a change of %s was announced, but its loaded content is what it was", ch.Scope), "WAT-3", "WAT-4")
		}
	}
	if len(ev.Scopes) == 0 && !m.win.trust {
		m.fail("INV-13", "", "", 0, "a notification without a change", "WAT-3")
	}
}

// loadRecords takes the approvals file as it was read (APR-2, APR-8, D-7).
func (m *Machine) loadRecords(c Content, start bool) {
	m.records = c.State
	next := map[string]Record{}
	if c.State == Good {
		next = copyRecords(m.onDisk)
	}
	if sameRecords(next, m.mem.Records) {
		return
	}
	for name, r := range m.mem.Records {
		if r.Approved && !next[name].Approved && !start {
			m.reach("a revocation from elsewhere")
		}
	}
	m.mem.Records = next
	m.changed()
	if !start {
		m.mustNotify(Approvals, "modified")
		m.gateAll()
	}
}

func sameRecords(a, b map[string]Record) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// gateAll decides which sessions owe a pass after a notification (GATE-1, GATE-6).
func (m *Machine) gateAll() {
	e := m.effective()
	for _, s := range m.sessions {
		if m.differs(s, e) {
			m.owe(s, "the map, a list or trust differs from what was applied")
		} else if s.failedLast {
			s.credit++ // a retry is due: the pass may come now (GATE-1)
		}
	}
}

// differs is GATE-1's comparison.
func (m *Machine) differs(s *session, e *Effective) bool {
	return !s.appliedOK || s.applied != e.SettingsMap(s.id) || !sameLists(s.lists, e.Lists(s.id)) || s.trusted != m.mem.Trusted
}

func sameLists(a, b Lists) bool {
	if !sameStrings(a.Excluded, b.Excluded) || !sameStrings(a.Pending, b.Pending) || len(a.Allowed) != len(b.Allowed) {
		return false
	}
	for i := range a.Allowed {
		if a.Allowed[i].Layer != b.Allowed[i].Layer || !sameStrings(a.Allowed[i].Names, b.Allowed[i].Names) {
			return false
		}
	}
	return true
}
