package fakemcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// realServer is mcp-go's own server with a script's lists, asked inline.
type realServer struct {
	srv    *server.MCPServer
	ses    *server.InProcessSession
	script *script
}

// askReal lets mcp-go's server answer. A connection keeps its server until its behaviour changes.
func (c *conn) askReal(s *script, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if c.real == nil || c.real.script != s {
		x, err := newReal(s, fmt.Sprint(c.id))
		if err != nil {
			return nil, err
		}
		c.real = x
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	answer := c.real.srv.HandleMessage(c.real.srv.WithContext(context.Background(), c.real.ses), text)
	if text, err = json.Marshal(answer); err != nil {
		return nil, err
	}
	var out transport.JSONRPCResponse
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, err
	}
	return &out, nil
}

func newReal(s *script, id string) (*realServer, error) {
	srv := server.NewMCPServer("scripted", "1", server.WithToolCapabilities(true), server.WithPromptCapabilities(true),
		server.WithResourceCapabilities(false, true), server.WithPaginationLimit(pageSize))
	for _, name := range s.b.Tools {
		srv.AddTool(mcp.NewTool(name), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(r.Params.Name), nil
		})
	}
	for _, name := range s.b.Prompts {
		srv.AddPrompt(mcp.NewPrompt(name), func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{}, nil
		})
	}
	for _, name := range s.b.Resources {
		srv.AddResource(mcp.NewResource(name, name), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return nil, nil
		})
	}
	x := &realServer{srv: srv, ses: server.NewInProcessSession(id, nil), script: s}
	return x, srv.RegisterSession(context.Background(), x.ses)
}
