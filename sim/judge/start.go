package judge

import (
	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// lay tells the model what a header says of the start. A log may say the same by inputs at 0 instead.
func (j *Judge) lay(h *trace.Header) {
	tell := func(in model.Input) { _ = j.m.Input(0, &in) }
	for i := range h.Servers {
		s := &h.Servers[i]
		tell(model.Input{Kind: model.InServer, Key: s.Key, URL: sim.Resolve(s.Key), Behaviour: &s.Behaviour})
	}
	docs := map[string]*model.Value{}
	for i := range h.Files {
		f := &h.Files[i]
		s := f.Write
		if s.Name != "" {
			continue
		}
		if s.Do == "" {
			s.Do = trace.Write
		}
		c := model.Content{State: model.Unreadable}
		if s.Kind == "" && !s.Locked() {
			c = trace.Denote(trace.FileText(&s, docs[f.File]))
		}
		docs[f.File] = c.Value
		for sc := model.Defaults; sc < model.Approvals; sc++ {
			if sc.String() == f.File {
				tell(model.Input{Kind: model.InFile, Scope: sc, Content: c})
			}
		}
	}
	switch {
	case h.CorruptRecords:
		tell(model.Input{Kind: model.InRecords, Content: model.Content{State: model.Unparsable}, Records: map[string]model.Record{}, On: true})
	case len(h.Records) > 0:
		in := model.Input{Kind: model.InRecords, Content: model.Content{State: model.Good}, Records: map[string]model.Record{}, On: true}
		for _, r := range h.Records {
			if cfg, _ := j.r.Table.Entry(r.Server, r.Config, true); cfg != nil {
				in.Records[r.Server] = model.Record{Config: cfg.ID, Approved: r.Status == "approved"}
			}
		}
		tell(in)
	}
	for _, f := range h.Faults {
		tell(model.Input{Kind: model.InFault, FaultKind: model.FaultKind(f.Kind), Times: f.Times, Ms: f.Ms})
	}
}
