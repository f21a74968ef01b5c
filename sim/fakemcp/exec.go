package fakemcp

import (
	"context"
	"fmt"

	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/fakeclock"
)

// job is work that a host waits for.
type job struct {
	w    *World
	op   port.Op
	c    *conn // nil: not a connection's
	work func(context.Context) error
	done func(error)
	h    fakeclock.Handle // what happens next; stale while it hangs
	tie  uint64
	at   int // index in w.jobs

	acted     bool // work has run: the answer is in the pipe
	cancelled bool
	err       error // work's, or why it will not run
}

// Go implements port.Exec. A step of a protocol takes the delay of its connection's behaviour: with hold request work runs
// at the end of it, as it finds things then; with hold answer work runs now and the answer arrives at the end, whatever
// happens to the connection. A step that hangs never ends by itself. A cancelled job ends in the course of the same
// instant with context.Canceled, unless its answer is in the pipe.
func (w *World) Go(op port.Op, work func(context.Context) error, done func(error)) (cancel func()) {
	j := &job{w: w, op: op, work: work, done: done, at: len(w.jobs)}
	w.jobs = append(w.jobs, j)
	w.pending[op.Kind]++
	var after port.Ms
	switch op.Kind {
	case port.OpRead, port.OpPersist:
		if w.JobDelay != nil {
			after = w.JobDelay(op)
		}
		j.tie = w.q.Tie(fakeclock.Job(op.Kind), op.Server, 0)
	default:
		if j.c = w.conns[op.Conn]; j.c == nil {
			j.tie = w.q.Tie(fakeclock.Job(op.Kind), op.Server, 0)
			break
		}
		j.tie = j.c.tie(fakeclock.Job(op.Kind))
		if op.Kind == port.OpStart {
			j.c.begin()
		}
		s, step := j.c.script(), stepOf(op.Kind)
		if s.hangs(step) && !j.c.dead() {
			return j.cancel // it stays in the list, and nothing will happen to it
		}
		d := s.b.Delays[step]
		after = port.Ms(d.Ms)
		if d.Hold == model.HoldAnswer {
			j.act()
		}
	}
	j.h = w.q.At(w.q.Now()+after, j.tie, j)
	return j.cancel
}

// stepOf is the protocol step of a job.
func stepOf(k port.OpKind) model.Step {
	switch k {
	case port.OpStart:
		return model.StepStart
	case port.OpInitialize:
		return model.StepInit
	case port.OpListTools:
		return model.StepTools
	case port.OpListPrompts:
		return model.StepPrompts
	case port.OpListResources:
		return model.StepResources
	case port.OpCall:
		return model.StepCall
	case port.OpEnd:
		return model.StepEnd
	}
	panic(fmt.Sprintf("fakemcp: job kind %d is no step of a protocol", k))
}

// act runs the work. Its context never ends: who cancels the job does so before or after.
func (j *job) act() {
	j.acted = true
	j.err = j.work(context.Background())
}

// Run is the job's turn.
func (j *job) Run() {
	if !j.acted && j.err == nil {
		if j.c != nil && !j.c.dead() && j.c.script().hangs(stepOf(j.op.Kind)) {
			return // the behaviour has changed meanwhile
		}
		j.act()
	}
	j.w.forget(j)
	j.done(j.err)
}

// cancel ends the job early, unless it is over or its answer is in the pipe.
func (j *job) cancel() {
	if j.over() || j.cancelled {
		return
	}
	j.cancelled = true
	j.w.pending[j.op.Kind]--
	if j.acted {
		return
	}
	if c := j.c; c != nil && (j.op.Kind == port.OpStart || j.op.Kind == port.OpEnd) && (!c.process() || !c.begun) {
		c.drop() // it never came to be, or was closed long enough
	}
	j.fail(context.Canceled)
}

// fail lets the job end now, without work.
func (j *job) fail(err error) {
	j.err = err
	j.w.q.Cancel(j.h)
	j.h = j.w.q.At(j.w.q.Now(), j.tie, j)
}

// failJobs fails what a connection that has just ended has not answered.
func (w *World) failJobs(c *conn) {
	for _, j := range w.jobs {
		if j.c == c && !j.acted && j.err == nil && j.op.Kind != port.OpEnd {
			j.fail(c.lost())
		}
	}
}

func (j *job) over() bool { return j.at < 0 }

// forget takes a job out of the list.
func (w *World) forget(j *job) {
	if !j.cancelled {
		w.pending[j.op.Kind]--
	}
	last := len(w.jobs) - 1
	w.jobs[j.at] = w.jobs[last]
	w.jobs[j.at].at = j.at
	w.jobs[last] = nil
	w.jobs = w.jobs[:last]
	j.at = -1
}
