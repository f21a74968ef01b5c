package impl

import (
	"context"
	"errors"
	"slices"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/admission"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// The outcomes of a call that was sent (CALL-4). A refused one ends as "refused:" with the reason.
const (
	outcomeOK      = "ok"
	outcomeRetired = "error:retired"
	outcomeLost    = "error:lost"
	outcomeTimeout = "error:timeout"
	outcomeClosed  = "error:session_closed"
)

// toolCall is one tool call that runs.
type toolCall struct {
	id           string
	session      *session
	server, tool string
	conn         *conn
	cancel       func() // the job
	limit        func() // CALL-3
	done         func(outcome string, res *mcpgo.CallToolResult)
	over         bool
}

// Call calls a tool of a server in a session. id names the call in events; the caller keeps it unique. done gets CALL-4's
// word, and the server's answer if it is ok; an answer that is a JSON-RPC error is a result with IsError set. A call
// never outlasts its connection, its session or its timeout, and is never sent twice (CALL-2, CALL-3).
func (h *Host) Call(s port.SessionID, id, server, tool string, args map[string]any, done func(outcome string, res *mcpgo.CallToolResult)) {
	x := h.session(s)
	if x == nil {
		h.refuseCall(s, id, server, tool, outcomeClosed, done)
		return
	}
	c, why := h.callable(x, server, tool)
	if why != "" {
		h.refuseCall(s, id, server, tool, "refused:"+why, done)
		return
	}
	h.send(x, c, id, server, tool, args, done)
}

// CallName is Call by the name a model knows the tool by (VIEW-3).
func (h *Host) CallName(s port.SessionID, id, modelName string, args map[string]any, done func(outcome string, res *mcpgo.CallToolResult)) {
	server, tool := "", ""
	if x := h.session(s); x != nil {
		server, tool = h.resolve(x, modelName)
		if server == "" {
			h.refuseCall(s, id, "", "", "refused:no_tool", done)
			return
		}
	}
	h.Call(s, id, server, tool, args, done)
}

// callable is CALL-1: admission and filters as they are now, whatever the registry still shows.
func (h *Host) callable(s *session, server, tool string) (*conn, string) {
	verdict, sv := h.verdict(s, server)
	if verdict != admission.Admitted {
		return nil, verdict.String()
	}
	if !sv.entry.Visible(tool) {
		return nil, "filtered"
	}
	l := s.link(server)
	switch {
	case l == nil:
		return nil, "dialing"
	case l.conn == nil && l.class != "":
		return nil, "failed"
	case l.conn == nil || l.conn.phase != live || l.conn.exp.Fingerprint != h.expand(sv.entry).Fingerprint:
		return nil, "dialing"
	}
	r := s.registry.servers[server]
	if r == nil || !slices.Contains(r.tools, tool) {
		return nil, "no_tool"
	}
	return l.conn, ""
}

func (h *Host) refuseCall(s port.SessionID, id, server, tool, outcome string, done func(string, *mcpgo.CallToolResult)) {
	h.emit(&event.Event{Kind: event.CallStart, Session: s, Call: id, Server: server, Tool: tool})
	h.emit(&event.Event{Kind: event.CallEnd, Session: s, Call: id, Server: server, Tool: tool, Outcome: outcome})
	if done != nil {
		done(outcome, nil)
	}
}

func (h *Host) send(s *session, c *conn, id, server, tool string, args map[string]any, done func(string, *mcpgo.CallToolResult)) {
	k := &toolCall{id: id, session: s, server: server, tool: tool, conn: c, done: done}
	s.calls = append(s.calls, k)
	h.emit(&event.Event{Kind: event.CallStart, Session: s.id, Call: id, Server: server, Tool: tool, Conn: c.id})
	entry := s.link(server).entry
	k.limit = h.p.Clock.AfterFunc(port.TimerCall, port.Ms(entry.CallTimeout()), func() {
		k.limit = nil
		h.endCall(k, outcomeTimeout, nil)
	})
	var res *mcpgo.CallToolResult
	op := port.Op{Kind: port.OpCall, Conn: c.id, Session: s.id, Server: server, Detail: tool}
	k.cancel = h.p.Exec.Go(op, func(ctx context.Context) (err error) {
		res, err = c.client.Call(ctx, tool, args)
		return err
	}, func(err error) {
		k.cancel = nil
		if k.over {
			return // REC-9
		}
		switch {
		case err == nil:
			h.endCall(k, outcomeOK, res)
		case answered(err):
			h.endCall(k, outcomeOK, mcpgo.NewToolResultError(err.Error()))
		default: // the stream is broken: so is the connection (REC-14), and with it this call
			if c.phase == live {
				h.lose(c, h.classOf(c, port.OpCall, err))
			}
			h.endCall(k, outcomeLost, nil)
		}
	})
}

// answered reports whether a failed call was answered by the server, with a JSON-RPC error, rather than by the transport.
func answered(err error) bool {
	var broken *transport.Error
	return !errors.As(err, &broken) && !errors.Is(err, transport.ErrTransportClosed) && !errors.Is(err, context.Canceled)
}

// endCalls ends a session's running calls on a connection, or all of them if c is nil (CALL-2).
func (h *Host) endCalls(s *session, c *conn, outcome string) {
	if len(s.calls) == 0 {
		return
	}
	for _, k := range slices.Clone(s.calls) {
		if c == nil || k.conn == c {
			h.endCall(k, outcome, nil)
		}
	}
}

func (h *Host) endCall(k *toolCall, outcome string, res *mcpgo.CallToolResult) {
	if k.over {
		return
	}
	k.over = true
	stop(&k.limit)
	stop(&k.cancel)
	s := k.session
	s.calls = slices.DeleteFunc(s.calls, func(x *toolCall) bool { return x == k })
	h.emit(&event.Event{Kind: event.CallEnd, Session: s.id, Call: k.id, Server: k.server, Tool: k.tool, Conn: k.conn.id, Outcome: outcome})
	if k.done != nil {
		k.done(outcome, res)
	}
}
