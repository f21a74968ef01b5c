package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpsim/model"
	"mcpsim/sim/realserver"
	"mcpsim/sim/trace"
)

// asCommand makes this program the command: the tests start it as mcpsim, and so do the files that they write.
const asCommand = "MCPSIM_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// liveRun is one run of mcpsim live without a terminal.
type liveRun struct {
	t       *testing.T
	dir     string
	ctl     *realserver.Controller
	cmd     *exec.Cmd
	in      io.WriteCloser
	record  string
	log     string
	waited  chan error
	mu      sync.Mutex
	lines   []string
	at      int // lines that were waited for
	changed chan struct{}
}

func newLiveRun(t *testing.T) *liveRun {
	t.Helper()
	dir, err := os.MkdirTemp("", "live") // short: a socket's path has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	r := &liveRun{t: t, dir: dir, record: filepath.Join(dir, "run.ndjson"), log: filepath.Join(dir, "run.log"), changed: make(chan struct{}, 1)}
	if r.ctl, err = realserver.Listen(filepath.Join(dir, "sock")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.ctl.Close() })
	for _, d := range []string{"ws", "home/.qwen"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// server is an entry that starts a scripted server under a name, which the controller knows it by.
func (r *liveRun) server(name string, b realserver.Behaviour, more string) string {
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.ctl.Behave(name, b); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf(`{"command":%q,"args":["fakeserver","-name",%q,"-report",%q]%s}`, exe, name, filepath.Join(r.dir, "sock"), more)
}

func (r *liveRun) write(name, text string) {
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *liveRun) start(args ...string) {
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	all := append([]string{"live", "-workspace", filepath.Join(r.dir, "ws"), "-user", filepath.Join(r.dir, "home/.qwen/settings.json"),
		"-record", r.record, "-log", r.log}, args...)
	r.cmd = exec.Command(exe, all...)
	r.cmd.Env = append(os.Environ(), asCommand+"=1", "LIVE_TEST_SECRET=from-the-environment", "GORACE=atexit_sleep_ms=0")
	r.cmd.Stderr = os.Stderr
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.waited = make(chan error, 1)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			r.mu.Lock()
			r.lines = append(r.lines, s.Text())
			r.mu.Unlock()
			select {
			case r.changed <- struct{}{}:
			default:
			}
		}
		r.waited <- r.cmd.Wait()
	}()
	r.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
}

func (r *liveRun) say(line string) {
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		r.t.Fatal(err)
	}
}

// await waits for a line with all of the words, after those waited for before, and returns it.
func (r *liveRun) await(words ...string) string {
	r.t.Helper()
	end := time.After(20 * time.Second)
	for {
		r.mu.Lock()
		for i := r.at; i < len(r.lines); i++ {
			all := true
			for _, w := range words {
				all = all && strings.Contains(r.lines[i], w)
			}
			if all {
				r.at = i + 1
				line := r.lines[i]
				r.mu.Unlock()
				return line
			}
		}
		rest := strings.Join(r.lines[r.at:], "\n")
		r.mu.Unlock()
		select {
		case <-r.changed:
		case <-end:
			r.t.Fatalf("no line with %q; since the last:\n%s", words, rest)
		}
	}
}

// settled waits until everything up to now has had its effect.
func (r *liveRun) settled() {
	r.t.Helper()
	r.say("wait")
	r.await("waited settled=true")
}

// ended waits for the end, and checks that no process is left.
func (r *liveRun) ended() error {
	r.t.Helper()
	select {
	case err := <-r.waited:
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if r.ctl.Wait(ctx, func() bool { return len(r.ctl.Processes()) == 0 }) != nil {
			r.t.Errorf("processes are left: %+v", r.ctl.Processes())
		}
		return err
	case <-time.After(20 * time.Second):
		r.t.Fatal("it does not end")
		return nil
	}
}

