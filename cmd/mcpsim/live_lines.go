package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

const liveHelp = `  status                      every server, question and notice again
  approve NAME [HASH]         the question that was printed last for it; HASH, or its beginning, as printed, makes sure
  reject NAME [HASH]
  approve-all                 all questions that were printed and are not answered
  reload                      read every file, try failed servers again
  call SERVER TOOL [JSON]     call a tool; prints an id, and the outcome when it is there
  tools [SERVER]              what is offered now
  log SERVER                  the last that a stdio server wrote to its stderr
  trust on|off                whether the person trusts the folder
  open NAME, close NAME       a session beside the one that asks and calls
  wait                        read no further command until nothing is in flight
  help, quit
`

// liveUI tells a person, or a program, what happens, and takes what they say. What it prints is queued: who reads slowly holds
// nothing up.
type liveUI struct {
	w    *liveWorld
	ask  bool // questions count as looked at when they are printed
	last *liveView
	more map[port.SessionID]*liveView   // of other sessions
	tell func(t model.Ms, r liveRecord) // from anywhere
	show func(v *liveView)              // on the loop; nil: nobody
	due  bool                           // a view is to be taken
	n    int                            // calls
}

func newLiveUI(w *liveWorld, ask bool, tell func(model.Ms, liveRecord), show func(*liveView)) *liveUI {
	return &liveUI{w: w, ask: ask, last: &liveView{}, more: map[port.SessionID]*liveView{}, tell: tell, show: show}
}

// begin tells what is there now, and from then on what changes.
func (u *liveUI) begin() error {
	return u.w.turn(func(core *impl.Host) {
		o := u.w.opt
		u.tell(u.w.at, told("host", "", "workspace", u.w.root(), "user", u.w.fileOf("user"), "mode", o.mode, "approvals", o.approvals))
		u.w.onEvent, u.w.onSettled = u.event, u.settled
		u.look()
	})
}

// event takes an event of the host, on its loop.
func (u *liveUI) event(ev *event.Event) {
	w := u.w
	switch ev.Kind {
	case event.Load:
		if w.idle {
			return
		}
		if ev.Scope != "" && ev.Why != "decision" {
			u.tell(w.at, told("source", string(ev.Scope), "outcome", ev.Outcome, "file", w.fileOf(string(ev.Scope))))
		}
	case event.Decided:
		hash := ""
		if ev.Entry != nil {
			hash = shortHash(ev.Entry.Hash)
		}
		u.tell(w.at, told("decided", ev.Server, "outcome", ev.Outcome, "hash", hash))
	case event.Refused:
		u.tell(w.at, told("refused", ev.Server, "why", ev.Why))
	case event.PassEnd:
		if ev.Outcome == "failed" {
			u.tell(w.at, told("pass", "", "outcome", ev.Outcome))
		}
	}
	if !u.due {
		u.due = true
		w.loop.Post(u.look)
	}
}

// look takes a view and tells what is different.
func (u *liveUI) look() {
	u.due = false
	w := u.w
	w.catchUp()
	v := w.view(w.core)
	changes := differences(w, u.last, v)
	u.last = v
	if u.ask && slices.ContainsFunc(changes, func(r liveRecord) bool { return r.kind == "ask" }) {
		_ = w.do(w.core, trace.Step{Do: trace.Look})
	}
	for _, r := range changes {
		u.tell(w.at, r)
	}
	u.others()
	if u.show != nil {
		u.show(v)
	}
}

// others tells what is different in other sessions: of their servers only, since they ask what the first one asks.
func (u *liveUI) others() {
	w := u.w
	ids := w.core.Sessions()
	for _, id := range ids {
		if id == liveSession {
			continue
		}
		v, old := w.viewOf(w.core, id), u.more[id]
		if old == nil {
			old = &liveView{}
			u.tell(w.at, told("opened", string(id)))
		}
		u.more[id] = v
		for _, r := range differences(w, old, v) {
			if r.kind == "server" || r.kind == "gone" {
				r.fields = append([]liveField{{"session", string(id)}}, r.fields...)
				u.tell(w.at, r)
			}
		}
	}
	for id := range u.more {
		if !slices.Contains(ids, id) {
			delete(u.more, id)
			u.tell(w.at, told("closed", string(id)))
		}
	}
}

func (u *liveUI) settled() {
	live := 0
	for i := range u.last.rows {
		if u.last.rows[i].state == "live" {
			live++
		}
	}
	u.tell(u.w.at, told("settled", "", "servers", len(u.last.rows), "live", live, "asked", len(u.last.questions)))
}

var errQuit = errors.New("quit")

