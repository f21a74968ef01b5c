package model

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
)

// StatusText is what the list says of a server that is held back (VIEW-1); empty if it is admitted.
func (e *Effective) StatusText(s SessionID, server string) string {
	switch Decide(e, s, server) {
	case Removed:
		return "removed"
	case Disabled:
		return "disabled"
	case NotAllowed:
		return "not allowed"
	case Excluded:
		return "excluded"
	case PendingApproval:
		if es := e.Server(s, server); es != nil && es.Rejected {
			return "rejected: edit the config to be asked again"
		}
		return "needs approval"
	case Untrusted:
		return "untrusted folder"
	}
	return ""
}

// ToolName returns the name a model knows a tool by (VIEW-3): mcp__server__tool, each code point outside [A-Za-z0-9_-]
// becoming '_', cut at 64 with a digest at the end.
func ToolName(server, tool string) string {
	raw := "mcp__" + server + "__" + tool
	name := sanitise(raw)
	if len(name) <= maxToolName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	d := hex.EncodeToString(sum[:4])
	return name[:maxToolName-1-len(d)] + "_" + d
}

const maxToolName = 64

func sanitise(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

// withheld are the (server, tool) pairs of a session that are not offered, because a longer server name owns their
// model name (VIEW-3), in order of server and tool. What a failed pass has not taken away yet is still registered, and owns.
func (m *Machine) withheld(s *session, v *SessionView) [][2]string {
	var pairs [][2]string
	for i := range v.Servers {
		for _, t := range v.Servers[i].Tools {
			pairs = append(pairs, [2]string{v.Servers[i].Name, t})
		}
	}
	if s.failedLast {
		for name, r := range s.reg { // sorted below
			if !offers(v, name) {
				for _, t := range r.tools {
					pairs = append(pairs, [2]string{name, t})
				}
			}
		}
	}
	if len(pairs) < 2 {
		return nil
	}
	sort.Slice(pairs, func(i, j int) bool {
		a, b := pairs[i], pairs[j]
		if d := len([]rune(a[0])) - len([]rune(b[0])); d != 0 {
			return d > 0
		}
		return a[0] < b[0] || a[0] == b[0] && a[1] < b[1]
	})
	owned := make(map[string]bool, len(pairs))
	var out [][2]string
	for _, p := range pairs {
		if n := ToolName(p[0], p[1]); owned[n] {
			out = append(out, p)
		} else {
			owned[n] = true
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i][0]+"\x00"+out[i][1] < out[j][0]+"\x00"+out[j][1] })
	return out
}

func offers(v *SessionView, server string) bool {
	for i := range v.Servers {
		if v.Servers[i].Name == server {
			return len(v.Servers[i].Tools) > 0
		}
	}
	return false
}
