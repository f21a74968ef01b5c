package approval

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tidwall/jsonc"
)

// The file is one JSON object:
//
//	{"version": 1, "roots": {"/project": {"server": {"hash": "…", "status": "approved"}}}}
//
// Status is approved or rejected. Members that this version does not know survive a rewrite, at the top and in records.
const version = 1

// contents is what a good file holds.
type contents struct {
	roots []rootRecords // sorted
	extra []rawMember   // of the top level
}

type rootRecords struct {
	root    string
	servers []serverRecord // sorted
}

type serverRecord struct {
	server string
	record
	extra []rawMember
}

type record struct {
	hash     string
	approved bool
}

type rawMember struct {
	key string
	raw jsontext.Value
}

// formatError says why a text is no approvals file. It never quotes it.
type formatError struct {
	kind         string // unparsable, not_object
	line, column int
	msg          string
}

func (e *formatError) Error() string { return e.msg }

// Decode reads the file format: the records of every root, sorted by root and server.
func Decode(data []byte) ([]RecordLine, error) {
	f, err := parse(data)
	if err != nil {
		return nil, err
	}
	var out []RecordLine
	for _, r := range f.roots {
		for _, s := range r.servers {
			out = append(out, RecordLine{r.root, s.server, s.hash, s.approved})
		}
	}
	return out, nil
}

// Encode writes the file format. Of two records for one server of one root the last counts.
func Encode(lines []RecordLine) []byte {
	var f contents
	for _, l := range lines {
		f.set(l)
	}
	return f.encode()
}

// set puts a record in place of what is there for its server.
func (f *contents) set(l RecordLine) {
	i, found := slices.BinarySearchFunc(f.roots, l.Root, func(r rootRecords, root string) int { return strings.Compare(r.root, root) })
	if !found {
		f.roots = slices.Insert(f.roots, i, rootRecords{root: l.Root})
	}
	servers := &f.roots[i].servers
	j, found := slices.BinarySearchFunc(*servers, l.Server, func(s serverRecord, server string) int { return strings.Compare(s.server, server) })
	if !found {
		*servers = slices.Insert(*servers, j, serverRecord{server: l.Server})
	}
	(*servers)[j].record = record{l.Hash, l.Approved}
}

// with returns a copy that holds lines as well.
func (f *contents) with(lines []RecordLine) *contents {
	c := &contents{extra: f.extra, roots: slices.Clone(f.roots)}
	for i := range c.roots {
		c.roots[i].servers = slices.Clone(c.roots[i].servers)
	}
	for _, l := range lines {
		c.set(l)
	}
	return c
}

func (f *contents) of(root string) map[string]record {
	out := map[string]record{}
	for _, r := range f.roots {
		if r.root == root {
			for _, s := range r.servers {
				out[s.server] = s.record
			}
		}
	}
	return out
}

func (f *contents) encode() []byte {
	var b bytes.Buffer
	e := jsontext.NewEncoder(&b, jsontext.WithIndent("  "))
	must := func(err error) {
		if err != nil {
			panic(fmt.Sprintf("approvals cannot be printed: %v", err)) // names are valid Unicode and unique (SRC-8)
		}
	}
	token := func(list ...jsontext.Token) {
		for _, t := range list {
			must(e.WriteToken(t))
		}
	}
	extra := func(list []rawMember) {
		for _, m := range list {
			token(jsontext.String(m.key))
			must(e.WriteValue(m.raw))
		}
	}
	token(jsontext.BeginObject, jsontext.String("version"), jsontext.Int(version), jsontext.String("roots"), jsontext.BeginObject)
	for _, r := range f.roots {
		token(jsontext.String(r.root), jsontext.BeginObject)
		for _, s := range r.servers {
			status := "rejected"
			if s.approved {
				status = "approved"
			}
			token(jsontext.String(s.server), jsontext.BeginObject, jsontext.String("hash"), jsontext.String(s.hash),
				jsontext.String("status"), jsontext.String(status))
			extra(s.extra)
			token(jsontext.EndObject)
		}
		token(jsontext.EndObject)
	}
	token(jsontext.EndObject)
	extra(f.extra)
	token(jsontext.EndObject)
	return b.Bytes()
}

