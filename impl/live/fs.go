package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
	"github.com/spf13/afero"

	"mcpsim/impl/port"
)

// FS is port.FS over the machine's file system. Everything but Watch and the Close of a Watch may be called from anywhere;
// those two belong to the loop.
type FS struct {
	afero.Fs
	afero.Lstater
	afero.LinkReader
	watches *watchTable
}

// NewFS returns the machine's file system; events of its watches run on the loop. Close it when the loop has ended.
func NewFS(l *Loop) *FS {
	o := &afero.OsFs{}
	return &FS{Fs: o, Lstater: o, LinkReader: o, watches: newWatchTable(l)}
}

// errNotRegular is what opening a FIFO, a socket or a device gives: reading one may wait for ever.
var errNotRegular = errors.New("neither a regular file nor a directory")

// Open opens a regular file or a directory for reading. Anything else is refused, without waiting for a writer.
func (f *FS) Open(name string) (afero.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile, with Open's restriction when a file is opened for reading only.
func (f *FS) OpenFile(name string, flag int, perm os.FileMode) (afero.File, error) {
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE) != 0 {
		return f.Fs.OpenFile(name, flag, perm)
	}
	file, err := f.Fs.OpenFile(name, flag|syscall.O_NONBLOCK, perm)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// SyncDir makes the entries of a directory durable.
func (f *FS) SyncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}

// TryLock takes the advisory lock (flock(2)) on the file at path. While it is held the file says who holds it, as
// "<pid> <program>", so that whoever gives up waiting can name the holder; otherwise the file is empty. The file stays.
func (f *FS) TryLock(path string) (unlock func(), ok bool, err error) {
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ok, err = l.TryLock()
	if err != nil || !ok {
		_ = l.Close()
		return nil, false, err
	}
	program := "unknown"
	if exe, err := os.Executable(); err == nil {
		program = exe
	}
	// The lock is what counts: a file that cannot be written (a full disk) only leaves the holder unnamed.
	_ = os.WriteFile(path, fmt.Appendf(nil, "%d %s\n", os.Getpid(), program), 0o600)
	return func() {
		_ = os.Truncate(path, 0)
		_ = l.Close()
	}, true, nil
}

// LockHolder is "pid <pid>, <program>" of the process that holds the lock on the file at path, or "" if it does not say.
func (f *FS) LockHolder(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	text := make([]byte, 1024)
	n, _ := file.Read(text)
	pid, program, ok := strings.Cut(strings.TrimSpace(string(text[:n])), " ")
	if _, err := strconv.Atoi(pid); err != nil || !ok {
		return ""
	}
	return "pid " + pid + ", " + strconv.Quote(program)
}

// Watch watches one directory. It is called on the loop, and h runs there.
func (f *FS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	return f.watches.add(dir, h)
}

// Close ends every watch and frees the watcher. It must not be called on the loop.
func (f *FS) Close() error { return f.watches.close() }
