package settings

import (
	"mcpsim/impl/event"
)

// tellNotices brings the notices about a source up to date: its state as a file, one at a time (SRC-6); what is wrong in the
// document that memory holds; what waits for a restart.
func (s *Sources) tellNotices(src *source) {
	file := string(src.scope)
	var out []event.Notice
	var kind string
	switch src.state {
	case unreadable:
		kind = "unreadable"
	case unparsable:
		kind = "unparsable"
	case notObject:
		kind = "not_object"
	}
	if kind != "" {
		out = append(out, event.Notice{File: file, Kind: kind, Line: src.line, Column: src.column,
			Text: src.path + ": " + src.why + "; " + src.instead()})
	}
	for _, p := range src.content.Problems {
		out = append(out, event.Notice{File: file, Server: p.Server, Key: p.Key, Kind: p.Kind, Text: p.Text, Line: p.Line, Column: p.Column})
	}
	if len(src.waiting) > 0 {
		out = append(out, restartNotice(src))
	}
	s.setNotices(src, out)
}

// instead says what is in force while a file is bad.
func (src *source) instead() string {
	switch {
	case src.seen:
		return "what it held last stays in force"
	case src.scope == event.Project:
		return "until it is good it counts as {}"
	}
	return "until it is good or gone no server is allowed" // SRC-7
}

type noticeID struct{ server, key, kind string }

func idOf(n *event.Notice) noticeID { return noticeID{n.Server, n.Key, n.Kind} }

// setNotices replaces what stands about a source. One identity stands once; the first of several says where.
func (s *Sources) setNotices(src *source, list []event.Notice) {
	if len(list) == 0 && len(src.notices) == 0 {
		return
	}
	now := make(map[noticeID]bool, len(list))
	var kept []event.Notice
	for i := range list {
		if id := idOf(&list[i]); !now[id] {
			now[id] = true
			kept = append(kept, list[i])
		}
	}
	before := make(map[noticeID]event.Notice, len(src.notices))
	for _, n := range src.notices {
		before[idOf(&n)] = n
		if !now[idOf(&n)] {
			s.o.OnNotice(n, false)
		}
	}
	for _, n := range kept {
		if old, stood := before[idOf(&n)]; !stood || old != n {
			s.o.OnNotice(n, true)
		}
	}
	src.notices = kept
}
