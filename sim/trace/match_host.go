package trace

import (
	"fmt"
	"slices"

	"mcpsim/model"
)

func (m *matcher) host(e *HostExpect, since []model.Count) {
	if e.Pool != nil {
		m.pool(*e.Pool)
	}
	if e.Records != nil {
		m.records(*e.Records)
	}
	for _, d := range e.Dials {
		if got := count(m.snap.Host.Dials, d.Name) - count(since, d.Name); got != d.N {
			m.differ("host.dials."+d.Name, fmt.Sprint(d.N), fmt.Sprint(got))
		}
	}
	for _, p := range e.Processes {
		if got := count(m.snap.Host.Processes, p.Name); got != p.N {
			m.differ("host.processes."+p.Name, fmt.Sprint(p.N), fmt.Sprint(got))
		}
	}
}

// pool pairs the expected connections with those that are there; what is left on either side is a mismatch.
func (m *matcher) pool(want []PoolExpect) {
	left := slices.Clone(m.snap.Host.Pool)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g model.PoolView) bool { return m.samePool(w, g) })
		if i < 0 {
			m.differ("host.pool", poolText(w.Server, w.Sessions, w.Config), "no such connection")
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		sessions := make([]string, 0, len(g.Sessions))
		for _, s := range g.Sessions {
			sessions = append(sessions, string(s))
		}
		m.differ("host.pool", "nothing", poolText(g.Server, sessions, nil))
	}
}

func (m *matcher) samePool(w PoolExpect, g model.PoolView) bool {
	if w.Server != g.Server {
		return false
	}
	if w.Config != nil {
		if _, fp := m.configOf(w.Server, w.Config); fp == 0 || fp != g.Config {
			return false
		}
	}
	if w.Sessions == nil {
		return true
	}
	got := make([]string, 0, len(g.Sessions))
	for _, s := range g.Sessions {
		got = append(got, string(s))
	}
	return slices.Equal(ordered(w.Sessions), ordered(got))
}

func poolText(server string, sessions []string, config *model.Value) string {
	s := server + " held by " + names(sessions)
	if config != nil {
		s += " " + config.String()
	}
	return s
}

func (m *matcher) records(want []Record) {
	left := slices.Clone(m.snap.Host.Records)
	for _, w := range want {
		i := slices.IndexFunc(left, func(g model.RecordView) bool { return m.sameRecord(w, g) })
		if i < 0 {
			text := w.Server + " " + w.Status
			if w.Config != nil {
				text += " " + w.Config.String()
			}
			m.differ("host.records", text, "no such record")
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	for _, g := range left {
		status := "rejected"
		if g.Approved {
			status = "approved"
		}
		m.differ("host.records", "nothing", g.Server+" "+status)
	}
}

func (m *matcher) sameRecord(w Record, g model.RecordView) bool {
	if w.Server != g.Server || g.Approved != (w.Status == "approved") {
		return false
	}
	if w.Config == nil {
		return true
	}
	id, _ := m.configOf(w.Server, w.Config)
	return id != 0 && id == g.Config
}
