package model

import (
	"sort"
	"strconv"
	"strings"
)

// foreign are the fields of other hosts that grant nothing and run nothing (SRC-17).
var foreign = []string{"alwaysAllow", "autoApprove", "enableAllProjectMcpServers", "enabledMcpjsonServers", "headersHelper",
	"envFile", "serverUrl", "transport", "disabledTools"}

const maxInteger = 1 << 53

// interpret is SRC-4, SRC-8, SRC-16 and SRC-17 for one entry.
func (t *Table) interpret(name string, v *Value, allowSDK bool) (*Config, []Problem) {
	malformed := []Problem{{Server: name, Kind: "malformed"}}
	if v == nil || v.Kind != Object || vanishes(v) || badText(v) || bigInteger(v) || badRune(name) {
		return nil, malformed
	}
	var probs []Problem
	v, probs = coerce(name, v)
	if !fieldsFit(v) {
		return nil, malformed
	}
	v, kind, untyped, ok := normalise(v, allowSDK)
	if !ok {
		return nil, malformed
	}
	for _, f := range foreign {
		if x := v.Get(f); x != nil && !vanishes(x) { // absent equals empty
			probs = append(probs, Problem{Server: name, Kind: "ignored"})
			break
		}
	}
	full := without(v, "scope", "extensionName")
	c := &Config{Transport: kind, UntypedURL: untyped, Full: full, Raw: without(full, "description", "disabled", "enabled")}
	c.Text, c.fullText = string(canonical(nil, c.Raw, true)), string(canonical(nil, full, true))
	c.Trust = v.Get("trust") != nil && v.Get("trust").True
	c.Disabled = isTrue(v.Get("disabled")) || v.Get("enabled") != nil && v.Get("enabled").Kind == Bool && !v.Get("enabled").True
	c.Include, c.Exclude = texts(v.Get("includeTools")), texts(v.Get("excludeTools"))
	c.Timeout, c.Discovery = 600000, 30000
	if kind == HTTP || kind == SSE {
		c.Discovery = 5000
	}
	if n, ok := integer(v.Get("timeout")); ok {
		c.Timeout = Ms(n)
	}
	if n, ok := integer(v.Get("discoveryTimeoutMs")); ok {
		c.Discovery = Ms(min(max(n, 100), 300000))
	}
	left := t.expand(name, c, v)
	t.register(c, c.Text)
	return c, append(probs, left...)
}

func isTrue(v *Value) bool { return v != nil && v.Kind == Bool && v.True }

func badRune(s string) bool { return s == "" || strings.ToValidUTF8(s, "") != s }

// badText reports text that is not valid Unicode anywhere in v (SRC-8).
func badText(v *Value) bool {
	if v.BadText {
		return true
	}
	for _, e := range v.Elems {
		if badText(e) {
			return true
		}
	}
	for i := range v.Members {
		if badText(v.Members[i].Value) {
			return true
		}
	}
	return false
}

// bigInteger reports an integer beyond 2^53 anywhere in v (SRC-8).
func bigInteger(v *Value) bool {
	if v.Kind == Number {
		return beyond(v.Text)
	}
	for _, e := range v.Elems {
		if bigInteger(e) {
			return true
		}
	}
	for i := range v.Members {
		if bigInteger(v.Members[i].Value) {
			return true
		}
	}
	return false
}

// beyond reports an integer larger than 2^53, however it is written: 9.007199254740993e15 is one, and 9007199254740993.5,
// though a float makes an integer of it, is none.
func beyond(text string) bool {
	mantissa, power := strings.TrimPrefix(text, "-"), 0
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		n, err := strconv.Atoi(mantissa[i+1:])
		if err != nil {
			return mantissa[i+1] != '-' && strings.Trim(mantissa[:i], "0.") != ""
		}
		mantissa, power = mantissa[:i], n
	}
	units, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(units+fraction, "0")
	zeros := len(digits) - len(strings.TrimRight(digits, "0"))
	if digits == "" || power-len(fraction)+zeros < 0 {
		return false // zero, or it has a fraction
	}
	length := len(digits) + power - len(fraction) // of the integer
	const limit = "9007199254740992"
	if length != len(limit) {
		return length > len(limit)
	}
	digits = strings.TrimRight(digits, "0")
	return digits+strings.Repeat("0", length-len(digits)) > limit
}

