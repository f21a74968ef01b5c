package shrink

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// cut finds the shortest beginning that fails, by halving.
func (s *shrinker) cut() {
	lo, hi := 0, len(s.best.Steps)
	for lo < hi {
		mid := (lo + hi) / 2
		c := s.copy()
		c.Steps = c.Steps[:mid:mid]
		if s.try(c) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
}

// steps drops steps.
func (s *shrinker) steps() {
	s.minimise(len(s.best.Steps), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Steps = drop(s.best.Steps, i, j)
		return c
	})
}

const maxPairs = 12 // steps; above, pairs are too many to try

// pairs drops two steps at a time, such as an open and its close, once the trace is small.
func (s *shrinker) pairs() {
	for again := true; again; {
		again = false
		n := len(s.best.Steps)
		if n > maxPairs {
			return
		}
		for i := 0; i < n && !again; i++ {
			for j := i + 1; j < n && !again; j++ {
				c := s.copy()
				c.Steps = drop(drop(s.best.Steps, j, j+1), i, i+1)
				again = s.try(c)
			}
		}
	}
}

// merge makes one step of two neighbours: advances add up, edits of one file become one edit.
func (s *shrinker) merge() {
	for i := 0; i+1 < len(s.best.Steps); {
		st, ok := merged(&s.best.Steps[i], &s.best.Steps[i+1])
		if ok {
			c := s.copy()
			c.Steps = drop(s.best.Steps, i+1, i+2)
			c.Steps[i] = st
			if s.try(c) {
				continue
			}
		}
		i++
	}
}

func merged(a, b *trace.Step) (trace.Step, bool) {
	switch {
	case a.Do == trace.Advance && b.Do == trace.Advance:
		st := *a
		st.Ms += b.Ms
		return st, true
	case a.Do == trace.Edit && b.Do == trace.Edit && a.File == b.File:
		st := *a
		st.Servers, st.Mcp, st.Other = over(a.Servers, b.Servers), over(a.Mcp, b.Mcp), over(a.Other, b.Other)
		return st, true
	}
	return trace.Step{}, false
}

// over is two changes in one: the members of b replace those of a.
func over(a, b *model.Value) *model.Value {
	if a == nil || a.Kind != model.Object {
		if b != nil {
			return b
		}
		return a
	}
	if b == nil || b.Kind != model.Object {
		if b != nil {
			return b
		}
		return a
	}
	out := &model.Value{Kind: model.Object, BadText: a.BadText || b.BadText}
	for _, m := range a.Members {
		if b.Get(m.Key) == nil {
			out.Members = append(out.Members, m)
		}
	}
	out.Members = append(out.Members, b.Members...)
	return out
}

// hoist makes a file that the first step writes one that is there at the start.
func (s *shrinker) hoist() {
	for len(s.best.Steps) > 0 {
		st := s.best.Steps[0]
		if st.Do != trace.Edit && st.Do != trace.Write || st.How != "" && st.How != "atomic" || st.Name != "" || st.GapMs != 0 {
			return
		}
		if st.Do == trace.Edit && st.Servers == nil && st.Mcp == nil && st.Other == nil {
			return
		}
		for i := range s.best.Header.Files {
			if s.best.Header.Files[i].File == st.File {
				return
			}
		}
		c := s.copy()
		c.Steps = drop(s.best.Steps, 0, 1)
		st.How = ""
		c.Header.Files = append(c.Header.Files, trace.FileAtStart{File: st.File, Write: st})
		if !s.try(c) {
			return
		}
	}
}

// fields takes the options of steps away: the simplest way to save, no launch changes, one time.
func (s *shrinker) fields() {
	for i := range s.best.Steps {
		s.step(func(t *trace.Trace) *trace.Step { return &t.Steps[i] })
	}
	for i := range s.best.Header.Files {
		s.step(func(t *trace.Trace) *trace.Step { return &t.Header.Files[i].Write })
	}
	for i := range s.best.Header.Faults {
		s.step(func(t *trace.Trace) *trace.Step { return &t.Header.Faults[i] })
	}
}

