package model

import (
	"fmt"
	"sort"
)

// published judges what becomes visible of a connection in one session (REC-3, REC-9, REC-11, REC-15).
func (m *Machine) published(ev *Event) {
	c := m.conns[ev.Conn]
	s := m.session(ev.Session)
	if c == nil {
		return
	}
	for _, id := range [...]string{"INV-8", "INV-17", "INV-1"} {
		m.checked(id)
	}
	if s == nil {
		m.fail("INV-8", ev.Session, ev.Server, ev.Conn, "published to a session that is not open", "POOL-7")
		return
	}
	if c.phase == retired || c.phase == closed {
		m.fail("INV-17", s.id, c.server, c.id, "a retired connection published", "REC-9")
		return
	}
	if c.phase == dialling {
		m.fail("INV-8", s.id, c.server, c.id, "published before its discovery was complete", "REC-7")
	}
	if r := s.reg[c.server]; r != nil && r.conn != c {
		m.fail("INV-8", s.id, c.server, c.id, fmt.Sprintf("published while connection %d is still registered: purge comes first", r.conn.id), "REC-3")
	}
	if !c.holds(s.id) {
		m.fail("INV-8", s.id, c.server, c.id, "published to a session that does not hold it", "POOL-6")
	}
	e := m.effective()
	es := e.Server(s.id, c.server)
	if es == nil || es.Verdict != Admitted || es.Config.Fp != c.cfg.Fp {
		id := "LIVE-1"
		if es != nil && es.Verdict == PendingApproval {
			id = "INV-1"
		}
		m.fail(id, s.id, c.server, c.id, "published though it is not admitted with this config", "REC-15")
		return
	}
	if es.Config.Trust != ev.Trust {
		m.fail("LIVE-1", s.id, c.server, c.id, fmt.Sprintf("published with trust %v, the config says %v", ev.Trust, es.Config.Trust), "REC-6")
	}
	m.checked("LIVE-1")
	if b, ok := c.matching(es.Config, ev.Tools, ev.Prompts, ev.Resources); ok {
		c.lists = b
		c.tied = nil
		for _, v := range c.versions {
			if v != b[0] && sameSet(visibleTools(v, es.Config), ev.Tools) {
				c.tied = append(c.tied, v)
			}
		}
	} else {
		m.fail("LIVE-1", s.id, c.server, c.id, fmt.Sprintf("published tools %v, prompts %v, resources %v; it listed %s", ev.Tools, ev.Prompts, ev.Resources, c.listed(es.Config)), "REC-11", "REC-6")
	}
	s.reg[c.server] = &registered{conn: c, tools: ev.Tools, prompts: ev.Prompts, resources: ev.Resources, trust: ev.Trust, cfg: es.Config, at: m.now}
}

// matching finds, for each of the three lists, a behaviour in force whose list is, through the filters, the published one.
func (c *conn) matching(cfg *Config, tools, prompts, resources []string) (out [3]*Behaviour, ok bool) {
	for i := len(c.versions); i >= 0; i-- {
		b := c.listedLast() // first of all, what it listed last
		if i < len(c.versions) {
			b = [3]*Behaviour{c.versions[i], c.versions[i], c.versions[i]}
		}
		if out[0] == nil && b[0] != nil && sameSet(visibleTools(b[0], cfg), tools) {
			out[0] = b[0]
		}
		if out[1] == nil && b[1] != nil && sameSet(dedup(b[1].Prompts), prompts) {
			out[1] = b[1]
		}
		if out[2] == nil && b[2] != nil && sameSet(dedup(b[2].Resources), resources) {
			out[2] = b[2]
		}
	}
	return out, out[0] != nil && out[1] != nil && out[2] != nil
}

// untie decides, once settled, which of the lists that looked alike through the filters it was: the one that shows what is
// registered through the filters that are in force now.
func (m *Machine) untie(s *session, c *conn) {
	r, es := s.reg[c.server], m.effective().Server(s.id, c.server)
	if r == nil || r.conn != c || es == nil || c.lists[0] == nil || sameSet(visibleTools(c.lists[0], es.Config), r.tools) {
		return
	}
	tied := c.tied
	if c.changed[0] { // asked for again since, and what came looked alike as well
		tied = append(tied[:len(tied):len(tied)], c.versions[max(c.index(c.want[0]), 0):]...)
	}
	for _, v := range tied {
		if sameSet(visibleTools(v, es.Config), r.tools) {
			c.lists[0] = v
			return
		}
	}
}

// listedLast is what it listed last, where no change was announced since.
func (c *conn) listedLast() (out [3]*Behaviour) {
	for i := range out {
		if !c.changed[i] {
			out[i] = c.lists[i]
		}
	}
	return out
}

