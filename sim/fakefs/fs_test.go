package fakefs

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"mcpsim/impl/port"
)

// bench is a file system with a clock, a queue of deliveries and a record of what it reports.
type bench struct {
	*FS
	t      *testing.T
	h      port.FS
	now    port.Ms
	queue  []delivery
	wrote  []string
	told   []string // delivered events, as OnEvent hears of them
	asked  []string
	refuse func(op, path string) error
}

type delivery struct {
	at port.Ms
	f  func()
}

func newBench(t *testing.T, change ...func(*Options)) *bench {
	b := &bench{t: t}
	o := Options{
		Now:     func() port.Ms { return b.now },
		Deliver: func(d port.Ms, f func()) { b.queue = append(b.queue, delivery{b.now + d, f}) },
		OnOp: func(op, p string) error {
			b.asked = append(b.asked, op)
			if b.refuse != nil {
				return b.refuse(op, p)
			}
			return nil
		},
		OnWrite: func(p string) { b.wrote = append(b.wrote, p) },
		OnEvent: func(ev port.FSEvent) { b.told = append(b.told, say(ev)) },
	}
	for _, f := range change {
		f(&o)
	}
	b.FS = New(o)
	b.h = b.Host()
	return b
}

func say(ev port.FSEvent) string {
	if ev.Overflow {
		return "overflow"
	}
	return fmt.Sprint(ev.Path, " ", ev.Op)
}

// until delivers what is due, in order.
func (b *bench) until(now port.Ms) {
	for len(b.queue) > 0 && b.queue[0].at <= now {
		next := b.queue[0]
		b.queue = b.queue[1:]
		b.now = next.at
		next.f()
	}
	b.now = now
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// want is for errors of the system.
func (b *bench) want(err error, no error) {
	b.t.Helper()
	if !errors.Is(err, no) {
		b.t.Errorf("%v, not %v", err, no)
	}
}

func (b *bench) world(files ...string) {
	b.t.Helper()
	for i := 0; i < len(files); i += 2 {
		b.must(b.MkdirAll(files[i][:strings.LastIndexByte(files[i], '/')]))
		b.must(b.Write(files[i], []byte(files[i+1])))
	}
}

// put writes a file as the host, and syncs its content or not.
func (b *bench) put(p, text string, sync bool) {
	b.t.Helper()
	f, err := b.h.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	b.must(err)
	_, err = f.Write([]byte(text))
	b.must(err)
	if sync {
		b.must(f.Sync())
	}
	b.must(f.Close())
}

func (b *bench) watch(dir string) port.Watch {
	b.t.Helper()
	w, err := b.h.Watch(dir, func(port.FSEvent) {})
	b.must(err)
	return w
}

// tree lists everything below /, with contents.
func (b *bench) tree() string {
	var out []string
	var walk func(d *inode, at string)
	walk = func(d *inode, at string) {
		for _, e := range d.ents {
			s := at + e.name
			switch e.n.kind {
			case dir:
				out = append(out, s+"/")
				walk(e.n, s+"/")
			case link:
				out = append(out, s+"->"+e.n.target)
			default:
				out = append(out, s+"="+string(e.n.data))
			}
		}
	}
	walk(b.root, "/")
	return strings.Join(out, " ")
}

func (b *bench) wantTree(want string) {
	b.t.Helper()
	if got := b.tree(); got != want {
		b.t.Errorf("there is\n%s\nand should be\n%s", got, want)
	}
}

func (b *bench) wantTold(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.told, want) {
		b.t.Errorf("told %q, not %q", b.told, want)
	}
	b.told = nil
}

