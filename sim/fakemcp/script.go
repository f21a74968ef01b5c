package fakemcp

import (
	"encoding/json"
	"slices"
	"strconv"

	"mcpsim/model"
)

// script is a behaviour under its key, with what it answers to a list prepared.
type script struct {
	key   string
	b     *model.Behaviour
	lists [3][]json.RawMessage // tools, prompts, resources; by page
}

// pageSize is how many names a server gives at once.
const pageSize = 50

func (s *script) refuses() bool { return s.fails(model.StepStart) == model.Refuse }

func (s *script) hangs(at model.Step) bool { return s.fails(at) == model.Hang }

// fails is what the server does instead of answering a step.
func (s *script) fails(at model.Step) model.Fault {
	if s.b.FaultAt == at {
		return s.b.Fault
	}
	return model.NoFault
}

func (s *script) hasTool(name string) bool { return slices.Contains(s.b.Tools, name) }

// list is one page of a list, prepared once; ok is false beyond the last.
func (s *script) list(k listKind, page int) (answer json.RawMessage, ok bool) {
	if s.lists[k] == nil {
		s.lists[k] = prepare(k, [...][]string{s.b.Tools, s.b.Prompts, s.b.Resources}[k])
	}
	if page >= len(s.lists[k]) {
		return nil, false
	}
	return s.lists[k][page], true
}

type listKind uint8

const (
	toolList listKind = iota
	promptList
	resourceList
)

func prepare(k listKind, names []string) (out []json.RawMessage) {
	for page := 1; ; page++ {
		n := min(len(names), pageSize)
		b := append([]byte(`{"`), [...]string{"tools", "prompts", "resources"}[k]...)
		b = append(b, `":[`...)
		for i, name := range names[:n] {
			if i > 0 {
				b = append(b, ',')
			}
			b = item(b, k, name)
		}
		b = append(b, ']')
		if names = names[n:]; len(names) > 0 {
			b = append(b, `,"nextCursor":"`...)
			b = strconv.AppendInt(b, int64(page), 10)
			b = append(b, '"')
		}
		out = append(out, append(b, '}'))
		if len(names) == 0 {
			return out
		}
	}
}

func item(b []byte, k listKind, name string) []byte {
	quoted, err := json.Marshal(name)
	if err != nil {
		panic("fakemcp: a string does not marshal: " + err.Error())
	}
	b = append(append(b, `{"name":`...), quoted...)
	switch k {
	case toolList:
		b = append(b, `,"inputSchema":{"type":"object"}`...)
	case resourceList:
		b = append(append(b, `,"uri":`...), quoted...)
	}
	return append(b, '}')
}
