package live

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Session is one conversation of a host.
type Session struct {
	h     *Host
	id    port.SessionID
	calls atomic.Int64
}

// ID is the name it was opened with.
func (s *Session) ID() string { return string(s.id) }

// Close ends the session: its calls end, and what only it used ends. It returns at once.
func (s *Session) Close(ctx context.Context) error {
	return s.h.Core(ctx, func(core *impl.Host) { core.CloseSession(s.id) })
}

// of is get for what needs the session to be open.
func of[T any](ctx context.Context, s *Session, f func(core *impl.Host) T) (T, error) {
	return ask(ctx, s.h, func(core *impl.Host, done func(T, error)) {
		if !slices.Contains(core.Sessions(), s.id) {
			var none T
			done(none, impl.ErrSessionClosed)
			return
		}
		done(f(core), nil)
	})
}

// Tool is one tool that is offered in a session now.
type Tool struct {
	Server, Name string
	// ModelName is what a model knows it by: mcp__server__tool, at most 64 of [A-Za-z0-9_-] (VIEW-3).
	ModelName string
	// Trust is the entry's: the person lets the tool run without being asked.
	Trust bool
	// Definition is the server's: description, input schema and annotations. Only the name is sure to be there.
	Definition mcp.Tool
}

// Tools lists the tools that are offered now, by server, then in the server's order.
func (s *Session) Tools(ctx context.Context) ([]Tool, error) {
	return of(ctx, s, func(core *impl.Host) (tools []Tool) {
		for _, sv := range core.Status(s.id).Servers {
			for _, name := range sv.Tools {
				t := Tool{Server: sv.Name, Name: name, ModelName: impl.ToolName(sv.Name, name), Trust: sv.Trust}
				t.Definition = s.h.definition(sv.Conn, name)
				tools = append(tools, t)
			}
		}
		return tools
	})
}

func (h *Host) definition(id port.ConnID, tool string) mcp.Tool {
	if h.dialer != nil {
		if c := h.dialer.conn(id); c != nil {
			if t, ok := c.definition(tool); ok {
				return t
			}
		}
	}
	return mcp.NewTool(tool)
}

// Call calls a tool by server and name. The error is a *CallError if the call was refused or lost; a tool's own failure, and
// a JSON-RPC error of the server, is a result with IsError set. When ctx ends, Call returns its error and the answer is
// dropped; the server's work goes on until it ends by itself or outlasts the entry's timeout (10 minutes by default).
func (s *Session) Call(ctx context.Context, server, tool string, args map[string]any) (*mcp.CallToolResult, error) {
	return s.call(ctx, server, tool, func(core *impl.Host, id string, done func(string, *mcp.CallToolResult)) string {
		core.Call(s.id, id, server, tool, args, done)
		return impl.ToolName(server, tool)
	})
}

// CallName is Call by the name a model knows the tool by. Of a tool that is not there the error says to whom it belongs and
// what brings it back, in words for the model.
func (s *Session) CallName(ctx context.Context, modelName string, args map[string]any) (*mcp.CallToolResult, error) {
	return s.call(ctx, "", modelName, func(core *impl.Host, id string, done func(string, *mcp.CallToolResult)) string {
		core.CallName(s.id, id, modelName, args, done)
		return modelName
	})
}

func (s *Session) call(ctx context.Context, server, tool string,
	send func(core *impl.Host, id string, done func(string, *mcp.CallToolResult)) (modelName string)) (*mcp.CallToolResult, error) {
	id := string(s.id) + "#" + strconv.FormatInt(s.calls.Add(1), 10)
	return ask(ctx, s.h, func(core *impl.Host, done func(*mcp.CallToolResult, error)) {
		var refused *CallError // at once; its way back needs the name, which send returns
		sent := false
		name := send(core, id, func(outcome string, res *mcp.CallToolResult) {
			e := &CallError{Server: server, Tool: tool, Outcome: outcome}
			switch {
			case outcome == "ok":
				done(res, nil)
			case sent:
				done(nil, e)
			default:
				refused = e
			}
		})
		sent = true
		if refused == nil {
			return
		}
		if strings.HasPrefix(refused.Outcome, "refused:") {
			refused.Way = core.MissMessage(s.id, name)
		}
		done(nil, refused)
	})
}

