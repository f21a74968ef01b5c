package model

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
	"unicode/utf8"
)

// Pair is one tool of one server, as the registry keeps it.
type Pair struct{ Server, Tool string }

const (
	maxToolName  = 64 // characters of a name that a model sees
	toolNameHash = 8  // hex digits at the end of one that was cut
)

// ToolName returns the name a model knows a tool by (VIEW-3): mcp__server__tool, each code point outside [A-Za-z0-9_-]
// becoming '_', cut at 64 with a digest at the end.
func ToolName(server, tool string) string {
	name := toolPrefix(server) + sanitise(tool)
	if len(name) <= maxToolName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return name[:maxToolName-toolNameHash-1] + "_" + hex.EncodeToString(sum[:toolNameHash/2])
}

// toolPrefix is what the names of a server's tools start with.
func toolPrefix(server string) string { return "mcp__" + sanitise(server) + "__" }

func sanitise(s string) string {
	if safe(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r < utf8.RuneSelf && safeByte(byte(r)) {
			b.WriteByte(byte(r))
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

func safe(s string) bool {
	for i := 0; i < len(s); i++ {
		if !safeByte(s[i]) {
			return false
		}
	}
	return true
}

func safeByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Offered divides the pairs of a session into those that a model is offered and those that are withheld because another
// owns their name (VIEW-3): the longer server name, in code points, then the first by server and tool in order of code
// points. Both results are in order of server and tool.
func Offered(pairs []Pair) (offered, withheld []Pair) {
	sorted := append([]Pair(nil), pairs...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].less(sorted[j]) })
	if distinctNames(sorted) {
		return sorted, nil
	}
	owner := make(map[string]Pair, len(sorted))
	for _, p := range sorted {
		name := ToolName(p.Server, p.Tool)
		if o, taken := owner[name]; !taken || utf8.RuneCountInString(p.Server) > utf8.RuneCountInString(o.Server) {
			owner[name] = p
		}
	}
	for _, p := range sorted {
		if owner[ToolName(p.Server, p.Tool)] == p {
			offered = append(offered, p)
		} else {
			withheld = append(withheld, p)
		}
	}
	return offered, withheld
}

func (p Pair) less(q Pair) bool {
	return p.Server < q.Server || p.Server == q.Server && p.Tool < q.Tool
}

// distinctNames reports whether it is plain to see that no two pairs give one name: nothing is replaced or cut, and the
// first "__" behind "mcp__" ends the server's name.
func distinctNames(pairs []Pair) bool {
	for _, p := range pairs {
		if !safe(p.Server) || !safe(p.Tool) || strings.Contains(p.Server, "__") || strings.HasSuffix(p.Server, "_") ||
			len("mcp____")+len(p.Server)+len(p.Tool) > maxToolName {
			return false
		}
	}
	return true
}
