package live

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"mcpsim/impl/port"
)

// pendingMost bounds the events that wait for the loop. Beyond it they are dropped, and the drop is told as an overflow.
const pendingMost = 4096

// watchTable is every watch of one host, over one fsnotify watcher: a machine has few of those (128 per user by default).
// It translates and decides nothing. All but the pump belongs to the loop.
//
// The kernel has one watch per inode, and fsnotify one path for it. Two paths to one directory (one through a link) are two
// watches for the host, so they share an entry here, and each is told of its own path.
type watchTable struct {
	loop    *Loop
	w       *fsnotify.Watcher // nil: not needed yet
	byInode map[inode]*entry
	byPath  map[string]*entry // by the path fsnotify knows
	pumped  chan struct{}     // closed when the pump has ended

	mu       sync.Mutex // of what waits for the loop
	pending  []fsnotify.Event
	errs     []error
	overflow bool
	posted   bool
}

type inode struct{ dev, ino uint64 }

// entry is one directory that fsnotify watches, and who watches it.
type entry struct {
	path    string
	inode   inode
	watches []*watch
}

// watch is port.Watch.
type watch struct {
	t     *watchTable
	dir   string // as given
	h     func(port.FSEvent)
	entry *entry // nil: closed, or its directory went
	over  bool   // closed
}

func newWatchTable(l *Loop) *watchTable {
	return &watchTable{loop: l, byInode: map[inode]*entry{}, byPath: map[string]*entry{}}
}

// errMoved is given up with when a directory is replaced again and again while it is being watched.
var errMoved = errors.New("the directory was replaced while the watch was being set")

func (t *watchTable) add(dir string, h func(port.FSEvent)) (port.Watch, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	for range 3 {
		id, err := inodeOf(dir)
		if err != nil {
			return nil, err
		}
		e := t.byInode[id]
		if e == nil {
			if e, err = t.addEntry(dir, id); err != nil {
				return nil, err
			}
			if now, err := inodeOf(dir); err != nil || now != id { // the watch may be on either
				t.drop(e)
				continue
			}
		}
		w := &watch{t: t, dir: dir, h: h, entry: e}
		e.watches = append(e.watches, w)
		return w, nil
	}
	return nil, &os.PathError{Op: "watch", Path: dir, Err: errMoved}
}

func (t *watchTable) addEntry(dir string, id inode) (*entry, error) {
	path := filepath.Clean(dir)
	if old := t.byPath[path]; old != nil { // another directory was there: its watch is of no use by this path
		t.drop(old)
	}
	if err := t.w.Add(path); err != nil {
		return nil, &os.PathError{Op: "watch", Path: dir, Err: err}
	}
	e := &entry{path: path, inode: id}
	t.byInode[id], t.byPath[path] = e, e
	return e, nil
}

// drop forgets an entry and frees its kernel watch, if the kernel has not done so itself.
func (t *watchTable) drop(e *entry) {
	_ = t.w.Remove(e.path) // ErrNonExistentWatch or EINVAL: it is gone already
	if t.byInode[e.inode] == e {
		delete(t.byInode, e.inode)
	}
	if t.byPath[e.path] == e {
		delete(t.byPath, e.path)
	}
	for _, w := range e.watches {
		w.entry = nil
	}
}

// Close ends the watch: nothing of it is delivered any more.
func (w *watch) Close() error {
	e := w.entry
	w.entry, w.over = nil, true
	if e == nil {
		return nil
	}
	kept := make([]*watch, 0, len(e.watches)) // somebody may be walking the old slice
	for _, x := range e.watches {
		if x != w {
			kept = append(kept, x)
		}
	}
	if e.watches = kept; len(kept) == 0 {
		w.t.drop(e)
	}
	return nil
}

func inodeOf(dir string) (inode, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return inode{}, err
	}
	if !info.IsDir() { // the kernel would watch a file as well
		return inode{}, &os.PathError{Op: "watch", Path: dir, Err: syscall.ENOTDIR}
	}
	st := info.Sys().(*syscall.Stat_t)
	return inode{uint64(st.Dev), st.Ino}, nil
}

// open makes the watcher on first use. If the machine has none left, the next attempt tries again (WAT-9).
func (t *watchTable) open() error {
	if t.w != nil {
		return nil
	}
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	t.w, t.pumped = w, make(chan struct{})
	go t.pump(w)
	return nil
}

func (t *watchTable) close() error {
	if t.w == nil {
		return nil
	}
	err := t.w.Close()
	<-t.pumped
	return err
}

