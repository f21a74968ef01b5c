package real

import (
	"errors"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/afero"

	"mcpsim/impl/live"
	"mcpsim/impl/port"
)

var (
	errOver   = errors.New("the host process has ended")
	errNotDir = syscall.ENOTDIR
)

// hostFS is the live host's file system, with an eye on it: what each read got is kept, operations fail that a trace has
// armed a fault for, and nothing is done any more once the host process has died.
type hostFS struct {
	*live.FS
	lf *life

	mu      sync.Mutex
	got     map[string]string // what the last read of a path got, until its load
	faults  []*fault
	unlocks map[int]func()
	nLock   int
	watches map[*watch]bool
	marks   map[string]func() // barriers, by path
}

// fault makes operations fail, a number of times.
type fault struct {
	err   error
	ops   []string
	path  string // a beginning
	times int
}

func newHostFS(lf *life, l *live.Loop, armed []*fault) *hostFS {
	return &hostFS{FS: live.NewFS(l), lf: lf, got: map[string]string{}, faults: armed, unlocks: map[int]func(){},
		watches: map[*watch]bool{}, marks: map[string]func(){}}
}

// op is asked before every operation.
func (f *hostFS) op(name, p string) error {
	if f.lf.over.Load() {
		return &iofs.PathError{Op: name, Path: p, Err: errOver}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, x := range f.faults {
		if x.times == 0 || !strings.HasPrefix(p, x.path) {
			continue
		}
		for _, o := range x.ops {
			if o == name {
				x.times--
				return &iofs.PathError{Op: name, Path: p, Err: x.err}
			}
		}
	}
	return nil
}

// take is what the last read of a path got; it is taken once.
func (f *hostFS) take(p string) (string, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.got[p]
	delete(f.got, p)
	return s, ok
}

// Open opens for reading.
func (f *hostFS) Open(p string) (afero.File, error) { return f.OpenFile(p, os.O_RDONLY, 0) }

// OpenFile opens a file whose reads, writes and syncs may fail as armed.
func (f *hostFS) OpenFile(p string, flag int, perm os.FileMode) (afero.File, error) {
	if err := f.op("open", p); err != nil {
		return nil, err
	}
	x, err := f.FS.OpenFile(p, flag, perm)
	if err != nil {
		return nil, err
	}
	return &file{File: x, fs: f, path: p, reads: flag&(os.O_WRONLY|os.O_RDWR) == 0}, nil
}

type file struct {
	afero.File
	fs     *hostFS
	path   string
	reads  bool
	failed bool
	data   []byte
}

func (x *file) Read(b []byte) (int, error) {
	if err := x.fs.op("read", x.path); err != nil {
		x.failed = true
		return 0, err
	}
	n, err := x.File.Read(b)
	x.data = append(x.data, b[:n]...)
	return n, err
}

func (x *file) Write(b []byte) (int, error) {
	if err := x.fs.op("write", x.path); err != nil {
		return 0, err
	}
	return x.File.Write(b)
}

func (x *file) Sync() error {
	if err := x.fs.op("sync", x.path); err != nil {
		return err
	}
	return x.File.Sync()
}

func (x *file) Close() error {
	if x.reads && !x.failed {
		x.fs.mu.Lock()
		x.fs.got[x.path] = string(x.data)
		x.fs.mu.Unlock()
	}
	return x.File.Close()
}

func (f *hostFS) Mkdir(p string, m os.FileMode) error {
	return errors.Join(f.op("mkdir", p), f.unlessOver(func() error { return f.FS.Mkdir(p, m) }))
}

func (f *hostFS) unlessOver(g func() error) error {
	if f.lf.over.Load() {
		return errOver
	}
	return g()
}

func (f *hostFS) Remove(p string) error {
	if err := f.op("remove", p); err != nil {
		return err
	}
	return f.FS.Remove(p)
}

func (f *hostFS) Rename(from, to string) error {
	if err := f.op("rename", from); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

func (f *hostFS) Chmod(p string, m os.FileMode) error {
	if err := f.op("chmod", p); err != nil {
		return err
	}
	return f.FS.Chmod(p, m)
}

func (f *hostFS) SyncDir(p string) error {
	if err := f.op("syncdir", p); err != nil {
		return err
	}
	return f.FS.SyncDir(p)
}

// TryLock keeps what is held: the end of a process frees it.
func (f *hostFS) TryLock(p string) (func(), bool, error) {
	if err := f.op("lock", p); err != nil {
		return nil, false, err
	}
	unlock, ok, err := f.FS.TryLock(p)
	if err != nil || !ok {
		return nil, ok, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nLock++
	n := f.nLock
	f.unlocks[n] = unlock
	return func() { f.unlock(n) }, true, nil
}

func (f *hostFS) unlock(n int) {
	f.mu.Lock()
	u := f.unlocks[n]
	delete(f.unlocks, n)
	f.mu.Unlock()
	if u != nil {
		u()
	}
}

// die frees what the end of a process frees.
func (f *hostFS) die() {
	f.mu.Lock()
	var held []int
	for n := range f.unlocks {
		held = append(held, n)
	}
	f.mu.Unlock()
	for _, n := range held {
		f.unlock(n)
	}
}

// watch is a watch of the host.
type watch struct {
	port.Watch
	fs   *hostFS
	path string
	h    func(port.FSEvent)
}

// Watch watches a directory; the host does not see the world's own marks in it.
func (f *hostFS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	if err := f.op("watch", dir); err != nil {
		return nil, err
	}
	w := &watch{fs: f, path: dir, h: h}
	inner, err := f.FS.Watch(dir, func(ev port.FSEvent) {
		if strings.HasPrefix(filepath.Base(ev.Path), markName) {
			f.mu.Lock()
			seen := f.marks[ev.Path]
			f.mu.Unlock()
			if seen != nil {
				seen()
			}
			return
		}
		if !f.lf.over.Load() {
			h(ev)
		}
	})
	if err != nil {
		return nil, err
	}
	w.Watch = inner
	f.mu.Lock()
	f.watches[w] = true
	f.mu.Unlock()
	return w, nil
}

func (w *watch) Close() error {
	w.fs.mu.Lock()
	delete(w.fs.watches, w)
	w.fs.mu.Unlock()
	return w.Watch.Close()
}

const markName = ".mcpsim-mark"

// dirs are the directories that are watched.
func (f *hostFS) dirs() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := map[string]bool{}
	var out []string
	for w := range f.watches {
		if !seen[w.path] {
			out = append(out, w.path)
		}
		seen[w.path] = true
	}
	return out
}
