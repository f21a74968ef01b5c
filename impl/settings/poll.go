package settings

import (
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const pollMs = 2000 // WAT-9

// needsPoll: a source that cannot be watched, or is there and cannot be read. One that cannot be parsed waits for its next
// event; the system's files are read at start and by /reload only (WAT-1, WAT-9).
func (s *Sources) needsPoll(src *source) bool {
	return src.watched && src.active && !s.stopped && (src.state == unreadable || s.unwatched(src))
}

// updatePoll starts or stops the polling of a source.
func (s *Sources) updatePoll(src *source) {
	switch needs := s.needsPoll(src); {
	case !needs:
		src.stopPoll()
	case src.pollStop == nil && !src.polling:
		src.pollStop = s.clock.AfterFunc(port.TimerPoll, pollMs, func() {
			src.pollStop = nil
			src.polling = true
			s.request(whyPoll, []*source{src}, nil)
		})
	}
}

func (s *Sources) updatePolls() {
	for _, src := range s.all {
		s.updatePoll(src)
	}
}

func (src *source) stopPoll() {
	if src.pollStop != nil {
		src.pollStop()
		src.pollStop = nil
	}
}

// Polled lists the sources that are polled at present (WAT-9).
func (s *Sources) Polled() []event.Scope {
	var out []event.Scope
	for _, src := range s.all {
		if s.needsPoll(src) {
			out = append(out, src.scope)
		}
	}
	return out
}

// PolledOnceSince reports whether every polled source was polled after t: "settled" needs it (spec section 1). A poll at
// exactly t may have come before what happened at t, and does not count.
func (s *Sources) PolledOnceSince(t port.Ms) bool {
	for _, src := range s.all {
		if s.needsPoll(src) && src.polledAt <= t {
			return false
		}
	}
	return true
}
