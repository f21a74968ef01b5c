package model

import "sort"

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

// scopeOf is the file of a gated source.
func scopeOf(s Source) Scope {
	if s == FromWorkspace {
		return Workspace
	}
	return Project
}

// Effective is the effective map and the lists of every session, derived from Memory.
type Effective struct {
	m        *Memory
	lists    Lists // Pending is a session's
	sessions []effectiveSession
}

type effectiveSession struct {
	id    SessionID
	state *SessionState
	*view
}

// view is what a session's merged map comes to; sessions without servers of their own share one.
type view struct {
	servers  []EffectiveServer // sorted by name
	names    []string
	pending  []string
	queue    []Question
	settings string
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

// find returns a session, nil if it is not open.
func (e *Effective) find(s SessionID) *effectiveSession {
	for i := range e.sessions {
		if e.sessions[i].id == s {
			return &e.sessions[i]
		}
	}
	return nil
}

// server returns one server of the effective map, or nil.
func (x *effectiveSession) server(name string) *EffectiveServer {
	if x == nil {
		return nil
	}
	lo, hi := 0, len(x.servers)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
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

func (x *effectiveSession) removed(name string) bool { return x != nil && x.state.Removed[name] }

// removedNames are the names that are gone from a session's map and stay known as removed, sorted.
func (x *effectiveSession) removedNames() []string {
	var out []string
	for name, is := range x.state.Removed {
		if is && x.server(name) == nil {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// Servers returns the effective map of a session, sorted by name. The result is shared: do not change it.
func (e *Effective) Servers(s SessionID) []EffectiveServer {
	if x := e.find(s); x != nil {
		return x.servers
	}
	return nil
}

// Server returns one server of a session's effective map, or nil.
func (e *Effective) Server(s SessionID, name string) *EffectiveServer { return e.find(s).server(name) }

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

// SettingsMap returns a text of the settings-level map of a session: equal exactly if GATE-2 calls two maps equal. While no
// source of it changes it is the same string, so that comparing costs nothing.
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
