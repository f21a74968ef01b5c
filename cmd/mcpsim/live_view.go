package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"mcpsim/impl"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// liveView is what a person is shown, without secrets.
type liveView struct {
	rows      []liveRow
	questions []liveQuestion
	notices   []event.Notice
	hint      bool
}

type liveRow struct {
	name, state, text, err, source, file, transport string
	shadows, tools, prompts, resources              []string
}

func (r *liveRow) same(o *liveRow) bool {
	return r.state == o.state && r.text == o.text && r.err == o.err && r.file == o.file && r.transport == o.transport &&
		slices.Equal(r.shadows, o.shadows) && slices.Equal(r.tools, o.tools) && slices.Equal(r.prompts, o.prompts) && slices.Equal(r.resources, o.resources)
}

// liveQuestion is a question as it is shown: what would run, from where, with values masked.
type liveQuestion struct {
	server, hash, file, source string
	runs                       string // command line or URL
	lines                      []string
}

// view is taken on the loop.
func (w *liveWorld) view(core *impl.Host) *liveView { return w.viewOf(core, liveSession) }

func (w *liveWorld) viewOf(core *impl.Host, id port.SessionID) *liveView {
	st := core.Status(id)
	kinds := map[string]config.Kind{}
	for _, m := range core.EffectiveMap(id) {
		kinds[m.Name] = m.Entry.Kind
	}
	v := &liveView{hint: st.Hint, notices: st.Notices}
	for _, s := range st.Servers {
		v.rows = append(v.rows, liveRow{name: s.Name, state: s.State, text: s.Text, err: s.Error, source: s.Source, file: w.fileOf(s.Source),
			transport: transportName(kinds[s.Name]), shadows: s.Shadows, tools: s.Tools, prompts: s.Prompts, resources: s.Resources})
	}
	for i := range st.Questions {
		v.questions = append(v.questions, w.question(&st.Questions[i]))
	}
	return v
}

func transportName(k config.Kind) string {
	switch k {
	case config.Stdio:
		return "stdio"
	case config.HTTP:
		return "http"
	case config.SSE:
		return "sse"
	case config.SDK:
		return "sdk"
	}
	return "-"
}

// fileOf is the file of a source, from the workspace or the home if it is in one.
func (w *liveWorld) fileOf(source string) string {
	s := scopeOf(event.Scope(source))
	if s >= model.NumScopes {
		return source
	}
	p := w.paths[s]
	if w.opt.user != "" && (s == model.User || s == model.Approvals) {
		return filepath.Join(filepath.Dir(w.opt.user), filepath.Base(p))
	}
	if rel, err := filepath.Rel(w.root(), p); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	if rel, err := filepath.Rel(w.opt.home, p); err == nil && !strings.HasPrefix(rel, "..") {
		return "~/" + rel
	}
	return p
}

// question shows every field that the hash covers (ASK-2); arguments and URLs in full, but for what looks like a secret.
func (w *liveWorld) question(q *event.Question) liveQuestion {
	out := liveQuestion{server: q.Server, hash: q.Hash, source: string(q.Source), file: w.fileOf(string(q.Source))}
	hide := func(s string) string { return fmt.Sprintf("(%d characters)", utf8.RuneCountInString(s)) }
	e := q.Entry
	text := ""
	if v, err := trace.ParseValue([]byte(e.Canon)); err == nil {
		masked := model.Obj(model.Member{Key: q.Server, Value: hideArguments(v, hide)})
		if list, _, err := w.cache.Entries(masked.Append(nil)); err == nil && len(list) == 1 {
			text = list[0].Describe(true)
			e = list[0]
		}
	}
	if text == "" {
		text = e.Describe(false)
	}
	out.lines = strings.Split(text, "\n")
	if out.runs = e.URL; e.Kind == config.Stdio {
		words := []string{shellWord(e.Command)}
		for _, a := range e.Args {
			words = append(words, shellWord(a))
		}
		out.runs = strings.Join(words, " ")
	}
	return out
}

// hideArguments is a value of an entry in which arguments and URLs that look like secrets are hidden.
func hideArguments(v *model.Value, hide func(string) string) *model.Value {
	if v.Kind != model.Object {
		return v
	}
	out := &model.Value{Kind: model.Object}
	for _, x := range v.Members {
		switch {
		case x.Key == "args" && x.Value.Kind == model.Array:
			args, before := model.Arr(), ""
			for _, a := range x.Value.Elems {
				if a.Kind == model.String {
					args.Elems = append(args.Elems, model.Str(maskArgument(a.Text, before, hide)))
					before = a.Text
				} else {
					args.Elems = append(args.Elems, a)
				}
			}
			x.Value = args
		case (x.Key == "url" || x.Key == "httpUrl") && x.Value.Kind == model.String:
			x.Value = model.Str(maskURL(x.Value.Text, hide))
		case !slices.Contains(plainFields, x.Key) && x.Key != "env" && x.Key != "headers" && x.Key != "args":
			x.Value = hideUnknown(x.Key, x.Value, hide)
		}
		out.Members = append(out.Members, x)
	}
	return out
}

func hideUnknown(key string, v *model.Value, hide func(string) string) *model.Value {
	switch v.Kind {
	case model.String:
		if secretName.MatchString(key) || looksSecret(v.Text) {
			return model.Str(hide(v.Text))
		}
	case model.Array:
		out := model.Arr()
		for _, e := range v.Elems {
			out.Elems = append(out.Elems, hideUnknown(key, e, hide))
		}
		return out
	case model.Object:
		out := model.Obj()
		for _, x := range v.Members {
			out.Members = append(out.Members, model.Member{Key: x.Key, Value: hideUnknown(key+" "+x.Key, x.Value, hide)})
		}
		return out
	}
	return v
}

