package fakeclock

import (
	"fmt"

	"mcpsim/impl/port"
)

// maxPerInstant bounds what happens at one instant: who goes on and on without letting time pass will never settle.
const maxPerInstant = 2_000_000

// LivelockError says that something goes on for ever at one instant.
type LivelockError struct {
	At     port.Ms
	Events int
}

func (e *LivelockError) Error() string {
	return fmt.Sprintf("fakeclock: %d events happened at %d ms and there is no end to it", e.Events, e.At)
}

// RunUntil lets everything due up to t happen, t included, also what becomes due meanwhile. It is then t. The error is a
// *LivelockError.
func (q *Queue) RunUntil(t port.Ms) error {
	for len(q.heap) > 0 && q.heap[0].at <= t {
		if err := q.Step(); err != nil {
			return err
		}
	}
	if t > q.now {
		q.now, q.perInstant = t, 0
	}
	return nil
}

// Step lets the next event happen, at its time. Without one it does nothing. The error is a *LivelockError.
func (q *Queue) Step() error {
	if len(q.heap) == 0 {
		return nil
	}
	e := q.heap[0]
	if e.at > q.now {
		q.now, q.perInstant = e.at, 0
	} else if q.perInstant++; q.perInstant > maxPerInstant {
		return &LivelockError{q.now, q.perInstant}
	}
	q.remove(0)
	r := e.n.r
	q.done(e.n)
	q.ran++
	r.Run()
	return nil
}

// Next is when the next event is due; ok is false if nothing is.
func (q *Queue) Next() (at port.Ms, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}

// Idle reports whether nothing more happens at this instant.
func (q *Queue) Idle() bool { return len(q.heap) == 0 || q.heap[0].at > q.now }

// Len is how many events are to come.
func (q *Queue) Len() int { return len(q.heap) }

// Ran is how many events have happened since the last Reset.
func (q *Queue) Ran() uint64 { return q.ran }
