// Package shrink makes a failing trace small. It works on the concrete trace, knows nothing of where that came from, and
// asks one question only: does this one still fail in the same way? Every step is legal in every state, so
// every candidate is a legal trace.
//
// It is deterministic, and bounded by plays. A trace is never changed; a candidate is a copy that shares what is the same.
package shrink

import (
	"hash/fnv"

	"mcpsim/sim/trace"
)

// Limit bounds the work.
type Limit struct {
	Plays int // calls of the predicate, the first included; 0: DefaultLimit's
}

// DefaultLimit is enough for a trace of 50 steps to come to rest.
var DefaultLimit = Limit{Plays: 1500}

// Stats is what shrinking came to.
type Stats struct {
	Plays    int // calls of the predicate
	Accepted int // candidates that failed in the same way
	Repeats  int // candidates that had been played before, and were not again
	Rounds   int
	From, To int  // steps
	Capped   bool // the limit ended it, not the fixpoint
}

// Shrink returns a small trace for which fails is true: no candidate of any pass is smaller and fails. If fails is not true
// of t itself, it returns a copy of t. fails must say the same of the same trace each time.
func Shrink(t *trace.Trace, fails func(*trace.Trace) bool, limit Limit) (*trace.Trace, Stats) {
	if limit.Plays == 0 {
		limit = DefaultLimit
	}
	first := *t
	s := &shrinker{best: &first, fails: fails, limit: limit.Plays, tried: map[[16]byte]struct{}{}}
	s.stats.From = len(t.Steps)
	if s.try(s.copy()) {
		s.stats.Accepted = 0
		s.cut()
		for more := true; more && !s.stats.Capped; {
			before := s.stats.Accepted
			s.round()
			more = s.stats.Accepted > before
		}
	}
	s.stats.To = len(s.best.Steps)
	return s.best, s.stats
}

// round runs every pass once, those that take away most first.
func (s *shrinker) round() {
	s.stats.Rounds++
	for _, pass := range [...]func(){
		s.steps, s.header, s.launch, s.servers, s.steps, s.fields, s.behaviours, s.merge, s.times, s.sessions, s.values,
		s.pairs, s.sources, s.hoist, s.rename,
	} {
		pass()
	}
}

type shrinker struct {
	best  *trace.Trace
	fails func(*trace.Trace) bool
	limit int
	stats Stats
	tried map[[16]byte]struct{} // digests of the candidates that were played
	text  []byte
}

// try plays a candidate and keeps it if it fails in the same way.
func (s *shrinker) try(c *trace.Trace) bool {
	if c == nil {
		return false
	}
	s.text = c.Append(s.text[:0])
	h := fnv.New128a()
	h.Write(s.text)
	var key [16]byte
	h.Sum(key[:0])
	if _, again := s.tried[key]; again {
		s.stats.Repeats++
		return false
	}
	if s.stats.Plays >= s.limit {
		s.stats.Capped = true
		return false
	}
	s.tried[key] = struct{}{}
	s.stats.Plays++
	if !s.fails(c) {
		return false
	}
	s.best = c
	s.stats.Accepted++
	return true
}

// copy returns a candidate that is the best trace so far, with lists of its own; what hangs on their elements is shared.
func (s *shrinker) copy() *trace.Trace {
	c := *s.best
	c.Steps = append([]trace.Step(nil), c.Steps...)
	h := &c.Header
	h.Servers = append([]trace.ServerBehaviour(nil), h.Servers...)
	h.Files = append([]trace.FileAtStart(nil), h.Files...)
	h.Records = append([]trace.Record(nil), h.Records...)
	h.Dirs = append([]string(nil), h.Dirs...)
	h.Faults = append([]trace.Step(nil), h.Faults...)
	h.Launch.Sessions = append([]string(nil), h.Launch.Sessions...)
	return &c
}

// minimise takes chunks of a list of n elements away, from the end, halving the chunk. without returns the candidate that
// lacks the elements [i, j), or nil.
func (s *shrinker) minimise(n int, without func(i, j int) *trace.Trace) {
	for chunk := n; chunk >= 1; chunk /= 2 {
		for end := n; end > 0; {
			start := max(0, end-chunk)
			if s.try(without(start, end)) {
				n -= end - start
			}
			end = start
		}
		if chunk > n {
			chunk = max(2*n, 1)
			if n == 0 {
				return
			}
		}
	}
}

// drop returns a list without the elements [i, j), in memory of its own.
func drop[T any](list []T, i, j int) []T {
	if len(list) == j-i {
		return nil
	}
	out := make([]T, 0, len(list)-(j-i))
	return append(append(out, list[:i]...), list[j:]...)
}
