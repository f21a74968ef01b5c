package model

import "strings"

// Config is one valid server entry, interned: two entries with the same approval hash share ID, two with the same
// fingerprint share Fp. The same entry with, say, another description is another *Config with the same ID.
type Config struct {
	ID   ConfigID
	Fp   FpID
	Raw  *Value // what the approval hash covers (after SRC-4, before SRC-9)
	Full *Value // what GATE-2 compares: Raw with description, disabled and enabled

	Transport   Transport
	CommandLine string   // stdio, expanded: command and args joined by one space; sdk: the server's name
	URL         string   // http and sse, expanded
	UntypedURL  bool     // SRC-4
	Secrets     []string // env and header values, before and after expansion (INV-16)
	Arguments   []string // args and url, expanded: in questions only (INV-16)
	Timeout     Ms       // CALL-3, default applied
	Discovery   Ms       // REC-7, default and clamp applied
	Trust       bool
	Include     []string // nil: all tools
	Exclude     []string
	Disabled    bool
	Text        string // Raw as canonical JSON
	fullText    string // Full as canonical JSON
}

// Problem is something a loader saw in a source; the Machine turns it into a Notice of the source's file.
type Problem struct {
	Server, Key, Kind string
}

// Allows reports whether tool passes the entry's includeTools and excludeTools (REC-6).
func (c *Config) Allows(tool string) bool {
	if len(c.Include) > 0 && !contains(c.Include, tool) {
		return false
	}
	return !contains(c.Exclude, tool)
}

// Entry interprets one entry of an mcpServers map. A nil Config means that the entry counts as absent (SRC-8);
// problems are returned in both cases. allowSDK is true for launch, session, runtime and extension entries.
func (t *Table) Entry(name string, v *Value, allowSDK bool) (*Config, []Problem) {
	k := entryKey{v, name, allowSDK}
	p := t.entries[k]
	if p == nil {
		p = &parsedEntry{}
		p.cfg, p.probs = t.interpret(name, v, allowSDK)
		t.entries[k] = p
	}
	return p.cfg, p.probs
}

// Servers interprets a map name → entry, or an object that holds one under mcpServers: launch, session and extension maps.
// The result is sorted by name.
func (t *Table) Servers(v *Value, allowSDK bool) ([]NamedConfig, []Problem) {
	if in := v.Get("mcpServers"); in != nil && in.Kind == Object {
		v = in
	}
	if v == nil || v.Kind != Object {
		return nil, nil
	}
	probs := dups(v, "", "", true)
	list, more := t.servers(v, allowSDK)
	return list, append(probs, more...)
}

// servers interprets the members of a map name → entry.
func (t *Table) servers(v *Value, allowSDK bool) ([]NamedConfig, []Problem) {
	var out []NamedConfig
	var probs []Problem
	for _, name := range v.SortedKeys() {
		if v.BadText && strings.ContainsRune(name, '\uFFFD') { // SRC-8: text that is not valid Unicode
			probs = append(probs, Problem{Server: name, Kind: "malformed"})
			continue
		}
		cfg, p := t.Entry(name, v.Get(name), allowSDK)
		probs = append(probs, p...)
		if cfg != nil {
			out = append(out, NamedConfig{name, cfg})
		}
	}
	return out, probs
}

// dups lists the duplicate keys below v; path is v's dotted path. Inside a map of servers the entry is named.
func dups(v *Value, path, server string, isMap bool) []Problem {
	if v == nil {
		return nil
	}
	var out []Problem
	for _, d := range v.Dups {
		s := server
		if isMap {
			s = d
		}
		out = append(out, Problem{Server: s, Key: join(path, d), Kind: "duplicate"})
	}
	for i := range v.Members {
		m := &v.Members[i]
		s := server
		if isMap {
			s = m.Key
		}
		out = append(out, dups(m.Value, join(path, m.Key), s, path == "" && server == "" && m.Key == "mcpServers" && !isMap)...)
	}
	for i, e := range v.Elems {
		out = append(out, dups(e, join(path, itoa(int64(i))), server, false)...)
	}
	return out
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