// pump hands what fsnotify says to the loop, as one function however much it is.
func (t *watchTable) pump(w *fsnotify.Watcher) {
	defer close(t.pumped)
	events, errs := w.Events, w.Errors
	for events != nil || errs != nil {
		select {
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			t.hand(func() {
				if len(t.pending) < pendingMost {
					t.pending = append(t.pending, ev)
				} else {
					t.overflow = true
				}
			})
		case err, ok := <-errs:
			if !ok {
				errs = nil
				continue
			}
			t.hand(func() {
				switch {
				case errors.Is(err, fsnotify.ErrEventOverflow):
					t.overflow = true
				case len(t.errs) < pendingMost:
					t.errs = append(t.errs, err)
				}
			})
		}
	}
}

func (t *watchTable) hand(note func()) {
	t.mu.Lock()
	note()
	post := !t.posted
	t.posted = true
	t.mu.Unlock()
	if post {
		t.loop.Post(t.deliver)
	}
}

// deliver runs on the loop.
func (t *watchTable) deliver() {
	t.mu.Lock()
	events, errs, overflow := t.pending, t.errs, t.overflow
	t.pending, t.errs, t.overflow, t.posted = nil, nil, false, false
	t.mu.Unlock()
	for _, ev := range events {
		t.event(ev)
	}
	for _, err := range errs {
		t.all(port.FSEvent{Err: err})
	}
	if overflow {
		t.renewAll() // first, so that nothing is lost between this and the load that the overflow asks for
		t.all(port.FSEvent{Overflow: true})
	}
}

// event tells whoever watches the directory that the name is in, and, if a watched directory itself went, whoever watches
// that. fsnotify uses one name for both, and when both directories are watched it may say it once only.
func (t *watchTable) event(ev fsnotify.Event) {
	op := translate(ev.Op)
	if op == 0 {
		return
	}
	i := strings.LastIndexByte(ev.Name, '/')
	if i < 0 {
		return
	}
	dir, base := ev.Name[:i], ev.Name[i+1:]
	if dir == "" {
		dir = "/"
	}
	if e := t.byPath[dir]; e != nil {
		for _, w := range e.watches {
			w.tell(port.FSEvent{Path: filepath.Join(w.dir, base), Op: op})
		}
	}
	if e := t.byPath[filepath.Clean(ev.Name)]; e != nil {
		if op&(port.FSRemove|port.FSRename) != 0 {
			t.went(e, op)
		} else if op&port.FSChmod != 0 {
			for _, w := range e.watches {
				w.tell(port.FSEvent{Path: w.dir, Op: op})
			}
		}
	}
}

// went ends the watches of a directory that was removed or renamed. The event may be about the predecessor of a directory
// that was put back and is watched again; one more arming is the price, because nothing tells the two apart: a new
// directory may have the inode number of the one before.
func (t *watchTable) went(e *entry, op port.FSOp) {
	watches := e.watches
	t.drop(e)
	for _, w := range watches {
		if !w.over {
			w.h(port.FSEvent{Path: w.dir, Op: op})
		}
	}
}

func (w *watch) tell(ev port.FSEvent) {
	if w.entry != nil {
		w.h(ev)
	}
}

func (t *watchTable) all(ev port.FSEvent) {
	for _, e := range t.entries() {
		for _, w := range e.watches {
			w.tell(ev)
		}
	}
}

// renewAll sets every kernel watch anew: among the events that were lost may be the one that said that a watched directory
// went.
func (t *watchTable) renewAll() {
	for _, e := range t.entries() {
		if t.byPath[e.path] != e { // a handler has closed it
			continue
		}
		_ = t.w.Remove(e.path)
		id, err := inodeOf(e.path)
		if err == nil {
			err = t.w.Add(e.path)
		}
		if other := t.byInode[id]; err != nil || other != nil && other != e { // the host sets it again, if it wants
			t.went(e, port.FSRemove)
			continue
		}
		if t.byInode[e.inode] == e {
			delete(t.byInode, e.inode)
		}
		e.inode = id
		t.byInode[id] = e
	}
}

func (t *watchTable) entries() []*entry {
	out := make([]*entry, 0, len(t.byPath))
	for _, e := range t.byPath {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b *entry) int { return strings.Compare(a.path, b.path) })
	return out
}

func translate(op fsnotify.Op) port.FSOp {
	var out port.FSOp
	for _, x := range [...]struct {
		from fsnotify.Op
		to   port.FSOp
	}{{fsnotify.Create, port.FSCreate}, {fsnotify.Write, port.FSWrite}, {fsnotify.Remove, port.FSRemove},
		{fsnotify.Rename, port.FSRename}, {fsnotify.Chmod, port.FSChmod}} {
		if op.Has(x.from) {
			out |= x.to
		}
	}
	return out
}
