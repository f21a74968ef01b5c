package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// The steps that concern the host: sessions, answers, calls, launch, faults.

func (b *builder) advance(st *trace.Step) { st.Ms = b.instant() }

func (b *builder) inSession(st *trace.Step) { st.Session = b.session() }

// answer answers for a name, mostly one that some gated file has.
func (b *builder) answer(st *trace.Step) {
	st.Session = b.session()
	st.Server = b.names[b.gated()]
	if chance(b.s, 15) {
		st.Server = "nope"
	}
}

// gated draws a name that the project or the workspace file has, if there is one.
func (b *builder) gated() int {
	i := b.name()
	for n := range b.names {
		j := (i + n) % len(b.names)
		if b.docs[model.Project].now.At("mcpServers", b.names[j]) != nil || b.docs[model.Workspace].now.At("mcpServers", b.names[j]) != nil {
			return j
		}
	}
	return i
}

// elsewhere is another process's decision, mostly about what is in a file now.
func (b *builder) elsewhere(st *trace.Step) {
	i := b.gated()
	st.Server, st.Config = b.names[i], b.config(i)
	for _, f := range [...]model.Scope{model.Workspace, model.Project} {
		if e := b.docs[f].now.At("mcpServers", b.names[i]); e != nil && e.Kind == model.Object && chance(b.s, 700) {
			st.Config = e
		}
	}
	st.Status = "approved"
	if chance(b.s, 400) {
		st.Status = "rejected"
	}
}

func (b *builder) call(st *trace.Step) {
	b.calls++
	st.ID = callIDs[min(b.calls, len(callIDs))-1]
	st.Session = b.session()
	name := b.names[b.name()]
	if chance(b.s, 100) {
		name = oneOf(b.s, otherServers)
	}
	tool := callTools[b.s.Pick(callToolWeights)]
	if chance(b.s, 120) {
		st.ModelName = modelName(name, tool)
		return
	}
	st.Server, st.Tool = name, tool
}

var (
	callTools       = []string{"x", "y", "z", "nope"}
	callToolWeights = []uint16{8, 4, 2, 1}
	otherServers    = []string{"own", "nope", "ext"}
	callIDs         = func() (ids []string) {
		for i := 1; i <= 99; i++ {
			ids = append(ids, "c"+string(rune('0'+i/10))+string(rune('0'+i%10)))
		}
		return
	}()
)

// modelName is VIEW-3 without its cut.
func modelName(server, tool string) string {
	out := []byte("mcp__")
	for _, r := range server + "\x00" + tool {
		switch {
		case r == 0:
			out = append(out, '_', '_')
		case r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			out = append(out, byte(r))
		default:
			out = append(out, '_')
		}
	}
	return string(out)
}

func (b *builder) runtimeAdd(st *trace.Step) {
	st.Session = b.session()
	i := b.name()
	st.Server, st.Config = b.names[i], b.config(i)
	switch b.s.Pick(ownWeights) {
	case 1:
		st.Server = "own"
	case 2:
		st.Server = "own"
		if b.has(fSDK) {
			st.Config = inProcess
		}
	}
	if b.may(fMalformed, 100) {
		st.Config = oneOf(b.s, malformedObjects)
	}
}

var malformedObjects = []*model.Value{model.Obj(), model.Obj(mem("args", ones)), model.Obj(mem("command", model.Num(7)))}

func (b *builder) runtimeRemove(st *trace.Step) {
	st.Session = b.session()
	st.Server = "own"
	if chance(b.s, 500) {
		st.Server = b.names[b.name()]
	}
}

func (b *builder) extension(st *trace.Step) {
	st.Name = "ext"
	if chance(b.s, 200) {
		st.Name = "ext-2"
	}
	if chance(b.s, 700) {
		st.Servers = b.someServers()
	}
}

// open opens a session, with servers of its own now and then; two sessions' own servers often differ under one name.
func (b *builder) open(st *trace.Step) {
	st.Session = oneOf(b.s, b.all)
	for n := 0; n < len(b.all) && contains(b.live, st.Session); n++ {
		st.Session = b.all[n]
	}
	if chance(b.s, 350) {
		st.Servers = b.someServers()
	}
}

func (b *builder) trust(st *trace.Step) { st.Trusted = chance(b.s, 600) }

// restart ends the process; what launch fixed may change, and what was not synced may be lost.
func (b *builder) restart(st *trace.Step) {
	if chance(b.s, 500) {
		l := &trace.Launch{}
		switch b.s.Pick(relaunchWeights) {
		case 0:
			l.Env = oneOf(b.s, envs)
		case 1:
			l.HasAllowed, l.Allowed = true, b.list()
		case 2:
			l.NoAllowed = true
		case 3:
			l.Approvals = oneOf(b.s, approvalModes)
		case 4:
			l.Mode = oneOf(b.s, launchModes)
		case 5:
			t := chance(b.s, 500)
			l.Trusted = &t
		case 6:
			l.McpConfig = b.someServers()
		}
		st.Launch = l
	}
	if chance(b.s, 300) {
		st.Unsynced = "lost"
	}
}

var (
	relaunchWeights = []uint16{3, 3, 2, 2, 1, 1, 2}
	approvalModes   = []string{"ask", "off"}
	launchModes     = []string{"single", "pool"}
)

// fault arms a fault.
func (b *builder) fault(st *trace.Step) {
	st.Times = 1
	switch b.s.Pick(faultWeights) {
	case 0:
		st.Kind, st.Times = "pass", 1+b.s.Below(3)
	case 1:
		st.Kind, st.Times = "publish", 1+b.s.Below(2)
	case 2:
		st.Kind = "listener"
		if chance(b.s, 600) {
			st.Ms = oneOf(b.s, listenerTimes)
		}
	case 3:
		st.Kind, st.File, st.Times = "watch", b.watched(), 1+b.s.Below(3)
	case 4:
		st.Kind = "overflow"
	case 5:
		st.Kind, st.File = "enospc", "approvals"
	case 6:
		st.Kind, st.File = "eio", "approvals"
		if chance(b.s, 400) {
			st.File = b.watched()
		}
	case 7:
		st.Kind, st.File, st.Ms = "lock", "approvals", oneOf(b.s, lockTimes)
	}
}

func (b *builder) watched() string { return model.Scope(b.s.Pick(watchedWeights)).String() }

var (
	faultWeights  = []uint16{4, 3, 3, 2, 2, 2, 2, 3}
	listenerTimes = []model.Ms{30001, 600, 29999, 30000, 40000}
	lockTimes     = []model.Ms{1000, 4999, 5000, 5001, 10000}
)
