package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
)

const (
	// closeMost bounds the good-bye to a remote server (REC-13).
	closeMost = 2 * time.Second
	// probeMost bounds the question whether a server whose stream has ended is still there.
	probeMost = 2 * time.Second
	// listenAgain is the pause before a stream that has ended is opened again.
	listenAgain = time.Second
	// forever stands for mcp-go's own bounds, which the host's replace.
	forever = 1000 * time.Hour
)

// remoteConn is a connection over HTTP: streamable, or the older one with a stream of server-sent events. Both eras of the
// protocol are offered.
type remoteConn struct {
	wire
	d    *Dialer
	id   port.ConnID
	sse  *transport.SSE // nil: streamable
	http *http.Transport

	ctx    context.Context // as long as the connection
	cancel context.CancelFunc

	onExit func(error)
	there  context.Context // until the other side is gone
	gone   context.CancelCauseFunc

	mu      sync.Mutex
	closing bool
	probing bool
	opened  bool   // a stream for notifications was open
	version string // negotiated
}

func newRemoteConn(d *Dialer, id port.ConnID, spec config.DialSpec) (*remoteConn, error) {
	u, err := url.Parse(spec.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q: expected an http or https URL", spec.Server) // the URL may hold a secret
	}
	c := &remoteConn{d: d, id: id, http: d.http.Clone()}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.there, c.gone = context.WithCancelCause(context.Background())
	headers := make(map[string]string, len(spec.Headers))
	for _, h := range spec.Headers {
		headers[h.Name] = h.Value
	}
	client := &http.Client{Transport: &watchedTripper{c, c.http}, CheckRedirect: sameHost}
	quiet := slog.New(slog.DiscardHandler)
	if spec.Kind == config.SSE {
		c.sse, err = transport.NewSSE(spec.URL, transport.WithHeaders(headers), transport.WithHTTPClient(client),
			transport.WithSSELogger(quiet), transport.WithEndpointTimeout(forever), transport.WithResponseTimeout(forever))
		if err == nil {
			c.sse.SetConnectionLostHandler(c.lose) // the stream is the connection
			c.inner = c.sse
		}
	} else {
		// The standing GET stream is for the older era; on a modern connection it is not opened. wire hides that mcp-go
		// would rather not offer the modern era at all then.
		c.inner, err = transport.NewStreamableHTTP(spec.URL, transport.WithHTTPHeaders(headers),
			transport.WithHTTPBasicClient(client), transport.WithHTTPLogger(quiet), transport.WithContinuousListening())
	}
	if err != nil {
		return nil, fmt.Errorf("%q: the URL cannot be used", spec.Server)
	}
	return c, nil
}

// sameHost keeps headers, which may carry credentials, from following a redirect to somebody else.
func sameHost(r *http.Request, via []*http.Request) error {
	if r.URL.Host != via[0].URL.Host || via[0].URL.Scheme == "https" && r.URL.Scheme != "https" || len(via) > 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

func (c *remoteConn) Transport() transport.Interface { return c }
func (c *remoteConn) OnExit(f func(err error))       { c.onExit = f }
func (c *remoteConn) OnGone(func())                  {}
func (c *remoteConn) CloseInput()                    {}
func (c *remoteConn) Terminate()                     {}
func (c *remoteConn) Process() bool                  { return false }
func (c *remoteConn) log() []string                  { return nil }

// Kill frees what is ours; there is no process to kill.
func (c *remoteConn) Kill() { c.drop() }

func (c *remoteConn) kill() { go c.drop() } // its caller holds the dialer's lock

// ClientOptions is what the client is to speak.
func (c *remoteConn) ClientOptions() []hostmcp.Option { return eras(c.d.probe, remoteProbe) }

// Start opens the stream. It lasts as long as the connection and not as long as the job; the job's end before Start has
// returned ends it.
func (c *remoteConn) Start(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.cancel)
	err := c.inner.Start(c.ctx)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.drop()
	}
	return err
}

// SetProtocolVersion makes this an HTTP connection for mcp-go, which then mirrors the version in a header.
func (c *remoteConn) SetProtocolVersion(version string) {
	c.mu.Lock()
	c.version = version
	c.mu.Unlock()
	if h, ok := c.inner.(transport.HTTPConnection); ok {
		h.SetProtocolVersion(version)
	}
}

// Close says good-bye, which ends a session of the older era, and takes at most closeMost.
func (c *remoteConn) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	t := time.AfterFunc(closeMost, c.cancel)
	err := c.inner.Close()
	t.Stop()
	c.drop()
	return err
}

