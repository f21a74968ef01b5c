// Package mcp drives one MCP connection with the mcp-go client: one protocol step per function, over any transport. It
// starts no goroutine and reads no clock, so that over a synchronous transport every step runs on the caller's goroutine.
// The real host and the simulated world use it alike.
package mcp

import (
	"context"
	"fmt"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// Client is one connection. Its steps are Start, Initialize, the lists in any order and as often as wished, calls at any
// time after Initialize, and Close. Each waits for its answer; a cancelled context ends the waiting, not the connection.
type Client struct {
	c          *client.Client
	t          transport.Interface
	canned     Speaker // in place of c
	o          options
	changed    func(ListKind)
	stopListen func()
}

// ListKind is one of the three lists of a server.
type ListKind uint8

// The lists.
const (
	Tools ListKind = iota + 1
	Prompts
	Resources
)

// Speaker is a transport that takes the protocol's steps itself: no mcp-go client is put over it. Errors are as that client
// gives them: a *transport.Error unless the server answered. The simulated world measures with it what the client costs.
type Speaker interface {
	Initialize(ctx context.Context) error
	List(ctx context.Context, k ListKind) ([]string, error)
	Call(ctx context.Context, tool string) (*mcp.CallToolResult, error)
}

// NewClient returns a client over t. onListChanged is told when the server says that a list changed (REC-11); it is called
// on the transport's own goroutine, may be called while a step is waiting, and must not start a step: post to the loop.
//
// Without options the client speaks the legacy era only. A transport that knows better (impl/live) says so by having a
// method ClientOptions() []Option; options given here come after those.
func NewClient(t transport.Interface, onListChanged func(ListKind), opts ...Option) *Client {
	c := &Client{t: t, changed: onListChanged}
	if s, ok := t.(Speaker); ok {
		c.canned = s
		t.SetNotificationHandler(c.notified)
		return c
	}
	if w, ok := t.(interface{ ClientOptions() []Option }); ok {
		for _, o := range w.ClientOptions() {
			o(&c.o)
		}
	}
	for _, o := range opts {
		o(&c.o)
	}
	if c.o.modern {
		c.c = client.NewClient(t, client.WithDiscoverTimeout(c.o.discover))
	} else {
		// Also keeps mcp-go from a probe that is bounded by a real clock.
		c.c = client.NewClient(t, client.WithLegacyProtocolOnly())
	}
	c.c.OnNotification(c.notified) // before Start, or early notifications are lost
	return c
}

// Start begins the connection: it starts the process, or opens the stream. What fails here without another class is
// refused (REC-8). ctx bounds the starting only: a transport must not tie the connection's life to it.
func (c *Client) Start(ctx context.Context) error {
	start := c.t.Start
	if c.canned == nil {
		start = c.c.Start
	}
	err := start(ctx)
	if err != nil && unclassified(err) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// identity is how the host introduces itself.
var identity = mcp.Implementation{Name: "mcpsim", Version: "1"}

// Initialize agrees on a protocol version and learns what the server can do. In the modern era it also asks for the
// notifications that the server offers, which nobody sends unasked there.
func (c *Client) Initialize(ctx context.Context) error {
	if c.canned != nil {
		return c.canned.Initialize(ctx)
	}
	var r mcp.InitializeRequest
	r.Params.ClientInfo = identity
	if _, err := c.c.Initialize(ctx, r); err != nil {
		return err
	}
	return c.listen()
}

// ProtocolVersion is the version agreed on; empty before Initialize, and with a Speaker.
func (c *Client) ProtocolVersion() string {
	if c.canned != nil {
		return ""
	}
	return c.c.ProtocolVersion()
}

// Call calls a tool. An answer that is a JSON-RPC error is an error of this call only, of class protocol; a result that
// reports the tool's own failure is a result.
func (c *Client) Call(ctx context.Context, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	if c.canned != nil {
		return c.canned.Call(ctx, tool)
	}
	var r mcp.CallToolRequest
	r.Params.Name = tool
	if args != nil {
		r.Params.Arguments = args
	}
	return c.c.CallTool(ctx, r)
}

// Close ends the connection from this side and gives the transport's error, if it has one. It may wait for the other side:
// a transport bounds that by itself.
func (c *Client) Close(context.Context) error {
	if c.stopListen != nil {
		c.stopListen()
		c.stopListen = nil
	}
	if c.canned != nil {
		return c.t.Close()
	}
	return c.c.Close()
}

// notified runs on the transport's goroutine.
func (c *Client) notified(n mcp.JSONRPCNotification) {
	if c.changed == nil {
		return
	}
	switch mcp.MCPMethod(n.Method) {
	case mcp.MethodNotificationToolsListChanged:
		c.changed(Tools)
	case mcp.MethodNotificationPromptsListChanged:
		c.changed(Prompts)
	case mcp.MethodNotificationResourcesListChanged:
		c.changed(Resources)
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		c.acknowledged()
	}
}