// Miss says, in words for a model, why a tool that it named is not there, and the way back (VIEW-3).
func (s *Session) Miss(ctx context.Context, modelName string) (string, error) {
	return of(ctx, s, func(core *impl.Host) string { return core.MissMessage(s.id, modelName) })
}

// Status is what a person is shown: servers with state, reason and source, questions, notices, running calls (VIEW-1).
func (s *Session) Status(ctx context.Context) (impl.Status, error) {
	return of(ctx, s, func(core *impl.Host) impl.Status { return core.Status(s.id) })
}

// ServerLog is the last of what a stdio server wrote to its stderr, the present or the last process of that name in the
// host. Values of the entry's env are masked; what else a server says there is its own.
func (s *Session) ServerLog(server string) []string {
	if s.h.dialer == nil {
		return nil
	}
	return s.h.dialer.Log(server)
}

// Reload reads every source, and runs a pass whatever was found, so that failed servers are tried again. It returns when
// that pass has ended (CFG-3).
func (s *Session) Reload(ctx context.Context) error {
	return s.h.do(ctx, func(core *impl.Host, done func(error)) { core.Reload(s.id, done) })
}

// AddRuntime adds or replaces a server of this session; entry is its JSON. It returns when the pass that follows has ended.
// A malformed entry adds nothing and raises a notice.
func (s *Session) AddRuntime(ctx context.Context, name string, entry json.RawMessage) error {
	return s.h.do(ctx, func(core *impl.Host, done func(error)) { core.AddRuntime(s.id, name, entry, done) })
}

// RemoveRuntime takes a runtime server away; it returns when the pass that follows has ended.
func (s *Session) RemoveRuntime(ctx context.Context, name string) error {
	return s.h.do(ctx, func(core *impl.Host, done func(error)) { core.RemoveRuntime(s.id, name, done) })
}

// Questions are the servers that wait for a person's decision, by name. Each shows what would run and from which file; a
// decision on it counts for exactly the configuration shown (Hash).
func (s *Session) Questions(ctx context.Context) ([]event.Question, error) {
	return of(ctx, s, func(core *impl.Host) []event.Question { return core.Questions(s.id) })
}

// Approve records that the server may run as the question shows it, for every session of this root, and returns when it is
// on disk; it is being connected then. The error is a *RefusedError if the question is not asked any more.
func (s *Session) Approve(ctx context.Context, q event.Question) error { return s.decide(ctx, q, true) }

// Reject records that it may not. It is asked again only when its configuration changes.
func (s *Session) Reject(ctx context.Context, q event.Question) error { return s.decide(ctx, q, false) }

func (s *Session) decide(ctx context.Context, q event.Question, approve bool) error {
	results, err := s.Decide(ctx, []impl.Answer{{Server: q.Server, Hash: q.Hash, Approve: approve}})
	if err == nil && !results[0].Recorded {
		return &RefusedError{Server: q.Server, Why: results[0].Why}
	}
	return err
}

// ApproveAll approves the questions that were shown, in one write. Those that are not asked any more are refused, each with
// its reason, and the rest is recorded (ASK-4).
func (s *Session) ApproveAll(ctx context.Context, shown []event.Question) ([]impl.AnswerResult, error) {
	answers := make([]impl.Answer, len(shown))
	for i, q := range shown {
		answers[i] = impl.Answer{Server: q.Server, Hash: q.Hash, Approve: true}
	}
	return s.Decide(ctx, answers)
}

// Decide takes any answers, in one write; there is one result for each, in their order.
func (s *Session) Decide(ctx context.Context, answers []impl.Answer) ([]impl.AnswerResult, error) {
	answers = slices.Clone(answers)
	return ask(ctx, s.h, func(core *impl.Host, done func([]impl.AnswerResult, error)) {
		core.Decide(s.id, answers, func(r []impl.AnswerResult) { done(r, nil) })
	})
}
