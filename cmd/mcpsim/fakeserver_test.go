package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadBehaviour(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, x := range []struct{ script, want string }{
		{`{"tools":["x"]}`, "x"},
		{file("one", `{"tools":["y"],"delay":{"start":5}}`), "y"},
		{`{"srv":{"tools":["short"]},"srv-a":{"tools":["long"]},"other":{}}`, "long"},
		{file("trace", `{"mcpsim":1,"title":"t","servers":{"srv-a 1":{"tools":["traced"]}}}`+"\n"+`{"do":"settle"}`), "traced"},
		{`{"tool":["x"]}`, `error: unknown field "tool"`},
		{`{"other":{"tools":["x"]}}`, "error: no key is a beginning"},
		{`{"srv-a":{"fault":"sleep"}}`, `error: there is no fault "sleep"`},
		{`{"mcpsim":1}`, "error: no key is a beginning"},
		{filepath.Join(dir, "none"), "error: no such file"},
		{file("text", "tools"), "error: expected a JSON object"},
	} {
		b, err := readBehaviour(x.script, "srv-a 1")
		want, fails := strings.CutPrefix(x.want, "error: ")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, expected %s", x.script, err, want)
		case !fails && (err != nil || len(b.Tools) != 1 || b.Tools[0] != want):
			t.Errorf("%s: %+v, %v", x.script, b, err)
		}
	}
}

// command starts this program as mcpsim and returns what it prints, line by line.
func command(t *testing.T, args ...string) (*exec.Cmd, io.WriteCloser, <-chan string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return cmd, in, lines
}

func nextLine(t *testing.T, lines <-chan string, words ...string) {
	t.Helper()
	select {
	case l := <-lines:
		for _, w := range words {
			if !strings.Contains(l, w) {
				t.Errorf("%s is not in: %s", w, l)
			}
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("no line with %q", words)
	}
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func TestFakeServerReports(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "fake")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	sock := filepath.Join(dir, "sock")
	_, tell, reports := command(t, "fakeserver", "-listen", sock)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(sock); err == nil {
			break
		}
	}
	_, in, out := command(t, "fakeserver", "-name", "srv", "-behaviour", `{"tools":["x"]}`, "-report", sock)
	nextLine(t, reports, `"event":"start"`, `"command":"srv"`, `"pid":`, `"pgid":`, `"transport":"stdio"`)
	say := func(line string) {
		if _, err := io.WriteString(in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	say(initialize)
	nextLine(t, out, `"id":1`, "protocolVersion")
	nextLine(t, reports, `"event":"request"`, `"method":"initialize"`)
	if _, err := io.WriteString(tell, `{"behaviour":{"tools":["y"]},"list_changed":["tools"]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	nextLine(t, out, "notifications/tools/list_changed")
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	nextLine(t, out, `"name":"y"`)
	nextLine(t, reports, `"method":"tools/list"`)
	if _, err := io.WriteString(tell, `{"crash":true}`+"\n"); err != nil {
		t.Fatal(err)
	}
	nextLine(t, reports, `"event":"exit"`, `"code":9`)
}

func TestFakeServerHTTP(t *testing.T) {
	t.Parallel()
	cmd, _, out := command(t, "fakeserver", "-http", "127.0.0.1:0", "-tools", "x,y")
	url := <-out
	resp, err := http.Post(url, "application/json", strings.NewReader(initialize))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if !strings.Contains(string(body), "protocolVersion") || resp.Header.Get("Mcp-Session-Id") == "" {
		t.Errorf("%s %s", resp.Status, body)
	}
	_ = cmd.Process.Signal(os.Interrupt)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestFakeServerFlags(t *testing.T) {
	for _, args := range [][]string{
		{"-listen", "x", "-tools", "y"},
		{"-behaviour", "{"},
		{"-http", "nowhere", "-tools", "x"},
	} {
		if _, exit, err := mcpsim("", append([]string{"fakeserver"}, args...)...); exit != 2 || err == nil {
			t.Errorf("%q: exit %d, %v", args, exit, err)
		}
	}
}
