package main

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// traceMask takes secrets out of what a trace keeps: equal values become equal tokens, by a key that is written nowhere.
type traceMask struct{ key []byte }

func newTraceMask() *traceMask {
	m := &traceMask{key: make([]byte, 32)}
	_, _ = rand.Read(m.key) // never fails
	return m
}

func (m *traceMask) token(s string) string {
	switch s {
	case "", "true", "false":
		return s
	}
	if strings.HasPrefix(s, "mask-") {
		return s
	}
	if numberText.MatchString(s) { // 5 and "5" are one value (SRC-8)
		most := uint64(9e9)
		if len(s) >= 16 { // perhaps beyond 2^53, which it stays
			most = 9e17
		}
		return strconv.FormatUint(most/9+binary.BigEndian.Uint64(m.digest(s))%most, 10)
	}
	return "mask-" + hex.EncodeToString(m.digest(s)[:6])
}

var numberText = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

func (m *traceMask) digest(s string) []byte {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(s))
	return h.Sum(nil)
}

// plainVariables hold no secrets.
var plainVariables = []string{"HOME", "PWD", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "TMPDIR"}

func (m *traceMask) variable(name, value string) string {
	if slices.Contains(plainVariables, name) {
		return value
	}
	return m.token(value)
}

// dollar is everything in a value that begins with a dollar sign; it stays, since SRC-9 reads it.
var dollar = regexp.MustCompile(`\$\{[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|\$.?`)

// secret masks a value but for its variables.
func (m *traceMask) secret(s string) string {
	var b strings.Builder
	at := 0
	for _, i := range dollar.FindAllStringIndex(s, -1) {
		b.WriteString(m.token(s[at:i[0]]))
		v := s[i[0]:i[1]]
		if name, text, ok := strings.Cut(strings.TrimSuffix(v, "}"), ":-"); ok && strings.HasPrefix(v, "${") {
			v = name + ":-" + m.token(text) + "}"
		} else if m := variableName.FindStringSubmatch(v); m != nil && m[0] == v {
			v = "${" + m[1] + "}" // a token follows it
		}
		b.WriteString(v)
		at = i[1]
	}
	b.WriteString(m.token(s[at:]))
	return b.String()
}

// plainFields of an entry hold no secrets, or what consent and the scripts need to be readable.
var plainFields = []string{"type", "command", "cwd", "description", "timeout", "discoveryTimeoutMs", "trust", "includeTools", "excludeTools",
	"disabled", "enabled", "scope", "extensionName"}

// text is a string at a path of a settings file, masked if it may be a secret; before is the array element in front of it.
func (m *traceMask) text(path []string, s, before string) string {
	if len(path) >= 3 && path[0] == "mcpServers" {
		switch field := path[2]; {
		case slices.Contains(plainFields, field):
			return s
		case field == "args":
			return maskArgument(s, before, m.secret)
		case field == "url" || field == "httpUrl":
			return maskURL(s, m.secret)
		}
		return m.secret(s)
	}
	if len(path) >= 2 && path[0] == "mcp" && (path[1] == "allowed" || path[1] == "excluded") {
		return s
	}
	return m.token(s)
}

// number is a number at a path, masked if it is the value of a variable or header.
func (m *traceMask) number(path []string, s string) string {
	if len(path) >= 4 && path[0] == "mcpServers" && (path[2] == "env" || path[2] == "headers") {
		return m.token(s)
	}
	return s
}

// entry masks one entry of a map of servers.
func (m *traceMask) entry(v *model.Value) *model.Value {
	return m.value([]string{"mcpServers", ""}, v, "")
}

func (m *traceMask) value(path []string, v *model.Value, before string) *model.Value {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case model.String:
		if v.BadText {
			return v
		}
		return model.Str(m.text(path, v.Text, before))
	case model.Number:
		return &model.Value{Kind: model.Number, Text: m.number(path, v.Text)}
	case model.Array:
		out := &model.Value{Kind: model.Array}
		before := ""
		for _, e := range v.Elems {
			out.Elems = append(out.Elems, m.value(path, e, before))
			if before = ""; e.Kind == model.String {
				before = e.Text
			}
		}
		return out
	case model.Object:
		out := &model.Value{Kind: model.Object, Dups: v.Dups, BadText: v.BadText}
		for _, x := range v.Members {
			out.Members = append(out.Members, model.Member{Key: x.Key, Value: m.value(append(path[:len(path):len(path)], x.Key), x.Value, "")})
		}
		return out
	}
	return v
}

