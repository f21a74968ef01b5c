package real

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// heard returns when the host has heard of every file event up to now: the kernel tells of files in order, so a mark that
// was seen has nothing before it. Where no directory is watched that a mark can be made in, there is nothing to wait for.
func (st *Stage) heard() error {
	lf := st.life
	if lf == nil || lf.over.Load() {
		return nil
	}
	dirs := lf.fs.dirs()
	sort.Strings(dirs)
	for _, d := range dirs {
		if lf.fs.mark(filepath.Join(d, fmt.Sprintf("%s-%d", markName, st.next()))) {
			break
		}
	}
	return nil
}

// mark makes a file that the host does not see and waits until its watch has told of it. It reports false if the watch is
// none any more.
func (f *hostFS) mark(p string) bool {
	seen := make(chan struct{})
	var once sync.Once
	f.mu.Lock()
	f.marks[p] = func() { once.Do(func() { close(seen) }) }
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.marks, p)
		f.mu.Unlock()
	}()
	if os.WriteFile(p, nil, 0o600) != nil {
		return false
	}
	defer os.Remove(p)
	select {
	case <-seen:
		return true
	case <-time.After(soon / 4): // the directory is another by now, and that is being told
		return false
	}
}
