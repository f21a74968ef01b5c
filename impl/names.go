package impl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const (
	modelNameMost = 64 // characters of a name that a model sees
	digestLength  = 8  // hex digits at the end of one that was cut
)

// ToolName is the name a model knows a tool by: mcp__server__tool, each code point outside [A-Za-z0-9_-] an underscore;
// what is longer than 64 is cut and ends in a digest of the pair (VIEW-3). Several pairs may share a name.
func ToolName(server, tool string) string {
	name := sanitised(server, tool)
	if len(name) <= modelNameMost {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return name[:modelNameMost-digestLength-1] + "_" + hex.EncodeToString(sum[:])[:digestLength]
}

func sanitised(server, tool string) string {
	var b strings.Builder
	b.Grow(len("mcp____") + len(server) + len(tool))
	b.WriteString("mcp__")
	writeSafe(&b, server)
	b.WriteString("__")
	writeSafe(&b, tool)
	return b.String()
}

func writeSafe(b *strings.Builder, s string) {
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteByte(byte(r))
		default:
			b.WriteByte('_')
		}
	}
}

// offer is a (server, tool) pair that has a model name.
type offer struct{ server, tool string }

// before orders the pairs of one name: the longer server name owns it (VIEW-3), then the first in order of code points.
func (o offer) before(p offer) int {
	if d := utf8.RuneCountInString(p.server) - utf8.RuneCountInString(o.server); d != 0 {
		return d
	}
	if d := strings.Compare(o.server, p.server); d != 0 {
		return d
	}
	return strings.Compare(o.tool, p.tool)
}

// setRegistration replaces a server's registration, nil for none, and the names its tools go by.
func (h *Host) setRegistration(s *session, server string, r *registration) {
	old := s.registry.servers[server]
	if r == nil {
		delete(s.registry.servers, server)
	} else {
		if old != nil && slices.Equal(old.tools, r.tools) {
			r.names = old.names
			s.registry.servers[server] = r
			return
		}
		r.names = make([]string, len(r.tools))
		for i, t := range r.tools {
			r.names[i] = ToolName(server, t)
		}
		s.registry.servers[server] = r
	}
	var touched []string // names that several pairs share or shared
	names := s.registry.names
	if old != nil {
		for i, t := range old.tools {
			name := old.names[i]
			if len(names[name]) == 1 {
				delete(names, name)
				continue
			}
			touched = append(touched, name)
			names[name] = slices.DeleteFunc(slices.Clone(names[name]), func(o offer) bool { return o == offer{server, t} })
		}
	}
	if r != nil {
		for i, t := range r.tools {
			name, o := r.names[i], offer{server, t}
			list := names[name]
			at, _ := slices.BinarySearchFunc(list, o, offer.before)
			names[name] = slices.Insert(slices.Clone(list), at, o)
			if len(list) > 0 {
				touched = append(touched, name)
			}
		}
	}
	slices.Sort(touched)
	for _, name := range slices.Compact(touched) {
		h.noteShared(s.id, name, names[name])
	}
}

// noteShared tells which tools are not offered because a longer server name owns their name.
func (h *Host) noteShared(id port.SessionID, name string, offers []offer) {
	var notices []event.Notice
	for _, o := range offers[min(1, len(offers)):] {
		notices = append(notices, event.Notice{Server: o.server, Key: o.tool, Kind: "tool_name", Session: id,
			Text: "not offered: a model would know it by the same name as a tool of " + strconv.Quote(offers[0].server) + ", " + name})
	}
	h.give(sessionGiver(id, "name\x00"+name), notices)
}

// offered reports whether a registered tool is the owner of its name.
func (r *registry) offered(server, tool, name string) bool {
	list := r.names[name]
	return len(list) > 0 && list[0] == offer{server, tool}
}
