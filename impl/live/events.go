package live

import (
	"sync"

	"mcpsim/impl/event"
)

// Delivery is one event of a subscription.
type Delivery struct {
	Event *event.Event // shared: do not change it
	// Dropped is how many events before this one were lost because the subscriber was too slow.
	Dropped int
}

// Subscription is a stream of events. C is closed when the subscription or the host is.
type Subscription struct {
	C <-chan Delivery

	s       *stream
	ch      chan Delivery
	dropped int
}

// stream hands events out. It never waits for a subscriber.
type stream struct {
	mu   sync.Mutex
	subs map[*Subscription]bool
	over bool
}

func (s *stream) init() { s.subs = map[*Subscription]bool{} }

// Events subscribes to what the host does from now on. queue bounds how many events wait for the subscriber (at least 1);
// beyond it they are dropped, and the next that is delivered says how many.
//
// An event holds configurations with their secrets in memory (Entry). Use Entry.Describe to show one.
func (h *Host) Events(queue int) *Subscription {
	ch := make(chan Delivery, max(queue, 1))
	x := &Subscription{C: ch, s: &h.stream, ch: ch}
	h.stream.mu.Lock()
	defer h.stream.mu.Unlock()
	if h.stream.over {
		close(ch)
	} else {
		h.stream.subs[x] = true
	}
	return x
}

// Close ends the subscription. It may be called again.
func (x *Subscription) Close() {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.s.subs[x] {
		delete(x.s.subs, x)
		close(x.ch)
	}
}

func (s *stream) publish(ev *event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.subs {
		select {
		case x.ch <- Delivery{Event: ev, Dropped: x.dropped}:
			x.dropped = 0
		default:
			x.dropped++
		}
	}
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for x := range s.subs {
		close(x.ch)
	}
	s.subs = nil
}
