package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/model"
	"mcpsim/sim"
	simhost "mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// traceRecorder makes a trace of what happens around a live host. The trace is written whenever the host is settled, and
// ends there in an expectation of what it shows.
type traceRecorder struct {
	w    *liveWorld
	path string
	mask *traceMask
	text map[model.Scope]fileSeen // as the trace has each source so far

	atStart  [model.NumScopes]fileSeen
	started  bool
	steps    []*recorded
	woken    [model.NumScopes]*recorded // where a change that is being heard of will stand
	keys     map[string]string          // of servers: as they are → masked
	deciding []trace.Step               // decisions that are not written yet
	causes   map[string]*recorded       // the last step that has everything read
	loose    map[string]bool            // calls whose outcome is not expected
	order    []string                   // masked, as first dialled
	acts     map[string]*actor
	err      error

	pending bool // settled since it was saved
	saved   time.Time
	cost    time.Duration

	settledSteps int
	settledAt    model.Ms
	snap         *model.Snapshot
}

// recorded is a step and when it was; one without a kind is left out.
type recorded struct {
	at   model.Ms
	step trace.Step
	bare bool // of a write: what is there goes first
}

// actor is a server as the trace has it.
type actor struct {
	first, now model.Behaviour
	start      model.Ms  // its shortest start
	next       *recorded // after its last act: where another behaviour begins
}

func newTraceRecorder(w *liveWorld, path string) *traceRecorder {
	return &traceRecorder{w: w, path: path, mask: newTraceMask(), text: map[model.Scope]fileSeen{}, loose: map[string]bool{}, causes: map[string]*recorded{}, keys: map[string]string{}, acts: map[string]*actor{}}
}

func (r *traceRecorder) add(at model.Ms, s trace.Step) *recorded {
	x := &recorded{at: at, step: s}
	r.steps = append(r.steps, x)
	return x
}

// step records what a person did. A decision counts when it is written, which takes no time in the simulated world: it
// stands where it was, or where the host refused it, unless something else is looked at before.
func (r *traceRecorder) step(at model.Ms, s trace.Step) {
	switch s.Do {
	case trace.Approve, trace.Reject, trace.ApproveAll:
		r.deciding = append(r.deciding, s)
		return
	case trace.Look:
		r.decided(at, "")
	case trace.Reload, trace.Trust:
		r.causes[string(s.Do)] = r.add(at, s)
		return
	}
	r.add(at, s)
}

// decided records the decisions under way up to the first about a server, or all of them.
func (r *traceRecorder) decided(at model.Ms, server string) {
	for i, s := range r.deciding {
		if server == "" || s.Server == server || s.Do == trace.ApproveAll {
			for _, s := range r.deciding[:i+1] {
				r.add(at, s)
			}
			r.deciding = r.deciding[i+1:]
			if server != "" {
				return
			}
			r.decided(at, "")
			return
		}
	}
}

// call records a call. While something is in flight its outcome depends on what comes first.
func (r *traceRecorder) call(at model.Ms, s trace.Step, busy bool) {
	r.add(at, s)
	if busy {
		r.loose[s.ID] = true
	}
}

// Input is only heard for the file events.
func (r *traceRecorder) Input(at model.Ms, in model.Input) {
	switch in.Kind {
	case model.InFile, model.InRecords:
		s := in.Scope
		if in.Kind == model.InRecords {
			s = model.Approvals
		}
		if !r.started {
			r.atStart[s] = r.w.seen[s]
			r.text[s] = r.w.seen[s]
		}
	}
}

// Event is only heard for what the trace follows: when a change was heard of, and what was dialled.
func (r *traceRecorder) Event(at model.Ms, ev *model.Event) {
	r.started = true
	switch ev.Kind {
	case model.EvWake:
		if ev.Scope < model.NumScopes {
			r.woken[ev.Scope] = r.add(at, trace.Step{})
		}
	case model.EvWrote:
		if len(r.deciding) > 0 && strings.HasSuffix(ev.Path, "/mcpApprovals.json") {
			r.add(at, r.deciding[0])
			r.deciding = r.deciding[1:]
		}
	case model.EvDecided, model.EvRefused:
		r.decided(at, ev.Server)
	case model.EvDial:
		cfg := r.w.t.ByID(ev.Config)
		if cfg == nil {
			return
		}
		real := target(cfg)
		if _, ok := r.keys[real]; ok {
			return
		}
		masked, _ := model.NewTable(r.launch(nil)).Entry(ev.Server, r.mask.entry(cfg.Raw), true)
		if masked == nil {
			masked = cfg
		}
		key := target(masked)
		r.keys[real] = key
		if !slices.Contains(r.order, key) {
			r.order = append(r.order, key)
		}
	}
}

