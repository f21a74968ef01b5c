package model

import (
	"slices"
	"strconv"
	"strings"
)

// Table interns configs, fingerprints and settings maps. It belongs to one Machine; nothing in it depends on time. Values
// are remembered by identity, so that content which is loaded again costs a look-up.
type Table struct {
	launch *Launch
	tableState
}

type tableState struct {
	entries map[entryKey]*parsedEntry
	ids     map[string]ConfigID // by canonical text of Raw
	configs []*Config           // by ConfigID-1: one config with that id
	fps     map[string]FpID
	byFp    []*Config // by FpID-1
	loads   map[*Value]*parsedDoc
}

type entryKey struct {
	v    *Value
	name string
	sdk  bool
}

type parsedEntry struct {
	cfg   *Config
	probs []Problem
}

// NewTable returns an empty table for a launch, whose environment it expands from (SRC-9).
func NewTable(launch *Launch) *Table {
	return &Table{launch: launch, tableState: tableState{entries: map[entryKey]*parsedEntry{}, ids: map[string]ConfigID{},
		fps: map[string]FpID{}, loads: map[*Value]*parsedDoc{}}}
}

// Relaunch makes the table expand from another launch's environment (a restart). What it interned keeps its numbers.
func (t *Table) Relaunch(l *Launch) {
	t.launch = l
	t.entries, t.loads = map[entryKey]*parsedEntry{}, map[*Value]*parsedDoc{}
}

// ByID returns a config with an id, nil if there is none.
func (t *Table) ByID(id ConfigID) *Config {
	if id == 0 || int(id) > len(t.configs) {
		return nil
	}
	return t.configs[id-1]
}

// ByFp returns a config with a fingerprint, nil if there is none.
func (t *Table) ByFp(id FpID) *Config {
	if id == 0 || int(id) > len(t.byFp) {
		return nil
	}
	return t.byFp[id-1]
}

// Intern returns the id of an entry as a host reports it: normalised, without what the approval hash leaves out. An
// entry that no source has held gets a new id.
func (t *Table) Intern(raw *Value) ConfigID {
	if raw == nil {
		return 0
	}
	text := string(canonical(nil, raw, true))
	if id, ok := t.ids[text]; ok {
		return id
	}
	cfg, _ := t.interpret("interned", raw, true)
	if cfg == nil {
		cfg = &Config{Raw: raw, Full: raw, Text: text}
		t.register(cfg, text)
	}
	return cfg.ID
}

// FpOf is the fingerprint of a config under the present launch's environment.
func (t *Table) FpOf(id ConfigID) FpID {
	c := t.ByID(id)
	if c == nil {
		return 0
	}
	if now, _ := t.Entry("interned", c.Raw, true); now != nil {
		return now.Fp
	}
	return c.Fp
}

func (t *Table) register(c *Config, text string) {
	id, ok := t.ids[text]
	if !ok {
		t.configs = append(t.configs, c)
		id = ConfigID(len(t.configs))
		t.ids[text] = id
	}
	c.ID = id
}

func (t *Table) fingerprint(c *Config, text string) {
	id, ok := t.fps[text]
	if !ok {
		t.byFp = append(t.byFp, c)
		id = FpID(len(t.byFp))
		t.fps[text] = id
	}
	c.Fp = id
}

// canonical writes a value so that two texts are equal exactly if the values are: members sorted, and, if empty is true,
// without members that count as absent (null, {} and [], at any depth; elements of arrays stay).
func canonical(b []byte, v *Value, empty bool) []byte {
	switch v.Kind {
	case Array:
		b = append(b, '[')
		for i, e := range v.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = canonical(b, e, empty)
		}
		return append(b, ']')
	case Object:
		idx := make([]int, 0, 8)
		for i := range v.Members {
			if !empty || !vanishes(v.Members[i].Value) {
				idx = append(idx, i)
			}
		}
		slices.SortFunc(idx, func(i, j int) int { return strings.Compare(v.Members[i].Key, v.Members[j].Key) })
		b = append(b, '{')
		for n, i := range idx {
			if n > 0 {
				b = append(b, ',')
			}
			b = appendString(b, v.Members[i].Key)
			b = append(b, ':')
			b = canonical(b, v.Members[i].Value, empty)
		}
		return append(b, '}')
	}
	return v.Append(b)
}

// vanishes: null, [], and an object whose members all vanish ("absent equals empty … at any depth").
func vanishes(v *Value) bool {
	switch v.Kind {
	case Null:
		return true
	case Array:
		return len(v.Elems) == 0
	case Object:
		for i := range v.Members {
			if !vanishes(v.Members[i].Value) {
				return false
			}
		}
		return true
	}
	return false
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
