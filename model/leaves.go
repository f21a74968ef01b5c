package model

// changedLeaves calls f with the path of every leaf that differs between two documents (WAT-4). A leaf is a value that is no
// object: null and [] are leaves, {} has none. An object that appears or disappears counts as its leaves (D-13). f must not
// keep the path.
func changedLeaves(a, b *Value, f func(path []string)) {
	leafDiff(a, b, make([]string, 0, 8), f)
}

// leafDiff: nil is absent.
func leafDiff(a, b *Value, path []string, f func([]string)) {
	if a == b {
		return
	}
	aObject, bObject := a != nil && a.Kind == Object, b != nil && b.Kind == Object
	switch {
	case !aObject && !bObject:
		if !Equal(a, b) {
			f(path)
		}
		return
	case a != nil && !aObject, b != nil && !bObject: // a leaf went where an object came, or the reverse
		f(path)
	}
	if aObject {
		other := lookup(b, len(a.Members))
		for i := range a.Members {
			m := &a.Members[i]
			leafDiff(m.Value, other(m.Key, i), append(path, m.Key), f)
		}
	}
	if bObject {
		other := lookup(a, len(b.Members))
		for i := range b.Members {
			m := &b.Members[i]
			if other(m.Key, i) == nil {
				leafDiff(nil, m.Value, append(path, m.Key), f)
			}
		}
	}
}

// manyMembers is where an index pays.
const manyMembers = 16

// lookup returns a way to find members of v for about n keys, which are likely to be in v's order.
func lookup(v *Value, n int) func(key string, likely int) *Value {
	if v == nil || v.Kind != Object {
		return func(string, int) *Value { return nil }
	}
	var index map[string]*Value
	return func(key string, likely int) *Value {
		if likely < len(v.Members) && v.Members[likely].Key == key {
			return v.Members[likely].Value
		}
		if len(v.Members) <= manyMembers || n <= 1 {
			return v.Get(key)
		}
		if index == nil {
			index = make(map[string]*Value, len(v.Members))
			for i := range v.Members {
				index[v.Members[i].Key] = v.Members[i].Value
			}
		}
		return index[key]
	}
}
