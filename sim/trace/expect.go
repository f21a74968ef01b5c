package trace

import (
	"sort"
	"strings"

	"mcpsim/model"
)

// readExpect reads {"s1":{…},"host":{…}}.
func readExpect(n node) *Expect {
	e := &Expect{}
	for _, m := range n.members("expect") {
		if m.key == "host" {
			e.Host = readHostExpect(m.val)
			continue
		}
		e.Sessions = append(e.Sessions, readSessionExpect(m.key, m.val))
	}
	sort.SliceStable(e.Sessions, func(i, j int) bool { return e.Sessions[i].ID < e.Sessions[j].ID })
	return e
}

func readSessionExpect(id string, n node) SessionExpect {
	s := SessionExpect{ID: id}
	for _, m := range n.members("what a session is expected to show") {
		v := m.val
		switch m.key {
		case "servers":
			s.Servers = readStates(v)
		case "tools":
			s.Tools = readLists(v, m.key)
		case "prompts":
			s.Prompts = readLists(v, m.key)
		case "resources":
			s.Resources = readLists(v, m.key)
		case "ask":
			s.Ask = readAsk(v)
		case "notices":
			s.Notices = readNotices(v)
		case "shows":
			s.Shows = readShows(v)
		case "hint":
			s.Hint = readBool(v, "hint")
		case "calls":
			for _, c := range sorted(v.members("calls")) {
				s.Calls = append(s.Calls, NamedString{c.key, readOutcome(c.val)})
			}
		default:
			m.at.fail("an expectation of a session has no key %q; it takes servers, tools, prompts, resources, ask, notices, shows, hint, calls", m.key)
		}
	}
	return s
}

func sorted(ms []member) []member {
	sort.SliceStable(ms, func(i, j int) bool { return ms[i].key < ms[j].key })
	return ms
}

func readStates(n node) []NamedState {
	list := []NamedState{}
	for _, m := range sorted(n.members("servers")) {
		var words []string
		if m.val.kind() == '[' {
			words = m.val.strs("a set of states")
		} else {
			words = strings.Split(m.val.str("a state"), "|")
		}
		var set model.State
		for _, w := range words {
			s, ok := model.ParseState(strings.TrimSpace(w))
			if !ok {
				m.val.fail("there is no state %q; the states are %s", w, model.State(1<<32-1))
			}
			set |= s
		}
		list = append(list, NamedState{m.key, set})
	}
	return list
}

func readLists(n node, what string) *NamedLists {
	l := &NamedLists{}
	for _, m := range sorted(n.members(what)) {
		l.Lists = append(l.Lists, NamedList{m.key, m.val.strs(what)})
	}
	return l
}

func readAsk(n node) *[]AskExpect {
	list := []AskExpect{}
	for _, e := range n.elems("ask") {
		var a AskExpect
		if e.kind() == '"' {
			a.Server = e.str("a server")
			list = append(list, a)
			continue
		}
		for _, m := range e.members("a question") {
			switch m.key {
			case "server":
				a.Server = m.val.str("server")
			case "config":
				m.val.want('{', "config")
				a.Config = m.val.value()
			case "source":
				a.Source = m.val.word("source", "project", "workspace")
			default:
				m.at.fail("a question has no key %q; it takes server, config, source", m.key)
			}
		}
		list = append(list, a)
	}
	return &list
}

func readNotices(n node) *[]model.Notice {
	list := []model.Notice{}
	for _, e := range n.elems("notices") {
		var p model.Notice
		for _, m := range e.members("a notice's pattern") {
			switch m.key {
			case "file":
				p.File = m.val.str("file")
			case "server":
				p.Server = m.val.str("server")
			case "key":
				p.Key = m.val.str("key")
			case "kind":
				p.Kind = m.val.str("kind")
			default:
				m.at.fail("a notice's pattern has no key %q; it takes file, server, key, kind", m.key)
			}
		}
		list = append(list, p)
	}
	return &list
}

func readShows(n node) []ShowsExpect {
	list := []ShowsExpect{}
	for _, m := range sorted(n.members("shows")) {
		s := ShowsExpect{Name: m.key}
		for _, f := range m.val.members("what is shown of a server") {
			switch f.key {
			case "text":
				s.Text = readText(f.val, "text")
			case "error":
				s.Error = readError(f.val)
			case "file":
				s.File = readText(f.val, "file")
			case "shadows":
				l := f.val.strs("shadows")
				s.Shadows = &l
			default:
				f.at.fail("of a server text, error, file and shadows are shown, not %q", f.key)
			}
		}
		list = append(list, s)
	}
	return list
}

// readText reads a string; null means that there is none.
func readText(n node, what string) *string {
	s := ""
	if !n.null() {
		s = n.str(what)
	}
	return &s
}

// readError reads a class or a text; true and false say that there is some error, or none.
func readError(n node) *string {
	text := "some"
	switch n.kind() {
	case 't':
	case 'f':
		text = ""
	default:
		return readText(n, "error")
	}
	return &text
}

// readOutcome reads an outcome of CALL-4, with or without a blank after the colon.
func readOutcome(n node) string {
	s := outcome(n.str("a call's outcome"))
	words := []string{"ok", "running", "refused:filtered", "refused:failed", "refused:dialing", "refused:no_tool", "refused:removed",
		"refused:unknown", "refused:disabled", "refused:not_allowed", "refused:excluded", "refused:pending_approval",
		"refused:untrusted", "error:retired", "error:lost", "error:timeout", "error:session_closed"}
	if !contains(words, s) {
		n.fail("there is no outcome %q; the outcomes are %s", s, strings.Join(words, ", "))
	}
	return s
}

func outcome(s string) string { return strings.ReplaceAll(s, ": ", ":") }

func readHostExpect(n node) *HostExpect {
	h := &HostExpect{}
	for _, m := range n.members("what is expected of the host") {
		switch m.key {
		case "pool":
			h.Pool = readPool(m.val)
		case "records":
			r := readRecords(m.val, false)
			h.Records = &r
		case "dials":
			h.Dials = readCounts(m.val, "dials")
		case "processes":
			h.Processes = readCounts(m.val, "processes")
		default:
			m.at.fail("an expectation of the host has no key %q; it takes pool, records, dials, processes", m.key)
		}
	}
	return h
}

func readPool(n node) *[]PoolExpect {
	list := []PoolExpect{}
	for _, e := range n.elems("pool") {
		var p PoolExpect
		for _, m := range e.members("a shared connection") {
			switch m.key {
			case "server":
				p.Server = m.val.str("server")
			case "config":
				m.val.want('{', "config")
				p.Config = m.val.value()
			case "sessions":
				p.Sessions = m.val.strs("sessions")
			default:
				m.at.fail("a shared connection has no key %q; it takes server, config, sessions", m.key)
			}
		}
		list = append(list, p)
	}
	return &list
}

func readCounts(n node, what string) []NamedCount {
	list := []NamedCount{}
	for _, m := range sorted(n.members(what)) {
		list = append(list, NamedCount{m.key, int(m.val.whole("a count"))})
	}
	return list
}
