package live

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Options are fixed while the host runs (SRC-14). The zero value is a host of the current directory that trusts nothing and
// therefore connects nothing.
type Options struct {
	// Dir is the workspace; its real path is the root. "": the working directory.
	Dir string
	// Home has the user's settings and the approvals, in .qwen. "": the user's home directory.
	Home string
	// SystemDefaults and SystemSettings are the system's files. "": there are none.
	SystemDefaults, SystemSettings string

	// Trusted says that the person trusts the folder; without it nothing runs (SRC-12). It changes with SetTrusted.
	Trusted bool
	// Pool makes sessions share stdio connections.
	Pool bool
	// Bare ignores every file: only MCPConfig, the sessions' own and the runtime servers exist (SRC-13).
	Bare bool
	// ApprovalsOff starts what files configure without asking (ASK-5).
	ApprovalsOff bool
	// Allowed is the launch flag --allowed-mcp-server-names: names or globs no edit ever widens past (ADM-1). nil: no
	// flag. Empty: nothing is allowed (ADM-2).
	Allowed []string
	// MCPConfig is the launch flag --mcp-config: JSON, a map of entries or an object with mcpServers.
	MCPConfig []byte
	// Uninitialized holds everything back until Initialize (CFG-2).
	Uninitialized bool

	// Environ is the environment for variables and children, NAME=value. nil: this process's.
	Environ []string
	// InProcess has the servers of entries of type "sdk", by name.
	InProcess map[string]*server.MCPServer
	// HTTP is cloned for every remote connection. nil: http.DefaultTransport.
	HTTP *http.Transport
	// Probe bounds the question whether a server speaks MCP 2026-07-28. 0: 5 s for processes, 2 s otherwise. Negative: it is
	// not asked, and the handshake is used.
	Probe time.Duration

	// Observe sees every event, on the host's loop: it must be quick and must not call the host. Most programs want
	// Host.Events. nil: nobody does.
	Observe func(*event.Event)

	// Outside replaces the file system and the dialer, for tests. nil: the real ones.
	Outside func(*Loop) (port.FS, port.Dialer)
	// Inject is impl.Options.Inject, for tests.
	Inject func(point string, s port.SessionID, server string) error
	// Cache may be shared by hosts of one process. nil: one of its own.
	Cache *config.Cache
}

// core translates them for the core.
func (o *Options) core(env *environ) (impl.Options, error) {
	out := impl.Options{DefaultsPath: o.SystemDefaults, SystemPath: o.SystemSettings, Pool: o.Pool, Trusted: o.Trusted, Bare: o.Bare,
		ApprovalsOff: o.ApprovalsOff, HasFlag: o.Allowed != nil, Flag: o.Allowed, Env: env.lookup, McpConfig: o.MCPConfig,
		Initialized: !o.Uninitialized, Cache: o.Cache, Inject: o.Inject}
	home := o.Home
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return out, fmt.Errorf("no home directory: %w; set Options.Home", err)
		}
	}
	for _, p := range []struct {
		from string
		to   *string
	}{{home, &out.Home}, {o.Dir, &out.Cwd}} {
		abs, err := filepath.Abs(p.from) // of "", the working directory
		if err != nil {
			return out, err
		}
		*p.to = abs
	}
	for _, p := range []*string{&out.DefaultsPath, &out.SystemPath} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return out, err
		}
		*p = abs
	}
	return out, nil
}
