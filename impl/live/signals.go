package live

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// HandleSignals closes the host when the process is told to end (SIGINT, SIGTERM, SIGHUP), and then lets the signal have
// its way: the process ends by it, as if nobody had caught it. A second signal kills what is left of the servers at once.
// stop ends the handling; call it after Close, or when the program has its own.
//
// A program that handles these signals itself does not need it: it calls Close.
func HandleSignals(h *Host) (stop func()) {
	ch := make(chan os.Signal, 2)
	done := make(chan struct{})
	signals := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
	signal.Notify(ch, signals...)
	var handling sync.WaitGroup
	handling.Go(func() {
		var sig os.Signal
		select {
		case sig = <-ch:
		case <-done:
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		over := make(chan struct{})
		go func() {
			defer close(over)
			_ = h.Close(ctx)
		}()
		select {
		case <-over:
		case <-ch:
			cancel()
			<-over
		}
		signal.Stop(ch)
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal))
		<-done // the signal ends the process; if it is ignored, the program goes on without a host
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			signal.Stop(ch)
			close(done)
		})
		handling.Wait()
	}
}
