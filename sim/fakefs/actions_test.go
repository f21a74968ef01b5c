//go:build linux

package fakefs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/afero"

	"mcpsim/impl/live"
	"mcpsim/impl/port"
)

// ground is what an action may do, on the fake and for real. Paths are relative to a directory of its own.
type ground interface {
	mkdir(p string)
	write(p string, pieces ...string)           // in place: truncate, then each piece with a call of its own
	chunks(p string, pieces ...string) []func() // the same, a function per piece: all are written through one open file
	over(p string, flag int, text string)       // open with more flags than for writing, and write
	open(p string)                              // for writing, and close: nothing is written
	remove(p string)
	removeAll(p string)
	rename(from, to string)
	symlink(target, p string) // target as written, relative to the link's directory
	link(old, p string)       // a second name
	chmod(p string, mode os.FileMode)
	touch(p string)
	save(how, p string) // "new", in one of the ways that the world knows by name
	watch(dir string) error
}

// action is one thing that happens to watched directories.
type action struct {
	name       string
	watch      []string // "d" if empty
	setup, act func(g ground)
	// varies says why real runs differ: compared is what is heard of, each thing once, and that fsnotify could not end a
	// watch is left out.
	varies string
	// apart says why what fsnotify itself says is not compared, but only what each watch of the host hears of.
	apart string
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
	{name: "truncate what is empty", setup: func(g ground) { g.mkdir("d"); g.write("d/s") }, act: func(g ground) { g.write("d/s") }},
	{name: "nothing is written", setup: saved, act: func(g ground) { g.over("d/s", 0, "") }},
	{name: "appended", setup: saved, act: func(g ground) { g.over("d/s", os.O_APPEND, "new") }},
	{name: "written over without truncation", setup: saved, act: func(g ground) { g.over("d/s", 0, "n") }},
	{name: "renamed between two pieces", setup: saved, act: func(g ground) {
		c := g.chunks("d/t", "a", "b")
		c[0]()
		g.rename("d/t", "d/s")
		c[1]()
	}},
	{name: "renamed away and replaced between two pieces", watch: []string{"d", "e"}, setup: func(g ground) { saved(g); g.mkdir("e") },
		act: func(g ground) {
			c := g.chunks("d/s", "a", "b", "c")
			c[0]()
			g.rename("d/s", "e/x")
			g.write("d/s", "new")
			c[1]()
			g.rename("e/x", "e/y")
			c[2]()
		}},
	{name: "removed between two pieces", setup: saved, act: func(g ground) {
		c := g.chunks("d/s", "a", "b")
		c[0]()
		g.remove("d/s")
		c[1]()
	}},
	{name: "renamed over between two pieces", setup: saved, act: func(g ground) {
		c := g.chunks("d/s", "a", "b")
		c[0]()
		atomically(g, 0)
		c[1]()
	}},
	{name: "written by a second name after the first moved", watch: []string{"d", "e"},
		setup: func(g ground) { saved(g); g.mkdir("e"); g.link("d/s", "e/n") },
		act:   func(g ground) { g.rename("d/s", "d/s2"); g.write("e/n", "new"); g.write("d/s2", "newer") }},
	{name: "renamed to itself", setup: saved, act: func(g ground) { g.rename("d/s", "d/s") }},
	{name: "one name of a file renamed to the other", setup: func(g ground) { saved(g); g.link("d/s", "d/n") },
		act: func(g ground) { g.rename("d/n", "d/s"); g.write("d/n", "new") }},
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
	{name: "touch of what is missing", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { g.touch("d/s") }},
	{name: "a second name is made", setup: saved, act: func(g ground) { g.link("d/s", "d/n") }},
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
	{name: "the same with its parent watched, too", watch: []string{"p", "p/d"}, setup: nested, varies: movedTwice, act: func(g ground) {
		g.rename("p/d", "p/old")
		g.mkdir("p/d")
		g.write("p/d/s", "new")
	}},
	{name: "directory moved away and removed", setup: func(g ground) { g.mkdir("d") }, varies: "the watch may be gone before fsnotify ends it",
		act: func(g ground) { g.rename("d", "old"); g.remove("old") }},
	{name: "a directory renamed over an empty one", watch: []string{"p", "p/d"},
		setup: func(g ground) { g.mkdir("p"); g.mkdir("p/d"); g.mkdir("p/n"); g.write("p/n/s", "new") },
		act:   func(g ground) { g.rename("p/n", "p/d") }},
	{name: "the parent removed", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) { g.removeAll("p") }},
	{name: "the parent moved away", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) { g.rename("p", "q"); g.write("q/d/s", "new") }},
	{name: "a directory renamed over an empty one, its parent not watched",
		setup: func(g ground) { g.mkdir("d"); g.mkdir("n"); g.write("n/s", "new") }, act: func(g ground) { g.rename("n", "d") }},
	{name: "empty directory removed", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { g.remove("d") }},
	{name: "directory moved between watched ones", watch: []string{"p", "q", "p/d"}, varies: movedTwice,
		setup: func(g ground) { nested(g); g.mkdir("q") }, act: func(g ground) { g.rename("p/d", "q/d"); g.write("q/d/s", "unseen") }},
	{name: "a directory moved in, and out", setup: func(g ground) { saved(g); g.mkdir("e"); g.write("e/s", "x") },
		act: func(g ground) { g.rename("e", "d/e"); g.write("d/e/s", "unseen"); g.rename("d/e", "e2") }},
	{name: "chmod of the directory", setup: saved, act: func(g ground) { g.chmod("d", 0o700) }},
	{name: "the same with its parent watched, chmod", watch: []string{"p", "p/d"}, setup: nested, act: func(g ground) { g.chmod("p/d", 0o700) }},
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
	{name: "watched by the path of a link in a watched directory, and removed", watch: []string{"d", "d/l"},
		setup: func(g ground) { saved(g); g.mkdir("e"); g.symlink("../e", "d/l") }, act: func(g ground) { g.remove("e") }},
	{name: "the same, moved away", watch: []string{"d", "d/l"},
		setup: func(g ground) { saved(g); g.mkdir("e"); g.symlink("../e", "d/l") }, act: func(g ground) { g.rename("e", "e2") }},
	{name: "the same, chmod", watch: []string{"d", "d/l"},
		setup: func(g ground) { saved(g); g.mkdir("e"); g.symlink("../e", "d/l") }, act: func(g ground) { g.chmod("e", 0o700) }},
	{name: "that link led elsewhere", watch: []string{"l"}, setup: func(g ground) { saved(g); g.mkdir("e"); g.symlink("d", "l") },
		act: func(g ground) { g.remove("l"); g.symlink("e", "l"); g.write("d/s", "new"); g.write("e/s", "unseen") }},
	{name: "watched by two paths", watch: []string{"d", "l"}, apart: "fsnotify has one path for an inode, the host a watch for each",
		setup: func(g ground) { saved(g); g.symlink("d", "l") }, act: func(g ground) { atomically(g, 0); g.remove("d/s") }},
	{name: "watched by two paths and removed", watch: []string{"d", "l"}, apart: "fsnotify has one path for an inode, the host a watch for each",
		setup: func(g ground) { saved(g); g.symlink("d", "l") }, act: func(g ground) { g.removeAll("d") }},
	{name: "target of a link with dots in it written", watch: []string{"d", "e"}, setup: func(g ground) {
		saved(g)
		g.mkdir("e")
		g.write("e/s", "old")
		g.remove("d/s")
		g.symlink("./..//e/./s", "d/s")
	}, act: func(g ground) { g.write("d/s", "new") }},
	{name: "chmod through a link to the directory above", watch: []string{"d"}, setup: func(g ground) {
		g.mkdir("d")
		g.mkdir("d/s")
		g.symlink("..", "d/s/up")
	}, act: func(g ground) { g.chmod("d/s/up", 0o700) }},
	{name: "a link on the way led elsewhere", watch: []string{"d", "v1"}, setup: func(g ground) {
		for _, v := range []string{"v1", "v2"} {
			g.mkdir(v)
			g.write(v+"/s", v)
		}
		g.mkdir("d")
		g.symlink("../v1", "d/way")
		g.symlink("way/s", "d/s")
	}, act: func(g ground) {
		g.symlink("../v2", "d/t")
		g.rename("d/t", "d/way")
		g.write("d/s", "new")
		g.write("v1/s", "left behind")
	}},
	{name: "world: in place", setup: saved, act: func(g ground) { g.save("in place", "d/s") }},
	{name: "world: atomic", setup: saved, act: func(g ground) { g.save("atomic", "d/s") }},
	{name: "world: atomic over a link", setup: linked, watch: []string{"d", "e"}, act: func(g ground) { g.save("atomic", "d/s") }},
	{name: "world: backup", setup: saved, act: func(g ground) { g.save("backup", "d/s") }},
	{name: "world: backup of what is missing", setup: func(g ground) { g.mkdir("d") }, act: func(g ground) { g.save("backup", "d/s") }},
	{name: "world: link target", setup: linked, watch: []string{"d", "e"}, act: func(g ground) { g.save("link-target", "d/s") }},
	{name: "world: retarget", setup: linked, watch: []string{"d", "e"}, act: func(g ground) { g.save("retarget", "d/s") }},
	{name: "world: retarget of a file", setup: saved, act: func(g ground) { g.save("retarget", "d/s") }},
	{name: "world: data swap twice", setup: saved, act: func(g ground) { g.save("data-swap", "d/s"); g.save("data-swap", "d/s") }},
	{name: "world: a directory", setup: saved, act: func(g ground) { g.save("directory", "d/s") }},
	{name: "world: a dangling link", setup: saved, act: func(g ground) { g.save("dangling", "d/s") }},
	{name: "world: a loop", setup: saved, act: func(g ground) { g.save("loop", "d/s") }},
}

