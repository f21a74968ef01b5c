package live

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"mcpsim/impl/config"

	"golang.org/x/sys/unix"
)

// environ is the environment the host was started with; it never changes (SRC-9, SRC-14).
type environ struct {
	list   []string // NAME=value, as the process got it
	values map[string]string
}

func newEnviron(list []string) *environ {
	e := &environ{list: list, values: make(map[string]string, len(list))}
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok {
			e.values[name] = value // as for a process: the last one counts
		}
	}
	return e
}

func (e *environ) lookup(name string) (string, bool) {
	v, ok := e.values[name]
	return v, ok
}

// with is the environment of a child: the host's, and the entry's on top.
func (e *environ) with(env []config.KV) []string {
	own := make(map[string]bool, len(env))
	for _, kv := range env {
		own[kv.Name] = true
	}
	out := make([]string, 0, len(e.list)+len(env))
	for _, kv := range e.list {
		if name, _, _ := strings.Cut(kv, "="); !own[name] {
			out = append(out, kv)
		}
	}
	for _, kv := range env {
		out = append(out, kv.Name+"="+kv.Value)
	}
	return out
}

// find locates a command as its process would: by the PATH that the process gets, so that an entry's own PATH counts. A
// name with a slash is taken from the process's directory. What PATH has in relative directories is not found: which
// program that is would depend on where the host runs.
func (e *environ) find(spec config.DialSpec) (string, error) {
	name := spec.Command
	if strings.Contains(name, "/") {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(spec.Cwd, name), nil
	}
	path := e.values["PATH"]
	for _, kv := range spec.Env {
		if kv.Name == "PATH" {
			path = kv.Value
		}
	}
	err := error(exec.ErrNotFound)
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		switch e := executable(file); {
		case e == nil:
			return file, nil
		case errors.Is(e, fs.ErrPermission):
			err = fs.ErrPermission
		}
	}
	return "", &exec.Error{Name: name, Err: err}
}

func executable(file string) error {
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fs.ErrPermission
	}
	return unix.Access(file, unix.X_OK)
}