// document masks the text of a settings file and keeps its form, but for comments. What is no document keeps its marks only.
func (m *traceMask) document(text string) string {
	c := trace.Denote([]byte(text))
	if c.State != model.Good {
		return m.rubble(text)
	}
	type level struct {
		array  bool
		key    string
		isKey  bool // a key comes next
		before string
	}
	var stack []level
	path := func() (p []string) {
		for _, l := range stack {
			if !l.array {
				p = append(p, l.key)
			}
		}
		return p
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		top := &level{}
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		switch ch := text[i]; {
		case ch == '"':
			end := stringEnd(text, i)
			lit := text[i:end]
			i = end
			v, err := trace.ParseValue([]byte(lit))
			switch {
			case top.isKey:
				b.WriteString(lit)
				if err == nil {
					top.key = v.Text
				}
			case err != nil || v.BadText:
				b.WriteString(`"\ud800"`) // no valid Unicode either
			default:
				if s := m.text(path(), v.Text, top.before); s != v.Text {
					lit = model.Str(s).String()
				}
				b.WriteString(lit)
				top.before = v.Text
			}
		case strings.HasPrefix(text[i:], "//"):
			b.WriteString("//")
			for i < len(text) && text[i] != '\n' && text[i] != '\r' {
				i++
			}
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return m.rubble(text)
			}
			b.WriteString("/*" + strings.Repeat("\n", strings.Count(text[i:i+2+end], "\n")) + "*/")
			i += end + 4
		case ch == '{' || ch == '[':
			stack = append(stack, level{array: ch == '[', isKey: ch == '{'})
			b.WriteByte(ch)
			i++
		case ch == '}' || ch == ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			b.WriteByte(ch)
			i++
		case ch == ':':
			top.isKey = false
			b.WriteByte(ch)
			i++
		case ch == ',':
			top.isKey = !top.array
			b.WriteByte(ch)
			i++
		case ch == '-' || ch >= '0' && ch <= '9':
			end := i
			for end < len(text) && strings.IndexByte("+-.0123456789eE", text[end]) >= 0 {
				end++
			}
			b.WriteString(m.number(path(), text[i:end]))
			i, top.before = end, ""
		default:
			b.WriteByte(ch)
			i++
		}
	}
	return b.String()
}

func stringEnd(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

var rubbleWord = regexp.MustCompile(`[\pL\pN_][^\s"{}\[\]:,]*`)

// rubble masks every word of a text that is no document. A single relative path stays: the notice names it (SRC-15).
func (m *traceMask) rubble(text string) string {
	if !utf8.ValidString(text) {
		return "{"
	}
	if line := strings.TrimSpace(text); line != "" && !strings.ContainsAny(line, "\n\"{}[]=:,") && strings.Contains(line, "/") {
		return text
	}
	return rubbleWord.ReplaceAllStringFunc(text, func(w string) string { return strings.Repeat("x", utf8.RuneCountInString(w)) })
}

var (
	secretName  = regexp.MustCompile(`(?i)(token|secret|passw|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|auth|credential|bearer|cookie|session)`)
	secretShape = regexp.MustCompile(`^(sk-|pk-|rk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|eyJ|Bearer |Basic )`)
	randomShape = regexp.MustCompile(`^[A-Za-z0-9+_=-]{24,}$`)
	hexShape    = regexp.MustCompile(`^[0-9a-fA-F]+$`)
	flagValue   = regexp.MustCompile(`^(-{0,2}[A-Za-z0-9][A-Za-z0-9_.-]*)=(.*)$`)
)

// looksSecret reports whether an argument or a part of it looks like one.
func looksSecret(s string) bool {
	return secretShape.MatchString(s) ||
		randomShape.MatchString(s) && strings.ContainsAny(s, "0123456789") && strings.ToLower(s) != s && strings.ToUpper(s) != s ||
		len(s) >= 32 && hexShape.MatchString(s)
}

// maskArgument masks an argument if it looks like a secret: by its shape, or by the name in or before it.
func maskArgument(s, before string, mask func(string) string) string {
	if m := flagValue.FindStringSubmatch(s); m != nil && m[2] != "" && (secretName.MatchString(m[1]) || looksSecret(m[2])) {
		return m[1] + "=" + mask(m[2])
	}
	if strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && secretName.MatchString(before) && !strings.HasPrefix(s, "-") || looksSecret(s) {
		return mask(s)
	}
	if name, value, ok := strings.Cut(s, ": "); ok && (secretName.MatchString(name) || strings.HasSuffix(strings.ToLower(name), "key")) { // a header
		return name + ": " + mask(value)
	}
	if strings.Contains(s, "://") {
		return maskURL(s, mask)
	}
	return s
}

// maskURL masks a URL's password, and its parameters that look like secrets.
func maskURL(s string, mask func(string) string) string {
	at := strings.Index(s, "://")
	if at < 0 {
		return s
	}
	head, rest := s[:at+3], s[at+3:]
	query := ""
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, query = rest[:i], rest[i:]
	}
	authority, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = urlSafe(mask(authority[:i])) + authority[i:]
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if looksSecret(p) {
			parts[i] = urlSafe(mask(p))
		}
	}
	if query != "" {
		pairs := strings.Split(query[1:], "&")
		for i, p := range pairs {
			name, value, ok := strings.Cut(p, "=")
			if plain, err := url.QueryUnescape(value); ok && value != "" && (secretName.MatchString(name) || name == "key" || err == nil && looksSecret(plain)) {
				pairs[i] = name + "=" + urlSafe(mask(value))
			}
		}
		query = "?" + strings.Join(pairs, "&")
	}
	return head + authority + strings.Join(parts, "/") + query
}

// urlSafe keeps a mask from changing how a URL is read.
func urlSafe(s string) string {
	return strings.NewReplacer(":", "-", " ", "_", "<", "(", ">", ")").Replace(s)
}