const movedTwice = "fsnotify says of a moved directory twice by one name that it went; the second is not said if the host was " +
	"quick to end its watch"

func nested(g ground) { g.mkdir("p"); g.mkdir("p/d"); g.write("p/d/s", "old") }

func linked(g ground) {
	g.mkdir("d")
	g.mkdir("e")
	g.write("e/s", "old")
	g.symlink("../e/s", "d/s")
}

// TestActionsLookAlike: each action raises the same events on the fake and on a real directory, and leaves the same to read.
// Neighbours that are equal are merged: the kernel merges them or not, as it has time. Compared are what fsnotify says, and
// what each watch hears of through the live host's file system. On the fake the world acts, and the host.
func TestActionsLookAlike(t *testing.T) {
	if len(actions) < 25 {
		t.Fatalf("%d actions", len(actions))
	}
	runs, err := strconv.Atoi(os.Getenv("MCPSIM_ACTION_RUNS"))
	if err != nil {
		runs = 1
	}
	for i := range actions {
		a := &actions[i]
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			want := play(t, newFake(t, false, false), a)
			for how, g := range map[string]*fakeGround{"merging": newFake(t, true, false), "the host acts": newFake(t, false, true)} {
				if got := play(t, g, a); got != want {
					t.Fatalf("the fake itself, %s:\n%s\nand not:\n%s", how, got, want)
				}
			}
			g := newReal(t)
			for n := range runs {
				if got := play(t, g.anew(), a); got != want {
					t.Fatalf("run %d, real:\n%s\nfake:\n%s", n+1, got, want)
				}
			}
		})
	}
}

