package model

import (
	"fmt"
	"sort"
)

type phase uint8

const (
	dialling phase = iota
	live
	retired
	closed
)

const (
	closeInputMs Ms = 500   // REC-13
	terminateMs  Ms = 2000  // REC-13
	killMs       Ms = 1000  // REC-13
	remoteEndMs  Ms = 2000  // REC-13
	drainMs      Ms = 30000 // POOL-3
)

// conn is one connection attempt.
type conn struct {
	id        ConnID
	server    string
	cfg       *Config
	holders   []SessionID // sorted
	phase     phase
	dialAt    Ms
	bound     Ms
	answered  bool
	class     State // of its failure, once it failed or was lost
	world     State // classes that the world has caused: a crash, a behaviour
	retiredAt Ms
	drainFrom Ms // -1: not draining
	emptyAt   Ms
	emptyWhy  string
	lists     [3]*Behaviour // whose tools, prompts and resources it listed last, as far as the registry shows
	changed   [3]bool       // a change of that list was announced
	want      [3]*Behaviour // what was in force when it was announced
	versions  []*Behaviour  // behaviours in force since the list request that the next publication may answer
	tied      []*Behaviour  // other behaviours whose tools looked the same through the filters when it was published
	changedAt Ms
	stuck     bool
	everHeld  []SessionID // whoever held it at any time
	lostAt    Ms
	began     bool // the world saw its process or stream begin
	mustLose  bool // the world ended it at lostAt: it must be noticed (REC-14)
}

func (c *conn) process() bool { return c.cfg.Transport == Stdio }

func (c *conn) holds(s SessionID) bool {
	for _, h := range c.holders {
		if h == s {
			return true
		}
	}
	return false
}

func (c *conn) hold(s SessionID) {
	if !c.holds(s) {
		c.holders = append(c.holders, s)
		sort.Slice(c.holders, func(i, j int) bool { return c.holders[i] < c.holders[j] })
	}
}

func (c *conn) drop(s SessionID) {
	for i, h := range c.holders {
		if h == s {
			c.holders = append(c.holders[:i:i], c.holders[i+1:]...)
			return
		}
	}
}

// shared reports whether sessions share connections of this config (POOL-5): the one place where the mode counts.
func (m *Machine) shared(cfg *Config) bool { return m.launch.Mode == Pool && cfg.Transport == Stdio }

// rivals reports whether two connections may not exist at once (INV-9, REC-13): the same connection id where shared; the
// same session and name in single mode; the same session and id otherwise.
func (m *Machine) rivals(c *conn, server string, cfg *Config, sessions []SessionID) bool {
	if c.server != server {
		return false
	}
	if m.shared(cfg) {
		return m.shared(c.cfg) && c.cfg.Fp == cfg.Fp
	}
	if m.shared(c.cfg) || m.launch.Mode == Pool && c.cfg.Fp != cfg.Fp {
		return false
	}
	for _, s := range sessions {
		if c.holds(s) || c.was(s) {
			return true
		}
	}
	return false
}

// was reports whether a session held the connection when it was retired.
func (c *conn) was(s SessionID) bool { return c.lastHolder(s) }

func (c *conn) lastHolder(s SessionID) bool {
	for _, h := range c.everHeld {
		if h == s {
			return true
		}
	}
	return false
}

