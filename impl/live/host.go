package live

import (
	"context"
	"errors"
	"os"
	"sync"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Host owns the MCP connections of one process. Make it with New, end it with Close.
type Host struct {
	loop   *Loop
	core   *impl.Host // of the loop
	exec   *Exec
	fs     *FS     // nil: replaced
	dialer *Dialer // nil: replaced
	stream stream

	waiters []*waiter // of the loop

	closing chan struct{} // closed when Close was called
	closed  chan struct{} // closed when it has ended
	once    sync.Once
	closeMu sync.Mutex
	left    error // what Close found
}

// New starts a host and returns when every source was read once; connections are still being made then (see Settled). It
// fails if the workspace cannot be resolved, if MCPConfig is no JSON object, or if ctx ends; no host exists then.
func New(ctx context.Context, o Options) (*Host, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list := o.Environ
	if list == nil {
		list = os.Environ()
	}
	env := newEnviron(list)
	coreOptions, err := o.core(env)
	if err != nil {
		return nil, err
	}
	h := &Host{loop: NewLoop(), closing: make(chan struct{}), closed: make(chan struct{})}
	h.exec = h.loop.Exec()
	h.stream.init()
	p := impl.Ports{Clock: h.loop.Clock(), Exec: h.exec, Post: func(f func()) { h.loop.Post(f) },
		Observe: func(ev *event.Event) {
			if o.Observe != nil {
				o.Observe(ev)
			}
			h.stream.publish(ev)
		}}
	if o.Outside != nil {
		p.FS, p.Dialer = o.Outside(h.loop)
	} else {
		h.fs = NewFS(h.loop)
		h.dialer = newDialer(h.loop, env, DialerOptions{InProcess: o.InProcess, HTTP: o.HTTP, Probe: o.Probe})
		p.FS, p.Dialer = h.fs, h.dialer
	}
	failed := make(chan error, 1)
	h.loop.Post(func() {
		h.loop.idle = h.look
		if h.core, err = impl.New(coreOptions, p); err != nil {
			failed <- err
			return
		}
		h.core.Start(func() { failed <- nil })
	})
	select {
	case err = <-failed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		_ = h.Close(context.WithoutCancel(ctx)) // bounded: nothing was dialled yet, or it is killed
		return nil, err
	}
	return h, nil
}

// ask runs f on the loop and returns what f gives to done, once it does, or when ctx has ended, or the host is closed. f runs
// all the same; so it must leave nothing in variables of its caller.
func ask[T any](ctx context.Context, h *Host, f func(core *impl.Host, done func(T, error))) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var none T
	select { // a context that has ended asks for nothing
	case <-ctx.Done():
		return none, ctx.Err()
	case <-h.closing:
		return none, ErrClosed
	default:
	}
	ch := make(chan answer, 1)
	if !h.loop.Post(func() {
		f(h.core, func(v T, err error) {
			if errors.Is(err, impl.ErrDown) {
				err = ErrClosed
			}
			select {
			case ch <- answer{v, err}:
			default: // it was answered: the first counts
			}
		})
	}) {
		return none, ErrClosed
	}
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-h.closed:
		select { // it may have been answered on the way down
		case a := <-ch:
			return a.v, a.err
		default:
			return none, ErrClosed
		}
	}
}

// get is ask for what the core says at once.
func get[T any](ctx context.Context, h *Host, f func(core *impl.Host) T) (T, error) {
	return ask(ctx, h, func(core *impl.Host, done func(T, error)) { done(f(core), nil) })
}

// do is ask for what has no answer but an error.
func (h *Host) do(ctx context.Context, f func(core *impl.Host, done func(error))) error {
	_, err := ask(ctx, h, func(core *impl.Host, done func(struct{}, error)) {
		f(core, func(err error) { done(struct{}{}, err) })
	})
	return err
}

// Core runs f on the host's loop with the core, and waits for it. f must be quick and must not wait; it is for programs
// that show or test more than the other methods offer. If the error is ctx's, f may still be to run.
func (h *Host) Core(ctx context.Context, f func(*impl.Host)) error {
	return h.do(ctx, func(core *impl.Host, done func(error)) {
		f(core)
		done(nil)
	})
}

// Root is the real path of the workspace.
func (h *Host) Root() string { return h.core.Root() } // never changes

// SetTrusted changes whether the person trusts the folder: every source is read again, and withdrawn trust closes
// everything (SRC-12).
func (h *Host) SetTrusted(ctx context.Context, trusted bool) error {
	return h.Core(ctx, func(core *impl.Host) { core.SetTrusted(trusted) })
}

// SetExtension gives an extension's servers, as JSON: a map of entries, or an object with mcpServers. nil takes the
// extension away. Every session runs a pass (CFG-5).
func (h *Host) SetExtension(ctx context.Context, name string, servers []byte) error {
	return h.Core(ctx, func(core *impl.Host) { core.SetExtension(name, servers) })
}

// Initialize lets a host that was started Uninitialized connect.
func (h *Host) Initialize(ctx context.Context) error {
	return h.Core(ctx, func(core *impl.Host) { core.Initialize() })
}

// Sessions lists the open sessions in order of id.
func (h *Host) Sessions(ctx context.Context) ([]string, error) {
	return get(ctx, h, func(core *impl.Host) (ids []string) {
		for _, id := range core.Sessions() {
			ids = append(ids, string(id))
		}
		return ids
	})
}

// Pool lists the connections that sessions share.
func (h *Host) Pool(ctx context.Context) ([]impl.PoolEntry, error) {
	return get(ctx, h, (*impl.Host).Pool)
}

// OpenSession opens a conversation, with servers of its own: JSON, a map of entries or an object with mcpServers; nil for
// none. Its connections are being made when it returns. A host may have many sessions; ids of open ones differ.
func (h *Host) OpenSession(ctx context.Context, id string, servers []byte) (*Session, error) {
	err := h.do(ctx, func(core *impl.Host, done func(error)) {
		was := len(core.Sessions())
		err := core.OpenSession(port.SessionID(id), servers)
		if err != nil && len(core.Sessions()) > was { // it is open without them
			core.CloseSession(port.SessionID(id))
		}
		done(err)
	})
	if err != nil {
		return nil, err
	}
	return &Session{h: h, id: port.SessionID(id)}, nil
}
