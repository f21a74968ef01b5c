package settings

import (
	"errors"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mcpsim/impl/port"
)

// step is one name on the way to a file: the real path of a directory, and a name in it.
type step struct {
	dir, name string
	// watch: what becomes of this name decides what a read gives, and nothing further down would tell: the file itself, a
	// link, or the first name that is missing (WAT-1, WAT-7).
	watch bool
}

// trail is the way from / to a file, through every link.
type trail struct {
	steps []step
	state fileState // good: a regular file is at its end; missing; unreadable
	why   string    // for unreadable
}

const maxLinks = 40 // as the kernel: more is a loop

// component is a name that is still to be looked up.
type component struct {
	name string
	own  bool // it is the last of the path itself, not of a link's target
}

// walk follows path name by name. A link that leads nowhere or in a circle is there and cannot be read; a missing directory
// on the way means that the file is missing (SRC-6).
func walk(fs port.FS, path string) trail {
	var t trail
	rest := components(path)
	t.steps = make([]step, 0, len(rest))
	if len(rest) > 0 {
		rest[len(rest)-1].own = true
	}
	isLink := false // the path itself names a link
	bad := func(why string) trail {
		t.state, t.why = unreadable, why
		return t
	}
	nowhere := func() trail {
		if isLink {
			return bad("a link that leads nowhere")
		}
		t.state = missing
		return t
	}
	done := "/"
	for links := 0; len(rest) > 0; {
		c := rest[0]
		rest = rest[1:]
		if c.name == ".." {
			done = filepath.Dir(done)
			continue
		}
		last := len(rest) == 0
		t.steps = append(t.steps, step{done, c.name, last})
		at := &t.steps[len(t.steps)-1]
		next := child(done, c.name)
		info, _, err := fs.LstatIfPossible(next)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			at.watch = true
			return nowhere()
		case err != nil:
			at.watch = true
			return bad("it cannot be looked up: " + reason(err))
		case info.Mode()&iofs.ModeSymlink != 0:
			at.watch = true
			isLink = isLink || c.own
			if links++; links > maxLinks {
				return bad("links that lead in a circle")
			}
			target, err := fs.ReadlinkIfPossible(next)
			if err != nil {
				return bad("a link that cannot be read: " + reason(err))
			}
			if filepath.IsAbs(target) {
				done = "/"
			}
			rest = append(components(target), rest...)
		case last:
			switch {
			case info.IsDir():
				return bad("a directory")
			case !info.Mode().IsRegular():
				return bad("no regular file")
			}
			return t
		case !info.IsDir():
			at.watch = true
			return nowhere() // a file where a directory should be: nothing is under it
		default:
			done = next
		}
	}
	return bad("a directory")
}

// child joins a clean directory and a name.
func child(dir, name string) string {
	if dir == "/" {
		return dir + name
	}
	return dir + "/" + name
}

func components(path string) []component {
	out := make([]component, 0, 1+strings.Count(path, "/"))
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			out = append(out, component{name: name})
		}
	}
	return out
}

func (t *trail) same(steps []step) bool { return slices.Equal(t.steps, steps) }

// on reports whether steps lead through a path.
func on(steps []step, path string) bool {
	dir, name := filepath.Dir(path), filepath.Base(path)
	return slices.ContainsFunc(steps, func(s step) bool { return s.name == name && s.dir == dir })
}

// reason is an error without the path it repeats.
func reason(err error) string {
	var p *iofs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
