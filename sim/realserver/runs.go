package realserver

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// runs reports whether a process is there and has not ended; one that nobody has waited for yet has ended.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || syscall.Kill(pid, 0) == nil // a system without /proc
	}
	_, state, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(state, []byte("Z")) && !bytes.HasPrefix(state, []byte("X"))
}
