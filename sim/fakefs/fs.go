// Package fakefs is a file system in memory, with inodes, links, permissions, an injected clock, advisory locks, watches
// at the level of fsnotify, and a distinction between what was written and what is durable. It breaks what it is told to
// break and judges nothing.
//
// The world edits it through the methods of FS; the host sees it through Host, a port.FS. Only what the host does is
// faulted, reported as written, and volatile until it is synced: the world's own edits are durable at once.
package fakefs

import (
	iofs "io/fs"
	"path"
	"sort"
	"strings"
	"syscall"

	"mcpsim/impl/port"
)

// Options connect a file system to its world.
type Options struct {
	Now func() port.Ms
	// Deliver lets f happen d later, in the order of the calls for equal instants.
	Deliver func(d port.Ms, f func())
	// OnOp is asked before every operation of the host; an error fails it. nil: never.
	OnOp func(op, path string) error
	// OnWrite hears of every path that the host creates, writes, renames or removes.
	OnWrite func(path string)
	// OnEvent hears of every event that is delivered to a watch of the host, just before.
	OnEvent func(ev port.FSEvent)
	// Merge drops an event that equals the last undelivered one, as the kernel may (facts: 1 or 2 writes per save).
	Merge bool
	// Delay is how long an event takes to arrive.
	Delay port.Ms
}

// FS is one file system.
type FS struct {
	o        Options
	root     *inode
	next     uint64
	watches  []*watch
	locks    map[*inode]by     // who holds the lock on a file
	theirs   map[string]*inode // what another process has locked, by the path it used
	undoEnt  map[entryKey]*inode
	undoData map[*inode][]byte
	overflow bool
	tail     *pending
	epoch    int // of the host process: what was to be delivered to a dead one is dropped
}

type entryKey struct {
	dir  *inode
	name string
}

type kind uint8

const (
	file kind = iota
	dir
	link
)

type inode struct {
	no     uint64
	kind   kind
	data   []byte        // file
	target string        // link
	ents   []entry       // dir, sorted by name
	mode   iofs.FileMode // permission bits
	mtime  port.Ms
}

// The permissions that count: the host owns every file.
const (
	readable iofs.FileMode = 0o400
	writable iofs.FileMode = 0o200
	search   iofs.FileMode = 0o100
)

type entry struct {
	name string
	n    *inode
	at   *place // nil: nobody has opened the file by this name for writing
}

// place is where a file that is open is: writes are events of the name it has now, or had last.
type place struct {
	d    *inode
	name string
}

// New returns an empty file system: a root directory.
func New(o Options) *FS {
	f := &FS{o: o, locks: map[*inode]by{}, theirs: map[string]*inode{}, undoEnt: map[entryKey]*inode{}, undoData: map[*inode][]byte{}}
	f.root = f.inode(dir, 0o755)
	return f
}

func (f *FS) inode(k kind, mode iofs.FileMode) *inode {
	f.next++
	return &inode{no: f.next, kind: k, mode: mode, mtime: f.o.Now()}
}

func (d *inode) find(name string) (int, bool) {
	i := sort.Search(len(d.ents), func(i int) bool { return d.ents[i].name >= name })
	return i, i < len(d.ents) && d.ents[i].name == name
}

func (d *inode) get(name string) *inode {
	if i, ok := d.find(name); ok {
		return d.ents[i].n
	}
	return nil
}

// set puts, replaces or (n nil) removes an entry.
func (d *inode) set(name string, n *inode) {
	i, ok := d.find(name)
	switch {
	case ok && n == nil:
		d.ents = append(d.ents[:i:i], d.ents[i+1:]...)
	case ok:
		d.ents = append([]entry(nil), d.ents...)
		d.ents[i].n, d.ents[i].at = n, nil
	case n != nil:
		d.ents = append(d.ents[:i:i], append([]entry{{name: name, n: n}}, d.ents[i:]...)...)
	}
}

const maxLinks = 40

// walker resolves paths; as says whether permissions count, as they do for anyone but the world.
type walker struct {
	f     *FS
	free  bool // permissions do not count
	links int
	trail func(dir *inode, dirPath, name string, n *inode) // every step, links included
}

