package impl

import (
	"mcpsim/impl/config"
	"mcpsim/impl/port"
)

// slotKey is what at most one connection may be alive for (INV-9): whoever asks for the same key shares the connection,
// or waits for the end of the one before. Its parts are compared as they are, so it is injective in names (SRC-10).
type slotKey struct {
	session     port.SessionID // "": shared by sessions
	server      string
	fingerprint string // "": whatever the config
}

// key is the one place where the mode counts. Single mode: a session's server, whatever its config. Pool mode: a
// connection id, for all sessions if it is a process, for one session otherwise, because headers may carry a session's
// credentials (POOL-2, POOL-5).
func (h *Host) key(s port.SessionID, server string, x *config.Expanded) slotKey {
	switch {
	case !h.o.Pool:
		return slotKey{session: s, server: server}
	case x.Spec.Kind == config.Stdio:
		return slotKey{server: server, fingerprint: x.Fingerprint}
	default:
		return slotKey{session: s, server: server, fingerprint: x.Fingerprint}
	}
}

func (k slotKey) shared() bool { return k.session == "" && k.fingerprint != "" }

// slot is one key's connections: the current one, and its predecessor while that is ending.
type slot struct {
	key slotKey
	cur *conn // waiting, dialling or live; nil: none
	end *conn // ending; cur waits for it (REC-13)
}

func (h *Host) slot(k slotKey) *slot {
	sl := h.slots[k]
	if sl == nil {
		sl = &slot{key: k}
		h.slots[k] = sl
	}
	return sl
}

// vacate forgets a slot that holds nothing.
func (h *Host) vacate(sl *slot) {
	if sl.cur == nil && sl.end == nil && h.slots[sl.key] == sl {
		delete(h.slots, sl.key)
	}
}