// TestADifferenceIsSeen: the comparison tells a lost event, another operation, another order, and another content.
func TestADifferenceIsSeen(t *testing.T) {
	a := action{setup: saved, act: func(g ground) { g.write("d/s", "new"); g.remove("d/s") }}
	b := action{setup: saved, act: func(g ground) { g.write("d/s", "new") }}
	g := newReal(t)
	x := play(t, g.anew(), &a)
	for _, other := range []*action{
		&b,
		{setup: saved, act: func(g ground) { g.remove("d/s"); g.write("d/s", "new") }},
		{setup: saved, act: func(g ground) { g.write("d/s", "new"); g.rename("d/s", "x") }},
	} {
		if x == play(t, newFake(t, false, false), other) {
			t.Errorf("%v looks like another action", x)
		}
	}
	if c := (action{setup: saved, act: func(g ground) { g.write("d/s", "other") }}); play(t, g.anew(), &b) == play(t, newFake(t, false, false), &c) {
		t.Error("another content looks the same")
	}
}

// heard is what events there were: of all watches in order, and of each.
type heard struct {
	all []string
	by  [][]string
}

// play runs an action and describes what came of it.
func play(t *testing.T, g interface {
	ground
	events() heard
	read(p string) string
}, a *action) string {
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
	h := g.events()
	var out []string
	if a.apart == "" {
		out = append(out, fmt.Sprint("all: ", merged(h.all, a.varies != "")))
	}
	for i, dir := range watched {
		out = append(out, fmt.Sprint(dir, ": ", merged(h.by[i], a.varies != "")))
	}
	return strings.Join(append(out, "in s: "+g.read(watched[len(watched)-1]+"/s")), "\n")
}

