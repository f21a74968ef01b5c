package impl

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Errors of requests that name a session.
var (
	ErrNoSession     = errors.New("no such session is open")
	ErrSessionOpen   = errors.New("the session is open already")
	ErrSessionClosed = errors.New("the session has closed")
)

// session is one conversation (spec section 1). A session that closes and opens again under its id is another one.
type session struct {
	id     port.SessionID
	closed bool

	// Its own part of the map.
	own, runtime []*config.Entry // sorted by name
	v            *view
	stale        bool     // own or runtime changed since v was built
	seen         []served // the merged map at the last look (ADM-7)
	seenTrusted  bool
	removed      map[string]bool

	// Passes.
	applied   applied // D-4: set by success only
	comparing bool
	again     bool // a pass was asked for while one compared
	callers   []func(error)
	passes    []*pass // waiting for dials
	retry     retry

	links    []*link // servers it has or tried, sorted by name
	registry registry
	queue    []event.Question // as observers know it
	calls    []*toolCall      // running, in order of their start
}

// OpenSession opens a session with servers of its own (a map of entries, or nil). Its first pass runs at once, or as soon
// as the host is started and initialised. The error says that id is open already, the host is down, or the text is no map
// of entries; in the last case the session is open without servers.
func (h *Host) OpenSession(id port.SessionID, servers []byte) error {
	if h.down {
		return ErrDown
	}
	i, found := h.searchSession(id)
	if found {
		return fmt.Errorf("%q: %w", id, ErrSessionOpen)
	}
	s := &session{id: id, seenTrusted: h.trusted}
	s.registry.init()
	h.sessions = slices.Insert(h.sessions, i, s)
	h.emit(&event.Event{Kind: event.SessionOpened, Session: id})
	var err error
	if len(servers) > 0 {
		var notices []event.Notice
		if _, _, err = h.cache.Entries(servers); err == nil {
			s.own, notices = h.parseEntries("session", id, servers)
		}
		h.give(sessionGiver(id, "own"), notices)
	}
	if h.started {
		h.refreshQueue(s)
		h.requestPass(s, nil) // GATE-6: it starts from what is loaded
	}
	return err
}

// CloseSession ends a session: its calls, its registry, its hold on every connection. The last holder's leaving starts
// the drain of a shared connection (POOL-3) and ends any other.
func (h *Host) CloseSession(id port.SessionID) {
	i, found := h.searchSession(id)
	if !found {
		return
	}
	s := h.sessions[i]
	h.sessions = slices.Delete(h.sessions, i, i+1)
	h.endSession(s, ErrSessionClosed)
}

func (h *Host) endSession(s *session, why error) {
	s.closed = true
	s.retry.stop()
	h.endCalls(s, nil, outcomeClosed)
	for _, l := range slices.Clone(s.links) {
		if l.conn != nil {
			h.release(s, l, "session_closed")
		}
	}
	s.links = nil
	invariant(s.registry.empty(), "INV-8", "session %s closed with a registry", s.id)
	h.clearSessionNotices(s.id)
	h.emit(&event.Event{Kind: event.SessionClosed, Session: s.id})
	callers := s.callers
	s.callers, s.again = nil, false
	for _, p := range s.passes {
		callers = append(callers, p.callers...)
	}
	s.passes = nil
	for _, f := range callers {
		f(why)
	}
}

// AddRuntime adds or replaces a runtime server of a session (CFG-5); entry is one JSON value. done runs when the pass that
// follows has ended; a malformed entry counts as absent, with a notice (SRC-8).
func (h *Host) AddRuntime(id port.SessionID, name string, entry []byte, done func(error)) {
	s := h.session(id)
	if s == nil {
		call(done, h.noSession(id))
		return
	}
	if !json.Valid(entry) {
		call(done, fmt.Errorf("runtime server %q: expected one JSON value", name))
		return
	}
	key, err := json.Marshal(name)
	if err != nil {
		call(done, err)
		return
	}
	text := append(append(append([]byte(`{"mcpServers":{`), key...), ':'), append(slices.Clone(entry), '}', '}')...)
	entries, notices := h.parseEntries("runtime", id, text)
	s.dropRuntime(name)
	for _, e := range entries {
		i, _ := slices.BinarySearchFunc(s.runtime, e.Name, byEntryName)
		s.runtime = slices.Insert(s.runtime, i, e)
	}
	h.give(sessionGiver(id, "runtime\x00"+name), notices)
	h.runtimeChanged(s, done)
}

// RemoveRuntime takes a runtime server of a session away; done as for AddRuntime.
func (h *Host) RemoveRuntime(id port.SessionID, name string, done func(error)) {
	s := h.session(id)
	if s == nil {
		call(done, h.noSession(id))
		return
	}
	s.dropRuntime(name)
	h.give(sessionGiver(id, "runtime\x00"+name), nil)
	h.runtimeChanged(s, done)
}

func (h *Host) runtimeChanged(s *session, done func(error)) {
	s.stale = true
	if h.started {
		h.refreshQueue(s)
	}
	h.requestPass(s, done)
}

func (s *session) dropRuntime(name string) {
	s.runtime = slices.Clone(s.runtime) // views share the old one
	if i, found := slices.BinarySearchFunc(s.runtime, name, byEntryName); found {
		s.runtime = slices.Delete(s.runtime, i, i+1)
	}
}

func byEntryName(e *config.Entry, name string) int { return strings.Compare(e.Name, name) }

// Reload loads every source and then runs a pass of the session, whatever was found, so that failed servers are tried
// again (CFG-3). done runs when that pass has ended.
func (h *Host) Reload(id port.SessionID, done func(error)) {
	s := h.session(id)
	if s == nil {
		call(done, h.noSession(id))
		return
	}
	h.whenStarted(func() {
		if h.down {
			call(done, ErrDown)
			return
		}
		h.src.LoadAll("reload", func() {
			if s.closed {
				call(done, ErrSessionClosed)
				return
			}
			h.requestPass(s, done)
		})
	})
}

func call(done func(error), err error) {
	if done != nil {
		done(err)
	}
}

func (h *Host) noSession(id port.SessionID) error {
	if h.down {
		return ErrDown
	}
	return fmt.Errorf("%q: %w", id, ErrNoSession)
}

func (h *Host) searchSession(id port.SessionID) (int, bool) {
	return slices.BinarySearchFunc(h.sessions, id, func(s *session, id port.SessionID) int {
		return strings.Compare(string(s.id), string(id))
	})
}

func (h *Host) session(id port.SessionID) *session {
	if i, found := h.searchSession(id); found {
		return h.sessions[i]
	}
	return nil
}

// Sessions lists the open sessions in order of id.
func (h *Host) Sessions() []port.SessionID {
	out := make([]port.SessionID, len(h.sessions))
	for i, s := range h.sessions {
		out[i] = s.id
	}
	return out
}

func sessionGiver(id port.SessionID, what string) string {
	return "session\x00" + string(id) + "\x00" + what
}