// shownLists are the behaviours whose lists must be shown: what was listed last, and once settled at least what was in
// force when a change was last announced (REC-11).
func (c *conn) shownLists(settled bool, r *registered) [3]*Behaviour {
	out := c.lists
	for i := range out {
		if out[i] == nil || settled && c.changed[i] && c.index(out[i]) < c.index(c.want[i]) {
			out[i] = c.want[i]
			if r != nil { // a later one may have been listed already, though nobody announced it
				for _, b := range c.versions[max(c.index(c.want[i]), 0):] {
					if i == 0 && sameSet(visibleTools(b, r.cfg), r.tools) || i == 1 && sameSet(dedup(b.Prompts), r.prompts) || i == 2 && sameSet(dedup(b.Resources), r.resources) {
						out[i] = b
					}
				}
			}
		}
		if out[i] == nil {
			out[i] = c.versions[len(c.versions)-1]
		}
	}
	return out
}

func (c *conn) index(b *Behaviour) int {
	for i := len(c.versions) - 1; i >= 0; i-- {
		if c.versions[i] == b {
			return i
		}
	}
	return -1
}

func (c *conn) listed(cfg *Config) string {
	b := c.versions[len(c.versions)-1]
	return fmt.Sprintf("%v, %v, %v", visibleTools(b, cfg), dedup(b.Prompts), dedup(b.Resources))
}

// visibleTools are a server's tools, each once (REC-11), through its config's filters (REC-6).
func visibleTools(b *Behaviour, cfg *Config) []string {
	var out []string
	for _, t := range dedup(b.Tools) {
		if cfg.Allows(t) {
			out = append(out, t)
		}
	}
	return out
}

func dedup(names []string) []string {
	for i := 1; i < len(names); i++ {
		for j := 0; j < i; j++ {
			if names[i] == names[j] {
				var out []string
				for _, n := range names {
					if !contains(out, n) {
						out = append(out, n)
					}
				}
				return out
			}
		}
	}
	return names
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// sameSet compares lists without repetitions, whatever their order.
func sameSet(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !contains(b, x) {
			return false
		}
	}
	return true
}

// purged judges a removal from a session's registry (INV-6), and notes it.
func (m *Machine) purged(ev *Event) {
	s := m.session(ev.Session)
	c := m.conns[ev.Conn]
	if s == nil {
		return
	}
	m.checked("INV-6")
	r := s.reg[ev.Server]
	if r == nil {
		return
	}
	if c == nil {
		c = r.conn
	}
	if r.conn != c {
		return // an old connection's purge that finds nothing of its own
	}
	if c.phase < retired && c.class == 0 && !c.mustLose && !(ev.Outcome == "publish" && m.faultAny["publish"]) {
		es := m.effective().Server(s.id, c.server)
		wanted := es != nil && es.Verdict == Admitted && es.Config.Fp == c.cfg.Fp && sameFilters(r.cfg, es.Config)
		s.purgedNow = append(s.purgedNow, purge{c, m.now, wanted && c.holds(s.id)})
	}
	delete(s.reg, ev.Server)
}

// purge is one that must turn out to be justified by the end of its instant: retired, or published anew.
type purge struct {
	c      *conn
	at     Ms
	wanted bool // it was held, admitted and unchanged when it was purged: a gap, however short (REC-4)
}

// judgePurges is called when an instant is over (INV-6, INV-7).
func (m *Machine) judgePurges(s *session) {
	for _, p := range s.purgedNow {
		if r := s.reg[p.c.server]; r != nil && r.conn == p.c {
			if p.wanted && !m.faultAny["publish"] {
				m.fail("INV-6", s.id, p.c.server, p.c.id, "an admitted and unchanged server was purged and published again", "REC-4")
			}
			continue
		}
		if p.wanted && p.c.phase < retired && !m.faultAny["publish"] {
			m.mustBeUnwanted(p.c, s.id, "purged")
		}
	}
	s.purgedNow = s.purgedNow[:0]
}

// judgeRegistry holds every entry against its connection when an instant is over (INV-8, REC-2).
func (m *Machine) judgeRegistry(s *session) {
	var gone []string
	for name, r := range s.reg {
		if r.conn.phase >= retired {
			gone = append(gone, name)
		}
	}
	sort.Strings(gone)
	for _, name := range gone {
		m.fail("INV-8", s.id, name, s.reg[name].conn.id, "its tools, prompts or resources are still registered though it is retired", "REC-2")
		delete(s.reg, name)
	}
}
