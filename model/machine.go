package model

import "sort"

// Machine judges one run of a host. It is told what the world did (Input) and what the host did (Observe), and asked
// what it holds against silence (Due, Advance) and what must be true once nothing is in flight (Settled). It predicts no
// order of events: it knows what is loaded, decided and connected, and each event is held against that.
//
// The loaded content is taken from the moment of the host's own loads, because which of two writes a read sees is no
// business of the specification; that a load comes, and when, is (the debounce window, window.go).
type Machine struct {
	t      *Table
	launch *Launch
	opt    Options
	now    Ms
	first  Ms // when this process began (restart moves it)

	mem    *Memory
	eff    *Effective // nil: to be derived again
	effSeq int

	visible   [NumScopes]Content  // what a read gives now
	read      [NumScopes]*Content // what the host's last read got; its load follows
	onDisk    map[string]Record   // the approvals file now
	diskState ContentState
	kept      map[string]Record // what the approvals file must hold: the last decision elsewhere and ours since
	keptBad   bool              // a trace broke the file: nothing is demanded of it until the next decision
	records   ContentState      // as loaded
	setAside  bool              // some corrupt file was kept: later the same one may be met again (APR-8)
	watches   []string          // directories the host watches
	deaf      []string          // sources in whose name it stands that a watch cannot be established
	starts    bool              // the world tells what began
	updates   bool              // the host shows updates (REC-10)

	win      window
	notify   []ScopeChange // loaded, differs, not yet announced
	notifyAt Ms

	sessions []*session
	conns    map[ConnID]*conn
	open     []*conn  // not closed, by number
	gone     []ConnID // closed and still known, oldest first
	dials    map[string]int

	servers        []server // behaviours, by key
	faults         map[FaultKind]int
	faultAny       map[FaultKind]bool
	decisions      []*decision
	cutOff         []*decision // answers that the process before did not live to report
	calls          []*call
	callByID       map[string]*call
	extra          []Notice // standing notices that no document explains: decision, watch, listener, stuck
	launchProblems []Problem
	extProblems    map[string][]Problem // by extension

	initialized bool
	down        bool
	started     bool
	pass        int
	settledNow  bool // Expected is asked for a settled state

	out []Violation
	// Checks counts how often each guard was evaluated with all it needs, Skipped how often an event lacked it.
	Checks  map[string]int
	Skipped map[string]int
	goals   map[string]int
}

// Options tune a Machine to how exactly its observer sees time.
type Options struct {
	Slack Ms   // how late a reaction may be; 0 in virtual time
	Loose bool // wakes are not told by the world: only the host's own count
}

// NewMachine returns a machine for one run. The table's launch is the run's.
func NewMachine(t *Table, opt Options) *Machine {
	m := &Machine{t: t, opt: opt, conns: map[ConnID]*conn{}, dials: map[string]int{}, faults: map[FaultKind]int{},
		faultAny: map[FaultKind]bool{}, callByID: map[string]*call{}, Checks: map[string]int{}, Skipped: map[string]int{},
		goals: map[string]int{}, extProblems: map[string][]Problem{}, onDisk: map[string]Record{}, kept: map[string]Record{}}
	m.boot(t.launch)
	return m
}

// boot begins a process: everything that lives in one is forgotten, what lives on disk stays.
func (m *Machine) boot(l *Launch) {
	var ext []Extension
	if m.mem != nil {
		ext = m.mem.Extensions
	}
	m.launch = l
	m.first = m.now
	m.mem = &Memory{Launch: l, Trusted: l.Trusted, Records: map[string]Record{}, Extensions: ext}
	if l.McpConfig != nil {
		m.mem.LaunchServers, m.launchProblems = m.t.Servers(l.McpConfig, true)
	} else {
		m.launchProblems = nil
	}
	m.eff = nil
	m.win = window{}
	m.notify = m.notify[:0]
	m.cutOff = append(m.cutOff, m.decisions...)
	m.sessions, m.extra, m.decisions = nil, nil, nil
	m.open, m.gone = nil, nil
	m.conns, m.watches, m.deaf = map[ConnID]*conn{}, nil, nil
	m.initialized = !l.Uninitialized
	m.down, m.started = false, false
	m.read = [NumScopes]*Content{}
	for _, id := range l.Sessions {
		m.openSession(id, nil)
	}
}

// Goals returns how often each interesting state was reached ("sometimes" properties).
func (m *Machine) Goals() map[string]int { return m.goals }

// Stuck reports whether some process would not end: then a host may be right never to be settled, because each end asks
// for a pass and each pass begins what will not end either (REC-13).
func (m *Machine) Stuck() bool { return m.goals["a process that will not end"] > 0 }

func (m *Machine) reach(goal string) { m.goals[goal]++ }

