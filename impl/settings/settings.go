// Package settings reads, watches and layers the sources.
package settings

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Paths says where the sources are; "" means that a source does not exist.
type Paths struct{ Defaults, User, Workspace, Project, System, Approvals string }

// Options is what a host gives its sources.
type Options struct {
	Paths         Paths
	Bare, Trusted bool
	Cache         *config.Cache
	Emit          func(*event.Event)
	OnNotice      func(n event.Notice, raised bool)
	OnApprovals   func(data []byte, err error)
}

// Layer is what one source contributes.
type Layer struct {
	Scope             event.Scope
	Servers           []*config.Entry
	HasAllowed        bool
	Allowed, Excluded []string
}

// Sources are the files the host reads.
type Sources struct{}

// New returns sources that have read nothing.
func New(o Options, clock port.Clock, exec port.Exec, fs port.FS) *Sources { panic("to be written") }

// Start reads every source once and arms the watches.
func (s *Sources) Start(done func()) { panic("to be written") }

// Stop is WAT-10.
func (s *Sources) Stop() { panic("to be written") }

// Layers are in force now, lowest first.
func (s *Sources) Layers() []Layer { panic("to be written") }

// LoadAll loads every source.
func (s *Sources) LoadAll(why string, done func()) { panic("to be written") }

// LoadApprovals is the re-read before a decision.
func (s *Sources) LoadApprovals(done func()) { panic("to be written") }

// ApprovalsWritten tells what the host itself wrote.
func (s *Sources) ApprovalsWritten(data []byte) { panic("to be written") }

// SetTrusted is SRC-12.
func (s *Sources) SetTrusted(trusted bool, done func()) { panic("to be written") }

// Subscribe is WAT-6.
func (s *Sources) Subscribe(name string, f func(changes []event.Change, done func(err error))) (unsubscribe func()) {
	panic("to be written")
}

// NotifyApprovals notifies of a decision made elsewhere.
func (s *Sources) NotifyApprovals() { panic("to be written") }

// Busy says what is in flight.
func (s *Sources) Busy() []string { panic("to be written") }

// Polled lists the polled sources.
func (s *Sources) Polled() []event.Scope { panic("to be written") }

// PolledOnceSince reports whether every polled source was polled at or after t.
func (s *Sources) PolledOnceSince(t port.Ms) bool { panic("to be written") }
