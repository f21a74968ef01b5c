package settings

import (
	"slices"

	"mcpsim/impl/port"
)

const structural = port.FSCreate | port.FSRemove | port.FSRename

// happened takes an event of a watch that stands. It counts for every source with that very name on its way: the file, a
// link or what a link leads to, or a directory (WAT-1). Any operation counts, a change of mode or time too (WAT-2); events
// of other names, backups and temporaries among them, never do.
func (s *Sources) happened(w *dirWatch, ev port.FSEvent) {
	switch {
	case w.closed || s.stopped:
		return
	case ev.Overflow || ev.Err != nil:
		s.resync()
		return
	}
	var hit, moved []*source
	for _, src := range s.all {
		switch {
		case !src.watched || !on(src.steps, ev.Path):
		case ev.Path == src.path || under(src.path, ev.Path) || s.leads(src, ev.Path):
			hit = append(hit, src)
		default: // a link was led elsewhere meanwhile; its own event says so
			moved = append(moved, src)
		}
	}
	for _, src := range hit {
		s.wake(src)
	}
	if ev.Op&structural == 0 {
		hit = nil
	}
	if hit = append(hit, moved...); len(hit) == 0 {
		return
	}
	// What has this name now may be another directory than the one that is watched, or none (WAT-7).
	if ev.Op&structural != 0 {
		s.closeWatches(func(x *dirWatch) bool { return x.dir == ev.Path || under(x.dir, ev.Path) })
	}
	before := make([][]step, len(moved))
	for i, src := range moved {
		before[i] = src.steps
	}
	for _, src := range s.arm(hit, false) {
		if !src.dirty {
			s.wake(src)
		}
	}
	for i, src := range moved {
		if !src.dirty && !slices.Equal(before[i], src.steps) { // its own event may be one of a watch that has just been closed
			s.wake(src)
		}
	}
}

// leads reports whether the way to a source still leads through a path.
func (s *Sources) leads(src *source, path string) bool {
	t := walk(s.fs, src.path)
	return on(t.steps, path)
}

// under reports whether a path lies in a directory, at any depth.
func under(path, dir string) bool {
	return len(path) > len(dir) && path[:len(dir)] == dir && (path[len(dir)] == '/' || dir == "/")
}

// resync follows an overflow or an error of the watcher: events were lost, among them perhaps those of a directory that went.
// Everything is armed anew, and every watched source will be loaded (WAT-9).
func (s *Sources) resync() {
	s.closeWatches(func(*dirWatch) bool { return true })
	var list []*source
	for _, src := range s.all {
		if src.watched && s.counts(src) {
			list = append(list, src)
		}
	}
	s.arm(list, true)
	for _, src := range list {
		s.wake(src)
	}
}