// effective derives the maps and verdicts again if anything they rest on changed.
func (m *Machine) effective() *Effective {
	if m.eff == nil {
		m.eff = Derive(m.mem)
		m.effSeq++
	}
	return m.eff
}

// changed is called after every change of Memory: what follows from it at once is noted (removed names, queues).
func (m *Machine) changed() {
	if m.launch.Bare {
		m.reach("bare launch")
	}
	m.eff = nil
	e := m.effective()
	for _, s := range m.sessions {
		m.noteRemoved(s, e.Names(s.id))
		s.askDirty = true
	}
}

// noteRemoved keeps the names that a session saw go (ADM-7). Both lists are sorted.
func (m *Machine) noteRemoved(s *session, names []string) {
	if sameStrings(s.names, names) {
		return
	}
	i := 0
	for _, old := range s.names {
		for i < len(names) && names[i] < old {
			i++
		}
		if (i == len(names) || names[i] != old) && m.mem.Trusted && !s.wasUntrusted {
			if s.st.Removed == nil {
				s.st.Removed = map[string]bool{}
			}
			s.st.Removed[old] = true
		}
	}
	for _, n := range names {
		if s.st.Removed[n] {
			delete(s.st.Removed, n)
		}
	}
	s.names = names
}

// session is one open session.
type session struct {
	id           SessionID
	st           *SessionState
	names        []string
	wasUntrusted bool
	problems     []Problem // of its own and its runtime servers
	runtimeBad   map[string][]Problem

	// The gate and passes.
	appliedOK  bool
	applied    string // SettingsMap at the last pass whose comparing part succeeded
	lists      Lists
	trusted    bool
	pushed     *Lists // the lists event that no pass has used yet
	owed       bool   // a pass must begin, because …
	owedAt     Ms
	owedWhy    string
	credit     int // passes that something asked for and that have not begun
	inPass     int
	comparing  bool
	retryAt    Ms // 0: none
	retryStep  Ms
	failedLast bool
	refused    bool // a publication was refused since the last pass began: it will be retried (CFG-4)
	lists0     bool // some pass has succeeded
	passedAt   Ms
	passJudged bool

	// Questions.
	askDirty bool
	queue    []Question
	askOwed  bool
	askAt    Ms

	askAfterPass bool // what is owed was asked before: a pass has ended and left it

	untold     string // what observers have not been told of yet (REC-10)
	untoldAt   Ms
	untoldName string // the server it is about; "": a pass

	reg       map[string]*registered
	purgedNow []purge
	last      map[string]*conn // the last attempt this session held, by server
}

// registered is what one server has in a session's registry.
type registered struct {
	conn                      *conn
	tools, prompts, resources []string
	trust                     bool
	cfg                       *Config
	at                        Ms
}

func (m *Machine) session(id SessionID) *session {
	for _, s := range m.sessions {
		if s.id == id {
			return s
		}
	}
	return nil
}

func (m *Machine) openSession(id SessionID, servers *Value) {
	if m.session(id) != nil {
		return
	}
	s := &session{id: id, st: &SessionState{ID: id}, passJudged: true, reg: map[string]*registered{}, last: map[string]*conn{}}
	s.st.Own, s.problems = m.t.Servers(servers, true)
	i := sort.Search(len(m.sessions), func(i int) bool { return m.sessions[i].id >= id })
	m.sessions = append(m.sessions, nil)
	copy(m.sessions[i+1:], m.sessions[i:])
	m.sessions[i] = s
	m.mem.Sessions = nil
	for _, x := range m.sessions {
		m.mem.Sessions = append(m.mem.Sessions, x.st)
	}
	m.owe(s, "the session opened")
	m.changed()
}

func (m *Machine) closeSession(id SessionID) {
	for i, s := range m.sessions {
		if s.id == id {
			m.sessions = append(m.sessions[:i:i], m.sessions[i+1:]...)
			m.mem.Sessions = nil
			for _, x := range m.sessions {
				m.mem.Sessions = append(m.mem.Sessions, x.st)
			}
			for _, c := range m.open {
				if c.holds(id) && c.phase == dialling {
					m.reach("session closed during its acquisition")
				}
			}
			m.eff = nil
			return
		}
	}
}

// owe notes that a pass of s must begin now (CFG-3, GATE-1, D-4).
func (m *Machine) owe(s *session, why string) {
	s.credit++
	if !s.owed && m.initialized {
		s.owed, s.owedAt, s.owedWhy = true, m.now, why
	}
}

func (m *Machine) oweAll(why string) {
	for _, s := range m.sessions {
		m.owe(s, why)
	}
}

