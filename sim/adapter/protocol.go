// Package adapter drives a host in another process, in any language: one long-lived child, one JSON object a line on its
// standard input and output, stderr free. Every message carries the number of the request it answers, errors too.
//
//	→ {"seq":1,"op":"hello","protocol":1}
//	← {"seq":1,"protocol":1,"name":"my host","language":"ts","version":"1.2","caps":["pool","sessions","events","virtual_time"]}
//	→ {"seq":2,"op":"reset","header":{"mcpsim":1,…}}
//	← {"seq":2,"now_ms":0}
//	→ {"seq":3,"op":"step","now_ms":0,"step":{"do":"edit",…}}
//	← {"seq":3,"now_ms":0}
//	→ {"seq":4,"op":"observe"}
//	← {"seq":4,"now_ms":300,"events":[…],"snapshot":{…}}
//	→ {"seq":5,"op":"run","header":{…},"steps":[…]}
//	← {"seq":5,"runs":[{"now_ms":…,"events":[…],"snapshot":{…}},…]}   one for the reset and one per step
//	→ {"seq":6,"op":"bye"}
//	← {"seq":6}
//
// A failed request is answered {"seq":n,"error":"what was wrong and what to do"}. The child holds both the world that the trace
// describes and its host: steps that change files or servers are its as well. A child that declares virtual_time advances
// its clock only by advance and settle; one that does not gets real time.
//
// A child gets headers and steps as traces have them, with {{url:KEY}} where a scripted server's address stands. It reports
// configs with that placeholder, or with the address that the simulated world has for the key (http://KEY.test). An expect
// or note step changes nothing and is answered like any other. A request that cannot be read is answered with seq 0.
//
// # What is judged, and what is not
//
// A model.Machine judges a host event by event, and for that it must hear what the world did to the host: which file
// events reached it, what each read got, which process a dial began, what the host itself wrote to the approvals file, which
// questions a decision answered. In process the world tells; behind the pipe the child holds the world, and a second world
// on this side without a host in it sees no reads, dials or writes. So the events of a child are read and checked for
// form, but guards on single events are not held against it. Judge instead plays each trace here with our own host
// under the full model, and holds against the child what that came to: the model's expectation at every settle, and
// every expect step of the trace. Where the outcome depends on what meets in one instant, or on time that a child without
// virtual_time lets pass, a difference may be this side's and not the child's.
package adapter

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/sim"
	"mcpsim/sim/eventlog"
)

// Protocol is the version spoken.
const Protocol = 1

// Request is what the driver writes.
type Request struct {
	Seq      int              `json:"seq"`
	Op       string           `json:"op"`
	Protocol int              `json:"protocol,omitzero"`
	NowMs    *int64           `json:"now_ms,omitempty"`
	Header   jsontext.Value   `json:"header,omitempty"`
	Step     jsontext.Value   `json:"step,omitempty"`
	Steps    []jsontext.Value `json:"steps,omitempty"`
}

// Reply is what the child answers.
type Reply struct {
	Seq      int      `json:"seq"`
	Error    string   `json:"error,omitzero"`
	Protocol int      `json:"protocol,omitzero"`
	Name     string   `json:"name,omitzero"`
	Language string   `json:"language,omitzero"`
	Version  string   `json:"version,omitzero"`
	Caps     []string `json:"caps,omitempty"`
	Moment
	Runs []Moment `json:"runs,omitempty"`
}

// Moment is what can be seen at one time: the events since the last, and everything the host shows.
type Moment struct {
	NowMs    *int64             `json:"now_ms,omitempty"`
	Events   []eventlog.Line    `json:"events,omitempty"`
	Snapshot *eventlog.Snapshot `json:"snapshot,omitempty"`
	Settled  *bool              `json:"settled,omitempty"` // after a settle step: false if the host did not settle within its budget
}

// asWritten keeps what traces may hold: duplicate keys and lone surrogates.
var asWritten = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), json.Deterministic(true))

// capNames is the closed list of capabilities (design, "Other implementations").
var capNames = []struct {
	name string
	of   func(*sim.Caps) *bool
}{
	{"pool", func(c *sim.Caps) *bool { return &c.Pool }},
	{"sessions", func(c *sim.Caps) *bool { return &c.Sessions }},
	{"runtime", func(c *sim.Caps) *bool { return &c.Runtime }},
	{"extensions", func(c *sim.Caps) *bool { return &c.Extensions }},
	{"calls", func(c *sim.Caps) *bool { return &c.Calls }},
	{"list_changed", func(c *sim.Caps) *bool { return &c.ListChanged }},
	{"events", func(c *sim.Caps) *bool { return &c.Events }},
	{"virtual_time", func(c *sim.Caps) *bool { return &c.VirtualTime }},
	{"real_servers", func(c *sim.Caps) *bool { return &c.RealServers }},
	{"trust", func(c *sim.Caps) *bool { return &c.Trust }},
}
