package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// source draws which file a step is about.
func (b *builder) source() model.Scope {
	if b.has(fSystem) {
		return model.Scope(b.s.Pick(sourceWeights))
	}
	return model.Scope(b.s.Pick(watchedWeights))
}

// settings draws a settings file: one whose lists count.
func (b *builder) settings() model.Scope {
	if f := b.source(); f != model.Project {
		return f
	}
	return model.User
}

var (
	sourceWeights  = []uint16{model.Defaults: 1, model.User: 8, model.Project: 8, model.Workspace: 5, model.System: 2}
	watchedWeights = []uint16{model.User: 8, model.Project: 8, model.Workspace: 4}
)

// edit changes what matters: one server, several, a list, restart keys mixed with hot ones, keys that nobody reads.
func (b *builder) edit(st *trace.Step) {
	f := b.source()
	switch b.s.Pick(editWeights) {
	case 0:
		b.oneServer(st)
	case 1: // take one out
		st.Servers = model.Obj(mem(b.names[b.name()], model.NullValue()))
	case 2: // several at once
		n := 1 + b.s.Below(len(b.names))
		m := make([]model.Member, 0, n)
		for i := 0; i < n; i++ {
			m = append(m, mem(b.names[i], b.orNull(b.entry(i), 200)))
		}
		st.Servers = model.Obj(m...)
	case 3:
		f = b.lists(st)
	case 4:
		st.Other = oneOf(b.s, unrelated)
	case 5:
		if !b.has(fRestart) {
			b.oneServer(st)
			break
		}
		b.restartKeys(st)
		if chance(b.s, 600) { // D-20: hot keys in the same save apply
			b.oneServer(st)
		}
	case 6:
		st.Servers = model.NullValue()
	case 7: // what runs stays: description, disabled, filters, trust
		i := b.name()
		st.Servers = model.Obj(mem(b.names[i], b.vary(b.palettes[i][0])))
	case 8:
		if !b.has(fMalformed) {
			b.oneServer(st)
			break
		}
		b.wrongType(st)
	}
	st.File = f.String()
}

var editWeights = []uint16{16, 5, 4, 5, 2, 3, 1, 4, 2}

func (b *builder) oneServer(st *trace.Step) {
	i := b.name()
	st.Servers = model.Obj(mem(b.names[i], b.entry(i)))
}

func (b *builder) orNull(v *model.Value, permille int) *model.Value {
	if chance(b.s, permille) {
		return model.NullValue()
	}
	return v
}

// lists changes mcp.allowed or mcp.excluded and returns the file in which it means something.
func (b *builder) lists(st *trace.Step) model.Scope {
	if !b.has(fLists) {
		b.oneServer(st)
		return b.source()
	}
	key := "allowed"
	if chance(b.s, 400) {
		key = "excluded"
	}
	st.Mcp = model.Obj(mem(key, b.orNull(model.Strs(b.list()...), 300)))
	if chance(b.s, 80) {
		st.Mcp = model.NullValue()
	}
	return b.settings()
}

// list draws the entries of a list: names mostly, globs, or none.
func (b *builder) list() []string { return b.listBy(listWeights) }

func (b *builder) listBy(w []uint16) []string {
	list := []string{}
	switch b.s.Pick(w) {
	case 0:
		return append(list, b.names[b.name()])
	case 1:
		for i := range b.names {
			if chance(b.s, 700) {
				list = append(list, b.names[i])
			}
		}
		return list
	case 2:
		return append(list, oneOf(b.s, globs))
	case 3:
		return append(list, "*")
	case 4:
		return list
	}
	return append(list, oneOf(b.s, globs), b.names[b.name()])
}

var (
	listWeights = []uint16{4, 7, 2, 3, 3, 3}
	flagWeights = []uint16{3, 8, 2, 4, 1, 2} // the flag cannot be taken back: it seldom denies all
)

func (b *builder) restartKeys(st *trace.Step) {
	if chance(b.s, 300) {
		st.Mcp = model.Obj(mem(oneOf(b.s, restartMcp), b.orNull(oneOf(b.s, texts), 300)))
		return
	}
	st.Other = model.Obj(mem(oneOf(b.s, restartOther), b.orNull(oneOf(b.s, restartValues), 300)))
}

// wrongType gives a key a value that it cannot have, or a list elements that are no strings (SRC-8).
func (b *builder) wrongType(st *trace.Step) {
	v := oneOf(b.s, wrong)
	switch b.s.Below(4) {
	case 0:
		st.Other = model.Obj(mem("mcpServers", v))
	case 1:
		st.Mcp = model.Obj(mem("allowed", v))
	case 2:
		st.Mcp = model.Obj(mem("excluded", v))
	case 3:
		st.Other = model.Obj(mem("mcp", v))
	}
}

