package real

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Tame is a trace with what no world has replaced by what comes nearest: an answer that is held is a request that is held,
// what no kill ends ignores every other signal, nobody speaks after his end or before he is asked, and no disk forgets. For
// drawn traces, which expect nothing.
func Tame(tr *trace.Trace) *trace.Trace {
	out := *tr
	out.Header = tr.Header.Clone()
	for i := range out.Header.Servers {
		out.Header.Servers[i].Behaviour = tameBehaviour(out.Header.Servers[i].Behaviour)
	}
	out.Steps = make([]trace.Step, len(tr.Steps))
	for i := range tr.Steps {
		s := tr.Steps[i]
		s.Unsynced = ""
		if s.Behaviour != nil {
			b := tameBehaviour(*s.Behaviour)
			s.Behaviour = &b
		}
		out.Steps[i] = s
	}
	return &out
}

func tameBehaviour(b model.Behaviour) model.Behaviour {
	for i := range b.Delays {
		b.Delays[i].Hold = model.HoldRequest
	}
	if b.Unkillable {
		b.Unkillable, b.IgnoreTerm = false, true
	}
	b.Linger = 0
	if b.Fault == model.Garbage && b.FaultAt == model.StepStart {
		b.FaultAt = model.StepInit
	}
	return b
}