func target(c *model.Config) string {
	if c.Transport == model.HTTP || c.Transport == model.SSE {
		return c.URL
	}
	return c.CommandLine
}

// loaded records what the host read, as a write at the moment of the last event before it; what a person's step had read
// was there before that.
func (r *traceRecorder) loaded(at model.Ms, s model.Scope, now fileSeen, why string) {
	x := r.woken[s]
	r.woken[s] = nil
	if !r.started || now == r.text[s] {
		return
	}
	before := r.text[s]
	r.text[s] = now
	if s == model.Approvals && r.w.wroteIt(now) {
		return
	}
	if i := slices.Index(r.steps, r.causes[why]); i >= 0 && (x == nil || slices.Index(r.steps, x) > i) {
		x = &recorded{at: r.steps[i].at}
		r.steps = slices.Insert(r.steps, i, x)
	}
	if x == nil {
		x = r.add(at, trace.Step{})
	}
	x.bare = before.state == fileUnreadable && now.state != fileMissing
	x.step = trace.Step{Do: trace.Write, File: s.String()}
	if s == model.Approvals {
		x.step.File = ""
		if d, ok := r.decidedElsewhere(before, now); ok {
			x.step = d
			return
		}
		x.step.File = s.String()
	}
	r.write(&x.step, s, now)
}

// write fills in a write step.
func (r *traceRecorder) write(st *trace.Step, s model.Scope, f fileSeen) {
	switch f.state {
	case fileMissing:
		st.Do = trace.Remove
	case fileUnreadable:
		if info, err := os.Stat(r.w.paths[s]); err == nil && info.IsDir() {
			st.Kind = "directory"
		} else if err != nil && !os.IsPermission(err) {
			st.Kind = "dangling"
		} else {
			st.Unreadable = true
		}
	default:
		st.HasText = true
		if st.Text = r.mask.document(f.data); s == model.Approvals {
			st.Text = r.approvals(f)
		}
	}
}

// records are the decisions in an approvals file whose configs are known.
func (r *traceRecorder) records(f fileSeen) (list []trace.Record, good bool) {
	c, records := r.w.records(f)
	for _, v := range simhost.RecordList(records) {
		if cfg := r.w.t.ByID(v.Config); known(cfg) {
			status := "rejected"
			if v.Approved {
				status = "approved"
			}
			list = append(list, trace.Record{Server: v.Server, Config: r.mask.entry(cfg.Raw), Status: status})
		}
	}
	return list, c.State == model.Good || c.State == model.Missing
}

// known reports whether a config is one that some source held, and not only a hash.
func known(c *model.Config) bool { return c != nil && c.Raw != nil && c.Raw.Get("unknown hash") == nil }

// decidedElsewhere is the one decision that makes the second file of the first.
func (r *traceRecorder) decidedElsewhere(before, now fileSeen) (trace.Step, bool) {
	old, good := r.records(before)
	list, fine := r.records(now)
	if !good || !fine || len(list) < len(old) {
		return trace.Step{}, false
	}
	var changed []trace.Record
	for _, x := range list {
		if !slices.ContainsFunc(old, func(o trace.Record) bool {
			return o.Server == x.Server && o.Status == x.Status && model.Equal(o.Config, x.Config)
		}) {
			changed = append(changed, x)
		}
	}
	if len(changed) != 1 {
		return trace.Step{}, len(changed) == 0 && len(list) == len(old) // records of other folders
	}
	return trace.Step{Do: trace.DecideElsewhere, Server: changed[0].Server, Config: changed[0].Config, Status: changed[0].Status}, true
}

