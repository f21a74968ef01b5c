package realserver

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"strings"
	"sync"
)

// Controller is who scripted servers report to, and who tells them how to act. All its methods may be called from anywhere.
type Controller struct {
	ln   net.Listener
	path string

	mu         sync.Mutex
	behaviours map[string]Behaviour // by the beginning of a command line, or by an HTTP server's name
	peers      map[*peer]bool
	https      map[string]*HTTPServer
	reports    []Report
	started    map[string]int // by full command line
	changed    chan struct{}  // closed and replaced at every change
	onReport   func(Report)
	bin, exe   string // see Commands
	marks      int
	closed     bool
	work       sync.WaitGroup
}

// peer is one process.
type peer struct {
	conn  net.Conn
	start Report
	mark  int      // the last that it reported back
	own   []Report // helpers that it has told of
	send  sync.Mutex
}

// Listen makes a controller that listens on a unix socket; path must not exist (and has to be short: 107 bytes at most).
func Listen(path string) (*Controller, error) {
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	c := &Controller{ln: ln, path: path, behaviours: map[string]Behaviour{}, peers: map[*peer]bool{}, https: map[string]*HTTPServer{},
		started: map[string]int{}, changed: make(chan struct{})}
	c.work.Add(1)
	go c.accept()
	return c, nil
}

// Env is what a server's environment needs in addition.
func (c *Controller) Env() []string { return []string{SocketVariable + "=" + c.path} }

// OnReport has f called with every report, in order, under the controller's lock: it must not call the controller. Set it
// before anything starts.
func (c *Controller) OnReport(f func(Report)) { c.onReport = f }

// Behave says how the servers act whose command line begins with command; the longest beginning wins, and what none fits
// refuses. Those that run change at once. The error is about the command's link, if Commands keeps any.
func (c *Controller) Behave(command string, b Behaviour) error {
	c.mu.Lock()
	c.behaviours[command] = b
	err := c.install(command)
	peers := c.running(func(string) bool { return true })
	h := c.https[command]
	c.mu.Unlock()
	for _, p := range peers {
		c.mu.Lock()
		text := c.behaviourOf(p.start.Command)
		c.mu.Unlock()
		p.tell(Command{Behaviour: &text})
	}
	if h != nil {
		h.behave(b)
	}
	return err
}

// Announce has the servers of a command say that lists (tools, prompts, resources) changed.
func (c *Controller) Announce(command string, lists ...string) {
	c.mu.Lock()
	peers := c.running(func(line string) bool { return c.match(line) == command })
	h := c.https[command]
	c.mu.Unlock()
	for _, p := range peers {
		p.tell(Command{ListChanged: lists})
	}
	if h != nil {
		h.announce(lists)
	}
}

// Crash ends the servers of a command at once; their helpers live on.
func (c *Controller) Crash(command string) {
	c.mu.Lock()
	peers := c.running(func(line string) bool { return c.match(line) == command })
	h := c.https[command]
	c.mu.Unlock()
	for _, p := range peers {
		p.tell(Command{Crash: true})
	}
	if h != nil {
		h.crash()
	}
}

// running are the servers, without helpers, that fit. The lock is held.
func (c *Controller) running(fits func(line string) bool) []*peer {
	var out []*peer
	for p := range c.peers {
		if !p.start.Helper && fits(p.start.Command) {
			out = append(out, p)
		}
	}
	return out
}

// match is the longest listed beginning of a command line, or "". The lock is held.
func (c *Controller) match(line string) string {
	best := ""
	for k := range c.behaviours {
		if strings.HasPrefix(line, k) && len(k) > len(best) {
			best = k
		}
	}
	return best
}

func (c *Controller) behaviourOf(line string) json.RawMessage {
	if k := c.match(line); k != "" {
		return encode(c.behaviours[k])
	}
	return json.RawMessage("null")
}

// Alive is how many processes of a command line run, helpers included; "" counts all.
func (c *Controller) Alive(line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive(line)
}

func (c *Controller) alive(line string) int {
	n := 0
	for p := range c.peers {
		if line == "" || p.start.Command == line {
			n++
		}
	}
	return n
}