// Input tells what the world did at a moment. An error means that the trace is malformed, not that the host is wrong.
func (m *Machine) Input(at Ms, in *Input) error {
	if at > m.now {
		m.silence(at)
	}
	m.now = at
	switch in.Kind {
	case InFile:
		m.visible[in.Scope] = in.Content
		m.win.fileAt = at
	case InRead:
		c := in.Content
		m.read[in.Scope] = &c
	case InRecords:
		m.onDisk, m.diskState = in.Records, in.Content.State
		m.visible[Approvals] = in.Content
		if in.On { // by another process: this is what must be kept from now on (INV-12)
			m.kept, m.keptBad = copyRecords(in.Records), in.Content.State != Good && in.Content.State != Missing
		}
	case InWake:
		m.win.fileAt = at
		switch {
		case len(m.deaf) > 0: // some directory is not watched but polled (WAT-9): the event may be one of those the host cannot get
			m.win.hostWake(at)
			m.win.last = at // and if it gets it, the window is longer
			m.win.unsure, m.win.served = true, 0
		case m.watched(in.Scope):
			m.win.wake(in.Scope, at)
		}
	case InStarted:
		m.startedProcess(in)
	case InDecide:
		m.inDecide(in)
	case InReload:
		if s := m.session(in.Session); s != nil {
			m.owe(s, "/reload")
		}
		m.win.reload = true
	case InServer:
		m.setServer(in)
	case InListChanged:
		m.listChanged(in)
	case InCrash:
		m.crash(in)
	case InCall:
		m.inCall(in)
	case InRuntimeAdd, InRuntimeRemove:
		m.runtime(in)
	case InExtension:
		m.extension(in)
	case InOpen:
		if !m.down {
			m.openSession(in.Session, in.Servers)
		}
	case InClose:
		m.closeSession(in.Session)
		m.endCalls(func(c *call) bool { return c.session == in.Session }, "error:session_closed")
	case InTrust:
		if m.mem.Trusted != in.On {
			m.trust(in.On)
		}
	case InInitialize:
		if !m.initialized {
			m.initialized = true
			m.oweAll("initialisation")
		}
	case InRestart:
		for _, k := range m.calls { // its process is gone: nobody is left to say so
			if k.outcome == "" {
				k.outcome = "error:session_closed"
			}
		}
		m.boot(in.Launch)
	case InShutdown:
		m.down = true
		m.sessions, m.mem.Sessions = nil, nil
		m.eff = nil
		m.endCalls(func(*call) bool { return true }, "error:session_closed")
	case InWitness:
		m.checked(in.Key)
		m.fail(in.Key, in.Session, in.Server, 0, in.Detail)
	case InFault:
		if in.FaultKind == "overflow" && len(m.watches) > 0 {
			m.reach("an overflow")
		}
		m.faults[in.FaultKind] += max(in.Times, 1)
		m.faultAny[in.FaultKind] = true
	}
	return nil
}

func (m *Machine) trust(on bool) {
	m.mem.Trusted = on
	for _, s := range m.sessions {
		s.wasUntrusted = true // what goes with trust was not removed (ADM-7)
	}
	m.win.trust = true
	if !on {
		m.mem.Files[Project], m.mem.Files[Workspace] = nil, nil
		m.win.forget(Project)
		m.win.forget(Workspace)
	}
	m.changed()
	for _, s := range m.sessions {
		s.wasUntrusted = false
	}
	m.oweAll("a change of trust")
}

func (m *Machine) runtime(in *Input) {
	s := m.session(in.Session)
	if s == nil {
		return
	}
	list := make([]NamedConfig, 0, len(s.st.Runtime)+1)
	for _, nc := range s.st.Runtime {
		if nc.Name != in.Server {
			list = append(list, nc)
		}
	}
	if s.runtimeBad == nil {
		s.runtimeBad = map[string][]Problem{}
	}
	delete(s.runtimeBad, in.Server)
	if in.Kind == InRuntimeAdd {
		cfg, probs := m.t.Entry(in.Server, in.Entry, true)
		if cfg != nil {
			list = append(list, NamedConfig{in.Server, cfg})
		}
		if len(probs) > 0 {
			s.runtimeBad[in.Server] = probs
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	s.st.Runtime = list
	m.owe(s, "a runtime server changed")
	m.changed()
}

func (m *Machine) extension(in *Input) {
	var list []Extension
	delete(m.extProblems, in.Server)
	for _, x := range m.mem.Extensions {
		if x.Name != in.Server {
			list = append(list, x)
		}
	}
	if in.Servers != nil && in.Servers.Kind != Null {
		servers, probs := m.t.Servers(in.Servers, true)
		list = append(list, Extension{in.Server, servers})
		m.extProblems[in.Server] = probs
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	m.mem.Extensions = list
	m.oweAll("the extensions changed")
	m.changed()
}

func sameStrings(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func copyRecords(r map[string]Record) map[string]Record {
	out := make(map[string]Record, len(r))
	for k, v := range r {
		out[k] = v
	}
	return out
}

// cut shortens the machine's memory of violations and hands them out.
func (m *Machine) take() []Violation {
	out := m.out
	m.out = nil
	return out
}