// approvals is an approvals file as the host of the simulated world reads it.
func (r *traceRecorder) approvals(f fileSeen) string {
	list, good := r.records(f)
	if !good {
		return `{"version":`
	}
	x := simhost.NewTranslator(model.NewTable(r.launch(nil)))
	root := sim.LaunchOf(&trace.Launch{Cwd: r.cwd()}).Root
	var lines []approval.RecordLine
	for _, rec := range list {
		if l, ok := x.Record(config.NewCache(), root, rec.Server, rec.Config, rec.Status); ok {
			lines = append(lines, l)
		}
	}
	return string(approval.Encode(lines))
}

func (r *traceRecorder) cwd() string {
	if r.w.paths[model.Workspace] == "" {
		return "home"
	}
	return ""
}

// server records how a server acts (what is the list that it announced, "" if it was dialled), or that it crashed.
func (r *traceRecorder) server(at model.Ms, key, what string, b *model.Behaviour, began *time.Time) {
	key, ok := r.keys[key]
	if !ok {
		return
	}
	a := r.acts[key]
	if what == "crash" {
		r.add(at, trace.Step{Do: trace.Crash, Server: key})
		if a != nil {
			a.next = r.add(at, trace.Step{})
		}
		return
	}
	took := model.Ms(time.Since(*began).Milliseconds())
	if a == nil {
		a = &actor{first: *b, now: *b, start: took}
		r.acts[key] = a
	}
	if b.Fault == model.NoFault && what == "" {
		if a.now.Fault != model.NoFault && a.first.Fault != model.NoFault {
			a.start = took
		}
		a.start = min(a.start, took)
	}
	if a.now.Fault != b.Fault || !slices.Equal(a.now.Tools, b.Tools) || !slices.Equal(a.now.Prompts, b.Prompts) || !slices.Equal(a.now.Resources, b.Resources) {
		x := a.next
		if what != "" {
			x = r.add(at, trace.Step{})
			x.step.ListChanged, x.step.ListKinds = true, []string{what}
		}
		c := *b
		x.step.Do, x.step.Server, x.step.Behaviour = trace.Server, key, &c
		a.now = *b
	}
	a.next = r.add(at, trace.Step{})
}

// Settled writes the trace up to here.
func (r *traceRecorder) Settled(at model.Ms, snap *model.Snapshot) {
	c := *snap
	r.decided(at, "")
	r.add(at, trace.Step{Do: trace.Settle})
	clear(r.causes)
	r.settledSteps, r.settledAt, r.snap = len(r.steps), at, &c
	r.pending = true
	if time.Since(r.saved) >= 50*r.cost { // the host waits meanwhile
		r.saveNow()
	}
}

// Flush writes what is not written, and returns the first error of writing.
func (r *traceRecorder) Flush() error {
	if r.pending {
		r.saveNow()
	}
	return r.err
}

func (r *traceRecorder) saveNow() {
	began := time.Now()
	if err := r.save(); err != nil && r.err == nil {
		r.err = err
	}
	r.pending, r.saved, r.cost = false, time.Now(), time.Since(began)
}

