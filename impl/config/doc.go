package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Doc is a good document: its top level is an object. It is immutable, and the same text gives the same Doc.
type Doc struct {
	cache *Cache
	text  string
	root  *value
	lines []int // offsets of the beginnings of lines, once a place was asked for

	settings, project *Content
}

// Problem is something wrong inside a good document; it becomes a notice of the document's file. Key is the dotted path or the
// field, Line and Column count from 1, in characters; 0 is unknown. Text names places, never values of env or headers.
type Problem struct {
	Server, Key, Kind, Text string
	Line, Column            int
}

// Content is what a document says about servers. A key of the wrong type is marked: what it held last stays in force (SRC-8).
type Content struct {
	Servers    []*Entry // the valid ones, sorted by name
	HasAllowed bool     // mcp.allowed is defined, perhaps as []
	Allowed    []string // as written, without what is no string
	Excluded   []string
	Problems   []Problem

	BadServers, BadAllowed, BadExcluded bool
}

// Settings reads the document as a settings file (SRC-1).
func (d *Doc) Settings() *Content {
	if d.settings == nil {
		d.settings = d.content(false)
	}
	return d.settings
}

// Project reads the document as a .mcp.json, of which only mcpServers counts (SRC-15).
func (d *Doc) Project() *Content {
	if d.project == nil {
		d.project = d.content(true)
	}
	return d.project
}

func (d *Doc) content(project bool) *Content {
	c := &Content{}
	c.Problems = d.duplicates(nil, d.root, "", "", false)
	servers := d.root.get("mcpServers")
	switch {
	case servers == nil:
		if project {
			c.Problems = append(c.Problems, d.problem("", "", "no_servers", d.keysText(), 0))
		}
	case servers.kind == object:
		var problems []Problem
		c.Servers, problems = d.servers(servers, false)
		c.Problems = append(c.Problems, problems...)
	case servers.kind != null:
		c.BadServers = true
		c.Problems = append(c.Problems, d.wrongType("mcpServers", "an object", servers))
	}
	if project {
		return c
	}
	mcp := d.root.get("mcp")
	switch {
	case mcp == nil || mcp.kind == null:
	case mcp.kind != object:
		c.BadAllowed, c.BadExcluded = true, true
		c.Problems = append(c.Problems, d.wrongType("mcp", "an object", mcp))
	default:
		c.Allowed, c.HasAllowed, c.BadAllowed = d.list(c, "mcp.allowed", mcp.get("allowed"))
		c.Excluded, _, c.BadExcluded = d.list(c, "mcp.excluded", mcp.get("excluded"))
	}
	return c
}

// list reads a list of names. null is absent (SRC-1); [] is not.
func (d *Doc) list(c *Content, key string, v *value) (names []string, defined, wrong bool) {
	switch {
	case v == nil || v.kind == null:
		return nil, false, false
	case v.kind != array:
		c.Problems = append(c.Problems, d.wrongType(key, "an array of strings", v))
		return nil, false, true
	}
	dropped, at := 0, 0
	for _, e := range v.elems {
		if e.kind != text || e.bad { // text that is not valid Unicode names nothing
			if dropped == 0 {
				at = e.start
			}
			dropped++
			continue
		}
		names = append(names, e.text)
	}
	if dropped > 0 {
		c.Problems = append(c.Problems, d.problem("", key, "dropped", fmt.Sprintf("%s: elements that are no strings are dropped: %d", key, dropped), at))
	}
	return names, true, false
}

func (d *Doc) wrongType(key, want string, v *value) Problem {
	return d.problem("", key, "wrong_type", fmt.Sprintf("%s: expected %s; its last good value stays in force", key, want), v.start)
}

// keysText names the keys of a .mcp.json without mcpServers (SRC-15).
func (d *Doc) keysText() string {
	if len(d.root.members) == 0 {
		return "no key mcpServers: no servers are read; there are no keys at all"
	}
	const most = 20
	var names []string
	for i := range d.root.members {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(d.root.members)-most))
			break
		}
		names = append(names, fmt.Sprintf("%q", d.root.members[i].key))
	}
	return "no key mcpServers: no servers are read; the keys are " + strings.Join(names, ", ")
}

// duplicates lists the duplicate keys under v, one per object path and key (SRC-8). In a map of servers, a key names the
// entry that it and everything below it belongs to.
func (d *Doc) duplicates(out []Problem, v *value, path, server string, isMap bool) []Problem {
	for _, i := range v.dups {
		m := &v.members[i]
		s := server
		if isMap {
			s = m.key
		}
		key := joinPath(path, m.key)
		out = append(out, d.problem(s, key, "duplicate", fmt.Sprintf("%q occurs more than once: the last counts", key), m.start))
	}
	for i := range v.members {
		m := &v.members[i]
		if m.value.kind != object && m.value.kind != array {
			continue
		}
		s := server
		if isMap {
			s = m.key
		}
		out = d.duplicates(out, m.value, joinPath(path, m.key), s, path == "" && !isMap && server == "" && m.key == "mcpServers" && !m.bad)
	}
	for i, e := range v.elems {
		if e.kind == object || e.kind == array {
			out = d.duplicates(out, e, joinPath(path, fmt.Sprint(i)), server, false)
		}
	}
	return out
}

func (d *Doc) problem(server, key, kind, text string, off int) Problem {
	p := Problem{Server: server, Key: key, Kind: kind, Text: text}
	p.Line, p.Column = d.place(off)
	return p
}

// source is the text of a value, comments blanked or not: equal texts are equal values.
func (d *Doc) source(v *value) string { return d.body()[v.start:v.end] }

// body is the text without the byte order mark: what offsets count from.
func (d *Doc) body() string { return strings.TrimPrefix(d.text, bom) }

// place is line and column of an offset, both from 1, in characters.
func (d *Doc) place(off int) (line, column int) {
	body := d.body()
	if d.lines == nil {
		d.lines = []int{0}
		for i := range len(body) {
			if body[i] == '\n' {
				d.lines = append(d.lines, i+1)
			}
		}
	}
	i, found := slices.BinarySearch(d.lines, off)
	if !found {
		i--
	}
	return i + 1, 1 + utf8.RuneCountInString(body[d.lines[i]:off])
}
