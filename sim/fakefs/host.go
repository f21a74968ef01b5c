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
		case err == nil && n.mode&0o444 == 0:
			err = syscall.EACCES
		}
		if err != nil {
			return nil, &pathError{Op: "open", Path: p, Err: err}
		}
		return &handle{v: v, path: p, n: n}, nil
	}
	if flag&syscall.O_CREAT == 0 {
		if _, _, _, n, err := v.f.walk(false).lookup(p, true); err != nil || n == nil {
			if err == nil {
				err = syscall.ENOENT
			}
			return nil, &pathError{Op: "open", Path: p, Err: err}
		}
	}
	at, n, fresh, err := v.f.create(host, p, mode, flag&syscall.O_EXCL != 0)
	if err != nil {
		return nil, &pathError{Op: "open", Path: p, Err: err}
	}
	h := &handle{v: v, path: p, n: n, at: at, writes: true, appends: flag&syscall.O_APPEND != 0}
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
	if !v.f.Exists(p) {
		v.wrote(p)
	}
	return v.f.mkdirAll(host, p, mode)
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
	v.wrote(p)
	return v.f.removeAll(host, p)
}

func (v *view) Rename(from, to string) error {
	if err := v.op("rename", from); err != nil {
		return err
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
	_, _, name, n, err := v.f.walk(false).lookup(p, follow)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return nil, &pathError{Op: op, Path: p, Err: err}
	}
	return infoOf(name, n), nil
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
	v.wrote(p)
	return v.f.chmod(host, p, mode)
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
	if v.f.locks[p] != "" {
		return nil, false, nil
	}
	if _, _, fresh, err := v.f.create(host, p, 0o600, false); err != nil {
		return nil, false, &pathError{Op: "lock", Path: p, Err: err}
	} else if fresh {
		v.wrote(p)
	}
	v.f.locks[p] = "host"
	epoch := v.f.epoch
	return func() {
		if v.f.epoch == epoch && v.f.locks[p] == "host" {
			delete(v.f.locks, p)
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
	v               *view
	path            string
	n               *inode
	at              *place // if it is open for writing
	off             int
	writes, appends bool
}

func (h *handle) Close() error { return nil }

func (h *handle) Read(b []byte) (int, error) {
	if err := h.v.op("read", h.path); err != nil {
		return 0, err
	}
	if h.n.kind == dir {
		return 0, &pathError{Op: "read", Path: h.path, Err: syscall.EISDIR}
	}
	if h.off >= len(h.n.data) {
		return 0, io.EOF
	}
	n := copy(b, h.n.data[h.off:])
	h.off += n
	return n, nil
}

func (h *handle) ReadAt(b []byte, off int64) (int, error) {
	if off >= int64(len(h.n.data)) {
		return 0, io.EOF
	}
	return copy(b, h.n.data[off:]), nil
}

func (h *handle) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += int64(h.off)
	case io.SeekEnd:
		off += int64(len(h.n.data))
	}
	h.off = int(off)
	return off, nil
}

func (h *handle) Write(b []byte) (int, error) {
	if !h.writes {
		return 0, &pathError{Op: "write", Path: h.path, Err: syscall.EBADF}
	}
	if err := h.v.op("write", h.path); err != nil {
		return 0, err
	}
	if len(b) == 0 {
		return 0, nil
	}
	if h.appends {
		h.off = len(h.n.data)
	}
	data := append([]byte(nil), h.n.data[:min(h.off, len(h.n.data))]...)
	data = append(data, b...)
	if h.off+len(b) < len(h.n.data) {
		data = append(data, h.n.data[h.off+len(b):]...)
	}
	h.v.f.putData(host, h.n, data)
	h.off += len(b)
	h.v.f.at(h.at, port.FSWrite)
	h.v.wrote(h.path)
	return len(b), nil
}

func (h *handle) WriteAt([]byte, int64) (int, error)   { return 0, errUnsupported }
func (h *handle) WriteString(s string) (int, error)    { return h.Write([]byte(s)) }
func (h *handle) Name() string                         { return h.path }
func (h *handle) Stat() (iofs.FileInfo, error)         { return infoOf(path.Base(h.path), h.n), nil }
func (h *handle) Readdir(int) ([]iofs.FileInfo, error) { return nil, errUnsupported }

func (h *handle) Readdirnames(int) ([]string, error) {
	var out []string
	for _, e := range h.n.ents {
		out = append(out, e.name)
	}
	return out, nil
}

// Sync makes the file's content durable.
func (h *handle) Sync() error {
	if err := h.v.op("sync", h.path); err != nil {
		return err
	}
	delete(h.v.f.undoData, h.n)
	return nil
}

func (h *handle) Truncate(size int64) error {
	if err := h.v.op("truncate", h.path); err != nil {
		return err
	}
	h.v.f.putData(host, h.n, append([]byte(nil), h.n.data[:min(int(size), len(h.n.data))]...))
	h.v.f.at(h.at, port.FSWrite)
	return nil
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
	m := n.mode
	switch n.kind {
	case dir:
		m |= iofs.ModeDir
	case link:
		m |= iofs.ModeSymlink
	}
	return info{name, int64(len(n.data)), m, n.mtime, n.no}
}

func (i info) Name() string        { return i.name }
func (i info) Size() int64         { return i.size }
func (i info) Mode() iofs.FileMode { return i.mode }
func (i info) ModTime() time.Time  { return time.UnixMilli(int64(i.mtime)) }
func (i info) IsDir() bool         { return i.mode.IsDir() }
func (i info) Sys() any            { return i.no }
