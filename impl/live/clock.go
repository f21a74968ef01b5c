package live

import (
	"time"

	"mcpsim/impl/port"
)

// clock is port.Clock over the machine's monotonic clock.
type clock struct {
	loop  *Loop
	start time.Time
}

// Clock returns a port.Clock whose time begins now and whose timers run on the loop.
func (l *Loop) Clock() port.Clock { return &clock{loop: l, start: time.Now()} }

// Now is when the present turn of the loop began; 0 before the first.
func (c *clock) Now() port.Ms {
	return port.Ms(max(0, c.loop.turn.Sub(c.start).Milliseconds()))
}

// AfterFunc: the timer may have fired, and f may be in the loop's queue, when stop is called; so a stopped timer is dead
// in the closure too. dead is only touched on the loop.
func (c *clock) AfterFunc(_ port.TimerKind, d port.Ms, f func()) (stop func()) {
	dead := false
	t := time.AfterFunc(d.Duration(), func() {
		c.loop.Post(func() {
			if !dead {
				dead = true
				c.loop.fired++
				f()
			}
		})
	})
	return func() {
		dead = true
		t.Stop()
	}
}
