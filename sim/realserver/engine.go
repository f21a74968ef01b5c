package realserver

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The protocol revisions it knows.
const (
	modernVersion = "2026-07-28"
	latestLegacy  = "2025-11-25"
)

var legacyVersions = []string{latestLegacy, "2025-06-18", "2025-03-26", "2024-11-05"}

// pageSize is how many items one page of a list has.
const pageSize = 50

// message is any JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// engine answers requests as a behaviour says.
type engine struct {
	command string
	report  func(Report)

	mu sync.Mutex
	b  Behaviour
}

func (e *engine) behaviour() Behaviour {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.b
}

func (e *engine) behave(b Behaviour) {
	e.mu.Lock()
	e.b = b
	e.mu.Unlock()
}

// outcome is what comes of a request: an answer, or a fault (exit, garbage, hang).
type outcome struct {
	answer []byte
	fault  string
}

// garbage begins like an answer and is none.
const garbage = `{"jsonrpc":"2.0","id":1,"result":{"tools":[}}`

// serve waits as the behaviour says and acts. A delay that holds the answer has acted before it.
func (e *engine) serve(ctx context.Context, m message) outcome {
	step, known := stepOf(m.Method)
	b := e.behaviour()
	e.report(Report{Event: "request", Command: e.command, Method: m.Method, Tool: toolOf(m)})
	if m.Method == "ping" {
		return outcome{answer: result(m.ID, map[string]any{})}
	}
	if !known || m.Method == "server/discover" && b.Era != "modern" {
		return outcome{answer: failure(m.ID, -32601, "there is no method "+m.Method)}
	}
	if b.Delay[step].Hold == "answer" {
		out := e.act(b, step, m)
		pause(ctx, b.delay(step))
		return out
	}
	pause(ctx, b.delay(step))
	return e.act(e.behaviour(), step, m)
}

func (e *engine) act(b Behaviour, step string, m message) outcome {
	switch f := b.faultAt(step); f {
	case "":
		return outcome{answer: e.answer(b, m)}
	case "refuse":
		return outcome{answer: failure(m.ID, -32603, "refused")}
	default:
		return outcome{fault: f}
	}
}

func (e *engine) answer(b Behaviour, m message) []byte {
	caps := map[string]any{"tools": changing, "prompts": changing, "resources": changing}
	info := map[string]any{"name": "scripted", "version": "1"}
	switch m.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if !slices.Contains(legacyVersions, p.ProtocolVersion) {
			p.ProtocolVersion = latestLegacy
		}
		return result(m.ID, map[string]any{"protocolVersion": p.ProtocolVersion, "capabilities": caps, "serverInfo": info})
	case "server/discover":
		return result(m.ID, map[string]any{"supportedVersions": append([]string{modernVersion}, legacyVersions...), "capabilities": caps,
			"resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
	case "tools/list":
		return e.page(m, "tools", b.Tools)
	case "prompts/list":
		return e.page(m, "prompts", b.Prompts)
	case "resources/list":
		return e.page(m, "resources", b.Resources)
	}
	tool := toolOf(m)
	if !slices.Contains(b.Tools, tool) {
		return failure(m.ID, -32602, "there is no tool "+tool)
	}
	return result(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": tool}}, "resultType": "complete"})
}

var changing = map[string]any{"listChanged": true}

// page is one page of a list; the cursor is the index of its first item.
func (e *engine) page(m message, kind string, names []string) []byte {
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(m.Params, &p)
	from := 0
	if p.Cursor != "" {
		n, err := strconv.Atoi(p.Cursor)
		if err != nil || n < 0 || n > len(names) {
			return failure(m.ID, -32602, "that is no cursor")
		}
		from = n
	}
	to := min(from+pageSize, len(names))
	items := make([]any, 0, to-from)
	for _, n := range names[from:to] {
		item := map[string]any{"name": n}
		switch kind {
		case "tools":
			item["inputSchema"] = map[string]any{"type": "object"}
			item["description"] = "does " + n
		case "resources":
			item["uri"] = n
		}
		items = append(items, item)
	}
	out := map[string]any{kind: items, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
	if to < len(names) {
		out["nextCursor"] = strconv.Itoa(to)
	}
	return result(m.ID, out)
}

func stepOf(method string) (step string, known bool) {
	switch method {
	case "initialize", "server/discover":
		return "init", true
	case "tools/list", "prompts/list", "resources/list":
		return strings.TrimSuffix(method, "/list"), true
	case "tools/call":
		return "call", true
	}
	return "", false
}

func toolOf(m message) string {
	if m.Method != "tools/call" {
		return ""
	}
	var p struct {
		Name string `json:"name"`
	}
	_ = json.Unmarshal(m.Params, &p)
	return p.Name
}

func result(id json.RawMessage, v any) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "result": v})
}

func failure(id json.RawMessage, code int, text string) []byte {
	return encode(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
}

// changed is the announcement of a changed list; subscription is the id of the request that asked for it, if one did.
func changed(list string, subscription json.RawMessage) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": "notifications/" + list + "/list_changed"}
	if subscription != nil {
		m["params"] = map[string]any{"_meta": map[string]any{"io.modelcontextprotocol/subscriptionId": subscription}}
	}
	return encode(m)
}

func acknowledged(subscription json.RawMessage, params json.RawMessage) []byte {
	var p struct {
		Notifications json.RawMessage `json:"notifications"`
	}
	_ = json.Unmarshal(params, &p)
	return encode(map[string]any{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": map[string]any{
		"_meta": map[string]any{"io.modelcontextprotocol/subscriptionId": subscription}, "notifications": p.Notifications}})
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings
	}
	return b
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
