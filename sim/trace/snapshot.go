package trace

import (
	"slices"
	"strings"

	"mcpsim/model"
)

// EntryOf returns the entry behind an interned config or fingerprint of a server, nil if it is not known.
type EntryOf struct {
	Config      func(server string, id model.ConfigID) *model.Value
	Fingerprint func(server string, id model.FpID) *model.Value
}

// FromSnapshot returns the full expectation that a snapshot fulfils: what `corpus update` fills in. since is as for Match.
// pool says whether the launch is in pool mode.
func FromSnapshot(snap *model.Snapshot, entry EntryOf, since []model.Count, pool bool) *Expect {
	e := &Expect{}
	for i := range snap.Sessions {
		e.Sessions = append(e.Sessions, fromSession(&snap.Sessions[i], entry))
	}
	h := &HostExpect{Records: &[]Record{}, Dials: []NamedCount{}, Processes: []NamedCount{}}
	for _, r := range snap.Host.Records {
		status := "rejected"
		if r.Approved {
			status = "approved"
		}
		*h.Records = append(*h.Records, Record{r.Server, entry.config(r.Server, r.Config), status})
	}
	for _, c := range snap.Host.Dials {
		h.Dials = append(h.Dials, NamedCount{c.Server, c.N - count(since, c.Server)})
	}
	for _, c := range snap.Host.Processes {
		h.Processes = append(h.Processes, NamedCount{c.Server, c.N})
	}
	if pool {
		h.Pool = &[]PoolExpect{}
		for _, p := range snap.Host.Pool {
			x := PoolExpect{Server: p.Server, Sessions: []string{}}
			if entry.Fingerprint != nil {
				x.Config = entry.Fingerprint(p.Server, p.Config)
			}
			for _, s := range p.Sessions {
				x.Sessions = append(x.Sessions, string(s))
			}
			*h.Pool = append(*h.Pool, x)
		}
	}
	e.Host = h
	return e
}

func (e EntryOf) config(server string, id model.ConfigID) *model.Value {
	if e.Config == nil {
		return nil
	}
	return e.Config(server, id)
}

func fromSession(v *model.SessionView, entry EntryOf) SessionExpect {
	s := SessionExpect{ID: string(v.ID), Servers: []NamedState{}, Tools: &NamedLists{}, Prompts: &NamedLists{},
		Resources: &NamedLists{}, Ask: &[]AskExpect{}, Notices: &[]model.Notice{}}
	for i := range v.Servers {
		sv := &v.Servers[i]
		s.Servers = append(s.Servers, NamedState{sv.Name, sv.States})
		add(s.Tools, sv.Name, sv.Tools)
		add(s.Prompts, sv.Name, sv.Prompts)
		add(s.Resources, sv.Name, sv.Resources)
		text, file, shadows := sv.Text, sv.File, sv.Shadows
		if shadows == nil {
			shadows = []string{}
		}
		s.Shows = append(s.Shows, ShowsExpect{Name: sv.Name, Text: &text, Error: errorClass(sv), File: &file, Shadows: &shadows})
	}
	for _, q := range v.Ask {
		*s.Ask = append(*s.Ask, AskExpect{q.Server, entry.config(q.Server, q.Config), q.Source.String()})
	}
	for _, n := range v.Notices {
		n.Text = ""
		*s.Notices = append(*s.Notices, n)
	}
	hint := v.Hint
	s.Hint = &hint
	for _, c := range v.Calls {
		s.Calls = append(s.Calls, NamedString{c.ID, outcome(c.Outcome)})
	}
	slices.SortFunc(s.Calls, func(a, b NamedString) int { return strings.Compare(a.Name, b.Name) })
	return s
}

func add(l *NamedLists, server string, names []string) {
	if len(names) > 0 {
		l.Lists = append(l.Lists, NamedList{server, names})
	}
}

// errorClass is what an expectation can say of an error: its class, or that there is none.
func errorClass(v *model.ServerView) *string {
	text := ""
	if v.Error != "" {
		text = "some"
		for _, c := range errorClasses {
			if s, ok := model.ParseState("failed:" + c); ok && v.States == s {
				text = c
			}
		}
	}
	return &text
}
