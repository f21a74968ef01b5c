//go:build linux

package fakefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"mcpsim/impl/port"
)

// ground is what an action may do, on the fake and for real. Paths are relative to a directory of its own.
type ground interface {
	mkdir(p string)
	write(p string, pieces ...string) // in place: truncate, then each piece with a call of its own
	open(p string)                    // for writing, and close: nothing is written
	remove(p string)
	removeAll(p string)
	rename(from, to string)
	symlink(target, p string) // target as written, relative to the link's directory
	link(old, p string)       // a second name
	chmod(p string, mode os.FileMode)
	touch(p string)
	watch(dir string) error
}

// action is one thing that happens to watched directories.
type action struct {
	name       string
	watch      []string // "d" if empty
	setup, act func(g ground)
}

func saved(g ground) { g.mkdir("d"); g.write("d/s", "old") }

func atomically(g ground, mode os.FileMode) {
	g.write("d/t", "new")
	if mode != 0 {
		g.chmod("d/t", mode)
	}
	g.rename("d/t", "d/s")
}

// actions is the one table: what editors, people, package managers and Kubernetes do to a settings directory.
var actions = []action{
	{name: "create", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { g.write("d/s", "new") }},
	{name: "create empty", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { g.write("d/s") }},
	{name: "write in place", setup: saved, act: func(g ground) { g.write("d/s", "new") }},
	{name: "truncate", setup: saved, act: func(g ground) { g.write("d/s") }},
	{name: "three pieces", setup: saved, act: func(g ground) { g.write("d/s", "a", "b", "c") }},
	{name: "two writes", setup: saved, act: func(g ground) { g.write("d/s", "a"); g.write("d/s", "b") }},
	{name: "opened and closed", setup: saved, act: func(g ground) { g.open("d/s") }},
	{name: "temporary and rename", setup: saved, act: func(g ground) { atomically(g, 0) }},
	{name: "temporary, chmod and rename", setup: saved, act: func(g ground) { atomically(g, 0o600) }},
	{name: "first save by rename", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { atomically(g, 0) }},
	{name: "renamed in", setup: func(g ground) { saved(g); g.mkdir("e"); g.write("e/s", "new") }, act: func(g ground) { g.rename("e/s", "d/s") }},
	{name: "renamed out", setup: func(g ground) { saved(g); g.mkdir("e") }, act: func(g ground) { g.rename("d/s", "e/s") }},
	{name: "renamed between watched directories", watch: []string{"d", "e"}, setup: func(g ground) { saved(g); g.mkdir("e") },
		act: func(g ground) { g.rename("d/s", "e/s") }},
	{name: "renamed within", setup: saved, act: func(g ground) { g.rename("d/s", "d/s2") }},
	{name: "backup as vim does", setup: saved, act: func(g ground) {
		g.rename("d/s", "d/s~")
		g.write("d/s", "new")
		g.chmod("d/s", 0o644)
		g.remove("d/s~")
	}},
	{name: "deleted and made again", setup: saved, act: func(g ground) { g.remove("d/s"); g.write("d/s", "new") }},
	{name: "deleted", setup: saved, act: func(g ground) { g.remove("d/s") }},
	{name: "chmod", setup: saved, act: func(g ground) { g.chmod("d/s", 0o600) }},
	{name: "touch", setup: saved, act: func(g ground) { g.touch("d/s") }},
	{name: "a second name in place of the first", setup: func(g ground) { saved(g); g.write("d/n", "new") },
		act: func(g ground) { g.remove("d/s"); g.link("d/n", "d/s") }},
	{name: "written by its second name", setup: func(g ground) { saved(g); g.mkdir("e"); g.link("d/s", "e/n") },
		act: func(g ground) { g.write("e/n", "new") }},
	{name: "siblings", setup: saved, act: func(g ground) { g.write("d/x", "1"); g.write("d/s.swp", "2"); g.remove("d/x") }},
	{name: "a directory inside", setup: saved, act: func(g ground) { g.mkdir("d/sub"); g.write("d/sub/s", "x"); g.removeAll("d/sub") }},
	{name: "a directory in place of the file", setup: saved, act: func(g ground) { g.remove("d/s"); g.mkdir("d/s") }},
	{name: "directory removed", setup: saved, act: func(g ground) { g.removeAll("d") }},
	{name: "directory removed, made again, written", setup: saved, act: func(g ground) { g.removeAll("d"); g.mkdir("d"); g.write("d/s", "new") }},
	{name: "the same with its parent watched", watch: []string{"p", "p/d"}, setup: nested,
		act: func(g ground) { g.removeAll("p/d"); g.mkdir("p/d"); g.write("p/d/s", "new") }},
	{name: "directory moved away, made again, written", setup: saved, act: func(g ground) {
		g.rename("d", "old")
		g.mkdir("d")
		g.write("d/s", "new")
	}},
	{name: "the same with its parent watched, too", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) {
		g.rename("p/d", "p/old")
		g.mkdir("p/d")
		g.write("p/d/s", "new")
	}},
	{name: "a directory renamed over an empty one", watch: []string{"p", "p/d"},
		setup: func(g ground) { g.mkdir("p"); g.mkdir("p/d"); g.mkdir("p/n"); g.write("p/n/s", "new") },
		act:   func(g ground) { g.rename("p/n", "p/d") }},
	{name: "the parent removed", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) { g.removeAll("p") }},
	{name: "the parent moved away", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) { g.rename("p", "q"); g.write("q/d/s", "new") }},
	{name: "chmod of the directory", setup: saved, act: func(g ground) { g.chmod("d", 0o700) }},
	{name: "..data swap", setup: func(g ground) {
		g.mkdir("d")
		g.mkdir("d/..v1")
		g.write("d/..v1/s", "old")
		g.symlink("..v1", "d/..data")
		g.symlink("..data/s", "d/s")
	}, act: func(g ground) {
		g.mkdir("d/..v2")
		g.write("d/..v2/s", "new")
		g.symlink("..v2", "d/..tmp")
		g.rename("d/..tmp", "d/..data")
		g.removeAll("d/..v1")
	}},
	{name: "target of a link written", setup: linked, act: func(g ground) { g.write("e/s", "new") }},
	{name: "target written, its directory watched", watch: []string{"d", "e"}, setup: linked, act: func(g ground) { g.write("e/s", "new") }},
	{name: "written through the link", watch: []string{"d", "e"}, setup: linked, act: func(g ground) { g.write("d/s", "new") }},
	{name: "link led elsewhere by a rename", setup: linked, act: func(g ground) {
		g.write("e/s2", "new")
		g.symlink("../e/s2", "d/.t")
		g.rename("d/.t", "d/s")
	}},
	{name: "link removed", watch: []string{"d", "e"}, setup: linked, act: func(g ground) { g.remove("d/s") }},
	{name: "a file renamed over the link", watch: []string{"d", "e"}, setup: linked, act: func(g ground) { atomically(g, 0) }},
	{name: "a link that leads nowhere", setup: saved, act: func(g ground) { g.remove("d/s"); g.symlink("../nowhere", "d/s") }},
	{name: "a link to itself", setup: saved, act: func(g ground) { g.remove("d/s"); g.symlink("s", "d/s") }},
	{name: "watched by the path of a link", watch: []string{"l"}, setup: func(g ground) { saved(g); g.symlink("d", "l") },
		act: func(g ground) { g.write("d/s", "new") }},
	{name: "that link led elsewhere", watch: []string{"l"}, setup: func(g ground) { saved(g); g.mkdir("e"); g.symlink("d", "l") },
		act: func(g ground) { g.remove("l"); g.symlink("e", "l"); g.write("d/s", "new"); g.write("e/s", "unseen") }},
}

