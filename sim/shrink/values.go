package shrink

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// visit calls f with every place of a trace that may hold a JSON value, and the step it belongs to, if one. Launches of
// steps are copied first, so that f may change them.
func visit(t *trace.Trace, f func(p **model.Value, st *trace.Step)) {
	launch := func(l *trace.Launch, st *trace.Step) {
		f(&l.McpConfig, st)
		f(&l.Env, st)
	}
	step := func(st *trace.Step) {
		for _, p := range [...]**model.Value{&st.JSON, &st.Servers, &st.Mcp, &st.Other, &st.Config} {
			f(p, st)
		}
		if st.Launch != nil {
			l := *st.Launch
			st.Launch = &l
			launch(&l, st)
		}
	}
	launch(&t.Header.Launch, nil)
	for i := range t.Header.Files {
		step(&t.Header.Files[i].Write)
	}
	for i := range t.Header.Records {
		f(&t.Header.Records[i].Config, nil)
	}
	for i := range t.Steps {
		step(&t.Steps[i])
	}
}

// values drops members of documents and fields of entries. What a text denotes changes with the text only.
func (s *shrinker) values() {
	n := 0
	visit(s.copy(), func(**model.Value, *trace.Step) { n++ })
	for k := 0; k < n; k++ {
		if s.value(k) != nil && s.droppable(k) {
			s.try(s.with(k, nil))
		}
		if s.value(k) != nil {
			s.reduce(k, nil)
		}
	}
}

// value is the k-th value of the best trace, nil if there is none or it must stay.
func (s *shrinker) value(k int) (v *model.Value) {
	i := 0
	visit(s.copy(), func(p **model.Value, st *trace.Step) {
		if i == k && (st == nil || !st.HasText && st.Base64 == "") {
			v = *p
		}
		i++
	})
	return v
}

// droppable reports whether a step or a launch may do without its k-th value: all but a document and an entry, and what an
// edit at the start says: without any it would read as a document.
func (s *shrinker) droppable(k int) (may bool) {
	i := 0
	c := s.copy()
	visit(c, func(p **model.Value, st *trace.Step) {
		if i == k {
			may = st != nil && p != &st.JSON && p != &st.Config || p == &c.Header.Launch.McpConfig || p == &c.Header.Launch.Env
			for f := range c.Header.Files {
				may = may && st != &c.Header.Files[f].Write
			}
		}
		i++
	})
	return may
}

// with is the best trace with another k-th value.
func (s *shrinker) with(k int, v *model.Value) *trace.Trace {
	c := s.copy()
	i := 0
	visit(c, func(p **model.Value, _ *trace.Step) {
		if i == k {
			*p = v
		}
		i++
	})
	return c
}

// reduce drops members and elements below a path of the k-th value, and then below each that stays.
func (s *shrinker) reduce(k int, path []int) {
	here := func() *model.Value { return follow(s.value(k), path) }
	v := here()
	switch v.Kind {
	case model.Object:
		s.minimise(len(v.Members), func(i, j int) *trace.Trace {
			return s.with(k, replace(s.value(k), path, lacking(here(), i, j)))
		})
		for i := range here().Members {
			s.reduce(k, append(path[:len(path):len(path)], i))
		}
	case model.Array:
		s.minimise(len(v.Elems), func(i, j int) *trace.Trace {
			return s.with(k, replace(s.value(k), path, &model.Value{Kind: model.Array, Elems: drop(here().Elems, i, j)}))
		})
		for i := range here().Elems {
			s.reduce(k, append(path[:len(path):len(path)], i))
		}
	}
}

// lacking is an object without some of its members.
func lacking(v *model.Value, i, j int) *model.Value {
	out := &model.Value{Kind: model.Object, Members: drop(v.Members, i, j), BadText: v.BadText}
	for _, d := range v.Dups {
		if out.Get(d) != nil {
			out.Dups = append(out.Dups, d)
		}
	}
	return out
}

func follow(v *model.Value, path []int) *model.Value {
	for _, i := range path {
		if v.Kind == model.Array {
			v = v.Elems[i]
		} else {
			v = v.Members[i].Value
		}
	}
	return v
}

// replace is a value with another one at a path.
func replace(v *model.Value, path []int, with *model.Value) *model.Value {
	if len(path) == 0 {
		return with
	}
	c := *v
	if v.Kind == model.Array {
		c.Elems = append([]*model.Value(nil), v.Elems...)
		c.Elems[path[0]] = replace(v.Elems[path[0]], path[1:], with)
		return &c
	}
	c.Members = append([]model.Member(nil), v.Members...)
	c.Members[path[0]].Value = replace(v.Members[path[0]].Value, path[1:], with)
	return &c
}

// servers drops one server name everywhere at once.
func (s *shrinker) servers() {
	for _, name := range s.serverNames() {
		c := s.copy()
		c.Steps = nil
		for i := range s.best.Steps {
			st := s.best.Steps[i]
			switch st.Do {
			case trace.Server, trace.Crash:
			default:
				if st.Server == name {
					continue
				}
			}
			c.Steps = append(c.Steps, st)
		}
		c.Header.Records = nil
		for _, r := range s.best.Header.Records {
			if r.Server != name {
				c.Header.Records = append(c.Header.Records, r)
			}
		}
		visit(c, func(p **model.Value, st *trace.Step) {
			if st == nil || !st.HasText && st.Base64 == "" {
				*p = lackingServer(*p, name)
			}
		})
		s.try(c)
	}
}

// lackingServer takes a server out of a map, a document or the lists of mcp.
func lackingServer(v *model.Value, name string) *model.Value {
	if v == nil || v.Kind != model.Object {
		return v
	}
	for i := range v.Members {
		m := &v.Members[i]
		switch {
		case m.Key == name:
			return lackingServer(lacking(v, i, i+1), name)
		case m.Key == "mcpServers" || m.Key == "mcp" || m.Key == "allowed" || m.Key == "excluded":
			inner := lackingServer(m.Value, name)
			if m.Value.Kind == model.Array {
				inner = lackingText(m.Value, name)
			}
			if inner != m.Value {
				v = replace(v, []int{i}, inner)
			}
		}
	}
	return v
}

func lackingText(v *model.Value, text string) *model.Value {
	for i, e := range v.Elems {
		if e.Kind == model.String && e.Text == text {
			return lackingText(&model.Value{Kind: model.Array, Elems: drop(v.Elems, i, i+1)}, text)
		}
	}
	return v
}
