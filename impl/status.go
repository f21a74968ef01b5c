package impl

import (
	"slices"
	"strings"

	"mcpsim/impl/admission"
	"mcpsim/impl/approval"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Status is what a person is shown of one session (VIEW-1, VIEW-2). It holds no secrets, arguments or URLs but in questions.
type Status struct {
	Session   port.SessionID
	Servers   []ServerStatus // the effective map and the removed names, sorted by name
	Questions []event.Question
	Notices   []event.Notice // standing ones that concern the session, host-wide ones included
	Hint      bool           // some server really failed: "see the error log" (VIEW-2)
	Calls     []string       // ids of the running calls, in order of their start
}

// ServerStatus is one server of a session.
type ServerStatus struct {
	Name    string
	Verdict admission.Verdict
	// State is live, dialing, failed:<class>, held:<verdict> (held:rejected if the approval says so), removed or unknown.
	State                     string
	Text                      string // the verdict's sentence; empty if admitted
	Error                     string // the failure's; empty if it has not failed
	Source                    string // the winning source: a scope's name, launch, session, runtime or extension
	Shadows                   []string
	Conn                      port.ConnID // of a live or dialling connection
	Trust                     bool
	Tools, Prompts, Resources []string // offered, in the server's order
}

// Status returns what the session shows now; of a session that is not open it is empty.
func (h *Host) Status(id port.SessionID) Status {
	st := Status{Session: id}
	s := h.session(id)
	if s == nil {
		return st
	}
	v := h.view(s)
	for i := range v.servers {
		st.Servers = append(st.Servers, h.serverStatus(s, &v.servers[i]))
	}
	for _, name := range s.removedNames() {
		st.Servers = append(st.Servers, ServerStatus{Name: name, Verdict: admission.Removed, State: "removed", Text: "removed"})
	}
	slices.SortStableFunc(st.Servers, func(a, b ServerStatus) int { return strings.Compare(a.Name, b.Name) })
	for i := range st.Servers {
		st.Hint = st.Hint || st.Servers[i].Error != ""
	}
	st.Questions = h.Questions(id)
	st.Notices = h.notices(id)
	for _, k := range s.calls {
		st.Calls = append(st.Calls, k.id)
	}
	return st
}

func (h *Host) serverStatus(s *session, sv *served) ServerStatus {
	out := ServerStatus{Name: sv.name, Verdict: sv.verdict, Source: sv.from.String(), Trust: sv.entry.Trust}
	for _, x := range sv.shadows {
		out.Shadows = append(out.Shadows, x.String())
	}
	if sv.verdict != admission.Admitted {
		out.State, out.Text = held(sv)
		return out
	}
	l := s.link(sv.name)
	switch {
	case l != nil && l.conn == nil && l.class != "":
		out.State, out.Error = "failed:"+l.class, failureText(l.class, sv)
	case l == nil || l.conn == nil: // not tried yet: the pass that will dial it has not begun, or failed
		out.State = "dialing"
	case l.conn.phase != live || l.entry != sv.entry && l.conn.exp.Fingerprint != h.expand(sv.entry).Fingerprint:
		out.State, out.Conn = "dialing", l.conn.id // or waiting for its predecessor's end, or for a pass
	default:
		out.State, out.Conn = "live", l.conn.id
		if r := s.registry.servers[sv.name]; r != nil {
			for i, t := range r.tools {
				if s.registry.offered(sv.name, t, r.names[i]) && sv.entry.Visible(t) {
					out.Tools = append(out.Tools, t)
				}
			}
			out.Prompts, out.Resources = r.prompts, r.resources
		}
	}
	return out
}

// held is the state and the sentence of a server that is not admitted (VIEW-1).
func held(sv *served) (state, text string) {
	switch sv.verdict {
	case admission.Disabled:
		text = "disabled"
	case admission.NotAllowed:
		text = "not allowed"
	case admission.Excluded:
		text = "excluded"
	case admission.PendingApproval:
		if sv.approval == approval.Rejected {
			return "held:rejected", "rejected: edit the config to be asked again"
		}
		text = "needs approval"
	case admission.Untrusted:
		text = "untrusted folder"
	}
	return "held:" + sv.verdict.String(), text
}

// failureText says what went wrong without quoting the transport: its errors name arguments and URLs (INV-16).
func failureText(class string, sv *served) string {
	text := class + ": "
	switch class {
	case "refused":
		text += "it could not be started or reached"
	case "exit":
		text += "its process ended"
	case "timeout":
		text += "it did not answer in time"
	case "protocol":
		text += "it answered with an error, or with something that is not MCP"
	case "closed":
		text += "it closed the connection"
	case "stuck":
		text += "its old process does not end"
	case "publish":
		text += "its tools could not be published"
	}
	if sv.entry.UntypedURL && class != "stuck" && class != "publish" {
		text += `; it was dialled as SSE because the entry has a url and no type ("type": "http" makes it streamable HTTP)` // SRC-4
	}
	return text
}

func (s *session) removedNames() []string {
	names := make([]string, 0, len(s.removed))
	for n := range s.removed { // sorted below
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// PoolEntry is one connection that sessions share (POOL-2).
type PoolEntry struct {
	Server      string
	Fingerprint string
	Conn        port.ConnID
	Sessions    []port.SessionID // the holders, in order of id; none while it drains
	Live        bool             // false: being dialled
	Draining    bool
}

// Pool lists the shared connections that are live or being dialled, by server, then fingerprint.
func (h *Host) Pool() []PoolEntry {
	var out []PoolEntry
	for _, c := range h.conns {
		if !c.slot.key.shared() || c.phase != live && c.phase != dialling {
			continue
		}
		e := PoolEntry{Server: c.server, Fingerprint: c.exp.Fingerprint, Conn: c.id, Live: c.phase == live, Draining: c.drain != nil}
		for _, s := range c.holders {
			e.Sessions = append(e.Sessions, s.id)
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b PoolEntry) int {
		if d := strings.Compare(a.Server, b.Server); d != 0 {
			return d
		}
		return strings.Compare(a.Fingerprint, b.Fingerprint)
	})
	return out
}
