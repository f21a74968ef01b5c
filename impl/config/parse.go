package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/jsonc"
)

// ParseError says why a text is no good document, and where: Line and Column count from 1, in characters; 0 is unknown. It
// never quotes the text.
type ParseError struct {
	Kind         string // unparsable, not_object
	Line, Column int
	Msg          string
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.Msg
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

const bom = "\xEF\xBB\xBF"

// parseText reads JSON with comments and trailing commas, UTF-8, with an optional BOM, whose top level is an object (SRC-5,
// SRC-6). Everything else is strict. Text that is not valid Unicode costs the string that holds it, not the document (SRC-8).
func parseText(src []byte) (*value, *ParseError) {
	src = bytes.TrimPrefix(src, []byte(bom))
	fail := func(kind, msg string, off int) (*value, *ParseError) {
		line, column := place(src, off)
		return nil, &ParseError{Kind: kind, Line: line, Column: column, Msg: msg}
	}
	if msg := otherEncoding(src); msg != "" {
		return nil, &ParseError{Kind: "unparsable", Msg: msg}
	}
	if at := loneComma(src); at >= 0 {
		return fail("unparsable", "a comma without a value before it", at)
	}
	p := parser{text: jsonc.ToJSON(src)} // the same offsets
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(p.text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	v, err := p.value()
	if err == nil {
		_, err = p.dec.ReadToken()
		if err == io.EOF {
			err = nil
		} else if err == nil {
			return fail("unparsable", "more text after the end of the document", int(p.dec.InputOffset())-1)
		}
	}
	switch {
	case err != nil && isLinkText(src):
		// SRC-15
		return fail("unparsable", "the whole text is one relative path: a link that was checked out as text?", 0)
	case err != nil:
		var syntax *jsontext.SyntacticError
		if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
			if len(bytes.TrimSpace(p.text)) == 0 {
				return fail("unparsable", "empty, expected a JSON object", 0)
			}
			return fail("unparsable", "the text ends before the document does (cut off?)", len(src))
		}
		if errors.As(err, &syntax) {
			return fail("unparsable", "no valid JSON", int(syntax.ByteOffset))
		}
		return nil, &ParseError{Kind: "unparsable", Msg: "no valid JSON"}
	case v.kind != object:
		return fail("not_object", "expected an object at the top level", v.start)
	}
	return v, nil
}

type parser struct {
	dec  *jsontext.Decoder
	text []byte
}

func (p *parser) value() (*value, error) {
	switch p.dec.PeekKind() {
	case '{':
		return p.object()
	case '[':
		return p.array()
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	v := &value{end: int(p.dec.InputOffset())}
	v.start = v.end - len(raw)
	switch raw.Kind() {
	case 'n':
	case 't':
		v.kind = boolTrue
	case 'f':
		v.kind = boolFalse
	case '0':
		v.kind, v.text = number, canonicalNumber(string(raw))
	default:
		v.kind = text
		v.text, v.bad = unquote(raw)
	}
	return v, nil
}

func (p *parser) array() (*value, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	v := &value{kind: array, start: int(p.dec.InputOffset()) - 1}
	for p.dec.PeekKind() != ']' {
		e, err := p.value()
		if err != nil {
			return nil, err
		}
		v.elems = append(v.elems, e)
	}
	_, err := p.dec.ReadToken()
	v.end = int(p.dec.InputOffset())
	return v, err
}

func (p *parser) object() (*value, error) {
	if _, err := p.dec.ReadToken(); err != nil {
		return nil, err
	}
	v := &value{kind: object, start: int(p.dec.InputOffset()) - 1}
	for p.dec.PeekKind() != '}' {
		raw, err := p.dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m := member{start: int(p.dec.InputOffset()) - len(raw)}
		m.key, m.bad = unquote(raw)
		if m.value, err = p.value(); err != nil {
			return nil, err
		}
		v.put(m)
	}
	_, err := p.dec.ReadToken()
	v.end = int(p.dec.InputOffset())
	return v, err
}

// unquote returns the text of a JSON string; bad if it is not valid Unicode (bytes that are no UTF-8, a lone surrogate).
func unquote(raw []byte) (s string, bad bool) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner), false
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err != nil
}

// otherEncoding recognises UTF-16 and UTF-32 by their byte order marks or zero bytes.
func otherEncoding(src []byte) string {
	if bytes.HasPrefix(src, []byte("\xFF\xFE")) || bytes.HasPrefix(src, []byte("\xFE\xFF")) {
		return "UTF-16, expected UTF-8"
	}
	if len(src) >= 2 && (src[0] == 0 || src[1] == 0) {
		return "zero bytes (UTF-16?), expected UTF-8"
	}
	return ""
}

// loneComma returns the offset of the first comma that follows an opening bracket, or -1: what stands after values may end
// in a comma, but a comma alone is nothing that the lenient stage may take away.
func loneComma(src []byte) int {
	var before byte // the last byte that means something
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			for i++; i < len(src) && src[i] != '"'; i++ {
				if src[i] == '\\' {
					i++
				}
			}
			before = '"'
		case c == '/' && i+1 < len(src) && src[i+1] == '/':
			n := bytes.IndexByte(src[i:], '\n')
			if n < 0 {
				return -1
			}
			i += n
		case c == '/' && i+1 < len(src) && src[i+1] == '*':
			n := bytes.Index(src[i+2:], []byte("*/"))
			if n < 0 {
				return -1
			}
			i += n + 3
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case c == ',' && (before == '{' || before == '['):
			return i
		default:
			before = c
		}
	}
	return -1
}

// isLinkText reports whether the whole text is one relative path (SRC-15).
func isLinkText(src []byte) bool {
	s := strings.TrimRight(string(src), "\r\n")
	return s != "" && len(s) < 4096 && utf8.ValidString(s) && s[0] != '/' && strings.ContainsAny(s, "./") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`{}[]",:*?<>|`, r) })
}

// place returns line and column of an offset, both from 1, in characters.
func place(src []byte, off int) (line, column int) {
	off = max(0, min(off, len(src)))
	line = 1 + bytes.Count(src[:off], []byte("\n"))
	return line, 1 + utf8.RuneCount(src[bytes.LastIndexByte(src[:off], '\n')+1:off])
}
