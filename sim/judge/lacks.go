package judge

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim/eventlog"
)

// source is which of the model's three comparisons a violation comes from.
type source uint8

const (
	observed source = 1 << iota // an event, or silence
	settled                     // what must hold at settle
	compared                    // the snapshot
	anywhere = observed | settled | compared
)

// hole is what cannot be decided without a kind of event: an invariant, or only what is judged by a rule, in some comparisons.
type hole struct {
	invariant string
	rule      string // empty: all of the invariant
	from      source
	when      func(*Judge) bool // nil: always
}

func decisions(j *Judge) bool { return j.report.Decisions }
func several(j *Judge) bool   { return j.pending > 1 } // one of them may have been refused
func calls(j *Judge) bool     { return j.report.Calls }
func passFails(j *Judge) bool { return j.failed }
func changed(j *Judge) bool   { return j.changed || j.faults && !j.reads }

// unread: what the host has in memory is unknown, or what a connection was dialled with.
func unread(j *Judge) bool {
	for _, u := range j.unread {
		if u {
			return true
		}
	}
	return j.changed && j.kind == model.EvAcquired || j.faults && !j.reads
}

func all(when func(*Judge) bool, invariants ...string) []hole {
	var out []hole
	for _, id := range invariants {
		out = append(out, hole{id, "", anywhere, when})
	}
	return out
}

// held are the holes of a connection's end, or of who holds it: what is connected at settle, and the notices about it.
func held(invariants ...string) []hole {
	out := append(all(nil, invariants...), hole{"LIVE-2", "", compared, nil}, hole{"LIVE-3", "", compared, nil})
	for _, id := range [...]string{"INV-1", "INV-2", "INV-3", "INV-4", "INV-5"} {
		out = append(out, hole{id, "", settled, nil})
	}
	return out
}

