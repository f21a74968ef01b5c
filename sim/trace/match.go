package trace

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"mcpsim/model"
)

// Mismatch is one difference between an expectation and what is there.
type Mismatch struct {
	Path      string // such as s1.servers.a
	Want, Got string
}

// String returns "path: expected …, there is …".
func (m Mismatch) String() string {
	return fmt.Sprintf("%s: expected %s, there is %s", m.Path, m.Want, m.Got)
}

// ConfigOf interns the entry of a server, so that configs can be compared: by approval hash and by fingerprint. Both
// are 0 if the entry is malformed.
type ConfigOf func(server string, v *model.Value) (model.ConfigID, model.FpID)

// Match compares a snapshot with an expectation, placeholders replaced in both. servers, calls, dials, processes and shows
// are partial, everything else that is present is complete. A snapshot may hold sets of states, and so may an
// expectation: they match if they have a state in common. since holds the numbers of dials at the last expect of each
// server (see Since). Mismatches come in order of the expectation's text.
func Match(e *Expect, snap *model.Snapshot, configOf ConfigOf, since []model.Count) []Mismatch {
	m := matcher{snap: snap, configOf: configOf}
	if e == nil {
		return nil
	}
	for i := range e.Sessions {
		m.session(&e.Sessions[i])
	}
	if e.Host != nil {
		m.host(e.Host, since)
	}
	return m.out
}

// Since returns the counts of dials to hold against the next expectation: those of the servers that e names are taken from
// snap, the others stay.
func Since(e *Expect, snap *model.Snapshot, since []model.Count) []model.Count {
	if e == nil || e.Host == nil {
		return since
	}
	out := slices.Clone(since)
	for _, d := range e.Host.Dials {
		n := count(snap.Host.Dials, d.Name)
		if i := slices.IndexFunc(out, func(c model.Count) bool { return c.Server == d.Name }); i >= 0 {
			out[i].N = n
		} else {
			out = append(out, model.Count{Server: d.Name, N: n})
		}
	}
	return out
}

func count(list []model.Count, server string) int {
	for _, c := range list {
		if c.Server == server {
			return c.N
		}
	}
	return 0
}

type matcher struct {
	snap     *model.Snapshot
	configOf ConfigOf
	out      []Mismatch
}

func (m *matcher) differ(path, want, got string) {
	m.out = append(m.out, Mismatch{path, want, got})
}

func (m *matcher) session(e *SessionExpect) {
	view := &model.SessionView{} // a session that is not open shows nothing
	for i := range m.snap.Sessions {
		if string(m.snap.Sessions[i].ID) == e.ID {
			view = &m.snap.Sessions[i]
		}
	}
	for _, s := range e.Servers {
		got := model.StateUnknown
		if v := server(view, s.Name); v != nil {
			got = v.States
		}
		if got&s.State == 0 {
			m.differ(e.ID+".servers."+s.Name, s.State.String(), got.String())
		}
	}
	m.lists(e.ID+".tools", e.Tools, view, func(v *model.ServerView) []string { return v.Tools })
	m.lists(e.ID+".prompts", e.Prompts, view, func(v *model.ServerView) []string { return v.Prompts })
	m.lists(e.ID+".resources", e.Resources, view, func(v *model.ServerView) []string { return v.Resources })
	if e.Ask != nil {
		m.ask(e.ID+".ask", *e.Ask, view.Ask)
	}
	if e.Notices != nil {
		m.notices(e.ID+".notices", *e.Notices, view.Notices)
	}
	for i := range e.Shows {
		m.shows(e.ID+".shows."+e.Shows[i].Name, &e.Shows[i], server(view, e.Shows[i].Name))
	}
	if e.Hint != nil && *e.Hint != view.Hint {
		m.differ(e.ID+".hint", fmt.Sprint(*e.Hint), fmt.Sprint(view.Hint))
	}
	for _, c := range e.Calls {
		if got := m.call(view, c.Name); got != outcome(c.Value) {
			m.differ(e.ID+".calls."+c.Name, c.Value, or(got, "no such call"))
		}
	}
}

func server(view *model.SessionView, name string) *model.ServerView {
	for i := range view.Servers {
		if view.Servers[i].Name == name {
			return &view.Servers[i]
		}
	}
	return nil
}

// call finds a call's outcome, also where a session that closed has left it.
func (m *matcher) call(view *model.SessionView, id string) string {
	for _, c := range view.Calls {
		if c.ID == id {
			return outcome(c.Outcome)
		}
	}
	for i := range m.snap.Sessions {
		for _, c := range m.snap.Sessions[i].Calls {
			if c.ID == id && view.ID == "" {
				return outcome(c.Outcome)
			}
		}
	}
	return ""
}

