package admission

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// List is an allow or exclude list: names and globs (ADM-4). It is immutable.
type List struct {
	names []string // the entries as a set: sorted, without empty strings and repetitions (GATE-3)
	exact map[string]struct{}
	globs []string
}

// NewList makes a list of entries as they are written. A list of nothing but empty strings is still a list, and matches
// nothing (ADM-2, ADM-4).
func NewList(entries []string) *List {
	l := &List{}
	for _, e := range entries {
		if e != "" {
			l.names = append(l.names, e)
		}
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	for _, n := range l.names {
		if strings.ContainsAny(n, "*?") {
			l.globs = append(l.globs, n)
			continue
		}
		if l.exact == nil {
			l.exact = make(map[string]struct{}, len(l.names))
		}
		l.exact[n] = struct{}{}
	}
	return l
}

// Names returns the entries as a set, sorted. The result is shared: do not change it.
func (l *List) Names() []string {
	if l == nil {
		return nil
	}
	return l.names
}

// Match reports whether an entry matches name.
func (l *List) Match(name string) bool {
	if _, ok := l.exact[name]; ok {
		return true
	}
	for _, g := range l.globs {
		if Glob(g, name) {
			return true
		}
	}
	return false
}

// Glob matches name against a pattern in which * is any run of code points and ? is exactly one; everything else,
// case included, is itself (ADM-4). It allocates nothing and is linear but for a factor of the pattern's length.
func Glob(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // where to go on after the last * has to take one code point more
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p+1, n
			p++
			continue
		}
		_, size := utf8.DecodeRuneInString(name[n:])
		if p < len(pattern) {
			if pattern[p] == '?' {
				p++
				n += size
				continue
			}
			if strings.HasPrefix(pattern[p:], name[n:n+size]) {
				p += size
				n += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size = utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
