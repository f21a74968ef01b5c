package live

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"mcpsim/impl/port"
)

// Exec is port.Exec with one goroutine per job.
type Exec struct {
	loop *Loop
	jobs sync.WaitGroup
}

// Exec returns a port.Exec whose completions run on the loop.
func (l *Loop) Exec() *Exec { return &Exec{loop: l} }

// Go runs work on a goroutine of its own and posts done exactly once, with work's error, also after cancel. The context
// ends with the job: what is to outlive the job (a connection outlives its Start) has to have a context of its own.
func (e *Exec) Go(op port.Op, work func(context.Context) error, done func(error)) (cancel func()) {
	ctx, cancel := context.WithCancel(context.Background())
	e.jobs.Add(1)
	go func() {
		defer e.jobs.Done()
		err := guard(ctx, op, work)
		cancel()
		e.loop.Post(func() { done(err) })
	}()
	return cancel
}

// Wait returns when no job runs. No job may be started meanwhile.
func (e *Exec) Wait() { e.jobs.Wait() }

// guard turns a panic of a job into its failure: it costs one server or one read, not the whole agent.
func guard(ctx context.Context, op port.Op, work func(context.Context) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: a job of kind %d panicked: %v\n%s", op.Kind, r, debug.Stack())
		}
	}()
	return work(ctx)
}
