// Package approval keeps the records of what a person decided about gated servers (section 6 of the spec): in memory what was
// loaded last, in one file what every process shares.
//
//	approval.go   the store: what is in force (APR-1, APR-2, APR-8)
//	decide.go     one write for a set of decisions, step by step (APR-5, APR-7, APR-9)
//	file.go       the operations on the file, each a job of its own
//	format.go     the file's format
//
// Like the rest of the host it runs on one loop, and what waits is a job.
package approval

import (
	"cmp"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"slices"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Status is the approval state of a gated server's config (APR-1).
type Status uint8

// The states. No record, or a record of another config, is Pending.
const (
	Pending Status = iota
	Approved
	Rejected
)

// Options is what a store needs. The functions are called on the loop and must not be nil.
type Options struct {
	Path             string // of the file; its lock, temporary and corrupt copies lie beside it
	Root             string // APR-6: one root for reading and writing
	Emit             func(*event.Event)
	OnNotice         func(n event.Notice, raised bool)
	LoadApprovals    func(done func()) // loads the file, which comes back through Loaded, then calls done
	ApprovalsWritten func(data []byte) // tells the watcher what the host wrote itself (WAT-3)
}

// Store holds the records that are in force.
type Store struct {
	o     Options
	clock port.Clock
	exec  port.Exec
	fs    port.FS

	data    []byte // as loaded or written last
	err     error  // it could not be read
	corrupt error  // it could be read and is no such file
	file    *contents
	mine    map[string]record // of this root

	notice  *event.Notice // about the file
	refused bool          // the notice about a decision stands (APR-9)

	queue   []*task
	current *task
}

// RecordLine is one record: what was decided about one config of one server under one root.
type RecordLine struct {
	Root, Server, Hash string
	Approved           bool
}

// NewStore returns a store without records.
func NewStore(o Options, clock port.Clock, exec port.Exec, fs port.FS) *Store {
	return &Store{o: o, clock: clock, exec: exec, fs: fs, err: iofs.ErrNotExist, file: &contents{}}
}

// Loaded takes the file as it was loaded: err is nil, fs.ErrNotExist, or says why it cannot be read. What it holds is in
// force, also if it is missing, unreadable or corrupt, which is no records (APR-2, APR-8). It reports whether a record of
// this root changed.
func (s *Store) Loaded(data []byte, err error) (changed bool) {
	s.data, s.err, s.corrupt, s.file = data, err, nil, &contents{}
	if err == nil {
		if f, bad := parse(data); bad != nil {
			s.corrupt = bad
		} else {
			s.file = f
		}
	}
	s.tellFile()
	before := s.mine
	s.mine = s.file.of(s.o.Root)
	return !maps.Equal(before, s.mine)
}

// State is the approval state of a server's config (APR-1).
func (s *Store) State(server, hash string) Status {
	switch r, ok := s.mine[server]; {
	case !ok || r.hash != hash:
		return Pending
	case r.approved:
		return Approved
	}
	return Rejected
}

// Records are this root's records, sorted by server.
func (s *Store) Records() []RecordLine {
	var out []RecordLine
	for server, r := range s.mine { // sorted below
		out = append(out, RecordLine{s.o.Root, server, r.hash, r.approved})
	}
	slices.SortFunc(out, compareLines)
	return out
}

func compareLines(a, b RecordLine) int {
	return cmp.Or(cmp.Compare(a.Root, b.Root), cmp.Compare(a.Server, b.Server))
}

// Busy reports whether a decision is being written.
func (s *Store) Busy() bool { return s.current != nil }

// tellFile keeps one notice about the file while it is there and bad (APR-8).
func (s *Store) tellFile() {
	n := event.Notice{File: string(event.Approvals)}
	var bad *formatError
	switch {
	case s.err != nil && !errors.Is(s.err, iofs.ErrNotExist):
		n.Kind, n.Text = "unreadable", fmt.Sprintf("%s: nothing is approved while it cannot be read: %v", s.o.Path, s.err)
	case errors.As(s.corrupt, &bad):
		n.Kind, n.Line, n.Column = bad.kind, bad.line, bad.column
		n.Text = fmt.Sprintf("%s: nothing is approved: %s", s.o.Path, bad.msg)
	}
	if s.notice != nil && s.notice.Kind != n.Kind {
		s.o.OnNotice(*s.notice, false)
		s.notice = nil
	}
	if n.Kind != "" && (s.notice == nil || *s.notice != n) {
		s.notice = &n
		s.o.OnNotice(n, true)
	}
}

// tellRefused keeps one notice while the last decision could not be persisted (APR-9).
func (s *Store) tellRefused(err error) {
	n := event.Notice{File: string(event.Approvals), Kind: "decision"}
	switch {
	case err != nil:
		n.Text = fmt.Sprintf("%s: the decision was not recorded, decide again: %v", s.o.Path, err)
		s.refused = true
		s.o.OnNotice(n, true)
	case s.refused:
		s.refused = false
		s.o.OnNotice(n, false)
	}
}

// Decision is an answer to a question: the server and the hash that was shown (APR-5).
type Decision struct {
	Server, Hash string
	Entry        *config.Entry // as shown; the store does not look at it
	Approve      bool
}

// Result says what became of a decision. Why is set if it was not recorded: stale (check said no), lock, read or write.
type Result struct {
	Decision Decision
	Recorded bool
	Why      string
}
