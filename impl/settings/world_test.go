package settings

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// world is a queue of what is due, and a real directory whose events are those that a test says happened.
type world struct {
	t         *testing.T
	now       port.Ms
	due       []*due
	seq       int
	dir       string // real path
	fs        *watchedFS
	s         *Sources
	log       []string
	notices   map[string]string // kind file server key → text
	approvals []string
	held      bool // reads wait
	heldJobs  []func()
}

type due struct {
	at   port.Ms
	seq  int
	f    func()
	dead bool
}

type watchedFS struct {
	afero.OsFs
	watches []*fakeWatch
	fail    map[string]error // directories that cannot be watched
	opened  int
}

type fakeWatch struct {
	fs     *watchedFS
	dir    string
	h      func(port.FSEvent)
	closed bool
}

func (w *fakeWatch) Close() error {
	w.closed = true
	w.fs.watches = slices.DeleteFunc(w.fs.watches, func(x *fakeWatch) bool { return x == w })
	return nil
}

func (f *watchedFS) SyncDir(string) error { return nil }

func (f *watchedFS) TryLock(string) (func(), bool, error) { return func() {}, true, nil }

func (f *watchedFS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	if err := f.fail[dir]; err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("no directory")
	}
	f.opened++
	w := &fakeWatch{fs: f, dir: dir, h: h}
	f.watches = append(f.watches, w)
	return w, nil
}

// dirs lists what is watched, below the test's directory.
func (w *world) dirs() string {
	var out []string
	for _, x := range w.fs.watches {
		out = append(out, strings.TrimPrefix(x.dir, w.dir))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, fs: &watchedFS{fail: map[string]error{}}, notices: map[string]string{}}
	w.mkdir("home/.qwen")
	w.mkdir("project/.qwen")
	return w
}

func (w *world) path(p string) string { return filepath.Join(w.dir, p) }

func (w *world) mkdir(p string) {
	if err := os.MkdirAll(w.path(p), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

const (
	userFile      = "home/.qwen/settings.json"
	workspaceFile = "project/.qwen/settings.json"
	projectFile   = "project/.mcp.json"
	approvalsFile = "home/.qwen/mcpApprovals.json"
	systemFile    = "etc/settings.json"
)

func (w *world) start(change ...func(*Options)) {
	w.t.Helper()
	o := Options{Trusted: true, Cache: config.NewCache(), Emit: w.emit, OnNotice: w.notice,
		Paths: Paths{User: w.path(userFile), Workspace: w.path(workspaceFile), Project: w.path(projectFile), System: w.path(systemFile), Approvals: w.path(approvalsFile)},
		OnApprovals: func(data []byte, err error) {
			w.approvals = append(w.approvals, fmt.Sprintf("%s|%v", data, err != nil))
			if w.s.started {
				w.s.NotifyApprovals()
			}
		}}
	for _, f := range change {
		f(&o)
	}
	w.s = New(o, w, w, w.fs)
	started := false
	w.s.Start(func() { started = true })
	w.advance(0)
	if !started && !w.held {
		w.t.Fatal("not started")
	}
}

func (w *world) emit(ev *event.Event) {
	line := string(ev.Kind)
	switch ev.Kind {
	case event.Watch, event.Unwatch:
		line += " " + strings.TrimPrefix(ev.Path, w.dir)
	case event.Load:
		line += " " + string(ev.Scope) + " " + ev.Outcome + " " + ev.Why
	case event.Notify:
		for _, c := range ev.Changes {
			line += " " + string(c.Scope) + " " + c.How
		}
	case event.RestartPending:
		line += " " + string(ev.Scope) + " " + strings.Join(ev.Keys, ",")
	default:
		line += " " + string(ev.Scope)
	}
	w.log = append(w.log, fmt.Sprintf("%d %s", w.now, line))
}

func (w *world) notice(n event.Notice, raised bool) {
	id := strings.Join(strings.Fields(n.Kind+" "+n.File+" "+n.Server+" "+n.Key), " ")
	if raised {
		w.notices[id] = n.Text
		return
	}
	if _, stood := w.notices[id]; !stood {
		w.t.Errorf("cleared, and did not stand: %s", id)
	}
	delete(w.notices, id)
}

func (w *world) standing() string {
	var out []string
	for id := range w.notices {
		out = append(out, id)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// events returns the log since the last call, of the given kinds.
func (w *world) events(kinds ...event.Kind) string {
	var out []string
	for _, l := range w.log {
		if len(kinds) == 0 || slices.Contains(kinds, event.Kind(strings.Fields(l)[1])) {
			out = append(out, l)
		}
	}
	w.log = nil
	return strings.Join(out, ", ")
}

func (w *world) expect(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func (w *world) after(d port.Ms, f func()) *due {
	w.seq++
	x := &due{at: w.now + d, seq: w.seq, f: f}
	w.due = append(w.due, x)
	slices.SortFunc(w.due, func(a, b *due) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.seq - b.seq
	})
	return x
}

func (w *world) Now() port.Ms { return w.now }

func (w *world) AfterFunc(_ port.TimerKind, d port.Ms, f func()) func() {
	x := w.after(d, f)
	return func() { x.dead = true }
}

func (w *world) Go(_ port.Op, work func(context.Context) error, done func(error)) func() {
	run := func() { done(work(context.Background())) }
	if w.held {
		w.heldJobs = append(w.heldJobs, run)
	} else {
		w.after(0, run)
	}
	return func() {}
}

// release runs the reads that were held back.
func (w *world) release() {
	w.held = false
	jobs := w.heldJobs
	w.heldJobs = nil
	for _, f := range jobs {
		f()
	}
}

func (w *world) advance(d port.Ms) {
	end := w.now + d
	for len(w.due) > 0 && w.due[0].at <= end {
		x := w.due[0]
		w.due = w.due[1:]
		w.now = x.at
		if !x.dead {
			x.f()
		}
	}
	w.now = end
}

// event tells whoever watches the directory of a path.
func (w *world) event(p string, op port.FSOp) {
	full := w.path(p)
	for _, x := range slices.Clone(w.fs.watches) {
		if !x.closed && x.dir == filepath.Dir(full) {
			x.h(port.FSEvent{Path: full, Op: op})
		}
	}
}

// self tells whoever watches the directory itself.
func (w *world) self(p string, op port.FSOp) {
	for _, x := range slices.Clone(w.fs.watches) {
		if !x.closed && x.dir == w.path(p) {
			x.h(port.FSEvent{Path: x.dir, Op: op})
		}
	}
}

// put writes silently; save writes, with the event.
func (w *world) put(p, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(p)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(p), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) save(p, text string) {
	w.t.Helper()
	w.put(p, text)
	w.event(p, port.FSWrite)
}

func (w *world) remove(p string) {
	w.t.Helper()
	if err := os.RemoveAll(w.path(p)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, p string) {
	w.t.Helper()
	_ = os.Remove(w.path(p))
	if err := os.Symlink(target, w.path(p)); err != nil {
		w.t.Fatal(err)
	}
}

// layers shows what is in force: scope, servers, lists.
func (w *world) layers() string {
	var out []string
	for _, l := range w.s.Layers() {
		s := string(l.Scope) + ":"
		for _, e := range l.Servers {
			s += " " + e.Name + "=" + e.Command
		}
		if l.HasAllowed {
			s += " allowed=" + strings.Join(l.Allowed, "+")
		}
		if len(l.Excluded) > 0 {
			s += " excluded=" + strings.Join(l.Excluded, "+")
		}
		if !strings.HasSuffix(s, ":") {
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
}