// made are the names that the fake makes up.
var made = regexp.MustCompile(`\.[.\w]+\.(tmp|lnk)\d+|\.\.v\d+`)

// notEnded is what fsnotify reports if a directory that moved is removed before it has ended its watch.
const notEnded = "error invalid argument"

// merged leaves out events that equal the one before; if they vary, any before, and what may be reported or not.
func merged(events []string, vary bool) []string {
	var out []string
	for _, ev := range events {
		ev = made.ReplaceAllString(ev, "TEMP")
		if n := len(out); n > 0 && out[n-1] == ev || vary && (ev == notEnded || slices.Contains(out, ev)) {
			continue
		}
		out = append(out, ev)
	}
	return out
}

// content is what a file holds, or why it cannot be read.
func content(fs port.FS, p string) string {
	data, err := afero.ReadFile(fs, p)
	var no syscall.Errno
	if errors.As(err, &no) {
		return no.Error()
	} else if err != nil {
		return err.Error()
	}
	return strconv.Quote(string(data))
}

// line is one event: its name and its operations.
func line(rel string, ev port.FSEvent) string {
	if ev.Overflow {
		return "overflow"
	} else if ev.Err != nil {
		return "error " + ev.Err.Error()
	}
	var b strings.Builder
	for i, c := range "CWRNH" {
		if ev.Op&(1<<i) != 0 {
			b.WriteRune(c)
		}
	}
	return rel + " " + b.String()
}

type fakeGround struct {
	t       *testing.T
	f       *FS
	h       port.FS
	host    bool // acts through the host's view, where that can
	seen    heard
	deliver func()
}

