package model

import "unicode/utf8"

// foreign are the fields of other hosts that grant nothing and run nothing (SRC-17).
var foreign = []string{"alwaysAllow", "autoApprove", "enableAllProjectMcpServers", "enabledMcpjsonServers", "headersHelper",
	"envFile", "serverUrl", "transport", "disabledTools"}

// Defaults and bounds of times (CALL-3, REC-7).
const (
	defaultTimeoutMs         Ms = 600000
	defaultDiscoveryMs       Ms = 30000 // stdio and in-process
	defaultRemoteDiscoveryMs Ms = 5000
	minDiscoveryMs           Ms = 100
	maxDiscoveryMs           Ms = 300000
)

// malformed is an entry that is skipped, whatever else is wrong with it (SRC-8).
func malformed(name string) *interpreted {
	return &interpreted{problems: []Problem{{Server: name, Kind: "malformed"}}}
}

// interpret reads one entry: what is wrong with it (SRC-8), its normal form (SRC-4), and what it means.
func (t *Table) interpret(name string, v *Value, allowSDK bool) *interpreted {
	if name == "" || !utf8.ValidString(name) || v == nil || v.Kind != Object || vanishes(v) || badText(v) ||
		holdsHugeInteger(v) || !fieldsFit(v) {
		return malformed(name)
	}
	v, probs := coerced(name, v)
	v, transport, untyped, ok := normalised(v, allowSDK)
	if !ok {
		return malformed(name)
	}
	for _, f := range foreign {
		if !vanishes(v.Get(f)) {
			probs = append(probs, Problem{Server: name, Kind: "ignored"})
			break
		}
	}
	c := &Config{Transport: transport, UntypedURL: untyped}
	c.Full = without(v, "scope", "extensionName") // SRC-3
	c.Raw = without(c.Full, "description", "disabled", "enabled")
	c.Text, c.full = string(appendCanonical(nil, c.Raw, true)), t.full(c.Full)
	c.readFields(v)
	probs = append(probs, t.expand(name, c, v)...)
	t.number(c)
	return &interpreted{c, once(probs)}
}

// readFields takes over what is no part of the fingerprint, and the timeout; defaults and clamps are applied.
func (c *Config) readFields(v *Value) {
	enabled := v.Get("enabled")
	c.Disabled = isTrue(v.Get("disabled")) || enabled != nil && enabled.Kind == Bool && !enabled.True
	c.Trust = isTrue(v.Get("trust"))
	c.Include, c.Exclude = texts(v.Get("includeTools")), texts(v.Get("excludeTools"))
	c.Timeout, c.Discovery = defaultTimeoutMs, defaultDiscoveryMs
	if c.Transport == HTTP || c.Transport == SSE {
		c.Discovery = defaultRemoteDiscoveryMs
	}
	if n, ok := wholeNumber(v.Get("timeout")); ok {
		c.Timeout = Ms(n)
	}
	if n, ok := wholeNumber(v.Get("discoveryTimeoutMs")); ok {
		c.Discovery = min(max(Ms(n), minDiscoveryMs), maxDiscoveryMs)
	}
}

// normalised brings the type-based shape into the field-based one (SRC-4): type goes, url becomes httpUrl where the type says
// so, and an empty command, url or httpUrl counts as absent (SRC-16). ok is false unless exactly one transport is left, and
// it is the one that the type names.
func normalised(v *Value, allowSDK bool) (out *Value, kind Transport, untyped, ok bool) {
	typ := v.Get("type")
	typed := !vanishes(typ)
	named := 0
	for _, field := range [...]string{"command", "url", "httpUrl"} {
		if text(v, field) == "" {
			v = without(v, field)
		} else {
			named++
		}
	}
	command, url := text(v, "command") != "", text(v, "url") != ""
	if typed && typ.Text == "sdk" {
		return v, SDK, false, allowSDK && named == 0
	}
	if named != 1 {
		return nil, 0, false, false
	}
	switch {
	case command:
		kind = Stdio
	case url:
		kind = SSE
	default:
		kind = HTTP
	}
	v = without(v, "type")
	if !typed {
		return v, kind, kind == SSE, true
	}
	switch typ.Text {
	case "stdio":
		return v, kind, false, kind == Stdio
	case "sse":
		return v, kind, false, kind == SSE
	case "http", "streamable-http", "streamableHttp":
		if url {
			v = renamed(v, "url", "httpUrl")
		}
		return v, HTTP, false, kind != Stdio
	}
	return nil, 0, false, false
}

