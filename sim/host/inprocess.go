package host

import (
	"fmt"
	"sort"
	"strings"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// InProcess is the reference host as a System, in the simulated world of a FakeStage.
type InProcess struct {
	st    *FakeStage
	h     *impl.Host
	x     *translator
	t     *model.Table
	sink  sim.Sink
	cache *config.Cache

	launch                    trace.Launch
	sessions                  []model.SessionID
	shown                     map[model.SessionID][]event.Question // what was last looked at
	calls                     map[string]*callState
	order                     []string
	group                     int
	alive                     int // counts host processes: callbacks of a dead one are dropped
	extensions                []extension
	armed                     []trace.Step // faults pass and publish, with how many are left
	listenerMs, listenerTimes int
}

type callState struct {
	session model.SessionID
	outcome string
}

type extension struct {
	name string
	text []byte
}

// NewInProcess returns a host for a stage; Reset starts it.
func NewInProcess(st *FakeStage) *InProcess {
	return &InProcess{st: st, cache: st.cache}
}

// Caps: everything.
func (p *InProcess) Caps() sim.Caps {
	return sim.Caps{Pool: true, Sessions: true, Runtime: true, Extensions: true, Calls: true, ListChanged: true, Events: true, VirtualTime: true, Trust: true}
}

// Reset starts the host that a header describes.
func (p *InProcess) Reset(hd *trace.Header, st sim.Stage, t *model.Table, sink sim.Sink) error {
	p.t, p.sink, p.x = t, sink, p.st.x
	p.launch = hd.Launch
	p.shown, p.calls, p.order = map[model.SessionID][]event.Question{}, map[string]*callState{}, nil
	p.armed, p.extensions, p.group = nil, nil, 0
	p.listenerMs, p.listenerTimes = 0, 0
	for i := range hd.Faults {
		p.fault(&hd.Faults[i])
	}
	return p.boot()
}

// boot starts a host process with the present launch.
func (p *InProcess) boot() error {
	p.alive++
	me := p.alive
	l := sim.LaunchOf(&p.launch)
	paths := sim.Paths(l)
	cwd := sim.PathRoot
	switch p.launch.Cwd {
	case "home":
		cwd = sim.PathHome
	case "link":
		cwd = sim.PathLink
	}
	env := l.Env
	o := impl.Options{Home: sim.PathHome, Cwd: cwd, DefaultsPath: paths[model.Defaults], SystemPath: paths[model.System],
		Pool: l.Mode == model.Pool, Trusted: l.Trusted, Bare: l.Bare, ApprovalsOff: l.ApprovalsOff, HasFlag: l.HasFlag, Flag: l.Flag,
		Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }, Initialized: !l.Uninitialized, Cache: p.cache, Inject: p.inject}
	if l.McpConfig != nil {
		o.McpConfig = l.McpConfig.Append(nil)
	}
	ports := p.st.ports(me)
	ports.Observe = func(ev *event.Event) {
		if p.alive == me {
			p.observe(ev)
		}
	}
	h, err := impl.New(o, ports)
	if err != nil {
		return fmt.Errorf("the host does not start: %w", err)
	}
	p.h = h
	p.st.retries = h.Retries
	h.Subscribe("observer", p.listen)
	p.sessions = nil
	for _, x := range p.extensions {
		h.SetExtension(x.name, x.text)
	}
	for _, id := range l.Sessions {
		if err := p.open(id, nil); err != nil {
			return err
		}
	}
	h.Start(nil)
	return p.st.Advance(0) // what is there at start is loaded before anything else happens
}

func (p *InProcess) open(id model.SessionID, servers *model.Value) error {
	for _, s := range p.sessions {
		if s == id {
			return nil // every step is legal in every state: opening an open session is nothing
		}
	}
	p.sessions = append(p.sessions, id)
	sort.Slice(p.sessions, func(i, j int) bool { return p.sessions[i] < p.sessions[j] })
	var text []byte
	if servers != nil {
		text = servers.Append(nil)
	}
	_ = p.h.OpenSession(port.SessionID(id), text) // a malformed map is a notice, not a broken trace
	return nil
}

func (p *InProcess) observe(ev *event.Event) {
	m := p.x.event(ev)
	switch ev.Kind {
	case event.CallEnd:
		if c := p.calls[ev.Call]; c != nil {
			c.outcome = ev.Outcome
		}
	}
	p.sink.Event(model.Ms(ev.T), m)
}

// inject makes the comparing part of a pass or a publication fail, as often as the trace armed it.
func (p *InProcess) inject(point string, s port.SessionID, server string) error {
	for i := range p.armed {
		f := &p.armed[i]
		if f.Kind == point && f.Times > 0 && (f.Session == "" || f.Session == string(s)) && (f.Server == "" || point != "publish" || f.Server == server) {
			f.Times--
			return fmt.Errorf("injected: %s", point)
		}
	}
	return nil
}

