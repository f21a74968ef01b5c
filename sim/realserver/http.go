package realserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// HTTPServer is a scripted server at a URL of its own, for streamable HTTP and for the older transport with server-sent
// events: a GET without a session begins the latter. While it refuses at start nobody listens at its address.
type HTTPServer struct {
	URL string
	engine

	mu       sync.Mutex
	addr     string
	srv      *http.Server
	ln       net.Listener // nil: it refuses
	served   sync.WaitGroup
	sessions map[string]bool // of the older era
	streams  map[*stream]bool
	conns    map[net.Conn]bool
	nextID   int
	life     context.Context // of everything until the next crash
	kill     context.CancelFunc
	closed   bool
}

// stream is one open response that announcements, and the older transport's answers, are written to.
type stream struct {
	session      string
	sse          bool
	end          context.CancelFunc
	subscription json.RawMessage
	lines        chan []byte
}

// HTTP starts a server that acts as Behave says for name, on a free port of the loopback; it is announced to, crashed and
// counted by name too.
func (c *Controller) HTTP(name string) (*HTTPServer, error) {
	c.mu.Lock()
	b, listed := c.behaviours[name]
	c.mu.Unlock()
	if !listed {
		b = Behaviour{Fault: "refuse"}
	}
	h, err := NewHTTPServer(name, "127.0.0.1:0", b, c.take)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.https[name] = h
	c.mu.Unlock()
	return h, nil
}

// NewHTTPServer starts a server at an address; report may be nil.
func NewHTTPServer(name, addr string, b Behaviour, report func(Report)) (*HTTPServer, error) {
	if report == nil {
		report = func(Report) {}
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	h := &HTTPServer{URL: "http://" + ln.Addr().String() + "/", addr: ln.Addr().String(),
		engine: engine{command: name, report: report, b: b}, conns: map[net.Conn]bool{}}
	h.reset()
	h.srv = &http.Server{Handler: h, ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, &connState{})
	}, ConnState: h.follow}
	if b.faultAt("start") == "refuse" {
		return h, ln.Close()
	}
	h.listen(ln)
	return h, nil
}

// reset forgets every session and stream. The lock is held, or nobody knows h yet.
func (h *HTTPServer) reset() {
	if h.kill != nil {
		h.kill()
	}
	h.life, h.kill = context.WithCancel(context.Background())
	h.sessions, h.streams = map[string]bool{}, map[*stream]bool{}
}

// connKey finds the state of a TCP connection in a request's context.
type connKey struct{}

type connState struct {
	mu      sync.Mutex
	started bool
}

// listen takes new connections. The lock is held, or nobody knows h yet.
func (h *HTTPServer) listen(ln net.Listener) {
	srv := h.srv
	h.ln = ln
	h.served.Add(1)
	go func() {
		defer h.served.Done()
		_ = srv.Serve(ln)
	}()
}

func (h *HTTPServer) behave(b Behaviour) {
	h.engine.behave(b)
	refuses := b.faultAt("start") == "refuse"
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
	case refuses && h.ln != nil: // who is connected stays so
		_ = h.ln.Close()
		h.ln = nil
	case !refuses && h.ln == nil:
		if ln, err := net.Listen("tcp", h.addr); err == nil {
			h.listen(ln)
		}
	}
}

// follow keeps the connections that are open.
func (h *HTTPServer) follow(c net.Conn, state http.ConnState) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch state {
	case http.StateNew:
		h.conns[c] = true
	case http.StateClosed, http.StateHijacked:
		delete(h.conns, c)
	}
}

// crash drops every session, stream and connection; whoever comes then is served as a stranger.
func (h *HTTPServer) crash() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reset()
	for c := range h.conns {
		_ = c.Close()
	}
}

// EndStreams ends every standing stream as a proxy does that is tired of a quiet one; sessions go on.
func (h *HTTPServer) EndStreams() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		s.end()
	}
}

func (h *HTTPServer) close() {
	h.mu.Lock()
	h.closed = true
	h.reset()
	h.mu.Unlock()
	_ = h.srv.Close()
	h.served.Wait()
}

// Close ends the server.
func (h *HTTPServer) Close() { h.close() }

// listenersMost bounds how long an announcement waits for those who are about to listen.
const listenersMost = 500 * time.Millisecond

// announce says that lists changed, to whoever listens. A client opens its stream after the handshake, by itself: one
// that has a session and no stream yet is waited for.
func (h *HTTPServer) announce(lists []string) {
	if len(lists) == 0 {
		return
	}
	for end := time.Now().Add(listenersMost); !h.allListen() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.streams {
		for _, l := range lists {
			s.send(changed(l, s.subscription))
		}
	}
}

// allListen reports whether every session has a stream.
func (h *HTTPServer) allListen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	heard := map[string]bool{}
	for s := range h.streams {
		heard[s.session] = true
	}
	for id := range h.sessions {
		if !heard[id] {
			return false
		}
	}
	return true
}

// send drops what a reader that does not read has no room for.
func (s *stream) send(line []byte) {
	select {
	case s.lines <- line:
	default:
	}
}

