// Package fakeclock is virtual time: one queue of everything that is going to happen, in the order in which it does. It
// is single-threaded; time passes only while the queue is run, and then at once.
package fakeclock

import (
	"fmt"

	"mcpsim/impl/port"
)

// Queue holds what is due. It implements port.Clock for one host at a time.
//
// What is due at one instant happens in the order of ties (Tie), and within one tie in the order of scheduling. With order
// 0 all ties are equal: first in, first out.
type Queue struct {
	now   port.Ms
	heap  []entry
	seq   uint64
	free  []*node
	order uint64

	timerTies  [port.TimerLock + 1]uint64
	timers     [port.TimerLock + 1]int
	postTie    uint64
	ran        uint64
	perInstant int
}

// Runner is something that happens.
type Runner interface{ Run() }

// Handle names what was scheduled. The zero value names nothing. It goes stale when its event has happened.
type Handle struct {
	n   *node
	gen uint32
}

// New returns an empty queue at time 0 whose ties are drawn by order.
func New(order uint64) *Queue {
	q := &Queue{}
	q.Reset(order)
	return q
}

// Reset empties the queue, keeping its memory, and puts the time back to 0. Handles and stop functions from before are stale.
func (q *Queue) Reset(order uint64) {
	for i := range q.heap {
		q.release(q.heap[i].n)
	}
	clear(q.heap)
	q.heap = q.heap[:0]
	q.now, q.seq, q.ran, q.perInstant, q.order = 0, 0, 0, 0, order
	q.timers = [port.TimerLock + 1]int{}
	for k := range q.timerTies {
		q.timerTies[k] = q.Tie(Timer(port.TimerKind(k)), "", 0)
	}
	q.postTie = q.Tie(Posted, "", 0)
}

// Now is the present instant.
func (q *Queue) Now() port.Ms { return q.now }

// AfterFunc implements port.Clock: f happens d from now, or in the course of this instant if d is not positive.
func (q *Queue) AfterFunc(k port.TimerKind, d port.Ms, f func()) (stop func()) {
	if k > port.TimerLock {
		panic(fmt.Sprintf("fakeclock: there is no kind %d of timers", k))
	}
	h := q.At(q.now+max(d, 0), q.timerTies[k], Func(f))
	h.n.kind, h.n.ofHost = k, true
	q.timers[k]++
	return func() { q.Cancel(h) }
}

// Post lets f happen in the course of this instant, never inside the call. It is the host's: Abandon forgets it.
func (q *Queue) Post(f func()) {
	q.At(q.now, q.postTie, Func(f)).n.ofHost = true
}

// At lets r happen at an instant, or in the course of the present one if that has passed. It is the world's.
func (q *Queue) At(at port.Ms, tie uint64, r Runner) Handle {
	n := q.node()
	n.r = r
	q.seq++
	q.push(entry{at: max(at, q.now), tie: tie, seq: q.seq, n: n})
	return Handle{n, n.gen}
}

// Cancel makes an event not happen. It reports whether it was still to come.
func (q *Queue) Cancel(h Handle) bool {
	if !q.Pending(h) {
		return false
	}
	q.remove(int(h.n.at))
	q.done(h.n)
	return true
}

// Pending reports whether an event is still to come.
func (q *Queue) Pending(h Handle) bool { return h.n != nil && h.n.gen == h.gen }

// Func is a function as a Runner.
type Func func()

// Run calls the function.
func (f Func) Run() { f() }

// node is an event's identity: where it is in the heap, and how often the memory was used.
type node struct {
	r      Runner
	at     int32 // index in the heap
	gen    uint32
	kind   port.TimerKind // 0: no timer
	ofHost bool
}

func (q *Queue) node() *node {
	if i := len(q.free) - 1; i >= 0 {
		n := q.free[i]
		q.free = q.free[:i]
		return n
	}
	return &node{}
}

// done forgets an event that has left the heap.
func (q *Queue) done(n *node) {
	if n.kind != 0 {
		q.timers[n.kind]--
	}
	q.release(n)
}

func (q *Queue) release(n *node) {
	*n = node{gen: n.gen + 1}
	q.free = append(q.free, n)
}
