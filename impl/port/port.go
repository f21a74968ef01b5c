// Package port is the boundary of the host: everything that waits, and
// everything outside the process, is reached through one of these interfaces.
//
// The host is a single-threaded loop. Every callback named here (a timer, a
// completion, a file event, the end of a process) is delivered on that loop,
// never from inside the call that arranged it, so the host needs no lock. The simulated world (sim/) and the real one
// (impl/live) both implement this package and decide nothing.
package port

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/spf13/afero"

	"mcpsim/impl/config"
)

// Ms is a time or a duration in whole milliseconds. Times count from the start of the host.
type Ms int64

// Duration converts to the standard library's unit.
func (m Ms) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// ConnID numbers connections uniquely in the process (spec section 1, "connection").
type ConnID int

// SessionID names a session.
type SessionID string

// TimerKind says what a timer is for; a simulator orders and lists timers by it.
type TimerKind uint8

// The timers the host sets.
const (
	TimerDebounce  TimerKind = iota + 1 // WAT-2
	TimerDiscovery                      // REC-7
	TimerRetry                          // D-4
	TimerListener                       // WAT-6, 30 s
	TimerKill                           // REC-13, every step of ending a connection
	TimerDrain                          // POOL-3
	TimerPoll                           // WAT-9
	TimerCall                           // CALL-3
	TimerLock                           // APR-9, waiting for the approvals lock
)

// Clock tells the time and calls back.
type Clock interface {
	Now() Ms
	// AfterFunc runs f on the loop after d. stop makes f never run, even if it is queued already.
	AfterFunc(k TimerKind, d Ms, f func()) (stop func())
}

// OpKind names what a job waits for.
type OpKind uint8

// The jobs the host runs. One protocol step is one job, so that a simulator can put anything between any two.
const (
	OpStart OpKind = iota + 1 // begin a connection: spawn the process, or nothing for a remote server
	OpInitialize
	OpListTools
	OpListPrompts
	OpListResources
	OpCall
	OpEnd     // close a remote connection (a process is ended through Conn and needs no job)
	OpRead    // read one source
	OpPersist // one file operation of a decision
)

// Op describes a job: what it is for, and for which connection, session and server.
type Op struct {
	Kind    OpKind
	Conn    ConnID
	Session SessionID // the session that asked, if one did
	Server  string
	Detail  string // OpPersist, OpRead: the file operation and path; OpCall: the tool
}

// Exec runs work that waits. work runs somewhere else (in the simulator: at once or later, inline) and
// must not touch the host's state; done runs on the loop, exactly once, with work's error, also after
// cancel, perhaps much later (hold: answer). cancel cancels work's context and returns at once.
type Exec interface {
	Go(op Op, work func(context.Context) error, done func(error)) (cancel func())
}

// FS is the file system: afero's, with links, directory sync, advisory locks and watches.
// Single operations (open, read, rename, stat) do not wait; reading a source and each step of persisting a decision
// are run as jobs of Exec.
type FS interface {
	afero.Fs
	// LstatIfPossible, ReadlinkIfPossible: afero's optional interfaces, here required.
	afero.Lstater
	afero.LinkReader
	// SyncDir makes the entries of a directory durable (fsync of the directory).
	SyncDir(path string) error
	// TryLock takes the advisory lock kept in the file at path (created if missing, mode 0600).
	// ok is false if another process holds it.
	TryLock(path string) (unlock func(), ok bool, err error)
	// Watch watches one directory. Events arrive on the loop through the FSHandler given to the host.
	Watch(dir string, h func(FSEvent)) (Watch, error)
}

// Watch is one established watch of a directory. After Close no event of it is delivered.
type Watch interface{ Close() error }

// FSOp is a set of fsnotify operations.
type FSOp uint8

// The operations, in fsnotify's meaning.
const (
	FSCreate FSOp = 1 << iota
	FSWrite
	FSRemove
	FSRename
	FSChmod
)

// FSEvent is one event of a watched directory, translated without decisions. Path is the watched
// directory joined with the entry's name, or the directory itself when it was removed or renamed (the watch is then gone).
type FSEvent struct {
	Path     string
	Op       FSOp
	Overflow bool  // events were lost; Path is empty
	Err      error // the watcher reported an error; Path may be empty
}

// Dialer makes connections. Dial itself does no I/O and does not fail for reasons of the outside world:
// those come from the transport's Start.
type Dialer interface {
	Dial(op Op, spec config.DialSpec) (Conn, error)
}

// Conn is one connection attempt: the transport that the mcp-go client drives, and the handle that ends it.
type Conn interface {
	// Transport is driven by impl/mcp inside jobs of Exec.
	Transport() transport.Interface
	// OnExit registers f, called on the loop once, when the process has exited (the direct child; helpers may
	// still be alive) or the remote stream was closed by the other side. err says how. It is called for an end
	// that the host itself caused as well. Must be registered before Start.
	OnExit(f func(err error))
	// OnGone registers f, called on the loop once, when nothing of the connection is left: for a process, no
	// member of its group. For a remote connection never called.
	OnGone(f func())
	// CloseInput, Terminate and Kill act on a stdio connection's process group and return at once (REC-13).
	// They do nothing for a remote connection or an ended group.
	CloseInput()
	Terminate()
	Kill()
	// A connection may also have a method Began() bool: whether a process was started, although Start was called off.

	// Process reports whether the connection is a child process.
	Process() bool
}
