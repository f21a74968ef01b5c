package gen

import (
	"encoding/base64"
	"strings"
	"unicode/utf16"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// write draws a save of a whole file: what it holds, and how it is saved.
func (b *builder) write(st *trace.Step) {
	f := b.source()
	st.File = f.String()
	d := &b.docs[f]
	what := b.s.Pick(writeWeights)
	switch {
	case what == 1 && d.now != nil: // the same content, perhaps in another form: silent (INV-19)
		st.JSON = d.now
		if b.has(fFormats) {
			b.format(st)
		}
	case what == 2 && len(d.old) > 0: // what it held before
		st.JSON = oneOf(b.s, d.old)
	case what == 3 && b.has(fBroken):
		b.broken(st)
		if st.Kind != "" {
			return
		}
	case what == 4 && f == model.Project:
		st.JSON = oneOf(b.s, projectOddities)
	case what == 5 && b.has(fSiblings):
		st.JSON, st.Name = b.document(f), oneOf(b.s, siblings)
		return
	case what == 6 && b.has(fBroken): // the approvals file, where only text is legal
		st.File = model.Approvals.String()
		st.HasText, st.Text = true, oneOf(b.s, brokenTexts)
	case what == 7 && b.has(fMalformed):
		b.duplicate(st, f)
	default:
		st.JSON = b.document(f)
		if b.may(fFormats, 400) {
			b.format(st)
		}
	}
	if b.has(fHow) {
		b.how(st)
	}
}

var writeWeights = []uint16{10, 5, 5, 7, 1, 2, 1, 3}

var (
	siblings        = []string{"settings.json~", "settings.json.tmp", "settings.local.json", ".mcp.json.bak", ".settings.json.swp", "settings.json.orig"}
	projectOddities = []*model.Value{
		model.Obj(mem("servers", model.Obj(mem("a", model.Obj(mem("command", model.Str("srv-a"))))))), // SRC-15: another host's key
		model.Obj(), model.Obj(mem("a", model.Obj(mem("command", model.Str("srv-a"))))), model.Obj(mem("mcp", model.Obj(mem("allowed", model.Strs())))),
	}
)

// how draws the way of saving.
func (b *builder) how(st *trace.Step) {
	st.How = hows[b.s.Pick(howWeights)]
	if st.How == "chunks" {
		st.Parts = 2 + b.s.Below(3)
		st.GapMs = oneOf(b.s, gaps)
	}
	if chance(b.s, 80) {
		st.Mtime = "keep"
	}
}

var (
	hows       = []string{"", "atomic", "backup", "chunks", "link-target", "retarget", "data-swap"}
	howWeights = []uint16{4, 5, 2, 4, 2, 2, 2}
	gaps       = []model.Ms{0, 1, 100, 299, 300, 301, 1000, 3000}
)

// broken draws what is no document (SRC-6).
func (b *builder) broken(st *trace.Step) {
	switch b.s.Pick(brokenWeights) {
	case 0:
		st.HasText, st.Text, st.Unreadable = true, oneOf(b.s, brokenTexts), true
	case 1:
		st.Unreadable = true
	case 2:
		st.Kind = oneOf(b.s, fileKinds)
	case 3: // cut off
		text := string(trace.AppendValue(nil, b.document(model.User), "  "))
		st.HasText, st.Text, st.Unreadable = true, text[:1+b.s.Below(len(text)-1)], true
	case 4:
		st.Base64, st.Unreadable = oneOf(b.s, brokenBytes), true
	case 5: // no object
		st.JSON = oneOf(b.s, noObjects)
	}
}

var (
	brokenWeights = []uint16{5, 3, 3, 4, 2, 3}
	brokenTexts   = []string{"", "{", "{\"mcpServers\":{\"a\":{\"command\":\"srv-a\"}", "../shared/settings.json", "{} {}", "{'a':1}", "// nothing\n", "{\"a\":tru}"}
	fileKinds     = []string{"directory", "dangling", "loop"}
	noObjects     = []*model.Value{model.Arr(), model.Str("x"), model.Num(7), model.NullValue(), model.Boolean(true)}
	brokenBytes   = []string{base64.StdEncoding.EncodeToString(utf16le(`{"mcpServers":{}}`)), "AA==", "//4="}
)

func utf16le(s string) []byte {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return b
}

// format writes the document that st holds in another form (SRC-5, WAT-3).
func (b *builder) format(st *trace.Step) {
	if st.JSON == nil || st.JSON.Kind != model.Object {
		return
	}
	st.HasText = true
	switch b.s.Below(6) {
	case 0: // comments and a trailing comma
		t := string(trace.AppendValue(nil, st.JSON, "  "))
		if len(st.JSON.Members) > 0 {
			t = strings.TrimSuffix(t, "\n}") + ", // last\n}"
		}
		st.Text = "// servers\n" + t + "\n/* end */\n"
	case 1:
		st.Text = "\ufeff" + string(trace.AppendValue(nil, st.JSON, "  "))
	case 2:
		st.Text = strings.ReplaceAll(string(trace.AppendValue(nil, st.JSON, "\t")), "\n", "\r\n")
	case 3:
		st.Text = string(trace.AppendValue(nil, reversed(st.JSON), ""))
	case 4:
		st.Text = "\n\n" + string(trace.AppendValue(nil, st.JSON, "        ")) + "\n\n"
	case 5:
		st.Text = "\ufeff/**/" + strings.ReplaceAll(string(trace.AppendValue(nil, reversed(st.JSON), "  ")), "\n", "\r\n")
	}
}

// reversed is the same document with every object's keys in the other order.
func reversed(v *model.Value) *model.Value {
	if v.Kind != model.Object {
		return v
	}
	out := &model.Value{Kind: model.Object, Dups: v.Dups, BadText: v.BadText, Members: make([]model.Member, 0, len(v.Members))}
	for i := len(v.Members) - 1; i >= 0; i-- {
		out.Members = append(out.Members, mem(v.Members[i].Key, reversed(v.Members[i].Value)))
	}
	return out
}

// duplicate writes a document in which one server stands twice; the last wins (SRC-8).
func (b *builder) duplicate(st *trace.Step, f model.Scope) {
	i := b.name()
	name, first, last := b.names[i], b.config(i), b.config(i)
	st.JSON = model.Obj(mem("mcpServers", &model.Value{Kind: model.Object, Members: []model.Member{mem(name, last)}, Dups: []string{name}}))
	key := string(trace.AppendValue(nil, model.Str(name), ""))
	t := []byte("{\"mcpServers\": {\n  " + key + ": ")
	t = append(trace.AppendValue(t, first, ""), (",\n  " + key + ": ")...)
	t = append(trace.AppendValue(t, last, ""), "\n}}\n"...)
	st.HasText, st.Text = true, string(t)
}

func (b *builder) remove(st *trace.Step) {
	st.File = b.source().String()
	if b.may(fSiblings, 150) {
		st.Name = oneOf(b.s, siblings)
	} else if chance(b.s, 60) {
		st.File = model.Approvals.String()
	}
}

// dir makes or removes a directory, of a kind that a person would.
func (b *builder) dir(st *trace.Step) {
	st.File = oneOf(b.s, dirFiles)
}

var dirFiles = []string{"workspace", "workspace", "user"}

func (b *builder) chmod(st *trace.Step) {
	st.File = b.source().String()
	if chance(b.s, 100) {
		st.File = model.Approvals.String()
	}
	mode := modes[b.s.Pick(modeWeights)]
	if chance(b.s, 150) {
		st.Dir, mode = true, dirModes[b.s.Below(len(dirModes))]
		st.File = oneOf(b.s, dirFiles)
	}
	st.Mode = &mode
}

var (
	modes       = []uint32{0o644, 0, 0o600, 0o444, 0o200}
	modeWeights = []uint16{5, 4, 2, 1, 1}
	dirModes    = []uint32{0o755, 0, 0o555}
)

func (b *builder) touch(st *trace.Step) {
	st.File = b.source().String()
	if b.may(fSiblings, 200) {
		st.Name = oneOf(b.s, siblings)
	}
}
