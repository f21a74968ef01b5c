package fakemcp

import (
	"slices"
	"strings"
	"unicode/utf8"

	"mcpsim/impl/config"
)

// index finds strings that are prefixes of another, longest first.
type index struct {
	at   map[string]int
	lens []int // lengths of the strings, longest first
}

func (x *index) add(s string, i int) {
	if x.at == nil {
		x.at = map[string]int{}
	}
	x.at[s] = i
	if j, ok := slices.BinarySearchFunc(x.lens, len(s), func(a, b int) int { return b - a }); !ok {
		x.lens = slices.Insert(x.lens, j, len(s))
	}
}

// longest finds the longest member that s begins with.
func (x *index) longest(s string) (i int, ok bool) {
	for _, n := range x.lens {
		if n <= len(s) {
			if i, ok = x.at[s[:n]]; ok {
				return i, true
			}
		}
	}
	return 0, false
}

// nobody is the script of a server that no key matches.
var nobody = &script{b: unlisted}

// find returns the script of the longest key, by characters, that a server's command line begins with, or its URL (with
// the key as it is, or resolved), or `sdk:` and its name.
func (w *World) find(kind config.Kind, target string) *script {
	best := nobody
	try := func(i int, ok bool) {
		if ok && (best == nobody || utf8.RuneCountInString(w.scripts[i].key) > utf8.RuneCountInString(best.key)) {
			best = w.scripts[i]
		}
	}
	switch kind {
	case config.Stdio:
		try(w.byKey.longest(target))
	case config.SDK:
		try(w.byKey.longest("sdk:" + target))
		i, ok := w.byKey.at[target]
		try(i, ok)
	default:
		try(w.byKey.longest(target))
		try(w.byURL.longest(target))
	}
	return best
}

// Target is what a server's key is matched with: its command line (command and args joined by one space), its URL, or the
// name of an in-process server.
func Target(spec *config.DialSpec) string {
	switch {
	case spec.Kind == config.SDK:
		return spec.Server
	case spec.Kind != config.Stdio:
		return spec.URL
	case len(spec.Args) == 0:
		return spec.Command
	}
	return spec.Command + " " + strings.Join(spec.Args, " ")
}
