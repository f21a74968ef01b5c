package settings

import (
	"errors"
	iofs "io/fs"
	"slices"
	"strings"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// dirWatch is one established watch: at most one per directory, shared by every source that needs it (WAT-7).
type dirWatch struct {
	dir    string // real path
	watch  port.Watch
	closed bool // its events are ignored
}

// brokenWatch is a watch that cannot be established (WAT-9).
type brokenWatch struct {
	dir, why string
}

// maxRounds bounds how often arming starts again because what it armed moved meanwhile.
const maxRounds = 16

// arm resolves the way to each of list, opens the watches that are missing and closes those that no source needs. After each
// opening the way is resolved again, until nothing moved, so that nothing can happen unseen between the look and the watch
// (WAT-7). A watch that is known to be broken is tried again only with retry. It returns the sources that a new watch serves:
// what happened to them before it was opened is unseen.
func (s *Sources) arm(list []*source, retry bool) (served []*source) {
	var opened []string
	var failed []brokenWatch
	for round := 0; ; round++ {
		for _, src := range list {
			if src.watched && s.counts(src) {
				t := walk(s.fs, src.path)
				src.steps = t.steps
			}
		}
		missing := s.missingWatches(failed, retry)
		if len(missing) == 0 {
			break
		}
		for _, dir := range missing {
			err := s.open(dir)
			switch {
			case err == nil:
				opened = append(opened, dir)
			case round < maxRounds && errors.Is(err, iofs.ErrNotExist): // it went since it was looked up: look again
				list = s.withAll(list, dir)
			default:
				failed = append(failed, brokenWatch{dir, reason(err)})
			}
		}
	}
	s.closeWatches(func(w *dirWatch) bool { return !s.needed(w.dir) })
	s.setBroken(failed, retry)
	for _, src := range s.all {
		if src.watched && slices.ContainsFunc(src.steps, func(x step) bool { return x.watch && slices.Contains(opened, x.dir) }) {
			served = append(served, src)
		}
	}
	return served
}

// withAll adds every source that is to be watched in dir.
func (s *Sources) withAll(list []*source, dir string) []*source {
	list = slices.Clone(list)
	for _, src := range s.all {
		if src.needs(dir) && !slices.Contains(list, src) {
			list = append(list, src)
		}
	}
	return list
}

func (src *source) needs(dir string) bool {
	return slices.ContainsFunc(src.steps, func(x step) bool { return x.watch && x.dir == dir })
}

func (s *Sources) needed(dir string) bool {
	return slices.ContainsFunc(s.all, func(src *source) bool { return src.needs(dir) })
}

// missingWatches lists the directories that need a watch and have none, sorted. Those that failed just now, and without
// retry those that are known to be broken, are not among them.
func (s *Sources) missingWatches(failed []brokenWatch, retry bool) []string {
	var out []string
	is := func(list []brokenWatch, dir string) bool {
		return slices.ContainsFunc(list, func(b brokenWatch) bool { return b.dir == dir })
	}
	for _, src := range s.all {
		for _, x := range src.steps {
			if _, found := s.watchOf(x.dir); found || !x.watch || is(failed, x.dir) || !retry && is(s.broken, x.dir) || slices.Contains(out, x.dir) {
				continue
			}
			out = append(out, x.dir)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Sources) watchOf(dir string) (int, bool) {
	return slices.BinarySearchFunc(s.watches, dir, func(w *dirWatch, dir string) int { return strings.Compare(w.dir, dir) })
}

func (s *Sources) open(dir string) error {
	w := &dirWatch{dir: dir}
	watch, err := s.fs.Watch(dir, func(ev port.FSEvent) { s.happened(w, ev) })
	if err != nil {
		return err
	}
	w.watch = watch
	i, _ := s.watchOf(dir)
	s.watches = slices.Insert(s.watches, i, w)
	s.o.Emit(&event.Event{Kind: event.Watch, Path: dir})
	return nil
}

// closeWatches closes those that match. An error of closing changes nothing: its events are ignored from here on.
func (s *Sources) closeWatches(match func(*dirWatch) bool) {
	var kept []*dirWatch
	for _, w := range s.watches {
		if !match(w) {
			kept = append(kept, w)
			continue
		}
		w.closed = true
		_ = w.watch.Close()
		s.o.Emit(&event.Event{Kind: event.Unwatch, Path: w.dir})
	}
	s.watches = kept
}

// unwatched reports whether a source needs a watch that cannot be established.
func (s *Sources) unwatched(src *source) bool {
	return slices.ContainsFunc(s.broken, func(b brokenWatch) bool { return src.needs(b.dir) })
}

// setBroken takes in what failed now. What is known to be broken stays so until its watch stands or nobody needs it. Each is
// reported once, in the name of the lowest source that needs it, and the report is withdrawn when it is not true any more.
func (s *Sources) setBroken(failed []brokenWatch, retried bool) {
	before := s.brokenNotices()
	next := slices.DeleteFunc(failed, func(b brokenWatch) bool { return !s.needed(b.dir) })
	for _, b := range s.broken {
		_, stands := s.watchOf(b.dir)
		if !retried && !stands && s.needed(b.dir) && !slices.ContainsFunc(next, func(x brokenWatch) bool { return x.dir == b.dir }) {
			next = append(next, b)
		}
	}
	slices.SortFunc(next, func(a, b brokenWatch) int { return strings.Compare(a.dir, b.dir) })
	s.broken = next
	after := s.brokenNotices()
	for _, n := range before {
		if !slices.ContainsFunc(after, func(x event.Notice) bool { return x.File == n.File }) {
			s.o.OnNotice(n, false)
		}
	}
	for _, n := range after {
		if !slices.Contains(before, n) {
			s.o.OnNotice(n, true)
		}
	}
	s.updatePolls()
}

// brokenNotices are the reports of what is broken: one per source in whose name it is.
func (s *Sources) brokenNotices() []event.Notice {
	var out []event.Notice
	for _, src := range s.all {
		var dirs []string
		for _, b := range s.broken {
			if src.needs(b.dir) && !slices.ContainsFunc(s.all[:s.rank(src)], func(x *source) bool { return x.needs(b.dir) }) {
				dirs = append(dirs, b.dir+" ("+b.why+")")
			}
		}
		if dirs != nil {
			out = append(out, event.Notice{File: string(src.scope), Kind: "watch",
				Text: "cannot be watched, and is read every 2 s instead: " + strings.Join(dirs, ", ")})
		}
	}
	return out
}
