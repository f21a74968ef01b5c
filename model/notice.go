package model

import (
	"cmp"
	"slices"
	"strings"
)

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
	slices.Sort(names)
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
	slices.SortFunc(out, compareNotices)
	return out
}

func compareNotices(a, b Notice) int {
	return cmp.Or(strings.Compare(a.File, b.File), strings.Compare(a.Server, b.Server), strings.Compare(a.Key, b.Key), strings.Compare(a.Kind, b.Kind))
}