// dial judges the beginning of a connection.
func (m *Machine) dial(ev *Event) {
	cfg := m.t.ByID(ev.Config)
	sessions := ev.Sessions
	if len(sessions) == 0 && ev.Session != "" {
		sessions = []SessionID{ev.Session}
	}
	m.dials[ev.Server]++
	for _, id := range [...]string{"INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-9"} {
		m.checked(id)
	}
	e := m.effective()
	for _, sid := range sessions {
		if c := m.admitDial(e, sid, ev.Server, ev.Config, ev.Conn); c != nil {
			cfg = c
		}
		if s := m.session(sid); s != nil {
			m.checked("INV-11")
			if m.judgeQueue(s); s.askOwed && s.askAt == m.now && !s.askAfterPass {
				m.fail("INV-11", sid, ev.Server, ev.Conn, "dialled before a new question was raised", "D-16", "ASK-1")
			}
		}
	}
	if cfg == nil {
		m.fail("INV-1", "", ev.Server, ev.Conn, "a config was dialled that no source holds", "REC-15")
		return
	}
	c := &conn{id: ev.Conn, server: ev.Server, cfg: cfg, dialAt: m.now, bound: cfg.Discovery, drainFrom: -1, changedAt: -1}
	_, b := m.behaviour(cfg)
	c.versions = []*Behaviour{b}
	for _, o := range m.open {
		if o.phase != closed && m.rivals(o, ev.Server, cfg, sessions) {
			if o.phase == live && o.holdsAny(sessions) {
				m.fail("INV-6", first(sessions), ev.Server, o.id, fmt.Sprintf("connection %d is live with this very config, and %d was dialled beside it", o.id, c.id))
			} else {
				m.fail("INV-9", first(sessions), ev.Server, o.id, fmt.Sprintf("connection %d was dialled while %d of the same server has not ended", c.id, o.id))
			}
		}
		if o.phase != closed && o.server == ev.Server && o.cfg.Fp != cfg.Fp {
			m.reach("two fingerprints alive")
		}
	}
	for _, sid := range sessions {
		c.hold(sid)
		c.everHeld = append(c.everHeld, sid)
		if s := m.session(sid); s != nil {
			if prev := s.last[ev.Server]; prev != nil && prev.phase == dialling && prev.id != c.id {
				m.reach("a superseded dial")
			}
			s.last[ev.Server] = c
		}
	}
	m.conns[c.id] = c
	m.open = append(m.open, c)
}

