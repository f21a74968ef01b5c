package impl

import (
	"slices"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
)

// registry is what one session offers: per server what its live connection listed, through the session's own filters
// (POOL-6). No entry outlives its connection (INV-8).
type registry struct {
	servers map[string]*registration
	names   map[string][]offer // by the name a model knows (VIEW-3)
}

// registration is one server's part.
type registration struct {
	conn                      *conn
	trust                     bool
	tools, prompts, resources []string
	names                     []string // what a model knows each of tools by
}

func (r *registry) init() {
	r.servers = map[string]*registration{}
	r.names = map[string][]offer{}
}

func (r *registry) empty() bool { return len(r.servers) == 0 }

// publish puts what a live connection listed into the session's registry, in one step (REC-4), if the session is still to
// have it (REC-15). A publication that is refused fails this server in this session alone and asks for a retry (CFG-4).
func (h *Host) publish(s *session, l *link) {
	c := l.conn
	sv, x := h.desired(s, l.server)
	if sv == nil || x.Fingerprint != c.exp.Fingerprint {
		h.release(s, l, "no_longer_admitted")
		h.updated(s, l.server)
		return
	}
	l.entry = sv.entry
	if err := h.inject("publish", s, l.server); err != nil {
		h.refusePublication(s, l)
		return
	}
	old := s.registry.servers[l.server]
	invariant(old == nil || old.conn == c, "INV-8", "%s: published before its predecessor was purged", l.server) // REC-3
	invariant(c.phase == live, "INV-17", "%s: connection %d is not live", l.server, c.id)
	r := register(c, l.entry)
	h.setRegistration(s, l.server, r)
	h.noteListing(s, l)
	h.emit(&event.Event{Kind: event.Published, Session: s.id, Server: l.server, Conn: c.id, Tools: r.tools, Prompts: r.prompts,
		Resources: r.resources, Trust: r.trust})
	h.updated(s, l.server)
}

// republish brings a registration up to date with new lists, filters or trust; without a difference nothing happens.
func (h *Host) republish(s *session, l *link) {
	if old := s.registry.servers[l.server]; old != nil && old.conn == l.conn && old.same(register(l.conn, l.entry)) {
		h.noteListing(s, l)
		return
	}
	h.publish(s, l)
}

// refilter is REC-6: a change of filters or trust alone touches no connection, in either mode.
func (h *Host) refilter(s *session, l *link) {
	if l.conn.phase == live {
		h.republish(s, l)
	}
}

func register(c *conn, e *config.Entry) *registration {
	r := &registration{conn: c, trust: e.Trust, prompts: c.lists.prompts, resources: c.lists.resources}
	for i, t := range c.lists.tools {
		if !e.Visible(t) {
			r.tools = append(make([]string, 0, len(c.lists.tools)), c.lists.tools[:i]...)
			for _, t := range c.lists.tools[i+1:] {
				if e.Visible(t) {
					r.tools = append(r.tools, t)
				}
			}
			return r
		}
	}
	r.tools = c.lists.tools
	return r
}

func (r *registration) same(o *registration) bool {
	return r.trust == o.trust && slices.Equal(r.tools, o.tools) && slices.Equal(r.prompts, o.prompts) && slices.Equal(r.resources, o.resources)
}

// purge removes a server's tools, prompts and resources, all three (REC-2).
func (h *Host) purge(s *session, server string) {
	r := s.registry.servers[server]
	if r == nil {
		return
	}
	h.setRegistration(s, server, nil)
	h.give(sessionGiver(s.id, "lists\x00"+server), nil)
	h.emit(&event.Event{Kind: event.Purged, Session: s.id, Server: server, Conn: r.conn.id})
}

// refusePublication: the server fails in this session. Its connection ends, unless other sessions hold it.
func (h *Host) refusePublication(s *session, l *link) {
	h.publishRefused(s)
	if len(l.conn.holders) == 1 {
		h.lose(l.conn, "publish")
		return
	}
	l.fail("publish")
	h.release(s, l, "publish")
	h.updated(s, l.server)
}

// noteListing tells of names listed twice, one notice per kind of list (REC-11).
func (h *Host) noteListing(s *session, l *link) {
	var notices []event.Notice
	for _, k := range [...]struct {
		bit  kinds
		name string
	}{{promptList, "prompts"}, {resourceList, "resources"}, {toolList, "tools"}} {
		if l.conn.lists.twice&k.bit != 0 {
			notices = append(notices, event.Notice{Server: l.server, Key: k.name, Kind: "duplicate_tool", Session: s.id,
				Text: "the server lists a name twice; the first counts"})
		}
	}
	h.give(sessionGiver(s.id, "lists\x00"+l.server), notices)
}
