package gen

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// A motif is a short run of steps that leads to a state which single steps seldom reach. Other steps may come between its own.
const (
	mStale    = firstMotif + iota // an answer to what has changed since it was shown
	mStorm                        // saves that come faster than the debounce
	mDrain                        // a session that closes and comes back around the end of the drain
	mLate                         // a dial that is overtaken by an edit
	mRevert                       // an edit and its undoing
	mRetry                        // a pass that fails, and a change behind it
	mLost                         // a lost connection, and what brings it back
	mAgain                        // a server that is taken out and comes back the same
	mDeny                         // one layer denies all, another allows all
	mDistrust                     // trust withdrawn and given back
	mRevoke                       // a revocation from elsewhere
	mLocked                       // a decision that must wait for the lock, or cannot be written
	mUnsynced                     // a crash right after a decision
	mMoveIn                       // a directory that goes and comes back
	mLists                        // lists that change while they are asked for
	mFleeting                     // a session that closes while its servers are dialled
	mTwin                         // one name with two configs, in two sessions
	mStuck                        // a process that does not end, and its successor
	mAcross                       // a call that a pass overtakes
	mPolled                       // a file that cannot be read for a while
	mMixed                        // restart keys and hot keys in one save
	mPieces                       // a save in pieces around the debounce
	mEcho                         // the same content again, in another form
	mCrowd                        // one slow and one stuck server among many
	endOfMotifs
)

const numMotifs = int(endOfMotifs - firstMotif)

var motifs = [numMotifs]struct {
	name  string
	begin func(*builder)
}{
	{"stale", (*builder).stale}, {"storm", (*builder).storm}, {"drain", (*builder).drain}, {"late", (*builder).late},
	{"revert", (*builder).revert}, {"retry", (*builder).retry}, {"lost", (*builder).lost}, {"again", (*builder).again},
	{"deny", (*builder).deny}, {"distrust", (*builder).distrust}, {"revoke", (*builder).revoke}, {"locked", (*builder).locked},
	{"unsynced", (*builder).unsynced}, {"move-in", (*builder).moveIn}, {"lists", (*builder).changingLists}, {"fleeting", (*builder).fleeting},
	{"twin", (*builder).twin}, {"stuck", (*builder).stuck}, {"across", (*builder).across}, {"polled", (*builder).polled},
	{"mixed", (*builder).mixed}, {"pieces", (*builder).pieces}, {"echo", (*builder).echo}, {"crowd", (*builder).crowd},
}

func (b *builder) then(steps ...trace.Step) { b.queue = append(b.queue, steps...) }

func wait(ms model.Ms) trace.Step { return trace.Step{Do: trace.Advance, Ms: ms} }

var settle = trace.Step{Do: trace.Settle}

// put is an edit that sets one server of a file; a nil entry takes it out.
func put(f model.Scope, name string, e *model.Value) trace.Step {
	if e == nil {
		e = model.NullValue()
	}
	return trace.Step{Do: trace.Edit, File: f.String(), Servers: model.Obj(mem(name, e))}
}

func (b *builder) near() model.Ms { return oneOf(b.s, nearDebounce) }

var nearDebounce = []model.Ms{300, 301, 299, 600}

// gatedFile is the project or the workspace file.
func (b *builder) gatedFile() model.Scope {
	if chance(b.s, 300) {
		return model.Workspace
	}
	return model.Project
}

// anyFile is a watched file.
func (b *builder) anyFile() model.Scope { return model.Scope(b.s.Pick(watchedWeights)) }

func (b *builder) stale() {
	i, f, s := b.name(), b.gatedFile(), b.session()
	p, name := b.palettes[i], b.names[i]
	b.then(put(f, name, p[0]), settle, trace.Step{Do: trace.Look, Session: s})
	switch b.s.Below(3) {
	case 0:
		b.then(put(f, name, p[1]))
	case 1:
		b.then(put(f, name, nil))
	case 2:
		b.then(put(f, name, p[1]), wait(b.near()), put(f, name, p[0]))
	}
	if chance(b.s, 700) {
		b.then(wait(b.near()))
	}
	answer := trace.Step{Do: trace.Approve, Session: s, Server: name}
	if chance(b.s, 250) {
		answer.Do = trace.Reject
	} else if chance(b.s, 200) {
		answer = trace.Step{Do: trace.ApproveAll, Session: s}
	}
	b.then(answer, settle)
}

