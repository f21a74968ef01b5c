package live

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
)

// Dialer is port.Dialer over mcp-go's transports: child processes, streamable HTTP, SSE, and servers in this process.
type Dialer struct {
	loop      *Loop
	environ   *environ
	inProcess map[string]*server.MCPServer
	http      *http.Transport // cloned for each connection
	probe     time.Duration
	spawner   *spawner
	watchdog  *watchdog
	stop      chan struct{} // closed by Close: nobody waits for stuck groups any more
	work      sync.WaitGroup

	mu    sync.Mutex
	conns map[port.ConnID]dialled // those that are not gone
	logs  map[string]dialled      // by server: the last one dialled, whose log outlives it
}

// logsMost bounds the logs of servers that are gone.
const logsMost = 1000

// dialled is what the API wants of a connection.
type dialled interface {
	definition(tool string) (mcp.Tool, bool)
	log() []string
	kill()
}

// DialerOptions say what a Dialer dials with.
type DialerOptions struct {
	// Environ is the environment of children, NAME=value; an entry's env comes on top.
	Environ []string
	// InProcess has the servers of type "sdk", by name.
	InProcess map[string]*server.MCPServer
	// HTTP is cloned for every remote connection; nil: http.DefaultTransport.
	HTTP *http.Transport
	// Probe bounds the question whether a server speaks the protocol of 2026-07-28, before the older handshake is tried:
	// a server that never answers an unknown method costs it. 0: 5 s for processes, 2 s otherwise. Negative: do not ask.
	Probe time.Duration
}

// Defaults of Probe.
const (
	stdioProbe  = 5 * time.Second
	remoteProbe = 2 * time.Second // of the 5 s that REC-7 gives a remote server
)

// eras are the protocol eras a client speaks.
func eras(probe, standard time.Duration) []hostmcp.Option {
	switch {
	case probe < 0:
		return nil
	case probe > 0:
		standard = probe
	}
	return []hostmcp.Option{hostmcp.WithModernEra(standard)}
}

// NewDialer returns a dialer whose callbacks run on the loop.
func NewDialer(l *Loop, o DialerOptions) *Dialer {
	return newDialer(l, newEnviron(o.Environ), o)
}

func newDialer(l *Loop, env *environ, o DialerOptions) *Dialer {
	d := &Dialer{loop: l, environ: env, inProcess: maps.Clone(o.InProcess), http: o.HTTP,
		probe: o.Probe, spawner: newSpawner(),
		watchdog: &watchdog{}, stop: make(chan struct{}), conns: map[port.ConnID]dialled{},
		logs: map[string]dialled{}}
	if d.http == nil {
		d.http, _ = http.DefaultTransport.(*http.Transport)
	}
	if d.http == nil {
		d.http = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	return d
}

// Dial does no I/O. It fails for a kind it does not know, a URL that is none, and an in-process server that was not given.
func (d *Dialer) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	var c port.Conn
	var err error
	switch spec.Kind {
	case config.Stdio:
		c = newStdioConn(d, op.Conn, spec)
	case config.HTTP, config.SSE:
		c, err = newRemoteConn(d, op.Conn, spec)
	case config.SDK:
		c, err = newInProcessConn(d, op.Conn, spec)
	default:
		err = fmt.Errorf("%q: unknown transport %d", spec.Server, spec.Kind)
	}
	if err != nil {
		return nil, err
	}
	x := c.(dialled)
	d.mu.Lock()
	d.conns[op.Conn] = x
	if spec.Kind == config.Stdio {
		if len(d.logs) >= logsMost {
			clear(d.logs)
		}
		d.logs[spec.Server] = x
	}
	d.mu.Unlock()
	return c, nil
}

// Log is the last of what a stdio server wrote to its stderr, as Session.ServerLog has it. It may be called from anywhere.
func (d *Dialer) Log(server string) []string {
	d.mu.Lock()
	c := d.logs[server]
	d.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.log()
}

// forget is called when nothing of a connection is left.
func (d *Dialer) forget(id port.ConnID) {
	d.mu.Lock()
	delete(d.conns, id)
	d.mu.Unlock()
}

func (d *Dialer) conn(id port.ConnID) dialled {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conns[id]
}

// KillAll kills every process group and drops every remote connection, at once. It may be called from anywhere.
func (d *Dialer) KillAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range d.conns {
		c.kill()
	}
}

// Close kills what is left and frees everything. Whatever survives a kill is left behind.
func (d *Dialer) Close() { d.close(leftMost) }

// close reports whether everything ended in time.
func (d *Dialer) close(most time.Duration) bool {
	d.KillAll()
	close(d.stop)
	ended := within(most, d.work.Wait)
	d.spawner.close()
	d.watchdog.close()
	return ended
}
