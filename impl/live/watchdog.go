package live

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

// watchdog kills what is left of the children's process groups when the host is gone without having ended them: killed
// outright, crashed, or left by os.Exit. It is a shell that reads the groups' numbers from a pipe whose other end the host
// alone holds; the kernel closes that end when the host dies, however it dies. It has a session of its own, so that neither
// the terminal's signals nor a kill of the host's group reach it.
//
// It does not cover a process that has left its group (a daemon that calls setsid), a child that runs as another user, and
// a kill that hits the watchdog too. For those the direct child alone has a second net, see spawner.
type watchdog struct {
	mu     sync.Mutex
	pipe   *os.File // nil: not running
	pid    int
	ended  chan struct{}
	groups []int
	closed bool
}

const watchdogScript = `trap '' HUP INT QUIT TERM
g=' '
while read -r op p; do
  case $op in
  +) g="$g$p " ;;
  -) case $g in *" $p "*) g="${g%%" $p "*} ${g#*" $p "}" ;; esac ;;
  esac
done
for p in $g; do kill -s KILL -- "-$p" 2>/dev/null || kill -KILL "-$p" 2>/dev/null; done`

// add tells it of a group. An error means that nothing covers the group; the child is of use all the same.
func (w *watchdog) add(pgid int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = append(w.groups, pgid)
	if w.pipe == nil {
		return w.start()
	}
	if err := w.write("+", pgid); err != nil { // somebody ended it
		w.stop()
		return w.start()
	}
	return nil
}

// remove tells it that a group is gone.
func (w *watchdog) remove(pgid int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups = slices.DeleteFunc(w.groups, func(p int) bool { return p == pgid })
	if w.pipe == nil {
		return
	}
	if err := w.write("-", pgid); err != nil {
		w.stop()
		_ = w.start()
	}
}

// start starts it and tells it of every group there is.
func (w *watchdog) start() error {
	if w.closed {
		return nil
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command("/bin/sh", "-c", watchdogScript)
	cmd.Stdin, cmd.Dir, cmd.Env = r, "/", []string{}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = pipe.Close()
		return err
	}
	ended, began := make(chan struct{}), time.Now()
	w.pipe, w.ended, w.pid = pipe, ended, cmd.Process.Pid
	go func() {
		_ = cmd.Wait()
		close(ended)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.pipe == pipe { // nobody told it to end
			w.stop()
			if time.Since(began) > time.Second { // else it would end again
				_ = w.start()
			}
		}
	}()
	for _, pgid := range w.groups {
		if err := w.write("+", pgid); err != nil {
			w.stop()
			return err
		}
	}
	return nil
}

// write gives up on a watchdog that does not read: it is a net, not a condition.
func (w *watchdog) write(op string, pgid int) error {
	_ = w.pipe.SetWriteDeadline(time.Now().Add(time.Second))
	_, err := fmt.Fprintf(w.pipe, "%s %d\n", op, pgid)
	return err
}

// stop lets it end; it kills what it was told of and not told to forget.
func (w *watchdog) stop() {
	_ = w.pipe.Close()
	w.pipe = nil
}

// close ends it and waits for its end. Groups that are still there are killed.
func (w *watchdog) close() {
	w.mu.Lock()
	w.closed = true
	ended := w.ended
	if w.pipe != nil {
		w.stop()
	}
	w.mu.Unlock()
	if ended != nil {
		<-ended
	}
}