// holes says, per kind of event, what nothing can be concluded about if a host does not write it.
var holes = map[string][]hole{
	"wake": {{"INV-13", "", observed, nil}},
	"load": append(append([]hole{{"INV-13", "", anywhere, nil}}, all(unread, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-11")...),
		append(all(changed, "INV-6", "INV-8", "INV-9", "INV-14", "INV-17", "INV-18", "INV-21", "LIVE-1", "LIVE-2"),
			hole{"INV-11", "ASK-1", observed | settled, changed}, hole{"INV-15", "APR-8", observed, changed})...),
	"notify":     {{"LIVE-2", "WAT-11", observed | settled, nil}},
	"lists":      {{"INV-14", "", anywhere, nil}},
	"pass_start": {{"INV-10", "", anywhere, nil}, {"INV-14", "", observed, nil}, {"LIVE-2", "CFG-3", observed | settled, nil}, {"LIVE-2", "D-4", observed | settled, nil}, {"INV-6", "GATE-1", observed, nil}},
	"pass_compared": {{"INV-10", "", anywhere, nil}, {"LIVE-2", "CFG-3", observed | settled, nil}, {"LIVE-2", "D-4", observed | settled, nil}, {"INV-6", "GATE-1", observed, nil},
		{"LIVE-1", "LIVE-3", observed | settled, nil}},
	"pass_end": append([]hole{{"INV-10", "", anywhere, nil}, {"LIVE-2", "CFG-3", observed | settled, nil}, {"LIVE-2", "D-4", observed | settled, nil}, {"LIVE-2", "CFG-4", observed, nil},
		{"INV-6", "GATE-1", observed, nil}}, all(passFails, "INV-1", "INV-2", "INV-3", "INV-4", "INV-5", "INV-6", "INV-8", "INV-9", "INV-18", "INV-21", "LIVE-1", "LIVE-2")...),
	"dial":        append(all(nil, "INV-1", "INV-6", "INV-8", "INV-9", "INV-17", "INV-21", "LIVE-1", "INV-18"), hole{"LIVE-2", "", compared, nil}, hole{"LIVE-3", "", compared, nil}),
	"dialed":      held("LIVE-1", "INV-21", "INV-9"),
	"dial_failed": held("INV-6", "INV-18", "LIVE-1", "INV-21", "INV-9"),
	"published":   append(all(nil, "INV-6", "INV-8", "INV-17", "INV-21", "LIVE-1"), hole{"LIVE-2", "", compared, nil}),
	"purged":      {{"INV-8", "", anywhere, nil}},
	"closing":     held("INV-6", "INV-8", "INV-9", "INV-17", "INV-18", "INV-21", "LIVE-1"),
	"closed":      held("INV-9"),
	"acquired":    held("INV-6", "INV-8", "INV-9", "INV-21", "LIVE-1", "INV-18"),
	"released":    held("INV-6", "INV-8", "INV-9", "INV-21", "LIVE-1", "INV-18"),
	"drain_start": {{"INV-9", "", anywhere, nil}, {"INV-6", "POOL-3", observed, nil}},
	"drain_end":   {{"INV-9", "POOL-3", observed, nil}},
	"ask":         {{"INV-11", "ASK-1", observed | settled, nil}},
	"decided":     all(decisions, "INV-1", "INV-6", "INV-11", "INV-12", "INV-14", "INV-18", "INV-21", "LIVE-1", "LIVE-2"),
	"refused":     {{"INV-11", "", settled, decisions}, {"LIVE-2", "", compared, decisions}, {"INV-11", "", observed, several}, {"INV-12", "", observed, several}},
	"call_start":  all(calls, "INV-21"),
	"call_end":    all(calls, "INV-21"),
	"wrote":       {{"INV-15", "", anywhere, nil}},
	"notice":      {{"INV-16", "", anywhere, nil}},
	"watch":       {{"INV-9", "WAT-10", anywhere, nil}},
	"unwatch":     {{"INV-9", "WAT-10", anywhere, nil}},
	"updated":     {{"INV-18", "REC-10", observed, nil}},
}

// ofConnections are the kinds that say what became of a connection.
var ofConnections = []string{"dialed", "dial_failed", "published", "purged", "closing", "closed", "acquired", "released", "drain_start", "drain_end"}

// apart reports that a violation does not rest on what became of connections: what is shown of a server that is held back
// follows from the files and records, and what was published was live.
func (j *Judge) apart(v *model.Violation, from source) bool {
	if from == observed {
		return v.Conn != 0 && slices.Contains(v.Rules, "REC-11")
	}
	const back = model.StateHeldDisabled | model.StateHeldNotAllowed | model.StateHeldExcluded | model.StateHeldPending | model.StateHeldRejected | model.StateHeldUntrusted
	if from != compared || j.want == nil {
		return false
	}
	for i := range j.want.Sessions {
		s := &j.want.Sessions[i]
		for k := range s.Servers {
			if x := &s.Servers[k]; s.ID == v.Session && x.Name == v.Server {
				return x.States&back != 0 && x.States&^back == 0
			}
		}
	}
	return false
}

// onlyPool are the kinds that a host in single mode has nothing to write of.
var onlyPool = []string{"drain_start", "drain_end"}

func (h *hole) covers(j *Judge, v *model.Violation, from source) bool {
	return h.invariant == v.Invariant && h.from&from != 0 && (h.rule == "" || slices.Contains(v.Rules, h.rule)) && (h.when == nil || h.when(j))
}

// undecidable names the kind of event without which a violation is none.
func (j *Judge) undecidable(v *model.Violation, from source) string {
	for k := model.EvWake; k < model.NumEvents && len(j.lacks) > 0; k++ {
		if !j.lacks[k.String()] || slices.Contains(ofConnections, k.String()) && j.apart(v, from) {
			continue
		}
		for i := range holes[k.String()] {
			if holes[k.String()][i].covers(j, v, from) {
				return k.String()
			}
		}
	}
	return ""
}

// sumUp moves the evaluations that say nothing from the checks, for a kind that the log lacks.
func (j *Judge) sumUp(kind string, checks map[string]int) {
	if slices.Contains(onlyPool, kind) && !j.report.Pool {
		return
	}
	for i := range holes[kind] {
		h := &holes[kind][i]
		if h.when != nil && !h.when(j) {
			continue
		}
		n := 0
		if h.rule == "" && h.from == anywhere {
			n = checks[h.invariant]
			delete(checks, h.invariant)
		}
		j.unchecked(h.invariant, kind, n)
	}
}

// parts are what Compare looks at in a snapshot, by the invariant that it names.
var parts = map[string]string{"tools": "LIVE-1", "prompts": "LIVE-1", "resources": "LIVE-1", "text": "INV-18", "error": "INV-18",
	"file": "INV-18", "shadows": "INV-18", "hint": "INV-18", "notices": "LIVE-2", "calls": "INV-21", "pool": "INV-9", "processes": "INV-9",
	"dials": "INV-1", "records": "INV-12"}

// hide puts what must be shown in place of what the host does not show.
func (j *Judge) hide(want *model.Expectation, got *model.Snapshot) {
	lost := func(part string, n int) bool {
		if !j.hides[part] {
			return false
		}
		if n > 0 {
			j.unchecked(parts[part], "snapshot:"+part, 1)
		}
		return true
	}
	for i := range got.Sessions {
		g := &got.Sessions[i]
		at := slices.IndexFunc(want.Sessions, func(s model.SessionView) bool { return s.ID == g.ID })
		if at < 0 {
			continue
		}
		w := &want.Sessions[at]
		if lost("notices", len(w.Notices)) {
			g.Notices = w.Notices
		}
		if lost("hint", truth(w.Hint)) {
			g.Hint = w.Hint
		}
		lost("calls", len(w.Calls))
		for k := range g.Servers {
			gs := &g.Servers[k]
			at := slices.IndexFunc(w.Servers, func(s model.ServerView) bool { return s.Name == gs.Name })
			if at < 0 {
				continue
			}
			ws := &w.Servers[at]
			if lost("tools", len(ws.Tools)) {
				gs.Tools = ws.Tools
			}
			if lost("prompts", len(ws.Prompts)) {
				gs.Prompts = ws.Prompts
			}
			if lost("resources", len(ws.Resources)) {
				gs.Resources = ws.Resources
			}
			if lost("text", len(ws.Text)) {
				gs.Text = ws.Text
			}
			if lost("error", len(ws.Error)) {
				gs.Error = ws.Error
			}
			if lost("file", len(ws.File)) {
				gs.File = ws.File
			}
			if lost("shadows", len(ws.Shadows)) {
				gs.Shadows = ws.Shadows
			}
		}
	}
	if lost("pool", len(want.Host.Pool)) {
		got.Host.Pool = want.Host.Pool
	}
	if lost("dials", len(want.Host.Dials)) {
		got.Host.Dials = want.Host.Dials
	}
	if lost("processes", len(want.Host.Processes)) {
		got.Host.Processes = want.Host.Processes
	}
	lost("records", len(want.Host.Records))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// occurring is what a log holds anywhere.
type occurring struct {
	kinds, parts     map[string]bool
	woken, snapshots bool
}

var anyText = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// aboutOf reads what a header says of its log; nothing if it is broken, which New says better.
func aboutOf(first []byte) eventlog.About {
	var h struct {
		Log eventlog.About `json:"log"`
	}
	_ = json.Unmarshal(bytes.TrimPrefix(first, []byte("\xEF\xBB\xBF")), &h, anyText)
	return h.Log
}

func scan(lines []byte) *occurring {
	o := &occurring{kinds: map[string]bool{}, parts: map[string]bool{}}
	for len(lines) > 0 {
		var line []byte
		line, lines, _ = bytes.Cut(lines, []byte("\n"))
		var x struct {
			Event, Input string
			Snapshot     *eventlog.Snapshot
		}
		if json.Unmarshal(line, &x, anyText, json.MatchCaseInsensitiveNames(true)) != nil {
			continue // the reading proper says what is wrong
		}
		o.kinds[x.Event] = true
		o.woken = o.woken || x.Input == "woken"
		if x.Snapshot != nil {
			o.snapshot(x.Snapshot)
		}
	}
	return o
}

func (o *occurring) snapshot(s *eventlog.Snapshot) {
	o.snapshots = true
	see := func(part string, n int) { o.parts[part] = o.parts[part] || n > 0 }
	for i := range s.Sessions {
		v := &s.Sessions[i]
		see("notices", len(v.Notices))
		see("hint", truth(v.Hint))
		see("calls", len(v.Calls))
		for k := range v.Servers {
			x := &v.Servers[k]
			see("tools", len(x.Tools))
			see("prompts", len(x.Prompts))
			see("resources", len(x.Resources))
			see("text", len(x.Text))
			see("error", len(x.Error))
			see("file", len(x.File))
			see("shadows", len(x.Shadows))
		}
	}
	see("pool", len(s.Pool))
	see("records", len(s.Records))
	see("dials", len(s.Dials))
	see("processes", len(s.Processes))
}
