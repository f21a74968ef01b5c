package model

import "sort"

// notices are the standing notices that concern a session: what its sources say, and what happened to its servers.
func (m *Machine) notices(e *Effective, s *session, v *SessionView) []Notice {
	var out []Notice
	add := func(file string, probs []Problem) {
		for _, p := range probs {
			out = append(out, Notice{File: file, Server: p.Server, Key: p.Key, Kind: p.Kind})
		}
	}
	for sc := Defaults; sc < Approvals; sc++ {
		if l := m.mem.Files[sc]; l != nil && m.counts(sc) {
			out = append(out, l.Notices(sc)...)
		}
	}
	if m.counts(Approvals) {
		switch m.records {
		case Unreadable:
			out = append(out, Notice{File: "approvals", Kind: "unreadable"})
		case Unparsable:
			out = append(out, Notice{File: "approvals", Kind: "unparsable"})
		case NotObject:
			out = append(out, Notice{File: "approvals", Kind: "not_object"})
		}
	}
	add("launch", m.launchProblems)
	add("session", s.problems)
	var names []string
	for name := range s.runtimeBad {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		add("runtime", s.runtimeBad[name])
	}
	if !m.launch.Bare {
		for _, x := range m.mem.Extensions {
			add("extension", m.extProblems[x.Name])
		}
	}
	out = append(out, m.extra...)
	for i := range v.Servers {
		sv := &v.Servers[i]
		c := s.last[sv.Name]
		if c == nil || sv.States != StateLive {
			continue
		}
		b := c.shownLists(m.settledNow, s.reg[sv.Name])
		for _, l := range [...]struct {
			key  string
			list []string
		}{{"prompts", b[1].Prompts}, {"resources", b[2].Resources}, {"tools", b[0].Tools}} {
			if len(dedup(l.list)) != len(l.list) {
				out = append(out, Notice{Server: sv.Name, Key: l.key, Kind: "duplicate_tool"})
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return lessNotice(&out[i], &out[j]) })
	return out
}

func lessNotice(a, b *Notice) bool {
	if a.File != b.File {
		return a.File < b.File
	}
	if a.Server != b.Server {
		return a.Server < b.Server
	}
	if a.Key != b.Key {
		return a.Key < b.Key
	}
	return a.Kind < b.Kind
}
