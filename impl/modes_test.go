package impl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// op is one random act of the world, or of a person, on either host.
type op func(w *world)

// draw makes a run of random acts that mean the same in both modes.
func draw(r *rand.Rand) []op {
	names := []string{"a", "b", "c"}
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	session := func() port.SessionID { return port.SessionID(pick("s1", "s2", "s3")) }
	var ops []op
	do := func(f op) { ops = append(ops, f) }
	for range 25 {
		switch r.IntN(14) {
		case 0, 1, 2, 3:
			file, text := pick(userFile, userFile, projectFile), drawFile(r, names)
			do(func(w *world) { w.edit(file, text) })
		case 4:
			s := session()
			do(func(w *world) { _ = w.host.OpenSession(s, nil) })
		case 5:
			s := session()
			do(func(w *world) { w.host.CloseSession(s) })
		case 6:
			s, approve := session(), r.IntN(4) > 0
			do(func(w *world) {
				var answers []Answer
				for _, q := range w.host.Questions(s) {
					answers = append(answers, Answer{q.Server, q.Hash, approve})
				}
				w.host.Decide(s, answers, nil)
			})
		case 7:
			command := pick("ok", "slow", "crashes")
			do(func(w *world) {
				for _, c := range w.procs {
					if c.b == w.servers[command] {
						c.crash()
					}
				}
			})
			// Who shares what has crashed differs by mode, so everybody tries again.
			for _, s := range []port.SessionID{"s1", "s2", "s3"} {
				do(func(w *world) { w.host.Reload(s, nil) })
			}
		case 8:
			s, n, cmd := session(), pick(names...), pick("ok", "slow", "fails", "http://x")
			do(func(w *world) {
				w.host.AddRuntime(s, n, fmt.Appendf(nil, `{%s}`, transportOf(cmd)), nil)
			})
		case 9:
			s, n := session(), pick(names...)
			do(func(w *world) { w.host.RemoveRuntime(s, n, nil) })
		case 10:
			trusted := r.IntN(3) > 0
			do(func(w *world) { w.host.SetTrusted(trusted) })
		case 11:
			s, n := session(), pick(names...)
			do(func(w *world) {
				w.calls++
				w.host.Call(s, fmt.Sprint(w.calls), n, "t", nil, func(string, *mcpgo.CallToolResult) { w.calls-- })
			})
		case 12:
			more := r.IntN(2) == 0
			do(func(w *world) {
				w.servers["ok"].tools = []string{"t"}
				if more {
					w.servers["ok"].tools = []string{"t", "u"}
				}
				for _, c := range w.procs {
					if c.b == w.servers["ok"] && c.up {
						c.say("notifications/tools/list_changed")
					}
				}
			})
		case 13:
			x := pick(`{"a":{"command":"slow"},"e":{"command":"ok"}}`, "")
			do(func(w *world) {
				if x == "" {
					w.host.SetExtension("x", nil)
				} else {
					w.host.SetExtension("x", []byte(x))
				}
			})
		}
		d := []port.Ms{0, 0, 1, 299, 300, 301, 700, 2500, 5000, 30_000}[r.IntN(10)]
		do(func(w *world) { w.advance(d) })
	}
	return ops
}

func drawFile(r *rand.Rand, names []string) string {
	var servers []string
	for _, n := range names {
		if r.IntN(3) > 0 {
			extra := []string{"", `,"excludeTools":["t"]`, `,"disabled":true`, `,"discoveryTimeoutMs":1000`}[r.IntN(4)]
			cmd := []string{"ok", "ok", "slow", "fails", "stubborn", "http://x"}[r.IntN(6)]
			servers = append(servers, fmt.Sprintf(`%q:{%s%s}`, n, transportOf(cmd), extra))
		}
	}
	lists := []string{"", "", "", `"mcp":{"excluded":["a"]},`, `"mcp":{"allowed":["b","?"]},`, `"mcp":{"allowed":[]},`}[r.IntN(6)]
	return `{` + lists + `"mcpServers":{` + strings.Join(servers, ",") + `}}`
}

func transportOf(cmd string) string {
	if strings.HasPrefix(cmd, "http") {
		return fmt.Sprintf(`"httpUrl":%q`, cmd)
	}
	return fmt.Sprintf(`"command":%q`, cmd)
}

func playAll(t *testing.T, pool bool, seed uint64, ops []op) *world {
	w := newWorld(t)
	w.servers["ok"] = &server{tools: []string{"t"}, delay: map[port.OpKind]port.Ms{port.OpCall: 400}}
	w.servers["slow"] = &server{tools: []string{"t"}, delay: map[port.OpKind]port.Ms{port.OpStart: 20, port.OpListTools: 900}, endMs: 600}
	w.servers["fails"] = &server{fail: map[port.OpKind]error{port.OpInitialize: errors.New("garbage")}}
	w.servers["stubborn"] = &server{tools: []string{"t"}, ignoreTerm: true}
	w.servers["http://x"] = &server{tools: []string{"h"}, delay: map[port.OpKind]port.Ms{port.OpEnd: 5000}}
	fails := rand.New(rand.NewPCG(seed, 7))
	w.inject = func(point string, _ port.SessionID, _ string) error {
		if point == "pass" && fails.IntN(10) == 0 {
			return errors.New("injected")
		}
		return nil
	}
	w.start(Options{Pool: pool}, "s1", "s2")
	for _, f := range ops {
		f(w)
	}
	w.inject = nil
	w.settle()
	for len(w.host.Retries()) > 0 {
		w.advance(1000)
	}
	w.settle()
	return w
}

func TestBothModesAgreeOnceSettled(t *testing.T) {
	for seed := range uint64(400) {
		ops := draw(rand.New(rand.NewPCG(seed, 1)))
		single, pooled := playAll(t, false, seed, ops), playAll(t, true, seed, ops)
		for _, s := range single.host.Sessions() {
			a, b := single.show(s), pooled.show(s)
			if a != b {
				t.Fatalf("seed %d: %s shows\n%s in single mode\n%s in pool mode", seed, s, a, b)
			}
		}
		for _, w := range []*world{single, pooled} {
			w.host.Shutdown(nil)
			w.advance(20_000)
			if w.alive() != 0 || len(w.host.Busy()) != 0 || w.calls != 0 {
				t.Fatalf("seed %d: %d alive, busy %v, %d calls never ended", seed, w.alive(), w.host.Busy(), w.calls)
			}
		}
	}
}

func TestTheSameRunTwiceIsTheSameHistory(t *testing.T) {
	for seed := range uint64(50) {
		ops := draw(rand.New(rand.NewPCG(seed, 2)))
		var first string
		for range 2 {
			w := playAll(t, seed%2 == 0, seed, ops)
			var b strings.Builder
			for _, ev := range w.events {
				writeEvent(&b, ev)
			}
			if first == "" {
				first = b.String()
			} else if first != b.String() {
				t.Fatalf("seed %d: two histories", seed)
			}
		}
	}
}

func writeEvent(b *strings.Builder, ev *event.Event) {
	fmt.Fprintln(b, ev.T, ev.Kind, ev.Session, ev.Sessions, ev.Server, ev.Conn, ev.Pass, ev.Outcome, ev.Why, ev.Keys, ev.Changes,
		ev.Fingerprint, ev.Tools, ev.Excluded, ev.Pending, ev.Allowed, len(ev.Questions), ev.Call)
}
