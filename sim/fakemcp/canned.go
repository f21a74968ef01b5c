package fakemcp

import (
	"context"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	hostmcp "mcpsim/impl/mcp"
	"mcpsim/model"
)

// canned is a connection that needs no client: it gives what the client would make of the server's answers.
type canned struct{ *conn }

var _ hostmcp.Speaker = canned{}

func (c canned) ask(step model.Step, method mcp.MCPMethod, tool string) (*script, error) {
	if !c.up || c.inputClosed {
		return nil, transport.NewError(c.lost())
	}
	s, err := c.reach(step, string(method), func() string { return tool })
	if err != nil && err != errRefusedInAnswer {
		err = transport.NewError(err)
	}
	return s, err
}

// Initialize, List and Call implement hostmcp.Speaker.
func (c canned) Initialize(context.Context) error {
	_, err := c.ask(model.StepInit, mcp.MethodInitialize, "")
	return err
}

// List gives every page at once.
func (c canned) List(_ context.Context, k hostmcp.ListKind) ([]string, error) {
	switch k {
	case hostmcp.Tools:
		return c.names(model.StepTools, mcp.MethodToolsList, func(b *model.Behaviour) []string { return b.Tools })
	case hostmcp.Prompts:
		return c.names(model.StepPrompts, mcp.MethodPromptsList, func(b *model.Behaviour) []string { return b.Prompts })
	}
	return c.names(model.StepResources, mcp.MethodResourcesList, func(b *model.Behaviour) []string { return b.Resources })
}

func (c canned) names(step model.Step, method mcp.MCPMethod, of func(*model.Behaviour) []string) ([]string, error) {
	s, err := c.ask(step, method, "")
	if err != nil {
		return nil, err
	}
	return slices.Clone(of(s.b)), nil
}

// Call answers with the tool's name.
func (c canned) Call(_ context.Context, tool string) (*mcp.CallToolResult, error) {
	s, err := c.ask(model.StepCall, mcp.MethodToolsCall, tool)
	switch {
	case err != nil:
		return nil, err
	case !s.hasTool(tool):
		return nil, errors.New(noTool(tool))
	}
	return mcp.NewToolResultText(tool), nil
}
