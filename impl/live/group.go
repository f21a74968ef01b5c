package live

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// group is a child process and its process group, whose number is the child's pid (REC-13). Once it is gone its number may
// be anybody's, so nothing is sent to it any more.
type group struct {
	pid int

	mu     sync.Mutex
	exited bool // the child was waited for
	gone   bool // and no member of the group is left
}

// signal sends sig to every member. The child itself gets it too if it has left its group.
func (g *group) signal(sig syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gone {
		return
	}
	err := syscall.Kill(-g.pid, sig)
	if errors.Is(err, syscall.ESRCH) && !g.exited {
		_ = syscall.Kill(g.pid, sig)
	}
}

func (g *group) childExited() {
	g.mu.Lock()
	g.exited = true
	g.mu.Unlock()
}

// Intervals of waitGone.
const (
	goneFirst = time.Millisecond
	goneMost  = 50 * time.Millisecond
	goneLong  = 250 * time.Millisecond // after goneSlow, for what survives a kill
	goneSlow  = 5 * time.Second
)

// waitGone returns when no member of the group is left, after the child was waited for: there is nothing to wait on for
// processes that are no children, so it looks, at intervals that double. It gives up when stop is closed.
func (g *group) waitGone(stop <-chan struct{}) (gone bool) {
	began := time.Now()
	t := time.NewTimer(0)
	defer t.Stop()
	for d := goneFirst; ; {
		select {
		case <-stop:
			return false
		case <-t.C:
		}
		g.mu.Lock()
		g.gone = !groupAlive(g.pid, d == goneMost)
		gone = g.gone
		g.mu.Unlock()
		if gone {
			return true
		}
		if d = min(2*d, goneMost); time.Since(began) > goneSlow {
			t.Reset(goneLong)
		} else {
			t.Reset(d)
		}
	}
}

// groupAlive reports whether a process group has a member that runs. Dead ones that nobody has waited for yet are
// members for the kernel; thorough looks more closely at a group that has members (slower, Linux only).
func groupAlive(pgid int, thorough bool) bool {
	err := syscall.Kill(-pgid, 0)
	if errors.Is(err, syscall.ESRCH) {
		return false
	}
	return !thorough || anyRunning(pgid)
}

// closeFile closes a file that may be nil or closed already.
func closeFile(f *os.File) {
	if f != nil {
		_ = f.Close()
	}
}
