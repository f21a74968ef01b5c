package impl

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// noteVariables keeps the notices about variables that are left over in the entries of each file (SRC-9): they stand for
// every entry of a source that counts, also a shadowed or filtered one. Only entries that prev did not have are looked at.
func (h *Host) noteVariables(prev, now *base) {
	for i := range now.layers {
		l := &now.layers[i]
		var before []*config.Entry
		if h.variablesNoted {
			before = layerOf(prev, l.Scope)
			if before != nil && sameSlice(before, l.Servers) {
				continue
			}
		}
		giver := "variables\x00" + string(l.Scope)
		old := h.board.sets[giver]
		var notices []event.Notice
		n := 0
		for _, e := range l.Servers {
			for n < len(before) && before[n] != e && before[n].Name < e.Name {
				n++
			}
			if n == len(before) || before[n] != e {
				notices = append(notices, fromProblems(string(l.Scope), "", h.expand(e).Problems)...)
				continue
			}
			for k := range old {
				if old[k].Server == e.Name {
					notices = append(notices, old[k])
				}
			}
		}
		h.give(giver, notices)
	}
	if prev != nil {
		for i := range prev.layers {
			if s := prev.layers[i].Scope; !now.counts(s) { // SRC-12
				h.give("variables\x00"+string(s), nil)
			}
		}
	}
	h.variablesNoted = true
}

func (b *base) counts(s event.Scope) bool {
	for i := range b.layers {
		if b.layers[i].Scope == s {
			return true
		}
	}
	return false
}

func layerOf(b *base, s event.Scope) []*config.Entry {
	if b != nil {
		for i := range b.layers {
			if b.layers[i].Scope == s {
				return b.layers[i].Servers
			}
		}
	}
	return nil
}

func (h *Host) variableNotices(file string, s port.SessionID, entries []*config.Entry) []event.Notice {
	var out []event.Notice
	for _, e := range entries {
		out = append(out, fromProblems(file, s, h.expand(e).Problems)...)
	}
	return out
}