func first(s []SessionID) SessionID {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

func (c *conn) holdsAny(sessions []SessionID) bool {
	for _, s := range sessions {
		if c.holds(s) {
			return true
		}
	}
	return false
}

// admitDial judges a dial for one session (REC-15) and returns the config it should have.
func (m *Machine) admitDial(e *Effective, sid SessionID, name string, cfg ConfigID, id ConnID) *Config {
	if m.session(sid) == nil {
		m.fail("LIVE-1", sid, name, id, "dialled for a session that is not open", "POOL-7")
		return nil
	}
	if !m.initialized {
		m.fail("INV-5", sid, name, id, "dialled before initialisation", "CFG-2")
	}
	es := e.Server(sid, name)
	switch v := Decide(e, sid, name); v {
	case Admitted:
		if es.Config.ID != cfg {
			if es.Source.Gated() && !m.launch.ApprovalsOff {
				m.fail("INV-1", sid, name, id, "the config that was dialled is not the one that is approved", "REC-15", "APR-1")
			} else {
				m.fail("LIVE-1", sid, name, id, "the config that was dialled is not the current one", "REC-15", "REC-1")
			}
		}
		return es.Config
	case NotAllowed:
		if m.barredByFlag(name) {
			m.fail("INV-2", sid, name, id, "the launch flag bars it")
		} else {
			m.fail("INV-3", sid, name, id, "an allow list does not hold it", "ADM-2", "D-11")
		}
	case Excluded:
		m.fail("INV-4", sid, name, id, "it is excluded")
	case PendingApproval:
		m.fail("INV-1", sid, name, id, "it is not approved")
	case Untrusted:
		m.fail("INV-5", sid, name, id, "the folder is untrusted")
	case Disabled:
		m.fail("LIVE-1", sid, name, id, "it is disabled", "ADM")
	default:
		m.fail("LIVE-1", sid, name, id, "it is not configured", "REC-1", "REC-15")
	}
	if es != nil {
		return es.Config
	}
	return nil
}

func (m *Machine) barredByFlag(name string) bool {
	if !m.launch.HasFlag {
		return false
	}
	for _, p := range m.launch.Flag {
		if p != "" && Match(p, name) {
			return false
		}
	}
	return true
}

// startedProcess holds what the world saw begin against what the host said (INV-1).
func (m *Machine) startedProcess(in *Input) {
	m.checked("INV-1")
	m.starts = true
	if c := m.conns[in.Conn]; c == nil || c.server != in.Server {
		m.fail("INV-1", "", in.Server, in.Conn, "a process or connection began that no dial announced")
	} else {
		c.began = true
	}
}

func (m *Machine) dialed(ev *Event) {
	c := m.conns[ev.Conn]
	if c == nil {
		return
	}
	m.checked("LIVE-1")
	switch {
	case c.phase == retired || c.phase == closed:
		m.fail("INV-17", "", c.server, c.id, "a retired connection became live")
		return
	case m.possible(c)&StateLive == 0:
		m.fail("LIVE-1", first(c.holders), c.server, c.id, "the dial cannot have succeeded: "+m.possible(c).String(), "REC-7", "REC-8")
	}
	c.phase, c.answered = live, true
	for i := range c.lists {
		c.lists[i] = c.versions[len(c.versions)-1]
	}
}

// possible is what this dial may have come to, given every behaviour in force while it ran.
func (m *Machine) possible(c *conn) State {
	set := c.world
	for _, b := range c.versions {
		set |= outcomes(b, c.cfg.Transport, c.bound, m.opt.Slack)
	}
	if len(c.versions) > 1 { // it may have met each step as another one
		set |= StateLive | StateFailedTimeout
		for _, b := range c.versions {
			if b.Fault != NoFault {
				set |= faultClass(b.Fault, b.FaultAt, c.cfg.Transport)
			}
		}
	}
	return set
}

func (m *Machine) dialFailed(ev *Event) {
	c := m.conns[ev.Conn]
	if c == nil {
		return
	}
	m.checked("LIVE-1")
	class := classState(ev.Outcome)
	if c.phase == dialling {
		if p := m.possible(c); p&class == 0 {
			m.fail("LIVE-1", first(c.holders), c.server, c.id, fmt.Sprintf("the dial failed as %s, it can only have come to %s", ev.Outcome, p), "REC-8")
		}
		if class == StateFailedTimeout && m.now < c.dialAt+c.bound {
			m.fail("LIVE-1", first(c.holders), c.server, c.id, fmt.Sprintf("timed out after %d ms, its bound is %d ms", m.now-c.dialAt, c.bound), "REC-7")
		}
		if len(c.holders) > 1 {
			m.reach("evicted with two holders")
		}
	}
	m.retire(c, class)
}

// retire takes a connection out of service; class is why it failed, or 0.
func (m *Machine) retire(c *conn, class State) {
	if c.phase >= retired {
		return
	}
	if c.phase == dialling && class == 0 {
		m.reach("a dial given up")
	}
	c.phase, c.retiredAt, c.class = retired, m.now, class
	c.drainFrom = -1
	why := "error:retired"
	if class != 0 {
		why = "error:lost"
	}
	m.endCalls(func(k *call) bool { return k.conn == c }, why)
}

// closing judges the beginning of a connection's end: by a pass only if nobody still wants it (INV-6).
func (m *Machine) closing(ev *Event) {
	c := m.conns[ev.Conn]
	if c == nil {
		return
	}
	m.checked("INV-6")
	if c.phase < retired {
		class := classState(ev.Outcome)
		switch {
		case ev.Outcome != "" && class != StateUnknown:
			m.lost(c, class)
			return
		case m.down:
		case c.drainFrom >= 0 && len(c.holders) == 0:
			if m.now < c.drainFrom+drainMs {
				m.fail("INV-6", "", c.server, c.id, fmt.Sprintf("closed %d ms into its drain", m.now-c.drainFrom), "POOL-3")
			}
		case len(c.holders) == 0 && c.emptyWhy == "close" && c.phase == live && m.shared(c.cfg):
			m.fail("INV-9", "", c.server, c.id, "closed at once though it was left by a session that closed: it must drain", "POOL-3")
		default:
			for _, sid := range c.holders {
				m.mustBeUnwanted(c, sid, "retired")
			}
		}
		if m.launch.Mode == Pool && c.phase == dialling && len(c.holders) == 0 {
			m.reach("last waiter left")
		}
		m.retire(c, 0)
	}
}

// lost judges a live connection that the host gave up as failed (REC-14, REC-11).
func (m *Machine) lost(c *conn, class State) {
	if c.phase == live && c.world&class == 0 && class != StateFailedPublish && !m.refreshMayFail(c, class) {
		m.fail("INV-6", first(c.holders), c.server, c.id, "given up as "+class.String()+", but nothing happened to it", "REC-14", "REC-5")
	}
	if c.phase == dialling && m.possible(c)&class == 0 && class != StateFailedPublish {
		m.fail("LIVE-1", first(c.holders), c.server, c.id, "the dial failed as "+class.String()+", it can only have come to "+m.possible(c).String(), "REC-8")
	}
	if len(c.holders) > 1 {
		m.reach("evicted with two holders")
	}
	m.retire(c, class)
}

// refreshMayFail reports whether a list request after list_changed may have failed so (REC-11), or a call broken the stream.
func (m *Machine) refreshMayFail(c *conn, class State) bool {
	if class == StateFailedTimeout && c.changedAt >= 0 && m.now >= c.changedAt+c.bound {
		return true
	}
	for _, b := range c.versions {
		if c.changedAt >= 0 && b.Fault != NoFault && b.FaultAt >= StepTools && b.FaultAt <= StepResources && faultClass(b.Fault, b.FaultAt, c.cfg.Transport)&class != 0 {
			return true
		}
		if b.Fault != NoFault && b.FaultAt == StepCall && faultClass(b.Fault, StepCall, c.cfg.Transport)&class != 0 {
			return true
		}
	}
	return false
}

// mustBeUnwanted fails if a session is still entitled to a connection exactly as it is (INV-6).
func (m *Machine) mustBeUnwanted(c *conn, sid SessionID, what string) {
	s := m.session(sid)
	if s == nil || m.down {
		return
	}
	e := m.effective()
	es := e.Server(sid, c.server)
	if es == nil || es.Verdict != Admitted || es.Config.Fp != c.cfg.Fp {
		return
	}
	if r := s.reg[c.server]; r != nil && r.conn == c && !sameFilters(r.cfg, es.Config) {
		return // REC-6: in single mode the host may re-dial for it
	}
	if m.faultAny["publish"] && c.phase != live {
		return
	}
	m.fail("INV-6", sid, c.server, c.id, "an admitted and unchanged server was "+what)
}

func sameFilters(a, b *Config) bool {
	return a == b || a.Trust == b.Trust && sameStrings(a.Include, b.Include) && (a.Include == nil) == (b.Include == nil) && sameStrings(a.Exclude, b.Exclude)
}

func (m *Machine) closedConn(ev *Event) {
	c := m.conns[ev.Conn]
	if c == nil {
		return
	}
	if c.phase < retired {
		// An end that was not announced: judged as a beginning of one.
		m.closing(ev)
	}
	if m.now >= c.stuckFrom() { // its end may ask for a pass of whoever waited for it (REC-13)
		for _, s := range m.sessions {
			s.credit++
		}
		if c.process() {
			m.reach("a process that will not end")
		}
	}
	if c.stuck {
		for _, sid := range c.everHeld {
			if s := m.session(sid); s != nil {
				m.owe(s, "a stuck process is gone")
			}
		}
		c.stuck = false
	}
	c.phase = closed
	m.forget(c.id)
	for i, o := range m.open {
		if o == c {
			m.open = append(m.open[:i:i], m.open[i+1:]...)
			break
		}
	}
}

// maxGone bounds the closed connections that are known, so that what comes for one of them is still judged.
const maxGone = 4096

// forget forgets the oldest closed connections when there are many.
func (m *Machine) forget(id ConnID) {
	if m.gone = append(m.gone, id); len(m.gone) > 2*maxGone {
		for _, old := range m.gone[:maxGone] {
			delete(m.conns, old)
		}
		m.gone = append(m.gone[:0:0], m.gone[maxGone:]...)
	}
}

func (m *Machine) acquired(ev *Event) {
	c := m.conns[ev.Conn]
	s := m.session(ev.Session)
	if c == nil {
		return
	}
	m.checked("INV-9")
	if s == nil {
		m.fail("INV-9", ev.Session, ev.Server, c.id, "a session that is not open acquired a connection", "POOL-7")
		return
	}
	if c.phase >= retired {
		m.fail("INV-17", ev.Session, ev.Server, c.id, "a retired connection was acquired")
		return
	}
	e := m.effective()
	if es := e.Server(s.id, c.server); (es == nil || es.Verdict != Admitted || es.Config.Fp != c.cfg.Fp) && !c.holds(s.id) {
		m.admitDial(e, s.id, c.server, c.cfg.ID, c.id)
	}
	if c.drainFrom >= 0 {
		m.reach("re-acquired within the drain")
		c.drainFrom = -1
	}
	if !c.holds(s.id) {
		c.hold(s.id)
		if !c.lastHolder(s.id) {
			c.everHeld = append(c.everHeld, s.id)
		}
	}
	s.last[c.server] = c
}

func (m *Machine) released(ev *Event) {
	c := m.conns[ev.Conn]
	if c == nil || !c.holds(ev.Session) {
		return
	}
	m.checked("INV-6")
	open := m.session(ev.Session) != nil
	c.drop(ev.Session)
	switch {
	case ev.Outcome == "publish" && m.faultAny["publish"]:
		s := m.session(ev.Session) // CFG-4: it failed for this session alone
		own := *c
		own.phase, own.class, own.holders, own.stuck, own.retiredAt = retired, StateFailedPublish, nil, false, m.now
		if s != nil {
			s.last[c.server] = &own
			s.refused = true
		}
	case c.phase < retired && c.class == 0 && open:
		m.mustBeUnwanted(c, ev.Session, "released")
	}
	m.endCalls(func(k *call) bool { return k.conn == c && k.session == ev.Session }, "error:retired")
	if len(c.holders) == 0 && c.phase < retired {
		c.emptyAt = m.now
		c.emptyWhy = "pass"
		if !open {
			c.emptyWhy = "close"
		}
	}
}

// listChanged: every live connection of the behaviour says that its lists changed (REC-11).
func (m *Machine) listChanged(in *Input) {
	for _, c := range m.open {
		k, _ := m.behaviour(c.cfg)
		if !(in.Key != "" && k == in.Key || in.Key == "" && c.server == in.Server || k == "" && c.server == in.Key) {
			continue
		}
		if c.phase >= retired {
			m.reach("a retired connection spoke")
			continue
		}
		if c.changedAt < 0 {
			c.changedAt = m.now
		}
		for i, name := range listKinds {
			if len(in.Kinds) == 0 || contains(in.Kinds, name) {
				c.changed[i], c.want[i] = true, c.versions[len(c.versions)-1]
			}
		}
	}
}

// listKinds are the three lists of a server, in the order of conn.lists.
var listKinds = [...]string{"tools", "prompts", "resources"}

// crash: every process or stream of the behaviour ends now.
func (m *Machine) crash(in *Input) {
	for _, c := range m.open {
		k, _ := m.behaviour(c.cfg)
		if in.Key != "" && k != in.Key || in.Key == "" && c.server != in.Server {
			continue
		}
		if c.process() {
			c.world |= StateFailedExit
		} else {
			c.world |= StateFailedClosed
		}
		if c.phase < retired && c.began {
			c.lostAt = m.now
			c.mustLose = true
		}
	}
}