// judged replays what was recorded and judges the log; neither may find anything, nor hold one of the secrets.
func (r *liveRun) judged(secrets ...string) *trace.Trace {
	r.t.Helper()
	text, err := os.ReadFile(r.record)
	if err != nil {
		r.t.Fatal(err)
	}
	log, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	if out, exit, err := mcpsim("", "replay", r.record); exit != 0 {
		r.t.Errorf("the recorded trace fails: %v\n%s\n%s", err, out, text)
	}
	if out, exit, err := mcpsim("", "judge", r.log); exit != 0 || !strings.Contains(out, " 0 findings, 0 invariants not checkable") {
		r.t.Errorf("the log fails: %v\n%s\n%s", err, out, log)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range secrets {
		for where, what := range map[string]string{"trace": string(text), "log": string(log), "output": strings.Join(r.lines, "\n")} {
			if strings.Contains(what, s) {
				r.t.Errorf("the %s holds %s", where, s)
			}
		}
	}
	tr, err := trace.Parse(r.record, text)
	if err != nil {
		r.t.Fatal(err)
	}
	if n := len(tr.Steps); n == 0 || tr.Steps[n-1].Do != trace.ExpectStep {
		r.t.Errorf("the trace does not end in an expectation:\n%s", text)
	}
	return tr
}

func TestLive(t *testing.T) {
	for _, mode := range []string{"single", "pool"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := newLiveRun(t)
			a := r.server("srv-a", realserver.Behaviour{Tools: []string{"x", "y"}}, `,"env":{"TOKEN":"the-token-value","OTHER":"$LIVE_TEST_SECRET"}`)
			b := r.server("srv-b", realserver.Behaviour{Tools: []string{"z"}}, "")
			r.write("ws/.mcp.json", `{"mcpServers":{"a":`+a+`}} // not-to-be-kept`)
			r.start("-mode", mode)
			r.await("host", "mode="+mode, "approvals=ask")
			r.await("server a", "state=held:pending_approval", `text="needs approval"`, "file=.mcp.json", "transport=stdio")
			r.await("ask a hash=", "file=.mcp.json", "-name srv-a")
			r.await(`"env": "OTHER" (17 characters), "TOKEN" (15 characters)`)
			r.settled()
			r.say("approve a")
			r.await("decided a outcome=approved")
			r.await("server a state=dialing")
			r.await("server a state=live", "tools=x,y")
			r.settled()
			r.say(`call a x {"k":1}`)
			r.await("calling c1")
			r.await("called c1 outcome=ok", "is_error=false text=x")

			// The same file with a server more, which is rejected; and then approved, which counts no more.
			r.write("ws/.mcp.json", `{"mcpServers":{"b":`+b+`,"a":`+a+`}}`)
			hash := strings.Fields(r.await("ask b hash="))[2][len("hash="):]
			r.say("approve b 00" + hash)
			r.await("error", "what was asked last has the hash "+hash)
			r.say("reject b " + hash)
			r.await("decided b outcome=rejected hash=" + hash)
			r.await("server b state=held:rejected", `text="rejected: edit the config to be asked again"`)
			r.settled()
			r.say("approve b")
			r.await("refused b why=not_asked")
			r.say("approve c")
			r.await("error", "nothing about it was asked")

			// The server changes its list, and crashes; a reload brings it back.
			if err := r.ctl.Behave("srv-a", realserver.Behaviour{Tools: []string{"x", "w"}}); err != nil {
				t.Fatal(err)
			}
			r.ctl.Announce("srv-a", "tools")
			r.await("server a state=live", "tools=x,w")
			r.settled()
			r.ctl.Crash("srv-a")
			r.await("server a state=failed:exit", `error="exit: its process ended"`)
			r.settled()
			r.say("reload")
			r.await("server a state=live")
			r.settled()

			// The user's settings bound it; a broken file changes nothing; back again.
			r.write("home/.qwen/settings.json", `{"mcp":{"excluded":["a"]},"apiKey":"the-key-of-another"}`)
			r.await("server a state=held:excluded")
			r.settled()
			r.say("call a x")
			r.await("called c2 outcome=refused:excluded", "way=")
			r.write("home/.qwen/settings.json", `{"mcp":{"excluded":["a"]},"apiKey":"the-key-of-a`)
			r.await("notice unparsable", "line=1")
			r.settled()
			if err := os.Remove(filepath.Join(r.dir, "home/.qwen/settings.json")); err != nil {
				t.Fatal(err)
			}
			r.await("cleared unparsable")
			r.await("server a state=live")
			r.settled()
			began := r.ctl.Started("srv-a")
			r.say("open s2")
			r.await("opened s2")
			r.await("server a session=s2 state=live", "tools=x,w")
			r.settled()
			if n := r.ctl.Started("srv-a") - began; n != map[string]int{"single": 1, "pool": 0}[mode] {
				t.Errorf("%d connections began for the second session", n)
			}
			r.say("close s2")
			r.await("closed s2")
			r.settled()
			r.say("status")
			r.await("server a state=live")
			r.await("server b state=held:rejected")
			r.await("status servers=2 asked=0 notices=0")
			r.say("quit")
			if err := r.ended(); err != nil {
				t.Error(err)
			}
			tr := r.judged("the-token-value", "from-the-environment", "the-key-of-another", "the-key-of-a", "not-to-be-kept")
			kinds := map[trace.StepKind]int{}
			for i := range tr.Steps {
				kinds[tr.Steps[i].Do]++
			}
			for k, n := range map[trace.StepKind]int{trace.Write: 3, trace.Remove: 1, trace.Approve: 2, trace.Reject: 1, trace.Reload: 1, trace.Call: 2, trace.Crash: 1, trace.Server: 1} {
				if kinds[k] < n {
					t.Errorf("%d steps of %s, expected %d at least:\n%s", kinds[k], k, n, trace.Print(tr))
				}
			}
		})
	}
}

