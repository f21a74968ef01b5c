package sim

import (
	"fmt"
	"strings"

	"mcpsim/model"
)

// EventLine is one event of a history: fixed columns, no secret.
func EventLine(at model.Ms, ev *model.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6d  %-15s", at, ev.Kind)
	put := func(name string, v any) { fmt.Fprintf(&b, " %s=%v", name, v) }
	switch ev.Kind {
	case model.EvWake, model.EvLoad, model.EvRestartPending:
		put("scope", ev.Scope)
	}
	if ev.Session != "" {
		put("session", ev.Session)
	}
	if len(ev.Sessions) > 0 {
		put("sessions", ev.Sessions)
	}
	if ev.Server != "" {
		put("server", ev.Server)
	}
	if ev.Conn != 0 {
		put("conn", int(ev.Conn))
	}
	if ev.Pass != 0 {
		put("pass", ev.Pass)
	}
	if ev.Config != 0 {
		put("config", uint32(ev.Config))
	}
	if ev.Outcome != "" {
		put("outcome", ev.Outcome)
	}
	if ev.Why != "" {
		put("why", ev.Why)
	}
	if ev.Path != "" {
		put("path", ev.Path)
	}
	if len(ev.Keys) > 0 {
		put("keys", ev.Keys)
	}
	for _, s := range ev.Scopes {
		put(s.Scope.String(), s.How)
	}
	if ev.Kind == model.EvPublished {
		put("tools", ev.Tools)
		put("prompts", ev.Prompts)
		put("resources", ev.Resources)
	}
	if ev.Lists != nil {
		put("lists", fmt.Sprintf("%v", *ev.Lists))
	}
	if ev.Kind == model.EvAsk {
		put("asks", questions(ev.Questions))
	}
	if ev.Call != "" {
		put("call", ev.Call)
	}
	if ev.Tool != "" {
		put("tool", ev.Tool)
	}
	if ev.Notice != nil {
		put("notice", notice(*ev.Notice))
	}
	return b.String()
}

var inputNames = map[model.InputKind]string{model.InFile: "file", model.InRead: "read", model.InStarted: "started", model.InRecords: "records",
	model.InWake: "woken", model.InDecide: "decide", model.InReload: "reload", model.InServer: "server", model.InListChanged: "list_changed",
	model.InCrash: "crash", model.InCall: "call", model.InRuntimeAdd: "runtime_add", model.InRuntimeRemove: "runtime_remove",
	model.InExtension: "extension", model.InOpen: "open", model.InClose: "close", model.InTrust: "trust", model.InInitialize: "initialize",
	model.InRestart: "restart", model.InShutdown: "shutdown", model.InFault: "fault"}

func inputLine(at model.Ms, in *model.Input) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%6d  > %-13s", at, inputNames[in.Kind])
	switch in.Kind {
	case model.InFile, model.InRead:
		fmt.Fprintf(&b, " %s %s", in.Scope, contentLine(&in.Content))
	case model.InWake:
		fmt.Fprintf(&b, " %s", in.Scope)
	case model.InRecords:
		fmt.Fprintf(&b, " %d records, elsewhere=%v", len(in.Records), in.On)
	case model.InDecide:
		fmt.Fprintf(&b, " %s %s config=%d approve=%v", in.Session, in.Server, in.Config, in.Approve)
	default:
		for _, s := range []string{string(in.Session), in.Server, in.Key, in.Call, in.Tool, string(in.FaultKind)} {
			if s != "" {
				b.WriteString(" " + s)
			}
		}
		if in.Conn != 0 {
			fmt.Fprintf(&b, " conn=%d", in.Conn)
		}
	}
	return b.String()
}

func contentLine(c *model.Content) string {
	switch c.State {
	case model.Good:
		return c.Value.String()
	case model.Missing:
		return "missing"
	case model.Unreadable:
		return "unreadable"
	case model.NotObject:
		return "not an object"
	}
	return "unparsable"
}

// SnapshotLines is what a host shows, a line per session and server.
func SnapshotLines(at model.Ms, s *model.Snapshot) []string {
	var out []string
	for i := range s.Sessions {
		v := &s.Sessions[i]
		out = append(out, fmt.Sprintf("%6d  = %s asks=%s hint=%v", at, v.ID, questions(v.Ask), v.Hint))
		for j := range v.Servers {
			x := &v.Servers[j]
			out = append(out, fmt.Sprintf("%6d  =   %s %s tools=%v prompts=%v resources=%v", at, x.Name, x.States, x.Tools, x.Prompts, x.Resources))
		}
		for _, n := range v.Notices {
			out = append(out, fmt.Sprintf("%6d  =   notice %s", at, notice(n)))
		}
		for _, k := range v.Calls {
			out = append(out, fmt.Sprintf("%6d  =   call %s %s", at, k.ID, k.Outcome))
		}
	}
	out = append(out, fmt.Sprintf("%6d  = host dials=%v processes=%v records=%v pool=%v", at, s.Host.Dials, s.Host.Processes, s.Host.Records, s.Host.Pool))
	return out
}
