package live

import (
	"sync"
	"time"
)

// Loop runs functions one at a time, in the order they were posted, on one goroutine: the loop the host lives on.
//
// Posting never waits: the queue has no bound, because its producers have. Those are the host's timers and jobs (at most a
// few per connection and call), the file watcher (one function at a time, however many events), transports (one per
// list_changed), and the callers of the API, each of which waits for its answer.
type Loop struct {
	mu     sync.Mutex
	queue  []func()
	closed bool
	wake   chan struct{} // holds one token if the queue may be non-empty
	done   chan struct{} // closed when the goroutine has ended
	idle   func()        // runs on the loop when the queue has become empty; nil: nothing
	turn   time.Time     // when the function that runs began; of the loop
	fired  int           // timers that have run; of the loop
}

// Turn is when the function that runs began: for the host no time passes in between, so that what it does in one go is one
// instant. It belongs to the loop.
func (l *Loop) Turn() time.Time { return l.turn }

// Fired counts the timers of the loop's clock that have run, the one that runs included: each says that time has passed. It
// belongs to the loop.
func (l *Loop) Fired() int { return l.fired }

// NewLoop starts a loop. Close ends it.
func NewLoop() *Loop {
	l := &Loop{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.run()
	return l
}

// Post runs f on the loop later, never inside the call. It may be called from anywhere. It reports false, and f never
// runs, if the loop was closed.
func (l *Loop) Post(f func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.queue = append(l.queue, f)
	l.mu.Unlock()
	l.nudge()
	return true
}

// Close ends the loop: what was posted before still runs, and Close returns when it has. It must not be called on the loop.
func (l *Loop) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.nudge()
	<-l.done
}

func (l *Loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *Loop) run() {
	defer close(l.done)
	var batch []func()
	for {
		l.mu.Lock()
		batch, l.queue = l.queue, batch[:0]
		closed := l.closed
		l.mu.Unlock()
		for i, f := range batch {
			batch[i] = nil // what a function holds may go as soon as it has run
			l.turn = time.Now()
			f()
		}
		switch {
		case len(batch) > 0: // more may have been posted meanwhile
		case closed:
			return
		default:
			if l.idle != nil {
				l.idle()
			}
			<-l.wake
		}
	}
}
