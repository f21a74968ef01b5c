package settings

import (
	"io/fs"
	"slices"
	"strings"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// source is one file and what the host holds of it.
type source struct {
	scope      event.Scope
	path       string
	watched    bool // WAT-1
	needsTrust bool // SRC-12

	active    bool // it counts and was read: it is part of Layers
	memory         // of a configuration
	approvals approvals

	// Watching.
	steps      []step
	dirty      bool // an event came since its last load
	dirtySince port.Ms
	pollStop   func() // the poll timer
	polling    bool   // the read of a poll is under way
	polledAt   port.Ms

	notices []event.Notice // that stand
	told    []string       // restart keys last told
}

// memory is what later loads of a configuration are compared with.
type memory struct {
	loaded  bool
	seen    bool      // something good, or that it was missing
	state   fileState // of the last read
	why     string    // unless good or missing
	line    int
	column  int
	doc     *config.Doc     // the last good document; WAT-3
	content *config.Content // of doc
	inForce *config.Doc     // whose restart keys are in force (D-20)
	waiting []string        // restart keys that wait, sorted
	layer   Layer
}

// approvals is what was loaded of the approvals file last; its format is the business of package approval.
type approvals struct {
	loaded bool
	data   string
	err    error
	how    string // created, modified, deleted: how the last load differed
}

// Documents that stand for what is no document.
const (
	emptyText = `{}`
	denyText  = `{"mcp":{"allowed":[]}}` // SRC-7
)

// missingContent is that of a file that is not there: it lacks no key (SRC-15).
var missingContent = &config.Content{}

// load takes in a read (SRC-6 to SRC-8). It returns how the source changed, or "" if no changed leaf is hot-reloadable
// (WAT-3 to WAT-5).
func (src *source) load(r *reading, cache *config.Cache) (change string) {
	first, before := !src.loaded, src.state
	src.loaded = true
	src.state, src.why, src.line, src.column = r.state, r.why, 0, 0
	var doc *config.Doc
	switch r.state {
	case good:
		var err error
		if doc, err = cache.Parse(r.data); err != nil {
			pe := err.(*config.ParseError)
			src.state, src.why, src.line, src.column = unparsable, pe.Msg, pe.Line, pe.Column
			if pe.Kind == "not_object" {
				src.state = notObject
			}
		}
	case missing: // counts as {}
		doc = fixed(cache, emptyText)
	}
	if doc == nil { // SRC-6: bad input is inert
		if first {
			src.startBad(cache)
		}
		return ""
	}
	src.seen = true
	content := missingContent
	switch {
	case src.state == missing:
	case src.scope == event.Project:
		content = doc.Project()
	default:
		content = doc.Settings()
	}
	prev := src.memory
	src.doc, src.content = doc, content
	src.layer = layerOf(src.scope, content, &prev.layer, first)
	if first {
		src.inForce = doc
		return ""
	}
	src.waiting = restartKeys(src.scope, src.inForce, doc)
	// An mcp that is no object may hide or show lists that count, and has no leaf of theirs (SRC-8).
	if !hotChange(src.scope, prev.doc, doc) && sameLists(&prev.layer, &src.layer) {
		return ""
	}
	switch {
	case src.state == missing:
		return "deleted"
	case before == missing:
		return "created"
	}
	return "modified"
}

func sameLists(a, b *Layer) bool {
	return a.HasAllowed == b.HasAllowed && slices.Equal(a.Allowed, b.Allowed) && slices.Equal(a.Excluded, b.Excluded)
}

// startBad is a file that is bad when nothing good was seen of it yet: settings deny everything until they are good or gone,
// since they may hold the list that would have; a .mcp.json counts as {} (SRC-7).
func (src *source) startBad(cache *config.Cache) {
	src.doc = fixed(cache, emptyText)
	src.inForce, src.content = src.doc, missingContent
	src.layer = Layer{Scope: src.scope}
	if src.scope != event.Project {
		src.doc = fixed(cache, denyText)
		src.layer.HasAllowed = true
	}
}

func fixed(cache *config.Cache, text string) *config.Doc {
	d, err := cache.Parse([]byte(text))
	if err != nil {
		panic(err)
	}
	return d
}

// layerOf is what a document contributes. A key of the wrong type keeps its last good value; at start mcp.allowed counts as
// [], the others as absent (SRC-8).
func layerOf(scope event.Scope, c *config.Content, prev *Layer, first bool) Layer {
	l := Layer{Scope: scope, Servers: c.Servers, HasAllowed: c.HasAllowed, Allowed: c.Allowed, Excluded: c.Excluded}
	if c.BadServers {
		l.Servers = prev.Servers
	}
	if c.BadExcluded {
		l.Excluded = prev.Excluded
	}
	if c.BadAllowed {
		l.HasAllowed, l.Allowed = first || prev.HasAllowed, prev.Allowed
	}
	return l
}

// takeApprovals takes in a read of the approvals file: only what differs is passed on (WAT-3).
func (s *Sources) takeApprovals(src *source, r *reading, why string) {
	src.state, src.active = r.state, true
	now := approvals{loaded: true, data: string(r.data)}
	outcome := "ok"
	switch r.state {
	case missing:
		now.err, outcome = fs.ErrNotExist, "missing"
	case unreadable:
		now.err, outcome = &fs.PathError{Op: "read", Path: src.path, Err: unreadableError(r.why)}, "kept"
	}
	s.o.Emit(&event.Event{Kind: event.Load, Scope: src.scope, Outcome: outcome, Why: why})
	was := src.approvals
	if was.loaded && was.data == now.data && errorText(was.err) == errorText(now.err) {
		return
	}
	switch {
	case was.err == fs.ErrNotExist && now.err == nil:
		now.how = "created"
	case now.err == fs.ErrNotExist:
		now.how = "deleted"
	default:
		now.how = "modified"
	}
	src.approvals = now
	s.o.OnApprovals(r.data, now.err)
}

type unreadableError string

func (e unreadableError) Error() string { return string(e) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// forget takes a source that no longer counts out of everything (SRC-12).
func (s *Sources) forget(src *source) {
	src.stopPoll()
	s.setNotices(src, nil)
	src.memory, src.active, src.polling, src.dirty, src.steps, src.told = memory{}, false, false, false, nil, nil
	s.layers = nil
}

// tellRestart announces which restart keys wait, when that changes (WAT-4).
func (s *Sources) tellRestart(src *source) {
	if slices.Equal(src.told, src.waiting) {
		return
	}
	src.told = src.waiting
	s.o.Emit(&event.Event{Kind: event.RestartPending, Scope: src.scope, Keys: src.waiting})
}

// restartNotice names the keys, sorted.
func restartNotice(src *source) event.Notice {
	return event.Notice{File: string(src.scope), Key: strings.Join(src.waiting, ","), Kind: "restart",
		Text: "a restart is needed for what changed in " + strings.Join(src.waiting, ", ")}
}
