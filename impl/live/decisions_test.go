package live

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcpsim/impl"
)

// deciderVariable makes the test binary a process that rejects every n-th question of a workspace, one by one: dir, home,
// n and the remainder, separated by colons.
const deciderVariable = "MCPSIM_LIVE_TEST_DECIDER"

func deciderMain() {
	w := strings.Split(os.Getenv(deciderVariable), ":")
	n, _ := strconv.Atoi(w[2])
	rest, _ := strconv.Atoi(w[3])
	ctx := contextOf(10 * patience)
	h, err := New(ctx, Options{Dir: w[0], Home: w[1], Trusted: true})
	if err != nil {
		panic(err)
	}
	s, err := h.OpenSession(ctx, "s1", nil)
	if err != nil {
		panic(err)
	}
	qs, err := s.Questions(ctx)
	if err != nil {
		panic(err)
	}
	for _, q := range qs {
		if i, _ := strconv.Atoi(q.Server); i%n != rest {
			continue
		}
		if err := s.Reject(ctx, q); err != nil {
			panic(fmt.Sprint(q.Server, ": ", err))
		}
	}
	if err := h.Close(ctx); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// Two processes that decide at once, as fast as they can, lose nothing (APR-7).
func TestTwoProcessesDecideAtOnceAndLoseNothing(t *testing.T) {
	total := 100
	if os.Getenv(soakVariable) != "" {
		total = 1000
	}
	noLeaks(t)
	w := newWorkspace(t)
	entries := map[string]any{}
	for i := range total {
		entries[strconv.Itoa(i)] = map[string]any{"command": "no-such-command"}
	}
	w.project(map[string]any{"mcpServers": entries})
	exe, err := os.Executable()
	must(t, err)
	var cmds []*exec.Cmd
	for i := range 2 {
		c := exec.Command(exe)
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%s:%s:2:%d", deciderVariable, w.dir, w.home, i), "GORACE=atexit_sleep_ms=0")
		c.Stderr = os.Stderr
		must(t, c.Start())
		cmds = append(cmds, c)
	}
	for _, c := range cmds {
		must(t, c.Wait())
	}
	h, err := New(patient(t), Options{Dir: w.dir, Home: w.home, Trusted: true})
	must(t, err)
	s, err := h.OpenSession(patient(t), "s1", nil)
	must(t, err)
	st, err := s.Status(patient(t))
	must(t, err)
	if len(st.Servers) != total || len(st.Questions) > 0 {
		t.Errorf("%d of %d decisions are lost", len(st.Questions), total)
	}
	must(t, h.Close(patient(t)))
	names, err := os.ReadDir(filepath.Join(w.home, ".qwen"))
	must(t, err)
	for _, n := range names {
		if n.Name() != "mcpApprovals.json" && n.Name() != "mcpApprovals.json.lock" {
			t.Errorf("%s is left behind", n.Name())
		}
	}
}

// Who waits for the lock in vain is told who has it.
func TestLockTimeoutNamesTheHolder(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the 5 s of APR-9")
	}
	p := newPlace(t, nil)
	p.project(servers("a", "no-such-command"))
	p.shows(p.s, "a held:pending_approval")
	unlock, ok, err := NewFS(p.h.loop).TryLock(filepath.Join(p.home, ".qwen", "mcpApprovals.json.lock"))
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := p.s.Reject(patient(t), p.asked("a")); err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("%v", err)
	}
	unlock()
	st, err := p.s.Status(patient(t))
	must(t, err)
	text, _ := json.Marshal(st.Notices)
	if len(st.Notices) != 1 || st.Notices[0].Kind != "decision" || !strings.Contains(st.Notices[0].Text, strconv.Itoa(os.Getpid())) {
		t.Errorf("the notice does not name the holder: %s", text)
	}
	must(t, p.s.Reject(patient(t), p.asked("a")))
	if err := p.h.until(patient(t), func(core *impl.Host) bool { return len(core.Status(p.s.id).Notices) == 0 }); err != nil {
		t.Error("the notice stands")
	}
}
