package trace

import (
	"strconv"
	"unicode/utf8"

	"mcpsim/model"
)

// Print writes a trace as text: one line per value, keys in one fixed order, nothing that is left at its default.
// Parse reads back an equal trace.
func Print(t *Trace) []byte { return t.Append(nil) }

// Append appends the text of the trace to b.
func (t *Trace) Append(b []byte) []byte {
	b = append(t.Header.Append(b), '\n')
	for i := range t.Steps {
		b = append(t.Steps[i].Append(b), '\n')
	}
	return b
}

// String returns the step as one line.
func (s *Step) String() string { return string(s.Append(nil)) }

// Append appends the step as one line, without its end.
func (s *Step) Append(b []byte) []byte {
	w := writer{b: b}
	w.open()
	switch s.Do {
	case ExpectStep, Note:
	default:
		w.str("do", string(s.Do))
	}
	writeFields(&w, s)
	w.close()
	return w.b
}

// writer appends one object after another; a member that is left at its default is not written.
type writer struct {
	b     []byte
	first bool
}

func (w *writer) open()  { w.b = append(w.b, '{'); w.first = true }
func (w *writer) close() { w.b = append(w.b, '}'); w.first = false }

// key begins a member.
func (w *writer) key(k string) {
	w.comma()
	w.b = append(appendText(w.b, k, false), ':')
}

// comma separates members and elements.
func (w *writer) comma() {
	if !w.first {
		w.b = append(w.b, ',')
	}
	w.first = false
}

func (w *writer) text(s string) { w.b = appendText(w.b, s, false) }

func (w *writer) str(k, s string) {
	if s != "" {
		w.key(k)
		w.text(s)
	}
}

func (w *writer) optStr(k string, s *string) {
	if s != nil {
		w.key(k)
		w.text(*s)
	}
}

func (w *writer) num(k string, n uint64) {
	w.key(k)
	w.b = strconv.AppendUint(w.b, n, 10)
}

func (w *writer) bool(k string, v bool) {
	w.key(k)
	w.b = strconv.AppendBool(w.b, v)
}

func (w *writer) yes(k string, v bool) {
	if v {
		w.bool(k, v)
	}
}

func (w *writer) strs(k string, list []string) {
	if list != nil {
		w.key(k)
		w.list(list)
	}
}

func (w *writer) list(list []string) {
	w.b = append(w.b, '[')
	for i, s := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.text(s)
	}
	w.b = append(w.b, ']')
}

func (w *writer) value(k string, v *model.Value) {
	if v != nil {
		w.key(k)
		w.b = AppendValue(w.b, v, "")
	}
}

// AppendValue writes a value so that ParseValue reads back an equal one: duplicate keys twice, bad text as a lone
// surrogate. With an indent it is spread over lines, as a person's editor would.
func AppendValue(b []byte, v *model.Value, indent string) []byte {
	return appendValue(b, v, indent, "\n")
}

func appendValue(b []byte, v *model.Value, indent, nl string) []byte {
	if v == nil || v.Kind != model.Array && v.Kind != model.Object {
		if v != nil && v.Kind == model.String {
			return appendText(b, v.Text, v.BadText)
		}
		return v.Append(b)
	}
	inner := nl + indent
	if v.Kind == model.Array {
		b = append(b, '[')
		for i, e := range v.Elems {
			b = appendBreak(b, i, indent, inner)
			b = appendValue(b, e, indent, inner)
		}
		return append(appendEnd(b, len(v.Elems), indent, nl), ']')
	}
	b = append(b, '{')
	n := 0
	for i := range v.Members {
		m := &v.Members[i]
		times := 1
		if contains(v.Dups, m.Key) {
			times = 2
		}
		for ; times > 0; times-- {
			b = appendBreak(b, n, indent, inner)
			b = append(appendText(b, m.Key, v.BadText), ':')
			if indent != "" {
				b = append(b, ' ')
			}
			b = appendValue(b, m.Value, indent, inner)
			n++
		}
	}
	return append(appendEnd(b, n, indent, nl), '}')
}

func appendBreak(b []byte, i int, indent, inner string) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	if indent != "" {
		b = append(b, inner...)
	}
	return b
}

func appendEnd(b []byte, n int, indent, nl string) []byte {
	if n > 0 && indent != "" {
		b = append(b, nl...)
	}
	return b
}

const hexDigits = "0123456789abcdef"

// appendText writes a JSON string. bad writes each U+FFFD as the lone surrogate that it stands for.
func appendText(b []byte, s string, bad bool) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case r < 0x20 || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		case r == utf8.RuneError && bad:
			b = append(b, `\ud800`...)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff: // invisible, and line ends to some readers
			b = append(b, '\\', 'u', hexDigits[r>>12], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// each writes a list of n values.
func (w *writer) each(n int, f func(i int)) {
	w.b = append(w.b, '[')
	for i := 0; i < n; i++ {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		f(i)
	}
	w.b = append(w.b, ']')
}
