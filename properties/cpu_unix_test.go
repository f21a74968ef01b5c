//go:build unix

package properties

import (
	"syscall"
	"time"
)

// processor is the processor time that this process has used: what a core gives, whoever else uses the machine.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
