package impl

import (
	"mcpsim/impl/admission"
	"mcpsim/impl/config"
	"mcpsim/impl/port"
)

// MapEntry is one server of a map.
type MapEntry struct {
	Name    string
	Entry   *config.Entry
	Source  string
	Shadows []string // highest first
}

// SettingsMap is the settings-level map of a session: SRC-2 without extensions and runtime servers (CFG-6).
func (h *Host) SettingsMap(id port.SessionID) []MapEntry {
	if s := h.session(id); s != nil {
		return entriesOf(h.view(s).settings)
	}
	return nil
}

// EffectiveMap is SRC-2 in full, for one session (CFG-6).
func (h *Host) EffectiveMap(id port.SessionID) []MapEntry {
	if s := h.session(id); s != nil {
		return entriesOf(h.view(s).servers)
	}
	return nil
}

func entriesOf(servers []served) []MapEntry {
	out := make([]MapEntry, len(servers))
	for i := range servers {
		sv := &servers[i]
		out[i] = MapEntry{Name: sv.name, Entry: sv.entry, Source: sv.from.String()}
		for _, x := range sv.shadows {
			out[i].Shadows = append(out[i].Shadows, x.String())
		}
	}
	return out
}

// Lists are a session's lists, each a sorted set. Allowed has one list per layer that defines one, named in AllowedBy:
// "flag" for the launch flag, else a scope (CFG-6).
type Lists struct {
	Excluded, Pending []string
	Allowed           [][]string
	AllowedBy         []string
}

// Lists returns the lists as loaded. The slices are shared: do not change them.
func (h *Host) Lists(id port.SessionID) Lists {
	s := h.session(id)
	if s == nil {
		return Lists{}
	}
	l := &h.view(s).lists
	return Lists{Excluded: l.excluded, Pending: l.pending, Allowed: l.allowed, AllowedBy: l.allowedBy}
}

// MergedNames are the names of the merged map, extensions and runtime included, filtered or not, sorted (ADM-7, CFG-6).
func (h *Host) MergedNames(id port.SessionID) []string {
	s := h.session(id)
	if s == nil {
		return nil
	}
	v := h.view(s)
	out := make([]string, len(v.servers))
	for i := range v.servers {
		out[i] = v.servers[i].name
	}
	return out
}

// Verdict is section 5 for one server, by what is loaded now (CFG-6).
func (h *Host) Verdict(id port.SessionID, server string) admission.Verdict {
	s := h.session(id)
	if s == nil {
		return admission.Unknown
	}
	v, _ := h.verdict(s, server)
	return v
}

// RemovedNames are the names that the session saw go, sorted (ADM-7, CFG-6).
func (h *Host) RemovedNames(id port.SessionID) []string {
	s := h.session(id)
	if s == nil {
		return nil
	}
	h.view(s)
	return s.removedNames()
}