// drop ends everything the connection has, without a word to the server.
func (c *remoteConn) drop() {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.cancel()
	c.gone(context.Canceled) // no more than letting go of what waits
	if c.sse != nil {
		_ = c.sse.Close() // says nothing on the wire
	}
	c.http.CloseIdleConnections()
	c.d.forget(c.id)
}

// lose says, once, that the other side is gone. Requests that wait for it fail.
func (c *remoteConn) lose(err error) {
	c.mu.Lock()
	told := c.closing || c.there.Err() != nil
	if !told {
		c.gone(fmt.Errorf("%w: %w", hostmcp.ErrClosed, err))
	}
	c.mu.Unlock()
	if told {
		return
	}
	c.d.loop.Post(func() {
		if c.onExit != nil {
			c.onExit(err)
		}
	})
}

// suspect looks whether the server is still there, after the stream of its notifications has ended. That alone means
// little: proxies end quiet streams, and another is opened.
func (c *remoteConn) suspect(why error) {
	c.mu.Lock()
	skip := c.closing || c.probing
	c.probing = c.probing || !skip
	c.mu.Unlock()
	if skip {
		return
	}
	c.d.work.Add(1)
	go func() {
		defer c.d.work.Done()
		err := c.ask()
		c.mu.Lock()
		c.probing = false
		c.mu.Unlock()
		if err != nil {
			c.lose(fmt.Errorf("%w; and then: %w", why, err))
		}
	}()
}

// ask asks for a sign of life. Any answer is one, an error too; but a session that is not known any more is lost.
func (c *remoteConn) ask() error {
	c.mu.Lock()
	version := c.version
	c.mu.Unlock()
	r := transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId("are-you-there"), Method: string(mcp.MethodPing)}
	if mcp.IsModernProtocol(version) {
		r.Method = string(mcp.MethodServerDiscover)
		r.Header = http.Header{mcp.HeaderMethod: {r.Method}}
		r.Params = map[string]any{"_meta": map[string]any{mcp.MetaKeyProtocolVersion: version,
			mcp.MetaKeyClientCapabilities: map[string]any{}}}
	}
	err := c.asked(r)
	if err != nil && !final(err) { // what was asked went down with its line: the answer of another line counts
		err = c.asked(r)
	}
	return err
}

// asked sends r over a line of its own: one that was kept may have ended with the stream, and says nothing of the server.
func (c *remoteConn) asked(r transport.JSONRPCRequest) error {
	ctx, cancel := context.WithTimeout(c.ctx, probeMost)
	defer cancel()
	c.http.CloseIdleConnections()
	_, err := c.inner.SendRequest(ctx, r)
	return err
}

// final reports whether asking once more can tell nothing new: nobody is there, the session is forgotten, or whoever is
// there kept silent for as long as he is given.
func final(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, transport.ErrSessionTerminated) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// SendRequest fails when the other side is gone, which mcp-go tells nobody who waits on the older transport.
func (c *remoteConn) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.there, func() { cancel(context.Cause(c.there)) })()
	send := c.wire.SendRequest
	if r.Method == string(mcp.MethodSubscriptionsListen) {
		send = c.subscribe
	}
	resp, err := send(ctx, r)
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, hostmcp.ErrClosed) || errors.Is(cause, hostmcp.ErrProtocol)) {
		err = cause
	}
	return resp, err
}

// errRemoteGarbage is why a request failed whose server wrote something on the stream of the older transport that is no
// message.
var errRemoteGarbage = fmt.Errorf("%w: an event that is no MCP message", hostmcp.ErrProtocol)

// spoiled fails every request, present and future: which of them the garbage was to answer is not known.
func (c *remoteConn) spoiled() { c.gone(errRemoteGarbage) }

// subscribe keeps the subscription of a modern connection standing: a stream that ends is opened again, as long as the
// server is there. The server acknowledges each, and then everything is listed again, so nothing is missed.
func (c *remoteConn) subscribe(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	for {
		resp, err := c.wire.SendRequest(ctx, r)
		if ctx.Err() != nil || resp != nil && resp.Error != nil { // it ended for us, or the server offers none
			return resp, err
		}
		if lost := c.ask(); lost != nil {
			c.lose(fmt.Errorf("%w; and then: %w", errStreamEnded, lost))
			return nil, lost
		}
		t := time.NewTimer(listenAgain)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return resp, err
		}
	}
}
