package fakeclock

import "mcpsim/impl/port"

// Timers is how many timers of a kind are pending.
func (q *Queue) Timers(k port.TimerKind) int { return q.timers[k] }

// Timer is when the first pending timer of a kind is due; ok is false if there is none.
func (q *Queue) Timer(k port.TimerKind) (at port.Ms, ok bool) {
	if q.timers[k] == 0 {
		return 0, false
	}
	for i := range q.heap {
		if e := &q.heap[i]; e.n.kind == k && (!ok || e.at < at) {
			at, ok = e.at, true
		}
	}
	return at, ok
}

// Abandon forgets what a host has set and posted: its process has ended. The world's events stay.
func (q *Queue) Abandon() {
	kept := q.heap[:0]
	for _, e := range q.heap {
		if e.n.ofHost {
			q.done(e.n)
		} else {
			kept = append(kept, e)
		}
	}
	clear(q.heap[len(kept):])
	q.heap = kept
	for i := range q.heap {
		q.heap[i].n.at = int32(i)
	}
	for i := len(q.heap)/2 - 1; i >= 0; i-- {
		q.down(i, q.heap[i])
	}
}
