// Package gen draws whole traces.
//
// One generator code serves three users through one interface, Source: properties draw with rapid (Trace), the command
// draws with a splitmix64 generator (Draw), which costs half of it, and small spaces are walked completely
// (Every). A seed gives the same trace for ever within one version of this package; what is kept is the trace, never the seed.
//
// Weights mean what they say: every choice is Source.Pick or Source.Below, and neither favours small values, as
// rapid's own ranges do. Index 0 is always the simplest choice, because rapid shrinks towards it.
//
// Each trace is a swarm member: it switches a random subset of step kinds and features off and skews the rest. Names,
// configs and instants come from small sets that one trace shares, or they would never meet. A drawn trace holds no
// expectations, and every step is legal in every state.
package gen

import (
	"pgregory.net/rapid"

	"mcpsim/sim/trace"
)

// Trace is the generator for properties.
func Trace(p Profile) *rapid.Generator[*trace.Trace] {
	return rapid.Custom(func(t *rapid.T) *trace.Trace { return From(fromRapid{t}, p) })
}

// Draw draws the trace of a seed. The zero Profile is the default one.
func Draw(seed uint64, p Profile) *trace.Trace {
	s := seeded(seed)
	return From(&s, p)
}

// From draws a trace from a source.
func From(s Source, p Profile) *trace.Trace {
	return draw(s, p, nil)
}

// draw tells observe of every choice of a step: the weights, and which was taken.
func draw(s Source, p Profile, observe func(weights []uint16, taken choice)) *trace.Trace {
	if p.MaxSteps == 0 {
		p = profiles[0]
	}
	b := &builder{s: s, p: &p, observe: observe, tr: &trace.Trace{Name: "drawn", Header: trace.Header{Version: 1}}}
	b.tr.Steps = make([]trace.Step, 0, p.MaxSteps+4)
	b.plan()
	b.header()
	b.steps()
	return b.tr
}

// steps draws the steps. That the trace ends is a choice before each, so that rapid can take out any one and cut the end
// off; lengths are uniform between the profile's bounds, a little below them now and then.
func (b *builder) steps() {
	end := false
	for i := 0; i < b.p.MaxSteps && !end; {
		b.s.Group(func() {
			on := uint16(1023)
			switch {
			case b.down:
				on = 2
			case i >= b.p.MinSteps:
				on = uint16(b.p.MaxSteps - i)
			}
			b.two = [2]uint16{1, on}
			if end = b.s.Pick(b.two[:]) == 0; end {
				return
			}
			b.next(i)
		})
		i = max(i+1, len(b.tr.Steps))
	}
	if n := len(b.tr.Steps); n == 0 || b.tr.Steps[n-1].Do != trace.Settle {
		if !chance(b.s, 1000-b.p.settleAtEnd) {
			b.add(trace.Settle)
		}
	}
}

// next draws one step: the next of a motif that was begun, or any.
func (b *builder) next(i int) {
	if len(b.queue) > 0 && b.s.Pick(queueWeights) == 0 {
		b.goOn()
		return
	}
	w := b.present(i)
	c := choice(b.s.Pick(w))
	if b.observe != nil {
		b.observe(w, c)
	}
	if c >= firstMotif {
		motifs[c-firstMotif].begin(b)
		b.goOn()
		return
	}
	kinds[c].draw(b, b.add(kinds[c].do))
	b.saw(len(b.tr.Steps) - 1)
}

// goOn takes the next step of a motif; to settle twice is nothing.
func (b *builder) goOn() {
	st := b.queue[0]
	b.queue = b.queue[1:]
	if n := len(b.tr.Steps); st.Do == trace.Settle && n > 0 && b.tr.Steps[n-1].Do == trace.Settle {
		return
	}
	b.take(st)
}

var queueWeights = []uint16{4, 1}

// present is the trace's weights as the present state bends them: time passes sooner after changes, an answer comes
// sooner after a look, and a shutdown comes late; little follows it.
func (b *builder) present(i int) []uint16 {
	w := b.now[:]
	copy(w, b.weights[:])
	if b.dirty > 0 {
		more := uint16(min(b.dirty, 3) + 1)
		w[cAdvance] *= more
		w[cSettle] *= more
	} else {
		w[cSettle] = w[cSettle]/8 + 1
	}
	if b.looked {
		w[cApprove] *= 4
		w[cReject] *= 2
		w[cApproveAll] *= 3
	}
	if 2*i < b.p.MinSteps+b.p.MaxSteps/2 {
		w[cShutdown] = 0
	}
	if b.down {
		w[cRestart] = w[cRestart]*8 + 20
	}
	return w
}

// add appends an empty step of a kind.
func (b *builder) add(k trace.StepKind) *trace.Step {
	b.tr.Steps = append(b.tr.Steps, trace.Step{Do: k})
	return &b.tr.Steps[len(b.tr.Steps)-1]
}

// take appends a step that is drawn already.
func (b *builder) take(st trace.Step) {
	b.tr.Steps = append(b.tr.Steps, st)
	b.saw(len(b.tr.Steps) - 1)
}

// saw keeps the little that later draws want to know of what has happened.
func (b *builder) saw(i int) {
	st := &b.tr.Steps[i]
	switch st.Do {
	case trace.Advance:
		if st.Ms >= 300 {
			b.dirty = 0
		}
	case trace.Settle:
		b.dirty = 0
	case trace.Look:
		b.looked = true
	case trace.Approve, trace.Reject, trace.ApproveAll:
		b.looked = false
		b.dirty++
	case trace.Edit, trace.Write, trace.Remove:
		b.wrote(st)
		b.dirty++
	case trace.Open:
		b.opened(st.Session)
		b.dirty++
	case trace.Close:
		b.closed(st.Session)
		b.dirty++
	case trace.Shutdown:
		b.down = true
		b.dirty++
	case trace.Restart:
		b.down = false
		b.dirty++
	case trace.Call:
	default:
		b.dirty++
	}
}
