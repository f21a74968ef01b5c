package fakefs

import (
	"fmt"
	iofs "io/fs"
	"path"
	"syscall"

	"mcpsim/impl/port"
)

// The world's own edits. Permissions do not stop it, nothing is faulted, all is durable at once.

// MkdirAll makes a directory with its parents.
func (f *FS) MkdirAll(p string) error { return f.mkdirAll(world, p, 0o755) }

// RemoveAll is rm -r.
func (f *FS) RemoveAll(p string) error { return f.removeAll(world, p) }

// Remove unlinks a file, a link or an empty directory.
func (f *FS) Remove(p string) error { return f.remove(world, p) }

// Rename moves a file, link or directory.
func (f *FS) Rename(from, to string) error { return f.rename(world, from, to) }

// Symlink makes a link at p.
func (f *FS) Symlink(target, p string) error { return f.symlink(world, target, p) }

// Chmod sets permission bits.
func (f *FS) Chmod(p string, mode iofs.FileMode) error { return f.chmod(world, p, mode) }

// Touch changes a file's time; a missing file is made.
func (f *FS) Touch(p string) error {
	at, n, _, err := f.create(world, p, 0o644, false)
	if err != nil {
		return &pathError{Op: "touch", Path: p, Err: err}
	}
	n.mtime = f.o.Now()
	f.at(at, port.FSChmod)
	return nil
}

// Exists reports whether something is at p, links not followed.
func (f *FS) Exists(p string) bool {
	_, _, _, n, err := f.walk(true).lookup(p, false)
	return err == nil && n != nil
}

// IsLink reports whether p itself is a link.
func (f *FS) IsLink(p string) bool {
	_, _, _, n, err := f.walk(true).lookup(p, false)
	return err == nil && n != nil && n.kind == link
}

// Perm is what the permission bits at p are; 0 if nothing is there.
func (f *FS) Perm(p string) iofs.FileMode {
	_, _, _, n, err := f.walk(true).lookup(p, true)
	if err != nil || n == nil {
		return 0
	}
	return n.mode
}

// Write writes a file in place: it is truncated, then written.
func (f *FS) Write(p string, data []byte) error { return f.write(p, data, 1) }

// write writes the data in so many pieces, one after the other.
func (f *FS) write(p string, data []byte, parts int) error {
	for _, piece := range f.Pieces(p, data, parts) {
		if err := piece(); err != nil {
			return err
		}
	}
	return nil
}

// WritePieces writes a file in place: it is truncated, then each piece is written.
func (f *FS) WritePieces(p string, pieces []string) error {
	at, n, fresh, err := f.create(world, p, 0o644, false)
	if err != nil {
		return &pathError{Op: "write", Path: p, Err: err}
	}
	if !fresh {
		f.putData(world, n, nil)
		f.at(at, port.FSWrite)
	}
	for _, s := range pieces {
		if s != "" {
			f.putData(world, n, append(append([]byte(nil), n.data...), s...))
			f.at(at, port.FSWrite)
		}
	}
	return nil
}

// Link gives a file a second name.
func (f *FS) Link(old, p string) error {
	_, _, _, n, err := f.walk(true).lookup(old, false)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return &pathError{Op: "link", Path: old, Err: err}
	}
	d, _, name, there, err := f.walk(true).lookup(p, false)
	if err == nil && there != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return &pathError{Op: "link", Path: p, Err: err}
	}
	f.putEntry(world, d, name, n)
	f.happened(d, name, port.FSCreate)
	return nil
}

// Pieces returns the parts of a write in place as operations: the first truncates as well, the caller decides what happens
// between them.
func (f *FS) Pieces(p string, data []byte, parts int) []func() error {
	if parts < 1 {
		parts = 1
	}
	var out []func() error
	var in *inode
	var at *place
	for i := 0; i < parts; i++ {
		from, to := len(data)*i/parts, len(data)*(i+1)/parts
		first := i == 0
		out = append(out, func() error {
			if first {
				var fresh bool
				var err error
				if at, in, fresh, err = f.create(world, p, 0o644, false); err != nil {
					return &pathError{Op: "write", Path: p, Err: err}
				}
				if !fresh {
					f.putData(world, in, nil)
					f.at(at, port.FSWrite)
				}
			}
			if to > from {
				f.putData(world, in, append(append([]byte(nil), in.data...), data[from:to]...))
				f.at(at, port.FSWrite)
			}
			return nil
		})
	}
	return out
}

