package config

import "slices"

// Cache interns documents and entries by content: the same text parses once, and gives the same pointers and slices. Hosts
// of one process may share one, but not from several goroutines at a time. It forgets everything when it holds too much.
type Cache struct {
	docs    map[string]*parsed
	maps    map[string]*entryMap
	entries map[entryKey]*interpreted
	size    int // bytes held, roughly
}

// maxCache is how much a cache holds, in bytes, before it starts anew; what hosts still use lives on with them.
const maxCache = 64 << 20

type parsed struct {
	doc *Doc
	err *ParseError
}

type entryMap struct {
	entries  []*Entry
	problems []Problem
	err      error
}

type entryKey struct {
	name, text         string
	badName, allowsSDK bool
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	c := &Cache{}
	c.reset()
	return c
}

func (c *Cache) reset() {
	c.docs, c.maps, c.entries, c.size = map[string]*parsed{}, map[string]*entryMap{}, map[entryKey]*interpreted{}, 0
}

// Trim forgets everything if more than so many bytes are held: what will not be asked for again only burdens the collector.
func (c *Cache) Trim(limit int) {
	if c.size > limit {
		c.reset()
	}
}

// room makes room for n more bytes.
func (c *Cache) room(n int) {
	if c.size += n; c.size > maxCache {
		c.reset()
		c.size = n
	}
}

// A parsed document takes about eight times its text, an entry three times, and each some more.
const (
	docWeight, entryWeight, oneMore = 8, 3, 300
)

// Parse reads a document (SRC-5). The error is a *ParseError: unparsable or not_object (SRC-6).
func (c *Cache) Parse(text []byte) (*Doc, error) {
	p := c.docs[string(text)]
	if p == nil {
		c.room(docWeight*len(text) + oneMore)
		p = &parsed{}
		key := string(text)
		var v *value
		if v, p.err = parseText(text); p.err == nil {
			p.doc = &Doc{cache: c, text: key, root: v}
		}
		c.docs[key] = p
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.doc, nil
}

// Entries reads a map name → entry, or an object that holds one under mcpServers: what launch, a session, an extension or a
// runtime server gives; type "sdk" is allowed there (SRC-4). The entries are the valid ones, sorted by name; a problem of a
// skipped one is malformed (SRC-8).
func (c *Cache) Entries(text []byte) ([]*Entry, []Problem, error) {
	m := c.maps[string(text)]
	if m == nil {
		c.room(docWeight*len(text) + oneMore)
		m = &entryMap{}
		m.entries, m.problems, m.err = c.readEntries(text)
		c.maps[string(text)] = m
	}
	return m.entries, m.problems, m.err
}

func (c *Cache) readEntries(text []byte) ([]*Entry, []Problem, error) {
	root, err := parseText(text)
	if err != nil {
		return nil, nil, err
	}
	d := &Doc{cache: c, text: string(text), root: root}
	if inner := root.get("mcpServers"); inner != nil && inner.kind == object {
		root = inner
	}
	problems := d.duplicates(nil, root, "", "", true)
	entries, more := d.servers(root, true)
	return entries, append(problems, more...), nil
}

// entry interprets one entry, once per content.
func (c *Cache) entry(m *member, source string, allowSDK bool) *interpreted {
	k := entryKey{m.key, source, m.bad, allowSDK}
	r := c.entries[k]
	if r == nil {
		c.room(entryWeight*len(source) + oneMore)
		r = interpret(m.key, m.bad, m.value, allowSDK)
		c.entries[k] = r
	}
	return r
}

// servers interprets the members of a map name → entry, in order of name.
func (d *Doc) servers(v *value, allowSDK bool) ([]*Entry, []Problem) {
	order := make([]int, len(v.members))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return compareKeys(&v.members[a], &v.members[b]) })
	var entries []*Entry
	var problems []Problem
	for _, i := range order {
		m := &v.members[i]
		r := d.cache.entry(m, d.source(m.value), allowSDK)
		for _, f := range r.problems {
			p := d.problem(m.key, f.key, f.kind, f.text, m.value.start+f.off)
			problems = append(problems, p)
		}
		if r.entry != nil {
			entries = append(entries, r.entry)
		}
	}
	return entries, problems
}

func compareKeys(a, b *member) int {
	switch {
	case a.key < b.key:
		return -1
	case a.key > b.key:
		return 1
	case a.bad == b.bad:
		return 0
	case b.bad:
		return -1
	}
	return 1
}
