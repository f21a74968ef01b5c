package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Describe shows every field that the approval hash covers, one a line (ASK-2): env and header values as name and length
// only; arguments and URLs in full only if full, elsewhere as length, and so are fields the host does not know, since either
// may carry secrets. Everything else that a terminal would act on is escaped.
func (e *Entry) Describe(full bool) string {
	fields, err := parseText([]byte(e.Canon))
	if err != nil {
		panic("a canonical entry cannot be read: " + err.Msg)
	}
	var lines []string
	for i := range fields.members {
		m := &fields.members[i]
		lines = append(lines, strconv.Quote(m.key)+": "+describeField(m.key, m.value, full))
	}
	slices.SortStableFunc(lines, func(a, b string) int { return fieldRank(a) - fieldRank(b) })
	return strings.Join(lines, "\n")
}

// fieldRank brings what is run to the top; the rest keeps its order.
func fieldRank(line string) int {
	for i, f := range [...]string{"command", "args", "httpUrl", "url", "cwd", "env", "headers"} {
		if strings.HasPrefix(line, `"`+f+`":`) {
			return i - 10
		}
	}
	return 0
}

func describeField(key string, v *value, full bool) string {
	switch key {
	case "env", "headers":
		if v.kind != object {
			return length(v)
		}
		var parts []string
		for i := range v.members {
			parts = append(parts, strconv.Quote(v.members[i].key)+" ("+length(v.members[i].value)+")")
		}
		return strings.Join(parts, ", ")
	case "command", "cwd", "type":
		return shown(v)
	case "timeout", "discoveryTimeoutMs", "trust", "includeTools", "excludeTools":
		return shown(v)
	}
	if full {
		return shown(v)
	}
	if v.kind == array && key == "args" {
		var parts []string
		for _, a := range v.elems {
			parts = append(parts, length(a))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return length(v)
}

// length is how much there is of a value, in characters of its text.
func length(v *value) string {
	n := 0
	if v.kind == text {
		n = utf8.RuneCountInString(v.text)
	} else {
		n = utf8.RuneCount(appendCompact(nil, v, nil))
	}
	if n == 1 {
		return "1 character"
	}
	return fmt.Sprintf("%d characters", n)
}

// shown is a value as JSON, in which only what is printed as itself is left unescaped: no control characters, nothing that
// turns the direction of text around or is invisible.
func shown(v *value) string {
	raw := jsontext.Value(appendCompact(nil, v, nil))
	quoted := strconv.Quote(string(raw))
	quoted = quoted[1 : len(quoted)-1]
	// strconv.Quote escaped the quotes and backslashes of the JSON once more; those are the JSON's own.
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted)
}

// CommandLine is command and arguments joined by one space; no shell reads it (SRC-16).
func CommandLine(spec DialSpec) string {
	if len(spec.Args) == 0 {
		return spec.Command
	}
	return spec.Command + " " + strings.Join(spec.Args, " ")
}
