package host

import (
	"fmt"
	"sort"
	"strings"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// Driver performs the host's steps of a trace on a core, tells a sink what they were and what the core did, and shows what
// the core shows. It runs on the core's loop, whichever that is: a simulated one, or that of the live host.
type Driver struct {
	w    World
	h    *impl.Host // nil: there is none now
	x    *Translator
	sink sim.Sink

	launch                    trace.Launch
	sessions                  []model.SessionID
	shown                     map[model.SessionID][]event.Question // what was last looked at
	calls                     map[string]*callState
	order                     []string
	group                     int
	extensions                []extension
	armed                     []trace.Step // faults pass and publish, with how many are left
	listenerMs, listenerTimes int
	delivering                bool // the second listener has not returned
}

// World is what a driver needs of the stage its host is on.
type World interface {
	Now() model.Ms
	After(d model.Ms, f func())      // f runs on the loop
	RecordViews() []model.RecordView // the approvals file as it is
}

type callState struct {
	session model.SessionID
	outcome string
}

type extension struct {
	name string
	text []byte
}

// Prepare forgets everything and takes the launch and the faults of a header.
func (d *Driver) Prepare(h *trace.Header, w World, x *Translator, sink sim.Sink) {
	*d = Driver{w: w, x: x, sink: sink, launch: h.Launch, shown: map[model.SessionID][]event.Question{}, calls: map[string]*callState{}}
	for i := range h.Faults {
		d.fault(&h.Faults[i])
	}
}

// Launch is the launch of the present host process, or of the next one.
func (d *Driver) Launch() *trace.Launch { return &d.launch }

// Attach gives it the core of a host process: extensions are installed and the sessions of the launch are opened.
func (d *Driver) Attach(h *impl.Host) error {
	d.h, d.sessions = h, nil
	h.Subscribe("observer", d.listen)
	for _, x := range d.extensions {
		h.SetExtension(x.name, x.text)
	}
	for _, id := range sim.LaunchOf(&d.launch).Sessions {
		if err := d.open(id, nil); err != nil {
			return err
		}
	}
	return nil
}

// Detach leaves it without a core.
func (d *Driver) Detach() { d.h = nil }

// Restart notes that the host process has ended as in a crash, and that the next one has another launch, which it returns.
func (d *Driver) Restart(s *trace.Step, t *model.Table) *model.Launch {
	d.h = nil
	for _, id := range d.order {
		if c := d.calls[id]; c.outcome == "" {
			c.outcome = "error:session_closed"
		}
	}
	d.launch = d.launch.With(s.Launch)
	l := sim.LaunchOf(&d.launch)
	t.Relaunch(l)
	d.sink.Input(d.w.Now(), model.Input{Kind: model.InRestart, Launch: l})
	d.shown, d.delivering = map[model.SessionID][]event.Question{}, false
	return l
}

func (d *Driver) open(id model.SessionID, servers *model.Value) error {
	for _, s := range d.sessions {
		if s == id {
			return nil // every step is legal in every state: opening an open session is nothing
		}
	}
	d.sessions = append(d.sessions, id)
	sort.Slice(d.sessions, func(i, j int) bool { return d.sessions[i] < d.sessions[j] })
	var text []byte
	if servers != nil {
		text = servers.Append(nil)
	}
	_ = d.h.OpenSession(port.SessionID(id), text) // a malformed map is a notice, not a broken trace
	return nil
}

// Event passes on what the host did.
func (d *Driver) Event(ev *event.Event) {
	m := d.x.event(ev)
	switch ev.Kind {
	case event.CallEnd:
		if c := d.calls[ev.Call]; c != nil {
			c.outcome = ev.Outcome
		}
	}
	d.sink.Event(d.w.Now(), m)
}

// Inject makes the comparing part of a pass or a publication fail, as often as the trace armed it.
func (d *Driver) Inject(point string, s port.SessionID, server string) error {
	for i := range d.armed {
		f := &d.armed[i]
		if f.Kind == point && f.Times > 0 && (f.Session == "" || f.Session == string(s)) && (f.Server == "" || point != "publish" || f.Server == server) {
			f.Times--
			return fmt.Errorf("injected: %s", point)
		}
	}
	return nil
}

// listen is a second listener beside the host's own; armed, it throws or takes its time (WAT-6).
func (d *Driver) listen(_ []event.Change, done func(error)) {
	if d.delivering {
		d.sink.Input(d.w.Now(), model.Input{Kind: model.InWitness, Key: "INV-10", Detail: "a listener was called again before it had returned (WAT-6)"})
	}
	if d.listenerTimes > 0 {
		d.listenerTimes--
		if d.listenerMs == 0 {
			panic("the listener throws")
		}
		d.delivering = true
		h := d.h
		d.w.After(model.Ms(d.listenerMs), func() {
			if d.h != h {
				return // its process has ended
			}
			d.delivering = false
			done(nil)
		})
		return
	}
	done(nil)
}

func (d *Driver) fault(s *trace.Step) {
	times := max(s.Times, 1)
	switch s.Kind {
	case "pass", "publish":
		f := *s
		f.Times = times
		d.armed = append(d.armed, f)
	case "listener":
		d.listenerTimes += times
		d.listenerMs = int(s.Ms)
	}
}

// Do performs a step that concerns the host.
func (d *Driver) Do(s *trace.Step) error {
	id := model.SessionID(s.Session)
	if id == "" {
		id = "s1"
		if len(d.sessions) > 0 {
			id = d.sessions[0]
		}
	}
	if d.h == nil {
		return nil
	}
	sid := port.SessionID(id)
	now := d.w.Now()
	switch s.Do {
	case trace.Look:
		d.shown[id] = d.h.Questions(sid)
	case trace.Approve, trace.Reject, trace.ApproveAll:
		d.decide(id, s)
	case trace.Reload:
		d.sink.Input(now, model.Input{Kind: model.InReload, Session: id})
		d.h.Reload(sid, nil)
	case trace.Call:
		d.call(id, s)
	case trace.RuntimeAdd:
		d.sink.Input(now, model.Input{Kind: model.InRuntimeAdd, Session: id, Server: s.Server, Entry: s.Config})
		d.h.AddRuntime(sid, s.Server, s.Config.Append(nil), nil)
	case trace.RuntimeRemove:
		d.sink.Input(now, model.Input{Kind: model.InRuntimeRemove, Session: id, Server: s.Server})
		d.h.RemoveRuntime(sid, s.Server, nil)
	case trace.Extension:
		d.extension(s)
	case trace.Open:
		d.sink.Input(now, model.Input{Kind: model.InOpen, Session: id, Servers: s.Servers})
		return d.open(id, s.Servers)
	case trace.Close:
		d.sink.Input(now, model.Input{Kind: model.InClose, Session: id})
		for i, x := range d.sessions {
			if x == id {
				d.sessions = append(d.sessions[:i:i], d.sessions[i+1:]...)
				break
			}
		}
		delete(d.shown, id)
		d.h.CloseSession(sid)
	case trace.Trust:
		d.sink.Input(now, model.Input{Kind: model.InTrust, On: s.Trusted})
		d.h.SetTrusted(s.Trusted)
	case trace.Initialize:
		d.sink.Input(now, model.Input{Kind: model.InInitialize})
		d.h.Initialize()
	case trace.Shutdown:
		d.sink.Input(now, model.Input{Kind: model.InShutdown})
		d.sessions = nil
		d.h.Shutdown(nil)
	case trace.Fault:
		d.sink.Input(now, model.Input{Kind: model.InFault, FaultKind: model.FaultKind(s.Kind), Times: s.Times, Ms: s.Ms})
		d.fault(s)
	default:
		return fmt.Errorf("the host does not know the step %q", s.Do)
	}
	return nil
}

// decide answers what was last looked at, or the present queue if nobody looked; a server that was not shown is no answer.
func (d *Driver) decide(id model.SessionID, s *trace.Step) {
	shown, looked := d.shown[id]
	if !looked {
		shown = d.h.Questions(port.SessionID(id))
	}
	d.group++
	var answers []impl.Answer
	for _, q := range shown {
		if s.Do != trace.ApproveAll && q.Server != s.Server {
			continue
		}
		a := impl.Answer{Server: q.Server, Hash: q.Hash, Approve: s.Do != trace.Reject}
		answers = append(answers, a)
		d.sink.Input(d.w.Now(), model.Input{Kind: model.InDecide, Session: id, Server: q.Server, Config: d.x.config(q.Entry), Approve: a.Approve, Group: d.group})
	}
	if len(answers) > 0 {
		d.h.Decide(port.SessionID(id), answers, nil)
	}
}

func (d *Driver) call(id model.SessionID, s *trace.Step) {
	if d.calls[s.ID] != nil {
		return // an id names one call
	}
	d.calls[s.ID] = &callState{session: id}
	d.order = append(d.order, s.ID)
	d.sink.Input(d.w.Now(), model.Input{Kind: model.InCall, Session: id, Call: s.ID, Server: s.Server, Tool: s.Tool, Key: s.ModelName})
	if s.ModelName != "" {
		d.h.CallName(port.SessionID(id), s.ID, s.ModelName, nil, nil)
	} else {
		d.h.Call(port.SessionID(id), s.ID, s.Server, s.Tool, nil, nil)
	}
}

// extension installs or removes an extension; like files it outlives the process.
func (d *Driver) extension(s *trace.Step) {
	d.sink.Input(d.w.Now(), model.Input{Kind: model.InExtension, Server: s.Name, Servers: s.Servers})
	var text []byte
	if s.Servers != nil && s.Servers.Kind != model.Null {
		text = s.Servers.Append(nil)
	}
	kept := d.extensions[:0:0]
	for _, x := range d.extensions {
		if x.name != s.Name {
			kept = append(kept, x)
		}
	}
	if text != nil {
		kept = append(kept, extension{s.Name, text})
	}
	d.extensions = kept
	d.h.SetExtension(s.Name, text)
}

// Observe returns what the host shows.
func (d *Driver) Observe() (model.Snapshot, error) {
	var out model.Snapshot
	for _, id := range d.h.Sessions() {
		st := d.h.Status(id)
		v := model.SessionView{ID: model.SessionID(id), Ask: d.x.questions(st.Questions), Hint: st.Hint}
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
		for _, c := range d.order {
			k := d.calls[c]
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
	out.Sessions = append(out.Sessions, d.closedSessions()...)
	for _, e := range d.h.Pool() {
		x := model.PoolView{Server: e.Server, Config: d.x.fpOf(e.Conn)}
		for _, s := range e.Sessions {
			x.Sessions = append(x.Sessions, model.SessionID(s))
		}
		out.Host.Pool = append(out.Host.Pool, x)
	}
	sort.SliceStable(out.Host.Pool, func(i, j int) bool {
		a, b := out.Host.Pool[i], out.Host.Pool[j]
		return a.Server < b.Server || a.Server == b.Server && a.Config < b.Config
	})
	out.Host.Records = d.w.RecordViews()
	return out, nil
}

// closedSessions are the sessions that are gone but whose calls somebody may still ask for.
func (d *Driver) closedSessions() []model.SessionView {
	var out []model.SessionView
	for _, id := range d.order {
		k := d.calls[id]
		open := false
		for _, s := range d.h.Sessions() {
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
