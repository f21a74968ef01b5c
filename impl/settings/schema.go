package settings

import (
	"slices"
	"strings"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
)

// schemaKeys are the keys that the restart gate knows (WAT-4). Paths compare key by key: one key with a dot in it is never
// two. Unknown keys are hot-reloadable.
var schemaKeys = []struct {
	path    []string
	restart bool
}{
	{[]string{"mcpServers"}, false},
	{[]string{"mcp", "allowed"}, false},
	{[]string{"mcp", "excluded"}, false},
	{[]string{"mcp", "serverCommand"}, true},
	{[]string{"mcp"}, true},
	{[]string{"env"}, true},
	{[]string{"security", "auth"}, true},
	{[]string{"proxy"}, true},
}

// restartKey returns the schema key that decides about a leaf, if it needs a restart: the longest that is a prefix of the
// leaf's path. Everything in a .mcp.json is hot-reloadable.
func restartKey(scope event.Scope, path []string) string {
	if scope == event.Project {
		return ""
	}
	best, key := 0, ""
	for _, k := range schemaKeys {
		n := len(k.path)
		if n > best && n <= len(path) && slices.Equal(k.path, path[:n]) {
			best, key = n, ""
			if k.restart {
				key = strings.Join(k.path, ".")
			}
		}
	}
	return key
}

// hotChange reports whether some leaf that differs is hot-reloadable (WAT-4).
func hotChange(scope event.Scope, before, after *config.Doc) bool {
	hot := false
	config.ChangedLeaves(before, after, func(path []string) {
		hot = hot || restartKey(scope, path) == ""
	})
	return hot
}

// restartKeys are the schema keys whose loaded value differs from the one in force (D-20), sorted.
func restartKeys(scope event.Scope, inForce, loaded *config.Doc) []string {
	var keys []string
	config.ChangedLeaves(inForce, loaded, func(path []string) {
		if k := restartKey(scope, path); k != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	})
	slices.Sort(keys)
	return keys
}
