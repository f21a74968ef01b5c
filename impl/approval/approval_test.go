package approval

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// world is a real directory, a queue, and a fault for each job by its Detail.
type world struct {
	t       *testing.T
	now     port.Ms
	due     []due
	dir     string
	fs      *lockFS
	s       *Store
	log     []string
	notices map[string]string
	loads   int
	fail    string // the job whose Detail begins so fails, once
	stopAt  string // the process dies before this job
	dead    bool
	before  map[string]func() // what happens before a job
}

type due struct {
	at port.Ms
	f  func()
}

type lockFS struct {
	afero.OsFs
	heldUntil port.Ms
	w         *world
	held      bool
	syncs     []string
}

func (f *lockFS) SyncDir(p string) error {
	if f.w.fail == "syncdir" {
		f.w.fail = ""
		return errors.New("eio")
	}
	f.syncs = append(f.syncs, p)
	return nil
}

func (f *lockFS) TryLock(p string) (func(), bool, error) {
	if f.w.now < f.heldUntil || f.held {
		return nil, false, nil
	}
	if err := os.WriteFile(p, nil, 0o600); err != nil {
		return nil, false, err
	}
	f.held = true
	return func() { f.held = false }, true, nil
}

func (f *lockFS) Watch(string, func(port.FSEvent)) (port.Watch, error) { return nil, errors.New("no") }

