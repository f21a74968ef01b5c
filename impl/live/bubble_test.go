package live

import (
	"context"
	"errors"
	iofs "io/fs"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/spf13/afero"

	"mcpsim/impl/port"
)

// bubbleFS is a file system in memory without links; its events are sent by the test.
type bubbleFS struct {
	afero.Fs
	loop *Loop
	dirs map[string]func(port.FSEvent) // of the loop
}

func (m *bubbleFS) LstatIfPossible(name string) (iofs.FileInfo, bool, error) {
	info, err := m.Stat(name)
	return info, true, err
}
func (m *bubbleFS) ReadlinkIfPossible(name string) (string, error) {
	return "", &iofs.PathError{Op: "readlink", Path: name, Err: iofs.ErrInvalid}
}
func (m *bubbleFS) SyncDir(string) error                 { return nil }
func (m *bubbleFS) TryLock(string) (func(), bool, error) { return func() {}, true, nil }
func (m *bubbleFS) Watch(dir string, h func(port.FSEvent)) (port.Watch, error) {
	if ok, _ := afero.DirExists(m.Fs, dir); !ok {
		return nil, iofs.ErrNotExist
	}
	m.dirs[dir] = h
	return bubbleWatch{m, dir}, nil
}

func (m *bubbleFS) save(path, text string) {
	if err := afero.WriteFile(m.Fs, path, []byte(text), 0o644); err != nil {
		panic(err)
	}
	m.loop.Post(func() {
		if h := m.dirs[filepath.Dir(path)]; h != nil {
			h(port.FSEvent{Path: path, Op: port.FSWrite})
		}
	})
}

type bubbleWatch struct {
	m   *bubbleFS
	dir string
}

func (w bubbleWatch) Close() error { delete(w.m.dirs, w.dir); return nil }

// The live loop, timers, jobs and API in a bubble of virtual time: a day passes at once, and nothing in them waits for
// anything the bubble does not see.
func TestLiveHostInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := server.NewMCPServer("inside", "1", server.WithToolCapabilities(true))
		inside.AddTool(mcp.NewTool("hang"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		var fs *bubbleFS
		ctx := context.Background()
		h, err := New(ctx, Options{Dir: "/project", Home: "/home/user", Trusted: true, Environ: []string{},
			MCPConfig: []byte(`{"in":{"type":"sdk","timeout":86400000}}`),
			Outside: func(l *Loop) (port.FS, port.Dialer) {
				fs = &bubbleFS{afero.NewMemMapFs(), l, map[string]func(port.FSEvent){}}
				for _, d := range []string{"/project", "/home/user/.qwen"} {
					must(t, fs.MkdirAll(d, 0o755))
				}
				return fs, NewDialer(l, DialerOptions{InProcess: map[string]*server.MCPServer{"in": inside}})
			}})
		must(t, err)
		s, err := h.OpenSession(ctx, "s1", nil)
		must(t, err)
		must(t, s.Ready(ctx))
		tools, err := s.Tools(ctx)
		must(t, err)
		if len(tools) != 1 {
			t.Fatalf("%+v", tools)
		}
		began := time.Now()
		var failed *CallError
		if _, err := s.Call(ctx, "in", "hang", nil); !errors.As(err, &failed) || failed.Outcome != "error:timeout" {
			t.Errorf("%v", err)
		}
		if d := time.Since(began); d != 24*time.Hour {
			t.Errorf("the call's day took %v", d)
		}
		began = time.Now()
		fs.save("/home/user/.qwen/settings.json", `{"mcp":{"excluded":["in"]}}`)
		events := h.Events(100)
		for d := range events.C {
			if d.Event.Kind == "purged" {
				break
			}
		}
		if d := time.Since(began); d != 300*time.Millisecond {
			t.Errorf("the edit took %v", d)
		}
		must(t, h.Close(ctx))
	})
}