func newFake(t *testing.T, merge, host bool) *fakeGround {
	g := &fakeGround{t: t, host: host}
	var queue []func()
	g.f = New(Options{Now: func() port.Ms { return 0 }, Merge: merge, Deliver: func(_ port.Ms, f func()) { queue = append(queue, f) }})
	g.h = g.f.Host()
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

// by is one way for the world and one for the host.
func (g *fakeGround) by(world, host func() error) {
	g.t.Helper()
	if g.host {
		world = host
	}
	g.must(world())
}

func (g *fakeGround) mkdir(p string) {
	g.by(func() error { return g.f.MkdirAll(g.at(p)) }, func() error { return g.h.Mkdir(g.at(p), 0o755) })
}

func (g *fakeGround) write(p string, pieces ...string) {
	if !g.host {
		g.must(g.f.WritePieces(g.at(p), pieces))
		return
	}
	f := g.file(p, os.O_CREATE|os.O_TRUNC)
	for _, s := range pieces {
		_, err := f.WriteString(s)
		g.must(err)
	}
	g.must(f.Close())
}

func (g *fakeGround) chunks(p string, pieces ...string) []func() {
	if !g.host {
		data := strings.Join(pieces, "")
		var out []func()
		for _, piece := range g.f.Pieces(g.at(p), []byte(data), len(pieces)) {
			out = append(out, func() { g.must(piece()) })
		}
		return out
	}
	return chunked(g.t, func() io.StringWriter { return g.file(p, os.O_CREATE|os.O_TRUNC) }, pieces)
}

// chunked opens a file with the first piece.
func chunked(t *testing.T, open func() io.StringWriter, pieces []string) []func() {
	var f io.StringWriter
	var out []func()
	for i, s := range pieces {
		out = append(out, func() {
			if i == 0 {
				f = open()
			}
			if _, err := f.WriteString(s); err != nil {
				t.Fatal(err)
			}
		})
	}
	return out
}

func (g *fakeGround) file(p string, flag int) afero.File {
	f, err := g.h.OpenFile(g.at(p), os.O_WRONLY|flag, 0o644)
	g.must(err)
	return f
}

func (g *fakeGround) over(p string, flag int, text string) {
	f := g.file(p, flag)
	_, err := f.WriteString(text)
	g.must(err)
	g.must(f.Close())
}

func (g *fakeGround) open(p string) { g.must(g.file(p, 0).Close()) }
func (g *fakeGround) remove(p string) {
	g.by(func() error { return g.f.Remove(g.at(p)) }, func() error { return g.h.Remove(g.at(p)) })
}
func (g *fakeGround) removeAll(p string) {
	g.by(func() error { return g.f.RemoveAll(g.at(p)) }, func() error { return g.h.RemoveAll(g.at(p)) })
}
func (g *fakeGround) rename(from, to string) {
	if info, err := g.h.Stat(g.at(to)); err == nil && info.IsDir() { // os.Rename refuses that
		g.must(g.f.Rename(g.at(from), g.at(to)))
		return
	}
	g.by(func() error { return g.f.Rename(g.at(from), g.at(to)) }, func() error { return g.h.Rename(g.at(from), g.at(to)) })
}
func (g *fakeGround) symlink(target, p string) { g.must(g.f.Symlink(target, g.at(p))) }
func (g *fakeGround) link(old, p string)       { g.must(g.f.Link(g.at(old), g.at(p))) }
func (g *fakeGround) chmod(p string, mode os.FileMode) {
	g.by(func() error { return g.f.Chmod(g.at(p), mode) }, func() error { return g.h.Chmod(g.at(p), mode) })
}
func (g *fakeGround) touch(p string) { g.must(g.f.Touch(g.at(p))) }

func (g *fakeGround) save(how, p string) {
	p = g.at(p)
	data := []byte("new")
	g.must(map[string]func() error{
		"in place":    func() error { return g.f.Write(p, data) },
		"atomic":      func() error { return g.f.WriteAtomic(p, data) },
		"backup":      func() error { return g.f.WriteBackup(p, data) },
		"link-target": func() error { return g.f.WriteLinkTarget(p, data) },
		"retarget":    func() error { return g.f.WriteRetarget(p, data) },
		"data-swap":   func() error { return g.f.WriteDataSwap(p, data) },
		"directory":   func() error { return g.f.PutDirectory(p) },
		"dangling":    func() error { return g.f.PutDangling(p) },
		"loop":        func() error { return g.f.PutLoop(p) },
	}[how]())
}

func (g *fakeGround) watch(dir string) error {
	n := len(g.seen.by)
	g.seen.by = append(g.seen.by, nil)
	_, err := g.h.Watch(g.at(dir), func(ev port.FSEvent) {
		s := line(strings.TrimPrefix(ev.Path, "/w/"), ev)
		g.seen.all = append(g.seen.all, s)
		g.seen.by[n] = append(g.seen.by[n], s)
	})
	return err
}

func (g *fakeGround) events() heard {
	g.deliver()
	return g.seen
}

func (g *fakeGround) read(p string) string { return content(g.h, g.at(p)) }

// realGround is a directory that is watched twice: by fsnotify, and through the live host's file system.
type realGround struct {
	t       *testing.T
	base    string
	runs    int
	root    string // of this run
	w       *fsnotify.Watcher
	loop    *live.Loop
	fs      *live.FS
	watches []port.Watch
	seen    heard // by: of the loop
	marked  chan string
}

const mark = "mark"

// newReal makes the watchers, of which a machine has few; anew begins a run.
func newReal(t *testing.T) *realGround {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w, err := fsnotify.NewBufferedWatcher(1000)
	if err != nil {
		tooMany(t, err)
	}
	loop := live.NewLoop()
	g := &realGround{t: t, base: base, w: w, loop: loop, fs: live.NewFS(loop), marked: make(chan string, 1000)}
	t.Cleanup(func() {
		g.must(w.Close())
		g.must(g.fs.Close())
		loop.Close()
	})
	dir := filepath.Join(base, mark)
	g.must(os.Mkdir(dir, 0o755))
	g.must(w.Add(dir))
	if err := g.onLoop(func() error {
		_, err := g.fs.Watch(dir, func(ev port.FSEvent) { g.marked <- ev.Path })
		return err
	}); err != nil {
		tooMany(t, err)
	}
	return g
}

// tooMany ends a test without a watcher: that all are in use is not its fault.
func tooMany(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EMFILE) {
		t.Skipf("all watchers of this machine are in use: %v", err)
	}
	t.Fatal(err)
}