// TestACrashLosesWhatWasNotSynced: contents are durable by the file's sync, names by the directory's, each without the other.
func TestACrashLosesWhatWasNotSynced(t *testing.T) {
	for _, c := range []struct {
		name       string
		do         func(b *bench)
		lost, kept string // what is there after a crash that loses, and one that does not; before: /d/old=1 /e/
	}{
		{"nothing was synced", func(b *bench) { b.put("/d/s", "new", false) }, "/d/ /d/old=1 /e/", "/d/ /d/old=1 /d/s=new /e/"},
		{"the name only", func(b *bench) { b.put("/d/s", "new", false); b.must(b.h.SyncDir("/d")) }, "/d/ /d/old=1 /d/s= /e/", "/d/ /d/old=1 /d/s=new /e/"},
		{"the content only", func(b *bench) { b.put("/d/s", "new", true) }, "/d/ /d/old=1 /e/", "/d/ /d/old=1 /d/s=new /e/"},
		{"both", func(b *bench) { b.put("/d/s", "new", true); b.must(b.h.SyncDir("/d")) }, "/d/ /d/old=1 /d/s=new /e/", "/d/ /d/old=1 /d/s=new /e/"},
		{"a file that was there", func(b *bench) { b.put("/d/old", "2", false) }, "/d/ /d/old=1 /e/", "/d/ /d/old=2 /e/"},
		{"its content synced", func(b *bench) { b.put("/d/old", "2", true) }, "/d/ /d/old=2 /e/", "/d/ /d/old=2 /e/"},
		{"synced, then written again", func(b *bench) { b.put("/d/old", "2", true); b.put("/d/old", "3", false) }, "/d/ /d/old=2 /e/", "/d/ /d/old=3 /e/"},
		{"another directory's sync", func(b *bench) { b.put("/d/s", "new", true); b.must(b.h.SyncDir("/e")) }, "/d/ /d/old=1 /e/", "/d/ /d/old=1 /d/s=new /e/"},
		{"atomic, the directory not", func(b *bench) { b.put("/d/t", "2", true); b.must(b.h.Rename("/d/t", "/d/old")) }, "/d/ /d/old=1 /e/", "/d/ /d/old=2 /e/"},
		{"atomic, the content not", func(b *bench) {
			b.put("/d/t", "2", false)
			b.must(b.h.Rename("/d/t", "/d/old"))
			b.must(b.h.SyncDir("/d"))
		}, "/d/ /d/old= /e/", "/d/ /d/old=2 /e/"},
		{"atomic, both", func(b *bench) {
			b.put("/d/t", "2", true)
			b.must(b.h.Rename("/d/t", "/d/old"))
			b.must(b.h.SyncDir("/d"))
		}, "/d/ /d/old=2 /e/", "/d/ /d/old=2 /e/"},
		{"removed", func(b *bench) { b.must(b.h.Remove("/d/old")) }, "/d/ /d/old=1 /e/", "/d/ /e/"},
		{"removed and synced", func(b *bench) { b.must(b.h.Remove("/d/old")); b.must(b.h.SyncDir("/d")) }, "/d/ /e/", "/d/ /e/"},
		{"moved, where it went synced", func(b *bench) { b.must(b.h.Rename("/d/old", "/e/x")); b.must(b.h.SyncDir("/e")) },
			"/d/ /d/old=1 /e/ /e/x=1", "/d/ /e/ /e/x=1"},
		{"a directory and what is in it", func(b *bench) {
			b.must(b.h.Mkdir("/n", 0o755))
			b.put("/n/s", "x", true)
			b.must(b.h.SyncDir("/n"))
		}, "/d/ /d/old=1 /e/", "/d/ /d/old=1 /e/ /n/ /n/s=x"},
		{"that directory's parent synced", func(b *bench) {
			b.must(b.h.Mkdir("/n", 0o755))
			b.must(b.h.SyncDir("/"))
			b.put("/n/s", "x", true)
		}, "/d/ /d/old=1 /e/ /n/", "/d/ /d/old=1 /e/ /n/ /n/s=x"},
		{"the world is durable at once", func(b *bench) {
			b.must(b.Write("/d/old", []byte("w")))
			b.must(b.Rename("/d/old", "/e/w"))
		}, "/d/ /e/ /e/w=w", "/d/ /e/ /e/w=w"},
		{"the world writes what the host did not sync", func(b *bench) { b.put("/d/old", "2", false); b.must(b.Write("/d/old", []byte("w"))) },
			"/d/ /d/old=w /e/", "/d/ /d/old=w /e/"},
		{"truncated through an open file", func(b *bench) {
			f, err := b.h.OpenFile("/d/old", os.O_RDWR, 0)
			b.must(err)
			b.must(f.Truncate(0))
		}, "/d/ /d/old=1 /e/", "/d/ /d/old= /e/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, lost := range []bool{true, false} {
				b := newBench(t)
				b.world("/d/old", "1")
				b.must(b.MkdirAll("/e"))
				c.do(b)
				b.Crash(lost)
				want := c.kept
				if lost {
					want = c.lost
				}
				b.wantTree(want)
				b.Crash(true) // what survived one is durable
				b.wantTree(want)
			}
		})
	}
}

func TestAPowerCutBeforeAnOperation(t *testing.T) {
	b := newBench(t)
	b.world("/d/old", "1")
	b.Before(func(op, p string) {
		if op == "rename" {
			panic(op + " " + p)
		}
	})
	b.put("/d/t", "2", true)
	func() {
		defer func() {
			if r := recover(); r != "rename /d/t" {
				t.Errorf("the host ended with %v", r)
			}
		}()
		_ = b.h.Rename("/d/t", "/d/old")
		t.Error("the rename was done")
	}()
	b.wantTree("/d/ /d/old=1 /d/t=2")
	if slices.Contains(b.asked, "rename") {
		t.Error("a fault could have come before the cut")
	}
}

