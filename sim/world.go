package sim

import (
	"fmt"
	"strings"

	"mcpsim/model"
	"mcpsim/sim/fakemcp"
	"mcpsim/sim/trace"
)

// SettleBudget is how long a host may take to settle (spec section 1, "settled").
const SettleBudget model.Ms = 600000

// PlayOptions say how a trace is played.
type PlayOptions struct {
	// Slack is how late a reaction may be: 0 in virtual time.
	Slack model.Ms
	// Patience is how long an expectation that is not met is asked again: where time passes by itself, what is due at an
	// instant comes a little later.
	Patience model.Ms
	// Early is how long before an instant its expectations may be met already: who looks is late as well.
	Early model.Ms
	// Budget is how long a host may take to settle; 0: SettleBudget.
	Budget model.Ms
	// Loose: the world does not tell which file events reached the host.
	Loose bool
	// History keeps a line per input and event: for determinism, replay -v and the reports.
	History bool
	// KeepGoing plays on after a violation.
	KeepGoing bool
	// Fill gets, for each expect step, the full expectation that the model has there (corpus update). Where the model allows
	// a server several states, what depends on the state is left out.
	Fill func(i int, e *trace.Expect)
	// OnStep is called after each step with what the model expects and the host shows (replay -v, -step); both cost time.
	OnStep func(i int, at model.Ms, want *model.Expectation, got *model.Snapshot)
}

// Result is what a play came to.
type Result struct {
	Violations []model.Violation
	Step       int      // the step at which the first violation was found, 0-based; len(Steps) after the last
	Mismatches []string // differences between an expect step and the model: the trace is wrong, or the model
	Err        error    // the trace or the world is malformed
	Events     int
	Loads      int
	Dials      int
	Settles    []model.Expectation // the model's expectation at every settle (INV-20)
	Shown      []model.Snapshot    // what the host showed there
	History    []string
	Checks     map[string]int
	Skipped    map[string]int
	Goals      map[string]int
	End        model.Ms
}

// Failed reports whether anything was found.
func (r *Result) Failed() bool { return len(r.Violations) > 0 || len(r.Mismatches) > 0 || r.Err != nil }

// recorder stands between the world and the machine and keeps what passes.
type recorder struct {
	m      *model.Machine
	r      *Result
	opt    PlayOptions
	t      *model.Table
	failed bool
}

func (k *recorder) Input(at model.Ms, in model.Input) {
	if k.opt.History {
		k.r.History = append(k.r.History, inputLine(at, &in))
	}
	if err := k.m.Input(at, &in); err != nil && k.r.Err == nil {
		k.r.Err = err
	}
}

func (k *recorder) Event(at model.Ms, ev *model.Event) {
	k.r.Events++
	switch ev.Kind {
	case model.EvLoad:
		k.r.Loads++
	case model.EvDial:
		k.r.Dials++
	}
	if k.opt.History {
		k.r.History = append(k.r.History, EventLine(at, ev))
	}
	k.take(k.m.Observe(at, ev))
}

func (k *recorder) take(v []model.Violation) {
	if len(v) > 0 {
		k.failed = true
		k.r.Violations = append(k.r.Violations, v...)
		if k.opt.History {
			for _, x := range v {
				k.r.History = append(k.r.History, fmt.Sprintf("%6d  !! %s %s", x.At, x.Invariant, x.Detail))
			}
		}
	}
}

// Play plays a trace on a stage and a system and judges it. Both are reset first and stay open.
func Play(tr *trace.Trace, st Stage, sys System, opt PlayOptions) *Result {
	r := &Result{}
	url := Resolve
	if u, ok := st.(interface{ URL(key string) string }); ok {
		url = u.URL
	}
	tr = resolved(tr, url)
	table := model.NewTable(LaunchOf(&tr.Header.Launch))
	m := model.NewMachine(table, model.Options{Slack: opt.Slack, Loose: opt.Loose})
	k := &recorder{m: m, r: r, opt: opt, t: table}
	w := &player{tr: tr, st: st, sys: sys, k: k, r: r, m: m, t: table}
	r.Err = w.play()
	r.Checks, r.Skipped, r.Goals = m.Checks, m.Skipped, m.Goals()
	r.End = st.Now()
	return r
}

type player struct {
	tr        *trace.Trace
	st        Stage
	sys       System
	k         *recorder
	r         *Result
	m         *model.Machine
	t         *model.Table
	lastDials []model.Count
	at        int          // the step that is played
	met       map[int]bool // expectations, by step, that were met early
}

func (p *player) play() (err error) {
	if err := p.st.Reset(&p.tr.Header, p.t, p.k); err != nil {
		return err
	}
	if err := p.sys.Reset(&p.tr.Header, p.st, p.t, p.k); err != nil {
		return err
	}
	for i := range p.tr.Steps {
		s := &p.tr.Steps[i]
		if err := p.step(i, s); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, s.Do, err)
		}
		if p.k.opt.OnStep != nil {
			if err := p.turn(func() error {
				got, err := p.observe()
				if err == nil {
					p.k.opt.OnStep(i, p.st.Now(), p.m.Expected(), got)
				}
				return err
			}); err != nil {
				return err
			}
		}
		if (p.k.failed || len(p.r.Mismatches) > 0) && !p.k.opt.KeepGoing {
			p.r.Step = i
			return p.r.Err
		}
	}
	p.r.Step = len(p.tr.Steps)
	return p.r.Err
}

