package gen

import "mcpsim/model"

func mem(k string, v *model.Value) model.Member { return model.Member{Key: k, Value: v} }

// with returns a copy of an object in which k is v.
func withMember(o *model.Value, k string, v *model.Value) *model.Value {
	out := &model.Value{Kind: model.Object, BadText: o.BadText, Dups: o.Dups, Members: make([]model.Member, 0, len(o.Members)+1)}
	done := false
	for _, m := range o.Members {
		if m.Key == k {
			m.Value, done = v, true
		}
		out.Members = append(out.Members, m)
	}
	if !done {
		out.Members = append(out.Members, mem(k, v))
	}
	return out
}

// palette draws the few configs that a name ever has: the plain one, one that differs in its transport, and one that
// differs somehow. Content that comes back is what reverts, records and shared connections are about.
func (b *builder) palette(i int) []*model.Value {
	plain := b.plain(i)
	second := withMember(plain, "args", ones)
	if plain.Get("command") == nil {
		second = withMember(plain, "headers", model.Obj(mem("H", model.Str("1"))))
	} else if b.has(fRemote) && chance(b.s, 200) {
		second = b.remote(i)
	}
	third := plain
	for n := b.s.Below(2); n >= 0; n-- {
		third = b.vary(third)
	}
	list := make([]*model.Value, 0, 3)
	return append(list, plain, second, third)
}

// plain is the simplest config of a name.
func (b *builder) plain(i int) *model.Value {
	if b.may(fRemote, 300) {
		return b.remote(i)
	}
	e := model.Obj(mem("command", model.Str(b.key(i))))
	if b.may(fFields, 150) {
		e = b.varyBy(e, livelyWeights)
	}
	return e
}

// remote is a server reached by URL, in any of the shapes that SRC-4 knows.
func (b *builder) remote(i int) *model.Value {
	url := "{{url:" + b.key(i) + "}}"
	if chance(b.s, 300) {
		url += "/mcp"
	}
	u := model.Str(url)
	switch b.s.Below(6) {
	case 0:
		return model.Obj(mem("httpUrl", u))
	case 1:
		return model.Obj(mem("type", model.Str("http")), mem("url", u))
	case 2:
		return model.Obj(mem("type", model.Str("sse")), mem("url", u))
	case 3:
		return model.Obj(mem("type", model.Str("streamable-http")), mem("url", u))
	case 4:
		return model.Obj(mem("type", model.Str("streamableHttp")), mem("url", u))
	}
	return model.Obj(mem("url", u))
}

// config draws one config of a name, now and then a new one.
func (b *builder) config(i int) *model.Value {
	e := b.palettes[i][b.s.Pick(paletteWeights)]
	if b.may(fFields, 120) {
		return b.vary(e)
	}
	return e
}

var paletteWeights = []uint16{5, 4, 2}

// entry is config, but may be malformed.
func (b *builder) entry(i int) *model.Value {
	if b.may(fMalformed, 120) {
		return oneOf(b.s, malformed)
	}
	return b.config(i)
}

// vary changes one field of a config.
func (b *builder) vary(e *model.Value) *model.Value { return b.varyBy(e, fieldWeights) }

func (b *builder) varyBy(e *model.Value, w []uint16) *model.Value {
	switch b.s.Pick(w) {
	case 0:
		return withMember(e, "args", oneOf(b.s, argLists))
	case 1:
		return withMember(e, "env", oneOf(b.s, envMaps))
	case 2:
		return withMember(e, "cwd", oneOf(b.s, cwds))
	case 3:
		return withMember(e, "timeout", oneOf(b.s, timeouts))
	case 4:
		return withMember(e, "discoveryTimeoutMs", oneOf(b.s, discoveries))
	case 5:
		return withMember(e, "trust", oneOf(b.s, booleans))
	case 6:
		return withMember(e, "includeTools", oneOf(b.s, toolFilters))
	case 7:
		return withMember(e, "excludeTools", oneOf(b.s, toolFilters))
	case 8:
		return withMember(e, "disabled", oneOf(b.s, booleans))
	case 9:
		return withMember(e, "enabled", oneOf(b.s, booleans))
	case 10:
		return withMember(e, "description", oneOf(b.s, texts))
	case 11:
		return withMember(e, "note", oneOf(b.s, texts)) // an unknown field: counts for the hash
	case 12:
		return withMember(e, oneOf(b.s, foreignFields), oneOf(b.s, booleans)) // SRC-17
	case 13:
		return withMember(e, "headers", oneOf(b.s, headerMaps))
	case 14:
		return withMember(e, oneOf(b.s, emptyFields), oneOf(b.s, empties)) // absent equals empty
	case 15:
		return withMember(e, oneOf(b.s, stamps), oneOf(b.s, texts)) // SRC-3: ignored in a file
	case 16:
		if e.Get("command") != nil && e.Get("type") == nil {
			return withMember(e, "type", model.Str("stdio"))
		}
		return withMember(e, "description", oneOf(b.s, texts))
	}
	return b.variable(e)
}

var fieldWeights = []uint16{6, 5, 2, 3, 5, 4, 6, 4, 5, 2, 3, 3, 2, 3, 3, 1, 2, 3}

// livelyWeights leave out what keeps a server from running: the plain config of a name runs.
var livelyWeights = []uint16{6, 5, 0, 3, 0, 4, 6, 4, 0, 0, 3, 3, 2, 3, 0, 1, 2, 3}

