package impl

import (
	"slices"
	"strings"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Questions is what the session asks now: exactly the strictly pending servers of what is loaded, in order of name (ASK-1).
func (h *Host) Questions(id port.SessionID) []event.Question {
	s := h.session(id)
	if s == nil || !h.started {
		return nil
	}
	return slices.Clone(h.view(s).queue)
}

// question shows a strictly pending server (ASK-2). Text that is the same as in prev is not made again.
func question(s *served, prev *view) event.Question {
	if prev != nil {
		if q := findQuestion(prev.queue, s.name); q != nil && q.Entry == s.entry && q.Source == scopeOf(s.from) {
			return *q
		}
	}
	return event.Question{Server: s.name, Hash: s.entry.Hash, Source: scopeOf(s.from), Entry: s.entry, Text: s.entry.Describe(true)}
}

func scopeOf(s source) event.Scope { return event.Scope(s.String()) }

func findQuestion(queue []event.Question, server string) *event.Question {
	i, found := slices.BinarySearchFunc(queue, server, func(q event.Question, name string) int { return strings.Compare(q.Server, name) })
	if !found {
		return nil
	}
	return &queue[i]
}

// refreshQueue brings the queue that observers know up to date, and asks if it now holds a question that was not in it
// (ASK-1). It reports whether it asked.
func (h *Host) refreshQueue(s *session) bool {
	if s.closed {
		return false
	}
	old, now := s.queue, h.view(s).queue
	if sameSlice(old, now) {
		return false
	}
	s.queue = now
	same := len(old) == len(now)
	for i := range now {
		q := findQuestion(old, now[i].Server)
		if q == nil || q.Hash != now[i].Hash || q.Source != now[i].Source {
			h.ask(s)
			return true
		}
	}
	if !same {
		h.updated(s, "") // a question has left: what is shown has changed (REC-10)
	}
	return false
}

func (h *Host) ask(s *session) {
	h.emit(&event.Event{Kind: event.Ask, Session: s.id, Questions: s.queue})
}
