package eventlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Entry is any line of a log but the first; the package comment says which keys go together.
type Entry struct {
	Line
	Mask      map[string]string `json:"mask,omitempty"` // what masked values with a variable expand to, from this line on
	Settled   *bool             `json:"settled,omitempty"`
	Passed    bool              `json:"passed,omitzero"`
	Expect    bool              `json:"expect,omitzero"` // a question to `mcpsim oracle`: what must be seen now
	Snapshot  *Snapshot         `json:"snapshot,omitempty"`
	State     string            `json:"state,omitzero"`
	Content   jsontext.Value    `json:"content,omitzero"`
	Text      *string           `json:"text,omitempty"`
	LinkText  bool              `json:"link_text,omitzero"`
	Records   []Record          `json:"records,omitempty"`
	Elsewhere bool              `json:"elsewhere,omitzero"`
	Approve   *bool             `json:"approve,omitempty"`
	Group     int               `json:"group,omitzero"`
	Name      string            `json:"name,omitzero"`
	Key       string            `json:"key,omitzero"`
	URL       string            `json:"url,omitzero"`
	Kinds     []string          `json:"kinds,omitempty"`
	Behaviour jsontext.Value    `json:"behaviour,omitzero"`
	Entry     jsontext.Value    `json:"entry,omitzero"`
	Servers   jsontext.Value    `json:"servers,omitzero"`
	On        *bool             `json:"on,omitempty"`
	Launch    jsontext.Value    `json:"launch,omitzero"`
	Fault     string            `json:"fault,omitzero"`
	Invariant string            `json:"invariant,omitzero"`
	Detail    string            `json:"detail,omitzero"`
	Times     int               `json:"times,omitzero"`
	Ms        model.Ms          `json:"ms,omitzero"`
}

// asWritten keeps what logs may hold: duplicate keys and lone surrogates. What is not named is an error.
var asWritten = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), json.Deterministic(true), json.RejectUnknownMembers(true))

// Append writes a line with its newline.
func (e *Entry) Append(b []byte) ([]byte, error) {
	text, err := json.Marshal(e, asWritten)
	if err != nil {
		return b, err
	}
	return append(append(b, text...), '\n'), nil
}

var inputNames = [...]string{model.InFile: "file", model.InRecords: "records", model.InWake: "woken", model.InRead: "read",
	model.InStarted: "started", model.InDecide: "decide", model.InReload: "reload", model.InServer: "server",
	model.InListChanged: "list_changed", model.InCrash: "crash", model.InCall: "call", model.InRuntimeAdd: "runtime_add",
	model.InRuntimeRemove: "runtime_remove", model.InExtension: "extension", model.InOpen: "open", model.InClose: "close",
	model.InTrust: "trust", model.InInitialize: "initialize", model.InRestart: "restart", model.InShutdown: "shutdown",
	model.InFault: "fault", model.InWitness: "witness"}

// InputName is an input's name in logs, empty if there is none.
func InputName(k model.InputKind) string {
	if int(k) < len(inputNames) {
		return inputNames[k]
	}
	return ""
}

var inputKinds = map[string]model.InputKind{}

func init() {
	for k, name := range inputNames {
		if name != "" {
			inputKinds[name] = model.InputKind(k)
		}
	}
}

var stateNames = [...]string{model.Missing: "missing", model.Good: "good", model.Unreadable: "unreadable",
	model.Unparsable: "unparsable", model.NotObject: "not_object"}

// FromInput returns the line of an input. Configs are written out from the table.
func FromInput(at model.Ms, in *model.Input, t *model.Table) Entry {
	e := Entry{Line: Line{T: at, Input: InputName(in.Kind)}}
	switch in.Kind {
	case model.InFile, model.InRead:
		e.Scope = in.Scope.String()
		e.content(&in.Content)
	case model.InRecords:
		e.content(&model.Content{State: in.Content.State, LinkText: in.Content.LinkText})
		for _, name := range sortedKeys(in.Records) {
			r := in.Records[name]
			e.Records = append(e.Records, Record{name, configText(t, r.Config), r.Approved})
		}
		e.Elsewhere = in.On
	case model.InWake:
		e.Scope = in.Scope.String()
	case model.InStarted:
		e.Conn, e.Server = int(in.Conn), in.Server
	case model.InDecide:
		e.Session, e.Server, e.Config, e.Approve, e.Group = string(in.Session), in.Server, configText(t, in.Config), &in.Approve, in.Group
	case model.InServer:
		e.Key, e.URL = in.Key, in.URL
		if in.Behaviour != nil {
			e.Behaviour = behaviourText(in.Behaviour)
		}
	case model.InListChanged, model.InCrash:
		e.Key, e.Server, e.Kinds = in.Key, in.Server, in.Kinds
	case model.InCall:
		e.Session, e.Call, e.Server, e.Tool, e.Key = string(in.Session), in.Call, in.Server, in.Tool, in.Key
	case model.InRuntimeAdd:
		e.Session, e.Server, e.Entry = string(in.Session), in.Server, valueText(in.Entry)
	case model.InRuntimeRemove:
		e.Session, e.Server = string(in.Session), in.Server
	case model.InExtension:
		e.Name, e.Servers = in.Server, valueText(in.Servers)
	case model.InOpen:
		e.Session, e.Servers = string(in.Session), valueText(in.Servers)
	case model.InReload, model.InClose:
		e.Session = string(in.Session)
	case model.InTrust:
		e.On = &in.On
	case model.InRestart:
		e.Launch = launchText(in.Launch)
	case model.InFault:
		e.Fault, e.Times, e.Ms = string(in.FaultKind), in.Times, in.Ms
	case model.InWitness:
		e.Invariant, e.Session, e.Server, e.Detail = in.Key, string(in.Session), in.Server, in.Detail
	}
	return e
}

