package impl

import (
	"mcpsim/impl/admission"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/settings"
)

// source says where an entry comes from, lowest first (SRC-2).
type source uint8

const (
	fromExtension source = iota
	fromDefaults
	fromUser
	fromProject
	fromWorkspace
	fromSystem
	fromLaunch
	fromSession
	fromRuntime
)

var sourceNames = [...]string{"extension", "defaults", "user", "project", "workspace", "system", "launch", "session", "runtime"}

func (s source) String() string { return sourceNames[s] }

// gated: checked in and shareable, so untrusted until approved (spec section 1).
func (s source) gated() bool { return s == fromProject || s == fromWorkspace }

func sourceOf(s event.Scope) source {
	switch s {
	case event.Defaults:
		return fromDefaults
	case event.User:
		return fromUser
	case event.Project:
		return fromProject
	case event.Workspace:
		return fromWorkspace
	}
	return fromSystem
}

// served is one server of a map: the winning entry and what it shadows.
type served struct {
	name     string
	entry    *config.Entry
	from     source
	shadows  []source // highest first
	verdict  admission.Verdict
	approval approval.Status // gated servers only
}

// base is everything that all sessions share: it is built once per change of what is loaded, decided or given.
type base struct {
	layers    []settings.Layer
	policy    admission.Policy
	excluded  []string
	allowed   [][]string
	allowedBy []string // which layer defines each list of allowed
	settings  []served // SRC-2 without extensions, session and runtime servers
	common    view     // of a session that adds no servers of its own
}

// ranked is the entries of one source, sorted by name.
type ranked struct {
	from    source
	entries []*config.Entry
}

// fresh returns the base as of what is loaded now. It is cheap while nothing has changed.
func (h *Host) fresh() *base {
	layers := h.src.Layers()
	if h.base != nil && !h.stale && sameLayers(h.base.layers, layers) {
		return h.base
	}
	prev := h.base
	b := &base{layers: layers}
	if h.started {
		h.noteVariables(prev, b)
	}
	b.policy = admission.Policy{Flag: h.flag, ApprovalsOff: h.o.ApprovalsOff, Trusted: h.trusted}
	h.assembleLists(b)
	b.settings = merge(append(layerEntries(layers), ranked{fromLaunch, h.launch}))
	b.common = view{base: b, settings: b.settings, servers: b.settings}
	if ext := h.extensionMap(); len(ext) > 0 {
		b.common.servers = overlay(ext, b.settings)
	}
	h.base, h.stale = b, false
	var old *view
	if prev != nil {
		old = &prev.common
	}
	h.judge(&b.common, old)
	h.forgetExpanded()
	return b
}

func sameLayers(a, b []settings.Layer) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := &a[i], &b[i]
		if x.Scope != y.Scope || x.HasAllowed != y.HasAllowed || !sameSlice(x.Servers, y.Servers) ||
			!sameSlice(x.Allowed, y.Allowed) || !sameSlice(x.Excluded, y.Excluded) {
			return false
		}
	}
	return true
}

// sameSlice reports whether two immutable slices are the same memory: equal without looking.
func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

func layerEntries(layers []settings.Layer) []ranked {
	// SRC-2 ranks .mcp.json between user and workspace settings, which is the order of the scopes.
	out := make([]ranked, 0, len(layers)+1)
	for _, l := range layers {
		out = append(out, ranked{sourceOf(l.Scope), l.Servers})
	}
	return out
}

// extensionMap is what the extensions give together; of two that give one name the first, by its own name, keeps it. None
// count in a bare launch (SRC-13).
func (h *Host) extensionMap() []served {
	if h.o.Bare {
		return nil
	}
	var out []served
	for _, x := range h.extensions {
		next := merge([]ranked{{fromExtension, x.entries}})
		if len(out) > 0 {
			next = overlay(next, out)
			for i := range next {
				next[i].shadows = nil // an extension shadows none of its kind
			}
		}
		out = next
	}
	return out
}

// merge lays sources over each other, lowest first: a higher entry replaces a lower one whole (SRC-1, SRC-2).
func merge(sources []ranked) []served {
	n, last := 0, -1
	for i, s := range sources {
		if len(s.entries) > 0 {
			n, last = n+len(s.entries), i
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]served, 0, n)
	if n == len(sources[last].entries) { // one source holds everything
		for _, e := range sources[last].entries {
			out = append(out, served{name: e.Name, entry: e, from: sources[last].from})
		}
		return out
	}
	at := make([]int, len(sources))
	for {
		best := -1
		for i := len(sources) - 1; i >= 0; i-- {
			if at[i] < len(sources[i].entries) && (best < 0 || sources[i].entries[at[i]].Name < sources[best].entries[at[best]].Name) {
				best = i
			}
		}
		if best < 0 {
			return out
		}
		e := sources[best].entries[at[best]]
		s := served{name: e.Name, entry: e, from: sources[best].from}
		at[best]++
		for i := best - 1; i >= 0; i-- {
			if at[i] < len(sources[i].entries) && sources[i].entries[at[i]].Name == e.Name {
				s.shadows = append(s.shadows, sources[i].from)
				at[i]++
			}
		}
		out = append(out, s)
	}
}

// overlay lays one map over another.
func overlay(low, high []served) []served {
	if len(low) == 0 {
		return high
	}
	if len(high) == 0 {
		return low
	}
	out := make([]served, 0, len(low)+len(high))
	i, j := 0, 0
	for i < len(low) || j < len(high) {
		switch {
		case j == len(high) || i < len(low) && low[i].name < high[j].name:
			out = append(out, low[i])
			i++
		case i == len(low) || high[j].name < low[i].name:
			out = append(out, high[j])
			j++
		default:
			s := high[j]
			s.shadows = append(append(append([]source(nil), s.shadows...), low[i].from), low[i].shadows...)
			out = append(out, s)
			i, j = i+1, j+1
		}
	}
	return out
}

// expand returns the entry as it is dialled (SRC-9). The environment never changes, so each entry is expanded once.
func (h *Host) expand(e *config.Entry) *config.Expanded {
	x, ok := h.expanded[e]
	if !ok {
		x = e.Expand(h.o.Env, h.root)
		h.expanded[e] = x
	}
	return x
}

// forgetExpanded drops the expansions of entries that no longer count, once they are many: memory stays flat however
// often files change.
func (h *Host) forgetExpanded() {
	if len(h.expanded) > 2*len(h.base.common.servers)+1000 {
		clear(h.expanded)
	}
}
