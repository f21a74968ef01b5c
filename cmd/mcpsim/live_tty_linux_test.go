package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mcpsim/sim/realserver"
)

// openTerminal opens a terminal of a size: the side of who looks at it and types, and the program's.
func openTerminal(t *testing.T, width, height uint16) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: width}); err != nil {
		t.Skip(err)
	}
	return person, program
}

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// liveScreen is what a terminal shows.
type liveScreen struct {
	mu   sync.Mutex
	text string
}

func (s *liveScreen) read(f *os.File) {
	buf := make([]byte, 1<<16)
	for {
		n, err := f.Read(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.text += string(buf[:n])
		s.mu.Unlock()
	}
}

// last is the last screen that was drawn in full.
func (s *liveScreen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	frames := strings.Split(s.text, "\x1b[H")
	return escapes.ReplaceAllString(frames[len(frames)-1], "")
}

func TestLiveTerminal(t *testing.T) {
	t.Parallel()
	r := newLiveRun(t)
	r.write("ws/.mcp.json", `{"mcpServers":{"a":`+r.server("srv-a", realserver.Behaviour{Tools: []string{"x", "y"}}, `,"env":{"TOKEN":"the-token-value"}`)+
		`,"b":{"command":"there-is-no-such-command"}}}`)
	person, program := openTerminal(t, 110, 30)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "live", "-workspace", filepath.Join(r.dir, "ws"), "-user", filepath.Join(r.dir, "home/.qwen/settings.json"), "-record", r.record, "-log", r.log)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	before, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	s := &liveScreen{}
	go s.read(person)
	shows := func(words ...string) string {
		t.Helper()
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			screen, all := s.last(), true
			for _, w := range words {
				all = all && regexp.MustCompile(w).MatchString(screen)
			}
			if all {
				return screen
			}
			if time.Now().After(end) {
				t.Fatalf("not all of %q on the screen:\n%s", words, screen)
			}
		}
	}
	key := func(k string) {
		if _, err := person.WriteString(k); err != nil {
			t.Fatal(err)
		}
	}
	shows(`a +needs approval +\.mcp\.json +stdio +-`, `May a run\?  \(question 1 of 2\)`, `"env": "TOKEN" \(15 characters\)`, "a approves exactly this", "settled")
	time.Sleep(answerAfter)
	key("a")
	shows(`a +live +\.mcp\.json +stdio +2`, `May b run\?  \(question 1 of 1\)`)
	key("r") // too soon after it appeared
	shows("only just appeared")
	r.write("ws/.mcp.json", strings.ReplaceAll(readText(t, filepath.Join(r.dir, "ws/.mcp.json")), "there-is", "here-is"))
	shows("It reads otherwise by now")
	time.Sleep(answerAfter)
	key("a") // an answer to what is on the screen, which counts no more
	shows("the answer does not count: it reads otherwise by now", "runs +here-is-no-such-command", `b +needs approval`)
	time.Sleep(answerAfter)
	key("a")
	shows(`b +failed: refused`, "it could not be started or reached")
	key("ca x\r")
	shows("c1  ok  x")
	key("t")
	shows("mcp__a__y", "any key goes back")
	key(" ")
	shows("SERVER +STATE +FROM")
	key(":nonsense\r")
	shows("no such command")
	key("q")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	after, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil || *after != *before {
		t.Errorf("the terminal is not as it was: %v", err)
	}
	s.mu.Lock()
	if strings.Contains(s.text, "the-token-value") {
		t.Error("the screen showed a secret")
	}
	s.mu.Unlock()
	r.judged("the-token-value")
}

func readText(t *testing.T, p string) string {
	t.Helper()
	b, err := os.ReadFile(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