var (
	unrelated = []*model.Value{
		model.Obj(mem("theme", model.Str("dark"))), model.Obj(mem("theme", model.Str("light"))), model.Obj(mem("theme", model.NullValue())),
		model.Obj(mem("mcp.allowed", model.Strs())), model.Obj(mem("ui", model.Obj(mem("mcp", model.Strs())))), model.Obj(mem("enableAllProjectMcpServers", model.Boolean(true))),
		model.Obj(mem("security", model.Obj(mem("folderTrust", model.Boolean(true))))),
	}
	restartMcp    = []string{"serverCommand", "other"}
	restartOther  = []string{"proxy", "env", "security"}
	restartValues = []*model.Value{
		model.Str("one"), model.Str("two"), model.Obj(mem("X", model.Str("9"))), model.Obj(mem("auth", model.Str("basic"))), model.Obj(mem("auth", model.Obj(mem("kind", model.Str("x"))))),
	}
	wrong = []*model.Value{
		model.Str("a"), model.Num(7), model.Boolean(false), model.Arr(model.Str("a"), model.Num(7), model.NullValue()), model.Obj(mem("a", model.Boolean(true))), model.Arr(),
	}
)

// document draws a whole document.
func (b *builder) document(f model.Scope) *model.Value {
	m := make([]model.Member, 0, 3)
	m = append(m, mem("mcpServers", b.servers(f)))
	if f != model.Project && b.may(fLists, 350) {
		key := "allowed"
		if chance(b.s, 400) {
			key = "excluded"
		}
		m = append(m, mem("mcp", model.Obj(mem(key, model.Strs(b.list()...)))))
	}
	if chance(b.s, 120) {
		m = append(m, oneOf(b.s, unrelated).Members[0])
	}
	if b.may(fRestart, 200) {
		m = append(m, mem(oneOf(b.s, restartOther), oneOf(b.s, restartValues)))
	}
	return dedup(m)
}

// dedup keeps the first of each key, so that the value is what its text denotes.
func dedup(m []model.Member) *model.Value {
	out := m[:0]
	for _, x := range m {
		if model.Obj(out...).Get(x.Key) == nil {
			out = append(out, x)
		}
	}
	return model.Obj(out...)
}

// servers draws a map of servers. The user file has the later names more often, so that files do not only shadow.
func (b *builder) servers(f model.Scope) *model.Value {
	m := make([]model.Member, 0, len(b.names))
	for i := range b.names {
		if chance(b.s, 550) {
			m = append(m, mem(b.names[i], b.entry(i)))
		}
	}
	if b.may(fMalformed, 100) {
		m = append(m, mem("", model.Obj(mem("command", model.Str("srv-a")))))
	}
	if b.may(fMalformed, 100) {
		m = append(m, mem("null", model.NullValue()))
	}
	return dedup(m)
}

// someServers draws the one or two servers of a launch, a session or an extension.
func (b *builder) someServers() *model.Value {
	i := b.name()
	own := mem(b.names[i], b.config(i))
	switch b.s.Pick(ownWeights) {
	case 1:
		own.Key = "own"
	case 2:
		own.Key = "own"
		if b.has(fSDK) {
			own.Value = inProcess
		}
	}
	if chance(b.s, 300) {
		if j := b.name(); b.names[j] != own.Key {
			return model.Obj(own, mem(b.names[j], b.entry(j)))
		}
	}
	return model.Obj(own)
}

var (
	ownWeights = []uint16{5, 3, 2}
	inProcess  = model.Obj(mem("type", model.Str("sdk")))
)

// wrote follows what a file holds.
func (b *builder) wrote(st *trace.Step) {
	if st.Name != "" {
		return
	}
	for f := model.Defaults; f < model.Approvals; f++ {
		if f.String() != st.File {
			continue
		}
		d := &b.docs[f]
		if d.now != nil && len(d.old) < 4 {
			d.old = append(d.old, d.now)
		}
		switch st.Do {
		case trace.Edit:
			d.now = edited(d.now, st)
		case trace.Write:
			d.now = st.JSON
		case trace.Remove:
			d.now = nil
		}
	}
}

// edited is the document after an edit step, near enough.
func edited(doc *model.Value, st *trace.Step) *model.Value {
	if doc == nil || doc.Kind != model.Object {
		doc = model.Obj()
	}
	for _, block := range [...]struct {
		key string
		v   *model.Value
	}{{"mcpServers", st.Servers}, {"mcp", st.Mcp}} {
		switch {
		case block.v == nil:
		case block.v.Kind == model.Null:
			doc = without(doc, block.key)
		default:
			inner := doc.Get(block.key)
			if inner == nil || inner.Kind != model.Object {
				inner = model.Obj()
			}
			doc = withMember(doc, block.key, replaced(inner, block.v))
		}
	}
	if st.Other != nil {
		doc = replaced(doc, st.Other)
	}
	return doc
}

func replaced(o, changes *model.Value) *model.Value {
	for _, m := range changes.Members {
		if m.Value.Kind == model.Null {
			o = without(o, m.Key)
		} else {
			o = withMember(o, m.Key, m.Value)
		}
	}
	return o
}

func without(o *model.Value, key string) *model.Value {
	if o.Get(key) == nil {
		return o
	}
	out := &model.Value{Kind: model.Object, BadText: o.BadText}
	for _, m := range o.Members {
		if m.Key != key {
			out.Members = append(out.Members, m)
		}
	}
	return out
}
