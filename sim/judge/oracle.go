package judge

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
	"mcpsim/sim/eventlog"
)

// Answer is what the oracle says to one line.
type Answer struct {
	Line   int           `json:"line"`
	Error  string        `json:"error,omitzero"` // the line was not understood and counts as not written
	Found  []JSONFinding `json:"found,omitempty"`
	Due    *model.Ms     `json:"due,omitempty"` // the next moment at which silence is a finding; absent: none, or events are not written
	Expect *Expectation  `json:"expect,omitempty"`
}

// Expectation is a snapshot of what must be seen. A state may be several, joined by "|": any of them is right, and what such
// a server lists is open.
type Expectation struct {
	eventlog.Snapshot
	Optional []string `json:"optional,omitempty"`  // kinds of notice that may stand or not
	HintOpen []string `json:"hint_open,omitempty"` // sessions whose hint may be shown though it is not expected
}

func expectation(x *model.Expectation, t *model.Table) *Expectation {
	out := &Expectation{Snapshot: eventlog.FromSnapshot(&x.Snapshot, t)}
	for _, n := range x.Optional {
		out.Optional = append(out.Optional, n.Kind)
	}
	for i := range x.Sessions {
		if x.Sessions[i].HintOpen {
			out.HintOpen = append(out.HintOpen, string(x.Sessions[i].ID))
		}
	}
	return out
}

// ErrNotUnderstood says that some line was answered with an error.
var ErrNotUnderstood = errors.New("some lines were not understood; the answers say which")

// Oracle answers each line of a log, as it comes, with one line: what it breaks, what is due, and what must be seen if that is
// asked. It ends with its input. found reports whether anything was broken.
func Oracle(in io.Reader, out io.Writer) (found bool, err error) {
	r := bufio.NewReaderSize(in, 1<<16)
	o := &oracle{}
	var broken bool
	for {
		line, rerr := r.ReadBytes('\n')
		if rerr != nil && !errors.Is(rerr, io.EOF) {
			return found, rerr
		}
		if len(bytes.TrimSpace(line)) > 0 || o.j == nil {
			a := o.answer(bytes.TrimSuffix(line, []byte("\n")))
			text, err := json.Marshal(a, asWritten)
			if err != nil {
				return found, err
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return found, err
			}
			found = found || len(a.Found) > 0
			broken = broken || a.Error != ""
			if o.j == nil {
				return found, ErrNotUnderstood // without a header nothing can be said
			}
		}
		if rerr != nil {
			break
		}
	}
	if broken {
		err = ErrNotUnderstood
	}
	return found, err
}

var asWritten = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsontext.PreserveRawStrings(true), json.Deterministic(true))

type oracle struct {
	j    *Judge
	seen int // findings that were answered
}

func (o *oracle) answer(line []byte) (a Answer) {
	if o.j == nil {
		a.Line = 1
		j, err := New("stdin", line, Options{})
		if err != nil {
			a.Error = err.Error()
			return a
		}
		j.r.Asked = true
		o.j = j
		return o.due(a)
	}
	it, err := o.j.line(line)
	a.Line = o.j.r.Number()
	if err != nil {
		a.Error = err.Error()
		return o.due(a)
	}
	switch {
	case it.Settled != nil && *it.Settled:
		a.Expect = expectation(o.j.want, o.j.r.Table)
	case it.Expect:
		o.j.found(observed, o.j.m.Observe(it.T, &model.Event{}))
		a.Expect = expectation(o.j.m.Expected(), o.j.r.Table)
	}
	for ; o.seen < len(o.j.report.Findings); o.seen++ {
		a.Found = append(a.Found, jsonFinding(&o.j.report.Findings[o.seen]))
	}
	return o.due(a)
}

func (o *oracle) due(a Answer) Answer {
	if at, ok := o.j.m.Due(); ok && len(o.j.lacks) == 0 {
		a.Due = &at
	}
	return a
}