func TestWhatEndsWithTheHost(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "1")
	heard := 0
	_, err := b.h.Watch("/d", func(port.FSEvent) { heard++ })
	b.must(err)
	unlock, ok, err := b.h.TryLock("/d/lock")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	b.HoldLock("/d/theirs")
	b.must(b.Write("/d/s", []byte("2")))
	b.Crash(false)
	b.until(1)
	if heard != 0 || len(b.told) != 0 || len(b.Watched()) != 0 {
		t.Errorf("the dead host heard %d events, %v, and watches %v", heard, b.told, b.Watched())
	}
	if _, ok, _ := b.h.TryLock("/d/theirs"); ok {
		t.Error("the lock of another process ended with this one")
	}
	if _, ok, err := b.h.TryLock("/d/lock"); err != nil || !ok {
		t.Errorf("the dead host's lock is held: %v", err)
	}
	unlock() // of a process that is dead
	if _, ok, _ := b.h.TryLock("/d/lock"); ok {
		t.Error("the dead host freed the next one's lock")
	}
}

func TestAnOverflowEndsWithTheHost(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Delay = 10 })
	b.world("/d/s", "1")
	b.watch("/d")
	b.Overflow()
	b.Crash(false)
	b.watch("/d")
	b.must(b.Write("/d/s", []byte("2"))) // while the old overflow is on its way
	b.now = 5
	b.Overflow()
	b.until(10)
	b.must(b.Write("/d/s", []byte("3"))) // the old overflow came and must not end the new one
	b.until(100)
	b.wantTold("/d/s 2", "/d/s 2", "overflow")
}

func TestAdvisoryLocks(t *testing.T) {
	b := newBench(t)
	b.must(b.MkdirAll("/d"))
	unlock, ok, err := b.h.TryLock("/d/lock")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if b.Perm("/d/lock") != 0o600 || !slices.Equal(b.wrote, []string{"/d/lock"}) {
		t.Errorf("mode %v, wrote %v", b.Perm("/d/lock"), b.wrote)
	}
	if _, ok, err := b.h.TryLock("/d/lock"); ok || err != nil {
		t.Errorf("taken twice: %v", err)
	}
	b.must(b.Symlink("lock", "/d/other"))
	if _, ok, _ := b.h.TryLock("/d/other"); ok {
		t.Error("taken by the file's other name")
	}
	b.HoldLock("/d/lock") // waits in vain
	b.ReleaseLock("/d/lock")
	if _, ok, _ := b.h.TryLock("/d/lock"); ok {
		t.Error("another process freed the host's lock")
	}
	unlock()
	if !b.Exists("/d/lock") {
		t.Error("the file went with the lock")
	}
	again, ok, _ := b.h.TryLock("/d/lock")
	if !ok {
		t.Fatal("it was not freed")
	}
	unlock() // a second time
	if _, ok, _ := b.h.TryLock("/d/lock"); ok {
		t.Error("the first holder freed the second one's lock")
	}
	b.must(b.RemoveAll("/d"))
	b.must(b.MkdirAll("/d"))
	if _, ok, _ := b.h.TryLock("/d/lock"); !ok {
		t.Error("a new file is locked because the one before was")
	}
	again()
	b.HoldLock("/e/theirs") // makes file and directory
	if _, ok, _ := b.h.TryLock("/e/theirs"); ok {
		t.Error("two processes have it")
	}
	b.must(b.Rename("/e", "/f"))
	b.ReleaseLock("/e/theirs")
	if _, ok, _ := b.h.TryLock("/f/theirs"); !ok {
		t.Error("it was not freed, because its file had moved")
	}
	b.must(b.Chmod("/d", 0o500))
	_, _, err = b.h.TryLock("/d/new")
	b.want(err, syscall.EACCES)
	_, _, err = b.h.TryLock("/none/lock")
	b.want(err, syscall.ENOENT)
}

// operations is everything a host can do, by the name a fault has.
var operations = map[string]func(h port.FS) error{
	"open":     func(h port.FS) error { _, err := h.Open("/d/s"); return err },
	"mkdir":    func(h port.FS) error { return h.Mkdir("/d/n", 0o755) },
	"remove":   func(h port.FS) error { return h.Remove("/d/s") },
	"rename":   func(h port.FS) error { return h.Rename("/d/s", "/d/t") },
	"stat":     func(h port.FS) error { _, err := h.Stat("/d/s"); return err },
	"lstat":    func(h port.FS) error { _, _, err := h.LstatIfPossible("/d/s"); return err },
	"readlink": func(h port.FS) error { _, err := h.ReadlinkIfPossible("/d/l"); return err },
	"chmod":    func(h port.FS) error { return h.Chmod("/d/s", 0o600) },
	"syncdir":  func(h port.FS) error { return h.SyncDir("/d") },
	"lock":     func(h port.FS) error { _, _, err := h.TryLock("/d/lock"); return err },
	"watch":    func(h port.FS) error { _, err := h.Watch("/d", func(port.FSEvent) {}); return err },
	"read":     func(h port.FS) error { _, err := afero.ReadFile(h, "/d/s"); return err },
	"write":    onFile(func(f afero.File) error { _, err := f.Write([]byte("x")); return err }),
	"truncate": onFile(func(f afero.File) error { return f.Truncate(0) }),
	"sync":     onFile(func(f afero.File) error { return f.Sync() }),
}

