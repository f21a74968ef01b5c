package impl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"mcpsim/impl/admission"
	"mcpsim/impl/port"
)

// MissMessage says why a tool that a model named is not there: the owning server and the way back (VIEW-3).
func (h *Host) MissMessage(id port.SessionID, modelName string) string {
	s := h.session(id)
	none := fmt.Sprintf("there is no tool %q", modelName)
	if s == nil {
		return none
	}
	server := h.owner(s, modelName)
	if server == "" {
		return none
	}
	verdict, sv := h.verdict(s, server)
	about := func(format string, args ...any) string {
		return fmt.Sprintf("%s: the MCP server %q ", none, server) + fmt.Sprintf(format, args...)
	}
	switch verdict {
	case admission.Removed:
		return about("was removed during this session; add it again to get its tools back")
	case admission.Disabled:
		return about("is disabled; enable it")
	case admission.NotAllowed:
		if h.view(s).base.policy.Barred(server) {
			return about("is not allowed: the launch flag --allowed-mcp-server-names bars it; relaunch with it in the flag")
		}
		return about("is not allowed; add it to mcp.allowed")
	case admission.Excluded:
		return about("is excluded; take it out of mcp.excluded")
	case admission.PendingApproval:
		if _, text := held(sv); strings.HasPrefix(text, "rejected") {
			return about("was rejected; edit its config to be asked again, and approve it")
		}
		return about("needs approval; approve it")
	case admission.Untrusted:
		return about("is not connected because the folder is untrusted; trust the folder")
	case admission.Unknown:
		return none
	}
	l := s.link(server)
	switch {
	case l != nil && l.conn == nil && l.class != "":
		return about("failed: %s", failureText(l.class, sv))
	case l == nil || l.conn == nil || l.conn.phase != live:
		return about("is still being dialled; try again")
	}
	return none
}

// resolve finds the pair a model's name stands for: a tool that is offered, or else one of the owning server that it
// lists but does not offer, or the owning server with no tool. "" if no server owns the name.
func (h *Host) resolve(s *session, modelName string) (server, tool string) {
	if list := s.registry.names[modelName]; len(list) > 0 {
		return list[0].server, list[0].tool
	}
	server = h.owner(s, modelName)
	if server == "" {
		return "", ""
	}
	if l := s.link(server); l != nil && l.conn != nil {
		for _, t := range l.conn.lists.tools {
			if ToolName(server, t) == modelName {
				return server, t
			}
		}
	}
	return server, strings.TrimPrefix(modelName, sanitised(server, ""))
}

// owner is the longest name among the configured and the removed servers whose tools have names like this one; "" if none.
func (h *Host) owner(s *session, modelName string) string {
	best, length := "", -1
	consider := func(name string) {
		prefix := sanitised(name, "")
		if len(modelName) == modelNameMost { // perhaps cut, so compare what is left of the prefix
			prefix = prefix[:min(len(prefix), modelNameMost-digestLength-1)]
		}
		if n := utf8.RuneCountInString(name); n > length && strings.HasPrefix(modelName, prefix) {
			best, length = name, n
		}
	}
	for _, sv := range h.view(s).servers {
		consider(sv.name)
	}
	for _, name := range s.removedNames() {
		consider(name)
	}
	return best
}
