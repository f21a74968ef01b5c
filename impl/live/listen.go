package live

import (
	"context"
	"fmt"

	"mcpsim/impl"
	"mcpsim/impl/event"
)

// Listen calls f after every change of a source that matters (WAT-5), with what changed: one call at a time, on a goroutine
// of its own; what happens meanwhile is gathered into the next (WAT-6). f should return within 30 s and when its context
// ends, which it does with the host; one that fails or takes longer is reported once, by name, as a notice.
func (h *Host) Listen(ctx context.Context, name string, f func(context.Context, []event.Change) error) (unsubscribe func(), err error) {
	life, cancel := context.WithCancel(context.Background())
	var stop func()
	err = h.Core(ctx, func(core *impl.Host) {
		stop = core.Subscribe(name, func(changes []event.Change, done func(error)) {
			go func() {
				err := heed(life, f, changes)
				h.loop.Post(func() { done(err) })
			}()
		})
	})
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		select {
		case <-h.closing:
			cancel()
		case <-life.Done():
		}
	}()
	return func() {
		cancel()
		h.loop.Post(stop)
	}, nil
}

// heed turns a listener's panic into its failure.
func heed(ctx context.Context, f func(context.Context, []event.Change) error, changes []event.Change) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return f(ctx, changes)
}