// command does what a line says. It returns errQuit, or what is wrong with the line.
func (u *liveUI) command(line string) error {
	words, rest, err := splitCommand(line)
	if err != nil || len(words) == 0 {
		return err
	}
	w := u.w
	arity := func(least, most int) error {
		if n := len(words) - 1; n < least || n > most {
			return fmt.Errorf("%s: expected %d to %d words after it, there are %d; help lists the commands", words[0], least, most, n)
		}
		return nil
	}
	switch words[0] {
	case "quit", "exit":
		return errQuit
	case "help":
		u.tell(w.now(), told("help", "", "config", strings.Split(strings.TrimSuffix(liveHelp, "\n"), "\n")))
		return nil
	case "status":
		return w.turn(func(core *impl.Host) {
			v := w.view(core)
			for _, r := range differences(w, &liveView{hint: v.hint}, v) {
				if r.kind != "ask" { // a question counts as looked at when it was printed as a change
					u.tell(w.at, r)
				}
			}
			if u.ask {
				_ = w.do(core, trace.Step{Do: trace.Look})
			}
			for i := range v.questions {
				u.tell(w.at, v.questions[i].record())
			}
			u.tell(w.at, told("status", "", "servers", len(v.rows), "asked", len(v.questions), "notices", len(v.notices), "settled", !w.dirty))
		})
	case "approve", "reject":
		if err := arity(1, 2); err != nil {
			return err
		}
		hash := ""
		if len(words) > 2 {
			hash = words[2]
		}
		return u.decide(words[1], hash, words[0] == "approve")
	case "approve-all":
		return u.inTurn(func(core *impl.Host) error {
			if len(w.shown) == 0 {
				return errors.New("nothing is asked")
			}
			return w.do(core, trace.Step{Do: trace.ApproveAll})
		})
	case "reload":
		return u.inTurn(func(core *impl.Host) error { return w.do(core, trace.Step{Do: trace.Reload}) })
	case "trust":
		if len(words) != 2 || words[1] != "on" && words[1] != "off" {
			return errors.New("trust: expected on or off")
		}
		return u.inTurn(func(core *impl.Host) error { return w.do(core, trace.Step{Do: trace.Trust, Trusted: words[1] == "on"}) })
	case "open", "close":
		if err := arity(1, 1); err != nil {
			return err
		}
		return u.inTurn(func(core *impl.Host) error {
			is := slices.Contains(core.Sessions(), port.SessionID(words[1]))
			switch {
			case words[1] == "" || words[1] == liveSession:
				return fmt.Errorf("%s: expected another name than that of the first session, %s", words[0], liveSession)
			case is && words[0] == "open":
				return fmt.Errorf("%s is open", lineWord(words[1]))
			case !is && words[0] == "close":
				return fmt.Errorf("%s is not open", lineWord(words[1]))
			}
			return w.do(core, trace.Step{Do: trace.StepKind(words[0]), Session: words[1]})
		})
	case "call":
		return u.call(words, rest)
	case "tools":
		if err := arity(0, 1); err != nil {
			return err
		}
		return w.turn(func(core *impl.Host) {
			n := 0
			for _, r := range w.view(core).rows {
				if len(words) == 1 || words[1] == r.name {
					for _, t := range r.tools {
						n++
						u.tell(w.at, told("tool", t, "server", r.name, "model_name", impl.ToolName(r.name, t)))
					}
				}
			}
			u.tell(w.at, told("tools", "", "count", n))
		})
	case "log":
		if err := arity(1, 1); err != nil {
			return err
		}
		lines := w.dialer.Log(words[1])
		for i := range lines {
			lines[i] = printable(lines[i])
		}
		if lines == nil {
			lines = []string{}
		}
		u.tell(w.now(), told("log", words[1], "lines", len(lines), "config", lines))
		return nil
	}
	return fmt.Errorf("%s: no such command; help lists them", words[0])
}

func (u *liveUI) inTurn(f func(*impl.Host) error) (err error) {
	return errors.Join(u.w.turn(func(core *impl.Host) { err = f(core) }), err)
}

// now is the instant, for who is not on the loop.
func (w *liveWorld) now() model.Ms { return model.Ms(time.Since(w.start).Milliseconds()) }

// decide answers the question that was shown last.
func (u *liveUI) decide(server, hash string, approve bool) error {
	return u.inTurn(func(core *impl.Host) error {
		w := u.w
		i := slices.IndexFunc(w.shown, func(q event.Question) bool { return q.Server == server })
		switch {
		case i < 0:
			return fmt.Errorf("%s: nothing about it was asked; status prints what is", lineWord(server))
		case hash != "" && !strings.HasPrefix(w.shown[i].Hash, hash):
			return fmt.Errorf("%s: what was asked last has the hash %s, not %s", lineWord(server), shortHash(w.shown[i].Hash), hash)
		}
		s := trace.Step{Do: trace.Reject, Server: server}
		if approve {
			s.Do = trace.Approve
		}
		return w.do(core, s)
	})
}

