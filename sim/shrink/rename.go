package shrink

import (
	"strconv"
	"strings"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// rename gives servers, behaviours and sessions the names that a reader expects: a, b, …; srv-a, srv-b, …; s1, s2, …, in
// order of appearance. Expectations name them too, so a trace that has some keeps its names.
func (s *shrinker) rename() {
	for i := range s.best.Steps {
		if s.best.Steps[i].Do == trace.ExpectStep {
			return
		}
	}
	if m := canonical(s.sessionIDs(), func(i int) string { return "s" + strconv.Itoa(i+1) }); m != nil {
		c := s.copy()
		renameSessions(c, m)
		if l := &c.Header.Launch; len(l.Sessions) == 1 && l.Sessions[0] == "s1" {
			l.Sessions = nil
		}
		s.try(c)
	}
	if m := canonical(s.keys(), func(i int) string { return "srv-" + letter(i) }); m != nil {
		c := s.copy()
		renameKeys(c, m)
		s.try(c)
	}
	names := s.serverNames()
	if m := canonical(names, letter); m != nil && !s.inText(names) {
		c := s.copy()
		renameServers(c, m)
		s.try(c)
	}
}

func letter(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return "n" + strconv.Itoa(i)
}

// canonical maps each name to the i-th of the expected ones; nil if all have it already.
func canonical(names []string, want func(int) string) map[string]string {
	m, changes := map[string]string{}, false
	for i, n := range names {
		m[n] = want(i)
		changes = changes || n != want(i)
	}
	if !changes {
		return nil
	}
	return m
}

// names collects names in order of appearance.
type names struct {
	list []string
	has  map[string]bool
}

func (n *names) add(name string) {
	if name == "" || n.has[name] {
		return
	}
	if n.has == nil {
		n.has = map[string]bool{}
	}
	n.has[name] = true
	n.list = append(n.list, name)
}

func (s *shrinker) sessionIDs() []string {
	var n names
	for _, id := range s.best.Header.Launch.SessionNames() {
		n.add(id)
	}
	for i := range s.best.Steps {
		n.add(s.best.Steps[i].Session)
		if l := s.best.Steps[i].Launch; l != nil {
			for _, id := range l.Sessions {
				n.add(id)
			}
		}
	}
	return n.list
}

func renameSessions(c *trace.Trace, m map[string]string) {
	list := func(l *trace.Launch) {
		if l.Sessions == nil {
			if to, ok := m["s1"]; ok && to != "s1" { // the default session
				l.Sessions = []string{to}
			}
			return
		}
		out := make([]string, len(l.Sessions))
		for i, id := range l.Sessions {
			out[i] = or(m, id)
		}
		l.Sessions = out
	}
	list(&c.Header.Launch)
	for i := range c.Steps {
		st := &c.Steps[i]
		st.Session = or(m, st.Session)
		if st.Launch != nil && st.Launch.Sessions != nil {
			l := *st.Launch
			list(&l)
			st.Launch = &l
		}
	}
	for i := range c.Header.Faults {
		c.Header.Faults[i].Session = or(m, c.Header.Faults[i].Session)
	}
}

func or(m map[string]string, name string) string {
	if to, ok := m[name]; ok {
		return to
	}
	return name
}

// keys are the first words of the behaviours' keys.
func (s *shrinker) keys() []string {
	var n names
	for i := range s.best.Header.Servers {
		word, _, _ := strings.Cut(s.best.Header.Servers[i].Key, " ")
		if !strings.HasPrefix(word, "sdk:") {
			n.add(word)
		}
	}
	return n.list
}

// renameKeys replaces whole words, in keys, commands, URLs, environments and texts alike.
func renameKeys(c *trace.Trace, m map[string]string) {
	for i := range c.Header.Servers {
		c.Header.Servers[i].Key = words(c.Header.Servers[i].Key, m)
	}
	step := func(st *trace.Step) {
		if st.Do == trace.Server || st.Do == trace.Crash {
			st.Server = words(st.Server, m)
		}
		st.Text = words(st.Text, m)
	}
	for i := range c.Steps {
		step(&c.Steps[i])
	}
	for i := range c.Header.Files {
		step(&c.Header.Files[i].Write)
	}
	visit(c, func(p **model.Value, _ *trace.Step) { *p = wordsIn(*p, m) })
}

// words replaces words; a word is a run of letters, digits, hyphens and underscores.
func words(s string, m map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && (s[j] == '-' || s[j] == '_' || s[j] >= '0' && s[j] <= '9' || s[j]|32 >= 'a' && s[j]|32 <= 'z') {
			j++
		}
		if j == i {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(or(m, s[i:j]))
		i = j
	}
	return b.String()
}

func wordsIn(v *model.Value, m map[string]string) *model.Value {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case model.String:
		if t := words(v.Text, m); t != v.Text {
			c := *v
			c.Text = t
			return &c
		}
	case model.Array:
		c := *v
		c.Elems = make([]*model.Value, len(v.Elems))
		for i, e := range v.Elems {
			c.Elems[i] = wordsIn(e, m)
		}
		return &c
	case model.Object:
		c := *v
		c.Members = make([]model.Member, len(v.Members))
		for i, e := range v.Members {
			c.Members[i] = model.Member{Key: e.Key, Value: wordsIn(e.Value, m)}
		}
		return &c
	}
	return v
}

