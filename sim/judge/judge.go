// Package judge holds a recorded log against the model without running anything: whose host wrote it does not matter. What
// the log lacks makes checks impossible; they are counted, and none of them is passed over or becomes a finding.
//
//	judge.go    a log, line by line, into a model.Machine
//	lacks.go    what cannot be decided without which events
//	start.go    what a header says of the start
//	oracle.go   the same for a program that asks as it goes
//	record.go   a trace played in the simulated world, as a log
package judge

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/trace"
)

// Finding is one broken rule and the line at which it showed.
type Finding struct {
	Line int
	model.Violation
}

// Unchecked is an invariant that could not be checked, or not in every way.
type Unchecked struct {
	Invariant string
	Count     int      // evaluations, or answers, that nothing can be concluded from
	All       bool     // nothing of it was checked
	Lacks     []string // events, or parts of a snapshot, that the log lacks
}

// Report is what a log came to.
type Report struct {
	Log, Host              string
	First, Lines           int // where it begins in its file, and how many lines it has
	Inputs, Events, Shown  int
	Checks                 map[string]int
	Findings               []Finding
	Unchecked              []Unchecked // in order of invariant
	Lacks                  []string    // kinds of event that the log does not have
	Listed                 bool        // the header lists them, so that their silence counts
	Pool, Calls, Decisions bool
}

// Judge is the model with a log before it.
type Judge struct {
	r      *eventlog.Reader
	m      *model.Machine
	lacks  map[string]bool // kinds of event
	hides  map[string]bool // parts of a snapshot
	report Report
	undone map[string]*Unchecked

	booting  bool // no load will say what was read at the start
	bootedAt model.Ms
	unread   [model.NumScopes]bool // changed since it was last known to be read, and no load will say when it is
	reads    bool                  // the log tells what each read got, though not when that was loaded
	faults   bool                  // the world broke something: a read may have failed
	reloaded [model.NumScopes]bool // a source that is not watched is read at the next reload: it was asked for since the last change
	plain    [model.NumScopes]bool // what a read gives now is in force as it is
	states   [model.NumScopes]model.ContentState
	told     [model.NumScopes]bool
	begun    bool // the process that starts has done something
	trusted  bool
	changed  bool            // some source has changed: which dials met the old content is unknown from then on
	pending  int             // answers that were neither recorded nor refused
	kind     model.EventKind // of the last event
	failed   bool            // a pass was made to fail
	want     *model.Expectation
	t        model.Ms
}

// Options change how a log is judged.
type Options struct {
	SlackMs *model.Ms // instead of what the log says

	at int // the log's first line in its file
}

// New reads the first line of a log. Kinds of event that the header does not list count as written; see Lack.
func New(name string, first []byte, opt Options) (*Judge, error) {
	r, err := eventlog.NewReader(name, max(opt.at, 1), first)
	if err != nil {
		return nil, err
	}
	j := &Judge{r: r, lacks: map[string]bool{}, hides: map[string]bool{}, undone: map[string]*Unchecked{}}
	j.report.Log, j.report.Host, j.report.First, j.report.Lines = name, r.About.Host, r.Number(), 1
	j.report.Listed = r.About.Events != nil
	if list := r.About.Events; list != nil {
		for k := model.EvWake; k < model.NumEvents; k++ {
			if !slices.Contains(*list, k.String()) {
				j.Lack(k.String())
			}
		}
	}
	if list := r.About.Shows; list != nil {
		for _, part := range eventlog.Shows {
			j.hides[part] = !slices.Contains(*list, part)
		}
	}
	slack := r.About.Slack()
	if opt.SlackMs != nil {
		slack = *opt.SlackMs
	}
	h := sim.Resolve.Header(&r.Header)
	l := sim.LaunchOf(&h.Launch)
	r.Begin(l)
	j.m = model.NewMachine(r.Table, model.Options{Slack: slack, Loose: r.About.Woken != nil && !*r.About.Woken})
	j.launched(l)
	j.lay(h)
	return j, nil
}

