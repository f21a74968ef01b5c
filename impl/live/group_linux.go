package live

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// childAttr puts a child into a group of its own and lets the kernel kill it when the thread that started it ends, which
// is when the host does (see spawner).
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// anyRunning looks through /proc for a member of the group that is no zombie. Where there is no /proc it says yes.
func anyRunning(pgid int) bool {
	d, err := os.Open("/proc")
	if err != nil {
		return true
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return true
	}
	for _, n := range names {
		if _, err := strconv.Atoi(n); err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + n + "/stat")
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid pgrp …; the name may hold anything
		rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(rest) < 3 || string(rest[2]) != strconv.Itoa(pgid) {
			continue
		}
		if s := rest[0][0]; s != 'Z' && s != 'X' {
			return true
		}
	}
	return false
}
