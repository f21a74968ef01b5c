package model

// NamedConfig is a server of one source.
type NamedConfig struct {
	Name   string
	Config *Config
}

// Layer is what one loaded source contributes.
type Layer struct {
	Servers    []NamedConfig // sorted by name; invalid entries are absent
	HasAllowed bool
	Allowed    []string // as written, empty strings included
	Excluded   []string
	Problems   []Problem
}

// Loaded is the memory of one source: everything that a load can change. It is immutable; Load returns a new one.
type Loaded struct {
	Seen    bool         // something good, or missing, was seen before
	File    ContentState // as last read
	Bad     Content      // File is Unreadable, Unparsable or NotObject: what it was
	Memory  *Value       // the document that the next load is compared with leaf by leaf (WAT-3); fail-closed at start is {"mcp":{"allowed":[]}}
	InForce *Value       // for restart keys: the document whose values are in force (D-20)
	Layer   Layer
}

// Diff is what a load changed.
type Diff struct {
	Notify  bool
	How     string   // created, modified, deleted (WAT-5)
	Restart []string // schema keys that wait for a restart after this load, sorted (WAT-4)
}

// Load interprets what a read of scope gave (SRC-6 to SRC-8, WAT-3, WAT-4). prev is nil at start.
func (t *Table) Load(scope Scope, prev *Loaded, c Content) (*Loaded, Diff) { panic("model: Load") }