// step tries every simplification of one step.
func (s *shrinker) step(at func(*trace.Trace) *trace.Step) {
	for _, simpler := range simplifications {
		st := *at(s.best)
		if !simpler(&st) {
			continue
		}
		c := s.copy()
		*at(c) = st
		s.try(c)
	}
	if at(s.best).Launch != nil {
		s.launchOf(func(t *trace.Trace) *trace.Launch {
			st := at(t)
			l := *st.Launch
			st.Launch = &l
			return &l
		}, func(t *trace.Trace, l *trace.Launch) { *at(t).Launch = *l })
	}
	if at(s.best).HasText {
		s.words(at)
	}
}

// simplifications change a step that may be changed, and say whether that makes a difference.
var simplifications = []func(*trace.Step) bool{
	func(st *trace.Step) bool { return clear(&st.Why) },
	func(st *trace.Step) bool { // how, and all that goes with it
		plain := st.Do == trace.Write && (st.How != "" || st.Parts != 0 || st.GapMs != 0 || st.Mtime != "")
		st.How, st.Parts, st.GapMs, st.Mtime = "", 0, 0, ""
		return plain
	},
	func(st *trace.Step) bool { return clear(&st.Mtime) },
	func(st *trace.Step) bool { return clear(&st.Parts) },
	func(st *trace.Step) bool { return clear(&st.GapMs) },
	func(st *trace.Step) bool { // the document instead of its text
		has := st.Do == trace.Write && st.JSON != nil && (st.HasText || st.Base64 != "")
		st.HasText, st.Text, st.Base64 = false, "", ""
		return has
	},
	func(st *trace.Step) bool { // any text that is no document
		bad := st.Do == trace.Write && st.Unreadable && (st.HasText && st.Text != "{" || st.Base64 != "")
		st.HasText, st.Text, st.Base64 = true, "{", ""
		return bad
	},
	func(st *trace.Step) bool { // nothing beside the watched file
		return st.Do != trace.Fault && st.Do != trace.Extension && clear(&st.Name) &&
			!(st.Do == trace.Write && st.File == "approvals" && st.JSON != nil)
	},
	func(st *trace.Step) bool { return clear(&st.Launch) },
	func(st *trace.Step) bool { return clear(&st.Unsynced) },
	func(st *trace.Step) bool {
		many := st.Do == trace.Fault && st.Times > 1
		st.Times = min(st.Times, 1)
		return many
	},
	func(st *trace.Step) bool { return st.Do == trace.Fault && clear(&st.Ms) },
	func(st *trace.Step) bool { return st.Do == trace.Fault && clear(&st.Op) },
	func(st *trace.Step) bool { return st.Do == trace.Fault && clear(&st.Server) },
	func(st *trace.Step) bool { return st.Do == trace.Fault && clear(&st.Session) },
	func(st *trace.Step) bool { return st.Do == trace.Fault && clear(&st.File) },
	func(st *trace.Step) bool { return st.Do == trace.Server && st.ListChanged && clear(&st.Behaviour) },
	func(st *trace.Step) bool {
		return st.Do == trace.Server && st.Behaviour != nil && clear(&st.ListChanged)
	},
	func(st *trace.Step) bool {
		has := st.ListKinds != nil
		st.ListKinds = nil
		return has
	},
	func(st *trace.Step) bool { return clear(&st.Dir) },
	func(st *trace.Step) bool { // to settle says less than a long wait
		long := st.Do == trace.Advance && st.Ms > 600
		if long {
			*st = trace.Step{Do: trace.Settle}
		}
		return long
	},
}

// clear sets a field to its default and says whether it was not.
func clear[T comparable](p *T) bool {
	var zero T
	was := *p != zero
	*p = zero
	return was
}

// words takes pieces of a text away, as long as it is as good or bad as it was.
func (s *shrinker) words(at func(*trace.Trace) *trace.Step) {
	const pieces = 16
	text := at(s.best).Text
	size := max(1, len(text)/pieces)
	s.minimise((len(text)+size-1)/size, func(i, j int) *trace.Trace {
		c := s.copy()
		st := at(c)
		old := st.Text
		lo, hi := min(i*size, len(old)), min(j*size, len(old))
		st.Text = old[:lo] + old[hi:]
		if st.File == "approvals" {
			return c
		}
		d := trace.Denote([]byte(st.Text))
		if d.State != trace.Denote([]byte(old)).State {
			return nil
		}
		if st.JSON != nil && d.State == model.Good {
			st.JSON = d.Value
		} else if st.JSON != nil {
			return nil
		}
		return c
	})
}