// Decisions of an earlier run, of another process, and servers that cannot be had.
func TestLiveElsewhere(t *testing.T) {
	t.Parallel()
	r := newLiveRun(t)
	a := r.server("srv-a", realserver.Behaviour{Tools: []string{"x"}}, "")
	b := r.server("srv-b", realserver.Behaviour{Tools: []string{"y"}}, "")
	all := `{"mcpServers":{"a":` + a + `,"b":` + b + `,"none":{"command":"there-is-no-such-command"},"web":{"type":"http","url":"http://127.0.0.1:1/"}}}`
	r.write("ws/.mcp.json", all)
	r.start()
	r.await("ask a hash=")
	r.say("approve a")
	r.await("server a state=live")
	r.say("reject b")
	r.await("server b state=held:rejected")
	r.say("quit")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	r.judged()
	approvals := filepath.Join(r.dir, "home/.qwen/mcpApprovals.json")
	aOnly, err := os.ReadFile(approvals)
	if err != nil {
		t.Fatal(err)
	}

	r.at = len(r.lines)
	r.start("-json")
	r.await(`"event":"server","name":"a","state":"live"`)
	r.await(`"event":"settled"`)
	r.say("approve none")
	r.await(`"event":"server","name":"none","state":"failed:refused"`)
	r.say("approve web")
	r.await(`"event":"server","name":"web","state":"failed:refused"`)
	r.await(`"event":"settled"`)
	r.write("home/.qwen/mcpApprovals.json", string(aOnly)) // another process takes two decisions back
	r.await(`"event":"ask","name":"none"`)
	r.await(`"event":"settled"`)
	r.write("home/.qwen/mcpApprovals.json", "")
	r.await(`"event":"ask","name":"a"`)
	r.await(`"event":"settled"`)
	r.mu.Lock()
	for _, l := range r.lines[r.at-1:] {
		var x struct {
			T     *int64 `json:"t"`
			Event string `json:"event"`
		}
		if err := json.Unmarshal([]byte(l), &x); err != nil || x.T == nil || x.Event == "" {
			t.Errorf("not a JSON object with t and event: %s", l)
		}
	}
	r.mu.Unlock()
	r.say("quit")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	if tr := r.judged(); len(tr.Header.Records) != 2 {
		t.Errorf("records at the start: %+v", tr.Header.Records)
	}
}