// coerce turns numbers and booleans among env and header values into their JSON text, with a notice each (SRC-8).
func coerce(name string, v *Value) (*Value, []Problem) {
	var probs []Problem
	for _, field := range [...]string{"env", "headers"} {
		m := v.Get(field)
		if m == nil || m.Kind != Object {
			continue
		}
		var list []Member
		for i := range m.Members {
			x := m.Members[i].Value
			if x.Kind != Number && x.Kind != Bool {
				continue
			}
			if list == nil {
				list = append(list, m.Members...)
			}
			list[i].Value = Str(x.String())
			probs = append(probs, Problem{Server: name, Key: field + "." + m.Members[i].Key, Kind: "coerced"})
		}
		if list != nil {
			v = with(v, field, &Value{Kind: Object, Members: list})
		}
	}
	return v, probs
}

// fieldsFit checks the types of the known fields; null, {} and [] count as absent (spec section 1).
func fieldsFit(v *Value) bool {
	for i := range v.Members {
		x := v.Members[i].Value
		if vanishes(x) {
			continue
		}
		ok := true
		switch v.Members[i].Key {
		case "command", "cwd", "url", "httpUrl", "type", "description":
			ok = x.Kind == String
		case "args", "includeTools", "excludeTools":
			ok = x.Kind == Array && allStrings(x.Elems)
		case "env", "headers":
			ok = x.Kind == Object
			for j := range x.Members {
				ok = ok && (x.Members[j].Value.Kind == String || vanishes(x.Members[j].Value))
			}
		case "timeout", "discoveryTimeoutMs":
			n, is := integer(x)
			ok = is && n >= 1
		case "trust", "disabled", "enabled":
			ok = x.Kind == Bool
		}
		if !ok {
			return false
		}
	}
	return true
}

func allStrings(list []*Value) bool {
	for _, e := range list {
		if e.Kind != String {
			return false
		}
	}
	return true
}

// integer reads a whole number, also one written as 1e3 or 5.0.
func integer(v *Value) (int64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.Text, 64)
	if err != nil || f != float64(int64(f)) {
		return 0, false
	}
	return int64(f), true
}

// normalise is SRC-4: the type-based shape becomes the field-based one. ok is false if no transport is named, more than
// one, or another than the type says.
func normalise(v *Value, allowSDK bool) (out *Value, kind Transport, untyped, ok bool) {
	has := func(f string) bool { x := v.Get(f); return x != nil && x.Kind == String && x.Text != "" }
	typ := ""
	if x := v.Get("type"); x != nil && x.Kind == String {
		typ = x.Text
	}
	command, url, httpURL := has("command"), has("url"), has("httpUrl")
	n := 0
	for _, b := range [...]bool{command, url, httpURL} {
		if b {
			n++
		}
	}
	out = without(v, "type")
	for _, f := range [...]string{"command", "url", "httpUrl"} {
		if x := v.Get(f); x != nil && x.Kind == String && x.Text == "" {
			out = without(out, f)
		}
	}
	if typ == "sdk" { // the type stays: nothing else says what it is
		return with(out, "type", v.Get("type")), SDK, false, allowSDK && n == 0
	}
	if n != 1 {
		return v, 0, false, false
	}
	switch typ {
	case "":
		switch {
		case command:
			return out, Stdio, false, v.Get("type") == nil || vanishes(v.Get("type"))
		case httpURL:
			return out, HTTP, false, v.Get("type") == nil || vanishes(v.Get("type"))
		}
		return out, SSE, true, v.Get("type") == nil || vanishes(v.Get("type"))
	case "stdio":
		return out, Stdio, false, command
	case "http", "streamable-http", "streamableHttp":
		if url {
			out = with(without(out, "url"), "httpUrl", v.Get("url"))
		}
		return out, HTTP, false, url || httpURL
	case "sse":
		return out, SSE, false, url
	}
	return v, 0, false, false
}

// without returns v without some members.
func without(v *Value, keys ...string) *Value {
	found := false
	for i := range v.Members {
		found = found || contains(keys, v.Members[i].Key)
	}
	if !found {
		return v
	}
	out := &Value{Kind: Object}
	for i := range v.Members {
		if !contains(keys, v.Members[i].Key) {
			out.Members = append(out.Members, v.Members[i])
		}
	}
	return out
}

// with returns v with one member replaced or added.
func with(v *Value, key string, x *Value) *Value {
	out := &Value{Kind: Object, Members: append([]Member(nil), v.Members...)}
	for i := range out.Members {
		if out.Members[i].Key == key {
			out.Members[i].Value = x
			return out
		}
	}
	out.Members = append(out.Members, Member{key, x})
	return out
}

func texts(v *Value) []string {
	if v == nil || v.Kind != Array {
		return nil
	}
	var out []string
	for _, e := range v.Elems {
		if e.Kind == String {
			out = append(out, e.Text)
		}
	}
	return out
}

