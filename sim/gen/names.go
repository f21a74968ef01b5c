package gen

var (
	plainNames = []string{"a", "b", "c", "d", "e"}

	// oddNames are legal names (SRC-10) that an implementation may stumble over: members of a JavaScript object, keys that
	// are joined with separators, names that one model name stands for (VIEW-3), globs and variables that are neither,
	// code points that fold, normalise or trim to others.
	oddNames = []string{"__proto__", "a::b", "a/b", "a_b", "..", "toString", "A", " a", "é", "e\u0301", "ａ", "a*", "$X", "mcp__a",
		"constructor", "mcpServers", "a.b", "server-with-a-name-that-is-longer-than-a-model-s-tool-name-may-be-1",
		"server-with-a-name-that-is-longer-than-a-model-s-tool-name-may-be-2"}

	allKeys     = []string{"srv-a", "srv-b", "srv-c", "srv-d", "srv-e"}
	allSessions = []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"}

	// globs are entries of lists besides the names themselves (ADM-4).
	globs = []string{"*", "?", "a*", "?b", "", "A", "nope", "*b*", "a?b"}
)
