package trace

import (
	"encoding/base64"

	"mcpsim/model"
)

// FileText returns the bytes that a write or an edit step leaves in the file once it is complete, or nil if no bytes
// are written (another kind of step, or a write that puts a directory or a broken link there). prev is the document the
// file held before, for edit; nil stands for {}.
func FileText(s *Step, prev *model.Value) []byte {
	switch {
	case s.Do == Edit:
		return document(edited(s, prev))
	case s.Do != Write || s.Kind != "":
		return nil
	case s.HasText:
		return []byte(s.Text)
	case s.Base64 != "":
		b, _ := base64.StdEncoding.DecodeString(s.Base64) // the parser has refused what does not decode
		return b
	case s.JSON != nil:
		return document(s.JSON)
	}
	return document(model.Obj()) // "unreadable" alone: what nobody may read
}

// Locked reports whether the step writes a file that nobody may read: permission bits 0.
func (s *Step) Locked() bool {
	return s.Do == Write && s.Unreadable && !s.HasText && s.Base64 == "" && s.Kind == ""
}

// document is a document as a person's editor saves it.
func document(v *model.Value) []byte { return append(AppendValue(nil, v, "  "), '\n') }

// edited is the document after an edit step: entries of mcpServers, keys of mcp and other top-level keys replaced whole,
// null takes out.
func edited(s *Step, prev *model.Value) *model.Value {
	doc := prev
	if doc == nil || doc.Kind != model.Object {
		doc = model.Obj()
	}
	doc = editedBlock(doc, "mcpServers", s.Servers)
	doc = editedBlock(doc, "mcp", s.Mcp)
	return replaced(doc, s.Other)
}

// editedBlock changes the members of one top-level object; null takes the whole block out.
func editedBlock(doc *model.Value, key string, changes *model.Value) *model.Value {
	if changes == nil {
		return doc
	}
	if changes.Kind == model.Null {
		return replaced(doc, model.Obj(model.Member{Key: key, Value: changes}))
	}
	block := doc.Get(key)
	if block == nil || block.Kind != model.Object {
		block = model.Obj()
	}
	return replaced(doc, model.Obj(model.Member{Key: key, Value: replaced(block, changes)}))
}

// replaced returns a copy of v in which the members of changes replace those of the same key; null takes out.
func replaced(v, changes *model.Value) *model.Value {
	if changes == nil || changes.Kind != model.Object {
		return v
	}
	out := &model.Value{Kind: model.Object, BadText: v.BadText || changes.BadText}
	for _, m := range v.Members {
		c := changes.Get(m.Key)
		switch {
		case c == nil:
			out.Members = append(out.Members, m)
			if contains(v.Dups, m.Key) {
				out.Dups = append(out.Dups, m.Key)
			}
		case c.Kind != model.Null:
			out.Members = append(out.Members, model.Member{Key: m.Key, Value: c})
		}
	}
	for _, m := range changes.Members {
		if m.Value.Kind != model.Null && v.Get(m.Key) == nil {
			out.Members = append(out.Members, m)
		}
	}
	return out
}

// Verify reports whether the text of a write step denotes what the step says it does: its json, or nothing.
func Verify(s *Step) bool {
	if s.Do != Write || s.Kind != "" || s.Locked() || s.File == "approvals" {
		return true
	}
	c := Denote(FileText(s, nil))
	switch {
	case s.Unreadable:
		return c.State != model.Good
	case s.JSON == nil:
		return true
	case s.JSON.Kind != model.Object:
		return c.State == model.NotObject
	}
	return c.State == model.Good && model.Equal(c.Value, s.JSON)
}
