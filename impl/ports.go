package impl

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Ports is everything outside the host.
type Ports struct {
	Clock   port.Clock
	Exec    port.Exec
	FS      port.FS
	Dialer  port.Dialer
	Observe func(*event.Event) // every event, in order; it may keep the event and must not change it or call the host
	// Post runs f on the loop later, never inside the call. Unlike everything else here it may be called from anywhere:
	// a transport reports list_changed from its own reader.
	Post func(f func())
}

// Options is what launch fixes (SRC-14).
type Options struct {
	Home string // of the person; absolute
	Cwd  string // absolute; its real path is the root
	// Paths of the system's settings; "" means there are none.
	DefaultsPath, SystemPath string

	Pool         bool // sessions share stdio connections (section 10)
	Trusted      bool // the folder; changes with SetTrusted
	Bare         bool // SRC-13
	ApprovalsOff bool // ASK-5
	HasFlag      bool // --allowed-mcp-server-names was given, possibly with no names (ADM-1, ADM-2)
	Flag         []string
	Env          func(string) (string, bool) // the environment the process was started with; nil: empty (SRC-9)
	McpConfig    []byte                      // --mcp-config: a map of entries, or an object with mcpServers
	Initialized  bool                        // false: nothing is reconciled before Initialize (CFG-2)

	Cache *config.Cache // nil: one of its own
	// Inject makes things fail, for tests: point "pass" fails the comparing part of a session's pass (CFG-4), "publish"
	// refuses a server's publication. nil: never.
	Inject func(point string, s port.SessionID, server string) error
}
