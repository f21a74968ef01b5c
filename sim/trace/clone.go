package trace

import (
	"slices"

	"mcpsim/model"
)

// Clone returns a copy of the trace that shares nothing that can be changed. Values are immutable and shared.
func (t *Trace) Clone() *Trace {
	c := &Trace{Header: t.Header.Clone(), Name: t.Name, Steps: slices.Clone(t.Steps)}
	for i := range c.Steps {
		c.Steps[i] = c.Steps[i].Clone()
	}
	return c
}

// Clone returns a copy of the header.
func (h *Header) Clone() Header {
	c := *h
	c.Rules, c.Dirs = slices.Clone(h.Rules), slices.Clone(h.Dirs)
	c.Launch = h.Launch.Clone()
	c.Servers, c.Records = slices.Clone(h.Servers), slices.Clone(h.Records)
	for i := range c.Servers {
		c.Servers[i].Behaviour = CloneBehaviour(&c.Servers[i].Behaviour)
	}
	c.Files, c.Faults = slices.Clone(h.Files), slices.Clone(h.Faults)
	for i := range c.Files {
		c.Files[i].Write = c.Files[i].Write.Clone()
	}
	for i := range c.Faults {
		c.Faults[i] = c.Faults[i].Clone()
	}
	return c
}

// Clone returns a copy of the launch.
func (l *Launch) Clone() Launch {
	c := *l
	c.Sessions, c.Allowed = slices.Clone(l.Sessions), slices.Clone(l.Allowed)
	c.Trusted, c.Bare, c.Initialized = clonePtr(l.Trusted), clonePtr(l.Bare), clonePtr(l.Initialized)
	return c
}

// CloneBehaviour returns a copy of a behaviour.
func CloneBehaviour(b *model.Behaviour) model.Behaviour {
	c := *b
	c.Tools, c.Prompts, c.Resources = slices.Clone(b.Tools), slices.Clone(b.Prompts), slices.Clone(b.Resources)
	return c
}

// Clone returns a copy of the step.
func (s *Step) Clone() Step {
	c := *s
	c.Mode, c.ListKinds = clonePtr(s.Mode), slices.Clone(s.ListKinds)
	if s.Behaviour != nil {
		b := CloneBehaviour(s.Behaviour)
		c.Behaviour = &b
	}
	if s.Launch != nil {
		l := s.Launch.Clone()
		c.Launch = &l
	}
	c.Expect = s.Expect.clone()
	return c
}

func clonePtr[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneList[T any](p *[]T) *[]T {
	if p == nil {
		return nil
	}
	v := slices.Clone(*p)
	return &v
}

func (e *Expect) clone() *Expect {
	if e == nil {
		return nil
	}
	c := &Expect{Sessions: slices.Clone(e.Sessions)}
	for i := range c.Sessions {
		s := &c.Sessions[i]
		s.Servers, s.Calls = slices.Clone(s.Servers), slices.Clone(s.Calls)
		s.Tools, s.Prompts, s.Resources = s.Tools.clone(), s.Prompts.clone(), s.Resources.clone()
		s.Ask, s.Notices, s.Hint = cloneList(s.Ask), cloneList(s.Notices), clonePtr(s.Hint)
		s.Shows = slices.Clone(s.Shows)
		for j := range s.Shows {
			w := &s.Shows[j]
			w.Text, w.Error, w.File, w.Shadows = clonePtr(w.Text), clonePtr(w.Error), clonePtr(w.File), cloneList(w.Shadows)
		}
	}
	if e.Host != nil {
		h := *e.Host
		h.Pool, h.Records = cloneList(h.Pool), cloneList(h.Records)
		h.Dials, h.Processes = slices.Clone(h.Dials), slices.Clone(h.Processes)
		if h.Pool != nil {
			for i := range *h.Pool {
				(*h.Pool)[i].Sessions = slices.Clone((*h.Pool)[i].Sessions)
			}
		}
		c.Host = &h
	}
	return c
}

func (l *NamedLists) clone() *NamedLists {
	if l == nil {
		return nil
	}
	c := &NamedLists{Lists: slices.Clone(l.Lists)}
	for i := range c.Lists {
		c.Lists[i].Names = slices.Clone(c.Lists[i].Names)
	}
	return c
}
