package host

import (
	"fmt"
	iofs "io/fs"
	"path"
	"syscall"

	"mcpsim/impl/approval"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakefs"
	"mcpsim/sim/trace"
)

// Do performs a step that concerns the world. ok is false if the step is the host's.
func (st *FakeStage) Do(s *trace.Step) (ok bool, err error) {
	st.lastStep = st.Now()
	st.byWorld = true
	defer func() { st.byWorld = false }()
	switch s.Do {
	case trace.Write, trace.Edit:
		err = st.write(s)
	case trace.Remove:
		_ = st.fs.RemoveAll(st.target(s)) // every step is legal in every state: what is not there is not removed
	case trace.Mkdir:
		err = st.fs.MkdirAll(st.dirOf(s.File))
	case trace.Rmdir:
		if d := st.dirOf(s.File); d != st.l.Root && d != "/home/user" {
			err = st.fs.RemoveAll(d)
		}
	case trace.Chmod:
		err = st.chmod(s)
	case trace.Touch:
		if p := st.target(s); st.fs.Exists(p) {
			_ = st.fs.Touch(p) // a link that leads nowhere has no time
		}
	case trace.DecideElsewhere:
		err = st.decideElsewhere(s)
	case trace.Server:
		st.server(s)
	case trace.Crash:
		st.crash(s.Server)
	case trace.Fault:
		return st.fault(s), nil
	default:
		return false, nil
	}
	if sc, ok := scopeNamed(s.File); ok && s.Name == "" {
		st.seen[sc].told = false // it was touched, even if a read gives what it gave
	}
	st.tellFiles()
	return true, err
}

// target is the path a step writes: the source's, or a sibling's in the same directory.
func (st *FakeStage) target(s *trace.Step) string {
	sc, ok := scopeNamed(s.File)
	if !ok || st.paths[sc] == "" {
		return "/project/.qwen/" + s.File // a source that does not exist in this launch: nobody reads it
	}
	if s.Name != "" {
		return path.Join(path.Dir(st.paths[sc]), s.Name)
	}
	return st.paths[sc]
}

func (st *FakeStage) chmod(s *trace.Step) error {
	p := st.target(s)
	if s.Dir {
		p = path.Dir(p)
	}
	if !st.fs.Exists(p) {
		return nil
	}
	mode := uint32(0o644)
	if s.Mode != nil {
		mode = *s.Mode
	}
	if s.Dir && mode&0o555 != 0o555 || s.Dir && mode&0o200 == 0 {
		for _, k := range [...]model.FaultKind{"watch", "disk"} { // what cannot be watched or written from now on
			st.sink.Input(st.Now(), model.Input{Kind: model.InFault, FaultKind: k})
		}
	}
	_ = st.fs.Chmod(p, iofs.FileMode(mode)) // a link that leads nowhere has no permissions
	return nil
}

// write performs a write or an edit: every way ends with the same bytes in the file.
func (st *FakeStage) write(s *trace.Step) error {
	p := st.target(s)
	if _, _, err := st.parent(p); err != nil {
		return err
	}
	switch s.Kind {
	case "directory":
		return st.fs.PutDirectory(p)
	case "dangling":
		return st.fs.PutDangling(p)
	case "loop":
		return st.fs.PutLoop(p)
	}
	var prev *model.Value
	if s.Do == trace.Edit {
		if data, state := st.fs.ReadRaw(p); state == fakefs.OK {
			if c := st.content(data, state); c.State == model.Good {
				prev = c.Value
			}
		}
	}
	data := trace.FileText(s, prev)
	st.denoted.Note(s, data)
	if st.isDir(p) {
		if err := st.fs.RemoveAll(p); err != nil {
			return err
		}
	}
	how := s.How
	if s.Do == trace.Edit && how == "" {
		how = "atomic"
	}
	err := st.put2(how, p, data, s)
	if err != nil { // something that is no file is in the way, such as a directory nobody may enter
		if err = st.fs.RemoveAll(p); err == nil {
			err = st.put2(how, p, data, s)
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.Do, s.File, err)
	}
	if s.Locked() {
		return st.fs.Chmod(p, 0)
	}
	return nil
}

func (st *FakeStage) isDir(p string) bool {
	_, state := st.fs.ReadRaw(p)
	return state == fakefs.Unreadable && !st.fs.IsLink(p) && st.fs.Perm(p)&0o444 != 0
}