// Lack says that the log holds no event of this kind because its host writes none.
func (j *Judge) Lack(kind string) { j.lacks[kind] = true }

// header is how a log begins.
var header = regexp.MustCompile(`(?m)^[ \t]*\{[ \t]*"mcpsim"[ \t]*:`)

// Logs judges each log of a text, one after the other; a line that begins with the key "mcpsim" begins one. It stops at the
// first that is malformed.
func Logs(name string, data []byte, opt Options) ([]*Report, error) {
	var out []*Report
	line := 1
	for begin := 0; begin < len(data) || begin == 0; {
		end := len(data)
		if nl := bytes.IndexByte(data[begin:], '\n'); nl >= 0 {
			if at := header.FindIndex(data[begin+nl+1:]); at != nil {
				end = begin + nl + 1 + at[0]
			}
		}
		opt.at = line
		rep, err := Log(name, data[begin:end], opt)
		if err != nil {
			return out, err
		}
		out = append(out, rep)
		line += bytes.Count(data[begin:end], []byte("\n"))
		if begin = end; end == 0 {
			break
		}
	}
	return out, nil
}

// Log judges a whole log. What its header does not say of the host's events is taken from the log: a kind that occurs
// nowhere is not written.
func Log(name string, data []byte, opt Options) (*Report, error) {
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if len(bytes.TrimSpace(first)) == 0 {
		return nil, &trace.Error{File: name, Line: max(opt.at, 1), Col: 1, Msg: `the log is empty; it begins with a header such as {"mcpsim":1,"log":{"version":1},"launch":{}}`}
	}
	about, found := aboutOf(first), &occurring{}
	if about.Events == nil || about.Shows == nil || about.Woken == nil {
		found = scan(rest)
	}
	j, err := New(name, first, opt)
	if err != nil {
		return nil, err
	}
	if about.Events == nil {
		for k := model.EvWake; k < model.NumEvents; k++ {
			if !found.kinds[k.String()] {
				j.Lack(k.String())
			}
		}
	}
	if about.Shows == nil {
		for _, part := range eventlog.Shows {
			j.hides[part] = found.snapshots && !found.parts[part]
		}
	}
	if about.Woken == nil && !found.woken {
		j.m = model.NewMachine(j.r.Table, model.Options{Slack: slackOf(j, opt), Loose: true})
		j.lay(sim.Resolve.Header(&j.r.Header))
	}
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if err := j.Line(line); err != nil {
			return nil, err
		}
	}
	return j.Report(), nil
}

func slackOf(j *Judge, opt Options) model.Ms {
	if opt.SlackMs != nil {
		return *opt.SlackMs
	}
	return j.r.About.Slack()
}

// Line judges the next line.
func (j *Judge) Line(text []byte) error {
	_, err := j.line(text)
	return err
}

func (j *Judge) line(text []byte) (it *eventlog.Item, err error) {
	it, err = j.r.Line(text)
	if err != nil || it == nil {
		return nil, err
	}
	j.report.Lines = j.r.Number() - j.report.First + 1
	defer func() {
		if e := recover(); e != nil {
			err = &trace.Error{File: j.r.Name, Line: j.r.Number(), Col: 1, Msg: fmt.Sprintf("the model cannot go on from here: %v; this line says what cannot be at this point", e)}
		}
	}()
	return it, j.take(it)
}

