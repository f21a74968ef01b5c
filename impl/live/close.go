package live

import (
	"context"
	"errors"
	"time"
)

// leftMost bounds how long Close waits for what was killed.
const leftMost = 2 * time.Second

// ErrLeft is what Close returns if something outlived it: a process that a kill does not end, or a call into an in-process
// server that does not return.
var ErrLeft = errors.New("something of the host does not end")

// Close ends everything: calls, sessions, and every server with its whole process group, all at once (REC-13). Polite
// servers need some milliseconds, stubborn ones up to 3.5 s. When ctx ends before, what is left is killed at once and Close
// returns shortly after, with ctx's error. Later calls wait for the first and return what it found.
func (h *Host) Close(ctx context.Context) error {
	h.once.Do(func() {
		close(h.closing)
		go h.shutDown()
	})
	select {
	case <-h.closed:
	case <-ctx.Done():
		if h.dialer != nil {
			h.dialer.KillAll()
		}
		<-h.closed
		h.closeMu.Lock()
		defer h.closeMu.Unlock()
		return errors.Join(ctx.Err(), h.left)
	}
	h.closeMu.Lock()
	defer h.closeMu.Unlock()
	return h.left
}

// shutDown runs once.
func (h *Host) shutDown() {
	defer close(h.closed)
	down := make(chan struct{})
	h.loop.Post(func() {
		if h.core == nil {
			close(down)
			return
		}
		h.core.Shutdown(func() { close(down) })
	})
	<-down // bounded by REC-13: what is stuck does not count
	var left error
	if h.dialer != nil && !h.dialer.close(leftMost) {
		left = ErrLeft
	}
	if !within(leftMost, h.exec.Wait) {
		left = ErrLeft
	}
	if h.fs != nil {
		_ = h.fs.Close() // the watches are closed already
	}
	h.loop.Close()
	h.stream.close()
	h.closeMu.Lock()
	h.left = left
	h.closeMu.Unlock()
}

// within runs f and reports whether it returned in time. f goes on if it did not.
func within(d time.Duration, f func()) bool {
	over := make(chan struct{})
	go func() {
		f()
		close(over)
	}()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-over:
		return true
	case <-t.C:
		return false
	}
}
