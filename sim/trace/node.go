package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
)

// text is the text that is being parsed. Parsing stops at the first error by panicking with *Error; the entry points
// recover it.
type text struct {
	name    string
	data    []byte
	session string // what a step without a session means: the first one of the launch
}

// node is one JSON value of a text, with its place. Objects and arrays are split one level at a time.
type node struct {
	t   *text
	off int
	raw jsontext.Value
}

// member is one member of an object node.
type member struct {
	key string
	at  node // of the key
	val node
}

func (t *text) fail(off int, format string, args ...any) {
	line, col := place(t.data, off)
	panic(&Error{t.name, line, col, fmt.Sprintf(format, args...)})
}

func (n node) fail(format string, args ...any) { n.t.fail(n.off, format, args...) }

// recovered turns the panic of fail into an error. Use: defer recovered(&err).
func recovered(err *error) {
	switch r := recover().(type) {
	case nil:
	case *Error:
		*err = r
	default:
		panic(r)
	}
}

func decoder(data []byte) *jsontext.Decoder {
	// Bad text is kept and marked: SRC-8 needs traces that hold it. Duplicate keys likewise.
	return jsontext.NewDecoder(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// values splits the text into its top-level values.
func (t *text) values() []node {
	var list []node
	dec := decoder(t.data)
	for {
		raw, err := dec.ReadValue()
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return list
		}
		if err != nil {
			off := len(t.data)
			if s := (*jsontext.SyntacticError)(nil); errors.As(err, &s) {
				off = int(s.ByteOffset)
				err = s.Err
			}
			t.fail(off, "not JSON: %v; a trace is a stream of JSON values, a header and then steps", plain(err))
		}
		list = append(list, node{t, int(dec.InputOffset()) - len(raw), bytes.Clone(raw)})
	}
}

// plain drops the package name that jsontext puts before its messages.
func plain(err error) string { return strings.TrimPrefix(err.Error(), "jsontext: ") }

func (n node) kind() jsontext.Kind { return n.raw.Kind() }

func (n node) null() bool { return n.kind() == 'n' }

var kindNames = map[jsontext.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number",
	'{': "an object", '[': "an array"}

// want fails unless the node is of kind k.
func (n node) want(k jsontext.Kind, what string) {
	if n.kind() != k {
		n.fail("%s must be %s, this is %s", what, kindNames[k], kindNames[n.kind()])
	}
}

// members returns the members of an object. A duplicate key is an error: a trace is written once and read often.
func (n node) members(what string) []member {
	n.want('{', what)
	var list []member
	dec := decoder(n.raw)
	dec.ReadToken()
	for dec.PeekKind() != '}' {
		rawKey, _ := dec.ReadValue()
		at := node{n.t, n.off + int(dec.InputOffset()) - len(rawKey), bytes.Clone(rawKey)}
		key := at.str("a key")
		raw, _ := dec.ReadValue()
		val := node{n.t, n.off + int(dec.InputOffset()) - len(raw), bytes.Clone(raw)}
		for i := range list {
			if list[i].key == key {
				at.fail("%s has the key %q twice; keep one", what, key)
			}
		}
		list = append(list, member{key, at, val})
	}
	return list
}

// elems returns the elements of an array.
func (n node) elems(what string) []node {
	n.want('[', what)
	list := []node{}
	dec := decoder(n.raw)
	dec.ReadToken()
	for dec.PeekKind() != ']' {
		raw, _ := dec.ReadValue()
		list = append(list, node{n.t, n.off + int(dec.InputOffset()) - len(raw), bytes.Clone(raw)})
	}
	return list
}

// str returns a string that is valid Unicode.
func (n node) str(what string) string {
	n.want('"', what)
	b, err := jsontext.AppendUnquote(nil, n.raw)
	if err != nil {
		n.fail("%s is not valid Unicode; write such bytes as base64, or such a value as json", what)
	}
	return string(b)
}

// word returns one of a list of words.
func (n node) word(what string, words ...string) string {
	s := n.str(what)
	for _, w := range words {
		if s == w {
			return s
		}
	}
	n.fail("%s must be one of %s, this is %q", what, strings.Join(words, ", "), s)
	return ""
}

func (n node) boolean(what string) bool {
	if k := n.kind(); k != 't' && k != 'f' {
		n.fail("%s must be true or false, this is %s", what, kindNames[k])
	}
	return n.kind() == 't'
}

// whole returns a whole number that is not negative.
func (n node) whole(what string) uint64 {
	n.want('0', what)
	u, err := strconv.ParseUint(canonicalNumber(string(n.raw)), 10, 64)
	if err != nil {
		n.fail("%s must be a whole number, 0 or more, this is %s", what, n.raw)
	}
	return u
}

func (n node) ms(what string) model.Ms {
	u := n.whole(what)
	if u > 1<<53 {
		n.fail("%s is more than 2^53 milliseconds", what)
	}
	return model.Ms(u)
}

func (n node) strs(what string) []string {
	list := []string{}
	for _, e := range n.elems(what) {
		list = append(list, e.str("an element of "+what))
	}
	return list
}

// value returns the node as the JSON value that a file or an entry holds.
func (n node) value() *model.Value {
	v, err := ParseValue(n.raw)
	if err != nil {
		n.fail("%s", plain(err))
	}
	return v
}

// object returns the node as a value that must be an object; null stays null.
func (n node) object(what string) *model.Value {
	if !n.null() {
		n.want('{', what)
	}
	return n.value()
}