func onFile(do func(afero.File) error) func(port.FS) error {
	return func(h port.FS) error {
		f, err := h.OpenFile("/d/s", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(do(f), f.Close())
	}
}

// TestAFaultFailsAnOperationAndNothingElse: the operation says so and does nothing, nobody hears of it, and the next works.
func TestAFaultFailsAnOperationAndNothingElse(t *testing.T) {
	for op, do := range operations {
		for _, no := range []syscall.Errno{syscall.ENOSPC, syscall.EIO, syscall.EROFS} {
			t.Run(op+" "+no.Error(), func(t *testing.T) {
				b := newBench(t)
				b.world("/d/s", "1")
				b.must(b.Symlink("s", "/d/l"))
				b.watch("/d")
				before := b.tree()
				b.asked = nil
				b.refuse = func(o, p string) error {
					if o != op || !strings.HasPrefix(p, "/d") {
						return nil
					}
					return no
				}
				err := do(b.h)
				b.want(err, no)
				var pe *iofs.PathError
				if !errors.As(err, &pe) || pe.Op != op || !strings.HasPrefix(pe.Path, "/d") {
					t.Errorf("%#v does not say what failed", err)
				}
				b.until(1)
				b.wantTree(before)
				b.wantTold()
				if len(b.wrote) > 0 || b.Perm("/d/s") != 0o644 || len(b.Watched()) != 1 {
					t.Errorf("done all the same: wrote %v, mode %v, watched %v", b.wrote, b.Perm("/d/s"), b.Watched())
				}
				b.refuse = nil
				b.must(do(b.h))
				b.must(b.Write("/d/w", nil)) // the world has no faults
			})
		}
	}
}

// TestAFaultedSyncSyncsNothing: what it failed for is lost.
func TestAFaultedSyncSyncsNothing(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "1")
	b.refuse = func(op, _ string) error {
		if op == "sync" || op == "syncdir" {
			return syscall.EIO
		}
		return nil
	}
	f, err := b.h.OpenFile("/d/s", os.O_WRONLY|os.O_TRUNC, 0)
	b.must(err)
	_, err = f.WriteString("2")
	b.must(err)
	b.want(f.Sync(), syscall.EIO)
	b.must(b.h.Rename("/d/s", "/d/t"))
	b.want(b.h.SyncDir("/d"), syscall.EIO)
	b.Crash(true)
	b.wantTree("/d/ /d/s=1")
}

// TestWritesAreReportedOnceDone: every path that the host changes, and none where nothing was changed.
func TestWritesAreReportedOnceDone(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(b *bench) error
		want []string
	}{
		{"create", func(b *bench) error { _, err := b.h.Create("/d/n"); return err }, []string{"/d/n"}},
		{"open", func(b *bench) error { _, err := b.h.OpenFile("/d/s", os.O_RDWR|os.O_CREATE, 0o600); return err }, nil},
		{"truncate", func(b *bench) error { _, err := b.h.OpenFile("/d/s", os.O_WRONLY|os.O_TRUNC, 0); return err }, []string{"/d/s"}},
		{"write", func(b *bench) error { return operations["write"](b.h) }, []string{"/d/s"}},
		{"write nothing", func(b *bench) error {
			return onFile(func(f afero.File) error { _, err := f.Write(nil); return err })(b.h)
		}, nil},
		{"truncate an open file", func(b *bench) error { return operations["truncate"](b.h) }, []string{"/d/s"}},
		{"rename", func(b *bench) error { return b.h.Rename("/d/s", "/d/t") }, []string{"/d/t"}},
		{"rename nothing", func(b *bench) error { return b.h.Rename("/d/none", "/d/t") }, nil},
		{"remove", func(b *bench) error { return b.h.Remove("/d/s") }, []string{"/d/s"}},
		{"remove nothing", func(b *bench) error { return b.h.Remove("/d/none") }, nil},
		{"remove all of nothing", func(b *bench) error { return b.h.RemoveAll("/d/none") }, nil},
		{"remove all", func(b *bench) error { return b.h.RemoveAll("/d") }, []string{"/d"}},
		{"mkdir", func(b *bench) error { return b.h.Mkdir("/d/n", 0o755) }, []string{"/d/n"}},
		{"mkdir again", func(b *bench) error { return b.h.Mkdir("/d", 0o755) }, nil},
		{"mkdir all below a file", func(b *bench) error { return b.h.MkdirAll("/d/s/n", 0o755) }, nil},
		{"chmod nothing", func(b *bench) error { return b.h.Chmod("/d/none", 0o600) }, nil},
		{"the world's", func(b *bench) error { return b.WriteAtomic("/d/s", []byte("2")) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.world("/d/s", "1")
			_ = c.do(b)
			if !slices.Equal(b.wrote, c.want) {
				t.Errorf("reported %q, not %q", b.wrote, c.want)
			}
		})
	}
}

