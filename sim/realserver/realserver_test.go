package realserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestBehaviourIsReadAsATraceWritesIt(t *testing.T) {
	text := `{"tools":["x"],"delay":{"call":5,"init":{"ms":7,"hold":"answer"}},"fault":"hang","at":"tools","ignore_term":true,"era":"modern"}`
	b, err := ParseBehaviour([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if b2, err := ParseBehaviour(again); err != nil || fmt.Sprint(b2) != fmt.Sprint(b) {
		t.Errorf("%s: %v", again, err)
	}
	if b.faultAt("tools") != "hang" || b.faultAt("init") != "" || b.delay("call") != 5*time.Millisecond {
		t.Errorf("%+v", b)
	}
	for _, wrong := range []string{`{"tool":[]}`, `{"delay":{"stop":1}}`, `{"fault":"die"}`, `{"at":"never"}`, `{"era":"old"}`,
		`{"delay":{"call":{"ms":1,"hold":"on"}}}`, `[]`} {
		if _, err := ParseBehaviour([]byte(wrong)); err == nil {
			t.Errorf("%s was taken", wrong)
		}
	}
	for f, at := range map[string]string{"refuse": "start", "exit": "init"} {
		if b := (&Behaviour{Fault: f}); b.faultAt(at) != f {
			t.Errorf("%s is not at %s", f, at)
		}
	}
}

func TestListsArePaged(t *testing.T) {
	e := &engine{report: func(Report) {}}
	var b Behaviour
	for i := range 120 {
		b.Tools = append(b.Tools, fmt.Sprint(i))
	}
	e.behave(b)
	var names []string
	cursor := ""
	for range 3 {
		params, _ := json.Marshal(map[string]string{"cursor": cursor})
		out := e.serve(context.Background(), message{ID: json.RawMessage("1"), Method: "tools/list", Params: params})
		var r struct {
			Result struct {
				Tools []struct{ Name string }
				Next  string `json:"nextCursor"`
			}
		}
		if err := json.Unmarshal(out.answer, &r); err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Result.Tools {
			names = append(names, x.Name)
		}
		cursor = r.Result.Next
	}
	if strings.Join(names, " ") != strings.Join(b.Tools, " ") || cursor != "" {
		t.Errorf("%v, then %q", names, cursor)
	}
}

func TestLongestBeginningOfACommandLineWinsAndLinksFollow(t *testing.T) {
	dir := t.TempDir()
	c, err := Listen(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Commands(dir, "/bin/true"); err != nil {
		t.Fatal(err)
	}
	_ = c.Behave("srv", Behaviour{Tools: []string{"a"}})
	_ = c.Behave("srv 1", Behaviour{Tools: []string{"b"}})
	for line, want := range map[string]string{"srv": "srv", "srv 2": "srv", "srv 1 x": "srv 1", "other": ""} {
		if got := c.match(line); got != want {
			t.Errorf("%q is %q", line, got)
		}
	}
	there := func() bool { _, err := os.Lstat(filepath.Join(dir, "srv")); return err == nil }
	if !there() {
		t.Error("the command is not there")
	}
	_ = c.Behave("srv", Behaviour{Fault: "refuse"})
	_ = c.Behave("srv 1", Behaviour{Fault: "refuse"})
	if there() {
		t.Error("what refuses can be started")
	}
}

func TestHTTPServerForgetsItsSessionsInACrashAndIsNotThereWhileItRefuses(t *testing.T) {
	var reports []Report
	h, err := NewHTTPServer("srv", "127.0.0.1:0", Behaviour{Tools: []string{"x"}}, func(r Report) { reports = append(reports, r) })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	post := func(session, method string) (int, string) {
		body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method})
		r, _ := http.NewRequest(http.MethodPost, h.URL, bytes.NewReader(body))
		r.Close = true
		r.Header.Set("Mcp-Session-Id", session)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, ""
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, resp.Header.Get("Mcp-Session-Id")
	}
	code, id := post("", "initialize")
	if code != 200 || id == "" {
		t.Fatal(code, id)
	}
	if code, _ := post(id, "tools/list"); code != 200 {
		t.Error(code)
	}
	h.crash()
	if code, _ := post(id, "tools/list"); code != 404 {
		t.Errorf("a session outlived a crash: %d", code)
	}
	h.behave(Behaviour{Fault: "refuse"})
	if code, _ := post("", "initialize"); code != 0 {
		t.Errorf("it refuses with %d", code)
	}
	h.behave(Behaviour{})
	if code, _ := post("", "initialize"); code != 200 {
		t.Errorf("it is back with %d", code)
	}
	if len(reports) == 0 || reports[0].Event != "start" {
		t.Errorf("%+v", reports)
	}
}
