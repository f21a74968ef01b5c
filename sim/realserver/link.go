package realserver

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"sync"
	"syscall"
)

// The environment of a server.
const (
	SocketVariable    = "MCPSIM_SERVER_SOCKET"
	BehaviourVariable = "MCPSIM_SERVER_BEHAVIOUR"
	// ConnVariable and ConnHeader are how whoever starts or asks a server names the connection; its report of the start
	// repeats it.
	ConnVariable   = "MCPSIM_SERVER_CONN"
	ConnHeader     = "Mcpsim-Server-Conn"
	helperVariable = "MCPSIM_SERVER_HELPER"
)

// Report is what a server tells its controller.
type Report struct {
	Event     string `json:"event"` // start, helper, request, input_closed, signal, exit, mark; gone is the controller's own word for the end
	Command   string `json:"command,omitempty"`
	Pid       int    `json:"pid,omitempty"`
	Ppid      int    `json:"ppid,omitempty"`
	Pgid      int    `json:"pgid,omitempty"`
	Transport string `json:"transport,omitempty"` // stdio, http, sse
	Helper    bool   `json:"helper,omitempty"`
	Method    string `json:"method,omitempty"`
	Tool      string `json:"tool,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Code      int    `json:"code,omitempty"`
	Conn      string `json:"conn,omitempty"` // start
	Mark      int    `json:"mark,omitempty"`
}

// Command is what a controller tells a server.
type Command struct {
	Behaviour   *json.RawMessage `json:"behaviour,omitempty"` // the JSON null: none is listed
	ListChanged []string         `json:"list_changed,omitempty"`
	Crash       bool             `json:"crash,omitempty"`
	Mark        int              `json:"mark,omitempty"` // to be reported back once everything before is done
}

// link is a server's connection to its controller; without one it does nothing.
type link struct {
	conn net.Conn
	in   *bufio.Scanner
	mu   sync.Mutex
}

// dialLink connects to the controller that the environment names, if it does.
func dialLink(socket string) (*link, error) {
	if socket == "" {
		return &link{}, nil
	}
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	s := bufio.NewScanner(c)
	s.Buffer(nil, 16<<20)
	return &link{conn: c, in: s}, nil
}

func (l *link) report(r Report) {
	if l.conn == nil {
		return
	}
	if r.Pid == 0 {
		r.Pid = os.Getpid()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.conn.Write(append(encode(r), '\n')) // a controller that is gone is noticed by next
}

// next waits for a command; ok is false when the controller is gone.
func (l *link) next() (c Command, ok bool) {
	if !l.in.Scan() {
		return c, false
	}
	_ = json.Unmarshal(l.in.Bytes(), &c)
	return c, true
}

// present is a process's report of its start.
func present(command, transport string, helper bool) Report {
	pgid, _ := syscall.Getpgid(0)
	return Report{Event: "start", Command: command, Pid: os.Getpid(), Ppid: os.Getppid(), Pgid: pgid, Transport: transport, Helper: helper,
		Conn: os.Getenv(ConnVariable)}
}