func (j *Judge) take(it *eventlog.Item) error {
	j.boot(it)
	j.t = max(j.t, it.T)
	switch {
	case it.Input != nil:
		j.report.Inputs++
		return j.input(it.T, it.Input)
	case it.Event != nil:
		j.report.Events++
		j.kind = it.Event.Kind
		j.found(observed, j.observe(it.T, it.Event))
		if k := it.Event.Kind; k == model.EvDecided || k == model.EvRefused {
			j.pending = max(j.pending-1, 0)
		}
	case it.Settled != nil && *it.Settled:
		j.report.Shown++
		j.settled(it.T, it.Snapshot)
	case it.Settled != nil:
		if !j.m.Stuck() {
			j.found(compared, []model.Violation{{At: it.T, Invariant: "LIVE-3", Sentence: "the host settles within 10 minutes", Rules: []string{"D-6"},
				Detail: "not settled within 10 minutes"}})
		}
	case it.Passed:
		j.found(observed, j.m.Advance(it.T))
	}
	return nil
}

func (j *Judge) input(at model.Ms, in *model.Input) error {
	if err := j.m.Input(at, in); err != nil {
		return &trace.Error{File: j.r.Name, Line: j.r.Number(), Col: 1, Msg: err.Error()}
	}
	switch in.Kind {
	case model.InFile:
		j.touched(in.Scope)
		j.plain[in.Scope], j.states[in.Scope] = plain(&in.Content), in.Content.State
	case model.InRecords:
		j.states[model.Approvals] = in.Content.State
		j.plain[model.Approvals] = true // what cannot be read is no records
		if in.On {
			j.touched(model.Approvals)
		}
	case model.InReload:
		j.reloaded[model.Defaults], j.reloaded[model.System] = true, true
	case model.InTrust:
		if in.On == j.trusted {
			break
		}
		j.trusted = in.On
		for s := range j.unread {
			j.touched(model.Scope(s))
		}
		j.reloaded[model.Defaults], j.reloaded[model.System] = true, true
	case model.InRead:
		j.reads = true
		if !j.booting && j.lacks["load"] { // its load follows, and is not written
			j.m.Observe(at, &model.Event{Kind: model.EvLoad, Scope: in.Scope, Why: "reload"})
			j.unread[in.Scope], j.changed = false, true
		}
	case model.InFault:
		j.faults = true
		j.failed = j.failed || in.FaultKind == "pass" || in.FaultKind == "publish"
	case model.InDecide:
		j.report.Decisions = true
		j.pending++
	case model.InCall:
		j.report.Calls = true
	case model.InRestart:
		j.launched(in.Launch)
	}
	return nil
}

func (j *Judge) launched(l *model.Launch) {
	j.report.Pool = j.report.Pool || l.Mode == model.Pool
	j.booting, j.bootedAt, j.changed = true, j.t, false
	j.unread, j.told, j.begun, j.trusted = [model.NumScopes]bool{}, [model.NumScopes]bool{}, false, l.Trusted
}

// plain reports that a source replaces whatever was in force (SRC-6, SRC-8).
func plain(c *model.Content) bool {
	is := func(v *model.Value, k model.JSONKind) bool { return v == nil || v.Kind == model.Null || v.Kind == k }
	if c.State == model.Missing {
		return true
	}
	mcp := c.Value.Get("mcp")
	return c.State == model.Good && is(c.Value.Get("mcpServers"), model.Object) && is(mcp, model.Object) &&
		is(mcp.Get("allowed"), model.Array) && is(mcp.Get("excluded"), model.Array)
}

func (j *Judge) touched(s model.Scope) {
	if again := j.told[s]; !j.booting || j.begun || again { // while it starts, what is told first is what is there
		j.unread[s], j.changed, j.reloaded[s] = true, true, false
	}
	j.told[s] = true
}

// boot says for a host that writes no loads what it read at the start: what was there.
func (j *Judge) boot(it *eventlog.Item) {
	if !j.booting {
		return
	}
	if it.T == j.bootedAt {
		if it.Input != nil && it.Input.Kind != model.InReload {
			return
		}
		ev := it.Event
		if ev == nil {
			ev = &model.Event{}
		}
		switch ev.Kind {
		case model.EvSessionOpened, model.EvWatch, model.EvUnwatch, model.EvWake, model.EvNotice:
			j.begun = true
			return // these may come before the first read
		}
	}
	j.booting = false
	if !j.lacks["load"] {
		return
	}
	for s := model.Defaults; s < model.NumScopes; s++ {
		j.m.Observe(j.bootedAt, &model.Event{Kind: model.EvLoad, Scope: s, Why: "start"})
	}
}

