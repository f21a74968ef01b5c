package model

// Config is one valid server entry, interned: two entries with the same approval hash share ID, two with the same
// fingerprint share Fp. The same entry with, say, another description is another *Config with the same ID.
type Config struct {
	ID   ConfigID
	Fp   FpID
	Raw  *Value // what the approval hash covers (after SRC-4, before SRC-9)
	Full *Value // what GATE-2 compares: Raw with description, disabled and enabled

	Transport   Transport
	CommandLine string   // stdio, expanded: command and args joined by one space
	URL         string   // http and sse, expanded
	UntypedURL  bool     // SRC-4
	Secrets     []string // env and header values, before and after expansion (INV-16)
	Timeout     Ms       // CALL-3, default applied
	Discovery   Ms       // REC-7, default and clamp applied
	Trust       bool
	Include     []string // nil: all tools
	Exclude     []string
	Disabled    bool
	Text        string // Raw as canonical JSON
}

// Problem is something a loader saw in a source; the Machine turns it into a Notice of the source's file.
type Problem struct {
	Server, Key, Kind string
}

// Table interns configs and fingerprints. It belongs to one Machine; nothing in it depends on time.
type Table struct {
	launch *Launch
	tableState
}

type tableState struct{} // TODO(model): replaced

// NewTable returns an empty table for a launch, whose environment it expands from (SRC-9).
func NewTable(launch *Launch) *Table { return &Table{launch: launch} }

// Entry interprets one entry of an mcpServers map. A nil Config means that the entry counts as absent (SRC-8);
// problems are returned in both cases. allowSDK is true for launch, session, runtime and extension entries.
func (t *Table) Entry(name string, v *Value, allowSDK bool) (*Config, []Problem) {
	panic("model: Entry")
}

// Allows reports whether tool passes the entry's includeTools and excludeTools.
func (c *Config) Allows(tool string) bool { panic("model: Allows") }
