package fakefs

import (
	"errors"
	"io"
	iofs "io/fs"
	"path"
	"syscall"
	"time"

	"github.com/spf13/afero"

	"mcpsim/impl/port"
)

// Host returns the file system as a host sees it.
func (f *FS) Host() port.FS { return &view{f} }

type view struct{ f *FS }

var errUnsupported = errors.New("fakefs: not supported")

func (v *view) op(name, p string) error {
	if v.f.o.OnOp != nil {
		if err := v.f.o.OnOp(name, p); err != nil {
			return &pathError{Op: name, Path: p, Err: err}
		}
	}
	return nil
}

func (v *view) wrote(p string) {
	if v.f.o.OnWrite != nil {
		v.f.o.OnWrite(p)
	}
}

func (v *view) Name() string { return "fakefs" }

func (v *view) Create(p string) (afero.File, error) {
	return v.OpenFile(p, syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC, 0o666)
}

func (v *view) Open(p string) (afero.File, error) { return v.OpenFile(p, syscall.O_RDONLY, 0) }

func (v *view) OpenFile(p string, flag int, mode iofs.FileMode) (afero.File, error) {
	if err := v.op("open", p); err != nil {
		return nil, err
	}
	writes := flag&(syscall.O_WRONLY|syscall.O_RDWR) != 0
	if !writes {
		_, _, _, n, err := v.f.walk(false).lookup(p, true)
		switch {
		case err == nil && n == nil:
			err = syscall.ENOENT
		case err == nil && n.mode&readable == 0:
			err = syscall.EACCES
		}
		if err != nil {
			return nil, &pathError{Op: "open", Path: p, Err: err}
		}
		return &handle{v: v, path: p, n: n, reads: true}, nil
	}
	excl := flag&syscall.O_CREAT != 0 && flag&syscall.O_EXCL != 0
	if _, _, _, there, err := v.f.walk(false).lookup(p, true); !excl {
		switch {
		case err == nil && there == nil && flag&syscall.O_CREAT == 0:
			err = syscall.ENOENT
		case err == nil && there != nil && there.kind == file && flag&syscall.O_RDWR != 0 && there.mode&readable == 0:
			err = syscall.EACCES
		}
		if err != nil {
			return nil, &pathError{Op: "open", Path: p, Err: err}
		}
	}
	at, n, fresh, err := v.f.create(host, p, mode, excl)
	if err != nil {
		return nil, &pathError{Op: "open", Path: p, Err: err}
	}
	h := &handle{v: v, path: p, n: n, at: at, writes: true, reads: flag&syscall.O_RDWR != 0, appends: flag&syscall.O_APPEND != 0}
	if fresh {
		v.wrote(p)
	}
	if flag&syscall.O_TRUNC != 0 && !fresh {
		v.f.putData(host, n, nil)
		v.f.at(at, port.FSWrite)
		v.wrote(p)
	}
	return h, nil
}

func (v *view) Mkdir(p string, mode iofs.FileMode) error {
	if err := v.op("mkdir", p); err != nil {
		return err
	}
	err := v.f.mkdir(host, p, mode)
	if err == nil {
		v.wrote(p)
	}
	return err
}

func (v *view) MkdirAll(p string, mode iofs.FileMode) error {
	if err := v.op("mkdir", p); err != nil {
		return err
	}
	had := v.f.Exists(p)
	err := v.f.mkdirAll(host, p, mode)
	if err == nil && !had {
		v.wrote(p)
	}
	return err
}

func (v *view) Remove(p string) error {
	if err := v.op("remove", p); err != nil {
		return err
	}
	err := v.f.remove(host, p)
	if err == nil {
		v.wrote(p)
	}
	return err
}

func (v *view) RemoveAll(p string) error {
	if err := v.op("remove", p); err != nil {
		return err
	}
	had := v.f.Exists(p)
	err := v.f.removeAll(host, p)
	if err == nil && had {
		v.wrote(p)
	}
	return err
}

func (v *view) Rename(from, to string) error {
	if err := v.op("rename", from); err != nil {
		return err
	}
	// os.Rename refuses to replace a directory.
	_, _, _, n, err1 := v.f.walk(false).lookup(from, false)
	_, _, _, old, err2 := v.f.walk(false).lookup(to, false)
	if err2 == nil && old != nil && old.kind == dir {
		switch {
		case err1 != nil:
			return &pathError{Op: "rename", Path: from, Err: err1}
		case n == nil:
			return &pathError{Op: "rename", Path: from, Err: syscall.ENOENT}
		case n != old || from == to:
			return &pathError{Op: "rename", Path: from, Err: syscall.EEXIST}
		}
	}
	err := v.f.rename(host, from, to)
	if err == nil {
		v.wrote(to)
	}
	return err
}

