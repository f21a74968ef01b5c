package impl

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"mcpsim/impl/admission"
	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/impl/settings"
)

// ErrDown is what requests get once Shutdown was called.
var ErrDown = errors.New("the host has shut down")

// ErrInitialised is returned by AddMcpServers after initialisation (CFG-1).
var ErrInitialised = errors.New("servers can be added to the launch configuration before initialisation only")

// Host owns the connections of one process. See the package comment for its rules of use.
type Host struct {
	o     Options
	p     Ports
	root  string
	cache *config.Cache
	src   *settings.Sources
	store *approval.Store

	flag       *admission.List // nil: not given
	launch     []*config.Entry // --mcp-config, sorted by name
	launchText []event.Notice  // what is wrong in it
	extensions []extension     // sorted by name
	trusted    bool            // SRC-12

	starting    bool
	started     bool // every source was read once
	initialized bool // CFG-2
	down        bool
	startCalls  []func() // what waits for started
	unsubscribe func()

	base           *base
	stale          bool // something other than a layer changed since base was built
	expanded       map[*config.Entry]*config.Expanded
	variablesNoted bool

	sessions []*session // open ones, sorted by id
	passes   int        // numbers passes
	slots    map[slotKey]*slot
	conns    []*conn // every connection that is not closed, and some that are, by number
	closed   int     // how many of conns are closed
	nextConn port.ConnID
	deciding int // answers that are being persisted
	board    board

	shutdownDone []func()
}

type extension struct {
	name    string
	entries []*config.Entry
}

// New makes a host that has read nothing yet. It fails if the root cannot be resolved (SRC-14) or --mcp-config is no
// JSON object; no host exists then.
func New(o Options, p Ports) (*Host, error) {
	root, err := resolveRoot(p.FS, o.Cwd)
	if err != nil {
		return nil, err
	}
	if o.Env == nil {
		o.Env = func(string) (string, bool) { return "", false }
	}
	if o.Cache == nil {
		o.Cache = config.NewCache()
	}
	h := &Host{o: o, p: p, root: root, cache: o.Cache, trusted: o.Trusted, initialized: o.Initialized,
		expanded: map[*config.Entry]*config.Expanded{}, slots: map[slotKey]*slot{},
		board: board{sets: map[string][]event.Notice{}, standing: map[noticeID]*standing{}}}
	if o.HasFlag {
		h.flag = admission.NewList(o.Flag)
	}
	if len(o.McpConfig) > 0 {
		entries, problems, err := h.cache.Entries(o.McpConfig)
		if err != nil {
			return nil, fmt.Errorf("--mcp-config: %w", err)
		}
		h.launch, h.launchText = entries, fromProblems("launch", "", problems)
	}
	paths := h.sourcePaths()
	h.src = settings.New(settings.Options{Paths: paths, Bare: o.Bare, Trusted: o.Trusted, Cache: h.cache, Emit: h.emit,
		OnNotice: h.onNotice, OnApprovals: h.onApprovals}, p.Clock, p.Exec, p.FS)
	h.store = approval.NewStore(approval.Options{Path: paths.Approvals, Root: root, Emit: h.emit, OnNotice: h.onNotice,
		LoadApprovals: h.src.LoadApprovals, ApprovalsWritten: h.src.ApprovalsWritten}, p.Clock, p.Exec, p.FS)
	h.unsubscribe = h.src.Subscribe("hot-reload", h.onNotification)
	return h, nil
}

// sourcePaths places the sources. If root and home are one directory, its settings file is the user layer (SRC-11).
func (h *Host) sourcePaths() settings.Paths {
	p := settings.Paths{Defaults: h.o.DefaultsPath, System: h.o.SystemPath,
		User:      filepath.Join(h.o.Home, ".qwen", "settings.json"),
		Workspace: filepath.Join(h.root, ".qwen", "settings.json"),
		Project:   filepath.Join(h.root, ".mcp.json"),
		Approvals: filepath.Join(h.o.Home, ".qwen", "mcpApprovals.json")}
	home := h.o.Home
	if real, err := realPath(h.p.FS, home); err == nil {
		home = real
	}
	if home == h.root {
		p.Workspace = ""
	}
	return p
}

// Root is the real path of the working directory (spec section 1).
func (h *Host) Root() string { return h.root }

// Start reads every source and arms the watches. done runs once all are loaded and the first passes have begun. What is
// asked of the host before waits for it.
func (h *Host) Start(done func()) {
	h.whenStarted(done)
	if h.started || h.starting || h.down {
		return
	}
	h.starting = true
	h.give("launch", append(h.launchText, h.variableNotices("launch", "", h.launch)...))
	h.src.Start(func() {
		if h.down || h.started {
			return
		}
		h.started, h.stale = true, true
		h.fresh()
		for _, s := range h.allSessions() {
			h.refreshQueue(s)
			h.requestPass(s, nil)
		}
		calls := h.startCalls
		h.startCalls = nil
		for _, f := range calls {
			f()
		}
	})
}

