package eventlog

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// masker turns what happened into the same thing with masked values: whatever the model compares is equal exactly if it
// was. It holds two tables, the run's own and the one that a reader of the log will have.
type masker struct {
	key    []byte
	real   *model.Table
	masked *model.Table
	env    map[string]string // the launch's
	menv   map[string]string // what a reader expands from: definitions only
	fresh  map[string]string // definitions that are not written yet

	plain, hidden map[string]bool // commands and directories that stand in the log, and that must not
	values        map[as]*model.Value
	ids           map[model.ConfigID]model.ConfigID
	servers       []script
	visible       [model.NumScopes]*model.Value // what a read gives, which a restart expands anew
	spots         map[string]*spot
	newSpots      []string
	secrets       []pair // longest first: env and header values
	arguments     []pair
	seen          map[string]bool // of both
	big           map[string]bool // numbers
}

// as is a value in a role: one object may be an entry here and a map of servers there.
type as struct {
	v    *model.Value
	role role
}

type role uint8

const (
	aDocument role = iota
	aMap
	anEntry
)

type pair struct{ text, mask string }

// script is a scripted server as the world knows it; spot is one command line or URL as the log has it.
type script struct {
	key, url string
	b        *model.Behaviour
}

type spot struct {
	tr   model.Transport
	text string
	key  string
	b    *model.Behaviour
	said bool
}

func newMasker(key []byte, t *model.Table) *masker {
	return &masker{key: key, real: t, plain: map[string]bool{}, hidden: map[string]bool{}, spots: map[string]*spot{}, seen: map[string]bool{}, big: map[string]bool{}}
}

// launch begins a process and returns its launch as the log has it.
func (m *masker) launch(l *model.Launch) *model.Launch {
	out := *l
	m.env, m.menv = l.Env, map[string]string{}
	m.fresh = nil
	m.values, m.ids = map[as]*model.Value{}, map[model.ConfigID]model.ConfigID{}
	out.Env = m.menv
	if m.masked == nil {
		m.masked = model.NewTable(&out)
	} else {
		m.masked.Relaunch(&out)
	}
	out.McpConfig = m.entries(l.McpConfig)
	for _, v := range m.visible {
		m.document(v)
	}
	written := out
	written.Env = nil
	return &written
}

// digest is the keyed digest of a value: 64 bits in hexadecimal digits.
func (m *masker) digest(s string) string {
	h := m.sum(s)
	return hex.EncodeToString(h[:8])
}

func (m *masker) sum(s string) []byte {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(s))
	return h.Sum(nil)
}

// token stands for a value without variables. What could be written as a number is masked as one (SRC-8: 5 and "5" are
// one config); true, false and nothing are no secrets.
func (m *masker) token(s string) string {
	switch s {
	case "", "true", "false":
		return s
	}
	if n, ok := m.number(s); ok {
		return n
	}
	return "mask:" + m.digest(s)
}

// number masks the text of a number; one beyond 2^53 stays beyond it.
func (m *masker) number(s string) (string, bool) {
	if c := s[0]; c != '-' && (c < '0' || c > '9') || !utf8.ValidString(s) {
		return "", false
	}
	v, err := trace.ParseValue([]byte(s))
	if err != nil || v.Kind != model.Number || v.Text != s {
		return "", false
	}
	n := binary.BigEndian.Uint64(m.sum(s))
	if m.beyond(s) {
		return "9" + strconv.FormatUint(1e18+n%1e18, 10), true
	}
	return strconv.FormatUint(1e14+n%9e14, 10), true
}

// beyond reports what costs an entry its place: an integer beyond 2^53 (SRC-8), by the model's own reading.
func (m *masker) beyond(s string) bool {
	b, ok := m.big[s]
	if !ok {
		v := model.Obj(model.Member{Key: "command", Value: model.Str("x")}, model.Member{Key: "n", Value: &model.Value{Kind: model.Number, Text: s}})
		c, _ := model.NewTable(&model.Launch{}).Entry("x", v, true)
		b = c == nil
		m.big[s] = b
	}
	return b
}

// expandable masks a value that SRC-9 expands. A command or a directory without variables stays as it is, unless some
// variable already stands for it.
func (m *masker) expandable(s string, command bool) string {
	if strings.Contains(s, "$") {
		return m.variable(s, command)
	}
	return m.literal(s, command)
}

func (m *masker) literal(s string, command bool) string {
	if !command {
		return m.token(s)
	}
	if m.hidden[s] {
		return "mask:" + m.digest(s)
	}
	m.plain[s] = true
	return s
}

