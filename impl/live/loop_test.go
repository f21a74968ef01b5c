package live

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"mcpsim/impl/port"
)

func TestLoopRunsInOrderAndNeverInsideThePost(t *testing.T) {
	noLeaks(t)
	l := NewLoop()
	var got []int
	done := make(chan struct{})
	l.Post(func() {
		l.Post(func() { got = append(got, 2); close(done) })
		got = append(got, 1)
	})
	wait(t, "the loop", done)
	l.Close()
	if !slices.Equal(got, []int{1, 2}) {
		t.Errorf("ran %v", got)
	}
	if l.Post(func() {}) {
		t.Error("a closed loop took a function")
	}
}

func TestLoopClosesAfterWhatWasPosted(t *testing.T) {
	noLeaks(t)
	l := NewLoop()
	var mu sync.Mutex
	n := 0
	var posters sync.WaitGroup
	for range 8 {
		posters.Go(func() {
			for range 1000 {
				l.Post(func() { mu.Lock(); n++; mu.Unlock() })
			}
		})
	}
	posters.Wait()
	l.Close()
	if n != 8000 {
		t.Errorf("ran %d of 8000", n)
	}
}

func TestStoppedTimerIsDeadAlsoWhenItIsQueued(t *testing.T) {
	noLeaks(t)
	l := NewLoop()
	c := l.Clock()
	fired := make(chan struct{}, 1)
	hold, held := make(chan struct{}), make(chan struct{})
	var stop func()
	l.Post(func() { stop = c.AfterFunc(port.TimerRetry, 1, func() { fired <- struct{}{} }) })
	l.Post(func() { close(held); <-hold }) // the timer fires behind this
	wait(t, "the loop to be held", held)
	second := make(chan struct{})
	l.Post(func() {
		stop()
		c.AfterFunc(port.TimerRetry, 5, func() { close(second) })
	})
	close(hold)
	wait(t, "a later timer", second)
	l.Close()
	if l.Fired() != 1 {
		t.Errorf("%d timers have fired, not the one that was not stopped", l.Fired())
	}
	if len(fired) > 0 {
		t.Error("a stopped timer ran")
	}
}

func TestJobIsDoneOnceAlsoWhenCancelled(t *testing.T) {
	noLeaks(t)
	l := NewLoop()
	e := l.Exec()
	done := make(chan error, 3)
	cancel := e.Go(port.Op{}, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, func(err error) { done <- err })
	cancel()
	cancel()
	if err := wait(t, "the job", done); !errors.Is(err, context.Canceled) {
		t.Errorf("done with %v", err)
	}
	e.Go(port.Op{}, func(context.Context) error { panic("no") }, func(err error) { done <- err })
	if err := wait(t, "the job that panics", done); err == nil {
		t.Error("a panic is no error")
	}
	e.Wait()
	l.Close()
	if len(done) > 0 {
		t.Error("done twice")
	}
}
