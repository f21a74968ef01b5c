package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// behaviour draws how the i-th server acts. What its lists hold depends on i, so that a mix-up shows.
func (b *builder) behaviour(i int) model.Behaviour {
	v := model.Behaviour{Tools: toolLists[b.s.Pick(toolWeights)]}
	if chance(b.s, 250) {
		v.Prompts = []string{"p"}
	}
	if chance(b.s, 200) {
		v.Resources = []string{"r"}
	}
	if b.may(fDelays, 600) {
		for n := b.s.Below(3); n >= 0; n-- {
			d := model.Delay{Ms: b.delay()}
			if b.may(fHold, 450) {
				d.Hold = model.HoldAnswer
			}
			v.Delays[b.s.Pick(delayedSteps)] = d
		}
	}
	if b.may(fFaulty, 250) {
		v.Fault = model.Refuse + model.Fault(b.s.Below(4))
		if v.Fault != model.Refuse {
			v.FaultAt = model.StepInit
			if chance(b.s, 450) {
				v.FaultAt = model.StepTools + model.Step(b.s.Below(4))
			}
		}
	}
	if b.may(fStubborn, 400) {
		b.stubborn(&v)
	}
	return v
}

var (
	toolLists    = [][]string{{"x", "y"}, {"x"}, {"x", "y", "z"}, {}, {"x", "x", "y"}, {"x/y", "x_y"}, {"y", "x"}, {"w"}}
	toolWeights  = []uint16{8, 5, 3, 2, 1, 1, 1, 2}
	delayedSteps = []uint16{model.StepStart: 3, model.StepInit: 5, model.StepTools: 4, model.StepPrompts: 1, model.StepResources: 1, model.StepCall: 4, model.StepEnd: 2}
)

// stubborn lets a server be hard to end (REC-13).
func (b *builder) stubborn(v *model.Behaviour) {
	switch b.s.Below(5) {
	case 0:
		v.Grandchild = true
	case 1:
		v.IgnoreTerm = true
		v.Delays[model.StepEnd].Ms = b.delay()
	case 2:
		v.Unkillable = true
		if chance(b.s, 700) {
			v.Delays[model.StepEnd].Ms = oneOf(b.s, stuckEnds)
		}
	case 3:
		v.Linger = oneOf(b.s, lingers)
	case 4:
		v.IgnoreTerm, v.Grandchild = true, true
	}
}

var (
	stuckEnds = []model.Ms{3500, 3499, 3501, 5000, 30000}
	lingers   = []model.Ms{300, 1, 600, 2000, 60000}
)

// server changes a behaviour, says that lists changed, or both.
func (b *builder) server(st *trace.Step) {
	i := b.s.Pick(hotness[:len(b.keys)])
	st.Server = b.keys[i]
	switch b.s.Pick(serverChanges) {
	case 0:
		v := b.behaviour(i)
		st.Behaviour, st.ListChanged = &v, true
	case 1:
		st.ListChanged = true
	case 2:
		v := b.behaviour(i)
		st.Behaviour = &v
	case 3:
		st.ListChanged, st.ListKinds = true, oneOf(b.s, listKinds)
	case 4:
		st.Unlisted = true
	}
}

var (
	serverChanges = []uint16{6, 2, 4, 2, 1}
	listKinds     = [][]string{{"tools"}, {"prompts"}, {"resources"}, {"tools", "resources"}}
)

func (b *builder) crash(st *trace.Step) { st.Server = b.keys[b.s.Pick(hotness[:len(b.keys)])] }
