package gen

import (
	"fmt"
	"strings"
)

// Profile says what is drawn, and how often. The zero value is the default profile; ParseProfile gives the others.
type Profile struct {
	Name     string
	Doc      string
	MinSteps int // steps of a trace, its last settle apart; motifs and the swarm do not change that
	MaxSteps int

	weights     weights
	features    features // in how many of 1,000 traces it is on
	sessions    []uint16 // weight of 1, 2, … sessions at the start
	names       []uint16 // weight of 1, 2, … server names
	pool        int      // in how many of 1,000 traces the mode is pool
	settleAtEnd int      // of 1,000
	spare       int      // sessions that may be opened besides those of the launch
	filesFirst  int      // of 1,000, for the user, workspace and project file each: it is there at the start
	steady      bool     // no swarm: every trace draws with the profile's weights
	core        []choice // the swarm never switches these off
}

// String returns the profile's name.
func (p Profile) String() string {
	if p.Name == "" {
		return profiles[0].Name
	}
	return p.Name
}

// Profiles lists the names that ParseProfile takes.
func Profiles() []string {
	names := make([]string, len(profiles))
	for i := range profiles {
		names[i] = profiles[i].Name
	}
	return names
}

// ParseProfile finds a profile by name; the empty name is the default one.
func ParseProfile(name string) (Profile, error) {
	for i := range profiles {
		if profiles[i].Name == name || name == "" {
			return profiles[i], nil
		}
	}
	return Profile{}, fmt.Errorf("there is no profile %q; the profiles are %s", name, strings.Join(Profiles(), ", "))
}

// feature is something a trace can have; the swarm switches each on or off per trace.
type feature uint8

// The features.
const (
	fRemote    feature = iota // servers reached by URL
	fOddNames                 // names such as __proto__, a::b, a/b
	fSDK                      // in-process servers at launch and with sessions
	fFields                   // entries with more fields than a transport
	fVariables                // variables in entries
	fMalformed                // malformed entries, wrong types, duplicates
	fFormats                  // comments, BOM, CRLF, key order
	fBroken                   // files that cannot be read or parsed
	fHow                      // every way to save a file
	fSiblings                 // files beside the watched ones
	fSystem                   // system files, which /reload alone reads
	fLists                    // allowed and excluded
	fFlag                     // the launch flag
	fRestart                  // restart keys
	fDelays                   // servers that take their time
	fHold                     // answers that arrive after a close
	fFaulty                   // servers that fail
	fStubborn                 // processes that do not end, helpers, connections that linger
	fLimits                   // instants at the limits, ± 1
	fLaunch                   // bare, untrusted, approvals off, not initialised, link, home
	fMcpConfig                // servers given at launch
	fRecords                  // records at start
	fDirs                     // directories missing at start
	fMoves                    // directories made and removed
	fArmed                    // faults armed at start
	numFeatures
)

// base is the mixture that the other profiles change.
var base = weights{
	cAdvance: 130, cSettle: 90, cEdit: 190, cWrite: 70, cRemove: 16, cMkdir: 9, cRmdir: 9, cChmod: 9, cTouch: 7,
	cLook: 28, cApprove: 34, cReject: 14, cApproveAll: 9, cElsewhere: 14, cReload: 22, cCall: 30, cServer: 24, cCrash: 14,
	cRuntimeAdd: 14, cRuntimeRemove: 8, cExtension: 11, cOpen: 18, cClose: 16, cTrust: 9, cInitialize: 5, cRestart: 9,
	cShutdown: 16, cFault: 18,

	mStale: 6, mStorm: 3, mDrain: 4, mLate: 5, mRevert: 5, mRetry: 5, mLost: 4, mAgain: 5, mDeny: 3, mDistrust: 3,
	mRevoke: 4, mLocked: 3, mUnsynced: 2, mMoveIn: 3, mLists: 4, mFleeting: 4, mTwin: 4, mStuck: 4, mAcross: 4, mPolled: 3,
	mMixed: 3, mPieces: 3, mEcho: 3, mCrowd: 3,
}

