package fakeclock

import "mcpsim/impl/port"

// entry is one place of the heap: what decides the order stands in it, so that comparing follows no pointer.
type entry struct {
	at  port.Ms
	tie uint64
	seq uint64
	n   *node
}

func (a *entry) before(b *entry) bool {
	if a.at != b.at {
		return a.at < b.at
	}
	if a.tie != b.tie {
		return a.tie < b.tie
	}
	return a.seq < b.seq
}

func (q *Queue) push(e entry) {
	q.heap = append(q.heap, e)
	q.up(len(q.heap)-1, e)
}

// remove takes out the entry at i.
func (q *Queue) remove(i int) {
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = entry{}
	q.heap = q.heap[:last]
	if i == last {
		return
	}
	if i > 0 && e.before(&q.heap[(i-1)/2]) {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
}

// up puts e at i or above.
func (q *Queue) up(i int, e entry) {
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(&q.heap[p]) {
			break
		}
		q.put(i, q.heap[p])
		i = p
	}
	q.put(i, e)
}

// down puts e at i or below.
func (q *Queue) down(i int, e entry) {
	for {
		c := 2*i + 1
		if c >= len(q.heap) {
			break
		}
		if c+1 < len(q.heap) && q.heap[c+1].before(&q.heap[c]) {
			c++
		}
		if !q.heap[c].before(&e) {
			break
		}
		q.put(i, q.heap[c])
		i = c
	}
	q.put(i, e)
}

func (q *Queue) put(i int, e entry) {
	q.heap[i] = e
	e.n.at = int32(i)
}
