// Package settings is what the host knows of its files: it reads the sources (SRC-1 to SRC-8), watches them (WAT-1 to
// WAT-11), compares what it reads with what it holds, and tells listeners what differs.
//
// # Purity
//
// Everything runs on the host's loop. Reads are jobs; what a job found is taken in on the loop, in order of the requests:
//
//	trail.go      the names on the way to a file, through links
//	read.go       what a read of a path gives (SRC-6)
//	watches.go    one watch per directory, armed and armed again (WAT-1, WAT-7)
//	events.go     which file events count, and for whom
//	debounce.go   one timer for all scopes (WAT-2)
//	poll.go       what cannot be watched or read (WAT-9)
//	load.go       reads, one batch after the other, so that no change falls between two (WAT-11)
//	source.go     memory of one source: last good content, what is in force (SRC-6 to SRC-8, WAT-3 to WAT-5)
//	schema.go     which keys need a restart (WAT-4)
//	notices.go    what a person is told about a source
//	listeners.go  one queue per listener (WAT-6)
package settings

import (
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Paths says where the sources are; "" means that a source does not exist (no system path given; the workspace when root is
// home, SRC-11). All are absolute.
type Paths struct{ Defaults, User, Workspace, Project, System, Approvals string }

// Options is what a host gives its sources. Emit, OnNotice and OnApprovals are called on the loop and must not be nil.
type Options struct {
	Paths         Paths
	Bare, Trusted bool // SRC-13, SRC-12
	Cache         *config.Cache
	Emit          func(*event.Event) // the receiver fills in the time
	// OnNotice tells that a notice stands (again, with another text or place) or no longer stands.
	OnNotice func(n event.Notice, raised bool)
	// OnApprovals takes the approvals file each time it was loaded for the first time or differently: err is nil,
	// fs.ErrNotExist (missing), or says why it is there and cannot be read. Inside it, NotifyApprovals may be called.
	OnApprovals func(data []byte, err error)
}

// Layer is what one source contributes. Its slices are immutable, and the same ones as long as the content is the same.
type Layer struct {
	Scope             event.Scope
	Servers           []*config.Entry // sorted by name, valid ones only
	HasAllowed        bool            // mcp.allowed is defined, perhaps as []
	Allowed, Excluded []string        // as written
}

// same reports whether two layers are the same memory.
func (l *Layer) same(o *Layer) bool {
	return l.HasAllowed == o.HasAllowed && shared(l.Servers, o.Servers) && shared(l.Allowed, o.Allowed) && shared(l.Excluded, o.Excluded)
}

func shared[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// Sources are the files of one host.
type Sources struct {
	o     Options
	clock port.Clock
	exec  port.Exec
	fs    port.FS

	all     []*source // lowest layer first, the approvals last
	trusted bool
	layers  []Layer // what Layers returns; nil: to be made anew

	starting, started, stopped bool
	onStart                    []func()

	queue    []*batch // waiting for current
	current  *batch   // being read
	changes  []event.Change
	applying bool

	watches []*dirWatch   // sorted by directory
	broken  []brokenWatch // sorted by directory

	debounceStop func()
	listeners    []*listener
}

// New returns sources that have read nothing yet.
func New(o Options, clock port.Clock, exec port.Exec, fs port.FS) *Sources {
	s := &Sources{o: o, clock: clock, exec: exec, fs: fs, trusted: o.Trusted}
	if o.Bare { // SRC-13: no file counts, so none is read
		return s
	}
	p := o.Paths
	for _, x := range []source{
		{scope: event.Defaults, path: p.Defaults},
		{scope: event.User, path: p.User, watched: true},
		{scope: event.Project, path: p.Project, watched: true, needsTrust: true},
		{scope: event.Workspace, path: p.Workspace, watched: true, needsTrust: true},
		{scope: event.System, path: p.System},
		{scope: event.Approvals, path: p.Approvals, watched: true},
	} {
		if x.path != "" {
			s.all = append(s.all, &x)
		}
	}
	return s
}

// Start arms the watches and reads every source once; done runs when all are loaded. It may be called again.
func (s *Sources) Start(done func()) {
	switch {
	case s.started || s.stopped:
		call(done)
		return
	case s.starting:
		s.onStart = append(s.onStart, done)
		return
	}
	s.starting = true
	s.onStart = append(s.onStart, done)
	s.request(whyStart, s.counting(), func() {
		s.started = true
		waiting := s.onStart
		s.onStart = nil
		for _, f := range waiting {
			call(f)
		}
	})
}

// Stop cancels every timer and closes every watch (WAT-10). What is being read is dropped; whoever waits for it is told. It
// may be called again.
func (s *Sources) Stop() {
	if s.stopped {
		return
	}
	s.stopped = true
	s.stopDebounce()
	for _, src := range s.all {
		src.stopPoll()
	}
	for _, l := range s.listeners {
		l.stopTimer()
	}
	s.closeWatches(func(*dirWatch) bool { return true })
}

// Layers returns what is in force now, lowest first: of defaults, user, project, workspace and system those that count. The
// result is shared.
func (s *Sources) Layers() []Layer {
	if s.layers == nil {
		s.layers = []Layer{}
		for _, src := range s.all {
			if src.active && src.scope != event.Approvals {
				s.layers = append(s.layers, src.layer)
			}
		}
	}
	return s.layers
}

// LoadAll loads every source, the system's and the approvals too. done runs when all are loaded and what differs has been
// handed to the listeners (WAT-11).
func (s *Sources) LoadAll(why string, done func()) { s.request(why, s.counting(), done) }

// LoadApprovals is the re-read before a decision is written (APR-7); done as for LoadAll.
func (s *Sources) LoadApprovals(done func()) {
	var list []*source
	if src := s.source(event.Approvals); src != nil {
		list = append(list, src)
	}
	s.request(whyDecision, list, done)
}

// ApprovalsWritten takes what the host itself has just written to the approvals file, so that the event that follows is
// silent (WAT-3).
func (s *Sources) ApprovalsWritten(data []byte) {
	if src := s.source(event.Approvals); src != nil {
		src.approvals = approvals{loaded: true, data: string(data)}
		src.state = good
		s.updatePoll(src)
	}
}

// NotifyApprovals tells the listeners that the approvals file holds other decisions than it did (D-7). Inside OnApprovals
// it becomes part of the notification of that load.
func (s *Sources) NotifyApprovals() {
	how := "modified"
	if src := s.source(event.Approvals); src != nil && src.approvals.how != "" {
		how = src.approvals.how
	}
	c := event.Change{Scope: event.Approvals, How: how}
	if s.applying {
		s.changes = append(s.changes, c)
		return
	}
	s.notify([]event.Change{c})
}

// SetTrusted changes the folder's trust (SRC-12): every source that counts is loaded and listeners are told, whatever was
// found. What no longer counts is out of Layers at once; what counts from now on is in it when it was read. done as for
// LoadAll.
func (s *Sources) SetTrusted(trusted bool, done func()) {
	if s.stopped || trusted == s.trusted {
		call(done)
		return
	}
	s.trusted = trusted
	var gone []event.Change
	for _, src := range s.all {
		if !s.counts(src) { // perhaps it is being read for the first time
			if src.active && src.state == good {
				gone = append(gone, event.Change{Scope: src.scope, How: "deleted"})
			}
			s.forget(src)
		}
	}
	if !s.starting {
		call(done)
		return
	}
	s.arm(nil, false) // closes the watches that nobody needs any more
	s.settleDebounce()
	s.submit(&batch{why: whyTrust, sources: s.counting(), changes: gone}, done)
}

// Busy says what is in flight; empty is settled, polls apart (spec section 1).
func (s *Sources) Busy() []string {
	var out []string
	if s.stopped {
		return nil
	}
	if s.current != nil {
		out = append(out, "load "+s.current.why)
	}
	for _, b := range s.queue {
		out = append(out, "load "+b.why)
	}
	if s.debounceStop != nil {
		out = append(out, "debounce")
	}
	for _, l := range s.listeners {
		if l.timer != nil {
			out = append(out, "listener "+l.name)
		}
	}
	return out
}

// counts reports whether a source is read at all (SRC-12; SRC-13 leaves none).
func (s *Sources) counts(src *source) bool { return s.trusted || !src.needsTrust }

func (s *Sources) counting() []*source {
	var out []*source
	for _, src := range s.all {
		if s.counts(src) {
			out = append(out, src)
		}
	}
	return out
}

func (s *Sources) source(scope event.Scope) *source {
	for _, src := range s.all {
		if src.scope == scope {
			return src
		}
	}
	return nil
}

func call(f func()) {
	if f != nil {
		f()
	}
}