func (v *view) stat(op, p string, follow bool) (iofs.FileInfo, error) {
	if err := v.op(op, p); err != nil {
		return nil, err
	}
	_, _, _, n, err := v.f.walk(false).lookup(p, follow)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return nil, &pathError{Op: op, Path: p, Err: err}
	}
	return infoOf(path.Base(p), n), nil
}

func (v *view) Stat(p string) (iofs.FileInfo, error) { return v.stat("stat", p, true) }

func (v *view) LstatIfPossible(p string) (iofs.FileInfo, bool, error) {
	i, err := v.stat("lstat", p, false)
	return i, true, err
}

func (v *view) ReadlinkIfPossible(p string) (string, error) {
	if err := v.op("readlink", p); err != nil {
		return "", err
	}
	_, _, _, n, err := v.f.walk(false).lookup(p, false)
	switch {
	case err == nil && n == nil:
		err = syscall.ENOENT
	case err == nil && n.kind != link:
		err = syscall.EINVAL
	}
	if err != nil {
		return "", &pathError{Op: "readlink", Path: p, Err: err}
	}
	return n.target, nil
}

func (v *view) Chmod(p string, mode iofs.FileMode) error {
	if err := v.op("chmod", p); err != nil {
		return err
	}
	err := v.f.chmod(host, p, mode)
	if err == nil {
		v.wrote(p)
	}
	return err
}

func (v *view) Chown(string, int, int) error               { return errUnsupported }
func (v *view) Chtimes(string, time.Time, time.Time) error { return errUnsupported }

// SyncDir makes a directory's entries durable.
func (v *view) SyncDir(p string) error {
	if err := v.op("syncdir", p); err != nil {
		return err
	}
	_, _, _, n, err := v.f.walk(false).lookup(p, true)
	if err == nil && n == nil {
		err = syscall.ENOENT
	} else if err == nil && n.mode&readable == 0 {
		err = syscall.EACCES
	}
	if err != nil {
		return &pathError{Op: "syncdir", Path: p, Err: err}
	}
	for k := range v.f.undoEnt {
		if k.dir == n {
			delete(v.f.undoEnt, k)
		}
	}
	return nil
}

// TryLock takes the advisory lock kept in a file, which is made if it is missing.
func (v *view) TryLock(p string) (func(), bool, error) {
	if err := v.op("lock", p); err != nil {
		return nil, false, err
	}
	at, n, fresh, err := v.f.create(host, p, 0o600, false)
	if err == nil && !fresh && n.mode&readable == 0 {
		err = syscall.EACCES
	}
	if err != nil {
		return nil, false, &pathError{Op: "lock", Path: p, Err: err}
	}
	if fresh {
		v.wrote(p)
	}
	if _, held := v.f.locks[n]; held {
		return nil, false, nil
	}
	v.f.locks[n] = host
	name := func(text string) { // of the holder, while there is one
		v.f.putData(host, n, []byte(text))
		v.f.at(at, port.FSWrite)
	}
	name("1 host\n")
	epoch, held := v.f.epoch, true
	return func() {
		if held && v.f.epoch == epoch {
			held = false
			name("")
			delete(v.f.locks, n)
		}
	}, true, nil
}

func (v *view) Watch(p string, h func(port.FSEvent)) (port.Watch, error) {
	if err := v.op("watch", p); err != nil {
		return nil, err
	}
	return v.f.watchDir(p, h)
}

// handle is an open file: it keeps its inode, whatever happens to the name.
type handle struct {
	v    *view
	path string
	n    *inode
	at   *place // if it is open for writing
	off  int

	reads, writes, appends, closed bool
}

// op is asked before every operation; allowed says whether the file was opened for it.
func (h *handle) op(name string, allowed bool, otherwise error) error {
	if h.closed {
		return &pathError{Op: name, Path: h.path, Err: iofs.ErrClosed}
	}
	if err := h.v.op(name, h.path); err != nil {
		return err
	}
	if !allowed {
		return &pathError{Op: name, Path: h.path, Err: otherwise}
	}
	return nil
}