// catchUp says for a host that writes no loads what it has read once it is settled: every change of what it watches.
// A source that is bad now, or a key of the wrong type, has left in force what nobody knows.
func (j *Judge) catchUp(at model.Ms) {
	if !j.lacks["load"] || j.reads {
		return
	}
	for s := range j.unread {
		if scope := model.Scope(s); j.unread[s] && (j.reloaded[s] || scope != model.Defaults && scope != model.System) {
			j.m.Observe(at, &model.Event{Kind: model.EvLoad, Scope: scope, Why: "reload"})
			j.unread[s] = !j.plain[s]
		}
	}
	j.reloaded = [model.NumScopes]bool{}
}

// observe adds what follows from an event and that the log does not have.
func (j *Judge) observe(at model.Ms, ev *model.Event) []model.Violation {
	if ev.Kind == model.EvPublished && j.lacks["dialed"] { // nothing is published before its discovery is complete
		j.m.Observe(at, &model.Event{Kind: model.EvDialed, Conn: ev.Conn, Server: ev.Server})
	}
	if ev.Kind == model.EvLoad && ev.Outcome == "kept" && j.faults && !j.reads { // the world broke the read, and no "read" says what it got
		_ = j.m.Input(at, &model.Input{Kind: model.InRead, Scope: ev.Scope, Content: model.Content{State: j.badState(ev.Scope)}})
	}
	return j.m.Observe(at, ev)
}

// badState is the state of a source that a read could not make anything of: its own if that is bad, or unreadable.
func (j *Judge) badState(s model.Scope) model.ContentState {
	if st := j.states[s]; st != model.Good && st != model.Missing {
		return st
	}
	return model.Unreadable
}

func (j *Judge) settled(at model.Ms, got *model.Snapshot) {
	j.catchUp(at)
	j.found(observed, j.m.Advance(at)) // silence first: Settled has its own findings
	want, bad := j.m.Settled(at)
	j.want = want
	j.found(settled, bad)
	if got == nil {
		return // only asked what must be so
	}
	j.hide(want, got)
	j.found(compared, sim.Compare(at, want, got))
}

// found sorts violations into findings and what cannot be decided.
func (j *Judge) found(from source, list []model.Violation) {
	for i := range list {
		v := &list[i]
		if lack := j.undecidable(v, from); lack != "" {
			j.unchecked(v.Invariant, lack, 1)
			continue
		}
		j.report.Findings = append(j.report.Findings, Finding{j.r.Number(), *v})
	}
}

func (j *Judge) unchecked(invariant, lack string, n int) {
	u := j.undone[invariant]
	if u == nil {
		u = &Unchecked{Invariant: invariant}
		j.undone[invariant] = u
	}
	u.Count += n
	if !slices.Contains(u.Lacks, lack) {
		u.Lacks = append(u.Lacks, lack)
	}
}

// Findings are those so far, in order.
func (j *Judge) Findings() []Finding { return j.report.Findings }

// Report sums up.
func (j *Judge) Report() *Report {
	r := &j.report
	j.found(observed, j.m.Observe(j.t, &model.Event{})) // what an input at the end has left
	r.Checks = map[string]int{}
	for id, n := range j.m.Checks {
		r.Checks[id] = n
	}
	for k := model.EvWake; k < model.NumEvents; k++ {
		if j.lacks[k.String()] {
			r.Lacks = append(r.Lacks, k.String())
			j.sumUp(k.String(), r.Checks)
		}
	}
	for _, inv := range model.Invariants {
		if u := j.undone[inv.ID]; u != nil {
			u.All = r.Checks[inv.ID] == 0
			r.Unchecked = append(r.Unchecked, *u)
		}
	}
	return r
}