// call calls a tool; its outcome is told when it is there.
func (u *liveUI) call(words []string, rest string) error {
	if len(words) < 3 {
		return errors.New("call: expected SERVER TOOL, and perhaps the arguments as a JSON object")
	}
	var args map[string]any
	if rest != "" {
		if err := json.Unmarshal([]byte(rest), &args); err != nil {
			return fmt.Errorf("call: the arguments are no JSON object: %w", err)
		}
	}
	return u.w.turn(func(core *impl.Host) {
		u.n++
		id, server, tool := "c"+strconv.Itoa(u.n), words[1], words[2]
		u.tell(u.w.at, told("calling", id, "server", server, "tool", tool))
		u.w.call(core, id, server, tool, args, func(outcome string, res *mcpgo.CallToolResult) {
			text, failed := resultText(res)
			way := ""
			if strings.HasPrefix(outcome, "refused:") {
				way = core.MissMessage(liveSession, impl.ToolName(server, tool))
			}
			r := told("called", id, "outcome", outcome, "server", server, "tool", tool)
			if outcome == "ok" {
				r.fields = append(r.fields, liveField{"is_error", failed})
			}
			r.fields = append(r.fields, liveField{"text", text}, liveField{"way", way})
			u.tell(u.w.at, r)
		})
	})
}

func resultText(res *mcpgo.CallToolResult) (text string, failed bool) {
	if res == nil {
		return "", false
	}
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(mcpgo.TextContent); ok {
			parts = append(parts, t.Text)
		} else if b, err := json.Marshal(c); err == nil {
			parts = append(parts, string(b))
		}
	}
	return strings.Join(parts, "\n"), res.IsError
}

// printable leaves nothing in a text that a terminal would act on.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// splitCommand splits a line into words; one in double quotes is as in JSON. Of a call, rest is what comes after three.
func splitCommand(line string) (words []string, rest string, err error) {
	line = strings.TrimSpace(line)
	for line != "" {
		if len(words) == 3 && words[0] == "call" {
			return words, line, nil
		}
		if line[0] == '"' {
			end := stringEnd(line, 0)
			var s string
			if err := json.Unmarshal([]byte(line[:end]), &s); err != nil {
				return nil, "", fmt.Errorf("%s: no word in quotes, as JSON has them", line)
			}
			words, line = append(words, s), strings.TrimSpace(line[end:])
			continue
		}
		word, after, _ := strings.Cut(line, " ")
		words, line = append(words, word), strings.TrimSpace(after)
	}
	return words, "", nil
}

// printer writes records in their order; whoever tells one does not wait.
type printer struct {
	out  io.Writer
	json bool
	mu   sync.Mutex
	cond *sync.Cond
	text []string
	over bool
	done chan struct{}

	broken chan struct{} // closed when nobody reads any more
	err    error
}

func newPrinter(out io.Writer, asJSON bool) *printer {
	p := &printer{out: out, json: asJSON, done: make(chan struct{}), broken: make(chan struct{})}
	p.cond = sync.NewCond(&p.mu)
	go p.run()
	return p
}

func (p *printer) run() {
	defer close(p.done)
	for {
		p.mu.Lock()
		for len(p.text) == 0 && !p.over {
			p.cond.Wait()
		}
		text := p.text
		p.text = nil
		p.mu.Unlock()
		if text == nil {
			return
		}
		if _, err := io.WriteString(p.out, strings.Join(text, "\n")+"\n"); err != nil {
			p.err = err
			close(p.broken)
			return
		}
	}
}

func (p *printer) tell(t model.Ms, r liveRecord) {
	line := r.json(t)
	if !p.json {
		line = r.line()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = append(p.text, line)
	p.cond.Signal()
}

func (p *printer) close() {
	p.mu.Lock()
	p.over = true
	p.cond.Signal()
	p.mu.Unlock()
	<-p.done
}

// runLiveLines prints a line per change and takes commands, until quit or a signal, which it returns.
func runLiveLines(w *liveWorld, in io.Reader, out io.Writer, signals <-chan os.Signal) (os.Signal, error) {
	p := newPrinter(out, w.opt.json)
	defer p.close()
	u := newLiveUI(w, true, p.tell, nil)
	if err := u.begin(); err != nil {
		return nil, err
	}
	lines := readLines(in)
	for {
		select {
		case sig := <-signals:
			return sig, nil
		case <-p.broken:
			return nil, fmt.Errorf("the output: %w", p.err)
		case line, ok := <-lines:
			if !ok {
				lines = nil // its end ends nothing
				continue
			}
			if strings.TrimSpace(line) == "wait" {
				ok, sig := w.awaitSettled(time.Hour, signals)
				if sig != nil {
					return sig, nil
				}
				p.tell(w.now(), told("waited", "", "settled", ok))
				continue
			}
			switch err := u.command(line); {
			case errors.Is(err, errQuit):
				return nil, nil
			case err != nil:
				p.tell(w.now(), told("error", "", "command", line, "text", err.Error()))
			}
		}
	}
}
