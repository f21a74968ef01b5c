package model

import (
	"slices"
	"sort"
	"strings"
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
}

// Source says where an effective entry comes from: a file, or launch, session, runtime or extension.
type Source uint8

// The sources of entries, lowest first (SRC-2).
const (
	FromExtension Source = iota
	FromDefaults
	FromUser
	FromProject
	FromWorkspace
	FromSystem
	FromLaunch
	FromSession
	FromRuntime
)

// Gated reports scope project or workspace.
func (s Source) Gated() bool { return s == FromProject || s == FromWorkspace }

// SourceName is the source as traces and the status view name it.
func SourceName(s Source) string {
	return [...]string{"extension", "defaults", "user", "project", "workspace", "system", "launch", "session", "runtime"}[s]
}

func scopeOfSource(s Source) Scope {
	if s == FromWorkspace {
		return Workspace
	}
	return Project
}

// Effective is the effective map and the lists of every session, derived from Memory.
type Effective struct {
	m        *Memory
	lists    Lists
	flag     *AllowList
	sessions []effectiveSession
}

type effectiveSession struct {
	id       SessionID
	state    *SessionState
	servers  []EffectiveServer
	pending  []string
	queue    []Question
	settings string
	names    []string
	common   bool
}

// EffectiveServer is one server of a session's effective map.
type EffectiveServer struct {
	Name     string
	Config   *Config
	Source   Source
	Shadows  []Source // highest first
	Verdict  Verdict  // never Removed or Unknown
	Strict   bool     // verdict pending_approval, approval state pending (spec section 1, "strictly pending")
	Rejected bool     // gated, rejected for exactly this config
	settings bool     // part of the settings-level map, which extensions and runtime servers are not
}

// Lists is what GATE-3 compares.
type Lists struct {
	Excluded []string    // the union, sorted, without empty strings and repetitions
	Pending  []string    // gated and not approved, sorted (empty with approvals off)
	Allowed  []AllowList // the launch flag first if given, then one per layer that defines one
}

// AllowList is one allow list and the layer that defines it.
type AllowList struct {
	Layer string   // flag, or a scope's name
	Names []string // sorted, without empty strings and repetitions
}