// save puts the trace in place of what the file held.
func (r *traceRecorder) save() error {
	text := trace.Print(r.trace())
	if _, err := trace.Parse(r.path, text); err != nil {
		return fmt.Errorf("the recorded trace is malformed: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".mcpsim-*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = cmp.Or(err, f.Close(), os.Chmod(f.Name(), 0o644), os.Rename(f.Name(), r.path))
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// launch is how the recorded host was started; of texts, which name variables, its environment has those.
func (r *traceRecorder) launch(texts []string) *model.Launch {
	l := r.traceLaunch(texts)
	return sim.LaunchOf(&l)
}

var variableName = regexp.MustCompile(`\$\{?([A-Za-z_][A-Za-z0-9_]*)`)

func (r *traceRecorder) traceLaunch(texts []string) trace.Launch {
	l := r.w.opt.launch(r.cwd() == "home")
	if l.Mode == "single" {
		l.Mode = ""
	}
	if l.Approvals == "ask" {
		l.Approvals = ""
	}
	names := map[string]bool{}
	if texts == nil {
		for _, x := range r.steps {
			texts = append(texts, x.step.Text)
		}
		for _, f := range r.atStart {
			texts = append(texts, f.data)
		}
		for _, f := range r.w.seen {
			texts = append(texts, f.data)
		}
	}
	for _, t := range texts {
		for _, m := range variableName.FindAllStringSubmatch(t, -1) {
			names[m[1]] = true
		}
	}
	env := model.Obj()
	for _, name := range sortedNames(names) {
		if v, ok := os.LookupEnv(name); ok {
			env.Members = append(env.Members, model.Member{Key: name, Value: model.Str(r.mask.variable(name, v))})
		}
	}
	if len(env.Members) > 0 {
		l.Env = env
	}
	return l
}

func sortedNames(m map[string]bool) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// trace is what was recorded up to the last settled moment.
func (r *traceRecorder) trace() *trace.Trace {
	tr := &trace.Trace{Header: trace.Header{Version: 1, Title: "recorded by mcpsim live",
		Real: "its commands and addresses are those of the machine that it was recorded on", Launch: r.traceLaunch(nil)}}
	for _, key := range r.order {
		a := r.acts[key]
		if a == nil {
			continue
		}
		b := a.first
		if b.Fault == model.NoFault {
			b.Delays[model.StepStart].Ms = a.start
		}
		tr.Header.Servers = append(tr.Header.Servers, trace.ServerBehaviour{Key: key, Behaviour: b})
	}
	for s := model.Defaults; s < model.Approvals; s++ {
		f := r.atStart[s]
		if !f.told || f.state == fileMissing {
			continue
		}
		w := trace.Step{Do: trace.Write}
		r.write(&w, s, f)
		tr.Header.Files = append(tr.Header.Files, trace.FileAtStart{File: s.String(), Write: w})
	}
	if f := r.atStart[model.Approvals]; f.state != fileMissing {
		list, good := r.records(f)
		tr.Header.Records, tr.Header.CorruptRecords = list, !good
	}
	tr.Steps = r.timed()
	pool := tr.Header.Launch.Mode == "pool"
	entry := trace.EntryOf{
		Config: func(_ string, id model.ConfigID) *model.Value {
			if c := r.w.t.ByID(id); c != nil {
				return r.mask.entry(c.Raw)
			}
			return nil
		},
		Fingerprint: func(_ string, fp model.FpID) *model.Value {
			if c := r.w.t.ByFp(fp); c != nil {
				return r.mask.entry(c.Raw)
			}
			return nil
		}}
	e := trace.FromSnapshot(r.snap, entry, nil, pool)
	e.Host.Dials, e.Host.Processes = nil, nil
	*e.Host.Records = slices.DeleteFunc(*e.Host.Records, func(x trace.Record) bool { return x.Config.Get("unknown hash") != nil })
	for i := range e.Sessions {
		e.Sessions[i].Calls = slices.DeleteFunc(e.Sessions[i].Calls, func(c trace.NamedString) bool {
			return r.loose[c.Name] || c.Value == "running" || strings.HasPrefix(c.Value, "error:") // how long a tool takes is not recorded
		})
	}
	tr.Steps = append(tr.Steps, trace.Step{Do: trace.ExpectStep, Expect: e})
	return tr
}

// follows reports whether a step answers what a step before it in the same instant has done; what a step does begins when
// time passes.
func follows(out []trace.Step, do trace.StepKind) bool {
	if len(out) == 0 {
		return false
	}
	switch do {
	case trace.Look, trace.Approve, trace.Reject, trace.ApproveAll, trace.Call:
		switch out[len(out)-1].Do {
		case trace.Reload, trace.Trust, trace.Write, trace.Remove, trace.Open, trace.Close:
			return true
		}
	}
	return false
}

// timed are the steps with the time between them. After a settle nothing is under way, so what time it takes does not count.
func (r *traceRecorder) timed() []trace.Step {
	var out []trace.Step
	var now model.Ms
	for _, x := range r.steps[:r.settledSteps] {
		if x.step.Do == "" {
			continue
		}
		if x.step.Do != trace.Settle && x.at > now {
			out = append(out, trace.Step{Do: trace.Advance, Ms: x.at - now})
		}
		if follows(out, x.step.Do) {
			out = append(out, trace.Step{Do: trace.Advance, Ms: 1})
		}
		now = max(now, x.at)
		if x.bare {
			out = append(out, trace.Step{Do: trace.Remove, File: x.step.File})
		}
		out = append(out, x.step)
	}
	return out
}
