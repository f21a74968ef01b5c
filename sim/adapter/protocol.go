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
package adapter

import (
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
	Settled *bool    `json:"settled,omitempty"` // after a settle step: false if the host did not settle within its budget
	Runs    []Moment `json:"runs,omitempty"`
}

// Moment is what can be seen at one time: the events since the last, and everything the host shows.
type Moment struct {
	NowMs    int64              `json:"now_ms"`
	Events   []eventlog.Line    `json:"events,omitempty"`
	Snapshot *eventlog.Snapshot `json:"snapshot,omitempty"`
	Settled  *bool              `json:"settled_run,omitempty"`
}

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