func newWorld(t *testing.T) *world {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, notices: map[string]string{}, before: map[string]func(){}}
	w.fs = &lockFS{w: w}
	if err := os.Mkdir(filepath.Join(dir, ".qwen"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.open()
	return w
}

func (w *world) path() string { return filepath.Join(w.dir, ".qwen", "mcpApprovals.json") }

// open starts a process.
func (w *world) open() {
	w.due, w.dead, w.stopAt, w.fs.held = nil, false, "", false
	w.s = NewStore(Options{Path: w.path(), Root: "/project",
		Emit: func(ev *event.Event) {
			if ev.Kind == event.Wrote {
				w.log = append(w.log, strings.TrimPrefix(ev.Path, w.dir))
			}
		},
		OnNotice: func(n event.Notice, raised bool) {
			if raised {
				w.notices[n.Kind] = n.Text
			} else {
				delete(w.notices, n.Kind)
			}
		},
		LoadApprovals: func(done func()) { w.after(0, func() { w.load(); done() }) }, ApprovalsWritten: func([]byte) {}}, w, w, w.fs)
	w.load()
}

func (w *world) load() bool {
	w.loads++
	data, err := os.ReadFile(w.path())
	if errors.Is(err, iofs.ErrNotExist) {
		err = iofs.ErrNotExist
	}
	return w.s.Loaded(data, err)
}

func (w *world) Now() port.Ms { return w.now }

func (w *world) after(d port.Ms, f func()) {
	w.due = append(w.due, due{w.now + d, f})
	slices.SortStableFunc(w.due, func(a, b due) int { return int(a.at - b.at) })
}

func (w *world) AfterFunc(_ port.TimerKind, d port.Ms, f func()) func() {
	w.after(d, f)
	return func() {}
}

func (w *world) Go(op port.Op, work func(context.Context) error, done func(error)) func() {
	w.after(0, func() {
		what := strings.ReplaceAll(op.Detail, w.dir, "")
		for p, f := range w.before {
			if strings.HasPrefix(what, p) {
				delete(w.before, p)
				f()
			}
		}
		switch {
		case w.stopAt != "" && strings.HasPrefix(what, w.stopAt):
			w.dead = true
		case w.fail != "" && strings.HasPrefix(what, w.fail):
			w.fail = ""
			done(errors.New("eio"))
		default:
			done(work(context.Background()))
		}
	})
	return func() {}
}

func (w *world) run() {
	for len(w.due) > 0 && !w.dead {
		x := w.due[0]
		w.due = w.due[1:]
		w.now = max(w.now, x.at)
		x.f()
	}
}

func yes(Decision) bool { return true }

// decide answers as "a+1 b-2": approve a with hash 1, reject b with hash 2.
func (w *world) decide(check func(Decision) bool, answers string) string {
	var ds []Decision
	for _, a := range strings.Fields(answers) {
		ds = append(ds, Decision{Server: a[:1], Hash: a[2:], Approve: a[1] == '+'})
	}
	var out []string
	w.s.Decide(ds, check, func(rs []Result) {
		for _, r := range rs {
			s := r.Decision.Server + ":" + r.Why
			if r.Recorded {
				s = r.Decision.Server
			}
			out = append(out, s)
		}
	})
	w.run()
	return strings.Join(out, " ")
}

func (w *world) records() string {
	var out []string
	for _, r := range w.s.Records() {
		c := "-"
		if r.Approved {
			c = "+"
		}
		out = append(out, r.Server+c+r.Hash)
	}
	return strings.Join(out, " ")
}

func (w *world) expect(what, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func (w *world) files() string {
	list, err := os.ReadDir(filepath.Join(w.dir, ".qwen"))
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, e := range list {
		out = append(out, strings.TrimPrefix(e.Name(), "mcpApprovals.json"))
	}
	return strings.Join(out, " ")
}

func TestOneWriteForAllDecisions(t *testing.T) {
	w := newWorld(t)
	w.expect("decided", w.decide(yes, "a+1 b-2"), "a b")
	w.expect("in force", w.records(), "a+1 b-2")
	w.expect("written", strings.Join(w.log, " "), "/.qwen/mcpApprovals.json.lock /.qwen/mcpApprovals.json.tmp-1 /.qwen/mcpApprovals.json")
	w.expect("files", w.files(), " .lock")
	if i, err := os.Stat(w.path()); err != nil || i.Mode().Perm() != 0o600 {
		t.Error(i.Mode(), err)
	}
	if w.s.State("a", "1") != Approved || w.s.State("b", "2") != Rejected || w.s.State("a", "2") != Pending || w.s.State("c", "1") != Pending {
		t.Error("APR-1")
	}
	w.open()
	w.expect("after a restart", w.records(), "a+1 b-2")
	if w.load() {
		t.Error("the same content is no change")
	}
	w.expect("another decision replaces it", w.decide(yes, "a-3")+" "+w.records(), "a a-3 b-2")
	if w.s.Busy() || w.fs.held {
		t.Error("busy, or the lock is kept")
	}
}

func TestOthersDecisionsSurvive(t *testing.T) { // APR-7, D-7
	w := newWorld(t)
	if err := os.WriteFile(w.path(), []byte(`{"extra":[1, 2],"version":1,"roots":{"/other":{"a":{"hash":"9","status":"approved","by":"me"}},"/project":{"b":{"hash":"2","status":"rejected"}}}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	w.expect("decided on top of what is there", w.decide(yes, "a+1")+" "+w.records(), "a a+1 b-2")
	data, err := os.ReadFile(w.path())
	if err != nil || !strings.Contains(string(data), `"extra"`) || !strings.Contains(string(data), `"by": "me"`) {
		t.Errorf("%s %v", data, err)
	}
	lines, err := Decode(data)
	w.expect("all of it", fmt.Sprint(lines, err), "[{/other a 9 true} {/project a 1 true} {/project b 2 false}] <nil>")
	w.expect("round trip", string(Encode(lines)), string(Encode([]RecordLine{lines[2], lines[0], lines[1]})))
}

func TestStaleAnswers(t *testing.T) { // APR-5
	w := newWorld(t)
	only := func(names string) func(Decision) bool {
		return func(d Decision) bool { return strings.Contains(names, d.Server) }
	}
	w.expect("one has left", w.decide(only("b"), "a+1 b+2"), "a:stale b")
	w.expect("records", w.records(), "b+2")
	w.log = nil
	w.expect("all have left", w.decide(only(""), "a+1 c+2"), "a:stale c:stale")
	w.expect("nothing is written", strings.Join(w.log, " "), "")
	asked := "ac"
	w.before["sync /.qwen/mcpApprovals.json.tmp"] = func() { asked = "c" }
	w.expect("one leaves while it is written", w.decide(func(d Decision) bool { return strings.Contains(asked, d.Server) }, "a+1 c+3"), "a:stale c")
	w.expect("records", w.records()+" "+w.files(), "b+2 c+3  .lock")
	if len(w.notices) > 0 {
		t.Error(w.notices)
	}
}

func TestLock(t *testing.T) { // APR-9
	w := newWorld(t)
	w.fs.heldUntil = 4990
	w.expect("waits", w.decide(yes, "a+1")+fmt.Sprint(w.now), "a5000")
	w.fs.heldUntil = 10001
	w.expect("not longer than 5 s", w.decide(yes, "b+1")+fmt.Sprint(w.now), "b:lock10000")
	w.expect("records", w.records(), "a+1")
	if w.notices["decision"] == "" {
		t.Error("no notice")
	}
	w.now = 20000
	w.expect("cleared by the next that is persisted", w.decide(yes, "b+1")+fmt.Sprint(len(w.notices)), "b0")
}

func TestDecisionsWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	order := ""
	for _, n := range []string{"a", "b", "c"} {
		w.s.Decide([]Decision{{Server: n, Hash: "1", Approve: true}}, yes, func(rs []Result) { order += rs[0].Decision.Server })
	}
	w.run()
	w.expect("in order, nothing lost", order+" "+w.records(), "abc a+1 b+1 c+1")
}

func TestFailuresRecordNothing(t *testing.T) { // APR-9
	for _, c := range []struct{ fail, why string }{
		{"mkdir", "write"}, {"lock", "lock"}, {"resolve", "write"}, {"write", "write"}, {"sync /.qwen/mcpApprovals.json.tmp", "write"},
		{"rename", "write"}, {"sync /.qwen", "write"}, {"syncdir", "write"}, {"set aside", "write"},
	} {
		for _, first := range []string{"", "good", "corrupt"} {
			w := newWorld(t)
			want, file := "", "no file"
			switch first {
			case "good":
				w.decide(yes, "z+9")
				want = "z+9"
			case "corrupt":
				if err := os.WriteFile(w.path(), []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
				w.load()
			default:
				if c.fail == "set aside" {
					continue
				}
			}
			if first == "good" && c.fail == "set aside" {
				continue
			}
			if data, err := os.ReadFile(w.path()); err == nil {
				file = string(data)
			}
			w.fail = c.fail
			w.expect(c.fail, w.decide(yes, "a+1"), "a:"+c.why)
			w.expect(c.fail+": in force", w.records(), want)
			now := "no file"
			if data, err := os.ReadFile(w.path()); err == nil {
				now = string(data)
			}
			w.expect(c.fail+" "+first+": on disk", now, file)
			if w.notices["decision"] == "" || strings.Contains(w.files(), "tmp") || w.fs.held {
				t.Error(c.fail, w.notices, w.files())
			}
			w.expect(c.fail+": again", w.decide(yes, "a+1"), "a")
			if w.notices["decision"] != "" {
				t.Error("not cleared")
			}
		}
	}
}

func TestUnreadableFileRefuses(t *testing.T) {
	w := newWorld(t)
	w.decide(yes, "a+1")
	if err := os.Remove(w.path()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.path(), 0o700); err != nil {
		t.Fatal(err)
	}
	if !w.load() {
		t.Error("records went")
	}
	w.expect("refused", w.decide(yes, "b+1")+w.records(), "b:read")
	if w.notices["unreadable"] == "" || w.notices["decision"] == "" {
		t.Error(w.notices)
	}
}

func TestCorruptFileIsSetAside(t *testing.T) { // APR-8
	w := newWorld(t)
	for _, c := range []struct{ text, kind string }{
		{"{", "unparsable"}, {"", "unparsable"}, {"[]", "not_object"}, {`{"version":2}`, "unparsable"}, {`{"roots":{"/project":{"a":{"status":"approved"}}}}`, "unparsable"},
		{`{"roots":7}`, "unparsable"}, {`{"roots":{"/project":{"a":{"hash":"1","status":"maybe"}}}}`, "unparsable"},
	} {
		if err := os.WriteFile(w.path(), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.load()
		if len(w.notices) != 1 || w.notices[c.kind] == "" || w.records() != "" {
			t.Error(c.text, w.notices, w.records())
		}
	}
	w.expect("decided", w.decide(yes, "a+1"), "a")
	w.expect("kept", w.files(), " .corrupt-1 .lock")
	if len(w.notices) != 0 {
		t.Error(w.notices)
	}
	if err := os.WriteFile(w.path(), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.fail = "rename"
	w.decide(yes, "b+1")
	w.expect("an attempt that fails", w.files(), " .corrupt-1 .corrupt-2 .lock")
	w.decide(yes, "b+1")
	w.expect("keeps it once", w.files(), " .corrupt-1 .corrupt-2 .lock")
	data, err := os.ReadFile(w.path() + ".corrupt-2")
	w.expect("as it was", string(data)+fmt.Sprint(err), "other<nil>")
}

func TestWritesThroughLinks(t *testing.T) { // APR-7
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.dir, "dot", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	real := filepath.Join(w.dir, "dot", "real.json")
	if err := os.WriteFile(real, Encode(nil), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{w.path(): "../dot/x/../link.json", filepath.Join(w.dir, "dot", "link.json"): "real.json"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	w.expect("decided", w.decide(yes, "a+1"), "a")
	if i, err := os.Lstat(w.path()); err != nil || i.Mode()&iofs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	data, _ := os.ReadFile(real)
	lines, _ := Decode(data)
	w.expect("in the file itself", fmt.Sprint(lines), "[{/project a 1 true}]")
}

func TestMissingDirectoryIsMade(t *testing.T) { // INV-15
	w := newWorld(t)
	if err := os.Remove(filepath.Join(w.dir, ".qwen")); err != nil {
		t.Fatal(err)
	}
	w.load()
	w.expect("decided", w.decide(yes, "a+1")+" "+w.log[0], "a /.qwen")
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	w.load()
	w.expect("only its parent", w.decide(yes, "a+1"), "a:write")
	if _, err := os.Stat(w.dir); err == nil {
		t.Error("another directory was made")
	}
}

// TestCrashLeavesOldOrNew stops the process before each job (APR-7).
func TestCrashLeavesOldOrNew(t *testing.T) {
	for _, at := range []string{"mkdir", "lock", "resolve", "write", "sync /.qwen/mcpApprovals.json.tmp", "set aside", "rename", "sync /.qwen"} {
		for _, corrupt := range []bool{false, true} {
			w := newWorld(t)
			old := "z+9"
			if w.decide(yes, "z+9"); corrupt {
				old = ""
				if err := os.WriteFile(w.path(), []byte("{"), 0o600); err != nil {
					t.Fatal(err)
				}
				w.load()
			}
			w.stopAt = at
			w.decide(yes, "a+1")
			w.open()
			if got := w.records(); got != old && got != strings.TrimSpace("a+1 "+old) {
				t.Errorf("%s: %q", at, got)
			}
			if _, err := os.Stat(w.path()); err != nil {
				t.Errorf("%s: %v", at, err)
			}
			w.expect(at+": and goes on", w.decide(yes, "b+2"), "b")
			if strings.Contains(w.files(), "tmp") {
				t.Error(at, w.files())
			}
		}
	}
}
