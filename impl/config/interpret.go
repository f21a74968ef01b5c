package config

import (
	"fmt"
	"slices"
	"strings"
)

// interpreted is what one entry of a map means: an Entry, or nothing if it is skipped, and what is wrong with it.
type interpreted struct {
	entry    *Entry
	problems []found
}

// found is a Problem at an offset from the beginning of the entry's value.
type found struct {
	key, kind, text string
	off             int
}

// foreignFields belong to other hosts: they grant nothing and run nothing (SRC-17).
var foreignFields = []string{"alwaysAllow", "autoApprove", "disabledTools", "enableAllProjectMcpServers", "enabledMcpjsonServers",
	"envFile", "headersHelper", "serverUrl", "transport"}

// interpret reads one entry (SRC-4, SRC-8, SRC-16, SRC-17).
func interpret(name string, badName bool, v *value, allowSDK bool) *interpreted {
	r := &interpreted{}
	e, err := r.read(name, badName, v, allowSDK)
	if err != nil {
		// SRC-8: it counts as absent, whatever else is wrong with it
		return &interpreted{problems: []found{{kind: "malformed", text: err.Error(), off: err.off - v.start}}}
	}
	r.entry = e
	return r
}

// malformed says why an entry is skipped, and where. It names fields and never their values.
type malformed struct {
	msg string
	off int
}

func (m *malformed) Error() string { return m.msg }

func (r *interpreted) read(name string, badName bool, v *value, allowSDK bool) (*Entry, *malformed) {
	switch {
	case badName:
		return nil, &malformed{"the name is not valid Unicode", v.start}
	case name == "":
		return nil, &malformed{"the name is empty", v.start}
	case v.kind != object:
		return nil, &malformed{"expected an object", v.start}
	case v.vanishes():
		return nil, &malformed{"the entry is empty", v.start}
	}
	if err := unfit(v, ""); err != nil {
		return nil, err
	}
	if err := wrongType(v); err != nil {
		return nil, err
	}
	v = r.coerce(v)
	v, t, err := normalise(v, allowSDK)
	if err != nil {
		return nil, err
	}
	r.ignored(v)
	return build(name, v, t), nil
}