// lists compares complete maps server -> names, as sets; a server with none may be left out. A server whose state is open
// is not compared.
func (m *matcher) lists(path string, want *NamedLists, view *model.SessionView, of func(*model.ServerView) []string) {
	if want == nil {
		return
	}
	seen := map[string]bool{}
	for _, l := range want.Lists {
		seen[l.Name] = true
		var got []string
		if v := server(view, l.Name); v != nil {
			if v.States&(v.States-1) != 0 {
				continue
			}
			got = of(v)
		}
		m.names(path+"."+l.Name, l.Names, got)
	}
	for i := range view.Servers {
		if v := &view.Servers[i]; !seen[v.Name] && v.States&(v.States-1) == 0 {
			m.names(path+"."+v.Name, nil, of(v))
		}
	}
}

func (m *matcher) names(path string, want, got []string) {
	w, g := ordered(want), ordered(got)
	if !slices.Equal(w, g) {
		m.differ(path, names(w), names(g))
	}
}

func ordered(list []string) []string {
	c := slices.Clone(list)
	sort.Strings(c)
	return c
}

func names(list []string) string { return "[" + strings.Join(list, " ") + "]" }

func or(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

func (m *matcher) ask(path string, want []AskExpect, got []model.Question) {
	want = slices.Clone(want)
	sort.SliceStable(want, func(i, j int) bool { return want[i].Server < want[j].Server })
	w, g := []string{}, []string{}
	for _, a := range want {
		w = append(w, a.Server)
	}
	for _, q := range got {
		g = append(g, q.Server)
	}
	if !slices.Equal(w, g) { // ASK-1: in order of name
		m.differ(path, names(w), names(g))
		return
	}
	for i, a := range want {
		p := path + "." + a.Server
		if a.Source != "" && a.Source != got[i].Source.String() {
			m.differ(p+".source", a.Source, got[i].Source.String())
		}
		if a.Config != nil {
			if id, _ := m.configOf(a.Server, a.Config); id != got[i].Config || id == 0 {
				m.differ(p+".config", a.Config.String(), "another config")
			}
		}
	}
}

func (m *matcher) notices(path string, want, got []model.Notice) {
	used := make([]bool, len(want))
	for _, g := range got {
		found := false
		for i, w := range want {
			if fits(w.File, g.File) && fits(w.Server, g.Server) && fits(w.Key, g.Key) && fits(w.Kind, g.Kind) {
				used[i], found = true, true
			}
		}
		if !found {
			m.differ(path, "nothing", notice(g))
		}
	}
	for i, w := range want {
		if !used[i] {
			m.differ(path, notice(w), "nothing")
		}
	}
}

func fits(pattern, s string) bool { return pattern == "" || pattern == s }

func notice(n model.Notice) string {
	w := writer{}
	writeNotices(&w, []model.Notice{n})
	return string(w.b[1 : len(w.b)-1])
}

func (m *matcher) shows(path string, want *ShowsExpect, got *model.ServerView) {
	if got == nil {
		got = &model.ServerView{States: model.StateUnknown}
	}
	if want.Text != nil && *want.Text != got.Text {
		m.differ(path+".text", quote(*want.Text), quote(got.Text))
	}
	if want.Error != nil && !sameError(*want.Error, got) {
		m.differ(path+".error", quote(*want.Error), quote(got.Error))
	}
	if want.File != nil && *want.File != got.File {
		m.differ(path+".file", quote(*want.File), quote(got.File))
	}
	if want.Shadows != nil && !slices.Equal(*want.Shadows, got.Shadows) && len(*want.Shadows)+len(got.Shadows) > 0 {
		m.differ(path+".shadows", names(*want.Shadows), names(got.Shadows))
	}
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

var errorClasses = []string{"refused", "exit", "timeout", "protocol", "closed", "stuck", "publish"}

// sameError compares what can be compared of an error: whether there is one, and its class.
func sameError(want string, got *model.ServerView) bool {
	if want == "" || got.Error == "" {
		return want == got.Error
	}
	class := strings.TrimPrefix(want, "failed:")
	if !contains(errorClasses, class) {
		return true
	}
	if s, ok := model.ParseState("failed:" + class); ok && got.States&s != 0 {
		return true
	}
	return strings.HasPrefix(strings.TrimPrefix(got.Error, "failed:"), class)
}