// A decision of an earlier run counts again when its server comes back (APR-2), for who judges the log too, which says from
// the start what was decided on.
func TestLiveRemembers(t *testing.T) {
	t.Parallel()
	r := newLiveRun(t)
	all := `{"mcpServers":{"a":` + r.server("srv-a", realserver.Behaviour{Tools: []string{"x"}}, `,"env":{"TOKEN":"$LIVE_TEST_SECRET"}`) + `,"b":{"command":"srv-b"}}}`
	r.write("ws/.mcp.json", all)
	r.start()
	r.await("ask b hash=")
	r.say("approve a")
	r.await("server a state=live")
	r.say("reject b")
	r.await("decided b outcome=rejected")
	r.say("quit")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	r.write("ws/.mcp.json", `{"mcpServers":{}}`)
	r.at = len(r.lines)
	r.start()
	r.await("settled servers=0")
	r.write("ws/.mcp.json", all)
	r.await("server a state=live")
	r.settled()
	r.say("status")
	r.await("server b state=held:rejected")
	r.await("status servers=2 asked=0")
	r.say("quit")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	r.judged("from-the-environment")
}

func TestLiveEndsBySignal(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			r := newLiveRun(t)
			r.write("ws/.mcp.json", `{"mcpServers":{"a":`+r.server("srv-a", realserver.Behaviour{Tools: []string{"x"}, Grandchild: true}, "")+
				`,"b":`+r.server("srv-b", realserver.Behaviour{Delay: map[string]realserver.Delay{"start": {Ms: 60000}}}, "")+`}}`)
			r.start("-approvals", "off")
			r.await("server a state=live")
			if err := r.in.Close(); err != nil { // which ends nothing
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := r.ctl.Wait(ctx, func() bool { return len(r.ctl.Processes()) == 3 }); err != nil {
				t.Fatalf("%v: %+v", err, r.ctl.Processes())
			}
			_ = r.cmd.Process.Signal(sig)
			err := r.ended()
			if st, ok := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !st.Signaled() || st.Signal() != sig {
				t.Errorf("it ended otherwise: %v", err)
			}
			if out, exit, _ := mcpsim("", "judge", r.log); exit != 0 {
				t.Errorf("the log fails: %s", out)
			}
		})
	}
}

func TestLiveNobodyReads(t *testing.T) {
	t.Parallel()
	r := newLiveRun(t)
	r.write("ws/.mcp.json", `{"mcpServers":{"a":`+r.server("srv-a", realserver.Behaviour{Tools: []string{"x"}}, "")+`}}`)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "live", "-workspace", filepath.Join(r.dir, "ws"), "-user", filepath.Join(r.dir, "settings.json"), "-approvals", "off")
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	_ = write.Close()
	for s := bufio.NewScanner(read); s.Scan() && !strings.Contains(s.Text(), "state=dialing"); {
	}
	_ = read.Close() // before it is live, which it says in vain
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 2 {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
	r.cmd, r.waited = cmd, make(chan error, 1)
	r.waited <- nil
	_ = r.ended()
}

