package check

import (
	"fmt"
	"io"
	"strings"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// WriteFailure prints one failure: the invariant, where the trace is, and the run side by side until the first
// difference. At most as many lines as the trace has steps, and the command that plays it again at the end.
func WriteFailure(w io.Writer, tr *trace.Trace, v model.Violation, file, note string) {
	fmt.Fprintf(w, "%-6s %s   (%s)\n", v.Invariant, v.Sentence, strings.Join(v.Rules, ", "))
	where := file
	if where == "" {
		where = "(not written)"
	}
	fmt.Fprintf(w, "  trace   %s   %d steps%s\n", where, len(tr.Steps), note)
	detail, _, _ := strings.Cut(v.Detail, "\n")
	who := ""
	if v.Session != "" {
		who = string(v.Session) + " "
	}
	if v.Server != "" {
		who += v.Server + " "
	}
	if v.Conn != 0 {
		who += fmt.Sprintf("(connection %d) ", v.Conn)
	}
	fmt.Fprintf(w, "  found   at %d ms: %s%s\n", v.At, who, detail)
	writeSideBySide(w, tr)
	if file != "" {
		fmt.Fprintf(w, "  replay  mcpsim replay %s\n", file)
	}
}

type row struct {
	at                model.Ms
	step, model, host string
}

func writeSideBySide(w io.Writer, tr *trace.Trace) {
	rows := SideBySide(tr)
	fmt.Fprintf(w, "  %6s  %-34s  %-34s  %s\n", "t", "step", "model", "implementation")
	marked := false
	for _, r := range rows {
		mark := ""
		if !marked && r.model != r.host {
			mark, marked = "   <-- first difference", true
		}
		fmt.Fprintf(w, "  %6d  %-34s  %-34s  %s%s\n", r.at, cut(r.step, 34), cut(r.model, 34), cut(r.host, 60), mark)
	}
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// SideBySide plays a trace and returns, per step, what changed in what the model expects and in what the host shows.
func SideBySide(tr *trace.Trace) []row {
	var rows []row
	var lastWant, lastGot []string
	p := NewPlayer()
	p.Play(tr, sim.PlayOptions{OnStep: func(i int, at model.Ms, want *model.Expectation, got *model.Snapshot) {
		a, b := facts(&want.Snapshot), facts(got)
		rows = append(rows, row{at, StepLine(&tr.Steps[i]), changes(lastWant, a), changes(lastGot, b)})
		lastWant, lastGot = a, b
	}})
	return rows
}

// StepLine is a step in a few words.
func StepLine(s *trace.Step) string {
	text := s.String()
	text = strings.TrimPrefix(text, `{"do":"`+string(s.Do)+`"`)
	text = strings.TrimSuffix(strings.TrimPrefix(text, ","), "}")
	return strings.TrimSpace(string(s.Do) + " " + strings.ReplaceAll(text, `"`, ""))
}

// facts are one line per thing shown, sorted as the snapshot is.
func facts(s *model.Snapshot) []string {
	var out []string
	many := len(s.Sessions) > 1
	for i := range s.Sessions {
		v := &s.Sessions[i]
		who := ""
		if many {
			who = string(v.ID) + "."
		}
		for j := range v.Servers {
			x := &v.Servers[j]
			line := who + x.Name + " " + x.States.String()
			if len(x.Tools) > 0 {
				line += " " + strings.Join(x.Tools, ",")
			}
			out = append(out, line)
		}
		for _, q := range v.Ask {
			out = append(out, who+"asks "+q.Server)
		}
		for _, k := range v.Calls {
			out = append(out, who+"call "+k.ID+" "+k.Outcome)
		}
	}
	return out
}

// changes are the facts that were not there before.
func changes(before, now []string) string {
	var out []string
	for _, f := range now {
		found := false
		for _, b := range before {
			found = found || b == f
		}
		if !found {
			out = append(out, f)
		}
	}
	if len(out) == 0 && len(before) > len(now) {
		return fmt.Sprintf("(%d gone)", len(before)-len(now))
	}
	return strings.Join(out, "; ")
}

// Write prints a whole report.
func (r *Report) Write(w io.Writer) {
	for _, f := range r.Failures {
		tr, note := f.Shrunk, ""
		if tr == nil {
			tr = f.Original
		} else {
			note = fmt.Sprintf(", shrunk from %d (%d plays, %d ms)", len(f.Original.Steps), f.Stats.Plays, f.ShrinkTime.Milliseconds())
		}
		if f.Count > 1 {
			note += fmt.Sprintf(", seen %d times", f.Count)
		}
		WriteFailure(w, tr, f.Violation, f.File, note)
		fmt.Fprintln(w)
	}
	for _, err := range r.Errors {
		fmt.Fprintf(w, "error: %v\n", err)
	}
}
