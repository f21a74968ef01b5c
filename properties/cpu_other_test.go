//go:build !unix

package properties

import "time"

var began = time.Now()

// processor is the wall clock where nobody tells the processor time.
func processor() time.Duration { return time.Since(began) }
