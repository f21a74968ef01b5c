// Package trace is the one format that drawn, shrunk, recorded, hand-written and adapter traces share: a stream of JSON
// values, a header and then steps. Nothing in it depends on Go, a seed or a generator. Every step is legal in every
// state, so that shrinking never breaks a trace; unknown keys are errors.
package trace

import "mcpsim/model"

// Trace is a whole trace. It is treated as immutable: change a copy.
type Trace struct {
	Header Header
	Steps  []Step
	Name   string // the file it was read from, or a name for a drawn one; not part of the text
}

// Header is the first JSON value of a trace.
type Header struct {
	Version        int      // "mcpsim": 1
	Title          string   // "title"
	Why            string   // "why"
	Rules          []string // "rules"
	Real           string   // "real": why the trace cannot exist in the real world; empty if it can
	Modes          string   // "modes": why the trace is about launch.mode only; empty if it holds in both
	Launch         Launch
	Servers        []ServerBehaviour // "servers": in order of the text
	Files          []FileAtStart     // "files": in order of the text
	Dirs           []string          // "dirs": directories missing at start, by the scope whose directory it is
	Records        []Record          // "records"
	CorruptRecords bool              // "records": "corrupt"
	Faults         []Step            // "faults": fault steps armed before the start ("do" may be left out)
	Order          uint64            // "order": breaks ties at one instant
}

// Launch is "launch" in the header, and the changes of a restart step (where a nil or absent field keeps its value).
type Launch struct {
	Mode        string   // single (default) | pool
	Sessions    []string // default ["s1"]; a session's own servers come with an open step
	Trusted     *bool    // default true
	HasAllowed  bool     // the launch flag was given, possibly empty
	Allowed     []string
	NoAllowed   bool         // "allowed": null; in a restart: the flag is not given any more
	McpConfig   *model.Value // the map name → entry, or an object with mcpServers
	Approvals   string       // ask (default) | off
	Bare        *bool
	Env         *model.Value // object of strings
	Cwd         string       // real (default) | link | home
	Initialized *bool        // default true
}

// ServerBehaviour is one member of "servers".
type ServerBehaviour struct {
	Key       string          // command line or URL prefix
	Behaviour model.Behaviour // a nil list was absent from the text; it is then empty
}

// FileAtStart is one member of "files": a write or an edit step that is done before the start.
type FileAtStart struct {
	File  string // a scope's name
	Write Step   // Do is Write or Edit
}

// Record is one approval record given at start.
type Record struct {
	Server string
	Config *model.Value
	Status string // approved | rejected
}

// StepKind is the value of "do".
type StepKind string

// The steps.
const (
	Write           StepKind = "write"
	Edit            StepKind = "edit"
	Remove          StepKind = "remove"
	Mkdir           StepKind = "mkdir"
	Rmdir           StepKind = "rmdir"
	Chmod           StepKind = "chmod"
	Touch           StepKind = "touch"
	Advance         StepKind = "advance"
	Settle          StepKind = "settle"
	Look            StepKind = "look"
	Approve         StepKind = "approve"
	Reject          StepKind = "reject"
	ApproveAll      StepKind = "approve_all"
	DecideElsewhere StepKind = "decide_elsewhere"
	Reload          StepKind = "reload"
	Call            StepKind = "call"
	Server          StepKind = "server"
	Crash           StepKind = "crash"
	RuntimeAdd      StepKind = "runtime_add"
	RuntimeRemove   StepKind = "runtime_remove"
	Extension       StepKind = "extension"
	Open            StepKind = "open"
	Close           StepKind = "close"
	Trust           StepKind = "trust"
	Initialize      StepKind = "initialize"
	Restart         StepKind = "restart"
	Shutdown        StepKind = "shutdown"
	Fault           StepKind = "fault"
	ExpectStep      StepKind = "expect"
	Note            StepKind = "note"
)

