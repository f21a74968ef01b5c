// Package fakemcp is the servers of a simulated world: scripted MCP servers as processes and remote streams, reached
// through port.Dialer and port.Exec over a virtual clock. It causes what a trace says, counts what it sees, and judges
// nothing. It is single-threaded and starts no goroutine.
package fakemcp

import (
	"slices"

	"mcpsim/impl/config"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakeclock"
)

// World is all servers and all that a host has of them. It implements port.Dialer and port.Exec for one host at a time.
type World struct {
	// JobDelay is how long a read of a source or one file operation of a decision takes; nil: it happens in the course of
	// the same instant.
	JobDelay func(op port.Op) port.Ms
	// OnStart is told of every process and remote connection that begins, inside the call that begins it. key is the
	// behaviour's. One that is refused does not begin.
	OnStart func(conn port.ConnID, spec config.DialSpec, key string)
	// OnCall is told of every tool call that reaches a server.
	OnCall func(conn port.ConnID, tool string)
	// Real lets mcp-go's own server answer, in place of prepared bytes: slow, to check those against.
	Real bool
	// Canned leaves the mcp-go client out: connections take the protocol's steps themselves. Same histories, less time.
	Canned bool

	q       *fakeclock.Queue
	scripts []*script
	byKey   index
	byURL   index
	version int // of the scripts

	conns   map[port.ConnID]*conn // of the present host, by number
	list    []*conn               // the same in order of dialling, dead ones included until they are swept out
	over    int                   // of list: how many may be swept out some time
	orphans []*conn               // processes of hosts that have died
	dials   map[string]int
	jobs    []*job
	pending [numOps]int // jobs that are out and not cancelled, by kind
}

const numOps = port.OpPersist + 1

// New returns a world without servers over a queue.
func New(q *fakeclock.Queue) *World {
	w := &World{q: q}
	w.Reset()
	return w
}

// Reset takes everything away: servers, connections, jobs, counts. The hooks stay. The queue is reset by who owns it.
func (w *World) Reset() {
	w.scripts, w.byKey, w.byURL, w.version = nil, index{}, index{}, w.version+1
	w.conns, w.list, w.over, w.orphans = map[port.ConnID]*conn{}, nil, 0, nil
	w.dials, w.jobs, w.pending = map[string]int{}, nil, [numOps]int{}
}

// Set gives the servers of a key their behaviour: what a trace's header lists, and its `server` steps change. The key is
// the beginning of a command line or a URL, `sdk:` and a name, or a name. Connections that run follow the new behaviour
// from their next step on. A nil behaviour is that of a server nobody has listed: it refuses. b must not change afterwards.
func (w *World) Set(key string, b *model.Behaviour) {
	if b == nil {
		b = unlisted
	}
	i, ok := w.byKey.at[key]
	if !ok {
		i = len(w.scripts)
		w.byKey.add(key, i)
		w.byURL.add(ResolveURL(key), i)
		w.scripts = append(w.scripts, nil)
	}
	w.scripts[i] = &script{key: key, b: b}
	w.version++
	for _, c := range w.list {
		c.syncHelper()
	}
}

// unlisted is how a server behaves that no key matches.
var unlisted = &model.Behaviour{Fault: model.Refuse, FaultAt: model.StepStart}

// Has reports whether a behaviour has this key.
func (w *World) Has(key string) bool { _, ok := w.byKey.at[key]; return ok }

// ListChanged lets every running server of a key say that its lists changed; kinds are tools, prompts, resources, none:
// all three. It is said in the course of this instant, also by connections that closed less than their linger ago
// (REC-9); servers that were never initialised say nothing. If no behaviour has the key it is a configured server's name.
func (w *World) ListChanged(key string, kinds ...string) {
	if len(kinds) == 0 {
		kinds = allKinds
	}
	for _, c := range w.matching(key) {
		for _, k := range kinds {
			c.say(methodOf(k))
		}
	}
}

// Crash ends every process and stream of a key now, orphans too; helpers of a process live on. If no behaviour has the key
// it is a configured server's name.
func (w *World) Crash(key string) {
	for _, c := range append(w.matching(key), pick(w.orphans, key, !w.Has(key))...) {
		if c.up {
			c.exit(c.lost())
		}
	}
}

// matching lists the connections of a key, in order of dialling.
func (w *World) matching(key string) []*conn { return pick(w.list, key, !w.Has(key)) }

func pick(from []*conn, key string, byName bool) (out []*conn) {
	for _, c := range from {
		if s := c.script(); c.begun && (s.key == key && s != nobody || byName && c.spec.Server == key) {
			out = append(out, c)
		}
	}
	return out
}

// HostDied: the host process has ended without a word. Nothing of what it had arranged reaches anybody; its streams are
// closed, and its processes see their input closed and end by their own rules, as orphans. A host that starts afterwards
// may number its connections from 1 again.
func (w *World) HostDied() {
	for _, j := range w.jobs {
		w.q.Cancel(j.h)
	}
	w.jobs, w.pending = nil, [numOps]int{}
	w.orphans = slices.DeleteFunc(w.orphans, func(c *conn) bool { return !c.alive() })
	for _, c := range w.list {
		c.abandon()
		if c.process() && c.alive() {
			w.orphans = append(w.orphans, c)
		}
	}
	w.conns, w.list, w.over = map[port.ConnID]*conn{}, nil, 0
}
