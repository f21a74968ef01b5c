package settings

import (
	"fmt"
	"slices"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const listenerMs = 30_000 // WAT-6

// listener gets notifications one after the other; what arrives while one is being delivered is gathered into the next.
type listener struct {
	s        *Sources
	name     string
	f        func(changes []event.Change, done func(err error))
	gathered []event.Change
	due      bool // something was gathered, perhaps without a change
	running  int  // number of the delivery that is running; 0: none
	number   int
	timer    func()
	reported bool
	gone     bool
}

// Subscribe adds a listener. f gets the changes in order of scope and calls done, at once or later, exactly once; a panic or
// an error is reported once per listener, and so is a delivery that takes longer than 30 s (WAT-6). unsubscribe may be called
// again (WAT-10).
func (s *Sources) Subscribe(name string, f func(changes []event.Change, done func(err error))) (unsubscribe func()) {
	l := &listener{s: s, name: name, f: f}
	s.listeners = append(s.listeners, l)
	return func() {
		if l.gone {
			return
		}
		l.gone = true
		l.stopTimer()
		s.listeners = slices.DeleteFunc(slices.Clone(s.listeners), func(x *listener) bool { return x == l })
		if l.reported {
			s.o.OnNotice(l.notice(""), false)
		}
	}
}

// notify tells every listener; those that are busy hear of it when they have returned.
func (s *Sources) notify(changes []event.Change) {
	changes = gather(nil, changes)
	s.o.Emit(&event.Event{Kind: event.Notify, Changes: changes})
	for _, l := range slices.Clone(s.listeners) {
		l.gathered, l.due = gather(l.gathered, changes), true
		l.deliver()
	}
}

// deliver runs deliveries until one does not return at once or nothing is left.
func (l *listener) deliver() {
	for l.due && l.running == 0 && !l.gone && !l.s.stopped {
		changes := l.gathered
		l.gathered, l.due = nil, false
		l.number++
		l.running = l.number
		l.timer = l.s.clock.AfterFunc(port.TimerListener, listenerMs, func() {
			l.timer = nil
			l.report("has not returned within 30 s")
		})
		l.call(changes, l.number)
	}
}

func (l *listener) call(changes []event.Change, number int) {
	inside := true
	defer func() {
		inside = false
		if r := recover(); r != nil {
			l.report(fmt.Sprintf("has thrown: %v", r))
			l.returned(number)
		}
	}()
	l.f(changes, func(err error) {
		if l.running != number {
			return // it has returned already
		}
		if err != nil {
			l.report("has failed: " + err.Error())
		}
		l.returned(number)
		if !inside { // inside, deliver's loop goes on
			l.deliver()
		}
	})
}

func (l *listener) returned(number int) {
	if l.running == number {
		l.running = 0
		l.stopTimer()
	}
}

func (l *listener) report(what string) {
	if !l.reported && !l.gone && !l.s.stopped {
		l.reported = true
		l.s.o.OnNotice(l.notice(fmt.Sprintf("the listener %q %s", l.name, what)), true)
	}
}

func (l *listener) notice(text string) event.Notice {
	return event.Notice{Key: l.name, Kind: "listener", Text: text}
}

func (l *listener) stopTimer() {
	if l.timer != nil {
		l.timer()
		l.timer = nil
	}
}

// gather adds later changes to earlier ones: one per scope, in order of scope, saying what became of it in all.
func gather(earlier, later []event.Change) []event.Change {
	out := slices.Clone(earlier)
	for _, c := range later {
		i := slices.IndexFunc(out, func(x event.Change) bool { return x.Scope == c.Scope })
		switch {
		case i < 0:
			out = append(out, c)
		case out[i].How == "created" && c.How == "modified":
		case out[i].How == "deleted" && c.How == "created":
			out[i].How = "modified"
		default:
			out[i].How = c.How
		}
	}
	slices.SortStableFunc(out, func(a, b event.Change) int { return scopeRank(a.Scope) - scopeRank(b.Scope) })
	return out
}

// scopeRank orders the scopes lowest first, as New does.
func scopeRank(s event.Scope) int {
	return slices.Index([]event.Scope{event.Defaults, event.User, event.Project, event.Workspace, event.System, event.Approvals}, s)
}