// Pids are those of the processes of a command line that run, helpers included; "" means all.
func (c *Controller) Pids(line string) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []int
	for p := range c.peers {
		if line == "" || p.start.Command == line {
			out = append(out, p.start.Pid)
		}
	}
	return out
}

// Started is how many servers of a command line began, without helpers; for HTTP, connections to the server of that name.
func (c *Controller) Started(line string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started[line]
}

// Forget drops the reports that Reports would return: a long run keeps none.
func (c *Controller) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = nil
}

// Reports are all reports so far.
func (c *Controller) Reports() []Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Report(nil), c.reports...)
}

// Processes are the processes that run, as the reports of their starts, helpers included. Whoever has ended by now is left
// out, though its connection may still stand.
func (c *Controller) Processes() []Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[int]bool{}
	var out []Report
	add := func(r Report) {
		if !seen[r.Pid] && runs(r.Pid) {
			out = append(out, r)
		}
		seen[r.Pid] = true
	}
	for p := range c.peers {
		add(p.start)
		for _, r := range p.own { // they may not have reported yet
			add(r)
		}
	}
	return out
}

// Sync returns when every process has done what it was told before, has ended, or ctx has.
func (c *Controller) Sync(ctx context.Context) error {
	c.mu.Lock()
	c.marks++
	mark := c.marks
	peers := c.running(func(string) bool { return true })
	c.mu.Unlock()
	for _, p := range peers {
		p.tell(Command{Mark: mark})
	}
	return c.Wait(ctx, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, p := range peers {
			if c.peers[p] && p.mark < mark {
				return false
			}
		}
		return true
	})
}

// Wait returns when ok is true, which is asked after every report and at every end of a process, or when ctx ends.
func (c *Controller) Wait(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		ch := c.changed
		c.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// hear notes what a process says.
func (c *Controller) hear(p *peer, r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r.Event {
	case "mark":
		p.mark = max(p.mark, r.Mark)
		c.note(r)
		return
	case "helper":
		p.own = append(p.own, r)
	default:
		r.Pid = p.start.Pid
	}
	c.note(r)
}

// take notes a report.
func (c *Controller) take(r Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.note(r)
}

func (c *Controller) note(r Report) {
	if r.Event == "start" && !r.Helper {
		c.started[r.Command]++
	}
	if r.Event != "mark" {
		c.reports = append(c.reports, r)
	}
	if c.onReport != nil {
		c.onReport(r)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Controller) accept() {
	defer c.work.Done()
	for {
		conn, err := c.ln.Accept()
		if err != nil {
			return
		}
		c.work.Add(1)
		go func() {
			defer c.work.Done()
			c.attend(conn)
		}()
	}
}

// attend is one process's connection.
func (c *Controller) attend(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	p := &peer{conn: conn}
	if !in.Scan() || json.Unmarshal(in.Bytes(), &p.start) != nil || p.start.Event != "start" {
		return
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.peers[p] = true
	text := c.behaviourOf(p.start.Command)
	c.note(p.start)
	c.mu.Unlock()
	p.tell(Command{Behaviour: &text})
	for in.Scan() {
		var r Report
		if json.Unmarshal(in.Bytes(), &r) == nil {
			c.hear(p, r)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.peers, p)
	c.note(Report{Event: "gone", Command: p.start.Command, Pid: p.start.Pid, Helper: p.start.Helper})
}

func (p *peer) tell(c Command) {
	p.send.Lock()
	defer p.send.Unlock()
	_, _ = p.conn.Write(append(encode(c), '\n'))
}

// Close ends every server that is left, by leaving it, and waits for their ends.
func (c *Controller) Close() error {
	c.mu.Lock()
	c.closed = true
	for p := range c.peers {
		_ = p.conn.(*net.UnixConn).CloseWrite() // they end, and that closes the rest
	}
	https := c.https
	c.https = map[string]*HTTPServer{}
	c.mu.Unlock()
	for _, h := range https {
		h.close()
	}
	err := c.ln.Close()
	c.work.Wait()
	_ = os.Remove(c.path)
	return err
}
