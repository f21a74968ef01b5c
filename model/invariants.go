package model

// Invariants lists every invariant with its sentence and the rules behind it, in order (spec section 13).
var Invariants = []struct {
	ID, Sentence string
	Rules        []string
}{
	{"INV-1", "no dial of a gated server whose exact config is not approved", []string{"APR-5", "POOL-1", "D-1"}},
	{"INV-2", "no dial, and at settled no connection, outside the launch flag", []string{"ADM-1"}},
	{"INV-3", "with an empty allow list nothing is dialled, and at settled nothing is connected", []string{"ADM-2"}},
	{"INV-4", "an excluded server is not dialled, and at settled not connected", []string{"ADM-3"}},
	{"INV-5", "nothing is dialled in an untrusted folder or before initialisation", []string{"ADM-6", "CFG-2"}},
	{"INV-6", "a live server, still admitted, with the same connection id, filters and trust, is never retired, purged or re-dialled by a pass", []string{"REC-4", "REC-5"}},
	{"INV-7", "while such a server with tools exists, the registry is never empty", []string{"REC-4"}},
	{"INV-8", "every registered tool, prompt and resource belongs to a live connection that is not retired", []string{"REC-2", "REC-3", "REC-9"}},
	{"INV-9", "at most one connection per session and name in single mode, per connection id in pool mode; at settled every connection has a holder or a running drain; after shutdown none exists", []string{"REC-13", "POOL-2", "POOL-3"}},
	{"INV-10", "the comparing parts of one session's passes never overlap; deliveries to one listener never overlap", []string{"CFG-3", "WAT-6"}},
	{"INV-11", "at settled the queue is exactly the strictly pending servers of the effective map; no decision is recorded for anything else", []string{"ASK-1", "APR-5"}},
	{"INV-12", "records change only by a decision, in this host or another process", []string{"APR-2"}},
	{"INV-13", "content unchanged → no notification; every change is loaded within its debounce window; at most one load of the watcher per window", []string{"WAT-2", "WAT-3", "WAT-8"}},
	{"INV-14", "lists are pushed before the pass that reads them", []string{"GATE-4"}},
	{"INV-15", "nothing but the approvals file (its lock, temporary and the corrupt one set aside) is ever written; no directory but its parent is created", []string{"WAT-7"}},
	{"INV-16", "env and header values appear in no question, notice, status or printed event; arguments and URLs only in a question", []string{"ASK-2"}},
	{"INV-17", "what a retired connection says changes nothing", []string{"REC-9"}},
	{"INV-18", "at settled every configured server that is not live has exactly one verdict or an error of its own, and a miss of its tool reports it", []string{"VIEW-1", "VIEW-3"}},
	{"INV-19", "applying the same content again, in any key order, spacing, line ending or with a BOM, changes nothing", []string{"WAT-3", "GATE-2"}},
	{"INV-20", "at settled, single and pool mode agree per session on servers, verdicts, tools, prompts, resources, queue and notices", []string{"POOL-1"}},
	{"INV-21", "a call reaches a server only while that server is admitted and the tool is visible; every call ends", []string{"CALL-1", "CALL-2"}},
	{"LIVE-1", "settled: every admitted server has been tried with its current config; connected are those whose last try succeeded and that were not lost since; tools, prompts, resources are what each listed last, through the filters", []string{"REC-1"}},
	{"LIVE-2", "every change of a watched source, and of every source once /reload ran, is in the settled state, whatever failed or was in flight before", []string{"D-4"}},
	{"LIVE-3", "a server that hangs or will not die delays nobody else", []string{"D-6"}},
}

func invariant(id string) (sentence string, rules []string) {
	for i := range Invariants {
		if Invariants[i].ID == id {
			return Invariants[i].Sentence, Invariants[i].Rules
		}
	}
	return "", nil
}

// fail records a violation found now.
func (m *Machine) fail(id string, s SessionID, server string, c ConnID, detail string, rules ...string) {
	sentence, base := invariant(id)
	if len(rules) == 0 {
		rules = base
	}
	m.out = append(m.out, Violation{At: m.now, Invariant: id, Sentence: sentence, Rules: rules, Detail: detail, Session: s, Server: server, Conn: c})
}

// checked counts one evaluation of an invariant's guard.
func (m *Machine) checked(id string) { m.Checks[id]++ }