func (e *Entry) content(c *model.Content) {
	e.State, e.LinkText = stateNames[c.State], c.LinkText
	if c.State == model.Good && c.Value != nil && e.Scope != "approvals" { // whose text is the host's own
		e.Content = valueText(c.Value)
	}
}

func valueText(v *model.Value) jsontext.Value {
	if v == nil {
		return nil
	}
	return trace.AppendValue(nil, v, "")
}

// member returns one member of an object's text, nil if it has none.
func member(text []byte, key string) jsontext.Value {
	var ms map[string]jsontext.Value
	if err := json.Unmarshal(text, &ms, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil
	}
	return ms[key]
}

// A behaviour and a launch are written as a trace's header has them.
func behaviourText(b *model.Behaviour) jsontext.Value {
	h := trace.Header{Servers: []trace.ServerBehaviour{{Key: "x", Behaviour: *b}}}
	return member(member(h.Append(nil), "servers"), "x")
}

func parseBehaviour(raw jsontext.Value) (*model.Behaviour, error) {
	h, err := trace.ParseHeader("behaviour", append(append([]byte(`{"mcpsim":1,"servers":{"x":`), raw...), "}}"...))
	if err != nil {
		return nil, bare(err)
	}
	return &h.Servers[0].Behaviour, nil
}

func launchText(l *model.Launch) jsontext.Value {
	if l == nil {
		return jsontext.Value("{}")
	}
	h := trace.Header{Launch: TraceLaunch(l)}
	if raw := member(h.Append(nil), "launch"); raw != nil {
		return raw
	}
	return jsontext.Value("{}")
}

func parseLaunch(raw jsontext.Value) (*trace.Launch, error) {
	h, err := trace.ParseHeader("launch", append(append([]byte(`{"mcpsim":1,"launch":`), raw...), '}'))
	if err != nil {
		return nil, bare(err)
	}
	return &h.Launch, nil
}

// bare takes the place out of an error that counts from the wrong beginning.
func bare(err error) error {
	var e *trace.Error
	if errors.As(err, &e) {
		return errors.New(e.Msg)
	}
	return err
}

// TraceLaunch is a model's launch as a trace's header has it.
func TraceLaunch(l *model.Launch) trace.Launch {
	out := trace.Launch{Sessions: []string{}, HasAllowed: l.HasFlag, McpConfig: l.McpConfig}
	for _, s := range l.Sessions {
		out.Sessions = append(out.Sessions, string(s))
	}
	if slices.Equal(out.Sessions, []string{"s1"}) {
		out.Sessions = nil
	}
	if l.Mode == model.Pool {
		out.Mode = "pool"
	}
	if l.HasFlag {
		out.Allowed = append([]string{}, l.Flag...)
	}
	if l.ApprovalsOff {
		out.Approvals = "off"
	}
	if l.HomeIsRoot {
		out.Cwd = "home"
	}
	no, yes := false, true
	if !l.Trusted {
		out.Trusted = &no
	}
	if l.Bare {
		out.Bare = &yes
	}
	if l.Uninitialized {
		out.Initialized = &no
	}
	if len(l.Env) > 0 {
		out.Env = model.Obj()
		for _, k := range sortedKeys(l.Env) {
			out.Env.Members = append(out.Env.Members, model.Member{Key: k, Value: model.Str(l.Env[k])})
		}
	}
	return out
}

