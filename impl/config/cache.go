package config

// Cache interns parsed documents and entries by content.
type Cache struct{}

// NewCache returns an empty cache.
func NewCache() *Cache { return &Cache{} }

// Problem is something wrong inside a good document.
type Problem struct {
	Server, Key, Kind, Text string
	Line, Column            int
}

// Doc is a parsed good document.
type Doc struct{}

// ParseError says why a text is no good document.
type ParseError struct {
	Kind         string // unparsable or not_object
	Line, Column int
	Msg          string
}

func (e *ParseError) Error() string { return e.Msg }

// Parse parses a document.
func (c *Cache) Parse(text []byte) (*Doc, error) { panic("to be written") }

// Entries parses a map of entries.
func (c *Cache) Entries(text []byte) ([]*Entry, []Problem, error) { panic("to be written") }

// Expanded is an entry as it is dialled.
type Expanded struct {
	Spec        DialSpec
	Fingerprint string
	Problems    []Problem
}

// Expand is SRC-9.
func (e *Entry) Expand(env func(string) (string, bool), root string) *Expanded { panic("to be written") }

// DiscoveryBound is in ms (REC-7).
func (e *Entry) DiscoveryBound() int64 { panic("to be written") }

// CallTimeout is in ms (CALL-3).
func (e *Entry) CallTimeout() int64 { panic("to be written") }

// Visible applies includeTools and excludeTools.
func (e *Entry) Visible(tool string) bool { panic("to be written") }

// Describe is ASK-2.
func (e *Entry) Describe(full bool) string { panic("to be written") }

// CommandLine is command and arguments joined by one space.
func CommandLine(spec DialSpec) string { panic("to be written") }