func TestPermissionsStopTheHostAndNotTheWorld(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "1", "/d/e/x", "2")
	read := func(p string) error { _, err := afero.ReadFile(b.h, p); return err }
	open := func(p string, flag int) error { _, err := b.h.OpenFile(p, flag, 0o600); return err }

	b.must(b.Chmod("/d/s", 0o077)) // others may; the host owns it
	b.want(read("/d/s"), syscall.EACCES)
	b.want(open("/d/s", os.O_WRONLY), syscall.EACCES)
	if _, state := b.ReadRaw("/d/s"); state != Unreadable {
		t.Error("ReadRaw reads what a host cannot")
	}
	b.must(b.Chmod("/d/s", 0o400))
	b.must(read("/d/s"))
	b.want(open("/d/s", os.O_RDWR), syscall.EACCES)
	b.must(b.Chmod("/d/s", 0o200))
	b.must(open("/d/s", os.O_WRONLY))
	b.want(open("/d/s", os.O_RDWR), syscall.EACCES)
	b.must(b.Write("/d/s", []byte("3")))

	b.must(b.Chmod("/d", 0o500)) // nothing may be made or taken away
	for _, err := range []error{b.h.Remove("/d/s"), b.h.Mkdir("/d/n", 0o755), b.h.Rename("/d/s", "/n"), b.h.Rename("/d/s", "/d/n"), open("/d/n", os.O_WRONLY|os.O_CREATE)} {
		b.want(err, syscall.EACCES)
	}
	b.must(open("/d/s", os.O_WRONLY|os.O_CREATE)) // it is there
	b.must(b.Write("/d/n", nil))

	b.must(b.Chmod("/d", 0o600)) // no way through
	for _, p := range []string{"/d/s", "/d/none", "/d/e/x"} {
		b.want(read(p), syscall.EACCES)
		_, err := b.h.Stat(p)
		b.want(err, syscall.EACCES)
		if _, state := b.ReadRaw(p); state != Unreadable {
			t.Errorf("%s is not unreadable", p)
		}
	}
	b.must(b.Chmod("/d", 0o300)) // cannot be listed or watched
	_, err := b.h.Watch("/d", nil)
	b.want(err, syscall.EACCES)
	b.want(b.h.SyncDir("/d"), syscall.EACCES)
	_, err = b.h.Stat("/d/s")
	b.must(err)
}

