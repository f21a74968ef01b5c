package realserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// Behaviour is how a server acts, in the words of a trace. The zero value is a server without tools that answers at once.
type Behaviour struct {
	Tools      []string         `json:"tools,omitempty"`
	Prompts    []string         `json:"prompts,omitempty"`
	Resources  []string         `json:"resources,omitempty"`
	Delay      map[string]Delay `json:"delay,omitempty"` // by step: start, init, tools, prompts, resources, call, end
	Fault      string           `json:"fault,omitempty"` // refuse, exit, garbage, hang
	At         string           `json:"at,omitempty"`    // the step of the fault
	IgnoreTerm bool             `json:"ignore_term,omitempty"`
	Unkillable bool             `json:"unkillable,omitempty"` // no process is; it ignores what can be ignored
	Grandchild bool             `json:"grandchild,omitempty"`
	Linger     int64            `json:"linger,omitempty"` // ms

	// Era is the protocol it speaks beside the initialize handshake: "modern" answers server/discover too (2026-07-28).
	// Traces do not have it.
	Era string `json:"era,omitempty"`
}

// Delay is how long a step takes, in ms. It is written as a number, or as {"ms":…,"hold":"request"|"answer"}.
type Delay struct {
	Ms   int64
	Hold string
}

// MarshalJSON writes the shorter form where it says everything.
func (d Delay) MarshalJSON() ([]byte, error) {
	if d.Hold == "" {
		return json.Marshal(d.Ms)
	}
	return json.Marshal(struct {
		Ms   int64  `json:"ms"`
		Hold string `json:"hold"`
	}{d.Ms, d.Hold})
}

// UnmarshalJSON reads both forms.
func (d *Delay) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return json.Unmarshal(b, &d.Ms)
	}
	var x struct {
		Ms   int64  `json:"ms"`
		Hold string `json:"hold"`
	}
	if err := strict(b, &x); err != nil {
		return err
	}
	if x.Hold != "" && x.Hold != "request" && x.Hold != "answer" {
		return fmt.Errorf("hold: expected request or answer, got %q", x.Hold)
	}
	d.Ms, d.Hold = x.Ms, x.Hold
	return nil
}

var steps = map[string]bool{"start": true, "init": true, "tools": true, "prompts": true, "resources": true, "call": true, "end": true}

// ParseBehaviour reads a behaviour; what it does not know is an error.
func ParseBehaviour(text []byte) (*Behaviour, error) {
	var b Behaviour
	if err := strict(text, &b); err != nil {
		return nil, fmt.Errorf("behaviour: %w", err)
	}
	for s := range b.Delay {
		if !steps[s] {
			return nil, fmt.Errorf("behaviour: delay has no step %q", s)
		}
	}
	if b.At != "" && !steps[b.At] {
		return nil, fmt.Errorf("behaviour: there is no step %q", b.At)
	}
	switch b.Fault {
	case "", "refuse", "exit", "garbage", "hang":
	default:
		return nil, fmt.Errorf("behaviour: there is no fault %q", b.Fault)
	}
	switch b.Era {
	case "", "legacy", "modern":
	default:
		return nil, fmt.Errorf("behaviour: there is no era %q", b.Era)
	}
	return &b, nil
}

func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// faultAt is the fault at a step, or "".
func (b *Behaviour) faultAt(step string) string {
	at := b.At
	if at == "" {
		at = "init"
		if b.Fault == "refuse" {
			at = "start"
		}
	}
	if at != step {
		return ""
	}
	return b.Fault
}

func (b *Behaviour) delay(step string) time.Duration {
	return time.Duration(b.Delay[step].Ms) * time.Millisecond
}
