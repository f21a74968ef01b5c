package eventlog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
)

// Snapshot is a model.Snapshot as it is written: configs in full, states by name.
type Snapshot struct {
	Sessions  []Session      `json:"sessions"`
	Pool      []Pool         `json:"pool,omitempty"`
	Records   []Record       `json:"records,omitempty"`
	Dials     map[string]int `json:"dials,omitempty"`
	Processes map[string]int `json:"processes,omitempty"`
}

// Session is one session of a snapshot.
type Session struct {
	ID      string            `json:"id"`
	Servers []Server          `json:"servers"`
	Ask     []Question        `json:"ask"`
	Notices []Notice          `json:"notices,omitempty"`
	Hint    bool              `json:"hint,omitzero"`
	Calls   map[string]string `json:"calls,omitempty"`
	Closed  bool              `json:"closed,omitzero"` // it is gone: only its calls are shown
}

// Server is one server of a session.
type Server struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Tools     []string `json:"tools,omitempty"`
	Prompts   []string `json:"prompts,omitempty"`
	Resources []string `json:"resources,omitempty"`
	Text      string   `json:"text,omitzero"`
	Error     string   `json:"error,omitzero"`
	File      string   `json:"file,omitzero"`
	Shadows   []string `json:"shadows,omitempty"`
}

// Pool is one shared connection; Config is the entry of a config with its fingerprint.
type Pool struct {
	Server   string         `json:"server"`
	Config   jsontext.Value `json:"config"`
	Sessions []string       `json:"sessions"`
}

// Record is one approval record.
type Record struct {
	Server   string         `json:"server"`
	Config   jsontext.Value `json:"config"`
	Approved bool           `json:"approved"`
}

// FromSnapshot writes a snapshot out.
func FromSnapshot(s *model.Snapshot, t *model.Table) Snapshot {
	out := Snapshot{Sessions: []Session{}, Dials: counts(s.Host.Dials), Processes: counts(s.Host.Processes)}
	for i := range s.Sessions {
		v := &s.Sessions[i]
		x := Session{ID: string(v.ID), Servers: []Server{}, Ask: Questions(v.Ask, t), Hint: v.Hint, Closed: v.Closed}
		for _, sv := range v.Servers {
			x.Servers = append(x.Servers, Server{sv.Name, sv.States.String(), sv.Tools, sv.Prompts, sv.Resources, sv.Text, sv.Error, sv.File, sv.Shadows})
		}
		for _, n := range v.Notices {
			x.Notices = append(x.Notices, Notice{n.File, n.Server, n.Key, n.Kind, n.Text})
		}
		for _, k := range v.Calls {
			if x.Calls == nil {
				x.Calls = map[string]string{}
			}
			x.Calls[k.ID] = k.Outcome
		}
		out.Sessions = append(out.Sessions, x)
	}
	for _, p := range s.Host.Pool {
		y := Pool{Server: p.Server, Sessions: []string{}}
		if c := t.ByFp(p.Config); c != nil {
			y.Config = jsontext.Value(c.Text)
		}
		for _, id := range p.Sessions {
			y.Sessions = append(y.Sessions, string(id))
		}
		out.Pool = append(out.Pool, y)
	}
	for _, r := range s.Host.Records {
		out.Records = append(out.Records, Record{r.Server, configText(t, r.Config), r.Approved})
	}
	return out
}

func counts(list []model.Count) map[string]int {
	var out map[string]int
	for _, c := range list {
		if c.N != 0 {
			if out == nil {
				out = map[string]int{}
			}
			out[c.Server] = c.N
		}
	}
	return out
}

// ToSnapshot reads a snapshot; t interns its configs.
func (s *Snapshot) ToSnapshot(t *model.Table) (model.Snapshot, error) {
	return s.toSnapshot(t, func(raw jsontext.Value) (model.ConfigID, *model.Value, error) { return intern(t, raw) })
}

func (s *Snapshot) toSnapshot(t *model.Table, intern interner) (model.Snapshot, error) {
	var out model.Snapshot
	for _, x := range s.Sessions {
		v := model.SessionView{ID: model.SessionID(x.ID), Hint: x.Hint, Closed: x.Closed}
		for _, sv := range x.Servers {
			state, ok := model.ParseState(sv.State)
			if !ok {
				return out, fmt.Errorf("session %s: server %s: unknown state %q", x.ID, sv.Name, sv.State)
			}
			v.Servers = append(v.Servers, model.ServerView{Name: sv.Name, States: state, Tools: sv.Tools, Prompts: sv.Prompts,
				Resources: sv.Resources, Text: sv.Text, Error: sv.Error, File: sv.File, Shadows: sv.Shadows})
		}
		qs, err := toQuestions(x.Ask, intern)
		if err != nil {
			return out, err
		}
		v.Ask = qs
		for _, n := range x.Notices {
			v.Notices = append(v.Notices, model.Notice{File: n.File, Server: n.Server, Key: n.Key, Kind: n.Kind, Text: n.Text})
		}
		for _, id := range sortedKeys(x.Calls) {
			v.Calls = append(v.Calls, model.CallView{ID: id, Outcome: x.Calls[id]})
		}
		out.Sessions = append(out.Sessions, v)
	}
	for _, p := range s.Pool {
		y := model.PoolView{Server: p.Server}
		_, v, err := intern(p.Config)
		if err != nil {
			return out, fmt.Errorf("pool: %s: %w", p.Server, err)
		}
		if c, _ := t.Entry(p.Server, v, true); c != nil {
			y.Config = c.Fp
		}
		for _, id := range p.Sessions {
			y.Sessions = append(y.Sessions, model.SessionID(id))
		}
		out.Host.Pool = append(out.Host.Pool, y)
	}
	slices.SortStableFunc(out.Host.Pool, func(a, b model.PoolView) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Config, b.Config))
	})
	for _, r := range s.Records {
		id, _, err := intern(r.Config)
		if err != nil {
			return out, fmt.Errorf("records: %s: %w", r.Server, err)
		}
		out.Host.Records = append(out.Host.Records, model.RecordView{Server: r.Server, Config: id, Approved: r.Approved})
	}
	for _, name := range sortedKeys(s.Dials) {
		out.Host.Dials = append(out.Host.Dials, model.Count{Server: name, N: s.Dials[name]})
	}
	for _, name := range sortedKeys(s.Processes) {
		out.Host.Processes = append(out.Host.Processes, model.Count{Server: name, N: s.Processes[name]})
	}
	return out, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
