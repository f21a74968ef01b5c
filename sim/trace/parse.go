package trace

import (
	"bytes"
	"encoding/base64"
	"strings"
)

// Parse reads a trace. name is used in errors, which are of type *Error.
func Parse(name string, data []byte) (tr *Trace, err error) {
	defer recovered(&err)
	t := &text{name: name, data: bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")), session: "s1"}
	values := t.values()
	if len(values) == 0 {
		t.fail(0, "the trace is empty; it begins with a header such as {\"mcpsim\":1,\"title\":\"…\"}")
	}
	tr = &Trace{Name: name, Header: readHeader(values[0])}
	for _, n := range values[1:] {
		tr.Steps = append(tr.Steps, readStep(n))
	}
	return tr, nil
}

// ParseHeader reads a header alone, as an adapter gets it.
func ParseHeader(name string, data []byte) (h Header, err error) {
	defer recovered(&err)
	return readHeader(single(name, data)), nil
}

// ParseStep reads one step alone. A step without a session means s1.
func ParseStep(name string, data []byte) (s Step, err error) {
	defer recovered(&err)
	return readStep(single(name, data)), nil
}

func single(name string, data []byte) node {
	t := &text{name: name, data: data, session: "s1"}
	values := t.values()
	if len(values) != 1 {
		t.fail(0, "exactly one JSON value is expected, there are %d", len(values))
	}
	return values[0]
}

// readStep reads one step, whatever its kind.
func readStep(n node) Step {
	if n.kind() != '{' {
		n.fail("a step must be an object such as {\"do\":\"settle\"}, this is %s", kindNames[n.kind()])
	}
	ms := n.members("a step")
	s := Step{Line: lineOf(n)}
	skip, note := "", false
	for _, m := range ms {
		switch m.key {
		case "do":
			s.Do = StepKind(m.val.str("do"))
			if stepDocs[s.Do] == nil {
				m.val.fail("there is no step %q; the steps are %s", s.Do, kindList())
			}
			skip = "do"
		case "expect":
			if s.Do == "" {
				s.Do = ExpectStep
			}
		case "note":
			note = true
		case "mcpsim":
			m.at.fail("a header stands only at the beginning of a trace")
		}
	}
	if s.Do == "" && note {
		s.Do = Note
	}
	if s.Do == "" {
		n.fail("a step needs the key \"do\" (or \"expect\", or \"note\"); the steps are %s", kindList())
	}
	return readStepFields(n, dropDo(ms, skip), s)
}

func dropDo(ms []member, skip string) []member {
	if skip == "" {
		return ms
	}
	list := ms[:0:0]
	for _, m := range ms {
		if m.key != skip {
			list = append(list, m)
		}
	}
	return list
}

func kindList() string {
	names := make([]string, 0, len(Steps))
	for i := range Steps {
		names = append(names, string(Steps[i].Do))
	}
	return strings.Join(names, ", ")
}

// readKind reads a step whose "do" may be left out: kinds[0], or an edit if it has an edit's keys.
func readKind(n node, kinds ...StepKind) Step {
	ms := n.members("a " + string(kinds[0]))
	s := Step{Do: kinds[0], Line: lineOf(n)}
	skip := ""
	for _, m := range ms {
		switch m.key {
		case "do":
			s.Do = ""
			for _, k := range kinds {
				if m.val.str("do") == string(k) {
					s.Do = k
				}
			}
			if s.Do == "" {
				m.val.fail("only a %s may stand here", kinds[0])
			}
			skip = "do"
		case "servers", "mcp", "other":
			if len(kinds) > 1 && skip == "" {
				s.Do = kinds[1]
			}
		}
	}
	return readStepFields(n, dropDo(ms, skip), s)
}

// readStepFields reads the members of a step whose kind is known, and checks what concerns several of them.
func readStepFields(n node, ms []member, s Step) Step {
	if s.Do == Fault {
		s.Times = 1
	}
	readFields(n, ms, &s, s.File != "")
	if s.Session == "" && s.Do != Fault {
		for _, f := range stepDocs[s.Do].Fields {
			if f.Name == "session" {
				s.Session = n.t.session
			}
		}
	}
	check(n, &s)
	return s
}

// check refuses what no table of fields can.
func check(n node, s *Step) {
	switch s.Do {
	case Write:
		content := s.JSON != nil || s.HasText || s.Base64 != "" || s.Unreadable
		switch {
		case s.File == "approvals" && s.JSON != nil && s.Name == "":
			n.fail("the approvals file takes text or unreadable only: its format is the host's own; to record a decision use decide_elsewhere, or records in the header")
		case s.HasText && s.Base64 != "":
			n.fail("a write step takes text or base64, not both")
		case s.JSON != nil && s.Base64 != "" && s.Unreadable, s.JSON != nil && s.Unreadable:
			n.fail("a write step takes json or unreadable, not both")
		case !content && s.Kind == "":
			n.fail("a write step needs json, text, base64, unreadable or kind")
		}
	case Chmod:
		if s.File == "" {
			n.fail("a chmod step needs the key \"file\": %s", fFile.Doc)
		}
	case Call:
		if s.ModelName == "" && (s.Server == "" || s.Tool == "") {
			n.fail("a call step needs server and tool, or name")
		}
	}
}

func readBase64(n node) string {
	s := n.str("base64")
	if _, err := base64.StdEncoding.DecodeString(s); err != nil {
		n.fail("base64 does not decode: %v", err)
	}
	if s == "" {
		n.fail("base64 is empty; for an empty file write \"text\":\"\"")
	}
	return s
}
