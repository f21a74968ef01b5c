package live

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcpsim/impl/port"
)

// eyes is a file system whose events are collected.
type eyes struct {
	t    *testing.T
	loop *Loop
	fs   *FS
	evs  chan port.FSEvent
}

func newEyes(t *testing.T) *eyes {
	noLeaks(t)
	l := NewLoop()
	e := &eyes{t: t, loop: l, fs: NewFS(l), evs: make(chan port.FSEvent, 100000)}
	t.Cleanup(func() {
		_ = e.fs.Close()
		l.Close()
	})
	return e
}

// on runs f on the loop and waits for it.
func (e *eyes) on(f func()) {
	e.t.Helper()
	done := make(chan struct{})
	e.loop.Post(func() { defer close(done); f() })
	wait(e.t, "the loop", done)
}

func (e *eyes) watch(dir string) port.Watch {
	e.t.Helper()
	var w port.Watch
	var err error
	e.on(func() { w, err = e.fs.Watch(dir, func(ev port.FSEvent) { e.evs <- ev }) })
	if err != nil {
		e.t.Fatal(err)
	}
	return w
}

// until reads events up to one of a path.
func (e *eyes) until(path string, op port.FSOp) {
	e.t.Helper()
	e.first(func(ev port.FSEvent) bool { return ev.Path == path && ev.Op&op != 0 })
}

// first reads events up to one that fits.
func (e *eyes) first(fits func(port.FSEvent) bool) port.FSEvent {
	e.t.Helper()
	deadline := time.After(patience)
	var seen []port.FSEvent
	for {
		select {
		case ev := <-e.evs:
			seen = append(seen, ev)
			if fits(ev) {
				return ev
			}
		case <-deadline:
			e.t.Fatalf("none fits among %+v", seen)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatchTellsOfEntriesByThePathAsGiven(t *testing.T) {
	e := newEyes(t)
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	e.watch(link)
	e.watch(dir) // one inode: one kernel watch, two of ours
	write(t, filepath.Join(dir, "s"), "1")
	e.until(filepath.Join(link, "s"), port.FSCreate)
	write(t, filepath.Join(dir, "s"), "2")
	e.until(filepath.Join(dir, "s"), port.FSWrite)
	must(t, os.Chmod(filepath.Join(dir, "s"), 0o600))
	e.until(filepath.Join(link, "s"), port.FSChmod)
	must(t, os.Rename(filepath.Join(dir, "s"), filepath.Join(dir, "s~")))
	e.until(filepath.Join(link, "s"), port.FSRename)
	must(t, os.Remove(filepath.Join(dir, "s~")))
	e.until(filepath.Join(dir, "s~"), port.FSRemove)
}

func TestWatchOfADirectoryThatGoesEndsAndCanBeSetAgain(t *testing.T) {
	for name, away := range map[string]func(dir string) error{
		"removed": os.RemoveAll,
		"renamed": func(dir string) error { return os.Rename(dir, dir+".old") },
	} {
		for _, parent := range []bool{false, true} {
			t.Run(name+"/parent watched "+strconv.FormatBool(parent), func(t *testing.T) {
				e := newEyes(t)
				top := t.TempDir()
				dir := filepath.Join(top, "d")
				must(t, os.Mkdir(dir, 0o755))
				if parent {
					e.watch(top)
				}
				e.watch(dir)
				must(t, away(dir))
				e.until(dir, port.FSRemove|port.FSRename)
				if parent { // both were told
					e.until(dir, port.FSRemove|port.FSRename)
				}
				must(t, os.Mkdir(dir, 0o755))
				for i := 0; ; i++ { // what is said of the old one may come late, and ends the new watch
					e.watch(dir)
					file := filepath.Join(dir, strconv.Itoa(i))
					write(t, file, "1")
					if e.first(func(ev port.FSEvent) bool {
						return ev.Path == file || ev.Path == dir && ev.Op&(port.FSRemove|port.FSRename) != 0
					}).Path == file {
						break
					}
				}
			})
		}
	}
}

func TestWatchAfterTheDirectoryWasReplacedUnderIt(t *testing.T) {
	e := newEyes(t)
	top := t.TempDir()
	dir, next := filepath.Join(top, "d"), filepath.Join(top, "n")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Mkdir(next, 0o755))
	e.watch(top)
	old := e.watch(dir)
	must(t, syscall.Rename(next, dir))
	e.until(dir, port.FSCreate) // the parent says so; the watch on the old one is lost in silence
	e.on(func() { _ = old.Close() })
	e.watch(dir)
	write(t, filepath.Join(dir, "s"), "1")
	e.until(filepath.Join(dir, "s"), port.FSCreate)
}

func TestClosedWatchIsSilent(t *testing.T) {
	e := newEyes(t)
	a, b := t.TempDir(), t.TempDir()
	w := e.watch(a)
	e.watch(b)
	e.on(func() { must(t, w.Close()); must(t, w.Close()) })
	write(t, filepath.Join(a, "s"), "1")
	write(t, filepath.Join(b, "s"), "1")
	e.until(filepath.Join(b, "s"), port.FSCreate)
	for len(e.evs) > 0 {
		if ev := <-e.evs; strings.HasPrefix(ev.Path, a) {
			t.Errorf("a closed watch told of %+v", ev)
		}
	}
}

func TestWatchOfWhatIsNoDirectoryFails(t *testing.T) {
	e := newEyes(t)
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "")
	for _, p := range []string{file, file + ".missing"} {
		e.on(func() {
			if _, err := e.fs.Watch(p, func(port.FSEvent) {}); err == nil {
				t.Errorf("%s is watched", p)
			}
		})
	}
}

func TestTooManyEventsAreTheOverflowOfThisHost(t *testing.T) {
	e := newEyes(t)
	dir := t.TempDir()
	e.watch(dir)
	held, release := make(chan struct{}), make(chan struct{})
	e.loop.Post(func() { close(held); <-release })
	wait(t, "the loop to be held", held)
	for i := range pendingMost + 100 { // a create and a remove each
		p := filepath.Join(dir, strconv.Itoa(i))
		must(t, os.Mkdir(p, 0o755))
		must(t, os.Remove(p))
	}
	close(release)
	e.first(func(ev port.FSEvent) bool { return ev.Overflow })
	write(t, filepath.Join(dir, "s"), "1") // it is watched as before
	e.until(filepath.Join(dir, "s"), port.FSCreate)
}

func TestOpenWaitsForNobody(t *testing.T) {
	e := newEyes(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	must(t, syscall.Mkfifo(fifo, 0o600))
	for _, p := range []string{fifo, "/dev/zero"} {
		if f, err := e.fs.Open(p); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened", p)
		}
	}
}

func TestLockNamesItsHolderAndExcludes(t *testing.T) {
	e := newEyes(t)
	path := filepath.Join(t.TempDir(), "x.lock")
	unlock, ok, err := e.fs.TryLock(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), strconv.Itoa(os.Getpid())+" /") {
		t.Errorf("the file says %q, %v", text, err)
	}
	if _, ok, err := e.fs.TryLock(path); ok || err != nil {
		t.Errorf("locked twice: %v %v", ok, err)
	}
	unlock()
	if text, _ := os.ReadFile(path); len(text) > 0 {
		t.Errorf("nobody holds it, but it says %q", text)
	}
	unlock, ok, err = e.fs.TryLock(path)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	unlock()
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if _, ok, err := e.fs.TryLock(filepath.Join(path, "x")); ok || err == nil {
		t.Errorf("a lock that cannot be made: %v %v", ok, err)
	}
	must(t, e.fs.SyncDir(filepath.Dir(path)))
}