// whenStarted runs f as soon as every source was read once, perhaps at once.
func (h *Host) whenStarted(f func()) {
	if h.started {
		if f != nil {
			f()
		}
		return
	}
	if f == nil {
		f = func() {}
	}
	h.startCalls = append(h.startCalls, f)
}

// Initialize lets passes run (CFG-2): start-up then uses what is loaded.
func (h *Host) Initialize() {
	if h.initialized || h.down {
		return
	}
	h.initialized = true
	for _, s := range h.allSessions() {
		h.requestPass(s, nil)
	}
}

// AddMcpServers merges servers into those of --mcp-config. It fails after initialisation: from then on the settings-level
// map is only ever replaced, by what the sources hold (CFG-1).
func (h *Host) AddMcpServers(servers []byte) error {
	if h.initialized {
		return ErrInitialised
	}
	entries, problems, err := h.cache.Entries(servers)
	if err != nil {
		return err
	}
	merged := merge([]ranked{{fromLaunch, h.launch}, {fromLaunch, entries}})
	h.launch = make([]*config.Entry, len(merged))
	for i := range merged {
		h.launch[i] = merged[i].entry
	}
	h.launchText = append(h.launchText, fromProblems("launch", "", problems)...)
	h.give("launch", append(h.launchText, h.variableNotices("launch", "", h.launch)...))
	h.changed()
	return nil
}

// SetTrusted changes the folder's trust (SRC-12): every source is loaded and listeners are told. Withdrawn trust closes
// everything at once and does not wait for those loads.
func (h *Host) SetTrusted(trusted bool) {
	if h.down || trusted == h.trusted {
		return
	}
	h.trusted = trusted
	h.stale = true
	for _, s := range h.allSessions() {
		h.view(s) // what goes with trust was not removed (ADM-7)
	}
	h.src.SetTrusted(trusted, func() {
		if !h.down && h.started {
			h.gateAll()
		}
	})
	if !trusted && h.started {
		h.gateAll()
	}
}

// SetExtension gives an extension's servers, a map of entries; nil takes the extension away. Every session runs a pass (CFG-5).
func (h *Host) SetExtension(name string, servers []byte) {
	if h.down {
		return
	}
	i, found := slices.BinarySearchFunc(h.extensions, name, func(x extension, n string) int {
		if x.name < n {
			return -1
		} else if x.name > n {
			return 1
		}
		return 0
	})
	giver := "extension\x00" + name
	if servers == nil {
		if found {
			h.extensions = slices.Delete(h.extensions, i, i+1)
		}
		h.give(giver, nil)
	} else {
		entries, notices := h.parseEntries("extension", "", servers)
		if !found {
			h.extensions = slices.Insert(h.extensions, i, extension{})
		}
		h.extensions[i] = extension{name, entries}
		if !h.o.Bare {
			h.give(giver, notices)
		}
	}
	h.changed()
	for _, s := range h.allSessions() {
		h.requestPass(s, nil)
	}
}

// parseEntries reads a map of entries that was given, not loaded; text that is no map gives none, with a notice.
func (h *Host) parseEntries(file string, s port.SessionID, text []byte) ([]*config.Entry, []event.Notice) {
	entries, problems, err := h.cache.Entries(text)
	if err != nil {
		return nil, []event.Notice{{File: file, Kind: "malformed", Session: s, Text: err.Error()}}
	}
	return entries, append(fromProblems(file, s, problems), h.variableNotices(file, s, entries)...)
}

// changed notes that something beside the files changed, and brings every queue up to date (ASK-1).
func (h *Host) changed() {
	h.stale = true
	if !h.started {
		return
	}
	for _, s := range h.allSessions() {
		h.refreshQueue(s)
	}
}

// onApprovals takes the approvals file as it was loaded (APR-2, APR-8). A difference is notified to every session (WAT-11).
func (h *Host) onApprovals(data []byte, err error) {
	if !h.store.Loaded(data, err) {
		return
	}
	h.stale = true
	if h.started {
		h.src.NotifyApprovals()
	}
}

// Subscribe adds a listener to the changes of the sources (WAT-5, WAT-6). The host itself is one, "hot-reload".
func (h *Host) Subscribe(name string, f func(changes []event.Change, done func(error))) (unsubscribe func()) {
	return h.src.Subscribe(name, f)
}

// allSessions is a copy: what is done for each may open or close others.
func (h *Host) allSessions() []*session { return slices.Clone(h.sessions) }

func (h *Host) emit(ev *event.Event) {
	ev.T = h.p.Clock.Now()
	if h.p.Observe != nil {
		h.p.Observe(ev)
	}
}

func (h *Host) inject(point string, s *session, server string) error {
	if h.o.Inject == nil {
		return nil
	}
	return h.o.Inject(point, s.id, server)
}
