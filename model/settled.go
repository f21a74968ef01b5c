package model

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Expectation is what an observer must see: a Snapshot whose States may be sets. Optional holds notices that may or may
// not stand, because only the host can know (a listener that outlasted its time, a watch that could not be established).
type Expectation struct {
	Snapshot
	Optional []Notice
}

// Settled returns what must be seen when nothing is in flight, and judges what has no event of its own: that every
// change is loaded (LIVE-2), that every connection has a holder or a drain (INV-9), that nothing stands outside
// the lists (INV-2 to INV-4), that the approvals file holds what was decided (INV-12).
func (m *Machine) Settled(at Ms) (*Expectation, []Violation) {
	m.silence(at + 1)
	m.now = max(m.now, at)
	if !m.down {
		m.settledFiles()
		m.settledConns()
		m.settledSessions()
	} else {
		m.checked("INV-9")
		for _, dir := range m.watches {
			m.fail("INV-9", "", "", 0, "a watch outlived the shutdown: "+dir, "WAT-10")
		}
		for _, c := range m.open {
			if at < c.stuckFrom() || c.phase < retired {
				m.fail("INV-9", "", c.server, c.id, "a connection outlived the shutdown", "REC-13")
			}
		}
	}
	m.settledNow = true
	x := m.Expected()
	m.settledNow = false
	for _, c := range m.open {
		c.lists = c.shownLists(true, m.anyRegistered(c))
		c.changed = [3]bool{}
	}
	return x, m.take()
}

// adopt takes into what must be kept the decisions that the host did not live to report, where the file holds them: they may
// be recorded or not (APR-7).
func (m *Machine) adopt() {
	for _, d := range m.cutOff {
		if r, ok := m.onDisk[d.server]; ok && r.Config == d.config && r.Approved == d.approve {
			if m.keptBad {
				m.kept, m.keptBad = map[string]Record{}, false
			}
			m.kept[d.server] = r
		}
	}
	m.cutOff = nil
}

func (m *Machine) settledFiles() {
	m.checked("LIVE-2")
	for s := Defaults; s < Approvals; s++ {
		if m.watched(s) && m.unloaded(s) && m.mem.Files[s] != nil && !(m.mem.Files[s].File == Unreadable && m.visible[s].State != Unreadable) { // a read that failed is polled
			if _, diff := m.t.Load(s, m.mem.Files[s], m.visible[s]); diff.Notify {
				m.fail("LIVE-2", "", "", 0, "a change of "+s.String()+" is not in the settled state", "WAT-8")
			}
		}
	}
	m.checked("INV-12")
	if m.watched(Approvals) && m.records != Unreadable && !sameRecords(m.onDisk, m.mem.Records) && m.diskState == Good {
		m.fail("LIVE-2", "", "", 0, "a decision taken elsewhere is not in the settled state", "APR-7", "D-7")
	}
	m.adopt()
	if !m.keptBad && m.diskState != Unreadable && !sameRecords(m.onDisk, m.kept) {
		m.fail("INV-12", "", "", 0, "the approvals file does not hold what was decided", "APR-2", "APR-7")
	}
	for _, d := range m.decisions {
		m.fail("INV-11", d.session, d.server, 0, "an answer was neither recorded nor refused", "APR-5", "APR-9")
	}
	m.decisions = nil
}

func (m *Machine) settledConns() {
	m.checked("INV-9")
	for _, c := range m.open {
		if c.phase == retired && m.now < c.stuckFrom() {
			m.fail("INV-9", "", c.server, c.id, "settled while a retired connection has not ended", "REC-13")
		}
		if c.phase < retired && len(c.holders) == 0 && c.drainFrom < 0 {
			m.fail("INV-9", "", c.server, c.id, "a connection without a holder or a drain", "POOL-3")
		}
		if c.phase == live {
			for _, sid := range c.holders {
				if s := m.session(sid); s != nil && s.failedLast {
					continue // its pass failed and will be tried again: settled by definition, not in effect yet (D-4)
				}
				m.settledHolder(c, sid)
			}
		}
	}
}

// settledHolder judges that what is connected at settled may be (INV-2 to INV-5).
func (m *Machine) settledHolder(c *conn, sid SessionID) {
	for _, id := range [...]string{"INV-2", "INV-3", "INV-4"} {
		m.checked(id)
	}
	switch Decide(m.effective(), sid, c.server) {
	case NotAllowed:
		id := "INV-3"
		if m.barredByFlag(c.server) {
			id = "INV-2"
		}
		m.fail(id, sid, c.server, c.id, "connected at settled though it is not allowed")
	case Excluded:
		m.fail("INV-4", sid, c.server, c.id, "connected at settled though it is excluded")
	case Untrusted:
		m.fail("INV-5", sid, c.server, c.id, "connected at settled in an untrusted folder")
	case PendingApproval:
		m.fail("INV-1", sid, c.server, c.id, "connected at settled though it is not approved")
	}
}

