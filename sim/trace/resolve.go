package trace

import (
	"strings"

	"mcpsim/model"
)

// URL is the address of a scripted server: it replaces {{url:KEY}}, which a path may follow.
type URL func(key string) string

const placeholder = "{{url:"

// Text replaces the placeholders of a text.
func (u URL) Text(s string) string {
	if !strings.Contains(s, placeholder) {
		return s
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(s, placeholder)
		key, after, closed := strings.Cut(rest, "}}")
		if !ok || !closed {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(before)
		b.WriteString(u(key))
		s = after
	}
}

// Value replaces the placeholders in the strings and keys of a value; it returns v itself if there are none.
func (u URL) Value(v *model.Value) *model.Value { return mapText(v, u.Text) }

// Unresolve puts the placeholders of a header's servers back where their addresses are.
func (u URL) Unresolve(h *Header, v *model.Value) *model.Value {
	return mapText(v, func(s string) string {
		for i := range h.Servers {
			s = strings.ReplaceAll(s, u(h.Servers[i].Key), placeholder+h.Servers[i].Key+"}}")
		}
		return s
	})
}

// mapText maps the strings and keys of a value; it returns v itself if none changes.
func mapText(v *model.Value, f func(string) string) *model.Value {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case model.String:
		if s := f(v.Text); s != v.Text {
			c := *v
			c.Text = s
			return &c
		}
	case model.Array:
		var out []*model.Value
		for i, e := range v.Elems {
			if r := mapText(e, f); r != e {
				if out == nil {
					out = append(out, v.Elems...)
				}
				out[i] = r
			}
		}
		if out != nil {
			return &model.Value{Kind: model.Array, Elems: out}
		}
	case model.Object:
		return mapObject(v, f)
	}
	return v
}

func mapObject(v *model.Value, f func(string) string) *model.Value {
	var out []model.Member
	for i, m := range v.Members {
		key, val := f(m.Key), mapText(m.Value, f)
		if key == m.Key && val == m.Value {
			continue
		}
		if out == nil {
			out = append(out, v.Members...)
		}
		out[i] = model.Member{Key: key, Value: val}
	}
	if out == nil {
		return v
	}
	c := *v
	c.Members = out
	return &c
}

// Step returns the step with every placeholder replaced. The step itself is not changed.
func (u URL) Step(s *Step) *Step {
	c := new(Step)
	u.StepInto(c, s)
	return c
}

// StepInto makes c the step with every placeholder replaced.
func (u URL) StepInto(c, s *Step) {
	*c = *s
	c.JSON, c.Servers, c.Mcp, c.Other, c.Config = u.Value(s.JSON), u.Value(s.Servers), u.Value(s.Mcp), u.Value(s.Other), u.Value(s.Config)
	c.Text = u.Text(s.Text)
	if s.Launch != nil {
		l := u.Launch(*s.Launch)
		c.Launch = &l
	}
	if s.Expect != nil {
		c.Expect = s.Expect.clone()
		u.expect(c.Expect)
	}
}

// Launch returns a launch with every placeholder replaced.
func (u URL) Launch(l Launch) Launch {
	l.McpConfig, l.Env = u.Value(l.McpConfig), u.Value(l.Env)
	return l
}

// Header returns a copy of the header with every placeholder replaced.
func (u URL) Header(h *Header) *Header {
	c := h.Clone()
	c.Launch = u.Launch(c.Launch)
	for i := range c.Files {
		c.Files[i].Write = *u.Step(&c.Files[i].Write)
	}
	for i := range c.Records {
		c.Records[i].Config = u.Value(c.Records[i].Config)
	}
	return &c
}

func (u URL) expect(e *Expect) {
	for i := range e.Sessions {
		if ask := e.Sessions[i].Ask; ask != nil {
			for j := range *ask {
				(*ask)[j].Config = u.Value((*ask)[j].Config)
			}
		}
	}
	if e.Host == nil {
		return
	}
	if e.Host.Pool != nil {
		for i := range *e.Host.Pool {
			(*e.Host.Pool)[i].Config = u.Value((*e.Host.Pool)[i].Config)
		}
	}
	if e.Host.Records != nil {
		for i := range *e.Host.Records {
			(*e.Host.Records)[i].Config = u.Value((*e.Host.Records)[i].Config)
		}
	}
}
