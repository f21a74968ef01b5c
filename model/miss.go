package model

import (
	"strings"
	"unicode/utf8"
)

// Miss says what became of a tool that a model named and that is not offered (VIEW-3), in the words of CALL-4 behind
// "refused:": the verdict of the owning server, failed, dialing, or no_tool if nobody owns the name or the owner is live.
// state is what the connection of an admitted server is in.
func Miss(e *Effective, s SessionID, modelName string, state func(server string) State) string {
	server := e.Owner(s, modelName)
	if server == "" {
		return "no_tool"
	}
	if v := Decide(e, s, server); v != Admitted {
		return v.String()
	}
	switch st := state(server); {
	case st&failedStates != 0:
		return "failed"
	case st&StateDialing != 0:
		return "dialing"
	}
	return "no_tool"
}

// WayBack is what to do about the outcome of Miss (VIEW-3); "" if there is nothing to do.
func WayBack(e *Effective, s SessionID, modelName string, state func(server string) State) string {
	server := e.Owner(s, modelName)
	switch Miss(e, s, modelName, state) {
	case "removed":
		return "add it again"
	case "disabled":
		return "enable it"
	case "not_allowed":
		if e.Barred(server) {
			return "relaunch: the launch flag bars it"
		}
		return "add it to mcp.allowed"
	case "excluded":
		return "take it out of mcp.excluded"
	case "pending_approval":
		if e.Server(s, server).Rejected {
			return "edit its config to be asked again, and approve it"
		}
		return "approve it"
	case "untrusted":
		return "trust the folder"
	case "failed":
		return "it failed"
	case "dialing":
		return "it is being dialled"
	}
	return ""
}

// Owner is the server that a model's name belongs to: the longest name, in code points, among the configured and the removed
// servers whose tools have names that begin like this one; "" if there is none. Of two as long, a configured one, then the
// first in order of code points.
func (e *Effective) Owner(s SessionID, modelName string) string {
	x := e.find(s)
	if x == nil {
		return ""
	}
	best, length := "", 0
	for _, names := range [...][]string{x.names, x.removedNames()} {
		for _, name := range names {
			if n := utf8.RuneCountInString(name); n > length && owns(name, modelName) {
				best, length = name, n
			}
		}
	}
	return best
}

// owns: a name that was perhaps cut need only hold what is left of the prefix.
func owns(server, modelName string) bool {
	prefix := toolPrefix(server)
	if kept := maxToolName - toolNameHash - 1; len(modelName) == maxToolName && len(prefix) > kept {
		prefix = prefix[:kept]
	}
	return strings.HasPrefix(modelName, prefix)
}

// Barred reports whether the launch flag itself keeps a server out: no edit can change that (ADM-1).
func (e *Effective) Barred(server string) bool {
	return e.m.Launch.HasFlag && !matches(e.lists.Allowed[0].Names, server) // the flag is the first list
}
