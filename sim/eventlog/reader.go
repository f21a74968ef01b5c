package eventlog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// About is the key "log" of a log's header.
type About struct {
	Version int               `json:"version"`
	Host    string            `json:"host,omitzero"`
	Clock   string            `json:"clock,omitzero"` // virtual, or absent
	SlackMs *model.Ms         `json:"slack_ms,omitempty"`
	Events  *[]string         `json:"events,omitempty"`
	Woken   *bool             `json:"woken,omitempty"`
	Shows   *[]string         `json:"shows,omitempty"`
	Mask    map[string]string `json:"mask,omitempty"` // as on a line, for what the header holds
}

// RealSlackMs is how late a reaction may be in real time, if a log does not say.
const RealSlackMs model.Ms = 250

// Shows are the parts of a snapshot that a host may not show.
var Shows = []string{"tools", "prompts", "resources", "text", "error", "file", "shadows", "notices", "hint", "calls", "pool",
	"records", "dials", "processes"}

// Item is one line, read: exactly one of Input, Event, Snapshot (or Settled), Passed and Expect.
type Item struct {
	T        model.Ms
	Input    *model.Input
	Event    *model.Event
	Snapshot *model.Snapshot
	Settled  *bool
	Passed   bool
	Expect   bool
}

// Reader reads a log line by line. Configs are interned in its table, which follows restarts.
type Reader struct {
	Name   string // of the log, for errors
	Header trace.Header
	About  About
	Table  *model.Table
	Launch *model.Launch // of the present process
	Asked  bool          // lines may be questions: "expect", and "settled" without a snapshot

	n       int // lines read
	t       model.Ms
	e       Entry
	values  map[string]*model.Value // by text: what is said again is the same value
	configs map[string]known
	intern  interner
}

type known struct {
	id model.ConfigID
	v  *model.Value
}

// NewReader reads the header, the first line of a log; number is its line in the file. Errors are of type *trace.Error.
func NewReader(name string, number int, first []byte) (*Reader, error) {
	r := &Reader{Name: name, n: number, values: map[string]*model.Value{}, configs: map[string]known{}}
	first = bytes.TrimPrefix(first, []byte("\xEF\xBB\xBF"))
	rest, about, err := splitHeader(first)
	if err != nil {
		return nil, r.fail(first, err)
	}
	if len(about) > 0 {
		if err := json.Unmarshal(about, &r.About, asWritten); err != nil {
			return nil, r.fail(nil, fmt.Errorf("the header's \"log\": %w", err))
		}
		if err := r.About.check(); err != nil {
			return nil, r.fail(nil, err)
		}
	}
	if r.Header, err = trace.ParseHeader(name, rest); err != nil {
		return nil, r.fail(nil, bare(err)) // its place counts without "log"
	}
	return r, nil
}

// Begin makes the table for the launch of the first process.
func (r *Reader) Begin(l *model.Launch) {
	r.Launch = l
	r.define(r.About.Mask)
	r.Table = model.NewTable(l)
	r.intern = r.internConfig
}

func (r *Reader) define(mask map[string]string) {
	if len(mask) > 0 && r.Launch.Env == nil {
		r.Launch.Env = map[string]string{}
	}
	maps.Copy(r.Launch.Env, mask)
}

func (a *About) check() error {
	if a.Version != 1 {
		return fmt.Errorf("\"log\" is version %d of the format; version 1 is what can be read", a.Version)
	}
	if a.Clock != "" && a.Clock != "virtual" {
		return fmt.Errorf("\"clock\" is %q; expected \"virtual\", or no such key for real time", a.Clock)
	}
	if a.Events != nil {
		for _, k := range *a.Events {
			if _, ok := model.ParseEventKind(k); !ok {
				return fmt.Errorf("\"events\" names %q; the events are %s", k, eventList())
			}
		}
	}
	if a.Shows != nil {
		for _, k := range *a.Shows {
			if !slices.Contains(Shows, k) {
				return fmt.Errorf("\"shows\" names %q; the parts are %s", k, strings.Join(Shows, ", "))
			}
		}
	}
	return nil
}

// Slack is how late a reaction may be.
func (a *About) Slack() model.Ms {
	switch {
	case a.SlackMs != nil:
		return *a.SlackMs
	case a.Clock == "virtual":
		return 0
	}
	return RealSlackMs
}