func TestLiveFlags(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"-mode", "both"}, "expected single or pool"},
		{[]string{"-approvals", "no"}, "expected ask or off"},
		{[]string{"-workspace", filepath.Join(dir, "none")}, "no such file"},
		{[]string{"-workspace", dir, "-user", filepath.Join(dir, "me.json")}, "named settings.json"},
		{[]string{"-workspace", dir, "-user", filepath.Join(dir, "settings.json"), "-record", filepath.Join(dir, "none", "t")}, "its directory is not there"},
		{[]string{"-workspace", dir, "-user", filepath.Join(dir, "settings.json"), "-log", filepath.Join(dir, "none", "t")}, "no such file"},
	} {
		if _, exit, err := mcpsim("", append([]string{"live"}, x.args...)...); exit != 2 || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q: exit %d, %v", x.args, exit, err)
		}
	}
}

func TestMaskedText(t *testing.T) {
	m := newTraceMask()
	text := `{ // a comment with a password
  "mcpServers": {
    "a": {"command": "npx", "args": ["-y", "pkg@1.2.3", "--api-key", "abc", "--token=def", "sk-123456", "/some/path", "X-Key: hidden-header"],
      "env": {"T": "tok $HOME ${X:-deflt} $$", "N": 1234567890123}, /* another
      comment */ "includeTools": ["tool"],},
    "b": {"url": "https://user:pw@host/p?key=kkk&q=1", "headers": {"Authorization": "Bearer zzz"}, "unknown": "uuu"},
  },
  "mcp": {"allowed": ["al*"]},
  "apiKey": "top", "list": ["in"], "n": 7,
}
`
	got := m.document(text)
	for _, secret := range []string{"password", `"abc"`, "hidden-header", "def\"", "sk-123456", "tok ", "deflt", "1234567890123", "another", "pw", "kkk", "Bearer", "zzz", "uuu", "top", `"in"`} {
		if strings.Contains(got, secret) {
			t.Errorf("%s is left in\n%s", secret, got)
		}
	}
	for _, kept := range []string{`"npx"`, `"-y", "pkg@1.2.3", "--api-key", "mask-`, `"--token=mask-`, `"/some/path"`, "${HOME}mask-", "${X:-mask-", "$$", `["tool"],}`,
		"@host/p?key=mask-", "&q=1", `["al*"]`, `"n": 7`} {
		if !strings.Contains(got, kept) {
			t.Errorf("%s is not there any more:\n%s", kept, got)
		}
	}
	if strings.Count(got, "\n") != strings.Count(text, "\n") {
		t.Errorf("the lines are not the same:\n%s", got)
	}
	c, d := trace.Denote([]byte(text)), trace.Denote([]byte(got))
	if d.State != model.Good {
		t.Fatalf("it is no document any more:\n%s", got)
	}
	for i, s := range c.Value.Get("mcpServers").Members {
		if masked := m.entry(s.Value); !model.Equal(masked, d.Value.Get("mcpServers").Members[i].Value) {
			t.Errorf("the entry %s is masked as %s alone, in its file as %s", s.Key, masked, d.Value.Get("mcpServers").Members[i].Value)
		}
	}
	if got := m.document(`{"mcpServers":{"a":{"env":{"T":"cut of`); strings.Contains(got, "cut") || trace.Denote([]byte(got)).State == model.Good {
		t.Errorf("of a broken file is left: %s", got)
	}
	if got := m.document("../shared/.mcp.json"); got != "../shared/.mcp.json" {
		t.Errorf("a link checked out as text became %s", got)
	}
}

func TestSplitCommand(t *testing.T) {
	for line, want := range map[string]string{
		`call a x {"k": "v w"}`: `["call" "a" "x"] {"k": "v w"}`,
		`approve "my server"`:   `["approve" "my server"] `,
		`  reload  `:            `["reload"] `,
		``:                      `[] `,
		`call "a b" "c\"d"`:     `["call" "a b" "c\"d"] `,
	} {
		words, rest, err := splitCommand(line)
		if got := fmt.Sprintf("%q %s", words, rest); err != nil || got != want {
			t.Errorf("%s: %s, %v", line, got, err)
		}
	}
	if _, _, err := splitCommand(`approve "x`); err == nil {
		t.Error("an open quote is no word")
	}
}
