package settings

import (
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// The debounce: trailing edge, but no later than the second after the first event that is not yet loaded (WAT-2), in ms.
const (
	debounceMs    = 300
	debounceMaxMs = 3000
)

// wake notes that something may have happened to a source: it will be loaded. One timer serves all scopes.
func (s *Sources) wake(src *source) {
	if s.stopped {
		return
	}
	s.o.Emit(&event.Event{Kind: event.Wake, Scope: src.scope})
	if !src.dirty {
		src.dirty, src.dirtySince = true, s.clock.Now()
	}
	first := src.dirtySince
	for _, x := range s.all {
		if x.dirty {
			first = min(first, x.dirtySince)
		}
	}
	now := s.clock.Now()
	s.stopDebounce()
	s.debounceStop = s.clock.AfterFunc(port.TimerDebounce, max(0, min(debounceMs, first+debounceMaxMs-now)), s.debounced)
}

// debounced loads each scope with an event since its last load (WAT-3).
func (s *Sources) debounced() {
	s.debounceStop = nil
	var list []*source
	for _, src := range s.all {
		if src.dirty {
			src.dirty = false
			list = append(list, src)
		}
	}
	s.request(whyWatcher, list, nil)
}

// settleDebounce stops the timer once everything it would load was loaded otherwise.
func (s *Sources) settleDebounce() {
	for _, src := range s.all {
		if src.dirty {
			return
		}
	}
	s.stopDebounce()
}

func (s *Sources) stopDebounce() {
	if s.debounceStop != nil {
		s.debounceStop()
		s.debounceStop = nil
	}
}
