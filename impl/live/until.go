package live

import (
	"context"
	"slices"
	"strings"

	"mcpsim/impl"
)

// waiter waits for something to be true of the host.
type waiter struct {
	ok func(*impl.Host) bool
	ch chan struct{}
}

// until returns when ok, which runs on the loop whenever that has nothing else to do, is true.
func (h *Host) until(ctx context.Context, ok func(*impl.Host) bool) error {
	w := &waiter{ok, make(chan struct{})}
	if err := h.Core(ctx, func(core *impl.Host) {
		if ok(core) {
			close(w.ch)
		} else {
			h.waiters = append(h.waiters, w)
		}
	}); err != nil {
		h.giveUp(w)
		return err
	}
	select {
	case <-w.ch:
		return nil
	case <-h.closed:
		return ErrClosed
	case <-ctx.Done():
		h.giveUp(w)
		return ctx.Err()
	}
}

func (h *Host) giveUp(w *waiter) {
	h.loop.Post(func() { h.waiters = slices.DeleteFunc(h.waiters, func(x *waiter) bool { return x == w }) })
}

// look asks every waiter. It runs on the loop when that is idle.
func (h *Host) look() {
	if len(h.waiters) == 0 || h.core == nil {
		return
	}
	h.waiters = slices.DeleteFunc(h.waiters, func(w *waiter) bool {
		if w.ok(h.core) {
			close(w.ch)
			return true
		}
		return false
	})
}

// Settled returns when nothing is in flight that the host knows of: no load, pass, dial, list request, decision or close.
// A change of a file that was made a moment ago may not have been noticed yet.
func (h *Host) Settled(ctx context.Context) error {
	return h.until(ctx, (*impl.Host).Settled)
}

// Ready returns when no server of the session is being dialled any more: each is live, failed, or held back. A server that
// hangs is bounded by its discovery time (5 s remote, 30 s stdio).
func (s *Session) Ready(ctx context.Context) error {
	if err := s.h.until(ctx, func(core *impl.Host) bool {
		for _, sv := range core.Status(s.id).Servers {
			if strings.HasPrefix(sv.State, "dialing") {
				return false
			}
		}
		return true // also of a session that has closed
	}); err != nil {
		return err
	}
	_, err := of(ctx, s, func(*impl.Host) struct{} { return struct{}{} })
	return err
}
