package config

import "fmt"

// transport is what an entry is reached by.
type transport struct {
	kind    Kind
	untyped bool // a url without a type
}

// normalise brings the two shapes of an entry into one (SRC-4): type goes, url becomes httpUrl where the type says so, an
// empty command, url or httpUrl counts as absent (SRC-16). Exactly one transport must be left, the one that the type names.
func normalise(v *value, allowSDK bool) (*value, transport, *malformed) {
	drop := map[string]bool{}
	has := func(field string) bool {
		s := v.get(field).str()
		drop[field] = s == ""
		return s != ""
	}
	command, url, httpURL := has("command"), has("url"), has("httpUrl")
	named := 0
	for _, b := range [...]bool{command, url, httpURL} {
		if b {
			named++
		}
	}
	typed := v.get("type")
	if typed.vanishes() {
		typed = nil
	}
	wrong := func(format string, args ...any) (*value, transport, *malformed) {
		at := v.start
		if typed != nil {
			at = typed.start
		}
		return nil, transport{}, &malformed{fmt.Sprintf(format, args...), at}
	}
	if typed != nil && typed.text == "sdk" {
		switch {
		case !allowSDK:
			return wrong(`type "sdk" is for servers given at launch or with a session only`)
		case named > 0:
			return wrong(`type "sdk" contradicts command, url or httpUrl`)
		}
		return v.less(drop), transport{kind: SDK}, nil
	}
	switch {
	case named == 0:
		return wrong("no transport: expected command, url or httpUrl")
	case named > 1:
		return wrong("more than one transport: expected one of command, url and httpUrl")
	}
	drop["type"] = true
	t := transport{}
	switch {
	case command:
		t.kind = Stdio
	case httpURL:
		t.kind = HTTP
	default:
		t = transport{SSE, typed == nil}
	}
	if typed == nil {
		return v.less(drop), t, nil
	}
	fits := false
	switch typed.text {
	case "stdio":
		fits = t.kind == Stdio
	case "http", "streamable-http", "streamableHttp":
		fits = t.kind != Stdio
		t.kind = HTTP
	case "sse":
		fits = t.kind == SSE
	default:
		return wrong(`unknown type: expected stdio, http, streamable-http, streamableHttp or sse`)
	}
	if !fits {
		return wrong("the type contradicts the transport that is named")
	}
	v = v.less(drop)
	if t.kind == HTTP && url {
		v.members[v.find(keyOf{"url", false})].key = "httpUrl"
		v.reindex()
	}
	return v, t, nil
}

// less returns a copy without some members.
func (v *value) less(drop map[string]bool) *value {
	c := *v
	c.members = nil
	for _, m := range v.members {
		if !drop[m.key] || m.bad {
			c.members = append(c.members, m)
		}
	}
	c.reindex()
	return &c
}

// reindex follows a change of keys.
func (v *value) reindex() {
	v.index = nil
	if len(v.members) > manyMembers {
		v.index = make(map[keyOf]int, len(v.members))
		for i := range v.members {
			v.index[keyOf{v.members[i].key, v.members[i].bad}] = i
		}
	}
}
