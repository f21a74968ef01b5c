package host

import (
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/trace"
)

// Translator turns the host's events into the model's, by a switch without a default: an event that it does not know is
// a fault of this package and panics.
type Translator struct {
	t      *model.Table
	ids    map[string]model.ConfigID // by what the approval hash covers
	byHash map[string]model.ConfigID
	fps    map[port.ConnID]model.FpID // what each connection was dialled with
	files  map[string]decoded         // approvals files that were read, by text
	now    model.Event                // the one that is being told
}

type decoded struct {
	lines []approval.RecordLine
	err   error
}

// NewTranslator returns one for a table.
func NewTranslator(t *model.Table) *Translator {
	return &Translator{t: t, ids: map[string]model.ConfigID{}, byHash: map[string]model.ConfigID{}, fps: map[port.ConnID]model.FpID{},
		files: map[string]decoded{}}
}

// fpOf is the model's fingerprint of what a connection was dialled with.
func (x *Translator) fpOf(c port.ConnID) model.FpID { return x.fps[c] }

// config interns an entry as the host has it.
func (x *Translator) config(e *config.Entry) model.ConfigID {
	if e == nil {
		return 0
	}
	if id, ok := x.ids[e.Canon]; ok {
		return id
	}
	v, err := trace.ParseValue([]byte(e.Canon))
	if err != nil {
		panic("the host's canonical entry is no JSON: " + err.Error())
	}
	id := x.t.Intern(v)
	x.ids[e.Canon] = id
	x.byHash[e.Hash] = id
	return id
}

// hash is the model's number for an approval hash as the host's file has it; a hash that no config of the trace has gets
// the number of a config that nothing can be.
func (x *Translator) hash(h string) model.ConfigID {
	id, ok := x.byHash[h]
	if !ok {
		id = x.t.Intern(model.Obj(model.Member{Key: "unknown hash", Value: model.Str(h)}))
		x.byHash[h] = id
	}
	return id
}

// event translates an event; the result is good until the next one.
func (x *Translator) event(ev *event.Event) *model.Event {
	m := &x.now
	*m = model.Event{Session: model.SessionID(ev.Session), Server: ev.Server, Conn: model.ConnID(ev.Conn), Pass: ev.Pass,
		Outcome: ev.Outcome, Why: ev.Why, Path: ev.Path, Keys: ev.Keys, Trust: ev.Trust, Call: ev.Call, Tool: ev.Tool}
	if ev.Scope != "" {
		m.Scope = scopeOf(ev.Scope)
	}
	switch ev.Kind {
	case event.Wake:
		m.Kind = model.EvWake
	case event.Watch:
		m.Kind = model.EvWatch
	case event.Unwatch:
		m.Kind = model.EvUnwatch
	case event.Load:
		m.Kind = model.EvLoad
	case event.Notify:
		m.Kind = model.EvNotify
		for _, c := range ev.Changes {
			m.Scopes = append(m.Scopes, model.ScopeChange{Scope: scopeOf(c.Scope), How: c.How})
		}
	case event.RestartPending:
		m.Kind = model.EvRestartPending
	case event.Lists:
		m.Kind = model.EvLists
		m.Lists = listsOf(ev)
	case event.PassStart:
		m.Kind = model.EvPassStart
	case event.PassCompared:
		m.Kind = model.EvPassCompared
	case event.PassEnd:
		m.Kind = model.EvPassEnd
	case event.Dial:
		m.Kind = model.EvDial
		m.Config = x.config(ev.Entry)
		x.fps[ev.Conn] = x.t.FpOf(m.Config)
		for _, s := range ev.Sessions {
			m.Sessions = append(m.Sessions, model.SessionID(s))
		}
	case event.Dialed:
		m.Kind = model.EvDialed
	case event.DialFailed:
		m.Kind = model.EvDialFailed
	case event.Published:
		m.Kind = model.EvPublished
		m.Tools, m.Prompts, m.Resources = ev.Tools, ev.Prompts, ev.Resources
	case event.Purged:
		m.Kind = model.EvPurged
	case event.Closing:
		m.Kind = model.EvClosing
	case event.Closed:
		m.Kind = model.EvClosed
		delete(x.fps, ev.Conn)
	case event.Acquired:
		m.Kind = model.EvAcquired
	case event.Released:
		m.Kind = model.EvReleased
	case event.DrainStart:
		m.Kind = model.EvDrainStart
	case event.DrainEnd:
		m.Kind = model.EvDrainEnd
	case event.Updated:
		m.Kind = model.EvUpdated
	case event.Ask:
		m.Kind = model.EvAsk
		m.Questions = x.questions(ev.Questions)
	case event.Decided:
		m.Kind = model.EvDecided
		m.Config = x.config(ev.Entry)
	case event.Refused:
		m.Kind = model.EvRefused
		m.Config = x.config(ev.Entry)
	case event.CallStart:
		m.Kind = model.EvCallStart
	case event.CallEnd:
		m.Kind = model.EvCallEnd
	case event.SessionOpened:
		m.Kind = model.EvSessionOpened
	case event.SessionClosed:
		m.Kind = model.EvSessionClosed
	case event.Wrote:
		m.Kind = model.EvWrote
	case event.NoticeRaised:
		m.Kind = model.EvNotice
		m.Notice = noticeOf(ev.Notice)
	case event.NoticeCleared:
		m.Kind = model.EvNoticeCleared
		m.Notice = noticeOf(ev.Notice)
	}
	if m.Kind == 0 {
		panic("sim/host does not know the event " + string(ev.Kind))
	}
	return m
}

func scopeOf(s event.Scope) model.Scope {
	sc, ok := eventlog.ParseScope(string(s))
	if !ok {
		panic("sim/host does not know the scope " + string(s))
	}
	return sc
}

func listsOf(ev *event.Event) *model.Lists {
	l := &model.Lists{Excluded: ev.Excluded, Pending: ev.Pending}
	for i, names := range ev.Allowed {
		l.Allowed = append(l.Allowed, model.AllowList{Layer: ev.Keys[i], Names: names}) // Keys names the layer of each list
	}
	return l
}

func (x *Translator) questions(qs []event.Question) []model.Question {
	var out []model.Question
	for _, q := range qs {
		out = append(out, model.Question{Server: q.Server, Config: x.config(q.Entry), Source: scopeOf(q.Source), Text: q.Text})
	}
	return out
}

func noticeOf(n *event.Notice) *model.Notice {
	if n == nil {
		return nil
	}
	return &model.Notice{File: n.File, Server: n.Server, Key: n.Key, Kind: n.Kind, Text: n.Text}
}
