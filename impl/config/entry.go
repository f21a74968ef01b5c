package config

// Entry is one valid server entry, normalised (SRC-4, SRC-8), before expansion (SRC-9). It is immutable and interned
// by content: the same text in the same file parses once.
type Entry struct {
	Name string
	// Canon is the canonical JSON (RFC 8785) of what the approval hash covers: the whole entry after SRC-4, minus
	// scope, extensionName, description, disabled, enabled at the top level, and without members that are null, {} or []
	// at any depth (array elements stay).
	Canon string
	// Full is the same with description, disabled and enabled kept: what GATE-2 compares.
	Full string
	// Hash is the approval hash: sha256 of Canon, in hex.
	Hash string

	Kind               Kind
	Command            string
	Args               []string
	Env                []KV
	Cwd                string
	URL                string
	Headers            []KV
	UntypedURL         bool
	TimeoutMs          int64 // 0: the default of CALL-3
	DiscoveryTimeoutMs int64 // 0: the default of REC-7
	Trust              bool
	IncludeTools       []string // nil: all
	ExcludeTools       []string
	Disabled           bool // disabled is true or enabled is false
	Description        string
}
