package impl

import (
	"cmp"
	"slices"
	"strings"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// board holds the standing notices. One identity (file, server, key, kind, session) stands once, however many give it:
// each giver owns a set, and the notice is cleared when the last set that holds it lets go.
type board struct {
	sets     map[string][]event.Notice
	standing map[noticeID]*standing
}

type noticeID struct {
	file, server, key, kind string
	session                 port.SessionID
}

type standing struct {
	notice event.Notice
	givers int
}

func idOf(n *event.Notice) noticeID { return noticeID{n.File, n.Server, n.Key, n.Kind, n.Session} }

// give replaces what a giver says. Order in notices is the order of the events.
func (h *Host) give(giver string, notices []event.Notice) {
	old := h.board.sets[giver]
	if len(old) == 0 && len(notices) == 0 {
		return
	}
	kept := map[noticeID]bool{}
	var set []event.Notice
	for _, n := range notices {
		if id := idOf(&n); !kept[id] {
			kept[id] = true
			set = append(set, n)
		}
	}
	had := map[noticeID]bool{}
	for i := range old {
		id := idOf(&old[i])
		had[id] = true
		if !kept[id] {
			h.clearNotice(&old[i])
		}
	}
	for i := range set {
		if had[idOf(&set[i])] {
			h.board.standing[idOf(&set[i])].notice = set[i] // the same notice, perhaps at another line
			continue
		}
		h.raiseNotice(set[i])
	}
	if len(set) == 0 {
		delete(h.board.sets, giver)
	} else {
		h.board.sets[giver] = set
	}
}

func (h *Host) raiseNotice(n event.Notice) {
	id := idOf(&n)
	if st := h.board.standing[id]; st != nil {
		st.givers++
		return
	}
	h.board.standing[id] = &standing{notice: n, givers: 1}
	h.emit(&event.Event{Kind: event.NoticeRaised, Session: n.Session, Server: n.Server, Notice: &n})
}

func (h *Host) clearNotice(n *event.Notice) {
	id := idOf(n)
	st := h.board.standing[id]
	if st == nil {
		return
	}
	if st.givers--; st.givers > 0 {
		return
	}
	delete(h.board.standing, id)
	gone := st.notice
	h.emit(&event.Event{Kind: event.NoticeCleared, Session: n.Session, Server: n.Server, Notice: &gone})
}

// onNotice takes what the sources and the approvals say; each identity is theirs alone.
func (h *Host) onNotice(n event.Notice, raised bool) {
	giver := "source\x00" + n.File + "\x00" + n.Server + "\x00" + n.Key + "\x00" + n.Kind
	if raised {
		h.give(giver, []event.Notice{n})
	} else {
		h.give(giver, nil)
	}
}

// Notices returns what stands for a session, host-wide notices included, sorted by file, server, key and kind.
func (h *Host) notices(s port.SessionID) []event.Notice {
	var out []event.Notice
	for id, st := range h.board.standing { // sorted below
		if id.session == "" || id.session == s {
			out = append(out, st.notice)
		}
	}
	slices.SortFunc(out, func(a, b event.Notice) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Session, b.Session))
	})
	return out
}

// fromProblems turns what a parser found into notices of a source that is no file.
func fromProblems(file string, s port.SessionID, problems []config.Problem) []event.Notice {
	var out []event.Notice
	for _, p := range problems {
		out = append(out, event.Notice{File: file, Server: p.Server, Key: p.Key, Kind: p.Kind, Session: s, Text: p.Text, Line: p.Line, Column: p.Column})
	}
	return out
}

// clearSessionNotices lets go of everything that concerned a session that has closed.
func (h *Host) clearSessionNotices(id port.SessionID) {
	prefix := sessionGiver(id, "")
	var givers []string
	for g := range h.board.sets { // sorted below
		if strings.HasPrefix(g, prefix) {
			givers = append(givers, g)
		}
	}
	slices.Sort(givers)
	for _, g := range givers {
		h.give(g, nil)
	}
}
