//go:build linux

package fakefs

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"
	"golang.org/x/sys/unix"

	"mcpsim/impl/port"
)

// TestTheHostCannotTellTheFakeFromARealDirectory draws operations and does each on both: results, errors and events are the
// same. The host has no privileges, the world (which makes links) has those of the test.
func TestTheHostCannotTellTheFakeFromARealDirectory(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("MCPSIM_ACTION_RUNS"))
	if err != nil {
		runs = 1
	}
	seen := map[string]int{} // results, so that a run that reaches nothing is noticed
	g := newReal(t)
	for seed := range uint64(40 * runs) {
		conform(t, g.anew(), seed, seen)
		if t.Failed() {
			return
		}
	}
	for _, want := range []string{"ok", "ENOENT", "EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY", "ELOOP", "EINVAL", "EBADF", "closed", "EOF"} {
		if seen[want] == 0 {
			t.Errorf("no operation ended with %s: %v", want, seen)
		}
	}
	if os.Getuid() == 0 && seen["EACCES"] == 0 {
		t.Errorf("no operation was denied: %v", seen)
	}
}

// pair is one drawn run on both grounds.
type pair struct {
	r       *rand.Rand
	fake    *fakeGround
	real    *realGround
	drop    bool // the test has privileges, and the host must not
	handles [3][2]afero.File
	said    []string
	seen    map[string]int
}

func conform(t *testing.T, g *realGround, seed uint64, seen map[string]int) {
	p := &pair{r: rand.New(rand.NewPCG(seed, 7)), fake: newFake(t, false, false), real: g, drop: os.Getuid() == 0, seen: seen}
	g.must(os.Chmod(g.root, 0o777))
	g.must(os.Chmod(filepath.Dir(g.base), 0o755)) // others come here, too
	p.asHost(func() {
		for _, g := range []ground{p.fake, p.real} {
			g.mkdir("p")
			g.mkdir("p/q")
			g.mkdir(top)
			g.mkdir(top + "/d")
		}
	})
	for _, g := range []ground{p.fake, p.real} {
		if err := g.watch(top); err != nil {
			t.Fatal(err)
		}
		if err := g.watch(top + "/d"); err != nil {
			t.Fatal(err)
		}
	}
	why := p.run()
	p.closeAll(1)
	want := merged(p.fake.events().all, false)
	if why == "" {
		got := slices.DeleteFunc(g.events().all, func(s string) bool { return s == notEnded }) // as fast as it was
		if got = merged(got, false); !slices.Equal(got, want) {
			why = fmt.Sprintf("events:\nreal %v\nfake %v", got, want)
		}
	}
	if why != "" {
		t.Errorf("seed %d: %s\nafter\n%s", seed, why, strings.Join(p.said, "\n"))
	}
	_ = filepath.WalkDir(g.at("p"), func(dir string, e iofs.DirEntry, err error) error { // so that it can be removed
		if err == nil && e.IsDir() {
			err = os.Chmod(dir, 0o700)
		}
		return err
	})
}

// top is where it happens: deep enough that links upwards stay inside.
const top = "p/q/r"

// asHost runs f without the privileges of root.
func (p *pair) asHost(f func()) {
	if !p.drop {
		f()
		return
	}
	runtime.LockOSThread() // the kernel keeps this for each thread
	_, _ = unix.SetfsgidRetGid(65534)
	_, _ = unix.SetfsuidRetUid(65534)
	f()
	_, _ = unix.SetfsuidRetUid(0)
	_, _ = unix.SetfsgidRetGid(0)
	runtime.UnlockOSThread()
}

var paths = []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "l", "d/l", "l/a", "d/l/b", "d/../a", "a/b", "none/a"}

func (p *pair) run() string {
	var why string
	for range 60 {
		what, do := p.draw()
		p.said = append(p.said, what)
		var fake, real string
		world := strings.HasPrefix(what, "world")
		fake = p.do(do, 0)
		if world {
			real = p.do(do, 1)
		} else {
			p.asHost(func() { real = p.do(do, 1) })
		}
		p.said[len(p.said)-1] += " -> " + fake
		p.seen[strings.Fields(fake + " ?")[0]]++
		if fake != real {
			why = fmt.Sprintf("%s\nreal %s\nfake %s", what, real, fake)
			break
		}
	}
	return why
}

func (p *pair) closeAll(side int) {
	for i := range p.handles {
		if h := p.handles[i][side]; h != nil {
			_ = h.Close()
		}
		p.handles[i][side] = nil
	}
}

func (p *pair) do(do func(side int) (string, error), side int) string {
	s, err := do(side)
	return strings.TrimSpace(named(err) + " " + s)
}

func named(err error) string {
	var no syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &no):
		return unix.ErrnoName(no)
	case errors.Is(err, iofs.ErrClosed), strings.HasSuffix(err.Error(), "use of closed file"):
		return "closed"
	}
	return err.Error()
}