// anew begins a run in a directory that nothing was in.
func (g *realGround) anew() *realGround {
	g.t.Helper()
	g.must(g.onLoop(func() error {
		for _, w := range g.watches {
			if err := w.Close(); err != nil {
				return err
			}
		}
		return nil
	}))
	for _, dir := range g.w.WatchList() {
		if dir != filepath.Join(g.base, mark) {
			_ = g.w.Remove(dir) // or it went meanwhile
		}
	}
	g.runs++
	g.root = filepath.Join(g.base, strconv.Itoa(g.runs))
	g.seen, g.watches = heard{}, nil
	g.must(os.Mkdir(g.root, 0o755))
	return g
}

func (g *realGround) onLoop(f func() error) error {
	done := make(chan error)
	g.loop.Post(func() { done <- f() })
	return <-done
}

func (g *realGround) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *realGround) at(p string) string { return filepath.Join(g.root, p) }
func (g *realGround) mkdir(p string)     { g.must(os.Mkdir(g.at(p), 0o755)) }

func (g *realGround) file(p string, flag int) *os.File {
	f, err := os.OpenFile(g.at(p), os.O_WRONLY|flag, 0o644)
	g.must(err)
	return f
}

func (g *realGround) write(p string, pieces ...string) {
	f := g.file(p, os.O_CREATE|os.O_TRUNC)
	for _, s := range pieces {
		_, err := f.WriteString(s)
		g.must(err)
	}
	g.must(f.Close())
}

func (g *realGround) chunks(p string, pieces ...string) []func() {
	return chunked(g.t, func() io.StringWriter {
		f := g.file(p, os.O_CREATE|os.O_TRUNC)
		g.t.Cleanup(func() { g.must(f.Close()) })
		return f
	}, pieces)
}

func (g *realGround) over(p string, flag int, text string) {
	f := g.file(p, flag)
	_, err := f.WriteString(text)
	g.must(err)
	g.must(f.Close())
}

func (g *realGround) open(p string)                    { g.must(g.file(p, 0).Close()) }
func (g *realGround) remove(p string)                  { g.must(os.Remove(g.at(p))) }
func (g *realGround) removeAll(p string)               { g.must(os.RemoveAll(g.at(p))) }
func (g *realGround) rename(from, to string)           { g.must(syscall.Rename(g.at(from), g.at(to))) }
func (g *realGround) symlink(target, p string)         { g.must(os.Symlink(target, g.at(p))) }
func (g *realGround) link(old, p string)               { g.must(os.Link(g.at(old), g.at(p))) }
func (g *realGround) chmod(p string, mode os.FileMode) { g.must(os.Chmod(g.at(p), mode)) }
func (g *realGround) touch(p string) {
	g.must(g.file(p, os.O_CREATE).Close())
	now := time.Now()
	g.must(os.Chtimes(g.at(p), now, now))
}