// Derive computes the effective map, the lists and all verdicts of every session. Once per change of Memory.
func Derive(m *Memory) *Effective {
	e := &Effective{m: m, sessions: make([]effectiveSession, 0, len(m.Sessions))}
	e.deriveLists()
	var common *effectiveSession
	for _, st := range m.Sessions {
		if len(st.Own) == 0 && len(st.Runtime) == 0 {
			if common == nil {
				c := e.deriveSession(st)
				common = &c
			}
			s := *common
			s.id, s.state = st.ID, st
			e.sessions = append(e.sessions, s)
			continue
		}
		e.sessions = append(e.sessions, e.deriveSession(st))
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

// nameSet sorts a list and drops empty strings and repetitions (ADM-4, GATE-3).
func nameSet(list []string) []string {
	out := make([]string, 0, len(list))
	for _, n := range list {
		if n != "" {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	n := 0
	for i := range out {
		if i == 0 || out[i] != out[i-1] {
			out[n] = out[i]
			n++
		}
	}
	return out[:n]
}

// deriveSession merges the map of one session (SRC-2), lowest first.
func (e *Effective) deriveSession(st *SessionState) effectiveSession {
	m := e.m
	s := effectiveSession{id: st.ID, state: st}
	n := 0
	e.eachSource(st, func(list []NamedConfig, _ Source) { n += len(list) })
	s.servers = make([]EffectiveServer, 0, n)
	e.eachSource(st, func(list []NamedConfig, src Source) { s.servers = overlay(s.servers, list, src) })
	s.names = make([]string, 0, len(s.servers))
	size := 0
	for i := range s.servers {
		es := &s.servers[i]
		e.judge(es)
		s.names = append(s.names, es.Name)
		if es.Source.Gated() && !m.Launch.ApprovalsOff && !m.approved(es) {
			s.pending = append(s.pending, es.Name)
		}
		if es.Strict {
			s.queue = append(s.queue, Question{Server: es.Name, Config: es.Config.ID, Source: scopeOfSource(es.Source)})
		}
		size += len(es.Name) + len(es.Config.fullText) + 8
	}
	s.settings = e.settingsText(st, s.servers, size)
	return s
}

// eachSource gives the servers of a session's sources, lowest first.
func (e *Effective) eachSource(st *SessionState, put func([]NamedConfig, Source)) {
	m := e.m
	if !m.Launch.Bare {
		for i := range m.Extensions { // the first of two extensions keeps a name
			put(m.Extensions[i].Servers, FromExtension)
		}
	}
	for s, src := Defaults, FromDefaults; s < Approvals; s, src = s+1, src+1 { // in one order
		if l := m.layer(s); l != nil {
			put(l.Servers, src)
		}
	}
	put(m.LaunchServers, FromLaunch)
	put(st.Own, FromSession)
	put(st.Runtime, FromRuntime)
}

// settingsText is a canonical text of the settings-level map: SRC-2 without extensions and runtime servers.
func (e *Effective) settingsText(st *SessionState, servers []EffectiveServer, size int) string {
	var b strings.Builder
	b.Grow(size)
	var name [64]byte
	for i := range servers {
		es := &servers[i]
		cfg, src := es.Config, es.Source
		if src == FromRuntime { // what it shadows is part of the map
			cfg, src = e.below(st, es.Name)
			if cfg == nil {
				continue
			}
		}
		if src == FromExtension {
			continue
		}
		b.Write(appendString(name[:0], es.Name))
		b.WriteString(cfg.fullText)
		b.WriteByte('\n')
	}
	return b.String()
}

// below is a session's winning entry of a name among the sources under its runtime servers.
func (e *Effective) below(st *SessionState, name string) (*Config, Source) {
	find := func(list []NamedConfig) *Config {
		i := sort.Search(len(list), func(i int) bool { return list[i].Name >= name })
		if i < len(list) && list[i].Name == name {
			return list[i].Config
		}
		return nil
	}
	if c := find(st.Own); c != nil {
		return c, FromSession
	}
	if c := find(e.m.LaunchServers); c != nil {
		return c, FromLaunch
	}
	for s, src := System, FromSystem; ; s, src = s-1, src-1 {
		if l := e.m.layer(s); l != nil {
			if c := find(l.Servers); c != nil {
				return c, src
			}
		}
		if s == Defaults {
			return nil, 0
		}
	}
}

func (m *Memory) approved(es *EffectiveServer) bool {
	r, ok := m.Records[es.Name]
	return ok && r.Config == es.Config.ID && r.Approved
}

// overlay puts a higher source's servers over what is there; both are sorted by name. It works from the end, in the memory
// of base if there is room.
func overlay(base []EffectiveServer, list []NamedConfig, src Source) []EffectiveServer {
	both := 0
	for i, j := 0, 0; i < len(base) && j < len(list); {
		switch {
		case base[i].Name < list[j].Name:
			i++
		case base[i].Name > list[j].Name:
			j++
		default:
			both, i, j = both+1, i+1, j+1
		}
	}
	i, j := len(base)-1, len(list)-1
	k := len(base) + len(list) - both - 1
	out := slices.Grow(base, k+1-len(base))[:k+1]
	for ; j >= 0; k-- {
		nc := &list[j]
		switch {
		case i < 0 || out[i].Name < nc.Name:
			out[k] = EffectiveServer{Name: nc.Name, Config: nc.Config, Source: src}
			j--
		case out[i].Name > nc.Name:
			out[k] = out[i]
			i--
		case src == FromExtension: // the first of two extensions keeps the name
			out[k] = out[i]
			i, j = i-1, j-1
		default:
			shadows := append([]Source{out[i].Source}, out[i].Shadows...)
			out[k] = EffectiveServer{Name: nc.Name, Config: nc.Config, Source: src, Shadows: shadows}
			i, j = i-1, j-1
		}
	}
	return out
}

func (e *Effective) find(s SessionID) *effectiveSession {
	for i := range e.sessions {
		if e.sessions[i].id == s {
			return &e.sessions[i]
		}
	}
	return nil
}

// Servers returns the effective map of a session, sorted by name. The result is shared: do not change it.
func (e *Effective) Servers(s SessionID) []EffectiveServer {
	if x := e.find(s); x != nil {
		return x.servers
	}
	return nil
}

// Server returns one server of a session's effective map, or nil.
func (e *Effective) Server(s SessionID, name string) *EffectiveServer {
	x := e.find(s)
	if x == nil {
		return nil
	}
	lo, hi := 0, len(x.servers)
	for lo < hi {
		mid := (lo + hi) / 2
		if x.servers[mid].Name < name {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(x.servers) && x.servers[lo].Name == name {
		return &x.servers[lo]
	}
	return nil
}

// Queue returns the strictly pending servers of a session in order of name (ASK-1).
func (e *Effective) Queue(s SessionID) []Question {
	if x := e.find(s); x != nil {
		return x.queue
	}
	return nil
}

// Lists returns the lists of a session.
func (e *Effective) Lists(s SessionID) Lists {
	l := e.lists
	if x := e.find(s); x != nil {
		l.Pending = x.pending
	}
	return l
}

// SettingsMap returns a canonical text of the settings-level map of a session: equal exactly if GATE-2 calls them equal.
func (e *Effective) SettingsMap(s SessionID) string {
	if x := e.find(s); x != nil {
		return x.settings
	}
	return ""
}

// Names returns every name of the merged map of a session, extensions and runtime included, filtered or not (ADM-7).
func (e *Effective) Names(s SessionID) []string {
	if x := e.find(s); x != nil {
		return x.names
	}
	return nil
}
