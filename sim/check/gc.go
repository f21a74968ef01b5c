package check

import (
	"os"
	"runtime/debug"
)

// CollectLessOften sets the collector for plays: a few MiB live long, and much lives for one trace, so that collecting at the
// usual pace takes a third of the time. GOGC, if it is set, stands.
func CollectLessOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(1600)
		debug.SetMemoryLimit(2 << 30)
	}
}