func (h *handle) Close() error {
	if h.closed {
		return &pathError{Op: "close", Path: h.path, Err: iofs.ErrClosed}
	}
	h.closed = true
	return nil
}

func (h *handle) Read(b []byte) (int, error) {
	n, err := h.ReadAt(b, int64(h.off))
	h.off += n
	if n > 0 {
		err = nil
	}
	return n, err
}

func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	if err := h.op("read", h.reads, syscall.EBADF); err != nil {
		return 0, err
	}
	if h.n.kind == dir {
		return 0, &pathError{Op: "read", Path: h.path, Err: syscall.EISDIR}
	}
	n := 0
	if off < int64(len(h.n.data)) {
		n = copy(b, h.n.data[off:])
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (h *handle) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += int64(h.off)
	case io.SeekEnd:
		off += int64(len(h.n.data))
	}
	if h.closed {
		return 0, &pathError{Op: "seek", Path: h.path, Err: iofs.ErrClosed}
	}
	if off < 0 {
		return 0, &pathError{Op: "seek", Path: h.path, Err: syscall.EINVAL}
	}
	h.off = int(off)
	return off, nil
}

func (h *handle) Write(b []byte) (int, error) {
	if err := h.op("write", h.writes, syscall.EBADF); err != nil || len(b) == 0 {
		return 0, err
	}
	if h.appends {
		h.off = len(h.n.data)
	}
	data := make([]byte, max(len(h.n.data), h.off+len(b)))
	copy(data, h.n.data)
	copy(data[h.off:], b)
	h.put(data)
	h.off += len(b)
	return len(b), nil
}

func (h *handle) put(data []byte) {
	h.v.f.putData(host, h.n, data)
	h.v.f.at(h.at, port.FSWrite)
	h.v.wrote(h.path)
}

func (h *handle) Truncate(size int64) error {
	if err := h.op("truncate", h.writes && size >= 0, syscall.EINVAL); err != nil {
		return err
	}
	data := make([]byte, size)
	copy(data, h.n.data)
	h.put(data)
	return nil
}

// Sync makes the file's content durable.
func (h *handle) Sync() error {
	if err := h.op("sync", true, nil); err != nil {
		return err
	}
	delete(h.v.f.undoData, h.n)
	return nil
}

func (h *handle) WriteAt([]byte, int64) (int, error)   { return 0, errUnsupported }
func (h *handle) WriteString(s string) (int, error)    { return h.Write([]byte(s)) }
func (h *handle) Name() string                         { return h.path }
func (h *handle) Readdir(int) ([]iofs.FileInfo, error) { return nil, errUnsupported }

func (h *handle) Stat() (iofs.FileInfo, error) {
	if h.closed {
		return nil, &pathError{Op: "stat", Path: h.path, Err: iofs.ErrClosed}
	}
	return infoOf(path.Base(h.path), h.n), nil
}

// Readdirnames continues where it was; a Seek to 0 begins again.
func (h *handle) Readdirnames(n int) ([]string, error) {
	if h.closed {
		return nil, &pathError{Op: "readdir", Path: h.path, Err: iofs.ErrClosed}
	}
	if h.n.kind != dir {
		return nil, &pathError{Op: "readdir", Path: h.path, Err: syscall.ENOTDIR}
	}
	rest := h.n.ents[min(h.off, len(h.n.ents)):]
	if n > 0 && len(rest) == 0 {
		return nil, io.EOF
	}
	if n > 0 {
		rest = rest[:min(n, len(rest))]
	}
	var out []string
	for _, e := range rest {
		out = append(out, e.name)
	}
	h.off += len(out)
	return out, nil
}

// info is a file's description at one moment.
type info struct {
	name  string
	size  int64
	mode  iofs.FileMode
	mtime port.Ms
	no    uint64
}

func infoOf(name string, n *inode) iofs.FileInfo {
	m, size := n.mode, len(n.data)+len(n.target)
	switch n.kind {
	case dir:
		m |= iofs.ModeDir
	case link:
		m |= iofs.ModeSymlink
	}
	return info{name, int64(size), m, n.mtime, n.no}
}

func (i info) Name() string        { return i.name }
func (i info) Size() int64         { return i.size }
func (i info) Mode() iofs.FileMode { return i.mode }
func (i info) ModTime() time.Time  { return time.UnixMilli(int64(i.mtime)) }
func (i info) IsDir() bool         { return i.mode.IsDir() }
func (i info) Sys() any            { return i.no }
