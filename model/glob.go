package model

// matches reports whether an entry of a list matches a server's name. The list is sorted.
func matches(list []string, server string) bool {
	for _, entry := range list {
		if Match(entry, server) {
			return true
		}
	}
	return false
}

// Match reports whether an entry of a list matches a server's name (ADM-4): * is any run of code points, ? exactly one,
// anything else itself, case included. Both are valid UTF-8.
func Match(entry, name string) bool {
	for i := 0; i < len(entry); i++ { // what comes before the first * or ?
		switch c := entry[i]; {
		case c == '*' && i == len(entry)-1:
			return true
		case c == '*' || c == '?':
			return glob(entry[i:], name[i:])
		case i == len(name) || c != name[i]:
			return false
		}
	}
	return len(entry) == len(name)
}

// glob goes back, on a mismatch, to the last * only: what an earlier one takes need never grow once a later one is reached.
func glob(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // the last * passed, and how far what it takes reaches
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			n += codePointLength(name[n])
		case p < len(pattern) && pattern[p] == name[n]: // the bytes of one code point match together or fail together
			p++
			n++
		case star >= 0:
			mark += codePointLength(name[mark])
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// codePointLength is the length in bytes of the code point that begins with b.
func codePointLength(b byte) int {
	switch {
	case b >= 0xf0:
		return 4
	case b >= 0xe0:
		return 3
	case b >= 0xc0:
		return 2
	}
	return 1
}
