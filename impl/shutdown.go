package impl

// Shutdown ends everything at once: sessions and their calls, drains, every connection with its whole process group
// (REC-13). done runs when all are gone, or stuck: what a kill does not end is reported and left. It may be called again.
func (h *Host) Shutdown(done func()) {
	if done == nil {
		done = func() {}
	}
	h.shutdownDone = append(h.shutdownDone, done)
	if !h.down {
		h.down = true
		h.unsubscribe()
		h.src.Stop()
		sessions := h.sessions
		h.sessions = nil
		for _, s := range sessions {
			h.endSession(s, ErrDown)
		}
		for _, c := range h.conns {
			if c.phase == live && c.drain != nil {
				h.endDrain(c, "shutdown")
				h.retire(c, "shutdown")
			}
		}
		calls := h.startCalls
		h.startCalls = nil
		for _, f := range calls {
			f()
		}
	}
	h.shutdownStep()
}

// shutdownStep tells whoever waits for the shutdown, once nothing is left to wait for.
func (h *Host) shutdownStep() {
	if !h.down || len(h.shutdownDone) == 0 {
		return
	}
	for _, c := range h.conns {
		if c.phase != closed && !(c.phase == ending && c.stuck) {
			return
		}
	}
	dones := h.shutdownDone
	h.shutdownDone = nil
	for _, f := range dones {
		f()
	}
}
