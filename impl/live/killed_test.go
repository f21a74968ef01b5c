package live

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mcpsim/sim/realserver"
)

// hostVariable makes the test binary a host process: its value is the JSON of a hostProcess.
const hostVariable = "MCPSIM_LIVE_TEST_HOST"

type hostProcess struct {
	Dir, Home string
	Environ   []string
	Signals   bool // HandleSignals
	Leave     bool // os.Exit without Close, when told
}

// hostMain runs a host, says the watchdog's pid once its servers are up, and waits for its end. A line on stdin ends it too.
func hostMain() {
	var p hostProcess
	if err := json.Unmarshal([]byte(os.Getenv(hostVariable)), &p); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	h, err := New(ctx, Options{Dir: p.Dir, Home: p.Home, Environ: p.Environ, Trusted: true, ApprovalsOff: true})
	if err != nil {
		panic(err)
	}
	if p.Signals {
		HandleSignals(h)
	}
	s, err := h.OpenSession(ctx, "s1", nil)
	if err != nil {
		panic(err)
	}
	if err := s.Ready(ctx); err != nil {
		panic(err)
	}
	h.dialer.watchdog.mu.Lock()
	fmt.Println(h.dialer.watchdog.pid)
	h.dialer.watchdog.mu.Unlock()
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

func TestNothingOutlivesAHostThatIsEnded(t *testing.T) {
	for name, c := range map[string]struct {
		signals bool
		end     func(t *testing.T, y *yard, host *os.Process)
	}{
		"killed outright":    {false, func(t *testing.T, _ *yard, p *os.Process) { must(t, p.Kill()) }},
		"SIGTERM, unhandled": {false, func(t *testing.T, _ *yard, p *os.Process) { must(t, p.Signal(syscall.SIGTERM)) }},
		"SIGTERM":            {true, func(t *testing.T, _ *yard, p *os.Process) { must(t, p.Signal(syscall.SIGTERM)) }},
		"SIGINT":             {true, func(t *testing.T, _ *yard, p *os.Process) { must(t, p.Signal(syscall.SIGINT)) }},
		"SIGTERM twice": {true, func(t *testing.T, y *yard, p *os.Process) {
			must(t, p.Signal(syscall.SIGTERM))
			y.await("the closed input", func() bool { // two signals at once are one
				return slices.ContainsFunc(y.Reports(), func(r realserver.Report) bool { return r.Event == "input_closed" })
			})
			must(t, p.Signal(syscall.SIGTERM))
		}},
		"killed with its group": {false, func(t *testing.T, _ *yard, p *os.Process) { must(t, syscall.Kill(-p.Pid, syscall.SIGKILL)) }},
		"left without Close":    {false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			y := newYard(t)
			y.serve("polite", realserver.Behaviour{})
			y.serve("parent", realserver.Behaviour{Grandchild: true})
			y.serve("stubborn", realserver.Behaviour{IgnoreTerm: true, Grandchild: true})
			cmd, _ := y.host(t, c.signals, "polite", "parent", "stubborn")
			y.await("the helpers", func() bool { return y.Alive("") == 5 })
			if c.end != nil {
				c.end(t, y, cmd.Process)
			} else {
				_, _ = fmt.Fprintln(cmd.Stdin.(*os.File))
				closeFile(cmd.Stdin.(*os.File))
			}
			y.await("nobody", func() bool { return y.Alive("") == 0 })
			_ = cmd.Wait()
			if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); name == "SIGTERM" && ws.Signal() != syscall.SIGTERM {
				t.Errorf("the host ended as %v, not by the signal", cmd.ProcessState)
			}
		})
	}
}

// Without the watchdog the kernel still kills the direct children, on Linux.
func TestDirectChildrenGoWithAHostAndItsWatchdog(t *testing.T) {
	y := newYard(t)
	y.serve("stubborn", realserver.Behaviour{IgnoreTerm: true})
	cmd, watchdog := y.host(t, false, "stubborn")
	must(t, cmd.Process.Signal(syscall.SIGSTOP)) // so that it does not start another
	must(t, syscall.Kill(watchdog, syscall.SIGKILL))
	must(t, cmd.Process.Kill())
	y.await("nobody", func() bool { return y.Alive("") == 0 })
	_ = cmd.Wait()
}

// host starts a host process with servers and returns when they are up.
func (y *yard) host(t *testing.T, signals bool, servers ...string) (cmd *exec.Cmd, watchdog int) {
	t.Helper()
	w := newWorkspace(t)
	entries := map[string]any{}
	for _, s := range servers {
		entries[s] = map[string]any{"command": s}
	}
	w.user(map[string]any{"mcpServers": entries})
	config, err := json.Marshal(hostProcess{Dir: w.dir, Home: w.home, Environ: y.environ(), Signals: signals})
	must(t, err)
	exe, err := os.Executable()
	must(t, err)
	cmd = exec.Command(exe)
	cmd.Env = append(os.Environ(), hostVariable+"="+string(config))
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, stdin, err := os.Pipe()
	must(t, err)
	cmd.Stdin = in
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	closeFile(in)
	cmd.Stdin = stdin // what the test writes to
	t.Cleanup(func() {
		closeFile(stdin)
		_ = cmd.Process.Kill()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	_, err = fmt.Sscan(strings.TrimSpace(line), &watchdog)
	must(t, err)
	return cmd, watchdog
}

// workspace is a home and a folder.
type workspace struct {
	t         testing.TB
	home, dir string
}

func newWorkspace(t testing.TB) *workspace {
	top := t.TempDir()
	w := &workspace{t: t, home: filepath.Join(top, "home"), dir: filepath.Join(top, "work")}
	for _, d := range []string{filepath.Join(w.home, ".qwen"), filepath.Join(w.dir, ".qwen")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// put saves a file as an editor does, by renaming.
func (w *workspace) put(path string, v any) {
	w.t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		if err = os.WriteFile(path+".tmp", b, 0o644); err == nil {
			err = os.Rename(path+".tmp", path)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *workspace) user(v any) {
	w.t.Helper()
	w.put(filepath.Join(w.home, ".qwen", "settings.json"), v)
}
func (w *workspace) project(v any) { w.t.Helper(); w.put(filepath.Join(w.dir, ".mcp.json"), v) }

// servers is {"mcpServers": …} of name → command line, or of anything else as it is.
func servers(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		e := pairs[i+1]
		if line, ok := e.(string); ok {
			words := strings.Fields(line)
			x := map[string]any{"command": words[0]}
			if len(words) > 1 {
				x["args"] = words[1:]
			}
			e = x
		}
		m[pairs[i].(string)] = e
	}
	return map[string]any{"mcpServers": m}
}
