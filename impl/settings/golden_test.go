package settings

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpsim/impl/config"
	"mcpsim/impl/event"
)

var update = flag.Bool("update", false, "write testdata/real-configs.golden; read the difference")

type realFile struct{ ID, Path, Text string }

func realFiles(t *testing.T) []realFile {
	f, err := os.Open("testdata/real-configs.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []realFile
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r realFile
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	if len(out) != 145 {
		t.Fatalf("%d files", len(out))
	}
	return out
}

// scope: a settings.json is read as settings, every other file as a .mcp.json.
func (r *realFile) scope() event.Scope {
	if filepath.Base(r.Path) == "settings.json" {
		return event.User
	}
	return event.Project
}

// loaded is a source as it is after one load at start.
func loaded(scope event.Scope, text []byte, cache *config.Cache) (src *source, notices []event.Notice) {
	src = &source{scope: scope, path: "/f"}
	src.load(&reading{data: text}, cache)
	s := &Sources{o: Options{OnNotice: func(n event.Notice, _ bool) { notices = append(notices, n) }}}
	s.tellNotices(src)
	return src, notices
}

var transports = map[config.Kind]string{config.Stdio: "stdio", config.HTTP: "http", config.SSE: "sse"}

// line is one file of the golden: where it is read from and, per server, its transport and from what the transport was made;
// then every notice. What stays a secret elsewhere (arguments, URLs, env) is not shown.
func line(r *realFile, src *source, notices []event.Notice) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s as %s:", r.ID, r.Path, src.scope)
	env := func(string) (string, bool) { return "", false }
	for _, e := range src.layer.Servers {
		fmt.Fprintf(&b, " %q=%s", e.Name, transports[e.Kind])
		switch {
		case e.Kind == config.Stdio:
			fmt.Fprintf(&b, " %q %d", e.Command, len(e.Args))
		case e.UntypedURL:
			b.WriteString(" untyped")
		}
		if e.Disabled {
			b.WriteString(" disabled")
		}
		if e.TimeoutMs > 0 {
			fmt.Fprintf(&b, " %dms", e.TimeoutMs)
		}
		b.WriteByte(';')
		for _, p := range e.Expand(env, "/project").Problems {
			notices = append(notices, event.Notice{Kind: p.Kind, Server: p.Server, Key: p.Key, Text: p.Text})
		}
	}
	if src.layer.HasAllowed {
		fmt.Fprintf(&b, " allowed %q;", src.layer.Allowed)
	}
	for _, n := range notices {
		fmt.Fprintf(&b, " !%s", n.Kind)
		if n.Server != "" {
			fmt.Fprintf(&b, " %q", n.Server)
		}
		if n.Key != "" {
			fmt.Fprintf(&b, " %s", n.Key)
		}
		if n.Line > 0 {
			fmt.Fprintf(&b, " %d:%d", n.Line, n.Column)
		}
		fmt.Fprintf(&b, " (%s);", n.Text)
	}
	return b.String()
}

// TestRealFiles loads 145 files that people committed as the spec says: one golden line a file (SRC-4 to SRC-8, SRC-15 to
// SRC-17).
func TestRealFiles(t *testing.T) {
	cache := config.NewCache()
	var got bytes.Buffer
	for _, r := range realFiles(t) {
		src, notices := loaded(r.scope(), []byte(r.Text), cache)
		fmt.Fprintln(&got, line(&r, src, notices))
	}
	const golden = "testdata/real-configs.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	wantLines := strings.Split(string(want), "\n")
	for i, l := range strings.Split(got.String(), "\n") {
		if i >= len(wantLines) || l != wantLines[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, l, wantLines[min(i, len(wantLines)-1)])
		}
	}
}

func hashes(src *source) []string {
	var out []string
	for _, e := range src.layer.Servers {
		out = append(out, e.Name+" "+e.Hash+" "+e.Full)
	}
	return out
}

// TestRealFilesInOtherForms: a BOM, CRLF, and a duplicate key change nothing but a notice; a file that is cut off gives no
// server that the whole would not have given, and never a panic.
func TestRealFilesInOtherForms(t *testing.T) {
	cache := config.NewCache()
	for _, r := range realFiles(t) {
		whole, notices := loaded(r.scope(), []byte(r.Text), cache)
		want := hashes(whole)
		same := func(what, text string, more ...string) {
			t.Helper()
			src, n := loaded(r.scope(), []byte(text), cache)
			if !slices.Equal(hashes(src), want) || src.state != whole.state {
				t.Errorf("%s %s: servers differ", r.ID, what)
			}
			if len(n) != len(notices)+len(more) {
				t.Errorf("%s %s: %v", r.ID, what, n)
			}
			for _, kind := range more {
				if !slices.ContainsFunc(n, func(x event.Notice) bool { return x.Kind == kind }) {
					t.Errorf("%s %s: no notice %s", r.ID, what, kind)
				}
			}
		}
		if whole.state == good { // a bad text stays bad
			same("with a BOM", "\xEF\xBB\xBF"+r.Text)
		}
		same("with CRLF", strings.ReplaceAll(strings.ReplaceAll(r.Text, "\r\n", "\n"), "\n", "\r\n"))
		if i := strings.IndexByte(r.Text, '{'); whole.state == good {
			rest := r.Text[i+1:]
			last := strings.LastIndexByte(rest, '}')
			same("with a key twice", r.Text[:i+1]+`"zz":1,`+rest[:last]+`,"zz":{"mcpServers":{}}}`, "duplicate")
			if len(want) > 0 {
				same("with another map before", r.Text[:i+1]+`"mcpServers":{"other":{"command":"x"}},`+rest, "duplicate")
			}
		}
		for cut := 0; cut < len(r.Text); cut += 10 {
			src, _ := loaded(r.scope(), []byte(r.Text[:cut]), cache)
			for _, h := range hashes(src) {
				if !slices.Contains(want, h) {
					t.Errorf("%s cut off after %d bytes gives %s", r.ID, cut, h)
				}
			}
			if src.state == good && strings.TrimSpace(r.Text[cut:]) != "" && !strings.HasPrefix(strings.TrimSpace(r.Text[cut:]), "//") {
				t.Errorf("%s cut off after %d bytes is good", r.ID, cut)
			}
		}
	}
}
