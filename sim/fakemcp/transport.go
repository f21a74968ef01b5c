package fakemcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	hostmcp "mcpsim/impl/mcp"
	"mcpsim/model"
)

// Start implements transport.Interface. The process was started, or the stream opened, when the job was given; now it is
// there to talk to, or not.
func (c *conn) Start(context.Context) error {
	s := c.script()
	switch s.fails(model.StepStart) {
	case model.Refuse:
		c.spoil()
		return fmt.Errorf("%w: %s", hostmcp.ErrRefused, nothingThere(c))
	case model.Garbage:
		c.spoil()
		return fmt.Errorf("%w: at the start", hostmcp.ErrProtocol)
	}
	c.begin() // a behaviour that refused when the job was given may have changed meanwhile
	if !c.up {
		return c.lost()
	}
	if s.fails(model.StepStart) == model.Exit {
		c.exit(c.lost()) // it did start
	}
	return nil
}

func nothingThere(c *conn) string {
	if c.process() {
		return "no such program"
	}
	return "nobody listens there"
}

// spoil ends a connection whose start has failed: nobody is told. A process that talks nonsense is the host's to kill.
func (c *conn) spoil() {
	switch {
	case !c.process():
		c.drop()
	case c.script().refuses():
		c.onGone = nil
		c.drop()
	}
}

// SendRequest implements transport.Interface: the answer comes before it returns.
func (c *conn) SendRequest(_ context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if !c.up || c.inputClosed {
		return nil, c.lost()
	}
	step, known := stepOfMethod(mcp.MCPMethod(r.Method))
	if !known {
		return failure(r.ID, mcp.METHOD_NOT_FOUND, "there is no method "+r.Method), nil
	}
	s, err := c.reach(step, r.Method, func() string { return toolOf(r.Params) })
	switch {
	case err == errRefusedInAnswer:
		return failure(r.ID, mcp.INTERNAL_ERROR, err.Error()), nil
	case err != nil:
		return nil, err
	}
	if c.w.Real {
		return c.askReal(s, r)
	}
	return s.answer(step, r)
}

// errRefusedInAnswer is the refusal of a call, which only a request can get in answer.
var errRefusedInAnswer = errors.New("refused")

// reach is a request on its way to the server: what the behaviour does instead of answering, or what it notes.
func (c *conn) reach(step model.Step, method string, tool func() string) (*script, error) {
	s := c.script()
	switch s.fails(step) {
	case model.Refuse:
		if step == model.StepCall {
			return nil, errRefusedInAnswer
		}
		return nil, fmt.Errorf("%w: %s", hostmcp.ErrRefused, method)
	case model.Exit:
		c.exit(c.lost())
		return nil, c.lost()
	case model.Garbage:
		return nil, fmt.Errorf("%w: %s", hostmcp.ErrProtocol, method)
	case model.Hang: // the job that asks hangs; who asks without one does not wait for ever
		return nil, fmt.Errorf("%s hangs: %w", method, context.DeadlineExceeded)
	}
	switch step {
	case model.StepInit:
		c.inited = true
	case model.StepCall:
		if c.w.OnCall != nil {
			c.w.OnCall(c.id, tool())
		}
	}
	return s, nil
}

// SendNotification implements transport.Interface.
func (c *conn) SendNotification(context.Context, mcp.JSONRPCNotification) error {
	if !c.up || c.inputClosed {
		return c.lost()
	}
	return nil
}

// SetNotificationHandler implements transport.Interface.
func (c *conn) SetNotificationHandler(f func(mcp.JSONRPCNotification)) { c.notify = f }

// Close implements transport.Interface: it closes a stream, or a process's input. The server of a stream may make trouble
// about that; it is closed all the same.
func (c *conn) Close() error {
	if c.process() {
		c.CloseInput()
		return nil
	}
	f := c.script().fails(model.StepEnd)
	c.close()
	switch f {
	case model.Refuse:
		return fmt.Errorf("%w: the close", hostmcp.ErrRefused)
	case model.Garbage:
		return fmt.Errorf("%w: the close", hostmcp.ErrProtocol)
	}
	return nil
}

// GetSessionId implements transport.Interface.
func (c *conn) GetSessionId() string { return "" }

func stepOfMethod(m mcp.MCPMethod) (s model.Step, ok bool) {
	switch m {
	case mcp.MethodInitialize:
		return model.StepInit, true
	case mcp.MethodToolsList:
		return model.StepTools, true
	case mcp.MethodPromptsList:
		return model.StepPrompts, true
	case mcp.MethodResourcesList:
		return model.StepResources, true
	case mcp.MethodToolsCall:
		return model.StepCall, true
	}
	return 0, false
}