// parse reads a file; comments, trailing commas and a byte order mark are no fault (SRC-5). The error is a *formatError.
func parse(data []byte) (*contents, error) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	text := jsonc.ToJSON(data)
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	top, err := d.ReadValue()
	if err == nil {
		if _, more := d.ReadToken(); more != io.EOF {
			err = errors.New("more text after the end")
		}
	}
	if err != nil {
		bad := &formatError{kind: "unparsable", msg: "no valid JSON (cut off?)"}
		off := len(data)
		var syntax *jsontext.SyntacticError
		if errors.As(err, &syntax) {
			off = min(off, int(syntax.ByteOffset))
		}
		bad.line = 1 + bytes.Count(data[:off], []byte("\n"))
		bad.column = 1 + utf8.RuneCount(data[bytes.LastIndexByte(data[:off], '\n')+1:off])
		return nil, bad
	}
	if top.Kind() != '{' {
		return nil, &formatError{kind: "not_object", line: 1, column: 1, msg: "expected an object"}
	}
	f := &contents{}
	for _, m := range members(top) {
		switch m.key {
		case "version":
			if string(m.raw) != "1" {
				return nil, wrong("version: expected 1")
			}
		case "roots":
			if m.raw.Kind() != '{' {
				return nil, wrong("roots: expected an object")
			}
			if err := f.readRoots(members(m.raw)); err != nil {
				return nil, err
			}
		default:
			f.extra = append(f.extra, m)
		}
	}
	return f, nil
}

func wrong(format string, args ...any) *formatError {
	return &formatError{kind: "unparsable", msg: "no approvals: " + fmt.Sprintf(format, args...)}
}

func (f *contents) readRoots(roots []rawMember) error {
	for _, r := range roots {
		if r.raw.Kind() != '{' {
			return wrong("root %q: expected an object", r.key)
		}
		rr := rootRecords{root: r.key}
		for _, m := range members(r.raw) {
			rec, err := readRecord(m)
			if err != nil {
				return err
			}
			rr.servers = append(rr.servers, rec)
		}
		slices.SortFunc(rr.servers, func(a, b serverRecord) int { return strings.Compare(a.server, b.server) })
		f.roots = append(f.roots, rr)
	}
	slices.SortFunc(f.roots, func(a, b rootRecords) int { return strings.Compare(a.root, b.root) })
	return nil
}

func readRecord(m rawMember) (serverRecord, error) {
	rec := serverRecord{server: m.key}
	if m.raw.Kind() != '{' {
		return rec, wrong("record of %q: expected an object", m.key)
	}
	status := ""
	for _, x := range members(m.raw) {
		switch x.key {
		case "hash":
			rec.hash = str(x.raw)
		case "status":
			status = str(x.raw)
		default:
			rec.extra = append(rec.extra, x)
		}
	}
	rec.approved = status == "approved"
	if rec.hash == "" || !rec.approved && status != "rejected" {
		return rec, wrong("record of %q: expected a hash, and a status approved or rejected", m.key)
	}
	return rec, nil
}

func str(raw jsontext.Value) string {
	if raw.Kind() != '"' {
		return ""
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return ""
	}
	return string(b)
}

// members are those of an object that is known to be valid JSON; of a duplicate key the last. They share its memory.
func members(object jsontext.Value) []rawMember {
	d := jsontext.NewDecoder(bytes.NewBuffer(object), jsontext.AllowDuplicateNames(true))
	var out []rawMember
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	index := map[string]int{}
	for d.PeekKind() != '}' {
		key, err := d.ReadToken()
		if err != nil {
			return out
		}
		name := key.String()
		raw, err := d.ReadValue()
		if err != nil {
			return out
		}
		end := d.InputOffset()
		raw = object[end-int64(len(raw)) : end : end]
		if i, known := index[name]; known {
			out[i].raw = raw
			continue
		}
		index[name] = len(out)
		out = append(out, rawMember{name, raw})
	}
	return out
}
