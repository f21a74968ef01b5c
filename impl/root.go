package impl

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"

	"mcpsim/impl/port"
)

const maxLinks = 40 // as the kernel: a path through more links than this is a loop

// realPath follows every link on the way to an absolute path (spec section 1, "root").
func realPath(fs port.FS, path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q: expected an absolute path", path)
	}
	done, rest := "/", strings.Split(filepath.Clean(path), "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, _, err := fs.LstatIfPossible(next)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if info.Mode()&iofs.ModeSymlink == 0 {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: more than %d links", path, maxLinks)
		}
		target, err := fs.ReadlinkIfPossible(next)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return done, nil
}

// resolveRoot is the root: the real path of the working directory, resolved once (SRC-14).
func resolveRoot(fs port.FS, cwd string) (string, error) {
	root, err := realPath(fs, cwd)
	if err != nil {
		return "", fmt.Errorf("the working directory cannot be resolved: %w", err)
	}
	info, err := fs.Stat(root)
	if err != nil {
		return "", fmt.Errorf("the working directory cannot be resolved: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("the working directory cannot be resolved: %w", errors.New(root+" is no directory"))
	}
	return root, nil
}