// needs are the keys without which a line says nothing, by event or input.
var needs = map[string][]string{
	"load": {"scope", "outcome"}, "wake": {"scope"}, "lists": {"session", "lists"}, "pass_start": {"session"},
	"pass_compared": {"session"}, "pass_end": {"session", "outcome"}, "dial": {"server", "conn", "config"}, "dialed": {"conn"},
	"dial_failed": {"conn", "outcome"}, "published": {"session", "server", "conn"}, "purged": {"session", "server"},
	"closing": {"conn"}, "closed": {"conn"}, "acquired": {"session", "conn"}, "released": {"session", "conn"}, "drain_start": {"conn"},
	"drain_end": {"conn"}, "ask": {"session", "questions"}, "decided": {"session", "server", "config", "outcome"},
	"refused": {"session", "server", "why"}, "call_start": {"call"}, "call_end": {"call", "outcome"}, "wrote": {"path"}, "notice": {"notice"},

	"> file": {"scope"}, "> read": {"scope"}, "> records": {"state"}, "> woken": {"scope"}, "> started": {"server", "conn"},
	"> decide": {"session", "server", "config", "approve"}, "> reload": {"session"}, "> server": {"key"}, "> call": {"session", "call"},
	"> runtime_add": {"session", "server", "entry"}, "> runtime_remove": {"session", "server"}, "> extension": {"name"}, "> open": {"session"},
	"> close": {"session"}, "> trust": {"on"}, "> restart": {"launch"}, "> fault": {"fault"},
	"> witness": {"invariant", "detail"},
}

func (e *Entry) has(key string) bool {
	switch key {
	case "scope":
		return e.Scope != ""
	case "outcome":
		return e.Outcome != ""
	case "session":
		return e.Session != ""
	case "lists":
		return e.Lists != nil
	case "server":
		return e.Server != ""
	case "conn":
		return e.Conn != 0
	case "config":
		return len(e.Config) > 0
	case "questions":
		return e.Questions != nil
	case "why":
		return e.Why != ""
	case "call":
		return e.Call != ""
	case "path":
		return e.Path != ""
	case "notice":
		return e.Notice != nil
	case "state":
		return e.State != ""
	case "approve":
		return e.Approve != nil
	case "key":
		return e.Key != ""
	case "entry":
		return len(e.Entry) > 0
	case "name":
		return e.Name != ""
	case "on":
		return e.On != nil
	case "launch":
		return len(e.Launch) > 0
	case "fault":
		return e.Fault != ""
	case "invariant":
		return e.Invariant != ""
	case "detail":
		return e.Detail != ""
	}
	panic("eventlog: no key " + key)
}

// check refuses what the model would not understand.
func (e *Entry) check() error {
	what, n := "", 0
	for _, k := range [...]struct {
		is   bool
		what string
	}{{e.Input != "", "> " + e.Input}, {e.Event != "", e.Event}, {e.Passed, "passed"}, {e.Expect, "expect"}, {e.Snapshot != nil || e.Settled != nil, "snapshot"}} {
		if k.is {
			what = k.what
			n++
		}
	}
	if n != 1 {
		return errors.New(`a line holds exactly one of "event", "input", "settled" with "snapshot", and "passed"`)
	}
	for _, key := range needs[what] {
		if !e.has(key) {
			return fmt.Errorf("%s needs the key %q", strings.TrimPrefix(what, "> "), key)
		}
	}
	oneOf := func(s string, words ...string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return fmt.Errorf("%s: expected one of %s, this is %q", strings.TrimPrefix(what, "> "), strings.Join(words, ", "), s)
	}
	classes := []string{"refused", "exit", "timeout", "protocol", "closed", "stuck", "publish"}
	switch what {
	case "load":
		return oneOf(e.Outcome, "ok", "kept", "missing")
	case "notify":
		for _, how := range e.Changes {
			if err := oneOf(how, "created", "modified", "deleted"); err != nil {
				return err
			}
		}
	case "pass_end":
		return oneOf(e.Outcome, "ok", "failed")
	case "decided":
		return oneOf(e.Outcome, "approved", "rejected")
	case "dial_failed":
		return oneOf(e.Outcome, classes...)
	case "closing", "closed":
		return oneOf(e.Outcome, append(classes, "")...)
	case "call_end":
		if e.Outcome != "ok" && !strings.HasPrefix(e.Outcome, "refused:") && !strings.HasPrefix(e.Outcome, "error:") {
			return fmt.Errorf("call_end: expected ok, refused:… or error:…, this is %q", e.Outcome)
		}
	case "dial":
		if len(e.Sessions) == 0 && e.Session == "" {
			return errors.New(`dial needs the key "sessions": for whom it is`)
		}
	case "> call":
		if e.Key == "" && (e.Server == "" || e.Tool == "") {
			return errors.New(`call needs "server" and "tool", or "key", the name that a model knows the tool by`)
		}
	case "> list_changed", "> crash":
		if e.Key == "" && e.Server == "" {
			return fmt.Errorf(`%s needs the key "key", or "server"`, e.Input)
		}
	case "> witness":
		for _, inv := range model.Invariants {
			if inv.ID == e.Invariant {
				return nil
			}
		}
		return fmt.Errorf("witness: there is no invariant %q; `mcpsim rules` lists them", e.Invariant)
	}
	return nil
}
