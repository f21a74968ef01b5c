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
	Timeout     Ms       // CALL-3, default applied
	Discovery   Ms       // REC-7, default and clamp applied
	Trust       bool
	Include     []string // nil: all tools
	Exclude     []string
	Disabled    bool
	Text        string // Raw as canonical JSON

	full  uint32 // the number of Full: equal exactly if GATE-2 calls two entries equal
	epoch int    // of the table's launch when it was expanded
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
// problems are returned in both cases. allowSDK is true for launch, session, runtime and extension entries. The same content
// under the same name gives the same *Config.
func (t *Table) Entry(name string, v *Value, allowSDK bool) (*Config, []Problem) {
	id := entryID{v, name, allowSDK}
	p := t.seen[id]
	if p == nil {
		p = t.entry(name, v, allowSDK)
		t.seen[id] = p
	}
	return p.config, p.problems
}

func (t *Table) entry(name string, v *Value, allowSDK bool) *interpreted {
	if v == nil || v.Kind != Object || badText(v) { // bad text is not told apart by its content
		return malformed(name)
	}
	k := entryText{string(appendCanonical(nil, v, false)), name, allowSDK}
	p := t.entries[k]
	if p == nil {
		p = t.interpret(name, v, allowSDK)
		t.entries[k] = p
	}
	return p
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
	list, probs := t.servers(v, allowSDK)
	return list, once(append(duplicates(nil, v, "", "", true), probs...))
}

// servers interprets the members of a map name → entry.
func (t *Table) servers(v *Value, allowSDK bool) (list []NamedConfig, probs []Problem) {
	for _, m := range byKey(v) {
		if v.BadText && strings.ContainsRune(m.Key, '\uFFFD') { // SRC-8: the name is not valid Unicode
			probs = append(probs, Problem{Server: m.Key, Kind: "malformed"})
			continue
		}
		cfg, p := t.Entry(m.Key, m.Value, allowSDK)
		probs = append(probs, p...)
		if cfg != nil {
			list = append(list, NamedConfig{m.Key, cfg})
		}
	}
	return list, probs
}
