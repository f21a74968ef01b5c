package trace

import "mcpsim/model"

// The words of a behaviour, indexed by the model's constants.
var (
	stepWords  = []string{"start", "init", "tools", "prompts", "resources", "call", "end"}
	faultWords = []string{"", "refuse", "exit", "garbage", "hang"}
)

// readBehaviour reads one server's behaviour.
func readBehaviour(n node) model.Behaviour {
	var b model.Behaviour
	at := -1
	var atNode node
	for _, m := range n.members("a behaviour") {
		switch m.key {
		case "tools":
			b.Tools = m.val.strs("tools")
		case "prompts":
			b.Prompts = m.val.strs("prompts")
		case "resources":
			b.Resources = m.val.strs("resources")
		case "delay":
			readDelays(m.val, &b.Delays)
		case "fault":
			b.Fault = model.Fault(1 + index(m.val, "fault", faultWords[1:]))
		case "at":
			at, atNode = index(m.val, "at", stepWords), m.at
		case "ignore_term":
			b.IgnoreTerm = m.val.boolean(m.key)
		case "unkillable":
			b.Unkillable = m.val.boolean(m.key)
		case "grandchild":
			b.Grandchild = m.val.boolean(m.key)
		case "linger":
			b.Linger = m.val.ms("linger")
		default:
			m.at.fail("a behaviour has no key %q; it takes tools, prompts, resources, delay, fault, at, ignore_term, unkillable, grandchild, linger", m.key)
		}
	}
	b.FaultAt = defaultAt(b.Fault)
	if at >= 0 {
		if b.Fault == model.NoFault {
			atNode.fail("\"at\" says where a fault happens; add \"fault\"")
		}
		b.FaultAt = model.Step(at)
	}
	return b
}

// defaultAt is where a fault happens if the text does not say.
func defaultAt(f model.Fault) model.Step {
	switch f {
	case model.NoFault, model.Refuse:
		return model.StepStart
	}
	return model.StepInit
}

func index(n node, what string, words []string) int {
	w := n.word(what, words...)
	for i := range words {
		if words[i] == w {
			return i
		}
	}
	return -1
}

func readDelays(n node, d *[model.NumSteps]model.Delay) {
	for _, m := range n.members("delay") {
		i := -1
		for j, w := range stepWords {
			if w == m.key {
				i = j
			}
		}
		if i < 0 {
			m.at.fail("delay has no step %q; the steps are start, init, tools, prompts, resources, call, end", m.key)
		}
		if m.val.kind() == '0' {
			d[i].Ms = m.val.ms("a delay")
			continue
		}
		for _, o := range m.val.members("a delay that is no number") {
			switch o.key {
			case "ms":
				d[i].Ms = o.val.ms("ms")
			case "hold":
				d[i].Hold = model.Hold(index(o.val, "hold", []string{"request", "answer"}))
			default:
				o.at.fail("a delay has no key %q; it is a number, or {\"ms\":…,\"hold\":\"request\"|\"answer\"}", o.key)
			}
		}
	}
}

func writeBehaviour(w *writer, b *model.Behaviour) {
	w.open()
	w.strs("tools", b.Tools)
	w.strs("prompts", b.Prompts)
	w.strs("resources", b.Resources)
	if b.Delays != [model.NumSteps]model.Delay{} {
		w.key("delay")
		w.open()
		for i, d := range b.Delays {
			switch {
			case d.Hold == model.HoldAnswer:
				w.key(stepWords[i])
				w.open()
				w.num("ms", uint64(d.Ms))
				w.str("hold", "answer")
				w.close()
			case d.Ms != 0:
				w.num(stepWords[i], uint64(d.Ms))
			}
		}
		w.close()
	}
	w.str("fault", faultWords[b.Fault])
	if b.Fault != model.NoFault && b.FaultAt != defaultAt(b.Fault) {
		w.str("at", stepWords[b.FaultAt])
	}
	w.yes("ignore_term", b.IgnoreTerm)
	w.yes("unkillable", b.Unkillable)
	w.yes("grandchild", b.Grandchild)
	if b.Linger != 0 {
		w.num("linger", uint64(b.Linger))
	}
	w.close()
}
