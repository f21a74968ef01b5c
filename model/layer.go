package model

import (
	"sort"
	"strings"
)

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
	Problems   []Problem // each server, key and kind once
}

// Loaded is the memory of one source: everything that a load can change. It is immutable; Load returns a new one.
type Loaded struct {
	File    ContentState // as last read
	Memory  *Value       // the document that the next load is compared with leaf by leaf (WAT-3); fail-closed at start is {"mcp":{"allowed":[]}}
	InForce *Value       // for restart keys: the document whose values are in force (D-20)
	Waiting []string     // schema keys that wait for a restart, sorted
	Layer   Layer

	linkText bool // SRC-15: the text of a bad file is one relative path
}

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

// Load interprets what a read of scope gave (SRC-6 to SRC-8, WAT-3, WAT-4). prev is nil at start.
func (t *Table) Load(scope Scope, prev *Loaded, c Content) (*Loaded, Diff) {
	if c.State != Good && c.State != Missing { // SRC-6: bad input is inert
		if prev == nil {
			prev = startBad(scope)
		}
		next := *prev
		next.File, next.linkText = c.State, c.LinkText
		return &next, Diff{Restart: prev.Waiting}
	}
	doc, p := emptyDoc, &parsedDoc{}
	if c.State == Good {
		doc, p = c.Value, t.document(scope, c.Value)
	}
	next := &Loaded{File: c.State, Memory: doc, InForce: doc, Layer: p.over(prev)}
	if prev == nil {
		return next, Diff{How: "created"}
	}
	next.InForce = prev.InForce
	next.Waiting = waiting(scope, next.InForce, doc)
	d := Diff{How: "modified", Restart: next.Waiting}
	switch {
	case c.State == Missing:
		d.How = "deleted"
	case prev.File == Missing:
		d.How = "created"
	}
	changedLeaves(prev.Memory, doc, func(path []string) {
		_, restart := schemaKey(scope, path)
		d.Notify = d.Notify || !restart
	})
	return next, d
}

// startBad is a file that is bad when nothing good was seen of it yet: settings deny everything until they are good or gone,
// a .mcp.json counts as {} (SRC-7).
func startBad(scope Scope) *Loaded {
	l := &Loaded{Memory: emptyDoc, InForce: emptyDoc}
	if scope != Project { // SRC-7
		l.Memory, l.Layer.HasAllowed = denyDoc, true
	}
	return l
}

// waiting are the schema keys whose loaded value differs from the one in force (WAT-4, D-20), sorted.
func waiting(scope Scope, inForce, loaded *Value) []string {
	var keys []string
	changedLeaves(inForce, loaded, func(path []string) {
		if key, restart := schemaKey(scope, path); restart && !contains(keys, key) {
			keys = append(keys, key)
		}
	})
	sort.Strings(keys)
	return keys
}

// parsedDoc is a good document as a layer, before last good values are put in for keys of the wrong type.
type parsedDoc struct {
	layer                               Layer
	badServers, badAllowed, badExcluded bool
}

// over fills in the last good value of keys of the wrong type; at start mcp.allowed counts as [], the others as absent (SRC-8).
func (p *parsedDoc) over(prev *Loaded) Layer {
	l, last := p.layer, Layer{HasAllowed: true}
	if prev != nil {
		last = prev.Layer
	}
	if p.badServers {
		l.Servers = last.Servers
		l.Problems = append([]Problem(nil), l.Problems...)
		for _, x := range last.Problems { // what is in force still holds its unexpanded variables
			if x.Kind == "variable" {
				l.Problems = append(l.Problems, x)
			}
		}
	}
	if p.badAllowed {
		l.HasAllowed, l.Allowed = last.HasAllowed, last.Allowed
	}
	if p.badExcluded {
		l.Excluded = last.Excluded
	}
	return l
}

// document interprets a good document, once.
func (t *Table) document(scope Scope, doc *Value) *parsedDoc {
	id := docID{doc, scope == Project}
	p := t.docs[id]
	if p == nil {
		p = t.parse(scope, doc)
		p.layer.Problems = once(p.layer.Problems)
		t.docs[id] = p
	}
	return p
}

func (t *Table) parse(scope Scope, doc *Value) *parsedDoc {
	p := &parsedDoc{}
	l := &p.layer
	l.Problems = duplicates(nil, doc, "", "", false)
	servers := doc.Get("mcpServers")
	switch {
	case servers == nil:
		if scope == Project { // SRC-15
			l.Problems = append(l.Problems, Problem{Kind: "no_servers"})
		}
	case servers.Kind == Object:
		var probs []Problem
		l.Servers, probs = t.servers(servers, false)
		l.Problems = append(l.Problems, probs...)
	case servers.Kind != Null:
		p.badServers = true
		l.Problems = append(l.Problems, Problem{Key: "mcpServers", Kind: "wrong_type"})
	}
	if scope == Project { // SRC-15: nothing else is read from it
		return p
	}
	mcp := doc.Get("mcp")
	if mcp != nil && mcp.Kind != Null && mcp.Kind != Object {
		p.badAllowed, p.badExcluded = true, true
		l.Problems = append(l.Problems, Problem{Key: "mcp", Kind: "wrong_type"})
		return p
	}
	l.Allowed, l.HasAllowed, p.badAllowed = l.names("mcp.allowed", mcp.Get("allowed"))
	l.Excluded, _, p.badExcluded = l.names("mcp.excluded", mcp.Get("excluded"))
	return p
}

// names reads a list. null is absent (SRC-1), [] is not; elements that are no strings are dropped (SRC-8).
func (l *Layer) names(key string, v *Value) (list []string, defined, wrong bool) {
	if v == nil || v.Kind == Null {
		return nil, false, false
	}
	if v.Kind != Array {
		l.Problems = append(l.Problems, Problem{Key: key, Kind: "wrong_type"})
		return nil, false, true
	}
	for _, e := range v.Elems {
		if e.Kind == String && !e.BadText {
			list = append(list, e.Text)
		}
	}
	if len(list) < len(v.Elems) {
		l.Problems = append(l.Problems, Problem{Key: key, Kind: "dropped"})
	}
	return list, true, false
}

// Notices are what stands about a loaded source: its state as a file, what is wrong inside the document that memory holds,
// what waits for a restart.
func (l *Loaded) Notices(scope Scope) []Notice {
	file := scope.String()
	var out []Notice
	switch l.File {
	case Unreadable:
		out = append(out, Notice{File: file, Kind: "unreadable"})
	case Unparsable:
		n := Notice{File: file, Kind: "unparsable"}
		if l.linkText {
			n.Text = "the whole text is one relative path: a link that was checked out as text?" // SRC-15
		}
		out = append(out, n)
	case NotObject:
		out = append(out, Notice{File: file, Kind: "not_object"})
	}
	for _, p := range l.Layer.Problems {
		n := Notice{File: file, Server: p.Server, Key: p.Key, Kind: p.Kind}
		if p.Kind == "no_servers" {
			n.Text = "no key mcpServers; it has: " + strings.Join(l.Memory.SortedKeys(), ", ")
		}
		out = append(out, n)
	}
	if len(l.Waiting) > 0 {
		out = append(out, Notice{File: file, Key: strings.Join(l.Waiting, ","), Kind: "restart"})
	}
	return out
}
