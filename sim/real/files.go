package real

import (
	"fmt"
	"os"
	"path/filepath"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/trace"
)

// The world's own edits: what people's editors, and volumes, do to a file.

func (st *Stage) next() int {
	st.files++
	return st.files
}

// target is the path a step writes: the source's, or a sibling's in the same directory.
func (st *Stage) target(s *trace.Step) string {
	sc, ok := scopeNamed(s.File)
	if !ok || st.paths[sc] == "" {
		return st.path("/project/.qwen/" + s.File) // a source that does not exist in this launch: nobody reads it
	}
	if s.Name != "" {
		return filepath.Join(filepath.Dir(st.paths[sc]), s.Name)
	}
	return st.paths[sc]
}

// write performs a write or an edit: every way ends with the same bytes in the file.
func (st *Stage) write(s *trace.Step) error {
	p := st.target(s)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil { // a person who saves there has it
		return err
	}
	switch s.Kind {
	case "directory":
		return st.instead(p, func() error { return os.Mkdir(p, 0o755) })
	case "dangling":
		return st.instead(p, func() error { return os.Symlink(st.path("/store/nowhere"), p) })
	case "loop":
		return st.instead(p, func() error { return os.Symlink(filepath.Base(p), p) })
	}
	var prev *model.Value
	if s.Do == trace.Edit {
		if data, state := readRaw(p); state == readable {
			if c := st.denoted.Content([]byte(data)); c.State == model.Good {
				prev = c.Value
			}
		}
	}
	data := trace.FileText(s, prev)
	st.denoted.Note(s, data)
	if info, err := os.Lstat(p); err == nil && info.IsDir() {
		if err := removeAll(p); err != nil {
			return err
		}
	}
	how := s.How
	if s.Do == trace.Edit && how == "" {
		how = "atomic"
	}
	err := st.save(how, p, data, s)
	if err != nil { // something that is no file is in the way
		if err = removeAll(p); err == nil {
			err = st.save(how, p, data, s)
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", s.Do, s.File, err)
	}
	if s.Locked() {
		return os.Chmod(p, 0)
	}
	return nil
}

func (st *Stage) instead(p string, put func() error) error {
	if err := removeAll(p); err != nil {
		return err
	}
	return put()
}

func (st *Stage) save(how, p string, data []byte, s *trace.Step) error {
	dangling := false
	if isLink(p) {
		_, state := readRaw(p)
		dangling = state != readable
	}
	switch how {
	case "atomic":
		return st.writeAtomic(p, data)
	case "backup":
		return writeBackup(p, data)
	case "link-target":
		if isLink(p) && !dangling {
			return os.WriteFile(p, data, 0o644)
		}
		return st.writeRetarget(p, data)
	case "retarget":
		return st.writeRetarget(p, data)
	case "data-swap":
		return st.writeDataSwap(p, data)
	}
	if dangling {
		if err := os.Remove(p); err != nil {
			return err
		}
	}
	return st.writeParts(p, data, s)
}

// writeParts writes in place: the first part truncates, and the gap between two holds the next step back.
func (st *Stage) writeParts(p string, data []byte, s *trace.Step) error {
	parts := max(s.Parts, 1)
	if s.How == "chunks" {
		parts = max(s.Parts, 2)
	}
	f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	for i := range parts {
		if i > 0 && s.GapMs > 0 {
			if err := st.gap(s.GapMs); err != nil {
				return err
			}
		}
		if _, err := f.Write(data[len(data)*i/parts : len(data)*(i+1)/parts]); err != nil {
			return err
		}
	}
	return nil
}

// gap lets others look at a file that is not whole.
func (st *Stage) gap(d model.Ms) error {
	st.filesMu.Unlock()
	defer st.filesMu.Lock()
	return st.Advance(d)
}

// writeAtomic writes a temporary beside the file and renames it over; a link is replaced, as most editors do.
func (st *Stage) writeAtomic(p string, data []byte) error {
	tmp := filepath.Join(filepath.Dir(p), fmt.Sprintf(".%s.tmp%d", filepath.Base(p), st.next()))
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, p)
}