func (m *Machine) settledSessions() {
	if !m.initialized {
		return
	}
	e := m.effective()
	m.checked("LIVE-1")
	for _, s := range m.sessions {
		s.credit = 0 // whatever was asked for has had its pass
		for _, c := range m.open {
			if c.phase == live && c.holds(s.id) && (len(c.tied) > 0 || c.changed[0]) {
				m.untie(s, c)
			}
		}
		for _, es := range e.Servers(s.id) {
			if es.Verdict != Admitted || s.failedLast {
				continue
			}
			c := s.last[es.Name]
			if c == nil || c.cfg.Fp != es.Config.Fp {
				if m.predecessor(s.id, &es) == nil {
					m.fail("LIVE-1", s.id, es.Name, 0, "admitted, and never tried with its current config", "REC-1")
				}
			} else if c.phase >= retired && c.class == 0 && m.now < c.stuckFrom() && m.predecessor(s.id, &es) == nil {
				m.fail("LIVE-1", s.id, es.Name, c.id, "admitted, and its connection was given up without a failure", "REC-1", "REC-4")
			} else if c.phase == dialling {
				m.fail("LIVE-1", s.id, es.Name, c.id, "settled while it is being dialled", "REC-7")
			}
		}
	}
}

// Expected is what an observer must see now, settled or not.
func (m *Machine) Expected() *Expectation {
	x := &Expectation{}
	e := m.effective()
	for _, s := range m.sessions {
		x.Sessions = append(x.Sessions, m.sessionView(e, s))
	}
	x.Sessions = append(x.Sessions, m.closedSessions()...)
	m.hostView(&x.Host)
	if m.faultAny["listener"] {
		x.Optional = append(x.Optional, Notice{Kind: "listener"})
	}
	if m.faultAny["watch"] {
		x.Optional = append(x.Optional, Notice{Kind: "watch"})
	}
	x.Optional = append(x.Optional, Notice{Kind: "stuck"})
	for _, c := range m.open {
		if len(c.versions) > 1 { // which of two scripts it listed from shows only where they differ
			x.Optional = append(x.Optional, Notice{Kind: "duplicate_tool"})
			break
		}
	}
	for _, s := range m.sessions {
		if s.failedLast {
			x.Optional = append(x.Optional, Notice{Kind: "duplicate_tool"}, Notice{Kind: "tool_name"})
		}
	}
	return x
}

// closedSessions are the sessions that are gone but whose calls somebody may still ask for.
func (m *Machine) closedSessions() []SessionView {
	var out []SessionView
	for _, k := range m.calls {
		if m.session(k.session) != nil {
			continue
		}
		var v *SessionView
		for i := range out {
			if out[i].ID == k.session {
				v = &out[i]
			}
		}
		if v == nil {
			out = append(out, SessionView{ID: k.session, Closed: true})
			v = &out[len(out)-1]
		}
		word := k.outcome
		if word == "" {
			word = "running"
		}
		v.Calls = append(v.Calls, CallView{k.id, word})
	}
	return out
}

func (m *Machine) sessionView(e *Effective, s *session) SessionView {
	v := SessionView{ID: s.id, Ask: e.Queue(s.id)}
	servers := e.Servers(s.id)
	v.Servers = slices.Grow(v.Servers, len(servers)+len(s.st.Removed))
	for i := range servers {
		v.Servers = append(v.Servers, m.serverView(e, s, &servers[i]))
	}
	for name := range s.st.Removed {
		if e.Server(s.id, name) == nil {
			v.Servers = append(v.Servers, ServerView{Name: name, States: StateRemoved, Text: e.StatusText(s.id, name)})
		}
	}
	if len(v.Servers) > len(servers) {
		slices.SortFunc(v.Servers, func(a, b ServerView) int { return strings.Compare(a.Name, b.Name) })
	}
	for i := range v.Servers {
		if st := v.Servers[i].States; st&failedStates != 0 && st&^failedStates == 0 {
			v.Hint = true
		} else if st&failedStates != 0 {
			v.HintOpen = true
		}
	}
	held := m.withheld(s, &v)
	v.Notices = m.notices(e, s, &v)
	for _, w := range held {
		v.Notices = append(v.Notices, Notice{Server: w[0], Key: w[1], Kind: "tool_name"})
		for i := range v.Servers {
			if v.Servers[i].Name == w[0] {
				v.Servers[i].Tools = dropName(v.Servers[i].Tools, w[1])
			}
		}
	}
	slices.SortStableFunc(v.Notices, compareNotices)
	for _, k := range m.calls {
		if k.session != s.id {
			continue
		}
		out := k.outcome
		if out == "" {
			out = "running"
		}
		v.Calls = append(v.Calls, CallView{k.id, out})
	}
	return v
}

func dropName(list []string, name string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		if x != name {
			out = append(out, x)
		}
	}
	return out
}

const failedStates = StateFailedRefused | StateFailedExit | StateFailedTimeout | StateFailedProtocol | StateFailedClosed | StateFailedStuck | StateFailedPublish