// turn runs f while nothing else happens.
func (p *player) turn(f func() error) error {
	if t, ok := p.st.(Turner); ok {
		return t.Turn(f)
	}
	return f()
}

// step performs one step. What it causes runs in the next advance or settle, so that two steps can meet in one instant.
func (p *player) step(i int, s *trace.Step) error {
	p.at = i
	switch s.Do {
	case trace.Note:
		return nil
	case trace.Advance:
		if err := p.advance(i, s.Ms); err != nil {
			return err
		}
		return p.turn(func() error {
			p.k.take(p.m.Advance(p.st.Now()))
			return nil
		})
	case trace.Settle:
		return p.settle()
	case trace.ExpectStep:
		if p.met[i] {
			return nil
		}
		return p.expect(s)
	}
	ok, err := p.st.Do(s)
	if err != nil || ok {
		return err
	}
	return p.sys.Do(s)
}

// advance lets d pass. What is expected at the end of it may be met a little before.
func (p *player) advance(i int, d model.Ms) error {
	early := p.k.opt.Early
	if early == 0 || d <= early {
		if err := p.st.Advance(d); err != nil {
			return err
		}
		return p.awaitDue()
	}
	if err := p.st.Advance(d - early); err != nil {
		return err
	}
	for j := i + 1; j < len(p.tr.Steps); j++ {
		s := &p.tr.Steps[j]
		if s.Do == trace.Note {
			continue
		}
		if s.Do != trace.ExpectStep {
			break
		}
		if err := p.turn(func() error {
			met, err := p.meets(s, false)
			if met {
				if p.met == nil {
					p.met = map[int]bool{}
				}
				p.met[j] = true
			}
			return err
		}); err != nil {
			return err
		}
		if !p.met[j] { // what comes after it counts from it
			break
		}
	}
	if err := p.st.Advance(early); err != nil {
		return err
	}
	return p.awaitDue()
}

