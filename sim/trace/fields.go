package trace

import (
	"fmt"
	"strings"

	"mcpsim/model"
)

// Field is one key that a step may have.
type Field struct {
	Name     string
	Also     string // another spelling that is read, never printed
	Required bool
	Doc      string
	Schema   string // of the value: a JSON Schema

	read  func(n node, s *Step)
	write func(w *writer, s *Step)
}

// StepDoc describes one kind of step: the table Steps is the manual.
type StepDoc struct {
	Do      StepKind
	Doc     string
	Example string // a step that parses
	Fields  []Field
}

// Fields returns the fields that a kind of step takes, nil if there is no such kind.
func Fields(k StepKind) []Field {
	if d := stepDocs[k]; d != nil {
		return d.Fields
	}
	return nil
}

var stepDocs = map[StepKind]*StepDoc{}

func init() {
	for i := range Steps {
		stepDocs[Steps[i].Do] = &Steps[i]
	}
}

// Manual prints every kind of step with an example and its fields.
func Manual() string {
	var b strings.Builder
	for i := range Steps {
		d := &Steps[i]
		fmt.Fprintf(&b, "%s: %s\n    %s\n", d.Do, d.Doc, d.Example)
		for _, f := range d.Fields {
			if f.Name == "why" {
				continue
			}
			need := ""
			if f.Required {
				need = " (required)"
			}
			fmt.Fprintf(&b, "      %-12s %s%s\n", f.Name, f.Doc, need)
		}
		b.WriteByte('\n')
	}
	b.WriteString("Every step may have a \"why\" (or \"note\"): a sentence for the reader.\n")
	return b.String()
}

// readFields reads a step's members by its kind's table. hasFile says that the source is known from elsewhere.
func readFields(n node, ms []member, s *Step, hasFile bool) {
	d := stepDocs[s.Do]
	seen := make([]*member, len(d.Fields))
	for i := range ms {
		m := &ms[i]
		at := -1
		for j := range d.Fields {
			if f := &d.Fields[j]; f.Name == m.key || f.Also == m.key {
				at = j
			}
		}
		if at < 0 {
			m.at.fail("the step %s has no key %q; it takes %s", s.Do, m.key, fieldNames(d.Fields))
		}
		if seen[at] != nil {
			m.at.fail("%q and %q say the same; keep one", seen[at].key, m.key)
		}
		seen[at] = m
		if f := &d.Fields[at]; f.Required && f.Name != "note" && len(m.val.raw) == len(`""`) && m.val.kind() == '"' {
			m.val.fail("%s must not be empty: %s", f.Name, f.Doc)
		}
		d.Fields[at].read(m.val, s)
	}
	for j := range d.Fields {
		if f := &d.Fields[j]; f.Required && seen[j] == nil && !(hasFile && f.Name == "file") {
			n.fail("the step %s needs the key %q: %s; for example %s", s.Do, f.Name, f.Doc, d.Example)
		}
	}
}

func fieldNames(fs []Field) string {
	if len(fs) == 0 {
		return "none"
	}
	names := make([]string, 0, len(fs))
	for _, f := range fs {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func writeFields(w *writer, s *Step) {
	d := stepDocs[s.Do]
	if d == nil {
		return
	}
	for i := range d.Fields {
		d.Fields[i].write(w, s)
	}
}

// required returns the field as a required one; doc replaces its text if it is not empty.
func (f Field) required(doc string) Field {
	f.Required = true
	if doc != "" {
		f.Doc = doc
	}
	return f
}

// The schemas of simple values.
const (
	schemaString = `{"type":"string"}`
	schemaWhole  = `{"type":"number","multipleOf":1,"minimum":0}`
	schemaBool   = `{"type":"boolean"}`
	schemaStrs   = `{"type":"array","items":{"type":"string"}}`
	schemaAny    = `true`
	schemaObject = `{"type":["object","null"]}`
	schemaMap    = `{"type":"object"}`
)

func schemaEnum(words ...string) string {
	var w writer
	w.open()
	w.strs("enum", words)
	w.close()
	return string(w.b)
}

// strField is a field that holds a string.
func strField(name, doc string, at func(*Step) *string) Field {
	return Field{Name: name, Doc: doc, Schema: schemaString,
		read:  func(n node, s *Step) { *at(s) = n.str(name) },
		write: func(w *writer, s *Step) { w.str(name, *at(s)) }}
}

// wordField is a field that holds one of a list of words.
func wordField(name, doc string, at func(*Step) *string, words ...string) Field {
	return Field{Name: name, Doc: doc + ": " + strings.Join(words, ", "), Schema: schemaEnum(words...),
		read:  func(n node, s *Step) { *at(s) = n.word(name, words...) },
		write: func(w *writer, s *Step) { w.str(name, *at(s)) }}
}

// valueField is a field that holds a JSON value; schema says which.
func valueField(name, doc, schema string, at func(*Step) **model.Value) Field {
	return Field{Name: name, Doc: doc, Schema: schema,
		read: func(n node, s *Step) {
			switch {
			case schema == schemaAny:
			case schema == schemaObject && n.null():
			default:
				n.want('{', name)
			}
			*at(s) = n.value()
		},
		write: func(w *writer, s *Step) { w.value(name, *at(s)) }}
}

// msField is a field that holds milliseconds, 0 if absent.
func msField(name, doc string, always bool, at func(*Step) *model.Ms) Field {
	return Field{Name: name, Doc: doc, Schema: schemaWhole,
		read: func(n node, s *Step) { *at(s) = n.ms(name) },
		write: func(w *writer, s *Step) {
			if v := *at(s); v != 0 || always {
				w.num(name, uint64(v))
			}
		}}
}

// yesField is a field that is false if absent.
func yesField(name, doc string, at func(*Step) *bool) Field {
	return Field{Name: name, Doc: doc, Schema: schemaBool,
		read:  func(n node, s *Step) { *at(s) = n.boolean(name) },
		write: func(w *writer, s *Step) { w.yes(name, *at(s)) }}
}