// listen is a second listener beside the host's own; armed, it throws or takes its time (WAT-6).
func (p *InProcess) listen(_ []event.Change, done func(error)) {
	if p.listenerTimes > 0 {
		p.listenerTimes--
		if p.listenerMs == 0 {
			panic("the listener throws")
		}
		p.st.after(model.Ms(p.listenerMs), func() { done(nil) })
		return
	}
	done(nil)
}

func (p *InProcess) fault(s *trace.Step) {
	times := max(s.Times, 1)
	switch s.Kind {
	case "pass", "publish":
		f := *s
		f.Times = times
		p.armed = append(p.armed, f)
	case "listener":
		p.listenerTimes += times
		p.listenerMs = int(s.Ms)
	}
}

// Do performs a step that concerns the host.
func (p *InProcess) Do(s *trace.Step) error {
	id := model.SessionID(s.Session)
	if id == "" {
		id = "s1"
		if len(p.sessions) > 0 {
			id = p.sessions[0]
		}
	}
	if p.h == nil && s.Do != trace.Restart {
		return nil
	}
	sid := port.SessionID(id)
	now := p.st.Now()
	switch s.Do {
	case trace.Look:
		p.shown[id] = p.h.Questions(sid)
	case trace.Approve, trace.Reject, trace.ApproveAll:
		p.decide(id, s)
	case trace.Reload:
		p.sink.Input(now, model.Input{Kind: model.InReload, Session: id})
		p.h.Reload(sid, nil)
	case trace.Call:
		p.call(id, s)
	case trace.RuntimeAdd:
		p.sink.Input(now, model.Input{Kind: model.InRuntimeAdd, Session: id, Server: s.Server, Entry: s.Config})
		p.h.AddRuntime(sid, s.Server, s.Config.Append(nil), nil)
	case trace.RuntimeRemove:
		p.sink.Input(now, model.Input{Kind: model.InRuntimeRemove, Session: id, Server: s.Server})
		p.h.RemoveRuntime(sid, s.Server, nil)
	case trace.Extension:
		p.extension(s)
	case trace.Open:
		p.sink.Input(now, model.Input{Kind: model.InOpen, Session: id, Servers: s.Servers})
		return p.open(id, s.Servers)
	case trace.Close:
		p.sink.Input(now, model.Input{Kind: model.InClose, Session: id})
		for i, x := range p.sessions {
			if x == id {
				p.sessions = append(p.sessions[:i:i], p.sessions[i+1:]...)
				break
			}
		}
		delete(p.shown, id)
		p.h.CloseSession(sid)
	case trace.Trust:
		p.sink.Input(now, model.Input{Kind: model.InTrust, On: s.Trusted})
		p.h.SetTrusted(s.Trusted)
	case trace.Initialize:
		p.sink.Input(now, model.Input{Kind: model.InInitialize})
		p.h.Initialize()
	case trace.Shutdown:
		p.sink.Input(now, model.Input{Kind: model.InShutdown})
		p.sessions = nil
		p.h.Shutdown(nil)
	case trace.Restart:
		return p.restart(s)
	case trace.Fault:
		p.sink.Input(now, model.Input{Kind: model.InFault, FaultKind: model.FaultKind(s.Kind), Times: s.Times, Ms: s.Ms})
		p.fault(s)
	default:
		return fmt.Errorf("the host does not know the step %q", s.Do)
	}
	return nil
}

// decide answers what was last looked at, or the present queue if nobody looked; a server that was not shown is no answer.
func (p *InProcess) decide(id model.SessionID, s *trace.Step) {
	shown, looked := p.shown[id]
	if !looked {
		shown = p.h.Questions(port.SessionID(id))
	}
	p.group++
	var answers []impl.Answer
	for _, q := range shown {
		if s.Do != trace.ApproveAll && q.Server != s.Server {
			continue
		}
		a := impl.Answer{Server: q.Server, Hash: q.Hash, Approve: s.Do != trace.Reject}
		answers = append(answers, a)
		p.sink.Input(p.st.Now(), model.Input{Kind: model.InDecide, Session: id, Server: q.Server, Config: p.x.config(q.Entry), Approve: a.Approve, Group: p.group})
	}
	if len(answers) > 0 {
		p.h.Decide(port.SessionID(id), answers, nil)
	}
}

func (p *InProcess) call(id model.SessionID, s *trace.Step) {
	if p.calls[s.ID] != nil {
		return // an id names one call
	}
	p.calls[s.ID] = &callState{session: id}
	p.order = append(p.order, s.ID)
	p.sink.Input(p.st.Now(), model.Input{Kind: model.InCall, Session: id, Call: s.ID, Server: s.Server, Tool: s.Tool, Key: s.ModelName})
	if s.ModelName != "" {
		p.h.CallName(port.SessionID(id), s.ID, s.ModelName, nil, nil)
	} else {
		p.h.Call(port.SessionID(id), s.ID, s.Server, s.Tool, nil, nil)
	}
}