// splitHeader takes "log" out of a header.
func splitHeader(text []byte) (rest, about jsontext.Value, err error) {
	d := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if d.PeekKind() != '{' {
		return nil, nil, errors.New(`the first line must be the header, an object such as {"mcpsim":1,"log":{"version":1},"launch":{…}}`)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, nil, err
	}
	rest = append(rest, '{')
	for d.PeekKind() != '}' {
		key, err := d.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		key = key.Clone()
		val, err := d.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		if string(key) == `"log"` {
			about = val.Clone()
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), val...)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, nil, err
	}
	if len(bytes.TrimSpace(text[d.InputOffset():])) > 0 {
		return nil, nil, errors.New("something stands behind the header; a log holds one JSON object a line")
	}
	return append(rest, '}'), about, nil
}

// fail places an error on the present line.
func (r *Reader) fail(text []byte, err error) error {
	col := 1
	var s *jsontext.SyntacticError
	var m *json.SemanticError
	switch {
	case errors.As(err, &s):
		col = 1 + len([]rune(string(text[:min(int(s.ByteOffset), len(text))])))
		err = fmt.Errorf("this is no JSON: %w; write one JSON object a line", s.Err)
		if strings.Contains(err.Error(), "unexpected EOF") {
			err = errors.New("the line is cut off; write one whole JSON object a line, or take this line out")
		}
	case errors.As(err, &m):
		if errors.Is(m.Err, json.ErrUnknownName) {
			err = fmt.Errorf("there is no key %q; `go doc mcpsim/sim/eventlog` has those of each line", m.JSONPointer.LastToken())
		} else {
			err = fmt.Errorf("%s cannot be %s; `go doc mcpsim/sim/eventlog` says what it holds", pointer(string(m.JSONPointer)), kindWord(m.JSONKind))
		}
	}
	return &trace.Error{File: r.Name, Line: r.n, Col: col, Msg: strings.TrimPrefix(err.Error(), "jsontext: ")}
}

func pointer(p string) string {
	if p == "" {
		return "a line"
	}
	return "the key " + strings.TrimPrefix(p, "/")
}

func kindWord(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	}
	return "this"
}

// Line reads the next line. An empty one gives nil. Errors are of type *trace.Error.
func (r *Reader) Line(text []byte) (*Item, error) {
	r.n++
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	r.e = Entry{Line: Line{T: -1}}
	if err := json.Unmarshal(text, &r.e, asWritten); err != nil {
		return nil, r.fail(text, err)
	}
	it, err := r.item(&r.e)
	if err != nil {
		return nil, r.fail(text, err)
	}
	return it, nil
}

// Number is the number of the last line that was read, in its file.
func (r *Reader) Number() int { return r.n }

func (r *Reader) item(e *Entry) (*Item, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	switch {
	case !r.Asked && e.Expect:
		return nil, errors.New(`"expect" is a question to mcpsim oracle, and nothing that happened`)
	case !r.Asked && e.Settled != nil && *e.Settled && e.Snapshot == nil:
		return nil, errors.New(`"settled":true needs the key "snapshot": what the host shows`)
	case e.T < 0:
		return nil, errors.New(`a line needs the key "t": whole milliseconds since the start`)
	case e.T < r.t:
		return nil, fmt.Errorf("time runs backwards: t is %d after %d; write lines in the order in which things happened", e.T, r.t)
	}
	r.t = e.T
	it := &Item{T: e.T, Settled: e.Settled, Passed: e.Passed, Expect: e.Expect}
	var err error
	if e.Input == "restart" {
		it.Input, err = r.restart(e)
		return it, err
	}
	if len(e.Mask) > 0 {
		r.define(e.Mask)
	}
	switch {
	case e.Event != "":
		it.Event, err = e.toEvent(r.intern)
	case e.Input != "":
		it.Input, err = r.input(e)
	case e.Snapshot != nil:
		var s model.Snapshot
		s, err = e.Snapshot.toSnapshot(r.Table, r.intern)
		it.Snapshot = &s
	}
	return it, err
}

func (r *Reader) restart(e *Entry) (*model.Input, error) {
	l, err := parseLaunch(e.Launch)
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	m := l.Model(r.Launch.Root)
	r.Launch = &m
	r.define(e.Mask)
	r.Table.Relaunch(r.Launch)
	return &model.Input{Kind: model.InRestart, Launch: r.Launch}, nil
}