// save does what the world's way of that name is said to do.
func (g *realGround) save(how, p string) {
	d := filepath.Dir(p)
	_, err := os.Lstat(g.at(p))
	there := err == nil
	leadTo := func(target, p string) { g.symlink(target, d+"/.s.lnk1"); g.rename(d+"/.s.lnk1", p) }
	switch how {
	case "in place", "link-target":
		g.write(p, "new")
	case "atomic":
		g.write(d+"/.s.tmp1", "new")
		g.rename(d+"/.s.tmp1", p)
	case "backup":
		if there {
			g.rename(p, p+"~")
		}
		g.write(p, "new")
		g.chmod(p, 0o644)
		if there {
			g.remove(p + "~")
		}
	case "retarget":
		g.mkdir("store")
		g.write("store/s", "new")
		leadTo(g.at("store/s"), p)
	case "data-swap":
		old, _ := os.Readlink(g.at(d + "/..data"))
		next := "..v1"
		if old == next {
			next = "..v2"
		}
		g.mkdir(d + "/" + next)
		g.write(d+"/"+next+"/s", "new")
		leadTo(next, d+"/..data")
		if to, _ := os.Readlink(g.at(p)); to != "..data/s" {
			leadTo("..data/s", p)
		}
		if old != "" {
			g.removeAll(d + "/" + old)
		}
	case "directory":
		g.remove(p)
		g.mkdir(p)
	case "dangling":
		g.remove(p)
		g.symlink("/nowhere/at/all", p)
	case "loop":
		g.remove(p)
		g.symlink("s", p)
	default:
		g.t.Fatal(how)
	}
}

func (g *realGround) watch(dir string) error {
	if err := g.w.Add(g.at(dir)); err != nil {
		return err
	}
	return g.onLoop(func() error {
		n := len(g.seen.by)
		g.seen.by = append(g.seen.by, nil)
		w, err := g.fs.Watch(g.at(dir), func(ev port.FSEvent) {
			g.seen.by[n] = append(g.seen.by[n], line(strings.TrimPrefix(ev.Path, g.root+"/"), ev))
		})
		if err == nil {
			g.watches = append(g.watches, w)
		}
		return err
	})
}

// events returns what came before a mark: the kernel's queue is one, in order.
func (g *realGround) events() heard {
	g.t.Helper()
	m := filepath.Join(g.base, mark, strconv.Itoa(g.runs))
	g.must(os.WriteFile(m, nil, 0o600))
	end := time.After(10 * time.Second)
	for marked := false; !marked; {
		select {
		case ev := <-g.w.Events:
			if marked = ev.Name == m; !marked {
				rel, err := filepath.Rel(g.root, ev.Name)
				g.must(err)
				if strings.HasPrefix(rel, "../") {
					continue // of the run before
				}
				g.seen.all = append(g.seen.all, line(rel, port.FSEvent{Op: translate(ev.Op)}))
			}
		case err := <-g.w.Errors:
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				g.t.Fatal(err)
			}
			g.seen.all = append(g.seen.all, fmt.Sprint("error ", err))
		case <-end:
			g.t.Fatalf("the mark did not come, but %v", g.seen.all)
		}
	}
	for name := ""; name != m; {
		select {
		case name = <-g.marked:
		case <-end:
			g.t.Fatal("the mark did not come to the live file system")
		}
	}
	var out heard
	g.must(g.onLoop(func() error { out = g.seen; return nil }))
	return out
}

func (g *realGround) read(p string) string { return content(g.fs, g.at(p)) }

func translate(op fsnotify.Op) (out port.FSOp) {
	for from, to := range map[fsnotify.Op]port.FSOp{fsnotify.Create: port.FSCreate, fsnotify.Write: port.FSWrite,
		fsnotify.Remove: port.FSRemove, fsnotify.Rename: port.FSRename, fsnotify.Chmod: port.FSChmod} {
		if op.Has(from) {
			out |= to
		}
	}
	return out
}