// maps calls f with every map of servers of a trace, and lists with every list of names.
func maps(v *model.Value, isMap bool, f func(*model.Value) *model.Value, list func(*model.Value) *model.Value) *model.Value {
	if v == nil || v.Kind != model.Object {
		return v
	}
	out := *v
	out.Members = append([]model.Member(nil), v.Members...)
	for i := range out.Members {
		m := &out.Members[i]
		switch {
		case m.Key == "mcpServers" && m.Value.Kind == model.Object:
			m.Value = f(m.Value)
			isMap = false
		case m.Key == "mcp" && !isMap:
			m.Value = maps(m.Value, false, f, list)
		case (m.Key == "allowed" || m.Key == "excluded") && m.Value.Kind == model.Array:
			m.Value = list(m.Value)
		}
	}
	if isMap {
		return f(&out)
	}
	return &out
}

// serversIn applies f to every map of servers of a trace, and list to every list of names.
func serversIn(c *trace.Trace, f, list func(*model.Value) *model.Value) {
	visit(c, func(p **model.Value, st *trace.Step) {
		isMap := p == &c.Header.Launch.McpConfig
		if st != nil {
			isMap = p == &st.Servers || st.Launch != nil && p == &st.Launch.McpConfig
			if p == &st.Config || st.Launch != nil && p == &st.Launch.Env {
				return
			}
		} else if !isMap {
			return
		}
		*p = maps(*p, isMap, f, list)
	})
}

// serverNames lists configured names in order of appearance.
func (s *shrinker) serverNames() []string {
	var n names
	c := s.copy()
	for i := range c.Header.Records {
		n.add(c.Header.Records[i].Server)
	}
	serversIn(c, func(v *model.Value) *model.Value {
		for i := range v.Members {
			n.add(v.Members[i].Key)
		}
		return v
	}, func(v *model.Value) *model.Value { return v })
	for i := range c.Steps {
		if st := &c.Steps[i]; st.Do != trace.Server && st.Do != trace.Crash {
			n.add(st.Server)
		}
	}
	return n.list
}

func renameServers(c *trace.Trace, m map[string]string) {
	serversIn(c, func(v *model.Value) *model.Value {
		out := *v
		out.Members = make([]model.Member, len(v.Members))
		for i, e := range v.Members {
			out.Members[i] = model.Member{Key: or(m, e.Key), Value: e.Value}
		}
		out.Dups = renamed(v.Dups, m)
		return &out
	}, func(v *model.Value) *model.Value {
		out := &model.Value{Kind: model.Array}
		for _, e := range v.Elems {
			if e.Kind == model.String && or(m, e.Text) != e.Text {
				e = model.Str(or(m, e.Text))
			}
			out.Elems = append(out.Elems, e)
		}
		return out
	})
	for i := range c.Header.Records {
		c.Header.Records[i].Server = or(m, c.Header.Records[i].Server)
	}
	c.Header.Launch.Allowed = renamed(c.Header.Launch.Allowed, m)
	for i := range c.Header.Faults {
		c.Header.Faults[i].Server = or(m, c.Header.Faults[i].Server)
	}
	for i := range c.Steps {
		st := &c.Steps[i]
		if st.Do != trace.Server && st.Do != trace.Crash {
			st.Server = or(m, st.Server)
		}
		if st.Launch != nil {
			st.Launch.Allowed = renamed(st.Launch.Allowed, m) // visit has copied the launch
		}
		if rest, ok := strings.CutPrefix(st.ModelName, "mcp__"); ok {
			if server, tool, ok := strings.Cut(rest, "__"); ok {
				st.ModelName = "mcp__" + or(m, server) + "__" + tool
			}
		}
	}
}

func renamed(list []string, m map[string]string) []string {
	if list == nil {
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = or(m, s)
	}
	return out
}

// inText reports whether a name stands in a file's text, where it cannot be told from other words.
func (s *shrinker) inText(names []string) bool {
	in := func(st *trace.Step) bool {
		for _, n := range names {
			if st.Base64 != "" || st.HasText && strings.Contains(st.Text, `"`+n+`"`) {
				return true
			}
		}
		return false
	}
	for i := range s.best.Steps {
		if in(&s.best.Steps[i]) {
			return true
		}
	}
	for i := range s.best.Header.Files {
		if in(&s.best.Header.Files[i].Write) {
			return true
		}
	}
	return false
}