// variable gives a value with variables a name of its own and defines what that expands to now.
func (m *masker) variable(s string, command bool) string {
	name := maskName(command) + m.digest(s)
	text := "${" + name + "}"
	if _, ok := m.menv[name]; ok {
		return text
	}
	out, left := model.Expand(s, m.env)
	if len(left) > 0 {
		return text // undefined in the log as it is here
	}
	to := ""
	if again, left := model.Expand(out, m.env); strings.Contains(out, "$") && again == out && len(left) > 0 {
		to = "${" + maskName(command) + m.digest(out) + "}" // what a value that is this text expands to
	} else if command {
		if !m.plain[out] && out != "" {
			m.hidden[out] = true
		}
		to = m.literal(out, true)
	} else {
		to = m.token(out)
	}
	m.menv[name] = to
	if m.fresh == nil {
		m.fresh = map[string]string{}
	}
	m.fresh[name] = to
	return text
}

func maskName(command bool) string {
	if command {
		return "maskc_"
	}
	return "mask_"
}

// expanded is what a masked value expands to in the log.
func (m *masker) expanded(s string, command bool) string {
	out, _ := model.Expand(m.expandable(s, command), m.menv)
	return out
}

// each rebuilds a value with every string and number masked by f; keys stay.
func (m *masker) each(v *model.Value, f func(string) string) *model.Value {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case model.String:
		if v.BadText {
			return &model.Value{Kind: model.String, Text: m.token(v.Text) + "\uFFFD", BadText: true}
		}
		return &model.Value{Kind: model.String, Text: f(v.Text)}
	case model.Number:
		if n, ok := m.number(v.Text); ok {
			return &model.Value{Kind: model.Number, Text: n}
		}
		return &model.Value{Kind: model.Number, Text: "9" + strconv.FormatUint(1e18+binary.BigEndian.Uint64(m.sum(v.Text))%1e18, 10)}
	case model.Array:
		out := &model.Value{Kind: model.Array}
		for _, e := range v.Elems {
			out.Elems = append(out.Elems, m.each(e, f))
		}
		return out
	case model.Object:
		return m.members(v, func(_ string, x *model.Value) *model.Value { return m.each(x, f) })
	}
	return v
}

func (m *masker) members(v *model.Value, f func(key string, x *model.Value) *model.Value) *model.Value {
	out := &model.Value{Kind: model.Object, Dups: v.Dups, BadText: v.BadText}
	for i := range v.Members {
		out.Members = append(out.Members, model.Member{Key: v.Members[i].Key, Value: f(v.Members[i].Key, v.Members[i].Value)})
	}
	return out
}

func (m *masker) strings(v *model.Value) *model.Value { return m.each(v, m.token) }

// document masks a settings file or a .mcp.json.
func (m *masker) document(v *model.Value) *model.Value {
	if v == nil || v.Kind != model.Object {
		return v
	}
	return m.once(v, aDocument, func() *model.Value {
		return m.members(v, func(key string, x *model.Value) *model.Value {
			switch {
			case key == "mcpServers" && x.Kind == model.Object:
				return m.entryMap(x)
			case key == "mcp" && x.Kind == model.Object:
				return m.members(x, func(key string, y *model.Value) *model.Value {
					if key == "allowed" || key == "excluded" {
						return y
					}
					return m.strings(y)
				})
			}
			return m.strings(x)
		})
	})
}

// once keeps one masked value per value, so that the same content stays the same.
func (m *masker) once(v *model.Value, r role, f func() *model.Value) *model.Value {
	if x := m.values[as{v, r}]; x != nil {
		return x
	}
	if len(m.values) > 4096 {
		clear(m.values)
	}
	x := f()
	m.values[as{v, r}] = x
	return x
}

// entries masks a map of servers that stands alone, whether or not it is wrapped in mcpServers.
func (m *masker) entries(v *model.Value) *model.Value {
	if in := v.Get("mcpServers"); in != nil && in.Kind == model.Object {
		return m.document(v)
	}
	if v == nil || v.Kind != model.Object {
		return v
	}
	return m.once(v, aMap, func() *model.Value { return m.entryMap(v) })
}

func (m *masker) entryMap(v *model.Value) *model.Value {
	return m.members(v, func(name string, x *model.Value) *model.Value { return m.entry(name, x) })
}

// entry masks one entry and notes how its server is found.
func (m *masker) entry(name string, v *model.Value) *model.Value {
	if v.Kind != model.Object {
		return m.strings(v)
	}
	return m.once(v, anEntry, func() *model.Value {
		out := m.config(v)
		if real, _ := m.real.Entry(name, v, true); real != nil {
			if masked, _ := m.masked.Entry(name, out, true); masked != nil {
				m.spot(real, masked)
			}
		}
		return out
	})
}

