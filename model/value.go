package model

import (
	"strconv"
	"strings"
)

// JSONKind is the kind of a Value.
type JSONKind uint8

// The kinds of JSON values.
const (
	Null JSONKind = iota
	Bool
	Number
	String
	Array
	Object
)

// Value is an immutable JSON value. Members keep the order of the text; a duplicate key is resolved last-wins and listed
// in Dups. A number is its text, in canonical form (RFC 8785) where it is exactly representable, otherwise as written.
// A nil *Value is an absent value.
type Value struct {
	Kind    JSONKind
	Text    string // Number, String
	True    bool   // Bool
	Elems   []*Value
	Members []Member
	Dups    []string // keys that occurred more than once in this object
	BadText bool     // String, or a key of this object, holds text that is not valid Unicode (a lone surrogate)
}

// Member is one key of an object with its value.
type Member struct {
	Key   string
	Value *Value
}

// Get returns the member named key, or nil.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != Object {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return v.Members[i].Value
		}
	}
	return nil
}

// finder looks members of one object up in about their own order; a key out of order costs a scan of a small object, one
// index of a large one.
type finder struct {
	members []Member
	next    int
	index   map[string]int
}

func (f *finder) get(key string) *Value {
	i := f.next
	if i >= len(f.members) || f.members[i].Key != key {
		i = f.search(key)
	}
	if i < 0 {
		return nil
	}
	f.next = i + 1
	return f.members[i].Value
}

func (f *finder) search(key string) int {
	if len(f.members) > 16 {
		if f.index == nil {
			f.index = make(map[string]int, len(f.members))
			for i := range f.members {
				f.index[f.members[i].Key] = i
			}
		}
		if i, ok := f.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range f.members {
		if f.members[i].Key == key {
			return i
		}
	}
	return -1
}

// At walks keys from v; nil as soon as one is missing.
func (v *Value) At(keys ...string) *Value {
	for _, k := range keys {
		v = v.Get(k)
	}
	return v
}

// Empty reports absent, null, {} or [] ("absent equals empty", spec section 1).
func (v *Value) Empty() bool {
	return v == nil || v.Kind == Null || v.Kind == Object && len(v.Members) == 0 || v.Kind == Array && len(v.Elems) == 0
}

// Obj, Arr, Str, Num and Boolean build values.
func Obj(members ...Member) *Value { return &Value{Kind: Object, Members: members} }

// Arr builds an array.
func Arr(elems ...*Value) *Value { return &Value{Kind: Array, Elems: elems} }

// Str builds a string.
func Str(s string) *Value { return &Value{Kind: String, Text: s} }

// Num builds a whole number.
func Num(n int64) *Value { return &Value{Kind: Number, Text: strconv.FormatInt(n, 10)} }

// Boolean builds true or false.
func Boolean(b bool) *Value { return &Value{Kind: Bool, True: b} }

// NullValue builds null.
func NullValue() *Value { return &Value{Kind: Null} }

// Strs builds an array of strings.
func Strs(list ...string) *Value {
	v := &Value{Kind: Array}
	for _, s := range list {
		v.Elems = append(v.Elems, Str(s))
	}
	return v
}

// Equal compares two values as they are: member order is irrelevant, array order matters, null differs from absent.
func Equal(a, b *Value) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a == b {
		return true
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Bool:
		return a.True == b.True
	case Number, String:
		return a.Text == b.Text && a.BadText == b.BadText
	case Array:
		if len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !Equal(a.Elems[i], b.Elems[i]) {
				return false
			}
		}
	case Object:
		if len(a.Members) != len(b.Members) {
			return false
		}
		in := finder{members: b.Members}
		for i := range a.Members {
			o := in.get(a.Members[i].Key)
			if o == nil || !Equal(a.Members[i].Value, o) {
				return false
			}
		}
	}
	return true
}

// Append writes v as compact JSON in member order.
func (v *Value) Append(b []byte) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	switch v.Kind {
	case Null:
		return append(b, "null"...)
	case Bool:
		return strconv.AppendBool(b, v.True)
	case Number:
		return append(b, v.Text...)
	case String:
		if v.BadText {
			return appendBad(b, v.Text)
		}
		return appendString(b, v.Text)
	case Array:
		b = append(b, '[')
		for i, e := range v.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = e.Append(b)
		}
		return append(b, ']')
	}
	b = append(b, '{')
	for i := range v.Members {
		if i > 0 {
			b = append(b, ',')
		}
		if v.BadText {
			b = appendBad(b, v.Members[i].Key)
		} else {
			b = appendString(b, v.Members[i].Key)
		}
		b = append(b, ':')
		b = v.Members[i].Value.Append(b)
	}
	return append(b, '}')
}

// String returns v as compact JSON.
func (v *Value) String() string { return string(v.Append(nil)) }

// appendBad writes text that is not valid Unicode: what stands as U+FFFD becomes a lone surrogate again.
func appendBad(b []byte, s string) []byte {
	for i, part := range strings.Split(s, "\uFFFD") {
		part := appendString(nil, part)
		if i == 0 {
			b = append(b, '"')
		} else {
			b = append(b, `\ud800`...)
		}
		b = append(b, part[1:len(part)-1]...)
	}
	return append(b, '"')
}

const hexDigits = "0123456789abcdef"

func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\r':
			b = append(b, '\\', 'r')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// SortedKeys returns the keys of an object in order of code points.
func (v *Value) SortedKeys() []string {
	if v == nil {
		return nil
	}
	keys := make([]string, 0, len(v.Members))
	for i := range v.Members {
		keys = append(keys, v.Members[i].Key)
	}
	for i := 1; i < len(keys); i++ {
		for j := i; j > 0 && strings.Compare(keys[j], keys[j-1]) < 0; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
	return keys
}
