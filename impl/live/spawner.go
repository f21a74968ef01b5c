package live

import (
	"os/exec"
	"runtime"
	"sync"
)

// spawner starts every child from one thread that lives as long as the host. On Linux a child asks to be killed when its
// parent dies, and by parent the kernel means the thread that forked it: Go ends and reuses threads as it likes, so the
// thread is one of our own, and no other.
type spawner struct {
	requests chan spawn
	ended    chan struct{}
	once     sync.Once
}

type spawn struct {
	cmd  *exec.Cmd
	done chan error
}

func newSpawner() *spawner { return &spawner{requests: make(chan spawn), ended: make(chan struct{})} }

// start is cmd.Start on the spawner's thread. It must not be called after close.
func (s *spawner) start(cmd *exec.Cmd) error {
	s.once.Do(func() { go s.run() })
	r := spawn{cmd, make(chan error, 1)}
	s.requests <- r
	return <-r.done
}

func (s *spawner) run() {
	defer close(s.ended)
	runtime.LockOSThread() // never unlocked: the thread ends with this function
	for r := range s.requests {
		r.done <- r.cmd.Start()
	}
}

// close ends the thread; with it goes every child that is still there.
func (s *spawner) close() {
	started := true
	s.once.Do(func() { started = false })
	close(s.requests)
	if started {
		<-s.ended
	}
}