// lookup finds the directory that holds the last element of a path, that element's name, and its inode (nil if there is
// none). With follow the last element's links are followed.
func (w *walker) lookup(p string, follow bool) (d *inode, dirPath, name string, n *inode, err error) {
	d, dirPath = w.f.root, "/"
	for rest := strings.TrimPrefix(p, "/"); rest != ""; {
		name, rest, _ = strings.Cut(rest, "/")
		if d.kind != dir {
			return nil, "", "", nil, syscall.ENOTDIR
		}
		if !w.free && d.mode&search == 0 {
			return nil, "", "", nil, syscall.EACCES
		}
		switch name {
		case "", ".":
			continue
		case "..":
			dirPath = path.Dir(dirPath)
			d = w.f.directory(dirPath)
			continue
		}
		n = d.get(name)
		if w.trail != nil {
			w.trail(d, dirPath, name, n)
		}
		last := rest == ""
		switch {
		case n == nil && last:
			return d, dirPath, name, nil, nil
		case n == nil:
			return nil, "", "", nil, syscall.ENOENT
		case n.kind == link && (!last || follow):
			if w.links++; w.links > maxLinks {
				return nil, "", "", nil, syscall.ELOOP
			}
			t := n.target
			if strings.HasPrefix(t, "/") {
				d, dirPath = w.f.root, "/"
			}
			if t = strings.Trim(t, "/"); t != "" && rest != "" {
				rest = t + "/" + rest
			} else if t != "" {
				rest = t
			}
		case last:
			return d, dirPath, name, n, nil
		default:
			d, dirPath = n, child(dirPath, name, p)
		}
	}
	if d == w.f.root {
		return d, "/", ".", d, nil
	}
	above := path.Dir(dirPath)
	return w.f.directory(above), above, path.Base(dirPath), d, nil
}

// directory is the inode of a directory that is there, by its path without links.
func (f *FS) directory(p string) *inode {
	d := f.root
	for _, name := range strings.Split(p[1:], "/") {
		if name != "" {
			d = d.get(name)
		}
	}
	return d
}

// child joins a clean directory and a name; of is a path that may begin so, and whose memory then serves.
func child(dir, name, of string) string {
	n := len(dir) + 1 + len(name)
	if dir == "/" {
		n--
	}
	if len(of) >= n && of[:len(dir)] == dir && of[n-len(name):n] == name && of[n-len(name)-1] == '/' {
		return of[:n]
	}
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

func (f *FS) walk(free bool) *walker { return &walker{f: f, free: free} }

// RawState says what a reader finds at a path.
type RawState uint8

// The states.
const (
	Missing RawState = iota
	Unreadable
	OK
)

// ReadRaw returns what anyone but the world would read at a path now, faults left out of account. A dangling or looping link
// is there, and unreadable.
func (f *FS) ReadRaw(p string) ([]byte, RawState) {
	_, _, _, n, err := f.walk(false).lookup(p, true)
	switch {
	case err == nil && n != nil:
		if n.kind != file || n.mode&readable == 0 {
			return nil, Unreadable
		}
		return n.data, OK
	case err == nil || err == syscall.ENOENT:
		if _, _, _, l, err := f.walk(false).lookup(p, false); err == nil && l != nil {
			return nil, Unreadable // a link that leads nowhere
		} else if err != nil && err != syscall.ENOENT && err != syscall.ENOTDIR {
			return nil, Unreadable
		}
		return nil, Missing
	case err == syscall.ENOTDIR:
		return nil, Missing
	}
	return nil, Unreadable
}

// Step is one name on the way to a path: the directory as it is reached, and the name in it.
type Step struct{ Dir, Base string }

// LinkChain returns every name on the way to p's real file, links and their targets included, as far as the host can follow it.
func (f *FS) LinkChain(p string) []Step {
	var out []Step
	w := f.walk(false)
	w.trail = func(_ *inode, dirPath, name string, _ *inode) { out = append(out, Step{dirPath, name}) }
	_, _, _, _, _ = w.lookup(p, true)
	return out
}

// Concerns reports whether an event may change what a read of p gives: it names p, a link or a directory on the way to it.
func (f *FS) Concerns(ev port.FSEvent, p string) bool {
	if ev.Path == p {
		return true
	}
	if ev.Path == "" {
		return ev.Overflow || ev.Err != nil
	}
	d, b := path.Dir(ev.Path), path.Base(ev.Path)
	for _, s := range f.LinkChain(p) {
		if s.Base != b {
			continue
		}
		if s.Dir == d || f.same(s.Dir, d) {
			return true
		}
	}
	return strings.HasPrefix(p, ev.Path+"/")
}

// same reports whether two paths lead to one inode.
func (f *FS) same(a, b string) bool {
	_, _, _, x, err := f.walk(true).lookup(a, true)
	_, _, _, y, err2 := f.walk(true).lookup(b, true)
	return err == nil && err2 == nil && x != nil && x == y
}