// expand is SRC-9: it fills in what is dialled and the fingerprint, and returns what stayed unexpanded.
func (t *Table) expand(name string, c *Config, v *Value) []Problem {
	var probs []Problem
	x := func(field, s string) string {
		out, left := Expand(s, t.launch.Env)
		for _, l := range left {
			p := Problem{Server: name, Key: field, Kind: "variable"}
			_ = l
			dup := false
			for _, q := range probs {
				dup = dup || q == p
			}
			if !dup {
				probs = append(probs, p)
			}
		}
		return out
	}
	text := func(f string) string {
		if s := v.Get(f); s != nil && s.Kind == String {
			return x(f, s.Text)
		}
		return ""
	}
	command := text("command")
	line := []string{command}
	var args []string
	if a := v.Get("args"); a != nil {
		for _, e := range a.Elems {
			args = append(args, x("args", e.Text))
		}
	}
	line = append(line, args...)
	cwd, url, httpURL := text("cwd"), text("url"), text("httpUrl")
	env := t.pairs(c, v.Get("env"), "env", x)
	headers := t.pairs(c, v.Get("headers"), "headers", x)
	c.CommandLine = strings.Join(line, " ")
	c.URL = url + httpURL
	c.Arguments = append(append([]string(nil), args...), c.URL)
	if c.Transport == SDK {
		c.CommandLine = name
	}
	fp := []byte{byte('0' + c.Transport)}
	for _, s := range [...]string{command, cwd, url, httpURL} {
		fp = appendString(fp, s)
	}
	for _, list := range [...][]string{args, env, headers} {
		fp = append(fp, '[')
		for _, s := range list {
			fp = appendString(fp, s)
		}
	}
	if n, ok := integer(v.Get("timeout")); ok {
		fp = append(fp, itoa(n)...)
	}
	t.fingerprint(c, string(fp))
	return probs
}

// pairs expands a map of strings into name, value, name, value, … sorted by name.
func (t *Table) pairs(c *Config, v *Value, field string, x func(field, s string) string) []string {
	if v == nil || v.Kind != Object {
		return nil
	}
	idx := make([]int, 0, len(v.Members))
	for i := range v.Members {
		if v.Members[i].Value.Kind == String {
			idx = append(idx, i)
		}
	}
	sort.Slice(idx, func(i, j int) bool { return v.Members[idx[i]].Key < v.Members[idx[j]].Key })
	var out []string
	for _, i := range idx {
		m := v.Members[i]
		val := x(field+"."+m.Key, m.Value.Text)
		out = append(out, m.Key, val)
		c.Secrets = append(c.Secrets, m.Value.Text)
		if val != m.Value.Text {
			c.Secrets = append(c.Secrets, val)
		}
	}
	return out
}

// Expand replaces $NAME, ${NAME} and ${NAME:-text} (SRC-9) and returns what stayed as written though it looks like a
// variable: undefined names, and forms that are none of these.
func Expand(s string, env map[string]string) (out string, left []string) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] != '$' {
			b.WriteByte(s[i])
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == '$' {
			b.WriteByte('$')
			i += 2
			continue
		}
		if n := nameLen(s[i+1:]); n > 0 {
			name := s[i+1 : i+1+n]
			if val, ok := env[name]; ok {
				b.WriteString(val)
			} else {
				b.WriteString(s[i : i+1+n])
				left = append(left, name)
			}
			i += 1 + n
			continue
		}
		if i+1 < len(s) && s[i+1] == '{' {
			n := nameLen(s[i+2:])
			rest := s[i+2+n:]
			end := strings.IndexByte(rest, '}')
			if n > 0 && end >= 0 && (end == 0 || strings.HasPrefix(rest, ":-")) {
				name := s[i+2 : i+2+n]
				val, ok := env[name]
				whole := s[i : i+2+n+end+1]
				switch {
				case end == 0 && ok:
					b.WriteString(val)
				case end == 0:
					b.WriteString(whole)
					left = append(left, name)
				case ok && val != "":
					b.WriteString(val)
				default:
					b.WriteString(rest[2:end])
				}
				i += len(whole)
				continue
			}
			left = append(left, s[i:min(len(s), i+2)])
		} else if i+1 < len(s) && (s[i+1] == '(' || s[i+1] >= '0' && s[i+1] <= '9') {
			left = append(left, s[i:i+2])
		}
		b.WriteByte('$')
		i++
	}
	return b.String(), left
}

// nameLen is the length of the variable name that s starts with.
func nameLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '_' || s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || n > 0 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}