func (h *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	life := h.life
	h.mu.Unlock()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	switch {
	case r.Method == http.MethodGet && r.Header.Get("Mcp-Session-Id") == "":
		h.begin(ctx, r, "sse")
		h.serveSSE(ctx, w)
	case r.Method == http.MethodGet:
		h.serveStanding(ctx, w, r.Header.Get("Mcp-Session-Id"))
	case r.Method == http.MethodDelete:
		b := h.behaviour()
		pause(ctx, b.delay("end"))
		h.endSession(r.Header.Get("Mcp-Session-Id"))
	case r.Method == http.MethodPost && r.URL.Query().Get("stream") != "":
		h.postSSE(ctx, w, r)
	case r.Method == http.MethodPost:
		h.post(ctx, w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
	if life.Err() != nil {
		drop()
	}
}

// drop ends the connection without an answer, or in the middle of one.
func drop() { panic(http.ErrAbortHandler) }

// begin is the start of a connection: it is counted once per TCP connection, and takes as long as the behaviour says.
func (h *HTTPServer) begin(ctx context.Context, r *http.Request, transport string) {
	st := r.Context().Value(connKey{}).(*connState)
	st.mu.Lock()
	first := !st.started
	st.started = true
	st.mu.Unlock()
	if !first {
		return
	}
	h.engine.report(Report{Event: "start", Command: h.command, Transport: transport, Conn: r.Header.Get(ConnHeader)})
	b := h.behaviour()
	pause(ctx, b.delay("start"))
	switch b = h.behaviour(); b.faultAt("start") {
	case "exit":
		drop()
	case "hang":
		<-ctx.Done()
		drop()
	}
}

// exit ends one session and its streams: behind one address everybody has a server of his own.
func (h *HTTPServer) exit(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, session)
	for s := range h.streams {
		if s.session == session && session != "" {
			s.end()
		}
	}
}

func (h *HTTPServer) endSession(id string) {
	h.mu.Lock()
	known := h.sessions[id]
	delete(h.sessions, id)
	h.mu.Unlock()
	if known {
		h.engine.report(Report{Event: "gone", Command: h.command, Transport: "http"})
	}
}

func read(w http.ResponseWriter, r *http.Request) (m message, ok bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, "expected a JSON-RPC message", http.StatusBadRequest)
		return m, false
	}
	return m, true
}

// post is a message over streamable HTTP.
func (h *HTTPServer) post(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	m, ok := read(w, r)
	if !ok {
		return
	}
	session := r.Header.Get("Mcp-Session-Id")
	modern := h.behaviour().Era == "modern" && r.Header.Get("Mcp-Protocol-Version") == modernVersion
	opening := m.Method == "initialize" || m.Method == "server/discover"
	if opening {
		h.begin(ctx, r, "http")
	}
	if !opening && !modern {
		h.mu.Lock()
		known := h.sessions[session]
		h.mu.Unlock()
		if !known {
			http.Error(w, "no such session", http.StatusNotFound)
			return
		}
	}
	switch {
	case len(m.ID) == 0:
		w.WriteHeader(http.StatusAccepted)
		return
	case m.Method == "subscriptions/listen" && modern:
		h.engine.report(Report{Event: "request", Command: h.command, Method: m.Method})
		s := &stream{subscription: m.ID, lines: make(chan []byte, 100)}
		s.send(acknowledged(m.ID, m.Params))
		h.stream(ctx, w, s)
		return
	}
	out := h.serve(ctx, m)
	w.Header().Set("Content-Type", "application/json")
	switch out.fault {
	case "exit":
		h.exit(session)
		drop()
	case "hang":
		<-ctx.Done()
		drop()
	case "garbage":
		_, _ = io.WriteString(w, garbage)
	default:
		if m.Method == "initialize" {
			h.mu.Lock()
			h.nextID++
			id := "session-" + strconv.Itoa(h.nextID)
			h.sessions[id] = true
			h.mu.Unlock()
			w.Header().Set("Mcp-Session-Id", id)
		}
		_, _ = w.Write(out.answer)
	}
}

// serveStanding is the stream of the older era that stands beside the requests.
func (h *HTTPServer) serveStanding(ctx context.Context, w http.ResponseWriter, session string) {
	h.mu.Lock()
	known := h.sessions[session]
	h.mu.Unlock()
	if !known {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	h.stream(ctx, w, &stream{session: session, lines: make(chan []byte, 100)})
}

// serveSSE is the older transport's stream, which everything from the server comes on.
func (h *HTTPServer) serveSSE(ctx context.Context, w http.ResponseWriter) {
	h.mu.Lock()
	h.nextID++
	s := &stream{session: "stream-" + strconv.Itoa(h.nextID), sse: true, lines: make(chan []byte, 100)}
	h.mu.Unlock()
	h.stream(ctx, w, s)
	h.engine.report(Report{Event: "gone", Command: h.command, Transport: "sse"})
}

// stream writes what comes for a stream until its end.
func (h *HTTPServer) stream(ctx context.Context, w http.ResponseWriter, s *stream) {
	ctx, s.end = context.WithCancel(ctx)
	defer s.end()
	h.mu.Lock()
	h.streams[s] = true
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.streams, s)
		h.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	f := http.NewResponseController(w)
	if s.sse {
		_, _ = fmt.Fprintf(w, "event: endpoint\ndata: /?stream=%s\n\n", s.session)
	}
	_ = f.Flush()
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-s.lines:
			if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", line); err != nil {
				return
			}
			_ = f.Flush()
		}
	}
}

// postSSE is a message of the older transport; its answer comes on the stream.
func (h *HTTPServer) postSSE(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	var s *stream
	for x := range h.streams {
		if x.session == r.URL.Query().Get("stream") {
			s = x
		}
	}
	life := h.life
	h.mu.Unlock()
	m, ok := read(w, r)
	switch {
	case !ok:
		return
	case s == nil:
		http.Error(w, "no such stream", http.StatusNotFound)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	if len(m.ID) == 0 {
		return
	}
	go func() {
		switch out := h.serve(life, m); out.fault {
		case "exit":
			h.exit(s.session)
		case "garbage":
			s.send([]byte(garbage))
		case "hang":
		default:
			if life.Err() == nil {
				s.send(out.answer)
			}
		}
	}()
}