func (b *builder) storm() {
	i, f := b.name(), b.anyFile()
	gap := oneOf(b.s, stormGaps)
	for n := 3 + b.s.Below(9); n > 0; n-- {
		b.then(put(f, b.names[i], b.palettes[i][n%3]), wait(gap))
	}
	b.then(settle)
}

var stormGaps = []model.Ms{299, 299, 300, 100, 1}

func (b *builder) drain() {
	s := b.session()
	b.then(trace.Step{Do: trace.Close, Session: s}, wait(oneOf(b.s, drainInstants)))
	if chance(b.s, 200) {
		i := b.name()
		b.then(put(model.User, b.names[i], b.palettes[i][1]))
	}
	b.then(trace.Step{Do: trace.Open, Session: s})
	if chance(b.s, 600) {
		b.then(wait(oneOf(b.s, drainInstants)))
	}
	b.then(settle)
}

func (b *builder) late() {
	i, f := b.name(), b.anyFile()
	v := b.behaviour(i)
	step := model.StepStart + model.Step(b.s.Below(4))
	v.Delays[step] = model.Delay{Ms: 600, Hold: model.Hold(b.s.Below(2))}
	v.Fault = model.NoFault
	v.FaultAt = 0
	b.then(trace.Step{Do: trace.Server, Server: b.key(i), Behaviour: &v},
		put(f, b.names[i], b.palettes[i][0]), wait(b.near()), put(f, b.names[i], b.orNil(b.palettes[i][1], 350)), wait(b.near()), settle)
}

func (b *builder) orNil(v *model.Value, permille int) *model.Value {
	if chance(b.s, permille) {
		return nil
	}
	return v
}

func (b *builder) revert() {
	i, f := b.name(), b.anyFile()
	before := b.docs[f].now.At("mcpServers", b.names[i])
	b.then(put(f, b.names[i], oneOf(b.s, b.palettes[i])), wait(b.near()), put(f, b.names[i], before), wait(b.near()), settle)
}

func (b *builder) retry() {
	i, j := b.name(), b.name()
	b.then(trace.Step{Do: trace.Fault, Kind: "pass", Times: 1 + b.s.Below(3)}, put(model.User, b.names[i], b.palettes[i][1]), wait(b.near()))
	if chance(b.s, 500) {
		b.then(put(model.User, b.names[j], b.orNil(b.palettes[j][0], 300)), wait(oneOf(b.s, retryTimes)))
	}
	b.then(settle)
}

var retryTimes = []model.Ms{300, 1000, 999, 1001, 2000}

func (b *builder) lost() {
	i := b.name()
	b.then(trace.Step{Do: trace.Crash, Server: b.key(i)})
	if chance(b.s, 500) {
		b.then(wait(b.instant()))
	}
	switch b.s.Below(3) {
	case 0:
		b.then(trace.Step{Do: trace.Reload, Session: b.session()})
	case 1:
		j := b.name()
		b.then(put(model.User, b.names[j], b.palettes[j][1]))
	}
	b.then(settle)
}

func (b *builder) again() {
	i, f := b.name(), b.anyFile()
	e := b.palettes[i][b.s.Pick(paletteWeights)]
	b.then(put(f, b.names[i], e), settle, put(f, b.names[i], nil), wait(b.near()))
	if chance(b.s, 500) {
		b.then(settle)
	}
	b.then(put(f, b.names[i], e), settle)
}

func (b *builder) deny() {
	list := func(f model.Scope, v *model.Value) trace.Step {
		return trace.Step{Do: trace.Edit, File: f.String(), Mcp: model.Obj(mem("allowed", v))}
	}
	b.then(list(model.User, model.Strs()), settle, list(model.Workspace, model.Strs("*")), settle)
	if chance(b.s, 600) {
		b.then(list(model.User, b.orNull(model.Strs(b.list()...), 400)), settle)
	}
}

func (b *builder) distrust() {
	i, f := b.name(), b.anyFile()
	b.then(trace.Step{Do: trace.Trust}, wait(b.instant()))
	if chance(b.s, 600) {
		b.then(put(f, b.names[i], b.orNil(b.palettes[i][1], 300)), wait(b.near()))
	}
	b.then(trace.Step{Do: trace.Trust, Trusted: true}, settle)
}