// draw returns an operation and what it is called.
func (p *pair) draw() (string, func(side int) (string, error)) {
	fs := [2]port.FS{p.fake.h, p.real.fs}
	root := [2]string{"/w/" + top + "/", p.real.root + "/" + top + "/"}
	one := func(list []string) string { return list[p.r.IntN(len(list))] }
	a, b := one(paths), one(paths)
	slot := p.r.IntN(len(p.handles))
	if p.r.IntN(3) == 0 && p.handles[slot][0] != nil {
		return p.drawOnHandle(slot)
	}
	plain := func(f func(fs port.FS, root string) error) func(int) (string, error) {
		return func(side int) (string, error) { return "", f(fs[side], root[side]) }
	}
	switch p.r.IntN(14) {
	case 0:
		return "mkdir " + a, plain(func(fs port.FS, root string) error { return fs.Mkdir(root+a, 0o755) })
	case 1, 2, 3:
		flag := []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_EXCL, os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
			os.O_RDWR | os.O_CREATE, os.O_RDWR | os.O_CREATE | os.O_EXCL, os.O_WRONLY | os.O_APPEND | os.O_CREATE, os.O_RDWR | os.O_TRUNC}[p.r.IntN(9)]
		return fmt.Sprintf("open %d %s %#x", slot, a, flag), func(side int) (string, error) {
			f, err := fs[side].OpenFile(root[side]+a, flag, 0o644)
			if old := p.handles[slot][side]; err == nil {
				if old != nil {
					_ = old.Close()
				}
				p.handles[slot][side] = f
			}
			return "", err
		}
	case 4:
		return "remove " + a, func(side int) (string, error) {
			// An open file keeps its directory, and a watch of that, alive after both were removed; the fake ends it at once.
			p.closeAll(side)
			return "", fs[side].Remove(root[side] + a)
		}
	case 5, 6:
		return "rename " + a + " " + b, plain(func(fs port.FS, root string) error { return fs.Rename(root+a, root+b) })
	case 7:
		return "stat " + a, func(side int) (string, error) { return described(fs[side].Stat(root[side] + a)) }
	case 8:
		return "lstat " + a, func(side int) (string, error) {
			info, _, err := fs[side].LstatIfPossible(root[side] + a)
			return described(info, err)
		}
	case 9:
		return "readlink " + a, func(side int) (string, error) { return fs[side].ReadlinkIfPossible(root[side] + a) }
	case 10:
		mode := []os.FileMode{0o755, 0o644, 0o600, 0o700, 0o500, 0o300, 0o400, 0o200, 0o100, 0, 0o077}[p.r.IntN(11)]
		if !p.drop {
			mode |= 0o700 // the world of this test could not go on
		}
		return fmt.Sprintf("chmod %s %#o", a, mode), plain(func(fs port.FS, root string) error { return fs.Chmod(root+a, mode) })
	case 11:
		return "syncdir " + a, plain(func(fs port.FS, root string) error { return fs.SyncDir(root + a) })
	case 12:
		return "read " + a, func(side int) (string, error) {
			data, err := afero.ReadFile(fs[side], root[side]+a)
			return string(data), err
		}
	}
	if p.r.IntN(3) == 0 {
		return "world: link " + a + " " + b, func(side int) (string, error) {
			if _, _, _, n, err := p.fake.f.walk(true).lookup(root[0]+a, false); err == nil && n != nil && n.kind == dir {
				return "a directory", nil // which no system allows
			}
			if side == 0 {
				return "", p.fake.f.Link(root[0]+a, root[0]+b)
			}
			return "", os.Link(root[1]+a, root[1]+b)
		}
	}
	target := one([]string{"a", "b", "d", "e", "../a", "./d//a", "..", ".", "l", "d/../b", "nowhere", "d/l/./a"})
	return "world: symlink " + target + " " + b, func(side int) (string, error) {
		if side == 0 {
			return "", p.fake.f.Symlink(target, root[0]+b)
		}
		return "", os.Symlink(target, root[1]+b)
	}
}

func (p *pair) drawOnHandle(slot int) (string, func(side int) (string, error)) {
	h := &p.handles[slot]
	text := strings.Repeat(string(rune('a'+p.r.IntN(26))), p.r.IntN(4))
	off := int64(p.r.IntN(12) - 2)
	what := []string{"write", "write", "write", "read", "seek", "truncate", "sync", "stat", "close", "read at", "names"}[p.r.IntN(11)]
	return fmt.Sprintf("%s %d %q %d", what, slot, text, off), func(side int) (string, error) {
		f := h[side]
		switch what {
		case "write":
			n, err := f.Write([]byte(text))
			return strconv.Itoa(n), err
		case "read":
			if info, err := f.Stat(); err == nil && info.IsDir() {
				return "a directory", nil
			}
			b := make([]byte, 5)
			n, err := f.Read(b)
			return string(b[:n]), err
		case "read at":
			b := make([]byte, 5)
			n, err := f.ReadAt(b, max(off, 0))
			return string(b[:n]), err
		case "seek":
			if info, err := f.Stat(); err == nil && info.IsDir() {
				return "a directory", nil
			}
			n, err := f.Seek(off, []int{io.SeekStart, io.SeekCurrent, io.SeekEnd}[int(off+2)%3])
			return strconv.FormatInt(n, 10), err
		case "truncate":
			return "", f.Truncate(off)
		case "sync":
			return "", f.Sync()
		case "stat":
			return described(f.Stat())
		case "names":
			if _, err := f.Seek(0, io.SeekStart); err != nil { // where it would go on is up to the system
				return "", err
			}
			names, err := f.Readdirnames(-1) // in no order
			slices.Sort(names)
			return strings.Join(names, ","), err
		}
		return "", f.Close()
	}
}

func described(info iofs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	size := info.Size()
	if info.IsDir() {
		size = 0
	}
	return fmt.Sprint(info.Name(), info.Mode(), size), nil
}
