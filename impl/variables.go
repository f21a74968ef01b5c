package impl

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// noteVariables keeps the notices about variables that are left over in the entries of each file (SRC-9): they stand for
// every entry of a source that counts, also a shadowed or filtered one. prev is the base before, or nil.
func (h *Host) noteVariables(prev, now *base) {
	var before []event.Scope
	if prev != nil {
		for i := range prev.layers {
			before = append(before, prev.layers[i].Scope)
		}
	}
	for i := range now.layers {
		l := &now.layers[i]
		for j, s := range before {
			if s == l.Scope {
				before[j] = ""
			}
		}
		if prev != nil && sameSlice(layerOf(prev, l.Scope), l.Servers) && h.variablesNoted {
			continue
		}
		h.give("variables\x00"+string(l.Scope), h.variableNotices(string(l.Scope), "", l.Servers))
	}
	for _, s := range before {
		if s != "" { // the source no longer counts (SRC-12)
			h.give("variables\x00"+string(s), nil)
		}
	}
	h.variablesNoted = true
}

func layerOf(b *base, s event.Scope) []*config.Entry {
	for i := range b.layers {
		if b.layers[i].Scope == s {
			return b.layers[i].Servers
		}
	}
	return nil
}

func (h *Host) variableNotices(file string, s port.SessionID, entries []*config.Entry) []event.Notice {
	var out []event.Notice
	for _, e := range entries {
		if x := h.expand(e); len(x.Problems) > 0 {
			out = append(out, fromProblems(file, s, x.Problems)...)
		}
	}
	return out
}