func (m *masker) config(v *model.Value) *model.Value {
	return m.members(v, func(key string, x *model.Value) *model.Value {
		switch key {
		case "type", "scope", "extensionName", "description", "includeTools", "excludeTools", "timeout", "discoveryTimeoutMs",
			"trust", "disabled", "enabled":
			return x
		case "command", "cwd":
			if x.Kind == model.String && !x.BadText {
				return &model.Value{Kind: model.String, Text: m.expandable(x.Text, true)}
			}
		case "args", "url", "httpUrl":
			return m.each(x, func(s string) string {
				m.note(&m.arguments, s, 12, false)
				return m.expandable(s, false)
			})
		case "env", "headers":
			return m.each(x, func(s string) string {
				m.note(&m.secrets, s, 6, true)
				return m.expandable(s, false)
			})
		}
		return m.strings(x)
	})
}

// note keeps a text that must be masked wherever it occurs in a sentence; shorter ones are words (INV-16).
func (m *masker) note(list *[]pair, s string, atLeast int, raw bool) {
	add := func(text, mask string) {
		if len(text) < atLeast || m.seen[text+"\x00"+mask] {
			return
		}
		m.seen[text+"\x00"+mask] = true
		*list = append(*list, pair{text, mask})
		slices.SortStableFunc(*list, func(a, b pair) int { return len(b.text) - len(a.text) })
	}
	if raw {
		add(s, m.expandable(s, false))
	}
	out, _ := model.Expand(s, m.env)
	add(out, m.expanded(s, false))
}

func scrub(text string, lists ...[]pair) string {
	for _, list := range lists {
		for _, p := range list {
			text = strings.ReplaceAll(text, p.text, p.mask)
		}
	}
	return text
}

// shown reduces a question's sentence, which may hold arguments, to the secrets that it must not hold.
func (m *masker) shown(text string) string {
	var out []string
	for _, p := range m.secrets {
		if text != "" && strings.Contains(text, p.text) {
			out = append(out, p.mask)
		}
	}
	return strings.Join(out, " ")
}

// id is a config's number in the log's table.
func (m *masker) id(id model.ConfigID) model.ConfigID {
	if id == 0 {
		return 0
	}
	if x, ok := m.ids[id]; ok {
		return x
	}
	c := m.real.ByID(id)
	if c == nil {
		return 0
	}
	out := m.config(c.Raw)
	x := m.masked.Intern(out)
	m.ids[id] = x
	return x
}

// fp is a fingerprint in the log's table, by a config that has it now.
func (m *masker) fp(fp model.FpID) model.FpID {
	c := m.real.ByFp(fp)
	if c == nil {
		return 0
	}
	if m.real.FpOf(c.ID) != fp { // that config expands to something else since a restart
		for id := model.ConfigID(1); m.real.ByID(id) != nil; id++ {
			if m.real.FpOf(id) == fp {
				c = m.real.ByID(id)
				break
			}
		}
	}
	return m.masked.FpOf(m.id(c.ID))
}

// spot notes a command line or URL that is new in the log.
func (m *masker) spot(real, masked *model.Config) {
	text, at := real.CommandLine, masked.CommandLine
	switch real.Transport {
	case model.SDK:
		text, at = "sdk:"+text, "sdk:"+at
	case model.HTTP, model.SSE:
		text, at = real.URL, masked.URL
	}
	if m.spots[at] != nil {
		return
	}
	s := &spot{tr: real.Transport, text: text}
	s.key, s.b = m.script(s)
	m.spots[at] = s
	m.newSpots = append(m.newSpots, at)
}

// script finds what a command line or URL does, as the model does.
func (m *masker) script(s *spot) (key string, b *model.Behaviour) {
	best := -1
	for _, x := range m.servers {
		ok := strings.HasPrefix(s.text, x.key)
		switch s.tr {
		case model.SDK:
			ok = ok || s.text == "sdk:"+x.key
		case model.HTTP, model.SSE:
			ok = ok || x.url != "" && strings.HasPrefix(s.text, x.url)
		}
		if n := utf8.RuneCountInString(x.key); ok && n > best {
			best, key, b = n, x.key, x.b
		}
	}
	return key, b
}