func TestLinks(t *testing.T) {
	b := newBench(t)
	b.world("/real/d/s", "1", "/real/s", "above")
	for p, target := range map[string]string{"/l": "/real/d", "/real/d/self": "self", "/to": "l/s", "/dots": "./l//./../s", "/away": "/real/none",
		"/a": "b", "/b": "a", "/up": "real/d/..", "/abs": "/l/../s"} {
		b.must(b.Symlink(target, p))
	}
	chain := "/real/s"
	for i := range 41 {
		next := fmt.Sprintf("/c%d", i)
		b.must(b.Symlink(chain, next))
		chain = next
	}
	for _, c := range []struct {
		p     string
		text  string
		err   error
		state RawState
	}{
		{"/l/s", "1", nil, OK},
		{"/to", "1", nil, OK},
		{"/dots", "above", nil, OK}, // .. is of where the link leads
		{"/abs", "above", nil, OK},
		{"/l/../s", "above", nil, OK},
		{"/up/s", "above", nil, OK},
		{"/c39", "above", nil, OK},
		{"/c40", "", syscall.ELOOP, Unreadable},
		{"/real/d/self", "", syscall.ELOOP, Unreadable},
		{"/a", "", syscall.ELOOP, Unreadable},
		{"/a/x", "", syscall.ELOOP, Unreadable},
		{"/away", "", syscall.ENOENT, Unreadable},
		{"/away/x", "", syscall.ENOENT, Missing},
		{"/none", "", syscall.ENOENT, Missing},
		{"/to/x", "", syscall.ENOTDIR, Missing},
		{"/l", "", syscall.EISDIR, Unreadable},
	} {
		data, err := afero.ReadFile(b.h, c.p)
		if string(data) != c.text || !errors.Is(err, c.err) {
			t.Errorf("%s: %q, %v", c.p, data, err)
		}
		if raw, state := b.ReadRaw(c.p); state != c.state || state == OK && string(raw) != c.text {
			t.Errorf("%s: raw %q, state %d", c.p, raw, state)
		}
	}
	b.must(afero.WriteFile(b.h, "/away", []byte("made"), 0o600)) // through the link
	if data, _ := b.ReadRaw("/real/none"); string(data) != "made" || !b.IsLink("/away") {
		t.Error("the write did not go where the link leads")
	}
	_, err := b.h.OpenFile("/b", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	b.want(err, syscall.EEXIST)
	b.must(b.h.Remove("/l"))
	if !b.Exists("/real/d/s") {
		t.Error("the link's target was removed")
	}
	_, err = b.h.ReadlinkIfPossible("/real/s")
	b.want(err, syscall.EINVAL)
}

// TestTheWayToAFile: every name on it, so that an event of any of them concerns the file, and an event of no other does.
func TestTheWayToAFile(t *testing.T) {
	b := newBench(t)
	b.world("/v/1/s", "1", "/w/x", "")
	b.must(b.Symlink("/v/1", "/w/..data"))
	b.must(b.Symlink("..data/s", "/w/s"))
	var got []string
	for _, s := range b.LinkChain("/w/s") {
		got = append(got, strings.TrimPrefix(s.Dir, "/")+"/"+s.Base)
	}
	if want := []string{"/w", "w/s", "w/..data", "/v", "v/1", "v/1/s"}; !slices.Equal(got, want) {
		t.Errorf("the way is %v, not %v", got, want)
	}
	for p, want := range map[string]bool{"/w/s": true, "/w/..data": true, "/v/1": true, "/v/1/s": true, "/w": true, "/v": true,
		"/w/x": false, "/v/2": false, "/v/1/x": false, "/x/s": false, "/w/s2": false} {
		if b.Concerns(port.FSEvent{Path: p, Op: port.FSWrite}, "/w/s") != want {
			t.Errorf("an event of %s: concerns is not %v", p, want)
		}
	}
	b.must(b.Symlink("/w", "/way")) // an event by another path to the directory
	if !b.Concerns(port.FSEvent{Path: "/way/..data"}, "/w/s") || !b.Concerns(port.FSEvent{Overflow: true}, "/w/s") || b.Concerns(port.FSEvent{}, "/w/s") {
		t.Error("by another path, by an overflow, by nothing")
	}
}

func TestTimesComeFromTheClock(t *testing.T) {
	b := newBench(t)
	mtime := func(p string) int64 {
		t.Helper()
		info, _, err := b.h.LstatIfPossible(p)
		b.must(err)
		return info.ModTime().UnixMilli()
	}
	b.now = 10
	b.world("/d/s", "1")
	before, err := b.h.Stat("/d/s")
	b.must(err)
	for i, c := range []struct {
		do        func() error
		file, dir bool // whose time changes
	}{
		{func() error { return b.Write("/d/s", []byte("22")) }, true, false},
		{func() error { return b.Touch("/d/s") }, true, false},
		{func() error { return b.Write("/d/n", nil) }, false, true},
		{func() error { return b.h.Rename("/d/n", "/d/m") }, false, true},
		{func() error { return b.h.Remove("/d/m") }, false, true},
		{func() error { return b.Chmod("/d/s", 0o600) }, false, false},
		{func() error { return operations["write"](b.h) }, true, false},
		{func() error { return operations["read"](b.h) }, false, false},
	} {
		f, d := mtime("/d/s"), mtime("/d")
		b.now += 5
		b.must(c.do())
		if (mtime("/d/s") == int64(b.now)) != c.file || (mtime("/d") == int64(b.now)) != c.dir || !c.file && mtime("/d/s") != f || !c.dir && mtime("/d") != d {
			t.Errorf("%d: at %d the file's time is %d, the directory's %d", i, b.now, mtime("/d/s"), mtime("/d"))
		}
	}
	if before.Size() != 1 || before.ModTime() != time.UnixMilli(10) {
		t.Error("what was told of the file changed with it")
	}
}

func TestEventsComeLateAndInOrder(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Delay = 7 })
	b.world("/d/s", "1")
	b.watch("/d")
	b.must(b.WriteAtomic("/d/s", []byte("2")))
	b.now = 3
	b.must(b.Remove("/d/s"))
	b.until(6)
	b.wantTold()
	b.until(7)
	if len(b.told) != 4 || b.told[3] != "/d/s 1" {
		t.Errorf("after 7 ms: %v", b.told)
	}
	b.told = nil
	b.until(10)
	b.wantTold("/d/s 4")
}