// WriteAtomic writes a temporary beside the file and renames it over; a link is replaced, as most editors do.
func (f *FS) WriteAtomic(p string, data []byte) error {
	tmp := path.Join(path.Dir(p), fmt.Sprintf(".%s.tmp%d", path.Base(p), f.next))
	if err := f.Write(tmp, data); err != nil {
		return err
	}
	return f.Rename(tmp, p)
}

// WriteBackup saves as vim does: the old file moves to a backup, the new one is written, the backup goes.
func (f *FS) WriteBackup(p string, data []byte) error {
	had := f.Exists(p)
	if had {
		if err := f.Rename(p, p+"~"); err != nil {
			return err
		}
	}
	if err := f.Write(p, data); err != nil {
		return err
	}
	if err := f.Chmod(p, 0o644); err != nil {
		return err
	}
	if had {
		return f.RemoveAll(p + "~")
	}
	return nil
}

// store is where the targets of links are kept, far from every watched directory.
const store = "/store"

// WriteLinkTarget edits the file that p links to; p is made a link first if it is none.
func (f *FS) WriteLinkTarget(p string, data []byte) error {
	if f.IsLink(p) {
		if _, _, _, n, err := f.walk(true).lookup(p, true); err == nil && n != nil && n.kind == file {
			return f.Write(p, data)
		}
	}
	return f.WriteRetarget(p, data)
}

// WriteRetarget writes a new file elsewhere and swaps the link at p to it by a rename.
func (f *FS) WriteRetarget(p string, data []byte) error {
	dst := path.Join(store, fmt.Sprint(f.next))
	if err := f.MkdirAll(dst); err != nil {
		return err
	}
	target := path.Join(dst, path.Base(p))
	if err := f.Write(target, data); err != nil {
		return err
	}
	return f.swapLink(target, p)
}

func (f *FS) swapLink(target, p string) error {
	tmp := path.Join(path.Dir(p), fmt.Sprintf(".%s.lnk%d", path.Base(p), f.next))
	if err := f.Symlink(target, tmp); err != nil {
		return err
	}
	return f.Rename(tmp, p)
}

// WriteDataSwap saves as a Kubernetes volume does: p links to ..data/base, ..data links to a directory that is swapped.
func (f *FS) WriteDataSwap(p string, data []byte) error {
	at, base := path.Dir(p), path.Base(p)
	version := fmt.Sprintf("..v%d", f.next)
	if err := f.MkdirAll(path.Join(at, version)); err != nil {
		return err
	}
	if err := f.Write(path.Join(at, version, base), data); err != nil {
		return err
	}
	old := ""
	if _, _, _, n, err := f.walk(true).lookup(path.Join(at, "..data"), false); err == nil && n != nil && n.kind == link {
		old = path.Join(at, n.target)
	}
	if err := f.swapLink(version, path.Join(at, "..data")); err != nil {
		return err
	}
	if !f.IsLink(p) || !f.pointsTo(p, "..data/"+base) {
		if err := f.swapLink("..data/"+base, p); err != nil {
			return err
		}
	}
	if old != "" {
		return f.RemoveAll(old)
	}
	return nil
}

func (f *FS) pointsTo(p, target string) bool {
	_, _, _, n, err := f.walk(true).lookup(p, false)
	return err == nil && n != nil && n.target == target
}

// PutDirectory, PutDangling and PutLoop put something at p that is there and cannot be read.
func (f *FS) PutDirectory(p string) error {
	if err := f.RemoveAll(p); err != nil {
		return err
	}
	return f.mkdir(world, p, 0o755)
}

// PutDangling puts a link that leads nowhere.
func (f *FS) PutDangling(p string) error { return f.replaceByLink(p, path.Join(store, "nowhere")) }

// PutLoop puts a link to itself.
func (f *FS) PutLoop(p string) error { return f.replaceByLink(p, path.Base(p)) }

func (f *FS) replaceByLink(p, target string) error {
	if err := f.RemoveAll(p); err != nil {
		return err
	}
	return f.Symlink(target, p)
}

// HoldLock lets another process hold the lock kept in a file, which it makes if it is missing, and its directory. It does
// nothing if somebody holds it.
func (f *FS) HoldLock(p string) {
	if err := f.MkdirAll(path.Dir(p)); err != nil {
		return
	}
	_, n, _, err := f.create(world, p, 0o600, false)
	if err != nil {
		return
	}
	if _, held := f.locks[n]; !held {
		f.locks[n], f.theirs[p] = world, n
	}
}

// ReleaseLock frees a lock that another process held.
func (f *FS) ReleaseLock(p string) {
	if n := f.theirs[p]; n != nil { // wherever the file is by now
		delete(f.locks, n)
		delete(f.theirs, p)
	}
}
