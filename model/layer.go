package model

import "sort"

// NamedConfig is a server of one source.
type NamedConfig struct {
	Name   string
	Config *Config
}

// Layer is what one loaded source contributes.
type Layer struct {
	Servers    []NamedConfig // sorted by name; invalid entries are absent
	HasAllowed bool
	Allowed    []string // as written, empty strings included
	Excluded   []string
	Problems   []Problem
	isProject  bool
	noServers  bool // a good .mcp.json without the key mcpServers (SRC-15)
}

// Loaded is the memory of one source: everything that a load can change. It is immutable; Load returns a new one.
type Loaded struct {
	File    ContentState // as last read
	Memory  *Value       // the document that the next load is compared with leaf by leaf (WAT-3); fail-closed at start is {"mcp":{"allowed":[]}}
	InForce *Value       // for restart keys: the document whose values are in force (D-20)
	Waiting []string     // schema keys that wait for a restart, sorted
	Layer   Layer
}

// sameLayer reports whether two layers contribute the same, without looking into them.
func sameLayer(a, b *Layer) bool {
	return a.HasAllowed == b.HasAllowed && sameSlice(a.Servers, b.Servers) && sameSlice(a.Allowed, b.Allowed) && sameSlice(a.Excluded, b.Excluded)
}

func sameSlice[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// Diff is what a load changed.
type Diff struct {
	Notify  bool
	How     string   // created, modified, deleted (WAT-5)
	Restart []string // schema keys that wait for a restart after this load, sorted (WAT-4)
}

var (
	emptyDoc = &Value{Kind: Object}
	denyDoc  = Obj(Member{"mcp", Obj(Member{"allowed", Arr()})}) // SRC-7
)

// parsedDoc is a document as a layer, before last good values are put in for keys of the wrong type.
type parsedDoc struct {
	layer                               Layer
	badServers, badAllowed, badExcluded bool
}

// sameAdmission reports whether two layers hold the same lists.
func sameAdmission(a, b *Layer) bool {
	return a.HasAllowed == b.HasAllowed && sameStrings(a.Allowed, b.Allowed) && sameStrings(a.Excluded, b.Excluded)
}

// Load interprets what a read of scope gave (SRC-6 to SRC-8, WAT-3, WAT-4). prev is nil at start.
func (t *Table) Load(scope Scope, prev *Loaded, c Content) (*Loaded, Diff) {
	if c.State != Good && c.State != Missing { // SRC-6: bad input is inert
		if prev != nil {
			next := *prev
			next.File = c.State
			return &next, Diff{Restart: prev.Waiting}
		}
		next := &Loaded{File: c.State, Memory: emptyDoc, InForce: emptyDoc}
		if scope != Project { // SRC-7: a bad settings file denies, a bad .mcp.json counts as {}
			next.Memory, next.Layer = denyDoc, Layer{HasAllowed: true}
		}
		return next, Diff{}
	}
	doc := c.Value
	if c.State == Missing {
		doc = emptyDoc
	}
	next := &Loaded{File: c.State, Memory: doc, InForce: doc, Layer: t.layer(scope, prev, doc)}
	if prev == nil {
		return next, Diff{How: "created"}
	}
	next.InForce = prev.InForce
	d := Diff{How: "modified"}
	switch {
	case c.State == Missing:
		d.How = "deleted"
	case prev.File == Missing:
		d.How = "created"
	}
	changedLeaves(prev.Memory, doc, make([]string, 0, 8), func(path []string) {
		if _, restart := schemaKey(scope, path); !restart {
			d.Notify = true
		}
	})
	if !sameAdmission(&prev.Layer, &next.Layer) { // an mcp that is no object hid or showed lists that count
		d.Notify = true
	}
	var waiting map[string]bool
	changedLeaves(next.InForce, doc, make([]string, 0, 8), func(path []string) {
		if key, restart := schemaKey(scope, path); restart {
			if waiting == nil {
				waiting = map[string]bool{}
			}
			waiting[key] = true
		}
	})
	for key := range waiting {
		next.Waiting = append(next.Waiting, key)
	}
	sort.Strings(next.Waiting)
	d.Restart = next.Waiting
	return next, d
}

// layer interprets a good document; keys of the wrong type keep their last good value (SRC-8).
func (t *Table) layer(scope Scope, prev *Loaded, doc *Value) Layer {
	p := t.loads[doc]
	if p == nil || (scope == Project) != p.layer.isProject {
		p = t.parse(scope, doc)
		t.loads[doc] = p
	}
	l := p.layer
	if p.badServers && prev != nil {
		l.Servers = prev.Layer.Servers
		l.Problems = append([]Problem(nil), l.Problems...)
		for _, x := range prev.Layer.Problems { // what is in force still holds its unexpanded variables
			if x.Kind == "variable" {
				l.Problems = append(l.Problems, x)
			}
		}
	}
	if p.badAllowed {
		l.HasAllowed, l.Allowed = true, nil // at start: []
		if prev != nil {
			l.HasAllowed, l.Allowed = prev.Layer.HasAllowed, prev.Layer.Allowed
		}
	}
	if p.badExcluded && prev != nil {
		l.Excluded = prev.Layer.Excluded
	}
	return l
}

func (t *Table) parse(scope Scope, doc *Value) *parsedDoc {
	p := &parsedDoc{}
	l := &p.layer
	l.isProject = scope == Project
	l.Problems = dups(doc, "", "", false)
	bad := func(key string) { l.Problems = append(l.Problems, Problem{Key: key, Kind: "wrong_type"}) }
	if v := doc.Get("mcpServers"); v != nil && v.Kind != Null {
		if v.Kind != Object {
			p.badServers = true
			bad("mcpServers")
		} else {
			var probs []Problem
			l.Servers, probs = t.servers(v, false)
			l.Problems = append(l.Problems, probs...)
		}
	}
	if scope == Project { // SRC-15: nothing else is read from it
		l.noServers = doc.Get("mcpServers") == nil
		return p
	}
	mcp := doc.Get("mcp")
	if mcp != nil && mcp.Kind != Null && mcp.Kind != Object {
		p.badAllowed, p.badExcluded = true, true
		bad("mcp")
		return p
	}
	names := func(key string) (list []string, has, wrong bool) {
		v := mcp.Get(key)
		if v == nil || v.Kind == Null {
			return nil, false, false
		}
		if v.Kind != Array {
			bad("mcp." + key)
			return nil, false, true
		}
		dropped := false
		for _, e := range v.Elems {
			if e.Kind != String || e.BadText {
				dropped = true
				continue
			}
			list = append(list, e.Text)
		}
		if dropped {
			l.Problems = append(l.Problems, Problem{Key: "mcp." + key, Kind: "dropped"})
		}
		return list, true, false
	}
	l.Allowed, l.HasAllowed, p.badAllowed = names("allowed")
	l.Excluded, _, p.badExcluded = names("excluded")
	return p
}

// Notices are what stands about a loaded source: its state as a file, what is wrong inside, what waits for a restart.
func (l *Loaded) Notices(scope Scope) []Notice {
	file := scope.String()
	var out []Notice
	switch l.File {
	case Unreadable:
		out = append(out, Notice{File: file, Kind: "unreadable"})
	case Unparsable:
		out = append(out, Notice{File: file, Kind: "unparsable"})
	case NotObject:
		out = append(out, Notice{File: file, Kind: "not_object"})
	}
	if l.Layer.noServers && l.Memory != emptyDoc {
		out = append(out, Notice{File: file, Kind: "no_servers"})
	}
	for _, p := range l.Layer.Problems {
		out = append(out, Notice{File: file, Server: p.Server, Key: p.Key, Kind: p.Kind})
	}
	if len(l.Waiting) > 0 {
		keys := l.Waiting[0]
		for _, k := range l.Waiting[1:] {
			keys += "," + k
		}
		out = append(out, Notice{File: file, Key: keys, Kind: "restart"})
	}
	return out
}

// schema lists the keys that the restart gate knows (WAT-4); the longest that is a prefix of a path decides.
var schema = []struct {
	key     []string
	name    string
	restart bool
}{
	{[]string{"mcpServers"}, "mcpServers", false},
	{[]string{"mcp", "allowed"}, "mcp.allowed", false},
	{[]string{"mcp", "excluded"}, "mcp.excluded", false},
	{[]string{"mcp", "serverCommand"}, "mcp.serverCommand", true},
	{[]string{"mcp"}, "mcp", true},
	{[]string{"env"}, "env", true},
	{[]string{"security", "auth"}, "security.auth", true},
	{[]string{"proxy"}, "proxy", true},
}

// schemaKey finds the schema key of a leaf's path. Paths are compared key by key: one key with a dot in it is never two.
func schemaKey(scope Scope, path []string) (name string, restart bool) {
	if scope == Project {
		return "", false
	}
	best := 0
	for i := range schema {
		k := schema[i].key
		if len(k) > best && len(k) <= len(path) && sameStrings(k, path[:len(k)]) {
			best, name, restart = len(k), schema[i].name, schema[i].restart
		}
	}
	return name, restart
}

// changedLeaves calls f with the path of every leaf that differs (WAT-4): a leaf is a value that is no object; an object
// that appears or disappears counts as its leaves (D-13). The path is the callee's until it returns.
func changedLeaves(a, b *Value, path []string, f func([]string)) {
	if a == b {
		return
	}
	aObj, bObj := a != nil && a.Kind == Object, b != nil && b.Kind == Object
	if !aObj && !bObj {
		if !Equal(a, b) {
			f(path)
		}
		return
	}
	if !aObj && a != nil || !bObj && b != nil { // a leaf became an object, or the reverse: that leaf went or came
		f(path)
	}
	var inA, inB finder
	if aObj {
		inA.members = a.Members
	}
	if bObj {
		inB.members = b.Members
	}
	for i := range inA.members {
		m := &inA.members[i]
		changedLeaves(m.Value, inB.get(m.Key), append(path, m.Key), f)
	}
	for i := range inB.members {
		if m := &inB.members[i]; inA.get(m.Key) == nil {
			changedLeaves(nil, m.Value, append(path, m.Key), f)
		}
	}
}