func (b *builder) revoke() {
	i, f := b.name(), b.gatedFile()
	e := b.palettes[i][0]
	decide := func(status string) trace.Step {
		return trace.Step{Do: trace.DecideElsewhere, Server: b.names[i], Config: e, Status: status}
	}
	b.then(put(f, b.names[i], e), decide("approved"), settle, decide("rejected"), wait(b.near()))
	if chance(b.s, 500) {
		b.calls++
		b.then(trace.Step{Do: trace.Call, ID: callIDs[min(b.calls, len(callIDs))-1], Session: b.session(), Server: b.names[i], Tool: "x"})
	}
	b.then(settle)
}

func (b *builder) locked() {
	i, f, s := b.name(), b.gatedFile(), b.session()
	ft := trace.Step{Do: trace.Fault, Kind: "lock", File: "approvals", Times: 1, Ms: oneOf(b.s, lockTimes)}
	if chance(b.s, 300) {
		ft.Kind, ft.Ms = oneOf(b.s, writeFaults), 0
	}
	b.then(put(f, b.names[i], b.palettes[i][0]), settle, ft, trace.Step{Do: trace.Approve, Session: s, Server: b.names[i]}, wait(oneOf(b.s, lockTimes)))
	if chance(b.s, 400) {
		b.then(put(f, b.names[i], b.palettes[i][1]))
	}
	b.then(settle)
}

var writeFaults = []string{"enospc", "eio"}

func (b *builder) unsynced() {
	i, f, s := b.name(), b.gatedFile(), b.session()
	b.then(put(f, b.names[i], b.palettes[i][0]), settle, trace.Step{Do: trace.Approve, Session: s, Server: b.names[i]},
		wait(oneOf(b.s, []model.Ms{0, 1, 300})), trace.Step{Do: trace.Restart, Unsynced: "lost"}, settle)
}

func (b *builder) moveIn() {
	f := oneOf(b.s, dirFiles)
	scope := model.User
	if f == "workspace" {
		scope = model.Workspace
	}
	i := b.name()
	b.then(trace.Step{Do: trace.Rmdir, File: f}, wait(b.instant()))
	if chance(b.s, 600) {
		b.then(trace.Step{Do: trace.Mkdir, File: f})
	}
	b.then(trace.Step{Do: trace.Write, File: f, JSON: model.Obj(mem("mcpServers", model.Obj(mem(b.names[i], b.palettes[i][0]))))}, wait(b.near()))
	if chance(b.s, 500) {
		b.then(put(scope, b.names[i], b.palettes[i][1]))
	}
	b.then(settle)
}

func (b *builder) changingLists() {
	i := b.name()
	for n := 1 + b.s.Below(3); n > 0; n-- {
		v := b.behaviour(i)
		b.then(trace.Step{Do: trace.Server, Server: b.key(i), Behaviour: &v, ListChanged: true})
		if chance(b.s, 500) {
			b.then(wait(oneOf(b.s, nearZero)))
		}
	}
	b.then(settle)
}

var nearZero = []model.Ms{0, 1, 100, 300}

func (b *builder) fleeting() {
	s := oneOf(b.s, b.all)
	b.then(trace.Step{Do: trace.Open, Session: s}, wait(oneOf(b.s, nearZero)), trace.Step{Do: trace.Close, Session: s})
	if chance(b.s, 400) {
		b.then(wait(oneOf(b.s, nearZero)), trace.Step{Do: trace.Open, Session: s})
	}
	b.then(settle)
}

func (b *builder) twin() {
	i := b.name()
	s, t := oneOf(b.s, b.all), oneOf(b.s, b.all)
	own := b.palettes[i][1]
	if chance(b.s, 400) { // POOL-6: one connection, seen through two sessions' filters
		own = withMember(b.palettes[i][0], "includeTools", oneOf(b.s, toolFilters))
	}
	b.then(put(model.User, b.names[i], b.palettes[i][0]), trace.Step{Do: trace.Close, Session: s},
		trace.Step{Do: trace.Open, Session: s, Servers: model.Obj(mem(b.names[i], own))},
		trace.Step{Do: trace.RuntimeAdd, Session: t, Server: b.names[i], Config: b.palettes[i][b.s.Below(3)]}, settle)
	if chance(b.s, 500) {
		b.then(trace.Step{Do: trace.RuntimeRemove, Session: t, Server: b.names[i]}, settle)
	}
}

