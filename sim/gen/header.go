package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// header draws the launch, the servers and what is there at the start.
func (b *builder) header() {
	h := &b.tr.Header
	h.Title = "drawn, profile " + b.p.String()
	h.Order = uint64(b.s.Below(1000))
	n := b.s.Pick(b.p.sessions) + 1
	b.all = allSessions[:min(n+b.p.spare, len(allSessions))]
	b.spare = b.all[n:]
	b.live = append(b.live, b.all[:n]...)
	b.launch(&h.Launch, n)
	for i, key := range b.keys {
		h.Servers = append(h.Servers, trace.ServerBehaviour{Key: key, Behaviour: b.behaviour(i)})
	}
	if chance(b.s, 100) { // a longer prefix of the command line wins
		h.Servers = append(h.Servers, trace.ServerBehaviour{Key: b.keys[0] + " 1", Behaviour: b.behaviour(0)})
	}
	if b.has(fSDK) {
		h.Servers = append(h.Servers, trace.ServerBehaviour{Key: "sdk:", Behaviour: model.Behaviour{Tools: []string{"k"}}})
	}
	missing := -1
	if b.has(fDirs) {
		missing = b.s.Below(2)
		h.Dirs = []string{[]string{"workspace", "user"}[missing]}
	}
	b.files(missing)
	if b.has(fRecords) {
		b.records()
	}
	if b.has(fArmed) {
		st := trace.Step{Do: trace.Fault}
		b.fault(&st)
		h.Faults = []trace.Step{st}
	}
}

func (b *builder) launch(l *trace.Launch, sessions int) {
	if chance(b.s, b.p.pool) {
		l.Mode = "pool"
	}
	if sessions > 1 {
		l.Sessions = b.all[:sessions:sessions]
	}
	if b.has(fFlag) {
		l.HasAllowed, l.Allowed = true, b.listBy(flagWeights)
	}
	if b.has(fMcpConfig) {
		l.McpConfig = b.someServers()
	}
	if b.has(fVariables) {
		b.env = true
		l.Env = envs[b.s.Below(len(envs))]
	}
	if b.has(fLaunch) {
		b.unusual(l)
	}
}

// unusual draws one or two launch options that are seldom used.
func (b *builder) unusual(l *trace.Launch) {
	yes, no := true, false
	for i := b.s.Below(2); i >= 0; i-- {
		switch b.s.Pick(unusualWeights) {
		case 0:
			l.Approvals = "off"
		case 1:
			l.Cwd = "link"
		case 2:
			l.Cwd = "home"
		case 3:
			l.Trusted = &no
		case 4:
			l.Initialized = &no
			if b.weights[cInitialize] > 0 {
				b.weights[cInitialize] *= 6
			}
		case 5:
			l.Bare = &yes
		}
	}
}

var unusualWeights = []uint16{4, 3, 3, 3, 4, 1}

var envs = []*model.Value{
	model.Obj(mem("X", model.Str("1")), mem("CMD", model.Str("srv-a")), mem("EMPTY", model.Str(""))),
	model.Obj(mem("X", model.Str("$Y")), mem("Y", model.Str("y")), mem("CMD", model.Str("srv-b"))),
	model.Obj(mem("X", model.Str("")), mem("TOKEN", model.Str("secret-1"))),
}

// files draws which files are there at the start, and a few that are bad.
func (b *builder) files(missing int) {
	for _, f := range startFiles {
		odds := b.p.filesFirst
		if f == model.System || f == model.Defaults {
			odds = 400
			if !b.has(fSystem) {
				continue
			}
		}
		if missing == 0 && f == model.Workspace || missing == 1 && f == model.User || !chance(b.s, odds) {
			continue
		}
		st := trace.Step{Do: trace.Write, File: f.String()}
		if b.may(fBroken, 150) {
			b.broken(&st)
		} else {
			st.JSON = b.document(f)
			if b.may(fFormats, 300) {
				b.format(&st)
			}
		}
		b.docs[f].now = st.JSON
		b.tr.Header.Files = append(b.tr.Header.Files, trace.FileAtStart{File: st.File, Write: st})
	}
}

var startFiles = []model.Scope{model.User, model.Project, model.Workspace, model.System, model.Defaults}

func (b *builder) records() {
	h := &b.tr.Header
	if chance(b.s, 60) {
		h.CorruptRecords = true
		return
	}
	for i := range b.names {
		switch b.s.Pick(recordWeights) {
		case 1:
			h.Records = append(h.Records, trace.Record{Server: b.names[i], Config: b.config(i), Status: "approved"})
		case 2:
			h.Records = append(h.Records, trace.Record{Server: b.names[i], Config: b.config(i), Status: "rejected"})
		}
	}
}

var recordWeights = []uint16{3, 5, 2}
