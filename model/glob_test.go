package model

import "testing"

func TestListEntriesMatchOverCodePoints(t *testing.T) { // ADM-4
	for _, x := range []struct {
		entry, name string
		want        bool
	}{
		{"a", "a", true},
		{"a", "A", false}, // case counts
		{"a", "ab", false},
		{"ab", "a", false},
		{"", "", true}, // dropped before it gets here
		{"*", "", true},
		{"*", "a/b::c", true},
		{"**", "x", true},
		{"a*", "a", true},
		{"a*", "ba", false},
		{"*a", "ba", true},
		{"*a", "ab", false},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"*ab", "aab", true},
		{"*aab*", "aaab", true},
		{"a*?c", "ac", false},
		{"a*?c", "abc", true},
		{"?", "", false},
		{"?", "é", true}, // one code point, two bytes
		{"?", "😀", true},
		{"??", "é", false},
		{"a?c", "a日c", true},
		{"é?", "éx", true},
		{"*é", "èé", true}, // è and é share their first byte
		{"*é*", "è", false},
		{"?*", "😀", true},
		{"e\u0301", "é", false}, // never normalised (SRC-10)
		{"[ab]", "a", false},    // no other form is special
		{"[ab]", "[ab]", true},
		{"a.c", "abc", false},
		{"a*", "a*", true},
		{"__proto__", "__proto__", true},
		{" a", "a", false}, // never trimmed
	} {
		if got := Match(x.entry, x.name); got != x.want {
			t.Errorf("Match(%q, %q) = %v", x.entry, x.name, got)
		}
	}
}

// TestMatchIsWhatTheDefinitionSays holds Match against the plain recursive definition on every short pattern and name.
func TestMatchIsWhatTheDefinitionSays(t *testing.T) {
	var words func(alphabet []string, n int) []string
	words = func(alphabet []string, n int) []string {
		out := []string{""}
		if n == 0 {
			return out
		}
		for _, w := range words(alphabet, n-1) {
			for _, c := range alphabet {
				out = append(out, c+w)
			}
		}
		return out
	}
	names := words([]string{"a", "é", "è"}, 4)
	for _, p := range words([]string{"a", "é", "*", "?"}, 4) {
		for _, n := range names {
			if got, want := Match(p, n), defined([]rune(p), []rune(n)); got != want {
				t.Fatalf("Match(%q, %q) = %v", p, n, got)
			}
		}
	}
}

func defined(p, n []rune) bool {
	switch {
	case len(p) == 0:
		return len(n) == 0
	case p[0] == '*':
		return defined(p[1:], n) || len(n) > 0 && defined(p, n[1:])
	case len(n) == 0:
		return false
	}
	return (p[0] == '?' || p[0] == n[0]) && defined(p[1:], n[1:])
}
