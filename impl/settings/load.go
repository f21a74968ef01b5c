package settings

import (
	"context"
	"errors"
	"slices"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Why a source is loaded, as a load event says it; LoadAll takes others too (reload).
const (
	whyStart    = "start"
	whyWatcher  = "watcher"
	whyPoll     = "poll"
	whyDecision = "decision"
	whyTrust    = "trust"
)

// batch is sources that are read together: their differences make one notification.
type batch struct {
	why      string
	sources  []*source
	readings []reading
	left     int            // reads that are not back
	reads    int            // rounds of reading
	changes  []event.Change // of what stopped counting
	done     []func()
}

// request asks for a load. Batches run one after the other, so a load that is asked for while another is in flight reads
// what is there after that one: no change falls between them. Waiting requests with one reason become one.
func (s *Sources) request(why string, list []*source, done func()) {
	s.submit(&batch{why: why, sources: list}, done)
}

func (s *Sources) submit(b *batch, done func()) {
	if s.stopped {
		call(done)
		return
	}
	if n := len(s.queue); n > 0 && s.queue[n-1].why == b.why {
		last := s.queue[n-1]
		for _, src := range b.sources {
			last.add(src)
		}
		last.changes = gather(last.changes, b.changes)
		b = last
	} else {
		s.queue = append(s.queue, b)
	}
	if done != nil {
		b.done = append(b.done, done)
	}
	s.next()
}

func (b *batch) add(src *source) {
	if !slices.Contains(b.sources, src) {
		b.sources = append(b.sources, src)
	}
}

// next begins the first batch that waits, if none is in flight.
func (s *Sources) next() {
	for s.current == nil && len(s.queue) > 0 && !s.applying {
		b := s.queue[0]
		s.queue = s.queue[1:]
		s.current = b
		s.begin(b)
	}
}

// begin arms what is to be read before it is read, so that what happens after the read raises an event (WAT-7).
func (s *Sources) begin(b *batch) {
	b.sources = slices.DeleteFunc(b.sources, func(src *source) bool { return !s.counts(src) })
	for _, src := range s.arm(b.sources, b.why == whyPoll) {
		b.add(src) // a watch of it stands again: what happened before is seen by nobody else
	}
	slices.SortFunc(b.sources, func(x, y *source) int { return s.rank(x) - s.rank(y) })
	for _, src := range b.sources {
		src.dirty = false
	}
	s.settleDebounce()
	b.readings = make([]reading, len(b.sources))
	all := make([]int, len(b.sources))
	for i := range all {
		all[i] = i
	}
	s.readAll(b, all)
}

// readAll reads some of a batch's sources.
func (s *Sources) readAll(b *batch, which []int) {
	b.left = len(which)
	if b.left == 0 {
		s.finish(b)
		return
	}
	for _, i := range which {
		r := &reading{trail: trail{state: unreadable, why: "it was not read"}}
		path := b.sources[i].path
		s.exec.Go(port.Op{Kind: port.OpRead, Detail: "read " + path}, func(context.Context) error {
			*r = read(s.fs, path)
			if r.state == unreadable {
				return errors.New(r.why)
			}
			return nil
		}, func(error) {
			b.readings[i] = *r
			if b.left--; b.left == 0 {
				s.haveRead(b)
			}
		})
	}
}

// maxReads bounds how often one load reads a source whose way moves.
const maxReads = 4

// haveRead reads those once more whose way moved between arming and reading: what happened to them after the read, and
// before a watch stands where they are now, would be seen by nobody (WAT-7).
func (s *Sources) haveRead(b *batch) {
	if s.stopped {
		s.drop(b)
		return
	}
	var again []int
	var moved []*source
	for i, src := range b.sources {
		if src.watched && s.counts(src) && !b.readings[i].same(src.steps) {
			again, moved = append(again, i), append(moved, src)
		}
	}
	if b.reads++; len(again) == 0 {
		s.finish(b)
		return
	}
	opened := s.arm(moved, false)
	if b.reads < maxReads {
		s.readAll(b, again)
		return
	}
	s.finish(b)
	for _, src := range append(moved, opened...) {
		s.wake(src)
	}
}

func (s *Sources) rank(src *source) int { return slices.Index(s.all, src) }

// finish takes in what was read and tells listeners what differs, before whoever asked for it.
func (s *Sources) finish(b *batch) {
	s.applying, s.changes = true, b.changes
	for i, src := range b.sources {
		src.polling = false
		if !s.counts(src) { // trust was withdrawn while it was read
			continue
		}
		if b.why == whyPoll {
			src.polledAt = s.clock.Now()
		}
		s.take(src, &b.readings[i], b.why)
	}
	changes := s.changes
	s.applying, s.changes = false, nil
	s.updatePolls()
	if len(changes) > 0 && b.why != whyStart || b.why == whyTrust { // SRC-12: a change of trust notifies in any case
		s.notify(changes)
	}
	s.current = nil
	for _, f := range b.done {
		f()
	}
	s.next()
}

// drop tells whoever waits for a load that will not be taken in any more.
func (s *Sources) drop(b *batch) {
	waiting := append([]*batch{b}, s.queue...)
	s.current, s.queue = nil, nil
	for _, x := range waiting {
		for _, f := range x.done {
			f()
		}
	}
}

// take makes what was read the memory of a source, and notes what a notification must say.
func (s *Sources) take(src *source, r *reading, why string) {
	if src.scope == event.Approvals {
		s.takeApprovals(src, r, why)
		return
	}
	first := !src.loaded
	was := src.layer
	change := src.load(r, s.o.Cache)
	if !src.active || !src.layer.same(&was) {
		s.layers = nil
	}
	src.active = true
	outcome := "kept"
	switch src.state {
	case good:
		outcome = "ok"
	case missing:
		outcome = "missing"
	}
	s.o.Emit(&event.Event{Kind: event.Load, Scope: src.scope, Outcome: outcome, Why: why})
	s.tellRestart(src)
	s.tellNotices(src)
	switch {
	case !first && change != "":
		s.changes = append(s.changes, event.Change{Scope: src.scope, How: change})
	case first && why != whyStart && src.state == good: // it counts from now on
		s.changes = append(s.changes, event.Change{Scope: src.scope, How: "created"})
	}
}
