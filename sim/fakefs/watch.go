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

func (f *FS) at(p *place, op port.FSOp) { f.happened(p.d, p.name, op) }

// self tells of what happened to directory d itself. If something is said of it as an entry of its parent, that is name in
// parent. fsnotify uses the path of the watch for both, so whoever watches the directory above that path hears of it as well;
// and it keeps a removal to itself if anybody watches there, because the parent will say so (which it does not if the path is
// a link's, or if another directory took the place).
func (f *FS) self(d *inode, op port.FSOp, parent *inode, name string) {
	var first *watch // the one whose path fsnotify knows
	for _, w := range f.watches {
		if w.dir == d && !w.lost {
			first = w
			break
		}
	}
	if first == nil {
		return
	}
	above, said := false, false
	for _, w := range f.watches {
		if w.lost || w.path != path.Dir(first.path) {
			continue
		}
		above = true
		if w.dir == parent && name == path.Base(first.path) {
			said = true
		} else if op != port.FSRemove {
			f.send(w, port.FSEvent{Path: first.path, Op: op})
		}
	}
	if op == port.FSRemove && above && !said {
		return
	}
	for _, w := range f.watches {
		if w.dir == d && !w.lost {
			f.send(w, port.FSEvent{Path: w.path, Op: op})
		}
	}
}

// gone ends the watches of a directory: each followed the inode, which is gone or elsewhere.
func (f *FS) gone(d *inode) {
	for _, w := range f.watches {
		if w.dir == d {
			w.lost = true
		}
	}
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
		if epoch != f.epoch {
			return
		}
		f.overflow = false
		w := f.standing()
		if w == nil {
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
	case n.mode&readable == 0:
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