func (r *Reader) internConfig(raw jsontext.Value) (model.ConfigID, *model.Value, error) {
	if k, ok := r.configs[string(raw)]; ok {
		return k.id, k.v, nil
	}
	v, err := r.value(raw)
	if err != nil {
		return 0, nil, fmt.Errorf("config: %w", err)
	}
	if v.Kind != model.Object {
		return 0, nil, errors.New("a config must be an object, one entry of mcpServers")
	}
	k := known{r.Table.Intern(v), v}
	r.configs[string(raw)] = k
	return k.id, k.v, nil
}

func (r *Reader) value(raw jsontext.Value) (*model.Value, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if v, ok := r.values[string(raw)]; ok {
		return v, nil
	}
	v, err := trace.ParseValue(raw)
	if err == nil {
		r.values[string(raw)] = v
	}
	return v, err
}

func (r *Reader) content(e *Entry) (c model.Content, err error) {
	if e.Text != nil {
		if c = trace.Denote([]byte(*e.Text)); c.State == model.Good {
			key := "text\x00" + *e.Text
			if v, ok := r.values[key]; ok {
				c.Value = v
			} else {
				r.values[key] = c.Value
			}
		}
		if e.State == "" || e.State == stateNames[c.State] {
			return c, nil
		}
		return c, fmt.Errorf("the text is %s, the line says %q; leave \"state\" out", stateNames[c.State], e.State)
	}
	i := slices.Index(stateNames[:], e.State)
	if i < 0 {
		return c, fmt.Errorf("state is %q; expected one of %s, or the file's text as \"text\"", e.State, strings.Join(stateNames[:], ", "))
	}
	c.State, c.LinkText = model.ContentState(i), e.LinkText
	if c.State != model.Good || e.Input == "records" || e.Scope == "approvals" {
		return c, nil
	}
	if c.Value, err = r.value(e.Content); err == nil && (c.Value == nil || c.Value.Kind != model.Object) {
		err = errors.New("a good document needs \"content\", an object; for one that is none say \"not_object\"")
	}
	return c, err
}

func (r *Reader) input(e *Entry) (*model.Input, error) {
	in := &model.Input{Kind: inputKinds[e.Input], Session: model.SessionID(e.Session), Server: e.Server, Conn: model.ConnID(e.Conn),
		Group: e.Group, Call: e.Call, Tool: e.Tool, Key: e.Key, Kinds: e.Kinds, URL: e.URL, Times: e.Times, Ms: e.Ms,
		FaultKind: model.FaultKind(e.Fault)}
	if e.Scope != "" {
		var ok bool
		if in.Scope, ok = ParseScope(e.Scope); !ok {
			return nil, fmt.Errorf("unknown scope %q; expected defaults, user, project, workspace, system or approvals", e.Scope)
		}
	}
	if e.On != nil {
		in.On = *e.On
	}
	if e.Approve != nil {
		in.Approve = *e.Approve
	}
	var err error
	switch in.Kind {
	case 0:
		return nil, fmt.Errorf("there is no input %q; the inputs are %s", e.Input, strings.Join(slices.Sorted(maps.Keys(inputKinds)), ", "))
	case model.InFile, model.InRead:
		if in.Kind == model.InFile && in.Scope == model.Approvals {
			return nil, errors.New("the approvals file is told by the input \"records\"")
		}
		in.Content, err = r.content(e)
	case model.InRecords:
		in.On = e.Elsewhere
		in.Records = map[string]model.Record{}
		for _, x := range e.Records {
			id, _, err := r.intern(x.Config)
			if err != nil {
				return nil, fmt.Errorf("records: %s: %w", x.Server, err)
			}
			in.Records[x.Server] = model.Record{Config: id, Approved: x.Approved}
		}
		in.Content, err = r.content(e)
	case model.InDecide:
		in.Config, _, err = r.intern(e.Config)
	case model.InServer:
		if len(e.Behaviour) > 0 {
			in.Behaviour, err = parseBehaviour(e.Behaviour)
		}
	case model.InWitness:
		in.Key, in.Detail = e.Invariant, e.Detail
	case model.InRuntimeAdd:
		in.Entry, err = r.value(e.Entry)
	case model.InExtension:
		in.Server = e.Name
		in.Servers, err = r.value(e.Servers)
	case model.InOpen:
		in.Servers, err = r.value(e.Servers)
	}
	return in, err
}
