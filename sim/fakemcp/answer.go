package fakemcp

import (
	"encoding/json"
	"strconv"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/model"
)

// answer is what a server answers, as bytes that need no server.
func (s *script) answer(step model.Step, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	switch step {
	case model.StepInit:
		return result(r.ID, initialized), nil
	case model.StepTools:
		return s.page(r, toolList), nil
	case model.StepPrompts:
		return s.page(r, promptList), nil
	case model.StepResources:
		return s.page(r, resourceList), nil
	}
	tool := toolOf(r.Params)
	if !s.hasTool(tool) {
		return failure(r.ID, mcp.INVALID_PARAMS, noTool(tool)), nil
	}
	quoted, err := json.Marshal(tool)
	if err != nil {
		return nil, err
	}
	return result(r.ID, []byte(`{"content":[{"type":"text","text":`+string(quoted)+`}]}`)), nil
}

func noTool(name string) string { return "tool '" + name + "' not found: tool not found" }

// initialized declares every list, and that it may change.
var initialized = json.RawMessage(`{"protocolVersion":"` + mcp.LATEST_LEGACY_PROTOCOL_VERSION + `","capabilities":{"tools":{"listChanged":true},` +
	`"prompts":{"listChanged":true},"resources":{"listChanged":true}},"serverInfo":{"name":"scripted","version":"1"}}`)

// page is one page of a list; the cursor is its number.
func (s *script) page(r transport.JSONRPCRequest, k listKind) *transport.JSONRPCResponse {
	page := 0
	if p, ok := r.Params.(mcp.PaginatedParams); ok && p.Cursor != "" {
		n, err := strconv.Atoi(string(p.Cursor))
		if err != nil || n < 0 {
			return failure(r.ID, mcp.INVALID_PARAMS, "that is no cursor")
		}
		page = n
	}
	answer, ok := s.list(k, page)
	if !ok {
		return failure(r.ID, mcp.INVALID_PARAMS, "there is no such page")
	}
	return result(r.ID, answer)
}

// toolOf is the name of the tool that a call asks for.
func toolOf(params any) string {
	if p, ok := params.(mcp.CallToolParams); ok {
		return p.Name
	}
	return ""
}

func result(id mcp.RequestId, bytes json.RawMessage) *transport.JSONRPCResponse {
	return &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Result: bytes}
}

func failure(id mcp.RequestId, code int, text string) *transport.JSONRPCResponse {
	return &transport.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Error: &mcp.JSONRPCErrorDetails{Code: code, Message: text}}
}
