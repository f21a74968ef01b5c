// Package approval keeps the records of decisions.
package approval

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Status of a gated server's config.
type Status uint8

// The states of APR-1.
const (
	Pending Status = iota
	Approved
	Rejected
)

// Options is what a store needs.
type Options struct {
	Path, Root       string
	Emit             func(*event.Event)
	OnNotice         func(n event.Notice, raised bool)
	LoadApprovals    func(done func())
	ApprovalsWritten func(data []byte)
}

// Store holds the records.
type Store struct{}

// Decision is an answer to a question.
type Decision struct {
	Server, Hash string
	Entry        *config.Entry
	Approve      bool
}

// Result says what became of a decision.
type Result struct {
	Decision Decision
	Recorded bool
	Why      string // stale, lock, read, write
}

// RecordLine is one record.
type RecordLine struct {
	Root, Server, Hash string
	Approved           bool
}

// NewStore returns an empty store.
func NewStore(o Options, clock port.Clock, exec port.Exec, fs port.FS) *Store { panic("to be written") }

// Loaded takes the file as it was loaded.
func (s *Store) Loaded(data []byte, err error) (changed bool) { panic("to be written") }

// State is APR-1.
func (s *Store) State(server, hash string) Status { panic("to be written") }

// Decide records decisions.
func (s *Store) Decide(ds []Decision, check func(Decision) bool, done func(results []Result)) {
	panic("to be written")
}

// Busy reports a decision in flight.
func (s *Store) Busy() bool { panic("to be written") }

// Records are this root's.
func (s *Store) Records() []RecordLine { panic("to be written") }

// Encode writes the file format.
func Encode(lines []RecordLine) []byte { panic("to be written") }

// Decode reads it.
func Decode(data []byte) ([]RecordLine, error) { panic("to be written") }
