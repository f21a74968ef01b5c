package fakemcp

import (
	"fmt"
	"sort"

	"mcpsim/impl/port"
	"mcpsim/model"
)

// Dials counts, by configured server, the dials since the last Reset: processes begun and connections opened, those that
// were refused included. It is sorted by name.
func (w *World) Dials() []model.Count { return counts(w.dials) }

// Processes counts, by configured server, the processes of the present host that are alive, helpers included, sorted by
// name. Servers without any are left out.
func (w *World) Processes() []model.Count {
	n := map[string]int{}
	for _, c := range w.list {
		if !c.process() {
			continue
		}
		if c.up {
			n[c.spec.Server]++
		}
		if c.helper {
			n[c.spec.Server]++
		}
	}
	return counts(n)
}

// Orphans is how many processes of hosts that have died are alive, helpers included.
func (w *World) Orphans() (n int) {
	for _, c := range w.orphans {
		if c.up {
			n++
		}
		if c.helper {
			n++
		}
	}
	return n
}

func counts(n map[string]int) []model.Count {
	if len(n) == 0 {
		return nil
	}
	out := make([]model.Count, 0, len(n))
	for name, k := range n {
		out = append(out, model.Count{Server: name, N: k})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Server < out[j].Server })
	return out
}

// Pending is how many jobs of a kind are out and not cancelled.
func (w *World) Pending(k port.OpKind) int { return w.pending[k] }

// InFlight is how many jobs are out that keep a host from being settled: all that are not cancelled but calls (spec
// section 1).
func (w *World) InFlight() (n int) {
	for k, p := range w.pending {
		if port.OpKind(k) != port.OpCall {
			n += p
		}
	}
	return n
}

// Job is one job that is out.
type Job struct {
	Op        port.Op
	Cancelled bool // its end or its answer is still under way
	InPipe    bool // it has acted, and its answer is under way
}

// Jobs lists the jobs that are out, in no particular order.
func (w *World) Jobs() []Job {
	out := make([]Job, len(w.jobs))
	for i, j := range w.jobs {
		out[i] = Job{Op: j.op, Cancelled: j.cancelled, InPipe: j.acted}
	}
	return out
}

var opNames = [numOps]string{port.OpStart: "start", port.OpInitialize: "init", port.OpListTools: "tools", port.OpListPrompts: "prompts",
	port.OpListResources: "resources", port.OpCall: "call", port.OpEnd: "end", port.OpRead: "read", port.OpPersist: "persist"}

// Busy says what InFlight counts, for a report; sorted.
func (w *World) Busy() (out []string) {
	for _, j := range w.jobs {
		switch {
		case j.cancelled || j.op.Kind == port.OpCall:
		case j.op.Conn != 0:
			out = append(out, fmt.Sprintf("%s of %s, connection %d", opNames[j.op.Kind], j.op.Server, j.op.Conn))
		default:
			out = append(out, opNames[j.op.Kind]+" "+j.op.Detail)
		}
	}
	sort.Strings(out)
	return out
}
