package fakefs

import (
	"path"
	"syscall"

	"mcpsim/impl/port"
)

// watch is one watch of a directory's inode, under the path it was given.
type watch struct {
	f      *FS
	dir    *inode
	path   string
	h      func(port.FSEvent)
	closed bool
	lost   bool
	epoch  int
}

// Close implements port.Watch.
func (w *watch) Close() error {
	w.closed = true
	for i, x := range w.f.watches {
		if x == w {
			w.f.watches = append(w.f.watches[:i:i], w.f.watches[i+1:]...)
			break
		}
	}
	return nil
}

// pending is an event on its way to a watch.
type pending struct {
	w         *watch
	ev        port.FSEvent
	delivered bool
}

// happened tells the watches of directory d that something happened to name in it.
func (f *FS) happened(d *inode, name string, op port.FSOp) {
	for _, w := range f.watches {
		if w.dir == d && !w.lost {
			f.send(w, port.FSEvent{Path: path.Join(w.path, name), Op: op})
		}
	}
}

// self tells the watches of a directory that it was removed or moved itself, once if its parent is watched too (fsnotify 1.8).
func (f *FS) self(d *inode, op port.FSOp, parentWatched bool) {
	for _, w := range append([]*watch(nil), f.watches...) {
		if w.dir != d || w.lost {
			continue
		}
		if !parentWatched || op == port.FSRename {
			f.send(w, port.FSEvent{Path: w.path, Op: op})
		}
		w.lost = true // the watch followed the inode, which is gone or elsewhere
	}
}

func (f *FS) watched(d *inode) bool {
	for _, w := range f.watches {
		if w.dir == d && !w.lost {
			return true
		}
	}
	return false
}

func (f *FS) send(w *watch, ev port.FSEvent) {
	if f.overflow {
		return // the queue is full: what comes now is lost until the overflow was delivered
	}
	if t := f.tail; f.o.Merge && t != nil && !t.delivered && t.w == w && t.ev == ev {
		return
	}
	p := &pending{w: w, ev: ev}
	f.tail = p
	f.o.Deliver(f.o.Delay, func() {
		p.delivered = true
		if w.closed || w.epoch != f.epoch {
			return
		}
		if f.o.OnEvent != nil {
			f.o.OnEvent(ev)
		}
		w.h(ev)
	})
}

// Overflow makes the event queue overflow: the watchers are told that events were lost. The queue is the host's, not a
// watch's: it is told also if what was lost is that the last watched directory went.
func (f *FS) Overflow() {
	if f.standing() == nil {
		return
	}
	f.overflow = true
	epoch := f.epoch
	f.o.Deliver(f.o.Delay, func() {
		f.overflow = false
		w := f.standing()
		if epoch != f.epoch || w == nil {
			return
		}
		ev := port.FSEvent{Overflow: true}
		if f.o.OnEvent != nil {
			f.o.OnEvent(ev)
		}
		w.h(ev)
	})
}

// standing is a watch that the host has not closed, if possible one whose directory is there.
func (f *FS) standing() *watch {
	var lost *watch
	for _, w := range f.watches {
		if !w.lost {
			return w
		}
		if lost == nil {
			lost = w
		}
	}
	return lost
}

// watchDir establishes a watch for the host.
func (f *FS) watchDir(p string, h func(port.FSEvent)) (port.Watch, error) {
	_, _, _, n, err := f.walk(false).lookup(p, true)
	switch {
	case err != nil:
		return nil, &pathError{Op: "watch", Path: p, Err: err}
	case n == nil:
		return nil, &pathError{Op: "watch", Path: p, Err: syscall.ENOENT}
	case n.kind != dir:
		return nil, &pathError{Op: "watch", Path: p, Err: syscall.ENOTDIR}
	case n.mode&0o444 == 0:
		return nil, &pathError{Op: "watch", Path: p, Err: syscall.EACCES}
	}
	w := &watch{f: f, dir: n, path: p, h: h, epoch: f.epoch}
	f.watches = append(f.watches, w)
	return w, nil
}

// Watched lists the watched directories, by path, in the order in which they were armed.
func (f *FS) Watched() []string {
	var out []string
	for _, w := range f.watches {
		if !w.lost {
			out = append(out, w.path)
		}
	}
	return out
}
