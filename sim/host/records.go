package host

import (
	"sort"

	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Record is an approval record of the host's format for a config of a trace; ok is false for a config that has no hash.
func (x *Translator) Record(cache *config.Cache, root, server string, v *model.Value, status string) (l approval.RecordLine, ok bool) {
	if v == nil {
		return l, false
	}
	entries, _, err := cache.Entries([]byte(`{"mcpServers":{` + model.Str(server).String() + `:` + v.String() + `}}`))
	if err != nil || len(entries) != 1 {
		return l, false // a malformed config has no hash that anybody could be shown
	}
	x.config(entries[0])
	return approval.RecordLine{Root: root, Server: server, Hash: entries[0].Hash, Approved: status == "approved"}, true
}

// Records reads an approvals file as the host's format has it; c is what the bytes denote.
func (x *Translator) Records(root string, data []byte, c model.Content) (model.Content, map[string]model.Record) {
	out := map[string]model.Record{}
	d, known := x.files[string(data)]
	if !known {
		if len(x.files) > 256 {
			clear(x.files)
		}
		d.lines, d.err = approval.Decode(data)
		x.files[string(data)] = d
	}
	if d.err != nil {
		if c.State == model.Good {
			c.State = model.Unparsable // JSON, but no approvals
		}
		return c, out
	}
	c.State = model.Good
	for _, l := range d.lines {
		if l.Root == root {
			out[l.Server] = model.Record{Config: x.hash(l.Hash), Approved: l.Approved}
		}
	}
	return c, out
}

// RecordList lists records by name.
func RecordList(records map[string]model.Record) []model.RecordView {
	var out []model.RecordView
	for name, r := range records {
		out = append(out, model.RecordView{Server: name, Config: r.Config, Approved: r.Approved})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Server < out[j].Server })
	return out
}

// Texts are the texts whose meaning a step gives itself, where a parser might disagree.
type Texts map[string]model.Content

// Note remembers what a step says its bytes mean.
func (t Texts) Note(s *trace.Step, data []byte) {
	switch {
	case s.Unreadable && !s.Locked():
		c := trace.Denote(data)
		if c.State == model.Good {
			c = model.Content{State: model.Unparsable}
		}
		t[string(data)] = c
	case s.JSON != nil && (s.HasText || s.Base64 != "") && s.JSON.Kind == model.Object:
		t[string(data)] = model.Content{State: model.Good, Value: s.JSON}
	}
}

// Content is what bytes mean.
func (t Texts) Content(data []byte) model.Content {
	if c, ok := t[string(data)]; ok {
		return c
	}
	return trace.Denote(data)
}