// coerced makes numbers and booleans among env and header values their JSON text, with a notice for each (SRC-8).
func coerced(name string, v *Value) (*Value, []Problem) {
	var probs []Problem
	for _, field := range [...]string{"env", "headers"} {
		pairs := v.Get(field)
		if pairs == nil || pairs.Kind != Object {
			continue
		}
		var members []Member
		for i := range pairs.Members {
			m := pairs.Members[i]
			if m.Value.Kind != Number && m.Value.Kind != Bool {
				continue
			}
			if members == nil {
				members = append(members, pairs.Members...)
			}
			members[i].Value = Str(m.Value.String())
			probs = append(probs, Problem{Server: name, Key: field + "." + m.Key, Kind: "coerced"})
		}
		if members != nil {
			v = with(v, field, &Value{Kind: Object, Members: members})
		}
	}
	return v, probs
}

// fieldsFit checks the types of the fields that a host knows (SRC-8). What counts as absent fits everywhere.
func fieldsFit(v *Value) bool {
	for i := range v.Members {
		if x := v.Members[i].Value; !vanishes(x) && !fits(v.Members[i].Key, x) {
			return false
		}
	}
	return true
}

func fits(field string, x *Value) bool {
	switch field {
	case "command", "cwd", "url", "httpUrl", "type", "description":
		return x.Kind == String
	case "args", "includeTools", "excludeTools":
		for _, e := range x.Elems {
			if e.Kind != String {
				return false
			}
		}
		return x.Kind == Array
	case "env", "headers":
		for i := range x.Members {
			m := x.Members[i].Value
			if (m.Kind == Array || m.Kind == Object) && !vanishes(m) {
				return false
			}
		}
		return x.Kind == Object
	case "timeout", "discoveryTimeoutMs":
		n, ok := wholeNumber(x)
		return ok && n >= 1
	case "trust", "disabled", "enabled":
		return x.Kind == Bool
	}
	return true
}

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

func isTrue(v *Value) bool { return v != nil && v.Kind == Bool && v.True }

// text returns a member that is a string, else "".
func text(v *Value, field string) string {
	if x := v.Get(field); x != nil && x.Kind == String {
		return x.Text
	}
	return ""
}

// texts returns the elements of an array of strings; nil if it counts as absent.
func texts(v *Value) []string {
	if v == nil || v.Kind != Array {
		return nil
	}
	var out []string
	for _, e := range v.Elems {
		out = append(out, e.Text)
	}
	return out
}

// without returns v without some members; v itself if it has none of them.
func without(v *Value, keys ...string) *Value {
	out := &Value{Kind: Object, Members: make([]Member, 0, len(v.Members))}
	for i := range v.Members {
		if !contains(keys, v.Members[i].Key) {
			out.Members = append(out.Members, v.Members[i])
		}
	}
	if len(out.Members) == len(v.Members) {
		return v
	}
	return out
}

// with returns v with the value of a member replaced.
func with(v *Value, key string, x *Value) *Value {
	out := &Value{Kind: Object, Members: append([]Member(nil), v.Members...)}
	for i := range out.Members {
		if out.Members[i].Key == key {
			out.Members[i].Value = x
		}
	}
	return out
}

// renamed returns v with a member under another key.
func renamed(v *Value, from, to string) *Value {
	out := &Value{Kind: Object, Members: append([]Member(nil), v.Members...)}
	for i := range out.Members {
		if out.Members[i].Key == from {
			out.Members[i].Key = to
		}
	}
	return out
}