// unfit finds text that is not valid Unicode and integers beyond 2^53, anywhere in an entry.
func unfit(v *value, path string) *malformed {
	switch {
	case v.bad:
		return &malformed{fmt.Sprintf("%q: text that is not valid Unicode", path), v.start}
	case v.kind == number && beyond(v.text):
		return &malformed{fmt.Sprintf("%q: a number beyond 2^53", path), v.start}
	}
	for i, e := range v.elems {
		if err := unfit(e, joinPath(path, fmt.Sprint(i))); err != nil {
			return err
		}
	}
	for i := range v.members {
		m := &v.members[i]
		if m.bad {
			return &malformed{fmt.Sprintf("%q: a key that is not valid Unicode", path), m.start}
		}
		if err := unfit(m.value, joinPath(path, m.key)); err != nil {
			return err
		}
	}
	return nil
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// wrongType checks the fields that the host knows. What counts as absent fits everywhere.
func wrongType(v *value) *malformed {
	for i := range v.members {
		m := &v.members[i]
		if m.value.vanishes() {
			continue
		}
		want, off := "", m.value.start
		switch m.key {
		case "command", "cwd", "url", "httpUrl", "type", "description":
			if m.value.kind != text {
				want = "a string"
			}
		case "args", "includeTools", "excludeTools":
			if m.value.kind != array || slices.ContainsFunc(m.value.elems, func(e *value) bool { return e.kind != text }) {
				want = "an array of strings"
			}
		case "env", "headers":
			want, off = wrongPairs(m.value)
		case "timeout", "discoveryTimeoutMs":
			if n, ok := m.value.integer(); !ok || n < 1 {
				want = "a whole number of milliseconds, at least 1"
			}
		case "trust", "disabled", "enabled":
			if !m.value.isTrue() && !m.value.isFalse() {
				want = "true or false"
			}
		}
		if want != "" {
			return &malformed{fmt.Sprintf("%q: expected %s", m.key, want), off}
		}
	}
	return nil
}

func wrongPairs(v *value) (want string, off int) {
	if v.kind != object {
		return "an object of strings", v.start
	}
	for i := range v.members {
		if x := v.members[i].value; !x.vanishes() && (x.kind == array || x.kind == object) {
			return fmt.Sprintf("an object of strings, which %q is not", v.members[i].key), x.start
		}
	}
	return "", v.start
}

// coerce makes numbers and booleans among env and header values their JSON text, with a notice for each (SRC-8).
func (r *interpreted) coerce(v *value) *value {
	for _, field := range [...]string{"env", "headers"} {
		pairs := v.get(field)
		if pairs == nil || pairs.kind != object {
			continue
		}
		var changed *value
		for i := range pairs.members {
			m := &pairs.members[i]
			s, kind := m.value.text, "number"
			switch m.value.kind {
			case boolTrue:
				s, kind = "true", "boolean"
			case boolFalse:
				s, kind = "false", "boolean"
			case number:
			default:
				continue
			}
			if changed == nil {
				changed = pairs.copy()
			}
			changed.members[i].value = &value{kind: text, text: s, start: m.value.start, end: m.value.end}
			key := field + "." + m.key
			r.problems = append(r.problems, found{key, "coerced", fmt.Sprintf("%q is a %s and counts as its text", key, kind), m.value.start - v.start})
		}
		if changed != nil {
			v = v.with(field, changed)
		}
	}
	return v
}

// ignored notes fields of other hosts, once per entry (SRC-17).
func (r *interpreted) ignored(v *value) {
	var names []string
	off := 0
	for _, f := range foreignFields {
		if i := v.find(keyOf{f, false}); i >= 0 && !v.members[i].value.vanishes() {
			if names == nil {
				off = v.members[i].start - v.start
			}
			names = append(names, f)
		}
	}
	if names != nil {
		r.problems = append(r.problems, found{"", "ignored", "fields of other hosts grant nothing and run nothing here: " + strings.Join(names, ", "), off})
	}
}

// notHashed are the members that the approval hash does not cover.
func notHashed(key string) bool {
	switch key {
	case "scope", "extensionName", "description", "disabled", "enabled":
		return true
	}
	return false
}

func build(name string, v *value, t transport) *Entry {
	e := &Entry{Name: name, Kind: t.kind, UntypedURL: t.untyped,
		Canon: canonical(v, notHashed),
		Full:  canonical(v, func(key string) bool { return key == "scope" || key == "extensionName" }), // SRC-3
	}
	e.Hash = digest(e.Canon)
	e.Command, e.Cwd, e.Description = v.get("command").str(), v.get("cwd").str(), v.get("description").str()
	e.URL = v.get("url").str() + v.get("httpUrl").str() // one at most
	e.Args, e.IncludeTools, e.ExcludeTools = v.get("args").strings(), v.get("includeTools").strings(), v.get("excludeTools").strings()
	e.Env, e.Headers = v.get("env").pairs(), v.get("headers").pairs()
	e.TimeoutMs, _ = v.get("timeout").integer()
	e.DiscoveryTimeoutMs, _ = v.get("discoveryTimeoutMs").integer()
	e.Trust = v.get("trust").isTrue()
	e.Disabled = v.get("disabled").isTrue() || v.get("enabled").isFalse()
	return e
}

func (v *value) str() string {
	if v == nil || v.kind != text {
		return ""
	}
	return v.text
}

// strings returns the elements of an array of strings; nil if it counts as absent.
func (v *value) strings() []string {
	if v.vanishes() {
		return nil
	}
	out := make([]string, len(v.elems))
	for i, e := range v.elems {
		out[i] = e.text
	}
	return out
}

// pairs returns the members of an object of strings, sorted by name.
func (v *value) pairs() []KV {
	if v.vanishes() {
		return nil
	}
	var out []KV
	for i := range v.members {
		if m := &v.members[i]; m.value.kind == text {
			out = append(out, KV{m.key, m.value.text})
		}
	}
	slices.SortFunc(out, func(a, b KV) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (v *value) copy() *value {
	c := *v
	c.members = slices.Clone(v.members)
	return &c
}

// with returns a copy with one member's value replaced.
func (v *value) with(key string, x *value) *value {
	c := v.copy()
	c.members[v.find(keyOf{key, false})].value = x
	return c
}
