package impl

import (
	"sort"

	"mcpsim/impl/admission"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
)

// view is what one session sees: its maps with every verdict, its lists and its questions. It is immutable once built.
// Sessions that add no servers of their own share one.
type view struct {
	base     *base
	settings []served // the settings-level map: without extensions and runtime servers
	servers  []served // the effective map, sorted by name
	lists    lists
	queue    []event.Question
}

// view returns the session's view of what is loaded now. Names that went since the last look are noted (ADM-7).
func (h *Host) view(s *session) *view {
	b := h.fresh()
	if s.v != nil && s.v.base == b && !s.stale {
		return s.v
	}
	v := &b.common
	if len(s.own) > 0 || len(s.runtime) > 0 {
		v = &view{base: b, settings: b.settings, servers: b.common.servers}
		if len(s.own) > 0 {
			own := merge([]ranked{{fromSession, s.own}})
			v.settings = overlay(v.settings, own)
			v.servers = overlay(v.servers, own)
		}
		if len(s.runtime) > 0 {
			v.servers = overlay(v.servers, merge([]ranked{{fromRuntime, s.runtime}}))
		}
		h.judge(v, s.v)
	}
	h.noteRemoved(s, v.servers)
	s.v, s.stale = v, false
	return v
}

// judge fills in verdicts, lists and questions. prev lends the questions that are still the same.
func (h *Host) judge(v, prev *view) {
	v.lists = lists{excluded: v.base.excluded, allowed: v.base.allowed, allowedBy: v.base.allowedBy}
	p := &v.base.policy
	for i := range v.servers {
		s := &v.servers[i]
		sub := admission.Subject{Name: s.name, InMap: true, Disabled: s.entry.Disabled, Gated: s.from.gated()}
		if sub.Gated && !p.ApprovalsOff {
			s.approval = h.store.State(s.name, s.entry.Hash)
			sub.Approved = s.approval == approval.Approved
			if !sub.Approved {
				v.lists.pending = append(v.lists.pending, s.name)
			}
		}
		s.verdict = p.Decide(sub)
		if s.verdict == admission.PendingApproval && s.approval == approval.Pending {
			v.queue = append(v.queue, question(s, prev)) // APR-3: only the strictly pending are asked
		}
	}
}

// find returns a server of the effective map, or nil.
func (v *view) find(name string) *served {
	i := sort.Search(len(v.servers), func(i int) bool { return v.servers[i].name >= name })
	if i < len(v.servers) && v.servers[i].name == name {
		return &v.servers[i]
	}
	return nil
}

// verdict is section 5 for one server of one session, by what is loaded now.
func (h *Host) verdict(s *session, name string) (admission.Verdict, *served) {
	v := h.view(s)
	if sv := v.find(name); sv != nil {
		return sv.verdict, sv
	}
	return v.base.policy.Decide(admission.Subject{Name: name, Removed: s.removed[name]}), nil
}

// desired returns the server as it is to be connected, or nil if it is not admitted.
func (h *Host) desired(s *session, name string) (*served, *config.Expanded) {
	if s.closed || h.down {
		return nil, nil
	}
	verdict, sv := h.verdict(s, name)
	if verdict != admission.Admitted {
		return nil, nil
	}
	return sv, h.expand(sv.entry)
}

// noteRemoved keeps the names that a session saw go from its merged map while the folder was trusted; a name that is
// back is no longer removed (ADM-7).
func (h *Host) noteRemoved(s *session, now []served) {
	before := s.seen
	if sameSlice(before, now) && s.seenTrusted == h.trusted {
		return
	}
	count := h.trusted && s.seenTrusted
	i := 0
	for n := range now {
		sv := &now[n]
		if i < len(before) && before[i].entry == sv.entry { // nearly always: the names need no comparison
			i++
			continue
		}
		for ; i < len(before) && before[i].name < sv.name; i++ {
			s.noteGone(before[i].name, count)
		}
		if i < len(before) && before[i].name == sv.name {
			i++
		} else if len(s.removed) > 0 {
			delete(s.removed, sv.name)
		}
	}
	for ; i < len(before); i++ {
		s.noteGone(before[i].name, count)
	}
	s.seen, s.seenTrusted = now, h.trusted
}

func (s *session) noteGone(name string, count bool) {
	if !count {
		return
	}
	if s.removed == nil {
		s.removed = map[string]bool{}
	}
	s.removed[name] = true
}
