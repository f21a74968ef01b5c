package model

import (
	"strconv"
	"strings"
)

// Expand replaces $NAME, ${NAME} and ${NAME:-text}, and $$ by $ (SRC-9). The result is not expanded again. What env does not
// define and every other form stays as written; left names it. A $ that begins no form is text.
func Expand(s string, env map[string]string) (out string, left []string) {
	at := strings.IndexByte(s, '$')
	if at < 0 {
		return s, nil
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(s, '$') {
		b.WriteString(s[:at])
		s = s[at:]
		n, replacement, unknown := variable(s, env)
		b.WriteString(replacement)
		s = s[n:]
		if unknown != "" {
			left = append(left, unknown)
		}
	}
	b.WriteString(s)
	return b.String(), left
}

// variable reads the form that s, which starts with a $, begins with: its length, what it becomes, and how to name it if it
// stays as written.
func variable(s string, env map[string]string) (n int, replacement, unknown string) {
	switch {
	case strings.HasPrefix(s, "$$"):
		return 2, "$", ""
	case strings.HasPrefix(s, "${"):
		return braced(s, env)
	}
	if n := nameLength(s[1:]); n > 0 {
		name := s[1 : 1+n]
		if value, ok := env[name]; ok {
			return 1 + n, value, ""
		}
		return 1 + n, s[:1+n], name
	}
	if len(s) > 1 && (s[1] == '(' || s[1] >= '0' && s[1] <= '9') {
		return 1, "$", s[:2]
	}
	return 1, "$", ""
}

// braced reads ${NAME} and ${NAME:-text}.
func braced(s string, env map[string]string) (n int, replacement, unknown string) {
	name := s[2 : 2+nameLength(s[2:])]
	rest := s[2+len(name):]
	end := strings.IndexByte(rest, '}')
	if name == "" || end < 0 || end > 0 && !strings.HasPrefix(rest, ":-") {
		return 1, "$", "${" + name // ${env:, ${input:
	}
	n = 2 + len(name) + end + 1
	value, defined := env[name]
	switch {
	case end > 0 && value == "": // unset or empty
		return n, rest[len(":-"):end], ""
	case !defined:
		return n, s[:n], name
	}
	return n, value, ""
}

// nameLength is the length of the variable name that s starts with: [A-Za-z_][A-Za-z0-9_]*.
func nameLength(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// expand fills in what is dialled and the fingerprint: kind, command, args, cwd, env, url, httpUrl, headers, timeout, after
// expansion (spec section 1). It returns the fields in which a variable is left over, each once.
func (t *Table) expand(name string, c *Config, v *Value) []Problem {
	var probs []Problem
	x := func(field, s string) string {
		out, left := Expand(s, t.launch.Env)
		if len(left) > 0 {
			probs = append(probs, Problem{Server: name, Key: field, Kind: "variable"})
		}
		return out
	}
	command, cwd, url := x("command", text(v, "command")), x("cwd", text(v, "cwd")), x("url", text(v, "url"))
	url += x("httpUrl", text(v, "httpUrl")) // one of the two is empty, the kind says which
	args := texts(v.Get("args"))
	for i := range args {
		args[i] = x("args", args[i])
	}
	env, headers := c.pairs(v.Get("env"), "env", x), c.pairs(v.Get("headers"), "headers", x)

	c.URL, c.CommandLine = url, strings.Join(append([]string{command}, args...), " ")
	if c.Transport == SDK {
		c.CommandLine = name
	}
	print := []byte{'0' + byte(c.Transport)}
	for _, list := range [...][]string{{command, cwd, url}, args, env, headers} {
		print = append(print, '[')
		for _, s := range list {
			print = appendString(print, s)
		}
	}
	if n, ok := wholeNumber(v.Get("timeout")); ok {
		print = strconv.AppendInt(append(print, '['), n, 10)
	}
	t.fingerprint(c, string(print))
	return probs
}

// pairs expands the values of an object of strings: name, value, name, value, … in order of name. It keeps the values as
// secrets, before and after expansion (INV-16).
func (c *Config) pairs(v *Value, field string, x func(field, s string) string) []string {
	var out []string
	for _, m := range byKey(v) {
		if m.Value.Kind != String { // counts as absent
			continue
		}
		value := x(field+"."+m.Key, m.Value.Text)
		out = append(out, m.Key, value)
		c.Secrets = append(c.Secrets, m.Value.Text)
		if value != m.Value.Text {
			c.Secrets = append(c.Secrets, value)
		}
	}
	return out
}
