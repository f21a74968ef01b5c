package real

import (
	"strings"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakemcp"
)

// flights are what the host has under way whose end the script knows: dials, ends, calls. What takes no time in a script
// takes a little in the world, a process's birth most of all.
type flights struct {
	conns map[port.ConnID]flight
	calls map[string]flight
}

type flight struct {
	conn  port.ConnID
	since model.Ms
	steps []model.Step
}

func newFlights() flights {
	return flights{map[port.ConnID]flight{}, map[string]flight{}}
}

// note follows an event.
func (f *flights) note(st *Stage, ev *event.Event) {
	now := st.Now()
	switch ev.Kind {
	case event.Dial:
		f.conns[ev.Conn] = flight{ev.Conn, now, []model.Step{model.StepStart, model.StepInit, model.StepTools, model.StepPrompts, model.StepResources}}
	case event.Closing:
		f.conns[ev.Conn] = flight{ev.Conn, now, []model.Step{model.StepEnd}}
	case event.DialFailed: // it closes now
		f.took(st, ev.Conn)
	case event.Dialed:
		f.took(st, ev.Conn)
		delete(f.conns, ev.Conn)
	case event.Closed:
		delete(f.conns, ev.Conn)
	case event.CallStart:
		if ev.Conn != 0 {
			f.calls[ev.Call] = flight{ev.Conn, now, []model.Step{model.StepCall}}
		}
	case event.CallEnd:
		delete(f.calls, ev.Call)
	}
}

// took notes how much longer than its script a dial took: a process is born late on a machine that has much to do.
func (f *flights) took(st *Stage, c port.ConnID) {
	x := f.conns[c]
	if d, ok := st.takes(c, x.steps...); ok && len(x.steps) > 0 {
		st.slow = max(st.slow, st.Now()-x.since-d)
	}
}

// takes is how long the script of a connection's server takes for some steps; ok is false if it does not say.
func (st *Stage) takes(c port.ConnID, steps ...model.Step) (d model.Ms, ok bool) {
	x, known := st.conns[connName(st.lifeOf(), c)]
	if !known || refuses(x.b) {
		return 0, known && steps[0] == model.StepStart // nobody is there: it is refused
	}
	for _, s := range steps {
		if x.b.Fault == model.Hang && x.b.FaultAt == s || s == model.StepEnd && (x.b.IgnoreTerm || x.b.Grandchild) {
			return 0, false
		}
		d += x.b.Delays[s].Ms
	}
	return d, true
}

// behaviourOf is the script of the longest key that fits.
func (st *Stage) behaviourOf(spec *config.DialSpec) *model.Behaviour {
	target, best := fakemcp.Target(spec), ""
	for key := range st.servers {
		k := key
		if spec.Kind != config.Stdio {
			k = st.urls[key]
		}
		if strings.HasPrefix(target, k) && len(key) >= len(best) {
			best = key
		}
	}
	return st.servers[best]
}

// Overdue reports whether something is under way that the script has over by an instant.
func (y *System) Overdue(at model.Ms) bool {
	over := func(f flight) bool {
		d, ok := y.st.takes(f.conn, f.steps...)
		return ok && f.since+d <= at
	}
	for _, f := range y.fl.conns {
		if over(f) {
			return true
		}
	}
	for _, f := range y.fl.calls {
		if over(f) {
			return true
		}
	}
	return false
}

// reading reports whether the host reads its sources.
func reading(core *impl.Host) bool {
	for _, s := range core.Busy() {
		if strings.HasPrefix(s, "load") {
			return true
		}
	}
	return false
}
