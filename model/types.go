package model

// Ms is a time or a duration in whole milliseconds of the trace's clock.
type Ms int64

// SessionID names a session.
type SessionID string

// ConnID is a connection's number, unique in the process.
type ConnID int

// ConfigID is an interned server config: equal exactly if the approval hash must be equal (spec section 1). 0 is none.
type ConfigID uint32

// FpID is an interned fingerprint: equal exactly if the fingerprint must be equal. 0 is none.
type FpID uint32

// Scope is a source that is a file.
type Scope uint8

// The sources, lowest layer first; Approvals is not a layer.
const (
	Defaults Scope = iota
	User
	Project // .mcp.json
	Workspace
	System
	Approvals
	NumScopes
)

// String returns the name traces use.
func (s Scope) String() string {
	switch s {
	case Defaults:
		return "defaults"
	case User:
		return "user"
	case Project:
		return "project"
	case Workspace:
		return "workspace"
	case System:
		return "system"
	case Approvals:
		return "approvals"
	}
	return "?"
}

// ContentState says what a read of a source gives.
type ContentState uint8

// The states of a source (SRC-6).
const (
	Missing    ContentState = iota // counts as {}
	Good                           // a document whose top level is an object
	Unreadable                     // there, but cannot be read: permission, a directory, a dangling or looping link
	Unparsable                     // not JSON with comments: empty, cut off, UTF-16, …
	NotObject                      // parses, but the top level is no object
)

// Content is what a source holds: Value is set if State is Good. LinkText says that the whole text of an
// Unparsable file is one relative path (SRC-15).
type Content struct {
	State    ContentState
	Value    *Value
	LinkText bool
}

// Transport is how a server is reached.
type Transport uint8

// The transports.
const (
	NoTransport Transport = iota
	Stdio
	HTTP // httpUrl
	SSE  // url
	SDK  // in-process
)

// Mode is single or pool (spec section 1).
type Mode uint8

// The modes.
const (
	Single Mode = iota
	Pool
)

// Launch is what launch fixed (SRC-14).
type Launch struct {
	Mode          Mode
	HasFlag       bool // --allowed-mcp-server-names given, possibly with no names
	Flag          []string
	ApprovalsOff  bool
	Bare          bool
	Trusted       bool // at launch; changes later are inputs
	HomeIsRoot    bool // SRC-11
	Env           map[string]string
	Root          string      // real path; default cwd of servers
	McpConfig     *Value      // --mcp-config: an object name → entry, or nil
	Sessions      []SessionID // open at start
	Uninitialized bool        // the host starts before initialisation (CFG-2)
}

// Step of the protocol, in the order a dial takes them.
type Step uint8

// The protocol steps.
const (
	StepStart Step = iota
	StepInit
	StepTools
	StepPrompts
	StepResources
	StepCall
	StepEnd
	NumSteps
)

// Hold says when a delayed step acts.
type Hold uint8

// HoldRequest: the server acts at the end of the delay. HoldAnswer: it acts at its beginning and the answer is in the pipe.
const (
	HoldRequest Hold = iota
	HoldAnswer
)

// Fault is what a server does instead of answering.
type Fault uint8

// The faults of a server.
const (
	NoFault Fault = iota
	Refuse
	Exit
	Garbage
	Hang
)

// Delay is how long a step takes.
type Delay struct {
	Ms   Ms
	Hold Hold
}

// Behaviour is how a scripted server acts.
type Behaviour struct {
	Tools, Prompts, Resources []string
	Delays                    [NumSteps]Delay
	Fault                     Fault
	FaultAt                   Step
	IgnoreTerm                bool
	Unkillable                bool
	Grandchild                bool
	Linger                    Ms
}

// State is what an observer sees of one server in one session. It is a bit so that sets of states are cheap.
type State uint32

// The states (design, "Expectations").
const (
	StateUnknown State = 1 << iota
	StateLive
	StateDialing
	StateFailedRefused
	StateFailedExit
	StateFailedTimeout
	StateFailedProtocol
	StateFailedClosed
	StateFailedStuck
	StateFailedPublish
	StateHeldDisabled
	StateHeldNotAllowed
	StateHeldExcluded
	StateHeldPending
	StateHeldRejected
	StateHeldUntrusted
	StateRemoved
)

var stateNames = [...]string{"unknown", "live", "dialing", "failed:refused", "failed:exit", "failed:timeout",
	"failed:protocol", "failed:closed", "failed:stuck", "failed:publish", "held:disabled", "held:not_allowed",
	"held:excluded", "held:pending_approval", "held:rejected", "held:untrusted", "removed"}

// ParseState reads one state's name; ok is false for anything else.
func ParseState(name string) (s State, ok bool) {
	for i, n := range stateNames {
		if n == name {
			return 1 << i, true
		}
	}
	return 0, false
}

// String joins the names of a set of states with "|".
func (s State) String() string {
	out := ""
	for i, n := range stateNames {
		if s&(1<<i) != 0 {
			if out != "" {
				out += "|"
			}
			out += n
		}
	}
	return out
}

// Snapshot is what an observer sees of a host at one moment. Slices are sorted by name or id.
type Snapshot struct {
	Sessions []SessionView
	Host     HostView
}

// SessionView is one open session.
type SessionView struct {
	ID       SessionID
	Servers  []ServerView // the effective map and the removed names
	Ask      []Question
	Notices  []Notice // standing ones that concern this session, host-wide ones included
	Hint     bool     // VIEW-2
	HintOpen bool     // in an expectation: a server may have failed or not, so false may be true
	Calls    []CallView
	Closed   bool // the session has closed: only its calls are shown
}

// ServerView is one server of a session. In an expectation States may hold several.
type ServerView struct {
	Name                      string
	States                    State
	Tools, Prompts, Resources []string
	Text                      string   // VIEW-1: the verdict's sentence, empty if admitted
	Error                     string   // VIEW-1: the connection's error, empty if none. Expectations check only that it is (not) empty and its class.
	File                      string   // the winning source: a scope's name, launch, session, runtime or extension
	Shadows                   []string // the sources it shadows, highest first
}

// Question is one entry of a session's queue.
type Question struct {
	Server string
	Config ConfigID
	Source Scope
	Text   string // what a person is shown; judged by INV-16, not compared
}

// Same compares what is asked, not how it reads.
func (q Question) Same(o Question) bool {
	return q.Server == o.Server && q.Config == o.Config && q.Source == o.Source
}

// Notice is a standing notice. Text is not compared.
type Notice struct {
	File, Server, Key, Kind string
	Text                    string
}

// CallView is a call and its outcome: CALL-4's words, or "running".
type CallView struct {
	ID, Outcome string
}

// HostView is what concerns no session.
type HostView struct {
	Pool      []PoolView // pool mode: shared connections, by server then config
	Records   []RecordView
	Dials     []Count // processes or connections begun since the start, by server name
	Processes []Count // alive now, helpers included, by server name
}

// PoolView is one shared connection and its holders.
type PoolView struct {
	Server   string
	Config   FpID
	Sessions []SessionID
}

// RecordView is one approval record as the approvals file holds it.
type RecordView struct {
	Server   string
	Config   ConfigID
	Approved bool
}

// Count counts something per server name.
type Count struct {
	Server string
	N      int
}
