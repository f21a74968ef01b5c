package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"syscall"

	"github.com/spf13/afero"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const (
	fileMode = 0o600 // APR-7
	dirMode  = 0o700
	// createNew opens a file that must not be there yet. Constants only: the system itself is reached through the port.
	createNew = syscall.O_WRONLY | syscall.O_CREAT | syscall.O_EXCL
)

// job runs one operation on the file's surroundings somewhere else, and then on the loop.
func (s *Store) job(what, path string, work func() error, then func(error)) {
	s.exec.Go(port.Op{Kind: port.OpPersist, Detail: what + " " + path}, func(context.Context) error { return work() }, then)
}

func (s *Store) wrote(path string) { s.o.Emit(&event.Event{Kind: event.Wrote, Path: path}) }

// makeDir creates the directory of the file if it is missing, and no other (INV-15).
func (s *Store) makeDir(then func(error)) {
	dir := filepath.Dir(s.o.Path)
	made := false
	s.job("mkdir", dir, func() error {
		_, err := s.fs.Stat(dir)
		if !errors.Is(err, iofs.ErrNotExist) {
			return err
		}
		if err := s.fs.Mkdir(dir, dirMode); err != nil {
			if errors.Is(err, iofs.ErrExist) {
				return nil // another process made it just now
			}
			return err
		}
		made = true
		return s.fs.SyncDir(filepath.Dir(dir))
	}, func(err error) {
		if made {
			s.wrote(dir)
		}
		then(err)
	})
}

// tryLock tries once.
func (s *Store) tryLock(then func(unlock func(), ok bool, err error)) {
	path := s.o.Path + ".lock"
	var unlock func()
	var ok, made bool
	s.job("lock", path, func() error {
		_, _, missing := s.fs.LstatIfPossible(path)
		var err error
		unlock, ok, err = s.fs.TryLock(path)
		made = ok && errors.Is(missing, iofs.ErrNotExist)
		return err
	}, func(err error) {
		if made {
			s.wrote(path)
		}
		then(unlock, ok && err == nil, err)
	})
}

const maxLinks = 40

// target is the file itself: written through links, never over one (APR-7).
func (s *Store) target() (string, error) {
	path := s.o.Path
	for range maxLinks {
		info, _, err := s.fs.LstatIfPossible(path)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		case info.Mode()&iofs.ModeSymlink == 0:
			return path, nil
		}
		to, err := s.fs.ReadlinkIfPossible(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Dir(path) + "/" + to // not joined: .. after a link is the target's parent
		}
		path = to
	}
	return "", errors.New("links that lead in a circle")
}

// draft is the new file before it has its name.
type draft struct {
	target, temp string
	data         []byte
	file         afero.File
}

// write makes the draft's temporary, whole and durable: two jobs.
func (s *Store) write(d *draft, then func(error)) {
	made := false
	s.job("write", d.temp, func() error {
		if err := s.fs.Remove(d.temp); err != nil && !errors.Is(err, iofs.ErrNotExist) { // of a process that died: we hold the lock
			return err
		}
		f, err := s.fs.OpenFile(d.temp, createNew, fileMode)
		if err != nil {
			return err
		}
		d.file, made = f, true
		return writeAll(f, d.data)
	}, func(err error) {
		if made {
			s.wrote(d.temp)
		}
		if err != nil {
			s.abandon(d, err, then)
			return
		}
		s.job("sync", d.temp, func() error {
			f := d.file
			d.file = nil
			return errors.Join(f.Sync(), f.Close())
		}, func(err error) {
			if err != nil {
				s.abandon(d, err, then)
				return
			}
			then(nil)
		})
	})
}

func writeAll(f afero.File, data []byte) error {
	n, err := f.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// abandon takes the temporary away; that it may stay behind costs nothing.
func (s *Store) abandon(d *draft, why error, then func(error)) {
	removed := false
	s.job("remove", d.temp, func() error {
		if d.file != nil {
			_ = d.file.Close()
			d.file = nil
		}
		removed = s.fs.Remove(d.temp) == nil
		return nil
	}, func(error) {
		if removed {
			s.wrote(d.temp)
		}
		then(why)
	})
}

// publish gives the temporary its name and makes that durable: two jobs. renamed says how far it came.
func (s *Store) publish(d *draft, then func(renamed bool, err error)) {
	s.job("rename", d.target, func() error { return s.fs.Rename(d.temp, d.target) }, func(err error) {
		if err != nil {
			s.abandon(d, err, func(err error) { then(false, err) })
			return
		}
		s.wrote(d.target)
		dir := filepath.Dir(d.target)
		s.job("sync", dir, func() error { return s.fs.SyncDir(dir) }, func(err error) { then(true, err) })
	})
}

// maxCorrupt bounds how many corrupt files are kept.
const maxCorrupt = 1000

// keep makes a file that is there durable.
func (s *Store) keep(path string) error {
	f, err := s.fs.OpenFile(path, syscall.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	err = f.Sync()
	return errors.Join(err, f.Close(), s.fs.SyncDir(filepath.Dir(path)))
}

// setAside keeps a copy of a corrupt file before the first write over it (APR-8). The file itself stays in its place until
// the new one takes it, so that a crash leaves one of the two.
func (s *Store) setAside(data []byte, then func(error)) {
	kept := ""
	s.job("set aside", s.o.Path, func() error {
		for n := 1; n <= maxCorrupt; n++ {
			path := fmt.Sprintf("%s.corrupt-%d", s.o.Path, n)
			f, err := s.fs.OpenFile(path, createNew, fileMode)
			if errors.Is(err, iofs.ErrExist) {
				if old, err := afero.ReadFile(s.fs, path); err == nil && bytes.Equal(old, data) {
					return s.keep(path) // an earlier attempt wrote it, and may not have lived to make it durable
				}
				continue
			}
			if err != nil {
				return err
			}
			kept = path
			err = writeAll(f, data)
			if err == nil {
				err = f.Sync()
			}
			if err = errors.Join(err, f.Close()); err != nil {
				_ = s.fs.Remove(path)
				return err
			}
			return s.fs.SyncDir(filepath.Dir(path))
		}
		return fmt.Errorf("%d corrupt files are kept already", maxCorrupt)
	}, func(err error) {
		if kept != "" {
			s.wrote(kept)
		}
		then(err)
	})
}

// restore puts back what was there before a write that is there and may not be durable: what is refused must not be on disk.
func (s *Store) restore(d *draft, old []byte, wasMissing bool, then func()) {
	if !wasMissing {
		back := &draft{target: d.target, temp: d.temp, data: old}
		s.write(back, func(err error) {
			if err != nil {
				then()
				return
			}
			s.publish(back, func(bool, error) { then() })
		})
		return
	}
	s.job("remove", d.target, func() error { return s.fs.Remove(d.target) }, func(err error) {
		if err == nil {
			s.wrote(d.target)
		}
		then()
	})
}
