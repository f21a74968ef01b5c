// Package impl is the reference host's core: it keeps the MCP connections of every session what the configuration says,
// while the configuration changes.
//
// # Purity
//
// A Host is a plain struct. Every method and every callback runs on one loop, one at a time; nothing in this package
// starts a goroutine, waits, takes a lock, reads a clock, draws a random number or touches the operating system. What
// waits goes through Ports and comes back as a callback on the loop, never from inside the call that arranged it. The
// same calls and the same callbacks in the same order give the same events in the same order: no map is iterated on the
// way to an event, a message or a dial; servers go in order of name, sessions in order of id. Observe must not call back
// into the host.
//
// # Where the rules are
//
//	host.go      the struct, start, trust, extensions, initialisation (SRC-12, SRC-14, CFG-2, CFG-5)
//	session.go   sessions open, close, and add or remove runtime servers (CFG-5, POOL-7)
//	assemble.go  the map of SRC-2, shared by all sessions that add nothing of their own
//	view.go      that map with verdict and approval per server, for one session (section 5, ADM-7)
//	lists.go     the lists as GATE-3 compares them
//	gate.go      notification → pass or no pass (GATE-1 to GATE-7)
//	pass.go      one reconcile of one session (CFG-3, CFG-4, REC-1, REC-4, REC-5)
//	retry.go     D-4
//	slot.go      who shares a connection and who waits for whose end: the one place that knows the mode (POOL-2, POOL-5)
//	links.go     sessions acquire and release connections; the drain (POOL-3, POOL-4, REC-15)
//	conn.go      one connection: dialling step by step, live, lost (REC-7, REC-8, REC-9, REC-14, POOL-8)
//	ending.go    its end (REC-13)
//	refresh.go   list_changed (REC-11)
//	registry.go  tools, prompts, resources per session (REC-2, REC-3, REC-6, POOL-6)
//	names.go     the names a model knows tools by (VIEW-3)
//	queue.go     questions (ASK-1, ASK-2)
//	decide.go    answers (APR-4, APR-5, ASK-4)
//	calls.go     CALL-1 to CALL-4
//	status.go    what a person is shown (VIEW-1, VIEW-2), miss.go what a model is told (VIEW-3), getters.go CFG-6
//	notices.go   standing notices; variables.go those of SRC-9
//	shutdown.go  everything ends at once (REC-13)
//	busy.go      what "settled" waits for (spec section 1)
//
// # Order of events
//
// lists, pass_start, then per server in order of name what goes (purged, released, closing), then what comes (dial,
// acquired), pass_compared; pass_end when the last dial the pass began or joined is over; then ask. A connection that is
// lost: purged, dial_failed or closing with its class in Outcome, released. A retired one: purged, released, closing.
// Every dial is followed by exactly one closing (for a failed dial too) and one closed, unless its process is stuck.
package impl