// TestEqualEventsMerge: if they may, only neighbours, only while the first waits, and only of one watch.
func TestEqualEventsMerge(t *testing.T) {
	for _, merge := range []bool{false, true} {
		b := newBench(t, func(o *Options) { o.Merge = merge })
		b.world("/d/s", "1", "/d/x", "1")
		b.watch("/d")
		twice := []string{"/d/s 2", "/d/s 2"}
		b.must(b.Write("/d/s", []byte("2"))) // truncated, written
		b.until(1)
		if merge {
			b.wantTold(twice[:1]...)
		} else {
			b.wantTold(twice...)
		}
		write := func(p string) { b.must(b.WritePieces(p, nil)) } // one event
		write("/d/s")
		write("/d/x")
		write("/d/s")
		b.until(2)
		b.wantTold("/d/s 2", "/d/x 2", "/d/s 2")
		write("/d/s")
		b.until(3)
		write("/d/s")
		b.until(4)
		b.wantTold(twice...)
		b.must(b.Touch("/d/s"))
		write("/d/s")
		b.until(5)
		b.wantTold("/d/s 16", "/d/s 2")
		b.watch("/d")
		write("/d/s")
		b.until(6)
		b.wantTold(twice...)
	}
}

func TestAnOverflowLosesEventsAndIsTold(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Delay = 5 })
	b.world("/d/s", "1", "/e/s", "1")
	b.Overflow() // nobody watches
	b.until(5)
	b.wantTold()
	first := b.watch("/d")
	b.watch("/e")
	b.must(b.Touch("/d/s"))
	b.Overflow()
	b.must(b.Touch("/d/s"))
	b.must(b.Touch("/e/s"))
	b.until(10)
	b.wantTold("/d/s 16", "overflow") // once, whoever watches
	b.must(b.Touch("/e/s"))
	b.until(20)
	b.wantTold("/e/s 16")

	b.must(b.RemoveAll("/d"))
	b.must(b.RemoveAll("/e"))
	b.until(30)
	b.told = nil
	b.Overflow() // what was lost may be that the last directory went
	b.until(40)
	b.wantTold("overflow")
	b.must(first.Close())
	b.Overflow()
	for _, w := range append([]*watch(nil), b.watches...) {
		b.must(w.Close())
	}
	b.until(50)
	b.wantTold()
}

func TestAClosedWatchHearsNothing(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "1")
	heard := map[string]int{}
	w, err := b.h.Watch("/d", func(port.FSEvent) { heard["closed"]++ })
	b.must(err)
	_, err = b.h.Watch("/d", func(port.FSEvent) { heard["open"]++ })
	b.must(err)
	b.must(b.Touch("/d/s"))
	b.must(w.Close()) // while the event is on its way
	b.must(w.Close())
	b.until(1)
	b.must(b.Touch("/d/s"))
	b.until(2)
	if heard["closed"] != 0 || heard["open"] != 2 || !slices.Equal(b.Watched(), []string{"/d"}) {
		t.Errorf("%v, watched %v", heard, b.Watched())
	}
}

func TestWhatCannotBeWatched(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "1")
	b.must(b.PutLoop("/loop"))
	b.must(b.PutDangling("/dangling"))
	for p, no := range map[string]error{"/none": syscall.ENOENT, "/d/s": syscall.ENOTDIR, "/loop": syscall.ELOOP, "/dangling": syscall.ENOENT} {
		_, err := b.h.Watch(p, nil)
		b.want(err, no)
	}
	if len(b.Watched()) != 0 {
		t.Error(b.Watched())
	}
	b.watch("/d")
	b.must(b.Rename("/d", "/moved")) // the watch is of no use any more, and a new directory has none
	b.must(b.MkdirAll("/d"))
	b.until(1)
	b.told = nil
	b.must(b.Write("/d/s", []byte("2")))
	b.must(b.Write("/moved/s", []byte("2")))
	b.until(2)
	b.wantTold()
}

