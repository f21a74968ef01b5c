package model

import (
	"slices"
	"sort"
)

// SessionState is what belongs to one session.
type SessionState struct {
	ID      SessionID
	Own     []NamedConfig   // given when it opened, sorted by name
	Runtime []NamedConfig   // sorted by name
	Removed map[string]bool // ADM-7
}

// Extension is one extension and its servers.
type Extension struct {
	Name    string
	Servers []NamedConfig
}

// Memory is all that Derive reads: what is loaded, decided and given. Each field names its rule.
type Memory struct {
	Launch        *Launch
	Trusted       bool               // SRC-12
	Files         [Approvals]*Loaded // SRC-6; nil counts as {}
	Records       map[string]Record  // APR-1, as loaded plus this process's own decisions
	Extensions    []Extension        // sorted by name; SRC-2
	LaunchServers []NamedConfig      // --mcp-config, sorted by name
	Sessions      []*SessionState    // sorted by id

	merged merged // what the last Derive merged, for the next
}

// Derive computes the effective map, the lists and all verdicts of every session. Once per change of Memory; what the
// change did not touch is taken over from the last time, and nothing but that is written to m.
func Derive(m *Memory) *Effective {
	e := &Effective{m: m, sessions: make([]effectiveSession, 0, len(m.Sessions))}
	e.deriveLists()
	m.merge()
	var common *view // of the sessions that add no servers of their own
	for _, st := range m.Sessions {
		x := effectiveSession{id: st.ID, state: st}
		if len(st.Own)+len(st.Runtime) > 0 {
			x.view = e.view(overlay(overlay(m.merged.servers, st.Own, FromSession), st.Runtime, FromRuntime))
			x.settings = m.merged.settings
			if len(st.Own) > 0 {
				x.settings = settingsKey(overlay(m.merged.configured, st.Own, FromSession))
			}
		} else {
			if common == nil {
				common = e.view(m.merged.servers)
				common.settings = m.merged.settings
			}
			x.view = common
		}
		e.sessions = append(e.sessions, x)
	}
	return e
}

func (e *Effective) deriveLists() {
	m := e.m
	if m.Launch.HasFlag {
		e.lists.Allowed = append(e.lists.Allowed, AllowList{"flag", nameSet(m.Launch.Flag)})
	}
	var excluded []string
	for s := Defaults; s < Approvals; s++ {
		l := m.layer(s)
		if l == nil {
			continue
		}
		if l.HasAllowed {
			e.lists.Allowed = append(e.lists.Allowed, AllowList{s.String(), nameSet(l.Allowed)})
		}
		excluded = append(excluded, l.Excluded...)
	}
	e.lists.Excluded = nameSet(excluded)
}

// layer returns a source's contribution, nil if it does not count (SRC-11 to SRC-13).
func (m *Memory) layer(s Scope) *Layer {
	if m.Launch.Bare || m.Files[s] == nil {
		return nil
	}
	if !m.Trusted && (s == Project || s == Workspace) || s == Workspace && m.Launch.HomeIsRoot {
		return nil
	}
	return &m.Files[s].Layer
}

// approved: a record approves exactly this config (APR-1).
func (m *Memory) approved(es *EffectiveServer) bool {
	r, ok := m.Records[es.Name]
	return ok && r.Config == es.Config.ID && r.Approved
}

// nameSet sorts a list and drops empty strings and repetitions (ADM-4, GATE-3).
func nameSet(list []string) []string {
	out := make([]string, 0, len(list))
	for _, n := range list {
		if n != "" {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// view judges a merged map and collects what follows from the verdicts.
func (e *Effective) view(servers []EffectiveServer) *view {
	v := &view{servers: slices.Clone(servers)}
	v.names = make([]string, len(v.servers))
	for i := range v.servers {
		es := &v.servers[i]
		v.names[i] = es.Name
		e.judge(es)
		if e.unapproved(es) {
			v.pending = append(v.pending, es.Name)
		}
		if es.Strict {
			v.queue = append(v.queue, Question{es.Name, es.Config.ID, scopeOf(es.Source)})
		}
	}
	return v
}
