package live

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
)

// inProcessConn is a connection to a server in this process (type "sdk"). Each connection is a session of its own there.
type inProcessConn struct {
	wire
	d  *Dialer
	id port.ConnID
}

func newInProcessConn(d *Dialer, id port.ConnID, spec config.DialSpec) (*inProcessConn, error) {
	s := d.inProcess[spec.Server]
	if s == nil {
		return nil, fmt.Errorf("%q: this program has no in-process server of that name", spec.Server)
	}
	c := &inProcessConn{d: d, id: id}
	c.inner = transport.NewInProcessTransport(s)
	return c, nil
}

func (c *inProcessConn) Transport() transport.Interface { return c }
func (c *inProcessConn) OnExit(func(err error))         {} // it ends with the host
func (c *inProcessConn) OnGone(func())                  {}
func (c *inProcessConn) CloseInput()                    {}
func (c *inProcessConn) Terminate()                     {}
func (c *inProcessConn) Kill()                          { _ = c.Close() }
func (c *inProcessConn) Process() bool                  { return false }
func (c *inProcessConn) log() []string                  { return nil }
func (c *inProcessConn) kill()                          { _ = c.inner.Close() }

// ClientOptions is what the client is to speak.
func (c *inProcessConn) ClientOptions() []hostmcp.Option { return eras(c.d.probe, remoteProbe) }

// Start registers the session, which lasts until Close.
func (c *inProcessConn) Start(ctx context.Context) error {
	return c.inner.Start(context.WithoutCancel(ctx))
}

// Close ends the session.
func (c *inProcessConn) Close() error {
	c.d.forget(c.id)
	return c.inner.Close()
}

// SendRequest gives up waiting when ctx ends, whatever the server's handler does with it.
func (c *inProcessConn) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	type answer struct {
		resp *transport.JSONRPCResponse
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				ch <- answer{nil, fmt.Errorf("the in-process server panicked: %v", p)}
			}
		}()
		resp, err := c.wire.SendRequest(ctx, r)
		ch <- answer{resp, err}
	}()
	select {
	case a := <-ch:
		return a.resp, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
