// Package event is the host's vocabulary: one flat record per thing the host did. Recorded logs, adapters
// and the model's guards use the same names (see the table in SPEC.md's companion, `mcpsim rules`).
package event

import (
	"mcpsim/impl/config"
	"mcpsim/impl/port"
)

// Kind is the name of an event as it is written in a log.
type Kind string

// The events.
const (
	Wake           Kind = "wake"            // a file event that matters reached the watcher: Scope
	Watch          Kind = "watch"           // a directory is watched: Path
	Unwatch        Kind = "unwatch"         // Path
	Load           Kind = "load"            // a source was read: Scope, Outcome ok|kept|missing, Why watcher|poll|start|reload|decision|trust
	Notify         Kind = "notify"          // listeners are told: Changes
	RestartPending Kind = "restart_pending" // Scope, Keys (empty: nothing waits any more)
	Lists          Kind = "lists"           // Session; Excluded, Pending, Allowed: pushed before the pass that reads them
	PassStart      Kind = "pass_start"      // Session, Pass
	PassCompared   Kind = "pass_compared"   // Session, Pass: the comparing part succeeded
	PassEnd        Kind = "pass_end"        // Session, Pass, Outcome ok|failed
	Dial           Kind = "dial"            // Sessions, Server, Conn, Entry, Fingerprint
	Dialed         Kind = "dialed"          // Conn: discovery is complete
	DialFailed     Kind = "dial_failed"     // Conn, Outcome = class
	Published      Kind = "published"       // Session, Server, Conn, Tools, Prompts, Resources, Trust
	Purged         Kind = "purged"          // Session, Server, Conn
	Closing        Kind = "closing"         // Conn, Why: the connection is retired and its ending begins
	Closed         Kind = "closed"          // Conn, Why
	Acquired       Kind = "acquired"        // Session, Server, Conn: the session holds the connection (or waits for its dial)
	Released       Kind = "released"        // Session, Server, Conn, Why
	DrainStart     Kind = "drain_start"     // Conn
	DrainEnd       Kind = "drain_end"       // Conn, Why reused|expired
	Updated        Kind = "updated"         // Session, Server (empty: the whole status after a pass)
	Ask            Kind = "ask"             // Session, Questions
	Decided        Kind = "decided"         // Session, Server, Entry, Outcome approved|rejected
	Refused        Kind = "refused"         // Session, Server, Why not_asked|stale|lock|read|write
	CallStart      Kind = "call_start"      // Session, Call, Server, Tool, Conn (0: refused before it was sent)
	CallEnd        Kind = "call_end"        // Session, Call, Outcome of CALL-4
	SessionOpened  Kind = "session_opened"  // Session
	SessionClosed  Kind = "session_closed"  // Session
	Wrote          Kind = "wrote"           // Path: the host created, wrote, renamed or removed this file
	NoticeRaised   Kind = "notice"          // Notice
	NoticeCleared  Kind = "notice_cleared"  // Notice
)

// Scope names a source as traces do: defaults, user, project, workspace, system, approvals.
type Scope string

// The sources that are files.
const (
	Defaults  Scope = "defaults"
	User      Scope = "user"
	Project   Scope = "project"
	Workspace Scope = "workspace"
	System    Scope = "system"
	Approvals Scope = "approvals"
)

// Change is one scope's part of a notification (WAT-5).
type Change struct {
	Scope Scope
	How   string // created, modified, deleted
}

// Event is one record. Only the fields named at its Kind are set.
type Event struct {
	T           port.Ms
	Kind        Kind
	Session     port.SessionID
	Sessions    []port.SessionID
	Server      string
	Conn        port.ConnID
	Pass        int
	Scope       Scope
	Outcome     string
	Why         string
	Path        string
	Keys        []string
	Changes     []Change
	Entry       *config.Entry // dial, decided
	Fingerprint string
	Tools       []string
	Prompts     []string
	Resources   []string
	Trust       bool
	Excluded    []string
	Pending     []string
	Allowed     [][]string // one list per layer that defines one, the launch flag first if given
	Questions   []Question
	Call        string
	Tool        string
	Notice      *Notice
}

// Question is one entry of a session's queue (spec section 1).
type Question struct {
	Server string
	Hash   string // approval hash: what a decision names
	Source Scope  // project or workspace
	Entry  *config.Entry
	Text   string // what a person is shown (ASK-2)
}

// Notice is something wrong that a person should see. A notice stands until it is cleared.
type Notice struct {
	File    string // a Scope, or launch, session, runtime, extension; empty if no file is to blame
	Server  string
	Key     string
	Kind    string         // see the table in package impl
	Session port.SessionID // set if it concerns one session
	Line    int            // 0: unknown
	Column  int
	Text    string
}
