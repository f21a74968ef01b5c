package gen

import (
	"fmt"
	"strings"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Options says in one line what a trace has, read off the trace itself: for progress output.
func Options(t *trace.Trace) string {
	h := &t.Header
	l := &h.Launch
	var o []string
	say := func(format string, args ...any) { o = append(o, fmt.Sprintf(format, args...)) }
	mode := l.Mode
	if mode == "" {
		mode = "single"
	}
	say("%s, %d sessions", mode, len(l.SessionNames()))
	if l.HasAllowed {
		say("flag %q", l.Allowed)
	}
	for _, x := range []struct {
		on   bool
		what string
	}{{l.Approvals == "off", "approvals off"}, {l.Bare != nil && *l.Bare, "bare"}, {l.Trusted != nil && !*l.Trusted, "untrusted"},
		{l.Initialized != nil && !*l.Initialized, "not initialised"}, {l.McpConfig != nil, "mcp_config"}, {l.Env != nil, "env"}, {l.Cwd != "", "cwd " + l.Cwd}} {
		if x.on {
			say("%s", x.what)
		}
	}
	for i := range h.Servers {
		say("%s", describe(&h.Servers[i]))
	}
	if len(h.Files) > 0 {
		files := make([]string, len(h.Files))
		for i := range h.Files {
			files[i] = h.Files[i].File
		}
		say("files %s", strings.Join(files, " "))
	}
	if len(h.Dirs) > 0 {
		say("no directory %s", strings.Join(h.Dirs, " "))
	}
	if h.CorruptRecords {
		say("corrupt records")
	} else if len(h.Records) > 0 {
		say("%d records", len(h.Records))
	}
	for i := range h.Faults {
		say("fault %s", h.Faults[i].Kind)
	}
	return strings.Join(append(o, tally(t.Steps)), "; ")
}

// describe names what is unusual about a behaviour.
func describe(s *trace.ServerBehaviour) string {
	v := &s.Behaviour
	out := s.Key
	slow := model.Ms(0)
	for _, d := range v.Delays {
		slow += d.Ms
	}
	if slow > 0 {
		out += fmt.Sprintf(" %d ms", slow)
	}
	if v.Fault != model.NoFault {
		out += [...]string{"", " refuses", " exits", " talks garbage", " hangs"}[v.Fault]
	}
	if v.IgnoreTerm || v.Unkillable || v.Grandchild || v.Linger > 0 {
		out += " hard to end"
	}
	return out
}

// tally counts the steps, in the order in which their kinds are defined.
func tally(steps []trace.Step) string {
	var n [firstMotif]int
	for i := range steps {
		for c := range kinds {
			if kinds[c].do == steps[i].Do {
				n[c]++
			}
		}
	}
	out := fmt.Sprintf("%d steps:", len(steps))
	for c, k := range n {
		if k > 0 {
			out += fmt.Sprintf(" %d %s", k, kinds[c].do)
		}
	}
	return out
}
