package realserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// IsServer reports whether this process was started to be a scripted server: a program that serves as one as well asks
// that first, and then calls Main.
func IsServer() bool { return os.Getenv(SocketVariable) != "" || os.Getenv(BehaviourVariable) != "" }

// Main is a server over this process's stdin and stdout, as the environment says. It ends the process.
func Main() {
	command := strings.Join(append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...), " ")
	if h := os.Getenv(helperVariable); h != "" {
		help(command, h == "stubborn")
	}
	text := []byte(os.Getenv(BehaviourVariable))
	if len(text) == 0 {
		text = []byte("{}")
	}
	b, err := ParseBehaviour(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	ServeStdio(command, *b, os.Getenv(SocketVariable), os.Stdin, os.Stdout)
}

// stdio is one server process.
type stdio struct {
	*link
	engine
	out io.Writer

	outMu      sync.Mutex
	spoken     bool            // it was initialised, or asked to announce changes
	subscribed json.RawMessage // the request that asked

	exiting sync.Once

	running  atomic.Bool // it has begun, and its input is open
	helperMu sync.Mutex
	helper   *os.Process
}

// ServeStdio serves over a stream each way and ends the process as the behaviour says. socket may be empty.
func ServeStdio(command string, b Behaviour, socket string, in io.Reader, out io.Writer) {
	signal.Ignore(syscall.SIGPIPE) // nobody listens: an answer goes nowhere
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGINT)
	l, err := dialLink(socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	s := &stdio{link: l, out: out}
	s.engine = engine{command: command, report: l.report, b: b}
	l.report(present(command, "stdio", false))
	if l.conn != nil {
		c, ok := l.next()
		if !ok {
			os.Exit(4)
		}
		s.obey(c)
		go s.listen()
	}
	go func() {
		for sig := range term {
			s.link.report(Report{Event: "signal", Command: command, Signal: sig.String()})
			if b := s.behaviour(); !b.IgnoreTerm && !b.Unkillable {
				s.exit(0)
			}
		}
	}()
	s.run(in)
}

// exit reports the end first: the report is written before the connection closes.
func (s *stdio) exit(code int) {
	s.exiting.Do(func() {
		s.link.report(Report{Event: "exit", Command: s.command, Code: code})
		os.Exit(code)
	})
	select {} // another goroutine is ending the process
}

func (s *stdio) listen() {
	for {
		c, ok := s.next()
		if !ok {
			os.Exit(4)
		}
		s.obey(c)
	}
}

func (s *stdio) obey(c Command) {
	if c.Behaviour != nil {
		b := Behaviour{Fault: "refuse"}
		if string(*c.Behaviour) != "null" {
			p, err := ParseBehaviour(*c.Behaviour)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(2)
			}
			b = *p
		}
		s.behave(b)
		if s.running.Load() {
			s.syncHelper()
		}
	}
	for _, list := range c.ListChanged {
		s.announce(list)
	}
	if c.Mark != 0 {
		s.link.report(Report{Event: "mark", Mark: c.Mark})
	}
	if c.Crash {
		s.exit(9)
	}
}

func (s *stdio) announce(list string) {
	s.outMu.Lock()
	spoken, sub := s.spoken, s.subscribed
	s.outMu.Unlock()
	if spoken {
		s.write(changed(list, sub))
	}
}

func (s *stdio) write(line []byte) {
	s.outMu.Lock()
	defer s.outMu.Unlock()
	_, _ = s.out.Write(append(line, '\n'))
}

func (s *stdio) run(in io.Reader) {
	b := s.behaviour()
	if b.faultAt("start") == "refuse" && os.Getenv(ConnVariable) == "" {
		s.exit(127) // as a shell says that there is no such command
	} // else whoever started it refuses, and what has begun cannot be refused any more
	s.running.Store(true)
	s.syncHelper()
	pause(context.Background(), b.delay("start"))
	b = s.behaviour()
	switch b.faultAt("start") {
	case "exit":
		s.exit(3)
	case "hang":
		select {}
	case "garbage":
		s.write([]byte(garbage))
	}
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			break
		}
		var m message
		if json.Unmarshal(bytes.TrimSpace(line), &m) != nil || m.Method == "" {
			continue
		}
		s.take(m)
	}
	s.running.Store(false)
	s.link.report(Report{Event: "input_closed", Command: s.command})
	s.end()
}

func (s *stdio) take(m message) {
	if len(m.ID) == 0 { // a notification
		return
	}
	if m.Method == "subscriptions/listen" && s.behaviour().Era == "modern" {
		s.engine.report(Report{Event: "request", Command: s.command, Method: m.Method})
		s.outMu.Lock()
		s.spoken, s.subscribed = true, m.ID
		s.outMu.Unlock()
		s.write(acknowledged(m.ID, m.Params))
		return // it stands as long as the connection
	}
	go func() {
		switch out := s.serve(context.Background(), m); out.fault {
		case "exit":
			s.exit(3)
		case "garbage":
			s.write([]byte(garbage))
		case "hang":
		default:
			if m.Method == "initialize" {
				s.outMu.Lock()
				s.spoken = true
				s.outMu.Unlock()
			}
			s.write(out.answer)
		}
	}()
}

// end is what a closed input does: a polite server ends delay.end later, one that ignores everything only if it has one.
func (s *stdio) end() {
	b := s.behaviour()
	after := b.delay("end")
	stubborn := b.IgnoreTerm || b.Unkillable || b.faultAt("end") == "hang"
	for stop := time.Now().Add(time.Duration(b.Linger) * time.Millisecond); time.Now().Before(stop); {
		s.announce("tools")
		pause(context.Background(), 10*time.Millisecond)
	}
	if stubborn && after == 0 {
		select {}
	}
	pause(context.Background(), after)
	s.exit(0)
}

// syncHelper starts a helper, or ends it, as the behaviour has it now.
func (s *stdio) syncHelper() {
	s.helperMu.Lock()
	defer s.helperMu.Unlock()
	switch b := s.behaviour(); {
	case b.Grandchild && s.helper == nil:
		s.spawnHelper(b.IgnoreTerm)
	case !b.Grandchild && s.helper != nil:
		_ = s.helper.Kill()
		s.helper = nil
	}
}

// spawnHelper starts a process that stays in the group and holds the output open.
func (s *stdio) spawnHelper(stubborn bool) {
	exe, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	mode := "polite"
	if stubborn {
		mode = "stubborn"
	}
	cmd := exec.Command(exe)
	cmd.Args = os.Args
	cmd.Env = append(os.Environ(), helperVariable+"="+mode)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	s.link.report(Report{Event: "helper", Command: s.command, Pid: cmd.Process.Pid, Helper: true, Conn: os.Getenv(ConnVariable)})
	s.helper = cmd.Process
	go func() { _ = cmd.Wait() }()
}

// help is a helper's life: it ends by a signal, or when its controller is gone.
func help(command string, stubborn bool) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM, syscall.SIGINT)
	l, err := dialLink(os.Getenv(SocketVariable))
	if err != nil {
		os.Exit(2)
	}
	l.report(present(command, "", true))
	gone := make(chan struct{})
	if l.conn != nil {
		go func() {
			defer close(gone)
			for {
				if _, ok := l.next(); !ok {
					return
				}
			}
		}()
	}
	for {
		select {
		case <-gone:
			os.Exit(4)
		case <-term:
			if !stubborn {
				os.Exit(0)
			}
		}
	}
}