// extension installs or removes an extension; like files it outlives the process.
func (p *InProcess) extension(s *trace.Step) {
	p.sink.Input(p.st.Now(), model.Input{Kind: model.InExtension, Server: s.Name, Servers: s.Servers})
	var text []byte
	if s.Servers != nil && s.Servers.Kind != model.Null {
		text = s.Servers.Append(nil)
	}
	kept := p.extensions[:0:0]
	for _, x := range p.extensions {
		if x.name != s.Name {
			kept = append(kept, x)
		}
	}
	if text != nil {
		kept = append(kept, extension{s.Name, text})
	}
	p.extensions = kept
	p.h.SetExtension(s.Name, text)
}

// restart ends the host process as a crash does, and starts another.
func (p *InProcess) restart(s *trace.Step) error {
	p.alive++ // what the old process still has queued reaches nobody
	p.st.hostDied(s.Unsynced == "lost")
	for _, id := range p.order {
		if c := p.calls[id]; c.outcome == "" {
			c.outcome = "error:session_closed"
		}
	}
	p.launch = p.launch.With(s.Launch)
	l := sim.LaunchOf(&p.launch)
	p.t.Relaunch(l)
	p.sink.Input(p.st.Now(), model.Input{Kind: model.InRestart, Launch: l})
	p.st.hostStarts(l)
	p.shown = map[model.SessionID][]event.Question{}
	return p.boot()
}

// Settle lets time pass until the host and the world have nothing in flight.
func (p *InProcess) Settle(budget model.Ms) (bool, error) {
	return p.st.settle(budget, func() bool { return p.h == nil || len(p.h.Busy()) == 0 }, func(since model.Ms) bool {
		return p.h == nil || p.h.PolledOnceSince(port.Ms(since))
	}), nil
}

// Busy says why the host is not settled.
func (p *InProcess) Busy() []string {
	if p.h == nil {
		return nil
	}
	return append(p.h.Busy(), p.st.busy()...)
}

// Observe returns what the host shows.
func (p *InProcess) Observe() (model.Snapshot, error) {
	var out model.Snapshot
	for _, id := range p.h.Sessions() {
		st := p.h.Status(id)
		v := model.SessionView{ID: model.SessionID(id), Ask: p.x.questions(st.Questions), Hint: st.Hint}
		for i := range st.Servers {
			s := &st.Servers[i]
			state, ok := model.ParseState(s.State)
			if !ok {
				return out, fmt.Errorf("the host shows the state %q, which is none", s.State)
			}
			v.Servers = append(v.Servers, model.ServerView{Name: s.Name, States: state, Tools: sorted(s.Tools), Prompts: sorted(s.Prompts),
				Resources: sorted(s.Resources), Text: s.Text, Error: s.Error, File: s.Source, Shadows: s.Shadows})
		}
		for i := range st.Notices {
			v.Notices = append(v.Notices, *noticeOf(&st.Notices[i]))
		}
		sort.SliceStable(v.Notices, func(i, j int) bool { return noticeKey(&v.Notices[i]) < noticeKey(&v.Notices[j]) })
		for _, c := range p.order {
			k := p.calls[c]
			if k.session != v.ID {
				continue
			}
			o := k.outcome
			if o == "" {
				o = "running"
			}
			v.Calls = append(v.Calls, model.CallView{ID: c, Outcome: o})
		}
		out.Sessions = append(out.Sessions, v)
	}
	out.Sessions = append(out.Sessions, p.closedSessions()...)
	for _, e := range p.h.Pool() {
		x := model.PoolView{Server: e.Server, Config: p.fingerprint(e.Conn)}
		for _, s := range e.Sessions {
			x.Sessions = append(x.Sessions, model.SessionID(s))
		}
		out.Host.Pool = append(out.Host.Pool, x)
	}
	sort.SliceStable(out.Host.Pool, func(i, j int) bool {
		a, b := out.Host.Pool[i], out.Host.Pool[j]
		return a.Server < b.Server || a.Server == b.Server && a.Config < b.Config
	})
	out.Host.Records = p.st.recordViews(p.x)
	return out, nil
}

// fingerprint is the model's number for the config that a connection was dialled with.
func (p *InProcess) fingerprint(c port.ConnID) model.FpID { return p.st.fpOf(c, p.t) }

// closedSessions are the sessions that are gone but whose calls somebody may still ask for.
func (p *InProcess) closedSessions() []model.SessionView {
	var out []model.SessionView
	for _, id := range p.order {
		k := p.calls[id]
		open := false
		for _, s := range p.h.Sessions() {
			open = open || model.SessionID(s) == k.session
		}
		if open {
			continue
		}
		i := 0
		for i < len(out) && out[i].ID != k.session {
			i++
		}
		if i == len(out) {
			out = append(out, model.SessionView{ID: k.session, Closed: true})
		}
		word := k.outcome
		if word == "" {
			word = "running"
		}
		out[i].Calls = append(out[i].Calls, model.CallView{ID: id, Outcome: word})
	}
	return out
}

func noticeKey(n *model.Notice) string {
	return strings.Join([]string{n.File, n.Server, n.Key, n.Kind}, "\x00")
}

func sorted(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	out := append([]string(nil), names...)
	sort.Strings(out)
	return out
}

// Close ends the host without a word.
func (p *InProcess) Close() error {
	p.alive++
	p.h = nil
	return nil
}
