package config

// ChangedLeaves calls f with the path of every leaf that differs between two documents, as lists of keys (WAT-4). A leaf is
// a value that is no object: an array is one, null is one. An object that appears or disappears counts as its leaves (D-13).
// f must not keep the path. The order is that of the documents.
func ChangedLeaves(a, b *Doc, f func(path []string)) {
	if a != b {
		changedLeaves(a.root, b.root, make([]string, 0, 8), f)
	}
}

// changedLeaves: nil is absent.
func changedLeaves(a, b *value, path []string, f func([]string)) {
	aObject, bObject := a != nil && a.kind == object, b != nil && b.kind == object
	switch {
	case a == b:
		return
	case !aObject && !bObject:
		if !same(a, b) {
			f(path)
		}
		return
	case a != nil && !aObject, b != nil && !bObject:
		f(path) // a leaf went where an object came, or the reverse
	}
	at := 0 // most members of both come in one order
	if aObject {
		for i := range a.members {
			m := &a.members[i]
			var other *value
			if j := b.near(keyOf{m.key, m.bad}, at); j >= 0 {
				other, at = b.members[j].value, j+1
			}
			changedLeaves(m.value, other, append(path, m.key), f)
		}
	}
	at = 0
	if bObject {
		for i := range b.members {
			m := &b.members[i]
			if aObject && at < len(a.members) && a.members[at].key == m.key && a.members[at].bad == m.bad {
				at++
				continue
			}
			if a.find(keyOf{m.key, m.bad}) < 0 {
				changedLeaves(nil, m.value, append(path, m.key), f)
			}
		}
	}
}