func nested(g ground) { g.mkdir("p"); g.mkdir("p/d"); g.write("p/d/s", "old") }

func linked(g ground) {
	g.mkdir("d")
	g.mkdir("e")
	g.write("e/s", "old")
	g.symlink("../e/s", "d/s")
}

// TestActionsLookAlike: each action raises the same events on the fake and on a real directory, neighbours that are equal
// merged: the kernel merges them or not, as it has time.
func TestActionsLookAlike(t *testing.T) {
	if len(actions) < 25 {
		t.Fatalf("%d actions", len(actions))
	}
	runs, err := strconv.Atoi(os.Getenv("MCPSIM_ACTION_RUNS"))
	if err != nil {
		runs = 2
	}
	for _, a := range actions {
		t.Run(a.name, func(t *testing.T) {
			want := play(t, newFake(t, false), &a)
			if got := play(t, newFake(t, true), &a); !slices.Equal(got, want) {
				t.Fatalf("the fake itself, merging and not: %v and %v", got, want)
			}
			for n := range runs {
				if got := play(t, newReal(t), &a); !slices.Equal(got, want) {
					t.Fatalf("run %d:\nreal %v\nfake %v", n+1, got, want)
				}
			}
		})
	}
}

// TestADifferenceIsSeen: the comparison tells a lost event, another operation and another order.
func TestADifferenceIsSeen(t *testing.T) {
	a := action{setup: saved, act: func(g ground) { g.write("d/s", "new"); g.remove("d/s") }}
	b := action{setup: saved, act: func(g ground) { g.write("d/s", "new") }}
	c := action{setup: saved, act: func(g ground) { g.remove("d/s"); g.write("d/s", "new") }}
	x := play(t, newReal(t), &a)
	for _, other := range []*action{&b, &c} {
		if slices.Equal(x, play(t, newFake(t, false), other)) {
			t.Errorf("%v looks like another action", x)
		}
	}
}

