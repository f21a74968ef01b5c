package shrink

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// simple are the times worth trying instead of a longer one, simplest first.
var simple = []model.Ms{0, 1, 300, 301, 600, 1000, 2000, 3000, 5000, 30000}

// times shortens advances, delays and what else takes time towards a few shared instants.
func (s *shrinker) times() {
	for i := range s.best.Steps {
		s.shorten(func(t *trace.Trace) *model.Ms { return &t.Steps[i].Ms }, nil)
		s.shorten(func(t *trace.Trace) *model.Ms { return &t.Steps[i].GapMs }, nil)
		if s.best.Steps[i].Behaviour != nil {
			own := func(t *trace.Trace) {
				v := *t.Steps[i].Behaviour
				t.Steps[i].Behaviour = &v
			}
			for d := range s.best.Steps[i].Behaviour.Delays {
				s.shorten(func(t *trace.Trace) *model.Ms { return &t.Steps[i].Behaviour.Delays[d].Ms }, own)
			}
			s.shorten(func(t *trace.Trace) *model.Ms { return &t.Steps[i].Behaviour.Linger }, own)
		}
	}
	for i := range s.best.Header.Servers {
		for d := range s.best.Header.Servers[i].Behaviour.Delays {
			s.shorten(func(t *trace.Trace) *model.Ms { return &t.Header.Servers[i].Behaviour.Delays[d].Ms }, nil)
		}
		s.shorten(func(t *trace.Trace) *model.Ms { return &t.Header.Servers[i].Behaviour.Linger }, nil)
	}
}

// shorten tries simpler times for one; own gives a candidate its own copy of what holds it.
func (s *shrinker) shorten(at func(*trace.Trace) *model.Ms, own func(*trace.Trace)) {
	now := *at(s.best)
	for _, ms := range simple {
		if ms >= now {
			return
		}
		c := s.copy()
		if own != nil {
			own(c)
		}
		*at(c) = ms
		if s.try(c) {
			return
		}
	}
}