// parent makes the directory a file is written into: a person who saves there has it.
func (st *FakeStage) parent(p string) (string, bool, error) {
	d := path.Dir(p)
	return d, true, st.fs.MkdirAll(d)
}

func (st *FakeStage) put2(how, p string, data []byte, s *trace.Step) error {
	dangling := false
	if st.fs.IsLink(p) {
		_, state := st.fs.ReadRaw(p)
		dangling = state != fakefs.OK
	}
	switch how {
	case "atomic":
		return st.fs.WriteAtomic(p, data)
	case "backup":
		return st.fs.WriteBackup(p, data)
	case "link-target":
		if dangling {
			if err := st.fs.RemoveAll(p); err != nil {
				return err
			}
		}
		return st.fs.WriteLinkTarget(p, data)
	case "retarget":
		return st.fs.WriteRetarget(p, data)
	case "data-swap":
		return st.fs.WriteDataSwap(p, data)
	}
	if dangling {
		if err := st.fs.RemoveAll(p); err != nil {
			return err
		}
	}
	parts := 1
	if how == "chunks" {
		parts = max(s.Parts, 2)
	} else if s.Parts > 1 {
		parts = s.Parts
	}
	for i, piece := range st.fs.Pieces(p, data, parts) {
		if i > 0 && s.GapMs > 0 { // the gap holds the next step back
			st.tellFiles()
			st.byWorld = false
			if err := st.Advance(s.GapMs); err != nil {
				return err
			}
			st.byWorld = true
			st.lastStep = st.Now()
		}
		if err := piece(); err != nil {
			return err
		}
		st.tellFiles()
	}
	return nil
}

// decideElsewhere is a decision taken in another process that shares the approvals file.
func (st *FakeStage) decideElsewhere(s *trace.Step) error {
	p := st.paths[model.Approvals]
	var lines []approval.RecordLine
	if data, state := st.fs.ReadRaw(p); state == fakefs.OK {
		if old, err := approval.Decode(data); err == nil {
			lines = old
		}
	}
	kept := lines[:0:0]
	for _, l := range lines {
		if l.Root != st.l.Root || l.Server != s.Server {
			kept = append(kept, l)
		}
	}
	if l, ok := st.record(s.Server, s.Config, s.Status); ok {
		kept = append(kept, l)
	}
	st.byWorld = true
	err := st.put(p, approval.Encode(kept))
	st.tellFiles()
	st.byWorld = false
	return err
}

func (st *FakeStage) server(s *trace.Step) {
	if s.Behaviour != nil || s.Unlisted {
		st.setServer(s.Server, s.Behaviour)
	}
	if s.ListChanged {
		kinds := s.ListKinds
		st.sink.Input(st.Now(), model.Input{Kind: model.InListChanged, Key: s.Server, Kinds: kinds})
		st.mcp.ListChanged(s.Server, kinds...)
	}
}

func (st *FakeStage) crash(key string) {
	in := model.Input{Kind: model.InCrash, Key: key}
	if !st.mcp.Has(key) {
		in.Key, in.Server = "", key
	}
	st.sink.Input(st.Now(), in)
	st.mcp.Crash(key)
}

// fault arms what concerns files and watches; ok is false if the host has a part in it.
func (st *FakeStage) fault(s *trace.Step) bool {
	p := ""
	if sc, ok := scopeNamed(s.File); ok {
		p = st.paths[sc]
	}
	times := max(s.Times, 1)
	arm := func(err error, ops ...string) {
		if s.Op != "" {
			ops = []string{s.Op}
		}
		st.faults = append(st.faults, &ioFault{err: err, ops: ops, path: p, times: times})
	}
	switch s.Kind {
	case "enospc":
		arm(syscall.ENOSPC, "write")
	case "eio":
		arm(syscall.EIO, "read", "write", "sync")
	case "watch":
		if p != "" {
			p = path.Dir(p)
		}
		arm(syscall.ENOSPC, "watch")
	case "overflow":
		st.fs.Overflow()
	case "lock":
		lock := st.paths[model.Approvals] + ".lock"
		st.fs.HoldLock(lock)
		ms := s.Ms
		if ms == 0 {
			ms = 10000
		}
		st.q.At(st.q.Now()+port.Ms(ms), 0, unlock{st, lock})
	}
	return false // the machine hears of every fault through the host's part
}

type unlock struct {
	st   *FakeStage
	path string
}

// Run implements fakeclock.Runner.
func (u unlock) Run() { u.st.fs.ReleaseLock(u.path) }
