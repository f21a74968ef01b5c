package live

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// wire is what every transport of this package has in common: it keeps the definitions of the tools that pass by, so that
// the API can show a model more than a name.
type wire struct {
	inner transport.Interface
	mu    sync.Mutex
	tools map[string]mcp.Tool // as last listed in full
	next  map[string]mcp.Tool // the pages of a list that is being read
}

func (w *wire) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := w.inner.SendRequest(ctx, r)
	if err == nil && r.Method == string(mcp.MethodToolsList) && resp.Error == nil {
		w.listed(r.Params, resp.Result)
	}
	return resp, err
}

func (w *wire) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	return w.inner.SendNotification(ctx, n)
}

func (w *wire) SetNotificationHandler(f func(mcp.JSONRPCNotification)) {
	w.inner.SetNotificationHandler(f)
}

func (w *wire) GetSessionId() string { return w.inner.GetSessionId() }

func (w *wire) SetRequestHandler(h transport.RequestHandler) {
	if b, ok := w.inner.(transport.BidirectionalInterface); ok {
		b.SetRequestHandler(h)
	}
}

// listed takes one page of tools. The first page of a list has no cursor; the last names no next one.
func (w *wire) listed(params any, result json.RawMessage) {
	var page struct {
		Tools []json.RawMessage `json:"tools"`
		Next  string            `json:"nextCursor"`
	}
	if json.Unmarshal(result, &page) != nil {
		return
	}
	var asked struct {
		Cursor string `json:"cursor"`
	}
	if b, err := json.Marshal(params); err == nil {
		_ = json.Unmarshal(b, &asked)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if asked.Cursor == "" || w.next == nil {
		w.next = map[string]mcp.Tool{}
	}
	for _, raw := range page.Tools {
		var t mcp.Tool
		if json.Unmarshal(raw, &t) == nil {
			if _, twice := w.next[t.Name]; !twice { // REC-11: the first counts
				w.next[t.Name] = t
			}
		}
	}
	if page.Next == "" {
		w.tools, w.next = w.next, nil
	}
}

func (w *wire) definition(tool string) (mcp.Tool, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tools[tool]
	return t, ok
}