func (m *Machine) serverView(e *Effective, s *session, es *EffectiveServer) ServerView {
	v := ServerView{Name: es.Name, Text: e.StatusText(s.id, es.Name), File: SourceName(es.Source)}
	for _, sh := range es.Shadows {
		v.Shadows = append(v.Shadows, SourceName(sh))
	}
	if es.Verdict != Admitted {
		v.States = heldState(es)
		return v
	}
	c := s.last[es.Name]
	r := s.reg[es.Name]
	switch {
	case !m.initialized || c == nil || c.cfg.Fp != es.Config.Fp:
		v.States = StateDialing | StateUnknown
		if p := m.predecessor(s.id, es); p != nil {
			v.States = m.waiting(p)
		}
		if p := m.lostPredecessor(s, es); p != 0 {
			v.States |= p
		}
	case c.phase == dialling:
		v.States = StateDialing
	case c.phase == live:
		v.States = StateLive
		if r != nil {
			b := c.shownLists(m.settledNow, r)
			cfg := es.Config
			if s.failedLast { // the pass that would have taken the new filters failed (D-4)
				cfg = r.cfg
				if !sameFilters(r.cfg, es.Config) {
					v.States |= StateDialing // an open set: its lists are not compared
				}
			}
			v.Tools = sorted(visibleTools(b[0], cfg))
			v.Prompts, v.Resources = sorted(dedup(b[1].Prompts)), sorted(dedup(b[2].Resources))
		}
	case c.class != 0:
		v.States = c.class
		if c.phase != closed && m.now >= c.stuckFrom() {
			v.States |= StateFailedStuck
		} else if p := m.predecessor(s.id, es); p != nil && p != c {
			v.States |= m.waiting(p)
		}
	default:
		v.States = StateDialing
		if c.phase != closed {
			v.States = m.waiting(c)
		}
	}
	if s.failedLast && v.States&StateLive == 0 {
		v.States |= StateDialing | StateFailedStuck // what the failed pass would have dialled, or found stuck
	}
	if v.States&failedStates != 0 && v.States&^failedStates == 0 {
		v.Error = v.States.String()
	}
	return v
}

// waiting is the state of a server that waits for a predecessor's end: being dialled, or stuck once that is overdue.
func (m *Machine) waiting(p *conn) State {
	switch {
	case p.stuck:
		return StateFailedStuck
	case m.now >= p.stuckFrom():
		return StateFailedStuck | StateDialing
	}
	return StateDialing
}

// lostPredecessor: reserved for hosts that show the old failure until the new dial begins.
func (m *Machine) lostPredecessor(s *session, es *EffectiveServer) State {
	if s.failedLast {
		if c := s.last[es.Name]; c != nil {
			return c.class
		}
		return StateUnknown
	}
	return 0
}

func heldState(es *EffectiveServer) State {
	switch es.Verdict {
	case Disabled:
		return StateHeldDisabled
	case NotAllowed:
		return StateHeldNotAllowed
	case Excluded:
		return StateHeldExcluded
	case PendingApproval:
		if es.Rejected {
			return StateHeldRejected
		}
		return StateHeldPending
	case Untrusted:
		return StateHeldUntrusted
	}
	return StateUnknown
}

// anyRegistered is what some holder has registered of a connection, or nil.
func (m *Machine) anyRegistered(c *conn) *registered {
	for _, s := range m.sessions {
		if r := s.reg[c.server]; r != nil && r.conn == c {
			return r
		}
	}
	return nil
}

func sorted(names []string) []string {
	out := append([]string(nil), names...)
	sort.Strings(out)
	return out
}

func compareCounts(a, b Count) int { return strings.Compare(a.Server, b.Server) }

func (m *Machine) hostView(h *HostView) {
	h.Dials = slices.Grow(h.Dials, len(m.dials))
	for name, n := range m.dials {
		h.Dials = append(h.Dials, Count{name, n})
	}
	slices.SortFunc(h.Dials, compareCounts)
	procs := map[string]int{}
	for _, c := range m.open {
		if c.process() && !((m.starts || !m.opt.Loose) && c.phase == retired && !c.began) { // called off before anything of it existed
			n := 1
			if c.versions[len(c.versions)-1].Grandchild && c.phase < retired && !c.mustLose {
				n = 2
			}
			procs[c.server] += n
		}
		if m.shared(c.cfg) && c.phase < retired {
			h.Pool = append(h.Pool, PoolView{c.server, c.cfg.Fp, append([]SessionID(nil), c.holders...)})
		}
	}
	for name, n := range procs {
		h.Processes = append(h.Processes, Count{name, n})
	}
	slices.SortFunc(h.Processes, compareCounts)
	slices.SortStableFunc(h.Pool, func(a, b PoolView) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), cmp.Compare(a.Config, b.Config))
	})
	for name, r := range m.onDisk {
		h.Records = append(h.Records, RecordView{name, r.Config, r.Approved})
	}
	slices.SortFunc(h.Records, func(a, b RecordView) int { return strings.Compare(a.Server, b.Server) })
}