func play(t *testing.T, g interface {
	ground
	events() []string
}, a *action) []string {
	t.Helper()
	a.setup(g)
	watched := a.watch
	if watched == nil {
		watched = []string{"d"}
	}
	for _, dir := range watched {
		if err := g.watch(dir); err != nil {
			t.Fatal(err)
		}
	}
	a.act(g)
	var out []string
	for _, ev := range g.events() {
		if len(out) == 0 || out[len(out)-1] != ev {
			out = append(out, ev)
		}
	}
	return out
}

// line is one event: its name and its operations.
func line(rel string, op port.FSOp) string {
	var b strings.Builder
	for i, c := range "CWRNH" {
		if op&(1<<i) != 0 {
			b.WriteRune(c)
		}
	}
	return rel + " " + b.String()
}

type fakeGround struct {
	t       *testing.T
	f       *FS
	seen    []string
	deliver func()
}

func newFake(t *testing.T, merge bool) *fakeGround {
	g := &fakeGround{t: t}
	var queue []func()
	g.f = New(Options{Now: func() port.Ms { return 0 }, Merge: merge, Deliver: func(_ port.Ms, f func()) { queue = append(queue, f) }})
	g.must(g.f.MkdirAll("/w"))
	t.Cleanup(func() {
		if len(queue) > 0 {
			t.Error("events were left undelivered")
		}
	})
	g.deliver = func() {
		for len(queue) > 0 {
			f := queue[0]
			queue = queue[1:]
			f()
		}
	}
	return g
}

