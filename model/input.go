package model

// InputKind says what the world did.
type InputKind uint8

// The inputs of a Machine. The world outside the host is told with them, and nothing else.
const (
	InFile          InputKind = iota + 1 // Scope, Content: what a read of the source gives from now on (not Approvals)
	InRecords                            // Content.State, Records: what a read of the approvals file gives from now on
	InWake                               // Scope: a file event that concerns the source was delivered to the host (sim), or was caused (elsewhere)
	InRead                               // Scope, Content: the host read the source just now and this is what it got; its load follows
	InStarted                            // Conn, Server: a process or connection began, whatever the host said of it
	InDecide                             // Session, Server, Config (the hash shown), Approve; Group > 0: part of one approve-all
	InReload                             // Session
	InServer                             // Key, URL (the prefix its URLs have), Behaviour (nil: unlisted, refuses)
	InListChanged                        // Key: every live server of that behaviour says that its lists changed
	InCrash                              // Key: every process or stream of that behaviour ends now
	InCall                               // Session, Call, Server, Tool
	InRuntimeAdd                         // Session, Server, Entry
	InRuntimeRemove                      // Session, Server
	InExtension                          // Name (in Server), Servers (nil: the extension is gone)
	InOpen                               // Session, Servers
	InClose                              // Session
	InTrust                              // On
	InInitialize
	InRestart // Launch: the process ended and a new one starts with it
	InShutdown
	InFault   // FaultKind, Ms, Times
	InWitness // Key (an invariant), Server (perhaps), Detail: the world saw the host break a rule that no event shows
)

// FaultKind names an armed fault (trace step "fault").
type FaultKind string

// Input is one thing the world did. Only the fields named at its Kind are set.
type Input struct {
	Kind      InputKind
	Scope     Scope
	Content   Content
	Records   map[string]Record
	Session   SessionID
	Server    string
	Config    ConfigID
	Approve   bool
	Group     int
	Key       string
	Kinds     []string // list_changed: tools, prompts, resources; none: all three
	URL       string
	Conn      ConnID
	Behaviour *Behaviour
	Call      string
	Tool      string
	Entry     *Value
	Servers   *Value
	On        bool
	Launch    *Launch
	FaultKind FaultKind
	Times     int
	Ms        Ms
	Detail    string
}