// TestWaysToSave: however a file is saved it holds the same in the end, and was never read half written where that is promised.
func TestWaysToSave(t *testing.T) {
	for name, save := range map[string]func(f *FS) error{
		"atomic":      func(f *FS) error { return f.WriteAtomic("/d/s", []byte("new")) },
		"retarget":    func(f *FS) error { return f.WriteRetarget("/d/s", []byte("new")) },
		"data swap":   func(f *FS) error { return f.WriteDataSwap("/d/s", []byte("new")) },
		"backup":      func(f *FS) error { return f.WriteBackup("/d/s", []byte("new")) },
		"in place":    func(f *FS) error { return f.Write("/d/s", []byte("new")) },
		"link target": func(f *FS) error { return f.WriteLinkTarget("/d/s", []byte("new")) },
	} {
		states := map[string]bool{}
		var b *bench
		b = newBench(t, func(o *Options) {
			o.Deliver = func(port.Ms, func()) { // at once: what a reader finds at each event
				data, state := b.ReadRaw("/d/s")
				states[fmt.Sprint(string(data), state)] = true
			}
		})
		b.world("/d/s", "old")
		b.watch("/d")
		for range 2 { // what it left is in nobody's way
			b.must(save(b.FS))
		}
		if data, state := b.ReadRaw("/d/s"); state != OK || string(data) != "new" {
			t.Errorf("%s: %q, %d", name, data, state)
		}
		delete(states, fmt.Sprint("old", OK))
		delete(states, fmt.Sprint("new", OK))
		whole := name == "atomic" || name == "retarget" || name == "data swap" || name == "link target"
		if whole != (len(states) == 0) {
			t.Errorf("%s: a reader could find %v", name, states)
		}
	}
}

// TestPiecesAreWrittenOneByOne: the first truncates, each is seen, all together are the data.
func TestPiecesAreWrittenOneByOne(t *testing.T) {
	for parts := range 6 {
		b := newBench(t)
		b.world("/d/s", "the old text")
		var seen []string
		for _, piece := range b.Pieces("/d/s", []byte("abcd"), parts) {
			b.must(piece())
			data, _ := b.ReadRaw("/d/s")
			seen = append(seen, string(data))
		}
		if len(seen) != max(parts, 1) || seen[len(seen)-1] != "abcd" || !sort.SliceIsSorted(seen, func(i, j int) bool { return len(seen[i]) < len(seen[j]) }) {
			t.Errorf("in %d pieces: %q", parts, seen)
		}
		for _, s := range seen {
			if !strings.HasPrefix("abcd", s) {
				t.Errorf("in %d pieces a reader found %q", parts, s)
			}
		}
	}
}

// TestAnOpenFileKeepsItsContent: it is the inode's, whatever happens to the name, and an open file's end is an end.
func TestAnOpenFileKeepsItsContent(t *testing.T) {
	b := newBench(t)
	b.world("/d/s", "abcdef")
	f, err := b.h.Open("/d/s")
	b.must(err)
	part := make([]byte, 2)
	_, err = io.ReadFull(f, part)
	b.must(err)
	b.must(b.WriteAtomic("/d/s", []byte("other")))
	rest, err := io.ReadAll(f)
	b.must(err)
	if string(part)+string(rest) != "abcdef" {
		t.Errorf("%s%s", part, rest)
	}
	_, err = f.Write([]byte("x"))
	b.want(err, syscall.EBADF)
	b.must(f.Close())
	_, err = f.Read(part)
	b.want(err, iofs.ErrClosed)
	b.want(f.Close(), iofs.ErrClosed)

	w, err := b.h.OpenFile("/d/s", os.O_RDWR|os.O_APPEND, 0)
	b.must(err)
	b.must(b.Write("/d/s", []byte("12"))) // behind its back
	_, err = w.Write([]byte("3"))
	b.must(err)
	if data, _ := b.ReadRaw("/d/s"); string(data) != "123" {
		t.Errorf("appended to get %q", data)
	}
	b.must(w.Close())
	b.want(w.Sync(), iofs.ErrClosed)

	d, err := b.h.Open("/d")
	b.must(err)
	b.world("/d/a", "", "/d/b", "")
	if names, err := d.Readdirnames(2); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Error(names, err)
	}
	if names, err := d.Readdirnames(-1); err != nil || !slices.Equal(names, []string{"s"}) {
		t.Error(names, err)
	}
	if _, err := d.Readdirnames(1); err != io.EOF {
		t.Error(err)
	}
}

// TestNamesThatHoldThemselves: no directory can be moved into itself or over what it is in.
func TestNamesThatHoldThemselves(t *testing.T) {
	b := newBench(t)
	b.world("/a/b/c/s", "1")
	before := b.tree()
	b.want(b.Rename("/a", "/a/b/x"), syscall.EINVAL)
	b.want(b.Rename("/a/b/c", "/a"), syscall.ENOTEMPTY)
	b.want(b.Rename("/", "/a/x"), syscall.EBUSY)
	b.want(b.Remove("/"), syscall.EBUSY)
	b.want(b.Remove("/a"), syscall.ENOTEMPTY)
	b.want(b.h.Rename("/a/b/c/s", "/a"), syscall.EEXIST)
	b.wantTree(before)
}
