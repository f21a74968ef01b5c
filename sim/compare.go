package sim

import (
	"fmt"

	"mcpsim/model"
)

// Compare holds what a host shows against what the model expects and names the invariant that each difference breaks.
// It is one of the three comparisons that exist (the others: guards on events, history against history).
func Compare(at model.Ms, want *model.Expectation, got *model.Snapshot) []model.Violation {
	c := comparer{at: at}
	c.sessions(want, got)
	c.host(&want.Host, &got.Host)
	return c.out
}

type comparer struct {
	at  model.Ms
	out []model.Violation
}

func (c *comparer) fail(id string, s model.SessionID, server, detail string) {
	for _, inv := range model.Invariants {
		if inv.ID == id {
			c.out = append(c.out, model.Violation{At: c.at, Invariant: id, Sentence: inv.Sentence, Rules: inv.Rules, Detail: detail, Session: s, Server: server})
		}
	}
}

func (c *comparer) sessions(want *model.Expectation, got *model.Snapshot) {
	for i := range want.Sessions {
		w := &want.Sessions[i]
		if w.Closed {
			continue
		}
		g := findSession(got, w.ID)
		if g == nil {
			c.fail("LIVE-1", w.ID, "", "the session is open, the host does not show it")
			continue
		}
		c.servers(w, g)
		if !sameQuestions(w.Ask, g.Ask) {
			c.fail("INV-11", w.ID, "", fmt.Sprintf("the queue is %s, it must be %s", questions(g.Ask), questions(w.Ask)))
		}
		c.notices(w, g, want.Optional)
		if w.Hint != g.Hint && !(w.HintOpen && g.Hint) {
			c.fail("INV-18", w.ID, "", fmt.Sprintf("the 'see the error log' hint is %v, it must be %v", g.Hint, w.Hint))
		}
		c.calls(w, g)
	}
	for i := range got.Sessions {
		if id := got.Sessions[i].ID; !got.Sessions[i].Closed && !hasSession(want, id) {
			c.fail("LIVE-1", id, "", "the host shows a session that is not open")
		}
	}
}

func hasSession(x *model.Expectation, id model.SessionID) bool {
	for i := range x.Sessions {
		if x.Sessions[i].ID == id {
			return true
		}
	}
	return false
}

func findSession(s *model.Snapshot, id model.SessionID) *model.SessionView {
	for i := range s.Sessions {
		if s.Sessions[i].ID == id {
			return &s.Sessions[i]
		}
	}
	return nil
}

func (c *comparer) servers(w, g *model.SessionView) {
	j := 0
	for i := range w.Servers {
		ws := &w.Servers[i]
		for j < len(g.Servers) && g.Servers[j].Name < ws.Name {
			c.fail("INV-18", w.ID, g.Servers[j].Name, "the host shows a server that is not configured: "+g.Servers[j].States.String())
			j++
		}
		if j == len(g.Servers) || g.Servers[j].Name != ws.Name {
			if ws.States&model.StateUnknown == 0 {
				c.fail("INV-18", w.ID, ws.Name, "the host does not show it; it must be "+ws.States.String())
			}
			continue
		}
		c.server(w.ID, ws, &g.Servers[j])
		j++
	}
	for ; j < len(g.Servers); j++ {
		c.fail("INV-18", w.ID, g.Servers[j].Name, "the host shows a server that is not configured: "+g.Servers[j].States.String())
	}
}

func (c *comparer) server(id model.SessionID, w, g *model.ServerView) {
	if w.States&g.States == 0 {
		inv := "LIVE-1"
		if w.States != model.StateLive && g.States != model.StateLive {
			inv = "INV-18"
		}
		c.fail(inv, id, w.Name, fmt.Sprintf("the host shows %s, it must be %s", g.States, w.States))
		return
	}
	if w.States&(w.States-1) != 0 {
		return // an open set: what it lists is open too
	}
	for _, l := range [...]struct {
		what      string
		want, got []string
	}{{"tools", w.Tools, g.Tools}, {"prompts", w.Prompts, g.Prompts}, {"resources", w.Resources, g.Resources}} {
		if !sameNames(l.want, l.got) {
			c.fail("LIVE-1", id, w.Name, fmt.Sprintf("%s are %v, they must be %v", l.what, l.got, l.want))
		}
	}
	if w.Text != g.Text {
		c.fail("INV-18", id, w.Name, fmt.Sprintf("the list says %q, it must say %q", g.Text, w.Text))
	}
	if (w.Error != "") != (g.Error != "") && g.States&w.States != 0 && w.Error != "" {
		c.fail("INV-18", id, w.Name, fmt.Sprintf("the error shown is %q, its state is %s", g.Error, g.States))
	}
	if w.File != g.File {
		c.fail("INV-18", id, w.Name, fmt.Sprintf("the file shown is %q, it comes from %q", g.File, w.File))
	}
	if !sameNames(w.Shadows, g.Shadows) {
		c.fail("INV-18", id, w.Name, fmt.Sprintf("the entries it shadows are shown as %v, they are %v", g.Shadows, w.Shadows))
	}
}

func sameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func sameQuestions(a, b []model.Question) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

func questions(qs []model.Question) string {
	out := "["
	for i, q := range qs {
		if i > 0 {
			out += " "
		}
		out += fmt.Sprintf("%s#%d@%s", q.Server, q.Config, q.Source)
	}
	return out + "]"
}

func (c *comparer) notices(w, g *model.SessionView, optional []model.Notice) {
	for _, n := range w.Notices {
		if !hasNotice(g.Notices, n) && !isOptional(optional, n) {
			c.fail("LIVE-2", w.ID, n.Server, "the notice is missing: "+notice(n))
		}
	}
	for _, n := range g.Notices {
		if !hasNotice(w.Notices, n) && !isOptional(optional, n) {
			c.fail("LIVE-2", w.ID, n.Server, "a notice stands that nothing explains: "+notice(n))
		}
	}
}

func hasNotice(list []model.Notice, n model.Notice) bool {
	for _, x := range list {
		if x.File == n.File && x.Server == n.Server && x.Key == n.Key && x.Kind == n.Kind {
			return true
		}
	}
	return false
}

func isOptional(list []model.Notice, n model.Notice) bool {
	for _, x := range list {
		if x.Kind == n.Kind {
			return true
		}
	}
	return false
}

func notice(n model.Notice) string {
	return fmt.Sprintf("%s file=%s server=%s key=%s %s", n.Kind, n.File, n.Server, n.Key, n.Text)
}

func (c *comparer) calls(w, g *model.SessionView) {
	for _, k := range g.Calls {
		for _, x := range w.Calls {
			if x.ID == k.ID && x.Outcome != k.Outcome {
				c.fail("INV-21", w.ID, "", fmt.Sprintf("call %s is %s, it must be %s", k.ID, k.Outcome, x.Outcome))
			}
		}
	}
}

func (c *comparer) host(w, g *model.HostView) {
	if d := countDiff(w.Dials, g.Dials); d != "" {
		c.fail("INV-1", "", "", "processes or connections begun: "+d)
	}
	if d := countDiff(w.Processes, g.Processes); d != "" {
		c.fail("INV-9", "", "", "processes alive: "+d)
	}
	if len(w.Pool) != len(g.Pool) {
		c.fail("INV-9", "", "", fmt.Sprintf("the pool holds %v, it must hold %v", g.Pool, w.Pool))
		return
	}
	for i := range w.Pool {
		a, b := w.Pool[i], g.Pool[i]
		if a.Server != b.Server || a.Config != b.Config || fmt.Sprint(a.Sessions) != fmt.Sprint(b.Sessions) {
			c.fail("INV-9", "", a.Server, fmt.Sprintf("the pool holds %v, it must hold %v", b, a))
		}
	}
}

// countDiff returns the first difference of two counts, or "".
func countDiff(want, got []model.Count) string {
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && want[i].N == 0:
			i++
		case j < len(got) && got[j].N == 0:
			j++
		case j == len(got) || i < len(want) && want[i].Server < got[j].Server:
			return fmt.Sprintf("none of %q, there must be %d", want[i].Server, want[i].N)
		case i == len(want) || got[j].Server < want[i].Server:
			return fmt.Sprintf("%d of %q, there must be none", got[j].N, got[j].Server)
		case want[i].N != got[j].N:
			return fmt.Sprintf("%d of %q, there must be %d", got[j].N, got[j].Server, want[i].N)
		default:
			i, j = i+1, j+1
		}
	}
	return ""
}
