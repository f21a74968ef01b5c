package check

import (
	"fmt"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// CrossMode compares what two plays of one trace in the two modes showed at every settle (INV-20): per session the servers
// and their states, tools, prompts, resources, the queue and the notices. A server whose predecessor is stuck is left
// apart, as the specification says; so is one whose script was changed while it ran (a shared connection has then
// listed at another moment than a session's own), and one that was crashed or lost, which a session of its own may
// have dialled at another moment.
func CrossMode(tr *trace.Trace, a, b *sim.Result) []model.Violation {
	settles := 0
	for i := range tr.Steps {
		if tr.Steps[i].Do == trace.Settle {
			settles++
		}
	}
	if a.Failed() || b.Failed() || len(a.Shown) != settles || len(b.Shown) != settles {
		return nil // one of them was never settled, for want of a process that ends
	}
	if locked(tr) {
		return nil // a lock is held for a time, and the modes settle at other moments: what is decided then differs
	}
	drift := scriptDrift(tr)
	var out []model.Violation
	fail := func(i int, s model.SessionID, server, detail string) {
		for _, inv := range model.Invariants {
			if inv.ID == "INV-20" {
				out = append(out, model.Violation{Invariant: inv.ID, Sentence: inv.Sentence, Rules: inv.Rules, Session: s, Server: server,
					Detail: fmt.Sprintf("%s (settle number %d)", detail, i+1)})
			}
		}
	}
	for i := range a.Shown {
		x, y := &a.Shown[i], &b.Shown[i]
		if len(x.Sessions) != len(y.Sessions) {
			fail(i, "", "", "the modes show different sessions")
			continue
		}
		for j := range x.Sessions {
			s, t := &x.Sessions[j], &y.Sessions[j]
			crossSession(s, t, drift, func(server, detail string) { fail(i, s.ID, server, detail) })
		}
	}
	return out
}

func crossSession(s, t *model.SessionView, drift bool, fail func(server, detail string)) {
	if len(s.Ask) != len(t.Ask) {
		fail("", "the modes ask different questions")
	} else {
		for i := range s.Ask {
			if s.Ask[i].Server != t.Ask[i].Server || s.Ask[i].Source != t.Ask[i].Source {
				fail(s.Ask[i].Server, "the modes ask different questions")
			}
		}
	}
	if len(s.Servers) != len(t.Servers) {
		fail("", "the modes show different servers")
		return
	}
	stuck := false
	apart := map[string]bool{} // what is offered, and so what is told of it, follows the state
	for i := range s.Servers {
		a, b := &s.Servers[i], &t.Servers[i]
		if a.Name != b.Name {
			fail(a.Name, "the modes show different servers")
			return
		}
		if (a.States|b.States)&model.StateFailedStuck != 0 {
			stuck = true
			continue
		}
		if drift && (a.States|b.States)&(model.StateHeldDisabled|model.StateHeldExcluded|model.StateHeldNotAllowed|model.StateHeldPending|model.StateHeldRejected|model.StateHeldUntrusted|model.StateRemoved) == 0 {
			continue
		}
		if a.States != b.States && (a.States|b.States)&model.StateFailedTimeout != 0 {
			apart[a.Name] = true
			continue // a dial that takes exactly its bound may end either way
		}
		if a.States != b.States {
			fail(a.Name, fmt.Sprintf("one mode shows %s, the other %s", a.States, b.States))
			continue
		}
		if fmt.Sprint(a.Tools, a.Prompts, a.Resources) != fmt.Sprint(b.Tools, b.Prompts, b.Resources) {
			fail(a.Name, "the modes show different tools, prompts or resources")
		}
	}
	if stuck || drift {
		return
	}
	x, y := compared(s.Notices, apart), compared(t.Notices, apart)
	if len(x) != len(y) {
		fail("", "the modes show different notices")
		return
	}
	for i := range x {
		m, n := x[i], y[i]
		if m.File != n.File || m.Server != n.Server || m.Key != n.Key || m.Kind != n.Kind {
			fail(m.Server, "the modes show different notices")
		}
	}
}

// compared leaves out the notice of a process that will not end, since how many of them there are depends on the mode, and
// those of servers that are left apart.
func compared(list []model.Notice, apart map[string]bool) []model.Notice {
	var out []model.Notice
	for _, n := range list {
		if n.Kind != "stuck" && !(n.Server != "" && apart[n.Server]) {
			out = append(out, n)
		}
	}
	return out
}

// locked reports whether another process holds the approvals lock at some time.
func locked(tr *trace.Trace) bool {
	for _, list := range [][]trace.Step{tr.Steps, tr.Header.Faults} {
		for i := range list {
			if list[i].Do == trace.Fault && list[i].Kind == "lock" {
				return true
			}
		}
	}
	return false
}

// scriptDrift reports whether the world changes a server while it runs.
func scriptDrift(tr *trace.Trace) bool {
	for i := range tr.Header.Servers { // a call that breaks a shared connection breaks it for everybody
		if b := &tr.Header.Servers[i].Behaviour; b.Fault != model.NoFault && b.FaultAt == model.StepCall {
			return true
		}
	}
	for i := range tr.Steps {
		switch tr.Steps[i].Do {
		case trace.Server, trace.Crash:
			return true
		case trace.Fault:
			switch tr.Steps[i].Kind {
			case "publish", "pass", "listener":
				return true
			}
		}
	}
	return len(tr.Header.Faults) > 0
}
