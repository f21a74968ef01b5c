package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Expanded is an entry as it is dialled: variables replaced, cwd absolute.
type Expanded struct {
	Spec        DialSpec
	Fingerprint string    // digest of the transport-defining fields after expansion (spec section 1)
	Problems    []Problem // kind variable, one per field, without a place
}

// Expand replaces variables in the transport-defining strings of an entry (SRC-9): env looks a variable up in the environment
// the process was started with, and root is what a relative cwd starts at (SRC-16). The result is kept as long as env gives
// the same for the variables the entry names. Do not change it.
func (e *Entry) Expand(env func(string) (string, bool), root string) *Expanded {
	key := root
	for _, name := range e.variables() {
		if s, ok := env(name); ok {
			key += "\x00" + strconv.Itoa(len(s)) + s
		} else {
			key += "\x00-"
		}
	}
	if x := e.expanded[key]; x != nil {
		return x
	}
	if e.expanded == nil || len(e.expanded) >= maxExpanded {
		e.expanded = make(map[string]*Expanded, 1)
	}
	x := e.expand(env, root)
	e.expanded[key] = x
	return x
}

// maxExpanded bounds what one entry keeps; many hosts with as many environments share it.
const maxExpanded = 16

// variables are the names an entry may look up.
func (e *Entry) variables() []string {
	if e.names != nil {
		return *e.names
	}
	names := []string{}
	known := map[string]bool{}
	note := func(name string) (string, bool) {
		if !known[name] {
			known[name] = true
			names = append(names, name)
		}
		return "", false
	}
	e.transportStrings(func(_, s string) string {
		expandText(s, note)
		return s
	})
	e.names = &names
	return names
}

// transportStrings maps every string that is expanded, in a fixed order: f gets the field and the text.
func (e *Entry) transportStrings(f func(field, s string) string) (command, cwd, url string, args []string, env, headers []KV) {
	command, cwd = f("command", e.Command), f("cwd", e.Cwd)
	if e.Kind == SSE {
		url = f("url", e.URL)
	} else {
		url = f("httpUrl", e.URL)
	}
	for _, a := range e.Args {
		args = append(args, f("args", a))
	}
	for _, kv := range e.Env {
		env = append(env, KV{kv.Name, f("env."+kv.Name, kv.Value)})
	}
	for _, kv := range e.Headers {
		headers = append(headers, KV{kv.Name, f("headers."+kv.Name, kv.Value)})
	}
	return
}

func (e *Entry) expand(env func(string) (string, bool), root string) *Expanded {
	x := &Expanded{Spec: DialSpec{Server: e.Name, Kind: e.Kind, UntypedURL: e.UntypedURL}}
	var fields []string
	left := map[string][]string{}
	s := &x.Spec
	s.Command, s.Cwd, s.URL, s.Args, s.Env, s.Headers = e.transportStrings(func(field, t string) string {
		t, rest := expandText(t, env)
		if len(rest) > 0 {
			if left[field] == nil {
				fields = append(fields, field)
			}
			left[field] = append(left[field], rest...)
		}
		return t
	})
	for _, field := range fields {
		x.Problems = append(x.Problems, Problem{Server: e.Name, Key: field, Kind: "variable",
			Text: fmt.Sprintf("%s stays as written in %q", strings.Join(distinct(left[field]), ", "), field)})
	}
	x.Fingerprint = e.fingerprint(s)
	switch {
	case s.Cwd == "":
		s.Cwd = root
	case !filepath.IsAbs(s.Cwd):
		s.Cwd = filepath.Join(root, s.Cwd)
	}
	return x
}

// fingerprint covers kind, command, args, cwd as it stands after expansion, env, url, headers, timeout; nothing else.
func (e *Entry) fingerprint(s *DialSpec) string {
	b := make([]byte, 0, 256)
	str := func(s string) {
		b = strconv.AppendInt(b, int64(len(s)), 10)
		b = append(append(b, ':'), s...)
	}
	list := func(n int) { b = append(strconv.AppendInt(b, int64(n), 10), '[') }
	b = append(b, '0'+byte(e.Kind))
	str(s.Command)
	str(s.Cwd)
	str(s.URL) // the kind says which of the two
	list(len(s.Args))
	for _, a := range s.Args {
		str(a)
	}
	for _, pairs := range [...][]KV{s.Env, s.Headers} {
		list(len(pairs))
		for _, kv := range pairs {
			str(kv.Name)
			str(kv.Value)
		}
	}
	b = strconv.AppendInt(b, e.TimeoutMs, 10) // 0: absent
	return digest(b)
}

func distinct(list []string) []string {
	var out []string
	for i, s := range list {
		known := false
		for _, t := range list[:i] {
			known = known || s == t
		}
		if !known {
			out = append(out, s)
		}
	}
	return out
}

// expandText replaces $NAME, ${NAME} and ${NAME:-text}; $$ is a literal $. What env does not define and every other form
// stays as written and is named in left. A $ that begins no form is text (SRC-9).
func expandText(s string, env func(string) (string, bool)) (out string, left []string) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String(), left
		}
		b.WriteString(s[:i])
		s = s[i:]
		n, replacement, unknown := variable(s, env)
		if unknown != "" {
			left = append(left, unknown)
		}
		b.WriteString(replacement)
		s = s[n:]
	}
}

// variable reads the form at the beginning of s, which is a $: its length, what it becomes, and how to name it if it stays
// as written.
func variable(s string, env func(string) (string, bool)) (n int, replacement, unknown string) {
	switch {
	case strings.HasPrefix(s, "$$"):
		return 2, "$", ""
	case strings.HasPrefix(s, "${"):
		name := s[2 : 2+nameLength(s[2:])]
		rest := s[2+len(name):]
		end := strings.IndexByte(rest, '}')
		if name == "" || end < 0 || end > 0 && !strings.HasPrefix(rest, ":-") {
			return 1, "$", brief(s)
		}
		whole := s[:2+len(name)+end+1]
		value, ok := env(name)
		switch {
		case end > 0 && value == "":
			return len(whole), rest[2:end], ""
		case !ok:
			return len(whole), whole, name
		}
		return len(whole), value, ""
	}
	if name := s[1 : 1+nameLength(s[1:])]; name != "" {
		if value, ok := env(name); ok {
			return 1 + len(name), value, ""
		}
		return 1 + len(name), s[:1+len(name)], name
	}
	if len(s) > 1 && (s[1] == '(' || s[1] >= '0' && s[1] <= '9') {
		return 1, "$", s[:2]
	}
	return 1, "$", ""
}

// brief names a form that is none of ours: ${env:, ${input:. Only what a name or a prefix can be is shown, never a value.
func brief(s string) string {
	n := 2 + nameLength(s[2:])
	if n < len(s) && s[n] == ':' {
		n++
	}
	return s[:n]
}

// nameLength is the length of the variable's name that s begins with: [A-Za-z_][A-Za-z0-9_]*.
func nameLength(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}
