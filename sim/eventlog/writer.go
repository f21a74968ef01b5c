package eventlog

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"mcpsim/model"
	"mcpsim/sim/trace"
)

// Writer writes a log, masked. It is a sim.Sink. The first error stays and is returned by Flush.
type Writer struct {
	w   *bufio.Writer
	m   *masker
	buf []byte
	err error
}

// NewWriter writes the header. Of h only title, why, rules and real are taken: what is there at the start comes as inputs. l is
// the launch of the first process, with its environment, and t the table that the inputs and events number configs by. In
// about a missing list of events means all of them, a missing list of what is shown everything.
func NewWriter(w io.Writer, h *trace.Header, l *model.Launch, t *model.Table, about About) *Writer {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return &Writer{w: bufio.NewWriter(w), m: newMasker(key, t), err: err}
	}
	return newWriter(w, h, l, t, about, key)
}

func newWriter(w io.Writer, h *trace.Header, l *model.Launch, t *model.Table, about About, key []byte) *Writer {
	k := &Writer{w: bufio.NewWriterSize(w, 1<<16), m: newMasker(key, t)}
	masked := k.m.launch(l)
	about.Version = 1
	if about.Events == nil {
		all := strings.Split(eventList(), ", ")
		about.Events = &all
	}
	if about.Shows == nil {
		about.Shows = &Shows
	}
	about.Mask = k.m.fresh
	k.m.fresh = nil
	out := trace.Header{Title: h.Title, Why: h.Why, Rules: h.Rules, Real: h.Real, Launch: TraceLaunch(masked)}
	text, err := json.Marshal(about, asWritten)
	if err != nil {
		k.err = err
		return k
	}
	rest := strings.TrimPrefix(string(out.Append(nil)), `{"mcpsim":1`)
	k.write([]byte(`{"mcpsim":1,"log":` + string(text) + rest + "\n"))
	return k
}

func (k *Writer) write(b []byte) {
	if k.err == nil {
		_, k.err = k.w.Write(b)
	}
}

// put writes a line, and the scripts of command lines that are new with it: before it, but after a restart, which
// defines anew what they expand to.
func (k *Writer) put(e *Entry) {
	restart := e.Input == "restart"
	if restart {
		k.line(e)
	}
	for _, in := range k.m.spoken() {
		x := FromInput(e.T, &in, k.m.masked)
		k.line(&x)
	}
	if !restart {
		k.line(e)
	}
}

func (k *Writer) line(e *Entry) {
	e.Mask, k.m.fresh = k.m.fresh, nil
	b, err := e.Append(k.buf[:0])
	if err != nil && k.err == nil {
		k.err = err
		return
	}
	k.buf = b
	k.write(b)
}

// Input writes what the world did.
func (k *Writer) Input(at model.Ms, in model.Input) {
	if InputName(in.Kind) == "" && k.err == nil {
		k.err = fmt.Errorf("eventlog: no name for the input %d", in.Kind)
		return
	}
	for _, x := range k.m.input(&in) {
		e := FromInput(at, &x, k.m.masked)
		k.put(&e)
	}
}

// Event writes what the host did.
func (k *Writer) Event(at model.Ms, ev *model.Event) {
	e := Entry{Line: FromEvent(at, k.m.event(ev), k.m.masked)}
	k.put(&e)
}

// Settled writes what the host shows when nothing is in flight; a nil snapshot says that it did not settle.
func (k *Writer) Settled(at model.Ms, s *model.Snapshot) {
	ok := s != nil
	e := Entry{Line: Line{T: at}, Settled: &ok}
	if ok {
		x := FromSnapshot(k.m.snapshot(s), k.m.masked)
		e.Snapshot = &x
	}
	k.put(&e)
}

// Passed writes that everything up to and including this moment has been written.
func (k *Writer) Passed(at model.Ms) {
	e := Entry{Line: Line{T: at}, Passed: true}
	k.put(&e)
}

// Flush writes what is buffered and returns the first error.
func (k *Writer) Flush() error {
	if err := k.w.Flush(); k.err == nil {
		k.err = err
	}
	return k.err
}
