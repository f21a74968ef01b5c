package config

// value is one JSON value of a document. Of a duplicate key the last value wins, at the place of the first (SRC-8). A number
// is its text, in the form of RFC 8785 where that denotes exactly the same number. Text that is not valid Unicode has U+FFFD
// in its place and is marked.
type value struct {
	kind    kind
	text    string // number, string
	elems   []*value
	members []member
	index   map[keyOf]int // of members, once they are many
	dups    []int         // members whose key occurred more than once
	bad     bool          // a string that is not valid Unicode
	start   int           // offset in the text
	end     int
}

type kind byte

const (
	null kind = iota
	boolTrue
	boolFalse
	number
	text
	array
	object
)

// member is one key of an object with its value.
type member struct {
	key   string
	bad   bool // the key is not valid Unicode; it is then no other key
	start int  // offset of the key's last occurrence
	value *value
}

type keyOf struct {
	key string
	bad bool
}

// manyMembers is where an object gets an index.
const manyMembers = 16

// get returns the member named key, or nil.
func (v *value) get(key string) *value {
	if i := v.find(keyOf{key, false}); i >= 0 {
		return v.members[i].value
	}
	return nil
}

func (v *value) find(k keyOf) int {
	if v == nil || v.kind != object {
		return -1
	}
	if v.index != nil {
		if i, ok := v.index[k]; ok {
			return i
		}
		return -1
	}
	for i := range v.members {
		if v.members[i].key == k.key && v.members[i].bad == k.bad {
			return i
		}
	}
	return -1
}

// near is find for who knows about where the member is: at, if it is anywhere.
func (v *value) near(k keyOf, at int) int {
	if v != nil && v.kind == object && at < len(v.members) && v.members[at].key == k.key && v.members[at].bad == k.bad {
		return at
	}
	return v.find(k)
}

// put adds a member, or replaces the value of one that is there.
func (v *value) put(m member) {
	k := keyOf{m.key, m.bad}
	if i := v.find(k); i >= 0 {
		v.members[i].value, v.members[i].start = m.value, m.start // SRC-8: the last wins
		for _, d := range v.dups {
			if d == i {
				return
			}
		}
		v.dups = append(v.dups, i)
		return
	}
	v.members = append(v.members, m)
	switch n := len(v.members); {
	case v.index != nil:
		v.index[k] = n - 1
	case n > manyMembers:
		v.index = make(map[keyOf]int, 4*manyMembers)
		for i := range v.members {
			v.index[keyOf{v.members[i].key, v.members[i].bad}] = i
		}
	}
}

// vanishes reports that a member with this value counts as absent: null, [], and an object without members that count
// ("absent equals empty", spec section 1).
func (v *value) vanishes() bool {
	switch {
	case v == nil || v.kind == null:
		return true
	case v.kind == array:
		return len(v.elems) == 0
	case v.kind != object:
		return false
	}
	for i := range v.members {
		if !v.members[i].value.vanishes() {
			return false
		}
	}
	return true
}

func (v *value) isTrue() bool  { return v != nil && v.kind == boolTrue }
func (v *value) isFalse() bool { return v != nil && v.kind == boolFalse }

// same compares two values as they are: the order of members does not count, null is not absent.
func same(a, b *value) bool {
	switch {
	case a == b:
		return true
	case a == nil || b == nil || a.kind != b.kind || a.text != b.text || a.bad != b.bad ||
		len(a.elems) != len(b.elems) || len(a.members) != len(b.members):
		return false
	}
	for i := range a.elems {
		if !same(a.elems[i], b.elems[i]) {
			return false
		}
	}
	for i := range a.members {
		j := b.find(keyOf{a.members[i].key, a.members[i].bad})
		if j < 0 || !same(a.members[i].value, b.members[j].value) {
			return false
		}
	}
	return true
}
