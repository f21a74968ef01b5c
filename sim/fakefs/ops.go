package fakefs

import (
	iofs "io/fs"
	"path"
	"syscall"

	"mcpsim/impl/port"
)

type pathError = iofs.PathError

// by is who acts: the world, whose edits are durable and unfaulted, or the host.
type by uint8

const (
	world by = iota
	host
)

// putEntry changes a directory's entry and remembers what is durable there.
func (f *FS) putEntry(who by, d *inode, name string, n *inode) {
	k := entryKey{d, name}
	if who == host {
		if _, saved := f.undoEnt[k]; !saved {
			f.undoEnt[k] = d.get(name)
		}
	} else {
		delete(f.undoEnt, k)
	}
	d.set(name, n)
	d.mtime = f.o.Now()
}

func (f *FS) putData(who by, n *inode, data []byte) {
	if who == host {
		if _, saved := f.undoData[n]; !saved {
			f.undoData[n] = n.data
		}
	} else {
		delete(f.undoData, n)
	}
	n.data = data
	n.mtime = f.o.Now()
}

// Crash is the end of the machine's memory: with lost, everything the host wrote and did not sync is undone. The host's
// locks and watches are gone in any case.
func (f *FS) Crash(lost bool) {
	f.epoch++
	f.watches, f.overflow, f.tail = nil, false, nil
	for n, who := range f.locks {
		if who == host {
			delete(f.locks, n)
		}
	}
	if lost {
		for k, n := range f.undoEnt {
			k.dir.set(k.name, n)
		}
		for n, data := range f.undoData {
			n.data = data
		}
	}
	f.undoEnt, f.undoData = map[entryKey]*inode{}, map[*inode][]byte{}
}

func (f *FS) mkdir(who by, p string, mode iofs.FileMode) error {
	d, _, name, n, err := f.walk(who == world).lookup(p, false)
	switch {
	case err != nil:
		return &pathError{Op: "mkdir", Path: p, Err: err}
	case n != nil:
		return &pathError{Op: "mkdir", Path: p, Err: syscall.EEXIST}
	case who == host && d.mode&writable == 0:
		return &pathError{Op: "mkdir", Path: p, Err: syscall.EACCES}
	}
	f.putEntry(who, d, name, f.inode(dir, mode&0o777))
	f.happened(d, name, port.FSCreate)
	return nil
}

func (f *FS) mkdirAll(who by, p string, mode iofs.FileMode) error {
	p = path.Clean("/" + p)
	if p == "/" {
		return nil
	}
	if _, _, _, n, err := f.walk(who == world).lookup(p, true); err == nil && n != nil && n.kind == dir {
		return nil
	}
	if err := f.mkdirAll(who, path.Dir(p), mode); err != nil {
		return err
	}
	return f.mkdir(who, p, mode)
}

// create opens a path for writing: where it is, the inode, whether it is new, or an error.
func (f *FS) create(who by, p string, mode iofs.FileMode, excl bool) (at *place, n *inode, fresh bool, err error) {
	d, _, name, n, err := f.walk(who == world).lookup(p, !excl)
	switch {
	case err != nil:
		return nil, nil, false, err
	case n != nil && excl:
		return nil, nil, false, syscall.EEXIST
	case n != nil && n.kind == dir:
		return nil, nil, false, syscall.EISDIR
	case n != nil && who == host && n.mode&writable == 0:
		return nil, nil, false, syscall.EACCES
	case n != nil:
		return placeOf(d, name), n, false, nil
	case who == host && d.mode&writable == 0:
		return nil, nil, false, syscall.EACCES
	}
	n = f.inode(file, mode&0o777)
	f.putEntry(who, d, name, n)
	if who == host {
		f.undoData[n] = nil
	}
	f.happened(d, name, port.FSCreate)
	return placeOf(d, name), n, true, nil
}

func placeOf(d *inode, name string) *place {
	i, _ := d.find(name)
	e := &d.ents[i]
	if e.at == nil {
		e.at = &place{d, name}
	}
	return e.at
}