// server takes a scripted server and returns the inputs that say so in the log.
func (m *masker) server(in *model.Input) []model.Input {
	found := false
	for i := range m.servers {
		if m.servers[i].key == in.Key {
			m.servers[i].b, found = in.Behaviour, true
		}
	}
	if !found {
		m.servers = append(m.servers, script{in.Key, in.URL, in.Behaviour})
	}
	var out []model.Input
	for _, at := range sortedKeys(m.spots) {
		s := m.spots[at]
		if s.key, s.b = m.script(s); s.key == in.Key {
			s.said = true
			out = append(out, model.Input{Kind: model.InServer, Key: at, Behaviour: s.b})
		}
	}
	return out
}

// spoken returns the inputs for the spots that are new.
func (m *masker) spoken() []model.Input {
	var out []model.Input
	for _, at := range m.newSpots {
		if s := m.spots[at]; s.key != "" && !s.said {
			s.said = true
			out = append(out, model.Input{Kind: model.InServer, Key: at, Behaviour: s.b})
		}
	}
	m.newSpots = m.newSpots[:0]
	return out
}

// addressed returns list_changed or crash for every spot of its key.
func (m *masker) addressed(in *model.Input) []model.Input {
	known := false
	for _, x := range m.servers {
		known = known || x.key == in.Key
	}
	if in.Key == "" || !known {
		return []model.Input{*in}
	}
	var out []model.Input
	for _, at := range sortedKeys(m.spots) {
		if m.spots[at].key == in.Key {
			x := *in
			x.Key = at
			out = append(out, x)
		}
	}
	return out
}

// input masks what the world did; one input may become several, or none.
func (m *masker) input(in *model.Input) []model.Input {
	x := *in
	switch in.Kind {
	case model.InFile, model.InRead:
		if in.Scope == model.Approvals {
			x.Content.Value = nil
		} else if in.Content.State == model.Good {
			x.Content.Value = m.document(in.Content.Value)
		}
		if in.Kind == model.InFile {
			m.visible[in.Scope] = in.Content.Value
		}
	case model.InRecords:
		x.Content.Value = nil
		x.Records = map[string]model.Record{}
		for _, name := range sortedKeys(in.Records) {
			r := in.Records[name]
			x.Records[name] = model.Record{Config: m.id(r.Config), Approved: r.Approved}
		}
	case model.InDecide:
		x.Config = m.id(in.Config)
	case model.InServer:
		return m.server(in)
	case model.InListChanged, model.InCrash:
		return m.addressed(in)
	case model.InRuntimeAdd:
		if in.Entry != nil {
			x.Entry = m.entry(in.Server, in.Entry)
		}
	case model.InWitness:
		x.Detail = scrub(in.Detail, m.secrets, m.arguments)
	case model.InExtension, model.InOpen:
		x.Servers = m.entries(in.Servers)
	case model.InRestart:
		x.Launch = m.launch(in.Launch)
	}
	return []model.Input{x}
}

func (m *masker) questions(qs []model.Question) []model.Question {
	var out []model.Question
	for _, q := range qs {
		q.Config, q.Text = m.id(q.Config), m.shown(q.Text)
		out = append(out, q)
	}
	return out
}

func (m *masker) event(ev *model.Event) *model.Event {
	x := *ev
	x.Config, x.ConfigVal = m.id(ev.Config), nil
	x.Questions = m.questions(ev.Questions)
	if ev.Notice != nil {
		n := m.notice(*ev.Notice)
		x.Notice = &n
	}
	return &x
}

func (m *masker) notice(n model.Notice) model.Notice {
	n.Text = scrub(n.Text, m.secrets, m.arguments)
	return n
}

func (m *masker) snapshot(s *model.Snapshot) *model.Snapshot {
	out := *s
	out.Sessions = slices.Clone(s.Sessions)
	for i := range out.Sessions {
		v := &out.Sessions[i]
		v.Ask = m.questions(v.Ask)
		v.Notices = slices.Clone(v.Notices)
		for j := range v.Notices {
			v.Notices[j] = m.notice(v.Notices[j])
		}
		v.Servers = slices.Clone(v.Servers)
		for j := range v.Servers {
			v.Servers[j].Error = scrub(v.Servers[j].Error, m.secrets, m.arguments)
		}
	}
	out.Host.Pool = slices.Clone(s.Host.Pool)
	for i := range out.Host.Pool {
		out.Host.Pool[i].Config = m.fp(out.Host.Pool[i].Config)
	}
	out.Host.Records = slices.Clone(s.Host.Records)
	for i := range out.Host.Records {
		out.Host.Records[i].Config = m.id(out.Host.Records[i].Config)
	}
	return &out
}
