package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"mcpsim/impl"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

type liveOptions struct {
	workspace, user, system, defaults string
	mode, approvals                   string
	allowed                           []string
	hasAllowed                        bool
	record, log                       string
	json                              bool

	home string // whose .qwen has the user's settings
	temp string // the home is made up, and goes at the end
}

func newLive() *cobra.Command {
	o := &liveOptions{}
	c := &cobra.Command{
		Use:   "live",
		Short: "Run the reference host on a real workspace: watch its files, connect its servers, ask, answer",
		Long: `Runs the reference host in the real world. It reads and watches
  ~/.qwen/settings.json (or -user FILE), WORKSPACE/.mcp.json, WORKSPACE/.qwen/settings.json
and at the start and at every reload what -defaults and -system name. Decisions are kept in mcpApprovals.json beside the
user's settings. What a file of the workspace configures is started only after somebody approved exactly that.

On a terminal it shows a table that follows every change; ? lists the keys. Otherwise, and with -json, it prints a line per
change and reads commands from standard input, one a line:

` + liveHelp + `
The end of the input ends nothing: quit does, or SIGINT, SIGTERM or SIGHUP. No server process is left in any case.

-record FILE keeps what happened as a trace that ` + "`mcpsim replay FILE`" + ` plays in the simulated world: files as they changed,
decisions, calls, and servers as they behaved; it is written anew whenever the host is settled, and ends in an expectation
of what it showed there. -log FILE keeps the event log that ` + "`mcpsim judge FILE`" + ` checks. Both hold masks in place of
secrets: values of env and headers, and arguments and URLs that look like one (all of them in the log).`,
		Example: `  mcpsim live
  mcpsim live -workspace ~/code/project -mode pool
  printf 'wait\nstatus\nquit\n' | mcpsim live -record run.ndjson -log run.log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.hasAllowed = cmd.Flags().Changed("allowed")
			if err := o.check(); err != nil {
				return err
			}
			defer o.cleanUp()
			return runLive(cmd, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.workspace, "workspace", ".", "the workspace")
	f.StringVar(&o.user, "user", "", "the user's settings file, named settings.json (default: ~/.qwen/settings.json)")
	f.StringVar(&o.defaults, "defaults", "", "the system's defaults, below the user's settings")
	f.StringVar(&o.system, "system", "", "the system's settings, above all others")
	f.StringVar(&o.mode, "mode", "single", "single: each session has connections of its own; pool: sessions (see open) share them")
	f.StringSliceVar(&o.allowed, "allowed", nil, "the only servers that may ever run: names or globs; with no names, none")
	f.StringVar(&o.approvals, "approvals", "ask", "ask before a workspace's server runs, or off")
	f.StringVar(&o.record, "record", "", "keep what happens as a trace for mcpsim replay")
	f.StringVar(&o.log, "log", "", "keep what happens as an event log for mcpsim judge")
	f.BoolVar(&o.json, "json", false, "print a JSON object a line")
	return c
}

// check settles what can be wrong with the flags.
func (o *liveOptions) check() error {
	if o.mode != "single" && o.mode != "pool" {
		return fmt.Errorf("-mode %s: expected single or pool", o.mode)
	}
	if o.approvals != "ask" && o.approvals != "off" {
		return fmt.Errorf("-approvals %s: expected ask or off", o.approvals)
	}
	if st, err := os.Stat(o.workspace); err != nil {
		return fmt.Errorf("-workspace: %w", err)
	} else if !st.IsDir() {
		return fmt.Errorf("-workspace %s: not a directory", o.workspace)
	}
	for _, p := range []*string{&o.defaults, &o.system, &o.record, &o.log, &o.user} {
		if *p == "" {
			continue
		}
		abs, err := filepath.Abs(*p)
		if err != nil {
			return err
		}
		*p = abs
	}
	if o.user == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return fmt.Errorf("%w; give the user's settings with -user", err)
		}
		o.home = home
		return nil
	}
	dir := filepath.Dir(o.user)
	if filepath.Base(o.user) != "settings.json" {
		return fmt.Errorf("-user %s: the file has to be named settings.json; mcpApprovals.json is kept beside it", o.user)
	}
	if filepath.Base(dir) == ".qwen" {
		o.home = filepath.Dir(dir)
		return nil
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return fmt.Errorf("-user %s: its directory is not there", o.user)
	}
	// The host looks for .qwen in a home: it gets one in which that is a link to the directory.
	temp, err := os.MkdirTemp("", "mcpsim-home-")
	if err != nil {
		return err
	}
	o.home, o.temp = temp, temp
	return os.Symlink(dir, filepath.Join(temp, ".qwen"))
}

func (o *liveOptions) cleanUp() {
	if o.temp != "" {
		_ = os.RemoveAll(o.temp)
	}
}

func (o *liveOptions) launch(homeIsRoot bool) trace.Launch {
	l := trace.Launch{Mode: o.mode, HasAllowed: o.hasAllowed, Allowed: o.allowed, Approvals: o.approvals}
	if homeIsRoot {
		l.Cwd = "home"
	}
	return l
}

func runLive(cmd *cobra.Command, o *liveOptions) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // that nobody reads is an error of writing
	w, err := startLive(o, func(w *liveWorld, l *model.Launch) (sinks []liveSink, err error) {
		if o.log != "" {
			k, err := newLogSink(w, o.log, l)
			if err != nil {
				return nil, fmt.Errorf("-log: %w", err)
			}
			sinks = append(sinks, k)
		}
		if o.record != "" {
			if st, err := os.Stat(filepath.Dir(o.record)); err != nil || !st.IsDir() {
				return nil, fmt.Errorf("-record %s: its directory is not there", o.record)
			}
			sinks = append(sinks, newTraceRecorder(w, o.record))
		}
		return sinks, nil
	})
	if err != nil {
		signal.Stop(signals)
		return err
	}
	stop := make(chan struct{})
	go w.watchSettling(stop)

	var ended os.Signal
	in, isFile := cmd.InOrStdin().(*os.File)
	out, isTerm := cmd.OutOrStdout().(*os.File)
	if isFile && isTerm && !o.json && isTerminal(in) && isTerminal(out) {
		ended, err = runLiveTerminal(w, in, out, signals)
	} else {
		ended, err = runLiveLines(w, cmd.InOrStdin(), cmd.OutOrStdout(), signals)
	}
	if ended == nil && err == nil {
		w.awaitSettled(recordPatience, signals)
	}
	settled := true
	_ = w.turn(func(core *impl.Host) { w.look(core); settled = !w.dirty })
	close(stop)
	kill := make(chan struct{})
	go func() {
		<-signals
		close(kill)
	}()
	err = errors.Join(err, w.close(kill))
	if o.record != "" && err == nil {
		if !settled {
			fmt.Fprintf(cmd.ErrOrStderr(), "mcpsim: the host was not settled at the end: the trace ends %d ms before\n", w.at-w.settledAt)
		}
	}
	if err == nil && ended != nil { // as if nobody had caught it
		signal.Reset(ended)
		o.cleanUp()
		_ = syscall.Kill(os.Getpid(), ended.(syscall.Signal))
		time.Sleep(time.Second)
	}
	return err
}

// recordPatience is how long the end waits for the host to settle.
const recordPatience = 3 * time.Second

// watchSettling looks again and again whether the host is settled.
func (w *liveWorld) watchSettling(stop <-chan struct{}) {
	t := time.NewTicker(40 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-stop:
			return
		case <-t.C:
			if w.turn(func(core *impl.Host) { w.look(core) }) != nil {
				return
			}
		}
	}
}

// awaitSettled waits until the host is settled, for so long at most or until a signal comes, which it reports.
func (w *liveWorld) awaitSettled(most time.Duration, signals <-chan os.Signal) (settled bool, sig os.Signal) {
	end := time.After(most)
	for {
		if w.turn(func(core *impl.Host) { settled = w.look(core) && !w.dirty }) != nil || settled {
			return settled, nil
		}
		select {
		case sig := <-signals:
			return false, sig
		case <-end:
			return false, nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// readLines passes lines on until the input ends.
func readLines(in io.Reader) <-chan string {
	ch := make(chan string)
	go func() {
		defer close(ch)
		s := bufio.NewScanner(in)
		s.Buffer(nil, 16<<20)
		for s.Scan() {
			ch <- s.Text()
		}
	}()
	return ch
}