func (b *builder) stuck() {
	i, f := b.name(), b.anyFile()
	v := model.Behaviour{Tools: toolLists[1]}
	b.stubborn(&v)
	b.then(trace.Step{Do: trace.Server, Server: b.key(i), Behaviour: &v}, put(f, b.names[i], b.palettes[i][0]), settle,
		put(f, b.names[i], b.orNil(b.palettes[i][1], 400)), wait(oneOf(b.s, endTimes)), put(f, b.names[i], b.palettes[i][0]), wait(b.near()), settle)
}

var endTimes = []model.Ms{300, 800, 801, 2800, 3800, 3801, 5000}

func (b *builder) across() {
	i, j, s := b.name(), b.name(), b.session()
	v := b.behaviour(i)
	v.Fault, v.FaultAt = model.NoFault, 0
	v.Delays[model.StepCall] = model.Delay{Ms: oneOf(b.s, callTimes), Hold: model.Hold(b.s.Below(2))}
	b.calls++
	b.then(trace.Step{Do: trace.Server, Server: b.key(i), Behaviour: &v},
		trace.Step{Do: trace.Call, ID: callIDs[min(b.calls, len(callIDs))-1], Session: s, Server: b.names[i], Tool: "x"})
	switch b.s.Below(4) {
	case 0:
		b.then(put(model.User, b.names[j], b.palettes[j][1]))
	case 1:
		b.then(put(model.User, b.names[i], b.vary(b.palettes[i][0])))
	case 2:
		b.then(trace.Step{Do: trace.Close, Session: s})
	case 3:
		b.then(trace.Step{Do: trace.Crash, Server: b.key(i)})
	}
	b.then(wait(b.near()), settle)
}

var callTimes = []model.Ms{600, 300, 2000, 30000}

func (b *builder) polled() {
	f, i := b.anyFile(), b.name()
	none, all := uint32(0), uint32(0o644)
	b.then(trace.Step{Do: trace.Chmod, File: f.String(), Mode: &none}, wait(oneOf(b.s, pollTimes)),
		trace.Step{Do: trace.Chmod, File: f.String(), Mode: &all}, put(f, b.names[i], b.palettes[i][1]), wait(oneOf(b.s, pollTimes)), settle)
}

var pollTimes = []model.Ms{2000, 1999, 2001, 300, 600}

func (b *builder) mixed() {
	i, f := b.name(), model.User
	if chance(b.s, 400) {
		f = model.Workspace
	}
	st := put(f, b.names[i], b.orNil(b.palettes[i][1], 200))
	st.Other = model.Obj(mem(oneOf(b.s, restartOther), oneOf(b.s, restartValues)))
	if chance(b.s, 300) {
		st.Mcp = model.NullValue() // D-13: a whole block goes
	}
	b.then(st, settle, trace.Step{Do: trace.Edit, File: f.String(), Other: model.Obj(mem(st.Other.Members[0].Key, model.NullValue()))}, settle)
}

func (b *builder) pieces() {
	f := b.anyFile()
	b.then(trace.Step{Do: trace.Write, File: f.String(), JSON: b.document(f), How: "chunks", Parts: 2 + b.s.Below(3), GapMs: oneOf(b.s, gaps)}, settle)
}

func (b *builder) echo() {
	f := b.anyFile()
	doc := b.document(f)
	st := trace.Step{Do: trace.Write, File: f.String(), JSON: doc, How: "atomic"}
	same := st
	b.format(&same)
	b.then(st, settle, same, settle)
}

func (b *builder) crowd() {
	slow, stuck := b.behaviour(0), model.Behaviour{Tools: toolLists[1], Unkillable: true}
	slow.Fault, slow.FaultAt = model.NoFault, 0
	slow.Delays[model.StepInit] = model.Delay{Ms: oneOf(b.s, slowTimes)}
	stuck.Delays[model.StepEnd].Ms = oneOf(b.s, stuckEnds)
	last := len(b.keys) - 1
	b.then(trace.Step{Do: trace.Server, Server: b.keys[0], Behaviour: &slow}, trace.Step{Do: trace.Server, Server: b.keys[last], Behaviour: &stuck})
	for variant := 0; variant < 2; variant++ {
		all := make([]model.Member, 0, len(b.names))
		for i := range b.names {
			all = append(all, mem(b.names[i], b.palettes[i][variant]))
		}
		b.then(trace.Step{Do: trace.Edit, File: "user", Servers: model.Obj(all...)}, wait(b.near()), wait(oneOf(b.s, endTimes)))
	}
	b.then(settle)
}

var slowTimes = []model.Ms{30001, 2000, 29999, 30000, 5000}
