package eventlog

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Line is one event as it is written.
type Line struct {
	T         model.Ms          `json:"t"`
	Event     string            `json:"event,omitzero"`
	Input     string            `json:"input,omitzero"` // of a log's Entry: never with Event
	Session   string            `json:"session,omitzero"`
	Sessions  []string          `json:"sessions,omitempty"`
	Server    string            `json:"server,omitzero"`
	Conn      int               `json:"conn,omitzero"`
	Pass      int               `json:"pass,omitzero"`
	Scope     string            `json:"scope,omitzero"`
	Changes   map[string]string `json:"changes,omitempty"` // notify: scope → created|modified|deleted
	Outcome   string            `json:"outcome,omitzero"`
	Why       string            `json:"why,omitzero"`
	Path      string            `json:"path,omitzero"`
	Keys      []string          `json:"keys,omitempty"`
	Config    jsontext.Value    `json:"config,omitzero"` // dial, decided: the entry, normalised
	Tools     *[]string         `json:"tools,omitempty"`
	Prompts   *[]string         `json:"prompts,omitempty"`
	Resources *[]string         `json:"resources,omitempty"`
	Trust     bool              `json:"trust,omitzero"`
	Lists     *Lists            `json:"lists,omitempty"`
	Questions *[]Question       `json:"questions,omitzero"`
	Call      string            `json:"call,omitzero"`
	Tool      string            `json:"tool,omitzero"`
	Notice    *Notice           `json:"notice,omitempty"`
}

// Lists is what a lists event carries.
type Lists struct {
	Excluded []string `json:"excluded"`
	Pending  []string `json:"pending"`
	Allowed  []Allow  `json:"allowed"`
}

// Allow is one allow list and its layer.
type Allow struct {
	Layer string   `json:"layer"`
	Names []string `json:"names"`
}

// Question is one question of an ask event or a snapshot.
type Question struct {
	Server string         `json:"server"`
	Config jsontext.Value `json:"config"`
	Source string         `json:"source"`
	Text   string         `json:"text,omitzero"` // ask: what a person is shown, for INV-16
}

// Notice is a notice.
type Notice struct {
	File   string `json:"file,omitzero"`
	Server string `json:"server,omitzero"`
	Key    string `json:"key,omitzero"`
	Kind   string `json:"kind"`
	Text   string `json:"text,omitzero"`
}