// writeBackup saves as vim does: the old file moves to a backup, the new one is written, the backup goes.
func writeBackup(p string, data []byte) error {
	_, err := os.Lstat(p)
	had := err == nil
	if had {
		if err := os.Rename(p, p+"~"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(p, data, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(p, 0o644); err != nil {
		return err
	}
	if had {
		return os.RemoveAll(p + "~")
	}
	return nil
}

// writeRetarget writes a new file elsewhere and swaps the link at p to it by a rename.
func (st *Stage) writeRetarget(p string, data []byte) error {
	dst := st.path(fmt.Sprintf("/store/%d", st.next()))
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return err
	}
	target := filepath.Join(dst, filepath.Base(p))
	if err := os.WriteFile(target, data, 0o644); err != nil {
		return err
	}
	return st.swapLink(target, p)
}

func (st *Stage) swapLink(target, p string) error {
	tmp := filepath.Join(filepath.Dir(p), fmt.Sprintf(".%s.lnk%d", filepath.Base(p), st.next()))
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	return os.Rename(tmp, p)
}

// writeDataSwap saves as a Kubernetes volume does: p links to ..data/base, ..data links to a directory that is swapped.
func (st *Stage) writeDataSwap(p string, data []byte) error {
	at, base := filepath.Dir(p), filepath.Base(p)
	version := fmt.Sprintf("..v%d", st.next())
	if err := os.MkdirAll(filepath.Join(at, version), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(at, version, base), data, 0o644); err != nil {
		return err
	}
	old, _ := os.Readlink(filepath.Join(at, "..data"))
	if err := st.swapLink(version, filepath.Join(at, "..data")); err != nil {
		return err
	}
	if to, _ := os.Readlink(p); to != "..data/"+base {
		if err := st.swapLink("..data/"+base, p); err != nil {
			return err
		}
	}
	if old != "" {
		return os.RemoveAll(filepath.Join(at, old))
	}
	return nil
}

func isLink(p string) bool {
	info, err := os.Lstat(p)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// chmod changes permission bits; a link that leads nowhere has none.
func (st *Stage) chmod(s *trace.Step) {
	if p, mode, ok := st.chmodOf(s); ok {
		_ = os.Chmod(p, os.FileMode(mode))
	}
}

func (st *Stage) chmodOf(s *trace.Step) (p string, mode uint32, ok bool) {
	p, mode = st.target(s), 0o644
	if s.Dir {
		p = filepath.Dir(p)
	}
	if s.Mode != nil {
		mode = *s.Mode
	}
	_, err := os.Lstat(p)
	return p, mode, err == nil
}

// forbids tells the machine of a directory that cannot be watched or written from now on.
func (st *Stage) forbids(s *trace.Step) error {
	if _, mode, ok := st.chmodOf(s); !ok || !s.Dir || mode&0o555 == 0o555 && mode&0o200 != 0 {
		return nil
	}
	return st.Turn(func() error {
		for _, k := range [...]model.FaultKind{"watch", "disk"} {
			st.sink.Input(st.Now(), model.Input{Kind: model.InFault, FaultKind: k})
		}
		return nil
	})
}

// rmdir never takes the root or the home away.
func (st *Stage) rmdir(s *trace.Step) error {
	if d := st.dirOf(s.File); d != st.root && d != st.path(sim.PathHome) && d != st.path(sim.PathRoot) {
		return removeAll(d)
	}
	return nil
}

// removeAll is rm -r by somebody who may: permissions in the way are lifted.
func removeAll(p string) error {
	err := os.RemoveAll(p)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(p, func(q string, d os.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(q, 0o755)
		}
		return nil
	})
	return os.RemoveAll(p)
}
