package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
)

// errStreamEnded is why a server is asked whether it is still there.
var errStreamEnded = errors.New("the server closed the stream of its notifications")

// watchedTripper sees every request of a remote connection: it binds them to the connection's life, and notices when the
// stream of notifications ends, of which mcp-go says nothing (REC-14).
type watchedTripper struct {
	c    *remoteConn
	base http.RoundTripper
}

func (t *watchedTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(t.c.ctx, cancel)
	resp, err := t.base.RoundTrip(r.WithContext(ctx))
	release := func() {
		stop()
		cancel()
	}
	if err != nil {
		release()
	} else {
		body := &watchedBody{ReadCloser: resp.Body, closed: release}
		if t.c.sse != nil && r.Method == http.MethodGet && isEventStream(resp) {
			body.events = &eventCheck{garbage: t.c.spoiled}
		}
		resp.Body = body
	}
	if t.c.sse == nil && r.Method == http.MethodGet {
		t.stream(r, resp, err)
	}
	return resp, err
}

// stream looks at what came of opening the standing stream of the older era.
func (t *watchedTripper) stream(r *http.Request, resp *http.Response, err error) {
	t.c.mu.Lock()
	opened := t.c.opened
	t.c.opened = opened || err == nil && resp.StatusCode == http.StatusOK && isEventStream(resp)
	now := t.c.opened
	t.c.mu.Unlock()
	switch {
	case r.Context().Err() != nil:
	case err != nil:
		if opened { // it worked, and now it cannot be opened again
			t.c.suspect(err)
		}
	case resp.StatusCode == http.StatusNotFound && opened: // the session is forgotten
		t.c.lose(errStreamEnded)
	case now:
		resp.Body.(*watchedBody).ended = func() {
			if r.Context().Err() == nil {
				t.c.suspect(errStreamEnded)
			}
		}
	}
}

func isEventStream(r *http.Response) bool {
	mediaType, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return mediaType == "text/event-stream"
}

// watchedBody tells of the end of a stream, once, and frees what belongs to it.
type watchedBody struct {
	io.ReadCloser
	ended  func() // nil: nobody asks
	closed func()
	events *eventCheck // nil: it is no stream of messages
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.events != nil {
		b.events.see(p[:n])
	}
	if err != nil && b.ended != nil {
		b.ended()
		b.ended = nil
	}
	return n, err
}

func (b *watchedBody) Close() error {
	defer b.closed()
	return b.ReadCloser.Close()
}

// eventCheck sees a stream of server-sent events go by. mcp-go drops silently what it cannot parse, and the request then
// waits for its time-out; here a message that is no JSON is told at once.
type eventCheck struct {
	line    []byte // that has begun
	event   string
	data    []byte
	garbage func()
	told    bool
}

func (e *eventCheck) see(p []byte) {
	for !e.told {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			if len(e.line)+len(p) <= messageMost { // a longer one is not judged
				e.line = append(e.line, p...)
			}
			return
		}
		e.whole(bytes.TrimRight(append(e.line, p[:i]...), "\r"))
		e.line, p = e.line[:0], p[i+1:]
	}
}

func (e *eventCheck) whole(line []byte) {
	if after, ok := bytes.CutPrefix(line, []byte("event:")); ok {
		e.event = string(bytes.TrimSpace(after))
	} else if after, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		if len(e.data)+len(after) <= messageMost {
			e.data = append(append(e.data, after...), '\n')
		}
	} else if len(line) == 0 {
		if (e.event == "" || e.event == "message") && len(e.data) > 0 && !json.Valid(e.data) {
			e.told = true
			e.garbage()
		}
		e.event, e.data = "", e.data[:0]
	}
}
