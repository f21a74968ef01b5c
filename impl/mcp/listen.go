package mcp

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
)

// listen opens the stream of notifications of a modern connection. The stream belongs to the connection, not to the step.
func (c *Client) listen() error {
	if !mcp.IsModernProtocol(c.c.ProtocolVersion()) {
		return nil
	}
	filter := c.filter()
	if filter.IsEmpty() {
		return nil
	}
	stop, err := c.c.ListenAsync(context.Background(), filter, c.o.onListenEnd)
	if err != nil {
		return err
	}
	c.stopListen = stop
	return nil
}

// filter asks for the changes that the server says it announces.
func (c *Client) filter() (f mcp.SubscriptionFilter) {
	has := c.c.GetServerCapabilities()
	f.ToolsListChanged = has.Tools != nil && has.Tools.ListChanged
	f.PromptsListChanged = has.Prompts != nil && has.Prompts.ListChanged
	f.ResourcesListChanged = has.Resources != nil && has.Resources.ListChanged
	return f
}

// acknowledged: notifications flow from here on. What changed between a list and this moment was announced to nobody, so
// every list counts as changed.
func (c *Client) acknowledged() {
	f := c.filter()
	if f.ToolsListChanged {
		c.changed(Tools)
	}
	if f.PromptsListChanged {
		c.changed(Prompts)
	}
	if f.ResourcesListChanged {
		c.changed(Resources)
	}
}
