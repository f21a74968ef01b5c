package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	hostmcp "mcpsim/impl/mcp"
)

// stdioWire is the transport of a child process: mcp-go's framing, once the process is there.
type stdioWire struct {
	wire
	conn *stdioConn

	pendingMu sync.Mutex
	pending   map[int]context.CancelCauseFunc // requests in flight
	nextID    int
	broken    error // why every request fails from now on

	notify  func(mcp.JSONRPCNotification) // set before Start
	request transport.RequestHandler
}

// ClientOptions is what the client is to speak.
func (w *stdioWire) ClientOptions() []hostmcp.Option { return eras(w.conn.d.probe, stdioProbe) }

// Start starts the process. Its error is that of starting it: nothing was said to it yet.
func (w *stdioWire) Start(ctx context.Context) error { return w.conn.start(ctx) }

// begin gives the wire its process.
func (w *stdioWire) begin(inner *transport.Stdio) {
	w.inner = inner
	if w.notify != nil {
		inner.SetNotificationHandler(w.notify)
	}
	if w.request != nil {
		inner.SetRequestHandler(w.request)
	}
}

// SetNotificationHandler may come before Start, so that nothing is missed, or after.
func (w *stdioWire) SetNotificationHandler(f func(mcp.JSONRPCNotification)) {
	w.notify = f
	if w.inner != nil {
		w.inner.SetNotificationHandler(f)
	}
}

// SetRequestHandler is as SetNotificationHandler.
func (w *stdioWire) SetRequestHandler(h transport.RequestHandler) {
	w.request = h
	if w.inner != nil {
		w.wire.SetRequestHandler(h)
	}
}

// SendRequest fails with ErrGarbage as soon as the server has written some.
func (w *stdioWire) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if w.inner == nil {
		return nil, transport.ErrTransportClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.pendingMu.Lock()
	if w.broken != nil {
		w.pendingMu.Unlock()
		return nil, w.broken
	}
	if w.pending == nil {
		w.pending = map[int]context.CancelCauseFunc{}
	}
	w.nextID++
	id := w.nextID
	w.pending[id] = cancel
	w.pendingMu.Unlock()
	defer func() {
		w.pendingMu.Lock()
		delete(w.pending, id)
		w.pendingMu.Unlock()
	}()
	resp, err := w.wire.SendRequest(ctx, r)
	if err != nil {
		if cause := context.Cause(ctx); errors.Is(cause, ErrGarbage) {
			return nil, cause
		}
	}
	return resp, exited(err)
}

// exited gives the error of writing to a child that does not read any more its class: it has ended, or is about to.
func exited(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%w: %w", hostmcp.ErrExit, err)
	}
	return err
}

// SendNotification needs the process too.
func (w *stdioWire) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	if w.inner == nil {
		return transport.ErrTransportClosed
	}
	return exited(w.wire.SendNotification(ctx, n))
}

// GetSessionId is empty: a process is its own session.
func (w *stdioWire) GetSessionId() string { return "" }

// fail ends every request, present and future.
func (w *stdioWire) fail(err error) {
	w.pendingMu.Lock()
	defer w.pendingMu.Unlock()
	w.broken = err
	for _, cancel := range w.pending {
		cancel(err)
	}
}

// Close does nothing: the process is ended through the connection (port.Conn), the rest ends with it.
func (w *stdioWire) Close() error { return nil }
