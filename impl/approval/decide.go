package approval

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"mcpsim/impl/port"
)

// The lock: how long it is waited for, and how often it is tried, in ms (APR-9).
const (
	lockMs      = 5000
	lockRetryMs = 50
)

// task is one set of decisions on its way into the file.
type task struct {
	decisions []Decision
	open      []int // those that are not refused yet
	results   []Result
	check     func(Decision) bool
	done      func([]Result)
	began     port.Ms
	unlock    func()

	// What the re-read found.
	old        []byte
	wasMissing bool
	corrupt    bool
}

// Decide records decisions, all in one write (ASK-4), under the lock, on top of what the file holds now (APR-7). check says
// whether a decision still answers what is asked; it is asked after the file was read again and once more before the new one
// takes its place, and what it denies is refused as stale (APR-5). done gets one result per decision, in their order; what is
// recorded is durable and in force then. What cannot be persisted is refused, with a notice until the next decision that is
// (APR-9). Sets of decisions are written one after the other.
func (s *Store) Decide(ds []Decision, check func(Decision) bool, done func(results []Result)) {
	if len(ds) == 0 {
		done(nil)
		return
	}
	t := &task{decisions: ds, results: make([]Result, len(ds)), check: check, done: done}
	for i, d := range ds {
		t.results[i].Decision = d
		t.open = append(t.open, i)
	}
	s.queue = append(s.queue, t)
	s.next()
}

func (s *Store) next() {
	if s.current != nil || len(s.queue) == 0 {
		return
	}
	t := s.queue[0]
	s.queue = s.queue[1:]
	s.current = t
	t.began = s.clock.Now()
	s.makeDir(func(err error) {
		if err != nil {
			s.fail(t, "write", err)
			return
		}
		s.lock(t)
	})
}

func (s *Store) lock(t *task) {
	s.tryLock(func(unlock func(), ok bool, err error) {
		switch {
		case err != nil:
			s.fail(t, "lock", err)
		case ok:
			t.unlock = unlock
			s.o.LoadApprovals(func() { s.reread(t) })
		case s.clock.Now()-t.began >= lockMs:
			s.fail(t, "lock", fmt.Errorf("%s has held the lock for %d s", s.holder(), lockMs/1000))
		default:
			s.clock.AfterFunc(port.TimerLock, min(lockRetryMs, t.began+lockMs-s.clock.Now()), func() { s.lock(t) })
		}
	})
}

// reread goes on from what the file holds now.
func (s *Store) reread(t *task) {
	t.wasMissing = errors.Is(s.err, iofs.ErrNotExist)
	if s.err != nil && !t.wasMissing {
		s.fail(t, "read", s.err)
		return
	}
	t.old, t.corrupt = s.data, s.corrupt != nil
	s.write1(t)
}

// write1 writes what is still asked into the temporary.
func (s *Store) write1(t *task) {
	if s.dropStale(t); len(t.open) == 0 {
		s.finish(t)
		return
	}
	next := s.file.with(t.lines(s.o.Root))
	d := &draft{data: next.encode()}
	s.job("resolve", s.o.Path, func() (err error) {
		d.target, err = s.target()
		d.temp = d.target + ".tmp-1"
		return err
	}, func(err error) {
		if err != nil {
			s.fail(t, "write", err)
			return
		}
		s.write(d, func(err error) {
			if err != nil {
				s.fail(t, "write", err)
				return
			}
			s.write2(t, d)
		})
	})
}

// write2 keeps a corrupt file, and lets the temporary take the file's place unless something is not asked any more.
func (s *Store) write2(t *task, d *draft) {
	if t.corrupt {
		s.setAside(t.old, func(err error) {
			if err != nil {
				s.abandon(d, err, func(err error) { s.fail(t, "write", err) })
				return
			}
			t.corrupt = false
			s.write2(t, d)
		})
		return
	}
	if s.dropStale(t) {
		s.abandon(d, nil, func(error) { s.write1(t) })
		return
	}
	s.publish(d, func(renamed bool, err error) {
		switch {
		case err == nil:
			s.recorded(t, d)
		case !renamed:
			s.fail(t, "write", err)
		default:
			s.restore(d, t.old, t.wasMissing, func() {
				s.o.LoadApprovals(func() { s.fail(t, "write", err) }) // in force is what is there (APR-2)
			})
		}
	})
}

// dropStale refuses what is not asked any more; it reports whether there was something.
func (s *Store) dropStale(t *task) bool {
	kept := t.open[:0:0]
	for _, i := range t.open {
		if t.check(t.decisions[i]) {
			kept = append(kept, i)
		} else {
			t.results[i].Why = "stale"
		}
	}
	dropped := len(kept) < len(t.open)
	t.open = kept
	return dropped
}

func (t *task) lines(root string) []RecordLine {
	var out []RecordLine
	for _, i := range t.open {
		d := t.decisions[i]
		out = append(out, RecordLine{root, d.Server, d.Hash, d.Approve})
	}
	return out
}

// recorded puts in force what is durable.
func (s *Store) recorded(t *task, d *draft) {
	for _, i := range t.open {
		t.results[i].Recorded = true
	}
	s.Loaded(d.data, nil)
	s.o.ApprovalsWritten(d.data)
	s.tellRefused(nil)
	s.finish(t)
}

// fail refuses what is open: nothing is recorded, the questions stay (APR-9).
func (s *Store) fail(t *task, why string, err error) {
	for _, i := range t.open {
		t.results[i].Why = why
	}
	s.tellRefused(err)
	s.finish(t)
}

func (s *Store) finish(t *task) {
	if t.unlock != nil {
		t.unlock()
	}
	s.current = nil
	t.done(t.results)
	s.next()
}
