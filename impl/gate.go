package impl

import (
	"mcpsim/impl/event"
)

// applied is what the last pass whose comparing part succeeded was made from (spec section 1).
type applied struct {
	ok       bool
	settings []served
	lists    *lists
	trusted  bool
}

// onNotification is the listener "hot-reload". It returns when its passes have compared and begun their work: it waits
// for no dial and no close (GATE-7, D-6).
func (h *Host) onNotification(_ []event.Change, done func(error)) {
	if h.started && !h.down {
		h.gateAll()
	}
	done(nil)
}

// gateAll looks at every open session (GATE-1, GATE-6).
func (h *Host) gateAll() {
	for _, s := range h.allSessions() {
		h.gate(s)
	}
}

// gate runs a pass only if the settings-level map, a list or trust differs from what was applied, or a retry is due.
// Anything else, an unrelated edit, changes nothing (GATE-5).
func (h *Host) gate(s *session) {
	if s.closed {
		return
	}
	h.refreshQueue(s)
	v := h.view(s)
	if s.applied.ok && s.applied.trusted == h.trusted && !s.retry.pending() &&
		sameMap(s.applied.settings, v.settings) && sameLists(s.applied.lists, &v.lists) {
		return
	}
	h.requestPass(s, nil)
}