func (g *fakeGround) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *fakeGround) at(p string) string { return "/w/" + p }
func (g *fakeGround) mkdir(p string)     { g.must(g.f.MkdirAll(g.at(p))) }
func (g *fakeGround) write(p string, pieces ...string) {
	g.must(g.f.WritePieces(g.at(p), pieces))
}
func (g *fakeGround) open(p string)                    {}
func (g *fakeGround) remove(p string)                  { g.must(g.f.Remove(g.at(p))) }
func (g *fakeGround) removeAll(p string)               { g.must(g.f.RemoveAll(g.at(p))) }
func (g *fakeGround) rename(from, to string)           { g.must(g.f.Rename(g.at(from), g.at(to))) }
func (g *fakeGround) symlink(target, p string)         { g.must(g.f.Symlink(target, g.at(p))) }
func (g *fakeGround) link(old, p string)               { g.must(g.f.Link(g.at(old), g.at(p))) }
func (g *fakeGround) chmod(p string, mode os.FileMode) { g.must(g.f.Chmod(g.at(p), mode)) }
func (g *fakeGround) touch(p string)                   { g.must(g.f.Touch(g.at(p))) }
func (g *fakeGround) watch(dir string) error {
	_, err := g.f.Host().Watch(g.at(dir), func(ev port.FSEvent) {
		g.seen = append(g.seen, line(strings.TrimPrefix(ev.Path, "/w/"), ev.Op))
	})
	return err
}
func (g *fakeGround) events() []string {
	g.deliver()
	return g.seen
}

type realGround struct {
	t    *testing.T
	root string
	w    *fsnotify.Watcher
}

const mark = "zz-mark"

func newReal(t *testing.T) *realGround {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsnotify.NewBufferedWatcher(1000)
	if err != nil {
		t.Skipf("no watches left on this machine: %v", err)
	}
	t.Cleanup(func() { _ = w.Close() })
	g := &realGround{t, root, w}
	g.mkdir(mark)
	if err := w.Add(filepath.Join(root, mark)); err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *realGround) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *realGround) at(p string) string { return filepath.Join(g.root, p) }
func (g *realGround) mkdir(p string)     { g.must(os.Mkdir(g.at(p), 0o755)) }
func (g *realGround) write(p string, pieces ...string) {
	f, err := os.Create(g.at(p))
	g.must(err)
	for _, s := range pieces {
		_, err := f.WriteString(s)
		g.must(err)
	}
	g.must(f.Close())
}
func (g *realGround) open(p string) {
	f, err := os.OpenFile(g.at(p), os.O_WRONLY, 0)
	g.must(err)
	g.must(f.Close())
}
func (g *realGround) remove(p string)                  { g.must(os.Remove(g.at(p))) }
func (g *realGround) removeAll(p string)               { g.must(os.RemoveAll(g.at(p))) }
func (g *realGround) rename(from, to string)           { g.must(syscall.Rename(g.at(from), g.at(to))) }
func (g *realGround) symlink(target, p string)         { g.must(os.Symlink(target, g.at(p))) }
func (g *realGround) link(old, p string)               { g.must(os.Link(g.at(old), g.at(p))) }
func (g *realGround) chmod(p string, mode os.FileMode) { g.must(os.Chmod(g.at(p), mode)) }
func (g *realGround) touch(p string) {
	now := time.Now()
	g.must(os.Chtimes(g.at(p), now, now))
}
func (g *realGround) watch(dir string) error { return g.w.Add(g.at(dir)) }

// events returns what came before a mark: the kernel's queue is one, in order.
func (g *realGround) events() []string {
	g.t.Helper()
	g.write(mark + "/m")
	var out []string
	for end := time.After(10 * time.Second); ; {
		select {
		case ev := <-g.w.Events:
			rel, err := filepath.Rel(g.root, ev.Name)
			g.must(err)
			if rel == mark+"/m" {
				return out
			}
			var op port.FSOp
			for from, to := range map[fsnotify.Op]port.FSOp{fsnotify.Create: port.FSCreate, fsnotify.Write: port.FSWrite,
				fsnotify.Remove: port.FSRemove, fsnotify.Rename: port.FSRename, fsnotify.Chmod: port.FSChmod} {
				if ev.Op.Has(from) {
					op |= to
				}
			}
			out = append(out, line(rel, op))
		case err := <-g.w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				g.t.Fatal(err)
			}
			out = append(out, fmt.Sprint("error ", err))
		case <-end:
			g.t.Fatalf("the mark did not come, but %v", out)
		}
	}
}
