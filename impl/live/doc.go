// Package live is the host in the real world, and what a Go agent embeds: real files, a real clock, MCP servers as child
// processes, over HTTP, or in the agent itself.
//
//	host, err := live.New(ctx, live.Options{Dir: dir, Trusted: true})
//	defer host.Close(ctx)
//	stop := live.HandleSignals(host)
//	defer stop()
//	s, err := host.OpenSession(ctx, "main", nil)
//	for _, t := range s.Tools(ctx) … s.CallName(ctx, t.ModelName, args) …
//	for _, q := range s.Questions(ctx) … s.Approve(ctx, q) …
//
// The configuration is watched while the host runs: what a file says takes effect by itself. Nothing of a checked-in file
// (.mcp.json, .qwen/settings.json) is started before a person approved exactly that configuration, see Session.Questions.
//
// # Use
//
// Every method may be called from any goroutine, except from Options.Observe. A method that waits takes a context; when
// that ends the method returns its error, and what was asked for may happen all the same. After Close everything fails
// with ErrClosed.
//
// # Processes
//
// A stdio server runs in a process group of its own, in its cwd, with the host's environment and the entry's env on top.
// Its command is looked up in the PATH that it gets; relative directories of a PATH do not count. It is ended by closing
// its stdin, then SIGTERM after 500 ms, then SIGKILL after 2 s, for its whole group and without anything waiting but its
// successor. What a server writes to its stderr is kept, the last 8 KiB (Session.ServerLog).
//
// No member of a group is left after Close, nor, with HandleSignals, after SIGINT, SIGTERM or SIGHUP. If the host is killed
// outright, crashes, or exits without Close, a watchdog (one /bin/sh with a session of its own, started with the first
// server) kills every group at once; on Linux the kernel also kills the direct children, which covers the moment between
// a child's start and the watchdog's knowing of it, and a watchdog that was killed too. Not covered: processes that left
// their group (setsid, as daemons and some browsers do) unless they end with their stdin or their parent; children of
// another user; helpers of a server when host and watchdog are killed at the same moment; systems without /bin/sh.
//
// # Files
//
// The approvals are locked with flock(2); the lock file names its holder while it is held. Sources that are no regular
// files (a FIFO, a device) count as unreadable. One fsnotify watcher serves all directories.
//
// # Protocol
//
// Both eras of MCP are spoken: 2026-07-28 without a handshake, if the server answers a probe (5 s for processes, 2 s for
// remote servers, Options.Probe), else the handshake revisions up to 2025-11-25. Over streamable HTTP the stream of
// announcements is opened again when it ends; a server that is not there then is lost.
package live
