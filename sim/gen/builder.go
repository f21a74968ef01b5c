package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// builder is a trace that is being drawn, and what later draws want to know of earlier ones.
type builder struct {
	s       Source
	p       *Profile
	tr      *trace.Trace
	observe func([]uint16, choice)

	on      uint64  // the features this trace has
	weights weights // of this trace: the profile's, some off, the rest skewed
	now     weights // room for present
	two     [2]uint16

	names    []string         // configured names, the hot set
	keys     []string         // behaviours; a name's is keys[i % len(keys)]
	palettes [][]*model.Value // by name: the few configs it ever has, so that content comes back
	env      bool             // the launch has variables

	docs  [model.NumScopes]document
	live  []string // sessions that are open
	spare []string // sessions that may be opened
	all   []string
	calls int
	queue []trace.Step // the rest of a motif that was begun

	dirty  int // changes since time last passed
	looked bool
	down   bool
}

// document is what a file holds, as far as it is followed, and what it held.
type document struct {
	now *model.Value
	old []*model.Value
}

func (b *builder) has(f feature) bool { return b.on&(1<<f) != 0 }

// may draws a chance of something that only traces with a feature have.
func (b *builder) may(f feature, permille int) bool { return b.has(f) && chance(b.s, permille) }

// plan draws what makes this trace unlike others: its features, its weights, its names and their configs.
func (b *builder) plan() {
	for f := feature(0); f < numFeatures; f++ {
		if chance(b.s, int(b.p.features[f])) {
			b.on |= 1 << f
		}
	}
	b.weights = b.p.weights
	if !b.p.steady {
		b.swarm()
	}
	if !b.has(fMoves) {
		b.weights[cMkdir], b.weights[cRmdir], b.weights[mMoveIn] = 0, 0, 0
	}
	n := b.s.Pick(b.p.names) + 1
	b.names = append(b.names, plainNames[:n]...)
	if b.has(fOddNames) {
		for i := b.s.Below(2); i < n; i += 2 {
			b.names[i] = oneOf(b.s, oddNames)
		}
		b.names = unique(b.names)
		n = len(b.names)
	}
	keys := n
	if n > 1 && chance(b.s, 150) {
		keys-- // two names, one server
	}
	b.keys = allKeys[:keys]
	b.palettes = make([][]*model.Value, n)
	for i := range b.palettes {
		b.palettes[i] = b.palette(i)
	}
}

// swarm switches some steps off and skews the rest. Time always passes, and something always changes.
func (b *builder) swarm() {
	for c := cEdit; int(c) < numChoices; c++ {
		if b.weights[c] == 0 {
			continue
		}
		switch k := b.s.Pick(skews); {
		case k == 1 && !contains(b.p.core, c):
			b.weights[c] = 0
		case k == 2:
			b.weights[c] *= 3
		case k == 3:
			b.weights[c] = (b.weights[c] + 2) / 3
		}
	}
	if b.weights[cEdit] == 0 && b.weights[cWrite] == 0 {
		b.weights[cEdit] = b.p.weights[cEdit]
	}
}

var skews = []uint16{4, 3, 2, 2} // as it is, off, three times, a third

// name draws the index of a configured name; the first are hotter.
func (b *builder) name() int { return b.s.Pick(hotness[:len(b.names)]) }

var hotness = []uint16{5, 3, 2, 2, 1, 1, 1, 1}

// key is the behaviour of a name.
func (b *builder) key(i int) string { return b.keys[i%len(b.keys)] }

// session draws a session: open, if there is one, and now and then any.
func (b *builder) session() string {
	if len(b.live) == 0 || chance(b.s, 30) {
		return oneOf(b.s, b.all)
	}
	return b.live[b.s.Below(len(b.live))]
}

func (b *builder) opened(id string) {
	if !contains(b.live, id) {
		b.live = append(b.live, id)
	}
}

func (b *builder) closed(id string) {
	for i, s := range b.live {
		if s == id {
			b.live = append(b.live[:i:i], b.live[i+1:]...)
			return
		}
	}
}

func contains[T comparable](list []T, x T) bool {
	for _, e := range list {
		if e == x {
			return true
		}
	}
	return false
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if !contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