func (f *FS) remove(who by, p string) error {
	d, _, name, n, err := f.walk(who == world).lookup(p, false)
	switch {
	case err == nil && n == nil:
		err = syscall.ENOENT
	case err == nil && who == host && d.mode&writable == 0:
		err = syscall.EACCES
	case err == nil && n == f.root:
		err = syscall.EBUSY
	case err == nil && n.kind == dir && len(n.ents) > 0:
		err = syscall.ENOTEMPTY
	}
	if err != nil {
		return &pathError{Op: "remove", Path: p, Err: err}
	}
	f.putEntry(who, d, name, nil)
	f.happened(d, name, port.FSRemove)
	if n.kind == dir {
		f.self(n, port.FSRemove, d, name)
		f.gone(n)
	}
	return nil
}

// removeAll is rm -r: what is inside goes first, in order of name.
func (f *FS) removeAll(who by, p string) error {
	_, _, _, n, err := f.walk(who == world).lookup(p, false)
	if err != nil || n == nil {
		return nil
	}
	if n.kind == dir {
		for _, e := range append([]entry(nil), n.ents...) {
			if err := f.removeAll(who, path.Join(p, e.name)); err != nil {
				return err
			}
		}
	}
	return f.remove(who, p)
}

func (f *FS) rename(who by, from, to string) error {
	fail := func(err error) error { return &pathError{Op: "rename", Path: from, Err: err} }
	d1, _, n1, n, err := f.walk(who == world).lookup(from, false)
	if err != nil {
		return fail(err)
	}
	d2, _, n2, old, err := f.walk(who == world).lookup(to, false)
	switch {
	case err != nil:
		return fail(err)
	case n == nil:
		return fail(syscall.ENOENT)
	case n == f.root || old == f.root:
		return fail(syscall.EBUSY)
	case n == old:
		return nil // two names of one file: nothing is done
	case holds(n, d2):
		return fail(syscall.EINVAL)
	case holds(old, d1):
		return fail(syscall.ENOTEMPTY)
	case who == host && (d1.mode&writable == 0 || d2.mode&writable == 0):
		return fail(syscall.EACCES)
	case old != nil && old.kind == dir && n.kind != dir:
		return fail(syscall.EISDIR)
	case old != nil && old.kind != dir && n.kind == dir:
		return fail(syscall.ENOTDIR)
	case who == host && n.kind == dir && d1 != d2 && n.mode&writable == 0: // it gets another ".."
		return fail(syscall.EACCES)
	case old != nil && old.kind == dir && len(old.ents) > 0:
		return fail(syscall.ENOTEMPTY)
	}
	i, _ := d1.find(n1)
	at := d1.ents[i].at
	f.putEntry(who, d1, n1, nil)
	f.putEntry(who, d2, n2, n)
	if at != nil {
		*at = place{d2, n2}
		i, _ = d2.find(n2)
		d2.ents[i].at = at
	}
	f.happened(d1, n1, port.FSRename)
	f.happened(d2, n2, port.FSCreate)
	if n.kind == dir {
		f.self(n, port.FSRename, d1, n1)
		f.gone(n)
	}
	if old != nil && old.kind == dir {
		f.self(old, port.FSChmod, nil, "")
		f.self(old, port.FSRemove, nil, "")
		f.gone(old)
	}
	return nil
}

// holds reports whether directory d is top or below it.
func holds(top, d *inode) bool {
	if top == nil || top.kind != dir {
		return false
	}
	if top == d {
		return true
	}
	for _, e := range top.ents {
		if holds(e.n, d) {
			return true
		}
	}
	return false
}

func (f *FS) symlink(who by, target, p string) error {
	d, _, name, n, err := f.walk(who == world).lookup(p, false)
	if err == nil && n != nil {
		err = syscall.EEXIST
	}
	if err != nil {
		return &pathError{Op: "symlink", Path: p, Err: err}
	}
	l := f.inode(link, 0o777)
	l.target = target
	f.putEntry(who, d, name, l)
	f.happened(d, name, port.FSCreate)
	return nil
}

func (f *FS) chmod(who by, p string, mode iofs.FileMode) error {
	d, _, name, n, err := f.walk(who == world).lookup(p, true)
	if err == nil && n == nil {
		err = syscall.ENOENT
	}
	if err != nil {
		return &pathError{Op: "chmod", Path: p, Err: err}
	}
	n.mode = mode & 0o777
	f.happened(d, name, port.FSChmod)
	if n.kind == dir {
		f.self(n, port.FSChmod, d, name)
	}
	return nil
}