var everything = features{
	fRemote: 400, fOddNames: 250, fSDK: 150, fFields: 500, fVariables: 250, fMalformed: 250, fFormats: 300, fBroken: 300,
	fHow: 400, fSiblings: 150, fSystem: 250, fLists: 500, fFlag: 250, fRestart: 250, fDelays: 650, fHold: 400,
	fFaulty: 400, fStubborn: 250, fLimits: 350, fLaunch: 200, fMcpConfig: 200, fRecords: 350, fDirs: 150, fMoves: 300, fArmed: 80,
}

var profiles = []Profile{
	{Name: "default", Doc: "everything", MinSteps: 8, MaxSteps: 52, weights: base, features: everything,
		sessions: []uint16{4, 5, 1}, names: []uint16{0, 3, 4, 2, 1}, pool: 450, settleAtEnd: 900, spare: 2, filesFirst: 400},

	{Name: "quick", Doc: "short traces with few features, for first finds", MinSteps: 4, MaxSteps: 18,
		weights: base.times(0, cMkdir, cRmdir, cChmod, cTouch, cTrust, cInitialize, cRestart, cShutdown, cExtension, cFault, mMoveIn).
			motifs(2, mStale, mRevert, mAgain, mLate),
		features: features{fLists: 400, fFields: 200, fDelays: 500, fHold: 300, fFaulty: 200, fRecords: 200},
		sessions: []uint16{3, 2}, names: []uint16{0, 3, 1}, pool: 400, settleAtEnd: 950, spare: 1, filesFirst: 400},

	{Name: "files", Doc: "files, watching, bad input, layers", MinSteps: 8, MaxSteps: 50,
		weights: base.times(3, cWrite, cRemove, cMkdir, cRmdir, cChmod, cTouch).times(2, cReload, cRestart).
			times(0, cCall, cServer, cCrash, cRuntimeAdd, cRuntimeRemove, cOpen, cClose).
			motifs(0, mDrain, mLost, mLists, mFleeting, mTwin, mStuck, mAcross, mCrowd).motifs(4, mStorm, mMoveIn, mPolled, mMixed, mPieces, mEcho),
		features: with(everything, 700, fBroken, fFormats, fHow, fMalformed, fSystem, fMoves).but(fDirs, 400).but(fSiblings, 400).
			but(fRestart, 500).but(fVariables, 400).but(fDelays, 200).but(fFaulty, 100).but(fStubborn, 50),
		sessions: []uint16{4, 2}, names: []uint16{0, 3, 3, 1}, pool: 300, settleAtEnd: 900, spare: 1, filesFirst: 500, core: []choice{cWrite}},

	{Name: "approvals", Doc: "gated servers, questions, answers, records", MinSteps: 8, MaxSteps: 45,
		weights: base.times(4, cLook, cApprove, cReject, cApproveAll, cElsewhere).times(0, cServer, cCrash, cRuntimeAdd, cRuntimeRemove, cExtension, cMkdir, cRmdir).
			motifs(0, mDrain, mLists, mFleeting, mStuck, mMoveIn).motifs(5, mStale, mRevoke, mLocked, mUnsynced, mAgain, mEcho),
		features: with(everything, 600, fRecords).but(fLaunch, 250).but(fDelays, 400).but(fArmed, 200),
		sessions: []uint16{3, 4, 1}, names: []uint16{1, 3, 3, 1}, pool: 400, settleAtEnd: 900, spare: 1, filesFirst: 500,
		core: []choice{cApprove, cLook}},

	{Name: "reconcile", Doc: "dials, retiring, retries, lists, lost connections", MinSteps: 8, MaxSteps: 50,
		weights: base.times(2, cServer, cCrash, cRuntimeAdd, cRuntimeRemove, cExtension, cReload, cFault).times(0, cMkdir, cRmdir, cChmod, cTouch, mMoveIn).
			motifs(4, mLate, mRevert, mRetry, mLost, mAgain, mLists, mStuck, mAcross),
		features: with(everything, 800, fDelays, fFaulty, fHold).but(fStubborn, 500).but(fLimits, 500).but(fBroken, 50).
			but(fMalformed, 50).but(fFormats, 50).but(fMoves, 0).but(fDirs, 0),
		sessions: []uint16{4, 4, 1}, names: []uint16{0, 2, 4, 3, 2}, pool: 450, settleAtEnd: 900, spare: 1, filesFirst: 500},

	{Name: "calls", Doc: "calls that meet everything else", MinSteps: 8, MaxSteps: 45,
		weights: base.times(14, cCall).times(2, cServer, cCrash, cClose, cOpen).times(0, cMkdir, cRmdir, cChmod, cTouch, mMoveIn).
			motifs(10, mAcross).motifs(3, mLost, mLists, mDrain),
		features: with(everything, 850, fDelays).but(fHold, 600).but(fLimits, 500).but(fFields, 700).but(fBroken, 0).but(fMalformed, 0).
			but(fFormats, 0).but(fMoves, 0).but(fDirs, 0).but(fLaunch, 50),
		sessions: []uint16{3, 5, 1}, names: []uint16{0, 3, 3, 1}, pool: 450, settleAtEnd: 900, spare: 1, filesFirst: 800, core: []choice{cCall}},

	{Name: "pool", Doc: "many sessions that come and go, drains, shared connections", MinSteps: 10, MaxSteps: 55,
		weights: base.times(6, cOpen, cClose).times(3, cRuntimeAdd, cRuntimeRemove).times(2, cCrash, cServer).times(0, cMkdir, cRmdir, cChmod, cTouch, cWrite, mMoveIn).
			motifs(20, mDrain).motifs(8, mFleeting, mTwin, mCrowd).motifs(3, mStuck, mLate, mAgain),
		features: with(everything, 800, fDelays, fLimits).but(fStubborn, 500).but(fFaulty, 500).but(fFields, 600).but(fBroken, 0).
			but(fMalformed, 0).but(fFormats, 0).but(fMoves, 0).but(fDirs, 0).but(fLaunch, 100),
		sessions: []uint16{2, 4, 4, 2, 1}, names: []uint16{0, 2, 3, 3, 2}, pool: 1000, settleAtEnd: 900, spare: 4, filesFirst: 800,
		core: []choice{cOpen, cClose, mDrain}},

	{Name: "bench", Doc: "what the benchmarks draw: 30 steps, 2 sessions, no swarm", MinSteps: 29, MaxSteps: 30,
		weights: base.times(0, cMkdir, cRmdir, cChmod, cTouch, cTrust, cInitialize, cRestart, cShutdown, cFault, mMoveIn).
			motifs(0, mStorm, mDistrust, mUnsynced, mMoveIn, mPolled, mStuck, mLocked, mCrowd),
		features: features{fRemote: 250, fFields: 400, fLists: 300, fDelays: 800, fHold: 300, fFaulty: 200, fRecords: 500, fFormats: 300, fHow: 300},
		sessions: []uint16{0, 1}, names: []uint16{0, 0, 1, 1}, pool: 500, settleAtEnd: 1000, spare: 1, filesFirst: 800, steady: true},
}

// times multiplies the weights of some choices.
func (w weights) times(n uint16, cs ...choice) weights {
	for _, c := range cs {
		w[c] *= n
	}
	return w
}

// motifs is times, for motifs.
func (w weights) motifs(n uint16, ms ...choice) weights { return w.times(n, ms...) }

type features [numFeatures]uint16

// with sets some features to one frequency.
func with(f features, permille uint16, fs ...feature) features {
	for _, x := range fs {
		f[x] = permille
	}
	return f
}

func (f features) but(x feature, permille uint16) features { return with(f, permille, x) }
