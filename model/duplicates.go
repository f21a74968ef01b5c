package model

import "strconv"

// duplicates lists the duplicate keys under v, one per object path and key (SRC-8); path is v's own, dotted. In a map of
// servers, a key names the entry that it and everything below it belongs to.
func duplicates(out []Problem, v *Value, path, server string, isMap bool) []Problem {
	for _, key := range v.Dups {
		s := server
		if isMap {
			s = key
		}
		out = append(out, Problem{Server: s, Key: join(path, key), Kind: "duplicate"})
	}
	for i := range v.Members {
		m := &v.Members[i]
		if !holdsDuplicates(m.Value) {
			continue
		}
		s := server
		if isMap {
			s = m.Key
		}
		top := path == "" && server == "" && !isMap
		out = duplicates(out, m.Value, join(path, m.Key), s, top && m.Key == "mcpServers")
	}
	for i, e := range v.Elems {
		if holdsDuplicates(e) {
			out = duplicates(out, e, join(path, strconv.Itoa(i)), server, false)
		}
	}
	return out
}

// holdsDuplicates reports whether there is anything to list: paths are built only then.
func holdsDuplicates(v *Value) bool {
	if len(v.Dups) > 0 {
		return true
	}
	for i := range v.Members {
		if holdsDuplicates(v.Members[i].Value) {
			return true
		}
	}
	for _, e := range v.Elems {
		if holdsDuplicates(e) {
			return true
		}
	}
	return false
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// once drops repetitions: a notice stands once per server, key and kind.
func once(probs []Problem) []Problem {
	if len(probs) < 2 {
		return probs
	}
	seen := make(map[Problem]bool, len(probs))
	out := make([]Problem, 0, len(probs))
	for _, p := range probs {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}
