package model

import (
	"slices"
	"strings"
)

// appendCanonical writes a value so that two texts are equal exactly if the values are: members in one order, numbers as they
// are. With absent, members that count as absent (null, {} and [], at any depth) are left out; elements of arrays never are.
func appendCanonical(b []byte, v *Value, absent bool) []byte {
	switch v.Kind {
	case Array:
		b = append(b, '[')
		for i, e := range v.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, e, absent)
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		n := 0
		for _, m := range byKey(v) {
			if absent && vanishes(m.Value) {
				continue
			}
			if n++; n > 1 {
				b = append(b, ',')
			}
			b = append(appendString(b, m.Key), ':')
			b = appendCanonical(b, m.Value, absent)
		}
		return append(b, '}')
	}
	return v.Append(b)
}

// byKey returns the members of an object in order of code points. Do not change the result: it may be the object's own.
func byKey(v *Value) []Member {
	if v == nil {
		return nil
	}
	less := func(a, b Member) int { return strings.Compare(a.Key, b.Key) }
	if slices.IsSortedFunc(v.Members, less) {
		return v.Members
	}
	sorted := slices.Clone(v.Members)
	slices.SortFunc(sorted, less)
	return sorted
}

// vanishes reports that a member with this value counts as absent: null, [], and an object whose members all do ("absent
// equals empty … at any depth", spec section 1).
func vanishes(v *Value) bool {
	if v == nil {
		return true
	}
	switch v.Kind {
	case Null:
		return true
	case Array:
		return len(v.Elems) == 0
	case Object:
		for i := range v.Members {
			if !vanishes(v.Members[i].Value) {
				return false
			}
		}
		return true
	}
	return false
}
