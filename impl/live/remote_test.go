package live

import (
	"bytes"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/sim/realserver"
)

func (x *line) remote(id int, kind config.Kind, url string) *dialed {
	x.t.Helper()
	return x.dial(1, config.DialSpec{Server: "s", Kind: kind, URL: url, Headers: []config.KV{{Name: "X-Key", Value: "k"}}})
}

func TestRemoteServersListCallAndAnnounce(t *testing.T) {
	for _, c := range []struct {
		name, era string
		kind      config.Kind
	}{{"streamable legacy", "legacy", config.HTTP}, {"streamable modern", "modern", config.HTTP}, {"sse", "legacy", config.SSE}} {
		t.Run(c.name, func(t *testing.T) {
			noLeaks(t)
			y := newYard(t)
			y.serve("srv", realserver.Behaviour{Tools: []string{"x"}, Prompts: []string{"p"}, Era: c.era})
			h, err := y.HTTP("srv")
			must(t, err)
			x := newLine(t, nil)
			d := x.remote(1, c.kind, h.URL)
			if tools := x.up(d); !slices.Equal(tools, []string{"x"}) {
				t.Errorf("tools %v", tools)
			}
			if got := d.ProtocolVersion(); (got == "2026-07-28") != (c.era == "modern") {
				t.Errorf("speaks %s", got)
			}
			if res, err := d.Call(patient(t), "x", nil); err != nil || res.IsError {
				t.Errorf("call: %v %v", res, err)
			}
			announceUntilHeard(t, y, d)
			must(t, d.Close(patient(t)))
			select {
			case err := <-d.exit:
				t.Errorf("our own close is told as a loss: %v", err)
			default:
			}
		})
	}
}

// announceUntilHeard: the stream of announcements may open after the lists were answered.
func announceUntilHeard(t *testing.T, y *yard, d *dialed) {
	t.Helper()
	for {
		y.Announce("srv", "prompts")
		select {
		case k := <-d.changed:
			if k == hostmcp.Prompts {
				return
			}
		case <-patient(t).Done():
			t.Fatal("nothing was announced")
		default:
			if _, err := d.ListPrompts(patient(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestRemoteCrashIsNoticedWithoutACall(t *testing.T) {
	for name, kind := range map[string]config.Kind{"streamable": config.HTTP, "sse": config.SSE} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			y := newYard(t)
			y.serve("srv", realserver.Behaviour{})
			h, err := y.HTTP("srv")
			must(t, err)
			x := newLine(t, nil)
			d := x.remote(1, kind, h.URL)
			x.up(d)
			announceUntilHeard(t, y, d)
			y.Crash("srv")
			wait(t, "the loss", d.exit)
			must(t, d.Close(patient(t)))
		})
	}
}

func TestModernStreamThatEndsIsOpenedAgainAndAServerThatGoesIsLost(t *testing.T) {
	noLeaks(t)
	y := newYard(t)
	y.serve("srv", realserver.Behaviour{Era: "modern"})
	h, err := y.HTTP("srv")
	must(t, err)
	x := newLine(t, nil)
	d := x.remote(1, config.HTTP, h.URL)
	x.up(d)
	announceUntilHeard(t, y, d)
	y.Crash("srv") // there are no sessions: whoever comes back is as welcome as before
	listens := func() int {
		n := 0
		for _, r := range y.Reports() {
			if r.Method == "subscriptions/listen" {
				n++
			}
		}
		return n
	}
	y.await("the stream to be opened again", func() bool { return listens() == 2 })
	announceUntilHeard(t, y, d)
	y.serve("srv", realserver.Behaviour{Fault: "refuse"})
	y.Crash("srv") // nobody is there to come back to
	wait(t, "the loss", d.exit)
	must(t, d.Close(patient(t)))
}

// A line that breaks under the question whether the server is still there says nothing of the server: it is asked again
// over another.
func TestOneBrokenLineIsNoLoss(t *testing.T) {
	for name, era := range map[string]string{"legacy": "ping", "modern": "server/discover"} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			y := newYard(t)
			y.serve("srv", realserver.Behaviour{Era: name})
			h, err := y.HTTP("srv")
			must(t, err)
			target, err := url.Parse(h.URL)
			must(t, err)
			proxy := httputil.NewSingleHostReverseProxy(target)
			proxy.ErrorLog = log.New(io.Discard, "", 0)
			var armed atomic.Bool
			var dropped atomic.Int32
			front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if bytes.Contains(body, []byte(`"`+era+`"`)) && armed.CompareAndSwap(true, false) {
					dropped.Add(1)
					panic(http.ErrAbortHandler)
				}
				proxy.ServeHTTP(w, r)
			}))
			front.Config.ErrorLog = log.New(io.Discard, "", 0)
			front.Start()
			defer func() {
				front.CloseClientConnections() // streams would be waited for
				front.Close()
			}()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections() // the proxy's
			x := newLine(t, nil)
			d := x.remote(1, config.HTTP, front.URL)
			x.up(d)
			announceUntilHeard(t, y, d)
			armed.Store(true)
			h.EndStreams()
			y.await("the question", func() bool { return dropped.Load() == 1 })
			announceUntilHeard(t, y, d)
			select {
			case err := <-d.exit:
				t.Errorf("a broken line is told as a loss: %v", err)
			default:
			}
			must(t, d.Close(patient(t)))
		})
	}
}

