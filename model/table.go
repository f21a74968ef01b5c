package model

// Table interns configs, fingerprints and documents. It belongs to one run; nothing in it depends on time. A Value is
// remembered by identity and an entry also by content, so that what is loaded again costs a look-up.
type Table struct {
	launch *Launch
	tableState
}

type tableState struct {
	seen    map[entryID]*interpreted   // entries by identity
	entries map[entryText]*interpreted // and by content
	docs    map[docID]*parsedDoc
	epoch   int // counts launches: what was expanded under another environment is expanded again

	ids     map[string]ConfigID // by Config.Text
	configs []*Config           // by ConfigID-1: one config with that id
	fps     map[string]FpID
	byFp    []*Config // by FpID-1
	fulls   map[string]uint32
}

// interpreted is what one entry of a map means: a Config, or nothing if it is skipped, and what is wrong with it.
type interpreted struct {
	config   *Config
	problems []Problem
}

type entryID struct {
	v        *Value
	name     string
	allowSDK bool
}

type entryText struct {
	text, name string
	allowSDK   bool
}

type docID struct {
	v       *Value
	project bool
}

// NewTable returns an empty table for a launch, whose environment it expands from (SRC-9).
func NewTable(launch *Launch) *Table {
	t := &Table{}
	t.ids, t.fps, t.fulls = map[string]ConfigID{}, map[string]FpID{}, map[string]uint32{}
	t.Relaunch(launch)
	return t
}

// Relaunch makes the table expand from another launch's environment (a restart). What it interned keeps its numbers.
func (t *Table) Relaunch(l *Launch) {
	t.launch = l
	t.epoch++
	t.seen, t.entries, t.docs = map[entryID]*interpreted{}, map[entryText]*interpreted{}, map[docID]*parsedDoc{}
}

// ByID returns a config with an id, expanded from the present launch's environment; nil if there is none. The server's name
// is no part of an id, so CommandLine of an in-process one is another's, perhaps.
func (t *Table) ByID(id ConfigID) *Config {
	if id == 0 || int(id) > len(t.configs) {
		return nil
	}
	c := t.configs[id-1]
	if c.epoch != t.epoch && c.Transport != NoTransport {
		if now := t.interpret("interned", c.Raw, true).config; now != nil {
			return now
		}
	}
	return c
}

// ByFp returns a config with a fingerprint, nil if there is none.
func (t *Table) ByFp(id FpID) *Config {
	if id == 0 || int(id) > len(t.byFp) {
		return nil
	}
	return t.byFp[id-1]
}

// FpOf is the fingerprint of a config under the present launch's environment; 0 if there is none.
func (t *Table) FpOf(id ConfigID) FpID {
	if c := t.ByID(id); c != nil {
		return c.Fp
	}
	return 0
}

// Intern returns the id of an entry as a host reports it: normalised, without what the approval hash leaves out. What is no
// valid entry gets an id too, which no source's entry ever has. 0 for nil.
func (t *Table) Intern(raw *Value) ConfigID {
	if raw == nil {
		return 0
	}
	text := string(appendCanonical(nil, raw, true))
	if id, ok := t.ids[text]; ok {
		return id
	}
	if c, _ := t.Entry("interned", raw, true); c != nil && c.Text == text {
		return c.ID
	}
	c := &Config{Raw: raw, Full: raw, Text: text}
	t.number(c)
	return c.ID
}

// number gives a config its id.
func (t *Table) number(c *Config) {
	c.epoch = t.epoch
	id, ok := t.ids[c.Text]
	if !ok {
		t.configs = append(t.configs, c)
		id = ConfigID(len(t.configs))
		t.ids[c.Text] = id
	} else if t.configs[id-1].epoch != t.epoch {
		t.configs[id-1] = c
	}
	c.ID = id
}

// fingerprint gives a config the number of its fingerprint.
func (t *Table) fingerprint(c *Config, text string) {
	id, ok := t.fps[text]
	if !ok {
		t.byFp = append(t.byFp, c)
		id = FpID(len(t.byFp))
		t.fps[text] = id
	}
	c.Fp = id
}

// full numbers what GATE-2 compares: equal exactly if two entries are.
func (t *Table) full(v *Value) uint32 {
	text := string(appendCanonical(nil, v, true))
	id, ok := t.fulls[text]
	if !ok {
		id = uint32(len(t.fulls) + 1)
		t.fulls[text] = id
	}
	return id
}