// shellWord quotes what a reader could take for more or less than one word.
func shellWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune("\"'\\`$|&;<>(){}[]*?!#~", r)
	}) {
		return s
	}
	return strconv.Quote(s)
}

// record is one thing that is told, as a line or as JSON.
type liveRecord struct {
	kind   string
	name   string
	fields []liveField
}

type liveField struct {
	key   string
	value any // string, int, bool, []string
}

func told(kind, name string, pairs ...any) liveRecord {
	r := liveRecord{kind: kind, name: name}
	for i := 0; i+1 < len(pairs); i += 2 {
		r.fields = append(r.fields, liveField{pairs[i].(string), pairs[i+1]})
	}
	return r
}

// line is the record as a line: its kind, its name, and key=value; empty values are left out.
func (r *liveRecord) line() string {
	out := r.kind
	if r.name != "" {
		out += " " + lineWord(r.name)
	}
	for _, f := range r.fields {
		switch v := f.value.(type) {
		case string:
			if v != "" {
				out += " " + f.key + "=" + lineWord(v)
			}
		case []string:
			if f.key == "config" { // a question's fields: each on a line of its own
				for _, l := range v {
					out += "\n  " + l
				}
			} else if len(v) > 0 {
				words := make([]string, len(v))
				for i, x := range v {
					words[i] = lineWord(x)
				}
				out += " " + f.key + "=" + strings.Join(words, ",")
			}
		default:
			out += fmt.Sprintf(" %s=%v", f.key, v)
		}
	}
	return out
}

// lineWord quotes what is not one plain word.
func lineWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == ',' || r == '=' }) {
		return s
	}
	return strconv.Quote(s)
}

// json is the record as a JSON object on a line.
func (r *liveRecord) json(t model.Ms) string {
	b := []byte(fmt.Sprintf(`{"t":%d,"event":%s`, t, jsonText(r.kind)))
	if r.name != "" {
		b = append(b, `,"name":`+jsonText(r.name)...)
	}
	for _, f := range r.fields {
		if s, ok := f.value.(string); ok && s == "" {
			continue
		}
		v, err := json.Marshal(f.value)
		if l, ok := f.value.([]string); err != nil || ok && l == nil {
			v = []byte("[]")
		}
		b = append(b, `,"`+f.key+`":`+string(v)...)
	}
	return string(append(b, '}'))
}

func jsonText(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (r *liveRow) record() liveRecord {
	return told("server", r.name, "state", r.state, "text", r.text, "error", r.err, "source", r.source, "file", r.file, "transport", r.transport,
		"shadows", r.shadows, "tools", r.tools, "prompts", r.prompts, "resources", r.resources)
}

func (q *liveQuestion) record() liveRecord {
	return told("ask", q.server, "hash", shortHash(q.hash), "source", q.source, "file", q.file, "runs", q.runs, "config", q.lines)
}

func shortHash(h string) string { return h[:min(12, len(h))] }

func noticeRecord(kind string, w *liveWorld, n *event.Notice) liveRecord {
	file := ""
	if n.File != "" {
		file = w.fileOf(n.File)
	}
	pairs := []any{"file", file, "server", n.Server, "key", n.Key}
	if n.Line > 0 {
		pairs = append(pairs, "line", n.Line, "column", n.Column)
	}
	return told(kind, n.Kind, append(pairs, "text", w.readable(n.Text))...)
}

// readable is a sentence of the host with the path that -user gave, where it stands behind one that was made up.
func (w *liveWorld) readable(text string) string {
	if w.opt.temp == "" {
		return text
	}
	return strings.ReplaceAll(text, filepath.Join(w.opt.temp, ".qwen"), filepath.Dir(w.opt.user))
}

// differences are what to tell of a view after another.
func differences(w *liveWorld, old, now *liveView) (out []liveRecord) {
	for i := range now.notices {
		if !slices.Contains(old.notices, now.notices[i]) {
			out = append(out, noticeRecord("notice", w, &now.notices[i]))
		}
	}
	for i := range old.notices {
		if n := &old.notices[i]; !slices.ContainsFunc(now.notices, func(o event.Notice) bool { return sameNotice(n, &o) }) {
			out = append(out, noticeRecord("cleared", w, n))
		}
	}
	for i := range now.rows {
		r := &now.rows[i]
		if j := slices.IndexFunc(old.rows, func(o liveRow) bool { return o.name == r.name }); j < 0 || !old.rows[j].same(r) {
			out = append(out, r.record())
		}
	}
	for i := range old.rows {
		if !slices.ContainsFunc(now.rows, func(o liveRow) bool { return o.name == old.rows[i].name }) {
			out = append(out, told("gone", old.rows[i].name))
		}
	}
	has := func(v *liveView, q *liveQuestion) bool {
		return slices.ContainsFunc(v.questions, func(o liveQuestion) bool { return o.server == q.server && o.hash == q.hash && o.file == q.file })
	}
	for i := range old.questions {
		if q := &old.questions[i]; !has(now, q) {
			out = append(out, told("unask", q.server, "hash", shortHash(q.hash)))
		}
	}
	for i := range now.questions {
		if q := &now.questions[i]; !has(old, q) {
			out = append(out, q.record())
		}
	}
	if now.hint && !old.hint {
		out = append(out, told("hint", "", "text", "a server failed: see the error log (log SERVER)"))
	}
	return out
}

// sameNotice reports whether a notice stands in place of another.
func sameNotice(a, b *event.Notice) bool {
	return a.File == b.File && a.Server == b.Server && a.Key == b.Key && a.Kind == b.Kind
}