// Step is one step. Only the fields that its kind takes are set (see Fields).
type Step struct {
	Do   StepKind
	Line int // of the text it was read from, 1-based; 0 if it was made

	File       string // write, edit, remove, mkdir, rmdir, chmod, touch, fault: a scope's name
	Name       string // write, remove, touch, chmod: a sibling's base name in the same directory; extension: its name; fault listener: whose
	JSON       *model.Value
	HasText    bool
	Text       string // write
	Base64     string // write
	Unreadable bool   // write: alone: nobody may read the file (permission bits 0); with text or base64: they denote no document
	How        string // write: inplace (the default) | atomic | backup | chunks | link-target | retarget | data-swap
	Kind       string // write: directory|dangling|loop; fault: pass|publish|listener|watch|overflow|enospc|eio|lock
	Parts      int
	GapMs      model.Ms
	Mtime      string  // keep
	Dir        bool    // chmod: of the directory, not of the file
	Mode       *uint32 // chmod: permission bits

	Servers *model.Value // edit: entries (null takes out); extension, open: the map (null or absent: none)
	Mcp     *model.Value // edit
	Other   *model.Value // edit

	Ms          model.Ms // advance, fault
	Session     string
	Server      string           // a configured name; server, crash: a behaviour's key (or a configured name)
	Config      *model.Value     // decide_elsewhere, runtime_add
	Status      string           // decide_elsewhere: approved | rejected
	ID          string           // call
	Tool        string           // call
	ModelName   string           // call: "name"
	Behaviour   *model.Behaviour // server; nil and not Unlisted: it stays as it is
	Unlisted    bool             // server: "behaviour": null; from now on it refuses
	ListChanged bool             // server: true or a list of kinds
	ListKinds   []string         // server: the kinds (tools, prompts, resources); nil: all three
	Trusted     bool
	Launch      *Launch // restart
	Unsynced    string  // restart: lost
	Op          string  // fault
	Times       int     // fault; default 1
	Text2       string  // note: the text
	Why         string  // any step: "why"; explains, does nothing

	Expect *Expect
}

// Expect is an expectation. Everything absent is not compared.
type Expect struct {
	Sessions []SessionExpect
	Host     *HostExpect
}

// SessionExpect is what one session is expected to show.
type SessionExpect struct {
	ID                        string
	Servers                   []NamedState // partial map; State is a set, "a|b" in text
	Tools, Prompts, Resources *NamedLists  // nil: not compared; complete otherwise
	Ask                       *[]AskExpect
	Notices                   *[]model.Notice // patterns: empty fields match anything
	Shows                     []ShowsExpect   // partial map, complete fields that are given
	Hint                      *bool
	Calls                     []NamedString // partial map
}

// NamedState, NamedLists, NamedString and NamedCount are the values of the expectation's maps, sorted by name.
type NamedState struct {
	Name  string
	State model.State
}

// NamedLists maps a server to names.
type NamedLists struct{ Lists []NamedList }

// NamedList is one server's names.
type NamedList struct {
	Name  string
	Names []string
}

// NamedString is a name and a word.
type NamedString struct{ Name, Value string }

// NamedCount is a name and a number.
type NamedCount struct {
	Name string
	N    int
}

// AskExpect is a name, or a name with its config and source.
type AskExpect struct {
	Server string
	Config *model.Value
	Source string
}

// ShowsExpect is what the status view is expected to show of one server; nil fields are not compared.
type ShowsExpect struct {
	Name    string
	Text    *string
	Error   *string // empty: none; a class: that one; anything else: some error
	File    *string
	Shadows *[]string
}

// HostExpect is what is expected of the host.
type HostExpect struct {
	Pool      *[]PoolExpect
	Records   *[]Record
	Dials     []NamedCount // partial
	Processes []NamedCount // partial
}

// PoolExpect is one shared connection.
type PoolExpect struct {
	Server   string
	Config   *model.Value
	Sessions []string
}
