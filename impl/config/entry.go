package config

import "slices"

// Entry is one valid server entry, normalised (SRC-4, SRC-8), before expansion (SRC-9). It is immutable and interned
// by content in a Cache: the same text of the same name is one Entry.
type Entry struct {
	Name string
	// Canon is the canonical JSON (RFC 8785) of what the approval hash covers: the whole entry after SRC-4, minus
	// scope, extensionName, description, disabled, enabled at the top level, and without members that are null, {} or []
	// at any depth (array elements stay). A number that RFC 8785 would round stays as written.
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

	names    *[]string            // variables that the entry may look up, once known
	expanded map[string]*Expanded // by what they are and the root
}

// Limits of REC-7 and defaults of CALL-3 and REC-7, in ms.
const (
	defaultCallMs            = 600_000
	defaultDiscoveryMs       = 30_000 // stdio and in-process
	defaultRemoteDiscoveryMs = 5_000
	minDiscoveryMs           = 100
	maxDiscoveryMs           = 300_000
)

// CallTimeout bounds one call, in ms (CALL-3).
func (e *Entry) CallTimeout() int64 {
	if e.TimeoutMs > 0 {
		return e.TimeoutMs
	}
	return defaultCallMs
}

// DiscoveryBound bounds a dial up to the last list answer, in ms (REC-7).
func (e *Entry) DiscoveryBound() int64 {
	switch {
	case e.DiscoveryTimeoutMs > 0:
		return min(max(e.DiscoveryTimeoutMs, minDiscoveryMs), maxDiscoveryMs)
	case e.Kind == HTTP || e.Kind == SSE:
		return defaultRemoteDiscoveryMs
	}
	return defaultDiscoveryMs
}

// Visible reports whether a tool passes includeTools and excludeTools (REC-6).
func (e *Entry) Visible(tool string) bool {
	return (len(e.IncludeTools) == 0 || slices.Contains(e.IncludeTools, tool)) && !slices.Contains(e.ExcludeTools, tool)
}
