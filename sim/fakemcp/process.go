package fakemcp

import (
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakeclock"
)

// CloseInput implements port.Conn: a polite process ends delay.end later; one that ignores or survives everything too, but
// only if it has such a delay.
func (c *conn) CloseInput() {
	if !c.process() || !c.up || c.inputClosed {
		return
	}
	c.inputClosed = true
	b := c.script().b
	switch after := port.Ms(b.Delays[model.StepEnd].Ms); {
	case b.Fault == model.Hang && b.FaultAt == model.StepEnd:
	case after > 0:
		c.end = c.w.q.At(c.w.q.Now()+after, c.tie(fakeclock.Exit), fakeclock.Func(func() {
			if c.up {
				c.exit(nil)
			}
		}))
	case !b.IgnoreTerm && !b.Unkillable:
		c.exit(nil)
	}
}

// Terminate implements port.Conn. It reaches the helper too.
func (c *conn) Terminate() {
	b := c.script().b
	if !c.process() || b.IgnoreTerm {
		return
	}
	helper := c.helper
	c.helper = false
	if c.up && !b.Unkillable {
		c.exit(nil)
	} else if helper {
		c.settle()
	}
}

// Kill implements port.Conn. What survives it sees its input closed at the latest now.
func (c *conn) Kill() {
	if !c.process() {
		return
	}
	helper := c.helper
	c.helper = false
	switch {
	case c.up && !c.script().b.Unkillable:
		c.exit(nil)
	case c.up:
		c.CloseInput()
	case helper:
		c.settle()
	}
}

// syncHelper: a behaviour that has changed may start a helper, or end it.
func (c *conn) syncHelper() {
	if c.up && c.process() && !c.inputClosed {
		c.helper = c.script().b.Grandchild
	}
}