// ParseScope reads a source's name.
func ParseScope(name string) (model.Scope, bool) {
	for s := model.Defaults; s < model.NumScopes; s++ {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// FromEvent returns the line of an event. Configs are written out from the table.
func FromEvent(at model.Ms, ev *model.Event, t *model.Table) Line {
	l := Line{T: at, Event: ev.Kind.String(), Session: string(ev.Session), Server: ev.Server, Conn: int(ev.Conn), Pass: ev.Pass,
		Outcome: ev.Outcome, Why: ev.Why, Path: ev.Path, Keys: ev.Keys, Trust: ev.Trust, Call: ev.Call, Tool: ev.Tool,
		Config: configText(t, ev.Config)}
	for _, s := range ev.Sessions {
		l.Sessions = append(l.Sessions, string(s))
	}
	switch ev.Kind {
	case model.EvWake, model.EvLoad, model.EvRestartPending:
		l.Scope = ev.Scope.String()
	case model.EvPublished:
		l.Tools, l.Prompts, l.Resources = list(ev.Tools), list(ev.Prompts), list(ev.Resources)
	case model.EvAsk:
		qs := Questions(ev.Questions, t)
		l.Questions = &qs
	}
	for _, c := range ev.Scopes {
		if l.Changes == nil {
			l.Changes = map[string]string{}
		}
		l.Changes[c.Scope.String()] = c.How
	}
	if ev.Lists != nil {
		l.Lists = &Lists{Excluded: ev.Lists.Excluded, Pending: ev.Lists.Pending, Allowed: []Allow{}}
		for _, a := range ev.Lists.Allowed {
			l.Lists.Allowed = append(l.Lists.Allowed, Allow{a.Layer, a.Names})
		}
	}
	if n := ev.Notice; n != nil {
		l.Notice = &Notice{n.File, n.Server, n.Key, n.Kind, n.Text}
	}
	return l
}

func eventList() string {
	var names []string
	for k := model.EvWake; k < model.NumEvents; k++ {
		names = append(names, k.String())
	}
	return strings.Join(names, ", ")
}

func list(names []string) *[]string {
	if names == nil {
		names = []string{}
	}
	return &names
}

func configText(t *model.Table, id model.ConfigID) jsontext.Value {
	if c := t.ByID(id); c != nil {
		return jsontext.Value(c.Text)
	}
	return nil
}

// Questions writes questions out.
func Questions(qs []model.Question, t *model.Table) []Question {
	out := []Question{}
	for _, q := range qs {
		out = append(out, Question{q.Server, configText(t, q.Config), q.Source.String(), q.Text})
	}
	return out
}

// ToEvent turns a line back into an event. The error says what is wrong with it.
func (l *Line) ToEvent(t *model.Table) (*model.Event, error) {
	return l.toEvent(func(raw jsontext.Value) (model.ConfigID, *model.Value, error) { return intern(t, raw) })
}

// interner gives the number of a config as it is written.
type interner func(jsontext.Value) (model.ConfigID, *model.Value, error)

func intern(t *model.Table, raw jsontext.Value) (model.ConfigID, *model.Value, error) {
	v, err := trace.ParseValue(raw)
	if err != nil {
		return 0, nil, fmt.Errorf("config: %w", err)
	}
	return t.Intern(v), v, nil
}

func (l *Line) toEvent(intern interner) (*model.Event, error) {
	kind, ok := model.ParseEventKind(l.Event)
	if !ok {
		return nil, fmt.Errorf("there is no event %q; the events are %s", l.Event, eventList())
	}
	ev := &model.Event{Kind: kind, Session: model.SessionID(l.Session), Server: l.Server, Conn: model.ConnID(l.Conn), Pass: l.Pass,
		Outcome: l.Outcome, Why: l.Why, Path: l.Path, Keys: l.Keys, Trust: l.Trust, Call: l.Call, Tool: l.Tool}
	for _, s := range l.Sessions {
		ev.Sessions = append(ev.Sessions, model.SessionID(s))
	}
	if l.Scope != "" {
		if ev.Scope, ok = ParseScope(l.Scope); !ok {
			return nil, fmt.Errorf("unknown scope %q; expected defaults, user, project, workspace, system or approvals", l.Scope)
		}
	}
	for s := model.Defaults; s < model.NumScopes; s++ {
		if how, ok := l.Changes[s.String()]; ok {
			ev.Scopes = append(ev.Scopes, model.ScopeChange{Scope: s, How: how})
		}
	}
	if len(l.Config) > 0 {
		var err error
		if ev.Config, ev.ConfigVal, err = intern(l.Config); err != nil {
			return nil, err
		}
	}
	for _, p := range [...]struct {
		from *[]string
		to   *[]string
	}{{l.Tools, &ev.Tools}, {l.Prompts, &ev.Prompts}, {l.Resources, &ev.Resources}} {
		if p.from != nil {
			*p.to = *p.from
		}
	}
	if l.Lists != nil {
		ev.Lists = &model.Lists{Excluded: l.Lists.Excluded, Pending: l.Lists.Pending}
		for _, a := range l.Lists.Allowed {
			ev.Lists.Allowed = append(ev.Lists.Allowed, model.AllowList{Layer: a.Layer, Names: a.Names})
		}
	}
	if l.Questions != nil {
		qs, err := toQuestions(*l.Questions, intern)
		if err != nil {
			return nil, err
		}
		ev.Questions = qs
	}
	if n := l.Notice; n != nil {
		ev.Notice = &model.Notice{File: n.File, Server: n.Server, Key: n.Key, Kind: n.Kind, Text: n.Text}
	}
	return ev, nil
}

func toQuestions(qs []Question, intern interner) ([]model.Question, error) {
	var out []model.Question
	for _, q := range qs {
		id, _, err := intern(q.Config)
		if err != nil {
			return nil, fmt.Errorf("question %s: %w", q.Server, err)
		}
		s, ok := ParseScope(q.Source)
		if !ok {
			return nil, fmt.Errorf("question %s: unknown source %q", q.Server, q.Source)
		}
		out = append(out, model.Question{Server: q.Server, Config: id, Source: s, Text: q.Text})
	}
	return out, nil
}

// Append writes a line with its newline.
func (l Line) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(l, json.Deterministic(true))
	if err != nil {
		return b, err
	}
	return append(append(b, text...), '\n'), nil
}
