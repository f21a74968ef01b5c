package model

// Verdict is the outcome of admission (spec section 5).
type Verdict uint8

// The verdicts, in the order in which they are decided.
const (
	Removed Verdict = iota + 1
	Unknown
	Disabled
	NotAllowed
	Excluded
	PendingApproval
	Untrusted
	Admitted
)

// Record is an approval record.
type Record struct {
	Config   ConfigID
	Approved bool
}

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

// Effective is the effective map and the lists of every session, derived from Memory.
type Effective struct {
	effectiveState
}

type effectiveState struct{} // TODO(model): replaced

// EffectiveServer is one server of a session's effective map.
type EffectiveServer struct {
	Name     string
	Config   *Config
	Source   Source
	Shadows  []Source // highest first
	Verdict  Verdict  // never Removed or Unknown
	Strict   bool     // gated, no record for this config: verdict pending_approval and approval state pending
	Rejected bool     // gated, rejected for exactly this config
}

// Derive computes the effective map, the lists and all verdicts of every session. Once per change of Memory.
func Derive(m *Memory) *Effective { panic("model: Derive") }

// Decide is section 5 of the specification: the first condition that holds. It allocates nothing.
func Decide(e *Effective, s SessionID, server string) Verdict { panic("model: Decide") }

// Servers returns the effective map of a session, sorted by name. The result is shared: do not change it.
func (e *Effective) Servers(s SessionID) []EffectiveServer { panic("model: Servers") }

// Server returns one server of a session's effective map, or nil.
func (e *Effective) Server(s SessionID, name string) *EffectiveServer { panic("model: Server") }

// Queue returns the strictly pending servers of a session in order of name (ASK-1).
func (e *Effective) Queue(s SessionID) []Question { panic("model: Queue") }

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

// Lists returns the lists of a session.
func (e *Effective) Lists(s SessionID) Lists { panic("model: Lists") }

// Fingerprint identity of the settings-level map (GATE-2): equal numbers exactly for equal maps, within one Table.
// SettingsMap returns a canonical text of the settings-level map of a session: equal exactly if GATE-2 calls them equal.
func (e *Effective) SettingsMap(s SessionID) string { panic("model: SettingsMap") }

// Names returns every name of the merged map of a session, extensions and runtime included, filtered or not (ADM-7).
func (e *Effective) Names(s SessionID) []string { panic("model: Names") }

// Match reports whether an entry of a list matches a server name (ADM-4).
func Match(pattern, name string) bool { panic("model: Match") }

// ToolName returns the name a model knows a tool by (VIEW-3): mcp__server__tool, cut at 64 with a digest.
func ToolName(server, tool string) string { panic("model: ToolName") }
