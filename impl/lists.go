package impl

import (
	"slices"

	"mcpsim/impl/admission"
	"mcpsim/impl/event"
)

// lists is what GATE-3 compares. Every list is a set: sorted, without empty strings and repetitions.
type lists struct {
	excluded  []string
	pending   []string // gated and not approved
	allowed   [][]string
	allowedBy []string // flag, or the scope whose layer defines the list
}

// assembleLists gathers the allow condition (the flag, and one list per layer that defines one: D-11) and the union of
// the exclusions (SRC-1).
func (h *Host) assembleLists(b *base) {
	if h.flag != nil {
		b.allowed = append(b.allowed, h.flag.Names())
		b.allowedBy = append(b.allowedBy, "flag")
	}
	var excluded []string
	for i := range b.layers {
		l := &b.layers[i]
		if l.HasAllowed {
			list := admission.NewList(l.Allowed)
			b.policy.Allowed = append(b.policy.Allowed, list)
			b.allowed = append(b.allowed, list.Names())
			b.allowedBy = append(b.allowedBy, string(l.Scope))
		}
		excluded = append(excluded, l.Excluded...)
	}
	if len(excluded) > 0 {
		b.policy.Excluded = admission.NewList(excluded)
		b.excluded = b.policy.Excluded.Names()
	}
}

// sameLists is GATE-3: sets compare as sets; an allow list that appears or disappears is a difference, absent is not empty.
func sameLists(a, b *lists) bool {
	if !sameSet(a.excluded, b.excluded) || !sameSet(a.pending, b.pending) || !slices.Equal(a.allowedBy, b.allowedBy) {
		return false
	}
	for i := range a.allowed {
		if !sameSet(a.allowed[i], b.allowed[i]) {
			return false
		}
	}
	return true
}

func sameSet(a, b []string) bool { return sameSlice(a, b) || slices.Equal(a, b) }

// sameMap is GATE-2, over entries whose canonical text already ignores what may differ.
func sameMap(a, b []served) bool {
	if sameSlice(a, b) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].name != b[i].name || a[i].entry != b[i].entry && a[i].entry.Full != b[i].entry.Full {
			return false
		}
	}
	return true
}

// pushLists announces the lists that the next pass reads (GATE-4). Keys names the layer of each allow list.
func (h *Host) pushLists(s *session, l *lists) {
	h.emit(&event.Event{Kind: event.Lists, Session: s.id, Excluded: l.excluded, Pending: l.pending, Allowed: l.allowed, Keys: l.allowedBy})
}