// variable puts a variable somewhere (SRC-9).
func (b *builder) variable(e *model.Value) *model.Value {
	if !b.env {
		return withMember(e, "args", argLists[1])
	}
	form := model.Str(oneOf(b.s, variableForms))
	switch b.s.Below(4) {
	case 0:
		return withMember(e, "args", model.Arr(form))
	case 1:
		return withMember(e, "env", model.Obj(mem("V", form)))
	case 2:
		if e.Get("command") != nil {
			return withMember(e, "command", model.Str(oneOf(b.s, commandForms)))
		}
		return withMember(e, "headers", model.Obj(mem("V", form)))
	}
	return withMember(e, "description", form)
}

var (
	ones     = model.Strs("1")
	argLists = []*model.Value{model.Strs("2"), model.Strs("1"), model.Strs("1", "2"), model.Strs("2", "1"), model.Strs(), model.Strs("1", "")}
	envMaps  = []*model.Value{
		model.Obj(mem("K", model.Str("v"))), model.Obj(mem("K", model.Str("w"))), model.Obj(),
		model.Obj(mem("K", model.Str("v")), mem("L", model.Str("secret-2"))), model.Obj(mem("L", model.Str("secret-2")), mem("K", model.Str("v"))),
		model.Obj(mem("K", model.Num(1))), model.Obj(mem("K", model.Boolean(true)), mem("N", model.NullValue())), model.Obj(mem("K", model.Str(""))),
	}
	headerMaps = []*model.Value{
		model.Obj(mem("Authorization", model.Str("Bearer secret-3"))), model.Obj(mem("Authorization", model.Str("Bearer secret-4"))),
		model.Obj(), model.Obj(mem("N", model.Num(1))),
	}
	cwds          = []*model.Value{model.Str("sub"), model.Str("/project"), model.Str("/tmp"), model.Str(".."), model.Str("")}
	timeouts      = numbers(300, 1, 499, 500, 501, 2000, 600000, 30000)
	discoveries   = numbers(300, 1, 99, 100, 101, 500, 600, 2000, 5000, 5001, 29999, 30000, 30001, 300001)
	booleans      = []*model.Value{model.Boolean(true), model.Boolean(false)}
	toolFilters   = []*model.Value{model.Strs("x"), model.Strs("y"), model.Strs("x", "y"), model.Strs(), model.Strs("nope"), model.Strs("x*")}
	texts         = []*model.Value{model.Str("one"), model.Str("two"), model.Str(""), model.Str("line\nline\u202e\u0007")}
	foreignFields = []string{"alwaysAllow", "autoApprove", "enableAllProjectMcpServers", "envFile", "disabledTools", "transport"}
	emptyFields   = []string{"args", "env", "headers", "cwd", "includeTools", "excludeTools", "description", "timeout", "note", "trust", "url"}
	empties       = []*model.Value{model.NullValue(), model.NullValue(), model.Obj(), model.Arr()}
	stamps        = []string{"scope", "extensionName"}
	variableForms = []string{"$X", "${X}", "${Y:-d}", "$$X", "$UNDEFINED", "${EMPTY:-e}", "a$X-${Y}", "$1", "$(x)", "${env:X}", "${X", "$"}
	commandForms  = []string{"${CMD:-srv-b}", "$CMD", "${NO:-srv-a}", "srv-$NO"}
)

func numbers(ns ...int64) []*model.Value {
	var list []*model.Value
	for _, n := range ns {
		list = append(list, model.Num(n))
	}
	return list
}

// malformed are entries that are skipped with a notice (SRC-8).
var malformed = func() []*model.Value {
	stdio := model.Obj(mem("command", model.Str("srv-a")))
	number := func(text string) *model.Value { return &model.Value{Kind: model.Number, Text: text} }
	bad := &model.Value{Kind: model.String, Text: "\ufffd", BadText: true}
	return []*model.Value{
		model.Obj(), model.Num(7), model.Str("srv-a"), model.Arr(stdio), model.Boolean(true),
		model.Obj(mem("args", ones)), model.Obj(mem("command", model.Str(""))), model.Obj(mem("command", model.NullValue())),
		withMember(stdio, "url", model.Str("{{url:srv-a}}")), model.Obj(mem("url", model.Str("{{url:srv-a}}")), mem("httpUrl", model.Str("{{url:srv-a}}"))),
		withMember(stdio, "type", model.Str("http")), withMember(stdio, "type", model.Str("websocket")), withMember(stdio, "type", model.Str("sdk")),
		withMember(stdio, "type", model.Num(1)), model.Obj(mem("type", model.Str("stdio")), mem("url", model.Str("{{url:srv-a}}"))),
		model.Obj(mem("type", model.Str("sdk"))), model.Obj(mem("command", model.Num(7))),
		withMember(stdio, "args", model.Str("1")), withMember(stdio, "args", model.Arr(model.Num(1))),
		withMember(stdio, "env", model.Obj(mem("K", model.Strs("v")))), withMember(stdio, "env", model.Str("K=v")),
		withMember(stdio, "cwd", model.Num(1)), withMember(stdio, "timeout", model.Num(0)), withMember(stdio, "timeout", model.Num(-1)),
		withMember(stdio, "timeout", number("1.5")), withMember(stdio, "timeout", model.Str("500")),
		withMember(stdio, "discoveryTimeoutMs", model.Num(0)), withMember(stdio, "timeout", model.Num(9007199254740993)),
		withMember(stdio, "note", model.Num(9007199254740993)), withMember(stdio, "trust", model.Str("yes")),
		withMember(stdio, "disabled", model.Str("true")), withMember(stdio, "includeTools", model.Str("x")),
		withMember(stdio, "description", model.Num(1)), withMember(stdio, "note", bad), model.Obj(mem("command", bad)),
	}
}()
