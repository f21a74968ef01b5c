package fakemcp

import (
	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/sim/fakeclock"
)

// notice is a list_changed under way to the host.
type notice struct {
	c      *conn
	method mcp.MCPMethod
}

var allKinds = []string{"tools", "prompts", "resources"}

func methodOf(kind string) mcp.MCPMethod {
	switch kind {
	case "tools":
		return mcp.MethodNotificationToolsListChanged
	case "prompts":
		return mcp.MethodNotificationPromptsListChanged
	case "resources":
		return mcp.MethodNotificationResourcesListChanged
	}
	panic("fakemcp: there is no list of " + kind)
}

// say sends a notification, if the server can still speak; what was sent arrives, whatever happens to the server.
func (c *conn) say(method mcp.MCPMethod) {
	if c.inited && c.maySpeak() {
		c.w.q.At(c.w.q.Now(), c.tie(fakeclock.Notice), &notice{c, method})
	}
}

// Run delivers it on the loop, to the handler that the client has registered.
func (n *notice) Run() {
	if f := n.c.notify; f != nil {
		f(mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{Method: string(n.method)}})
	}
}
