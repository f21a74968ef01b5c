package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"

	"mcpsim/impl/approval"
	"mcpsim/model"
	"mcpsim/sim/eventlog"
	"mcpsim/sim/real"
	"mcpsim/sim/trace"
)

// logSink writes the event log.
type logSink struct {
	*eventlog.Writer
	w      *liveWorld
	f      *os.File
	out    *redirect
	hashes []string // of records whose config no source held when they were read
}

// redirect is a writer that can be turned to another.
type redirect struct{ io.Writer }

func newLogSink(w *liveWorld, path string, l *model.Launch) (*logSink, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	slack, woken := real.Slack, false
	about := eventlog.About{Host: "mcpsim live", SlackMs: &slack, Woken: &woken}
	out := &redirect{f}
	return &logSink{Writer: eventlog.NewWriter(out, &trace.Header{Title: "recorded by mcpsim live"}, l, w.t, about), w: w, f: f, out: out}, nil
}

// Input notes the records that are only a hash yet.
func (k *logSink) Input(at model.Ms, in model.Input) {
	for _, r := range in.Records {
		if c := k.w.t.ByID(r.Config); c != nil {
			if h := c.Raw.Get("unknown hash"); h != nil {
				k.hashes = append(k.hashes, h.Text)
			}
		}
	}
	k.Writer.Input(at, in)
}

// Settled writes what has happened out, with what is shown now.
func (k *logSink) Settled(at model.Ms, snap *model.Snapshot) {
	k.Passed(at)
	k.Writer.Settled(at, snap)
	_ = k.Writer.Flush() // its first error stays
}

// Flush ends the log.
func (k *logSink) Flush() error {
	k.Passed(k.w.at)
	return errors.Join(k.Writer.Flush(), k.name(), k.f.Close())
}

// name puts configs in place of the hashes that a source turned out to hold the config of: a record of an earlier run is
// of that config from the start.
func (k *logSink) name() error {
	var swap [][2][]byte
	for i, h := range k.hashes {
		name := strconv.Itoa(i)
		text := approval.Encode([]approval.RecordLine{{Root: k.w.root(), Server: name, Hash: h, Approved: true}})
		_, records := k.w.records(fileSeen{fileReadable, string(text), true})
		if !known(k.w.t.ByID(records[name].Config)) {
			continue
		}
		unknown := k.w.t.Intern(model.Obj(model.Member{Key: "unknown hash", Value: model.Str(h)}))
		from, to := k.written(unknown), k.written(records[name].Config)
		if from != nil && to != nil {
			swap = append(swap, [2][]byte{from, to})
		}
	}
	if len(swap) == 0 {
		return nil
	}
	data, err := os.ReadFile(k.f.Name())
	if err != nil {
		return err
	}
	for _, s := range swap {
		data = bytes.ReplaceAll(data, s[0], s[1])
	}
	return os.WriteFile(k.f.Name(), data, 0o600)
}

// written is how the log writes a config.
func (k *logSink) written(id model.ConfigID) []byte {
	var b bytes.Buffer
	k.out.Writer = &b
	defer func() { k.out.Writer = k.f }()
	k.Writer.Input(k.w.at, model.Input{Kind: model.InRecords, Content: model.Content{State: model.Good}, Records: map[string]model.Record{"x": {Config: id}}})
	if k.Writer.Flush() != nil {
		return nil
	}
	for _, line := range bytes.Split(b.Bytes(), []byte("\n")) {
		var x struct {
			Input   string
			Records []struct{ Config json.RawMessage }
		}
		if json.Unmarshal(line, &x) == nil && x.Input == "records" && len(x.Records) == 1 {
			return x.Records[0].Config
		}
	}
	return nil
}
