package model

// schema lists the keys that the restart gate knows (WAT-4); the longest that is a prefix of a path decides.
var schema = []struct {
	key     []string
	name    string
	restart bool
}{
	{[]string{"mcpServers"}, "mcpServers", false},
	{[]string{"mcp", "allowed"}, "mcp.allowed", false},
	{[]string{"mcp", "excluded"}, "mcp.excluded", false},
	{[]string{"mcp", "serverCommand"}, "mcp.serverCommand", true},
	{[]string{"mcp"}, "mcp", true},
	{[]string{"env"}, "env", true},
	{[]string{"security", "auth"}, "security.auth", true},
	{[]string{"proxy"}, "proxy", true},
}

// schemaKey finds the schema key of a leaf's path, and whether a change of it needs a restart; "" is hot-reloadable. Paths
// are compared key by key: one key with a dot in it is never two. Everything in a .mcp.json is hot-reloadable.
func schemaKey(scope Scope, path []string) (name string, restart bool) {
	if scope == Project {
		return "", false
	}
	longest := 0
	for i := range schema {
		k := schema[i].key
		if len(k) > longest && len(k) <= len(path) && sameStrings(k, path[:len(k)]) {
			longest, name, restart = len(k), schema[i].name, schema[i].restart
		}
	}
	return name, restart
}
