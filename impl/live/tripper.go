package live

import (
	"context"
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
		resp.Body = &watchedBody{ReadCloser: resp.Body, closed: release}
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
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
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
