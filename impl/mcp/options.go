package mcp

import "time"

// Option is a choice of how a client speaks.
type Option func(*options)

type options struct {
	modern      bool
	discover    time.Duration
	onListenEnd func(error)
}

// WithModernEra lets the client try protocol versions from 2026-07-28 on first (server/discover) and fall back to the
// initialize handshake if the server does not answer within probe. The bound runs on the real clock: not for simulations.
// A silent legacy server costs the whole of it, within the discovery bound of REC-7.
func WithModernEra(probe time.Duration) Option {
	return func(o *options) { o.modern, o.discover = true, probe }
}

// OnListenEnd is told when the stream of notifications of a modern connection ends without having been closed from this
// side, which is how a stateless connection is lost (REC-14), or when the server does not offer one. It is called on a
// goroutine of its own.
func OnListenEnd(f func(error)) Option {
	return func(o *options) { o.onListenEnd = f }
}
