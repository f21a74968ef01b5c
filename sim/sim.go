// Package sim plays a trace: a Stage makes the world happen (files, servers, time), a System is the host in it, and a
// World puts the steps to both and lets a model.Machine judge. Stage and System each exist at least twice: fakes with the
// in-process host, a real directory with real servers and the live host, and either with an adapter behind a pipe.
package sim

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Sink receives what happened, in order: what the world did and what the host did. A Machine hangs behind it.
type Sink interface {
	Input(at model.Ms, in model.Input)
	// Event tells an event, which is the sink's until it returns; what hangs on it may be kept.
	Event(at model.Ms, ev *model.Event)
}

// Stage makes the world happen.
type Stage interface {
	// Reset builds the world that a header describes. Configs are interned in t, which the Machine shares.
	Reset(h *trace.Header, t *model.Table, sink Sink) error
	// Do performs a step that concerns the world (files, servers, faults). ok is false if the step is the host's.
	Do(st *trace.Step) (ok bool, err error)
	// Now is the world's time. Advance lets d pass and everything due happen, the end included.
	Now() model.Ms
	Advance(d model.Ms) error
	// Snapshot fills in what the world sees of the host: dials and processes.
	Snapshot(into *model.HostView)
	Close() error
}

// Turner is a Stage on which things happen by themselves: f runs while nothing does, so that it may ask the Machine.
type Turner interface {
	Turn(f func() error) error
}

// System is a host under test.
type System interface {
	Caps() Caps
	Reset(h *trace.Header, st Stage, t *model.Table, sink Sink) error
	// Do performs a step that concerns the host (look, decisions, sessions, reload, calls …).
	Do(st *trace.Step) error
	// Settle lets time pass until the host is settled, at most budget; ok is false if it is not by then.
	Settle(budget model.Ms) (ok bool, err error)
	Observe() (model.Snapshot, error)
	Close() error
}

// Caps is what a system can do and show.
type Caps struct {
	Pool, Sessions, Runtime, Extensions, Calls, ListChanged, Events, VirtualTime, RealServers, Trust bool
}
