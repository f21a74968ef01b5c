package impl

import (
	"fmt"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Busy says what is in flight; empty means settled as far as the host can know (spec section 1). Running calls, drains,
// polls, stuck processes and a retry do not count: every change that the host knows of is followed by an attempt at
// once, so a retry that is pending was armed after the last of them. Who makes changes that the host cannot know of
// compares Retries.
func (h *Host) Busy() []string {
	var out []string
	if h.starting && !h.started && !h.down {
		out = append(out, "start")
	}
	if !h.down {
		out = append(out, h.src.Busy()...)
	}
	if h.deciding > 0 || h.store.Busy() {
		out = append(out, "decision")
	}
	for _, c := range h.conns {
		switch {
		case c.phase == dialling:
			out = append(out, fmt.Sprintf("dial %s %d", c.server, c.id))
		case c.phase == live && c.refresh.running:
			out = append(out, fmt.Sprintf("lists %s %d", c.server, c.id))
		case c.phase == ending && !c.stuck:
			out = append(out, fmt.Sprintf("close %s %d", c.server, c.id))
		}
	}
	return out
}

// Settled reports whether Busy is empty, without saying what is in flight.
func (h *Host) Settled() bool {
	if h.starting && !h.started && !h.down || h.deciding > 0 || h.store.Busy() {
		return false
	}
	for _, c := range h.conns {
		if c.phase == dialling || c.phase == live && c.refresh.running || c.phase == ending && !c.stuck {
			return false
		}
	}
	return h.down || len(h.src.Busy()) == 0
}

// Polled lists the sources that are polled because they cannot be watched or read (WAT-9).
func (h *Host) Polled() []event.Scope { return h.src.Polled() }

// PolledOnceSince reports whether every polled source was read at or after t.
func (h *Host) PolledOnceSince(t port.Ms) bool { return h.src.PolledOnceSince(t) }