// awaitDue waits, as long as it may be late, for what the model, or the system, knows to be due by now: an advance includes
// its end.
func (p *player) awaitDue() error {
	const look model.Ms = 2
	if p.k.opt.Slack == 0 {
		return nil
	}
	end := model.Ms(-1)
	for left := p.k.opt.Slack; left > 0; left -= look {
		late := false
		if err := p.turn(func() error {
			if end < 0 {
				end = p.st.Now()
			}
			due, ok := p.m.Due()
			late = ok && due <= end
			if o, is := p.sys.(interface{ Overdue(at model.Ms) bool }); is {
				late = late || o.Overdue(end)
			}
			return nil
		}); err != nil || !late {
			return err
		}
		if err := p.st.Advance(look); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) observe() (*model.Snapshot, error) {
	snap, err := p.sys.Observe()
	if err != nil {
		return nil, err
	}
	p.st.Snapshot(&snap.Host)
	return &snap, nil
}

func (p *player) settle() error {
	budget := p.k.opt.Budget
	if budget == 0 {
		budget = SettleBudget
	}
	ok, err := p.sys.Settle(budget)
	if err != nil {
		return err
	}
	if ok {
		return p.turn(p.settled)
	}
	why := ""
	if b, is := p.sys.(interface{ Busy() []string }); is {
		why = strings.Join(b.Busy(), ", ")
	}
	return p.turn(func() error {
		if p.m.Stuck() {
			return nil
		}
		p.k.take([]model.Violation{{At: p.st.Now(), Invariant: "LIVE-3", Sentence: "the host settles within 10 minutes of virtual time",
			Rules: []string{"D-6"}, Detail: fmt.Sprintf("not settled within %d s: %s", budget/1000, why)}})
		return nil
	})
}

func (p *player) settled() error {
	now := p.st.Now()
	want, bad := p.m.Settled(now)
	p.k.take(bad)
	got, err := p.observe()
	if err != nil {
		return err
	}
	p.r.Settles = append(p.r.Settles, *want)
	p.r.Shown = append(p.r.Shown, *got)
	if p.k.opt.History {
		p.k.r.History = append(p.k.r.History, SnapshotLines(now, got)...)
	}
	p.k.take(Compare(now, want, got))
	return nil
}

// expect holds an expectation of the trace against both: against the host it is a finding, against the model the trace
// itself is wrong (or the model).
func (p *player) expect(s *trace.Step) error {
	for left := p.k.opt.Patience; ; left -= again {
		met := false
		if err := p.turn(func() (err error) {
			met, err = p.meets(s, left <= 0)
			return err
		}); err != nil || met || left <= 0 {
			return err
		}
		if err := p.st.Advance(again); err != nil {
			return err
		}
	}
}

// again is the pause before an expectation that is not met is asked again.
const again model.Ms = 10

// meets reports whether an expectation is met; if it is not and last says so, that is found.
func (p *player) meets(s *trace.Step, last bool) (bool, error) {
	got, err := p.observe()
	if err != nil {
		return false, err
	}
	now := p.st.Now()
	configOf := func(server string, v *model.Value) (model.ConfigID, model.FpID) {
		cfg, _ := p.t.Entry(server, v, true)
		if cfg == nil {
			return 0, 0
		}
		return cfg.ID, cfg.Fp
	}
	host := trace.Match(s.Expect, got, configOf, p.lastDials)
	want := p.m.Expected()
	foldOptional(want, got)
	judge := trace.Match(s.Expect, &want.Snapshot, configOf, p.lastDials)
	met := len(host)+len(judge) == 0
	if !met && !last {
		return false, nil
	}
	for _, mm := range host {
		p.k.take([]model.Violation{{At: now, Invariant: "EXPECT", Sentence: "the host shows what the trace expects",
			Rules: p.tr.Header.Rules, Detail: fmt.Sprintf("line %d: %s: expected %s, the host shows %s", s.Line, mm.Path, mm.Want, mm.Got)}})
	}
	for _, mm := range judge {
		p.r.Mismatches = append(p.r.Mismatches, fmt.Sprintf("line %d: %s: the trace expects %s, the model says %s", s.Line, mm.Path, mm.Want, mm.Got))
	}
	said := s.Expect
	if p.k.opt.Fill != nil {
		said = p.full(want)
		p.k.opt.Fill(p.at, said)
	}
	p.lastDials = trace.Since(said, got, p.lastDials)
	return met, nil
}

// full is everything the model says of this moment, as a trace spells it: configs as their entries, addresses as the
// placeholders that stand for them.
func (p *player) full(want *model.Expectation) *trace.Expect {
	entry := func(cfg *model.Config) *model.Value {
		if cfg == nil {
			return nil
		}
		raw, err := trace.ParseValue([]byte(cfg.Text)) // as it counts: a duplicate key is there once
		if err != nil {
			return cfg.Raw
		}
		return trace.URL(Resolve).Unresolve(&p.tr.Header, raw)
	}
	of := trace.EntryOf{
		Config:      func(_ string, id model.ConfigID) *model.Value { return entry(p.t.ByID(id)) },
		Fingerprint: func(_ string, id model.FpID) *model.Value { return entry(p.t.ByFp(id)) },
	}
	e := trace.FromSnapshot(&want.Snapshot, of, p.lastDials, p.tr.Header.Launch.Mode == "pool")
	for i := range want.Sessions {
		x := &e.Sessions[i]
		for _, sv := range want.Sessions[i].Servers {
			if sv.States&(sv.States-1) != 0 { // what it offers and shows depends on the state it is in
				x.Tools, x.Prompts, x.Resources, x.Hint, x.Shows = nil, nil, nil, nil, nil
			}
		}
	}
	return e
}

// foldOptional lets the notices that only the host can know of stand in the model's expectation as the host shows them.
func foldOptional(want *model.Expectation, got *model.Snapshot) {
	for i := range want.Sessions {
		g := findSession(got, want.Sessions[i].ID)
		if g == nil {
			continue
		}
		w := &want.Sessions[i]
		kept := w.Notices[:0:0]
		for _, n := range w.Notices {
			if !isOptional(want.Optional, n) {
				kept = append(kept, n)
			}
		}
		for _, n := range g.Notices {
			if isOptional(want.Optional, n) {
				kept = append(kept, n)
			}
		}
		w.Notices = kept
	}
}

// LaunchOf turns a header's launch into the model's.
func LaunchOf(l *trace.Launch) *model.Launch {
	root := PathRoot
	if l.Cwd == "home" {
		root = PathHome
	}
	out := l.Model(root)
	return &out
}

// Resolve gives a scripted server's address in the simulated world, where nothing listens on it.
var Resolve trace.URL = fakemcp.ResolveURL

// resolved replaces the placeholders of a whole trace.
func resolved(tr *trace.Trace, url trace.URL) *trace.Trace {
	out := &trace.Trace{Header: *url.Header(&tr.Header), Name: tr.Name, Steps: make([]trace.Step, len(tr.Steps))}
	for i := range tr.Steps {
		url.StepInto(&out.Steps[i], &tr.Steps[i])
	}
	return out
}

// The simulated machine's paths.
const (
	PathHome = "/home/user"
	PathRoot = "/project"
	PathLink = "/link"
)

// Paths returns where each source lives for a launch; "" if it does not exist there (SRC-11).
func Paths(l *model.Launch) [model.NumScopes]string {
	p := [model.NumScopes]string{
		model.Defaults:  "/etc/qwen/system-defaults.json",
		model.User:      PathHome + "/.qwen/settings.json",
		model.Project:   l.Root + "/.mcp.json",
		model.Workspace: l.Root + "/.qwen/settings.json",
		model.System:    "/etc/qwen/settings.json",
		model.Approvals: PathHome + "/.qwen/mcpApprovals.json",
	}
	if l.HomeIsRoot {
		p[model.Workspace] = ""
	}
	return p
}
