package real

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mcpsim/impl/approval"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// soon bounds how long the world waits for its own servers to do as they were told.
const soon = 2 * time.Second

// Do performs a step that concerns the world. ok is false if the step is the host's.
func (st *Stage) Do(s *trace.Step) (ok bool, err error) {
	switch s.Do {
	case trace.Write, trace.Edit, trace.Remove, trace.Mkdir, trace.Rmdir, trace.Chmod, trace.Touch, trace.DecideElsewhere:
		return true, st.edit(s)
	case trace.Server:
		return true, st.server(s)
	case trace.Crash:
		return true, st.crash(s.Server)
	case trace.Fault:
		return false, st.fault(s) // the machine hears of every fault through the host's part
	}
	return false, nil
}

// stepped notes when the last step was.
func (st *Stage) stepped() { st.step = st.Now() }

// edit performs a step on files. The machine is told before the next thing that the host does or is asked.
func (st *Stage) edit(s *trace.Step) error {
	var line []approval.RecordLine
	if s.Do == trace.DecideElsewhere {
		defer st.lockApprovals()()
		if err := st.Turn(func() error { // the translator is the loop's
			if l, ok := st.x.Record(st.cache, st.root, s.Server, s.Config, s.Status); ok {
				line = append(line, l)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	if s.Do == trace.Chmod {
		if err := st.forbids(s); err != nil {
			return err
		}
	}
	if err := st.editFiles(s, line); err != nil {
		return err
	}
	if err := st.heard(); err != nil { // the host hears of it in this instant
		return err
	}
	return st.Turn(func() error {
		st.stepped()
		return nil
	})
}

// editFiles touches the files, while the machine is not told of them.
func (st *Stage) editFiles(s *trace.Step, line []approval.RecordLine) (err error) {
	st.filesMu.Lock()
	defer st.filesMu.Unlock()
	before, was := readRaw(st.paths[model.Approvals])
	switch s.Do {
	case trace.Write, trace.Edit:
		err = st.write(s)
	case trace.Remove:
		_ = removeAll(st.target(s)) // every step is legal in every state: what is not there is not removed
	case trace.Mkdir:
		err = os.MkdirAll(st.dirOf(s.File), 0o755)
	case trace.Rmdir:
		err = st.rmdir(s)
	case trace.Chmod:
		st.chmod(s)
	case trace.Touch:
		now := time.Now()
		_ = os.Chtimes(st.target(s), now, now) // what is not there has no time
	case trace.DecideElsewhere:
		err = st.decideElsewhere(s, line)
	}
	if after, is := readRaw(st.paths[model.Approvals]); is != was || after != before {
		st.byWorld = true
	}
	if sc, ok := scopeNamed(s.File); ok && s.Name == "" {
		st.seen[sc].told = false // it was touched, even if a read gives what it gave
		st.byWorld = st.byWorld || sc == model.Approvals
	}
	return err
}

// lockApprovals takes the lock as the other process does that the decision is taken in, and as long as it would wait: then,
// or if nobody can hold it, it writes all the same.
func (st *Stage) lockApprovals() (unlock func()) {
	p := st.paths[model.Approvals]
	if os.MkdirAll(filepath.Dir(p), 0o755) != nil {
		return func() {}
	}
	f, err := os.OpenFile(p+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	for end := time.Now().Add(soon); ; time.Sleep(time.Millisecond) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end) {
			return func() { _ = f.Close() }
		}
	}
}

// decideElsewhere is a decision taken in another process that shares the approvals file.
func (st *Stage) decideElsewhere(s *trace.Step, line []approval.RecordLine) error {
	p := st.paths[model.Approvals]
	var kept []approval.RecordLine
	if data, state := readRaw(p); state == readable {
		if old, err := approval.Decode([]byte(data)); err == nil {
			for _, l := range old {
				if l.Root != st.root || l.Server != s.Server {
					kept = append(kept, l)
				}
			}
		}
	}
	return st.put(p, approval.Encode(append(kept, line...)))
}

func (st *Stage) server(s *trace.Step) error {
	if err := st.Turn(func() error {
		st.stepped()
		if s.Behaviour != nil || s.Unlisted {
			if err := st.behave(s.Server, s.Behaviour); err != nil {
				return err
			}
		}
		if s.ListChanged {
			st.sink.Input(st.Now(), model.Input{Kind: model.InListChanged, Key: s.Server, Kinds: s.ListKinds})
		}
		return nil
	}); err != nil {
		return err
	}
	if s.ListChanged {
		kinds := s.ListKinds
		if len(kinds) == 0 {
			kinds = []string{"tools", "prompts", "resources"}
		}
		st.ctl.Announce(s.Server, kinds...)
	}
	return st.sync()
}

// sync waits until every server has done as it was told.
func (st *Stage) sync() error {
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	_ = st.ctl.Sync(ctx) // one that does not answer is being killed
	return nil
}

func (st *Stage) crash(key string) error {
	if err := st.Turn(func() error {
		st.stepped()
		st.sink.Input(st.Now(), model.Input{Kind: model.InCrash, Key: key})
		return nil
	}); err != nil {
		return err
	}
	st.ctl.Crash(key)
	return st.sync()
}

// fault arms what concerns files and watches.
func (st *Stage) fault(s *trace.Step) error {
	p := ""
	if sc, ok := scopeNamed(s.File); ok {
		p = st.paths[sc]
	}
	arm := func(err error, ops ...string) {
		if s.Op != "" {
			ops = []string{s.Op}
		}
		st.arm(&fault{err: err, ops: ops, path: p, times: max(s.Times, 1)})
	}
	switch s.Kind {
	case "enospc":
		arm(syscall.ENOSPC, "write")
	case "eio":
		arm(syscall.EIO, "read", "write", "sync")
	case "watch":
		if p != "" {
			p = filepath.Dir(p)
		}
		arm(syscall.ENOSPC, "watch")
	case "overflow":
		return st.overflow()
	case "lock":
		return st.holdLock(s.Ms)
	}
	return nil
}

// arm makes operations of the host fail, of the present process or of the one that starts next.
func (st *Stage) arm(f *fault) {
	st.armed = append(st.armed, f)
	if lf := st.life; lf != nil && lf.fs != nil {
		lf.fs.mu.Lock()
		lf.fs.faults = append(lf.fs.faults, f)
		lf.fs.mu.Unlock()
	}
}

// overflow tells every watch that events were lost, as the kernel does; it loses none.
func (st *Stage) overflow() error {
	lf := st.life
	if lf == nil {
		return nil
	}
	return st.Turn(func() error {
		lf.fs.mu.Lock()
		var all []*watch
		for w := range lf.fs.watches {
			all = append(all, w)
		}
		lf.fs.mu.Unlock()
		for _, w := range all {
			w.h(port.FSEvent{Overflow: true})
		}
		return nil
	})
}

// holdLock is another process that holds the approvals lock for a while.
func (st *Stage) holdLock(ms model.Ms) error {
	if ms == 0 {
		ms = 10000
	}
	p := st.paths[model.Approvals] + ".lock"
	f, err := os.OpenFile(p, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil // no directory: nobody can hold it
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return f.Close()
	}
	st.locks = append(st.locks, f)
	time.AfterFunc(time.Duration(ms)*time.Millisecond, func() { _ = f.Close() })
	return nil
}