func TestFaultsOfRemoteServersHaveTheirClass(t *testing.T) {
	for _, c := range []struct {
		b    realserver.Behaviour
		want string
	}{
		{realserver.Behaviour{Fault: "refuse"}, "refused"},
		{realserver.Behaviour{Fault: "garbage", At: "init"}, "protocol"},
		{realserver.Behaviour{Fault: "exit", At: "init"}, "closed"},
	} {
		for name, kind := range map[string]config.Kind{"streamable": config.HTTP, "sse": config.SSE} {
			t.Run(c.want+"/"+name, func(t *testing.T) {
				noLeaks(t)
				y := newYard(t)
				y.serve("srv", c.b)
				h, err := y.HTTP("srv")
				must(t, err)
				x := newLine(t, nil)
				d := x.remote(1, kind, h.URL)
				err = d.Start(patient(t))
				if err == nil {
					err = d.Initialize(patient(t))
				}
				if got := hostmcp.Class(err); got != c.want {
					t.Errorf("%v (%s)", err, got)
				}
				_ = d.Close(patient(t))
			})
		}
	}
}

func TestURLThatIsNoneFailsWithoutQuotingIt(t *testing.T) {
	noLeaks(t)
	x := newLine(t, nil)
	for _, u := range []string{"ftp://secret/", "http://", "::", "secret"} {
		_, err := x.d.Dial(portOp(1), config.DialSpec{Server: "s", Kind: config.HTTP, URL: u})
		if err == nil || slices.Contains([]string{err.Error()}, u) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := x.d.Dial(portOp(1), config.DialSpec{Server: "s", Kind: config.SDK}); err == nil || errors.Is(err, hostmcp.ErrProtocol) {
		t.Errorf("a server that was not given: %v", err)
	}
}

// A message that spans reads and lines is judged whole; other events are not.
func TestGarbageInAStreamOfEventsIsSeen(t *testing.T) {
	for _, c := range []struct {
		stream string
		want   bool
	}{
		{"event: endpoint\ndata: /?stream=1\n\n", false},
		{"event: message\ndata: {\"a\":1}\n\n", false},
		{"data: {\ndata: \"a\":1}\r\n\r\n", false},
		{": a comment\n\nevent: other\ndata: [}\n\n", false},
		{"event: message\ndata: [}\n\n", true},
		{"data: {\"a\"\n\ndata: :1}\n\n", true},
		{"event: message\ndata: [}\n", false}, // it has not ended
	} {
		for size := 1; size <= len(c.stream); size++ {
			got := 0
			e := &eventCheck{garbage: func() { got++ }}
			for at := 0; at < len(c.stream); at += size {
				e.see([]byte(c.stream[at:min(at+size, len(c.stream))]))
			}
			if (got == 1) != c.want || got > 1 {
				t.Errorf("%q in pieces of %d: told %d times", c.stream, size, got)
			}
		}
	}
}
