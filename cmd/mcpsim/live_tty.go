package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"mcpsim/impl"
	"mcpsim/model"
	"mcpsim/sim/trace"
)

const liveKeys = `a, r      approve, reject the question on the screen, and nothing but what it shows
n         the next question
v         all of the question, if it does not fit
R         reload: read every file, try failed servers again
t         the tools that are offered
l         what a server wrote to its stderr
c         call a tool
:         any command, as they are read from standard input without a terminal
q, ^C     quit

The commands:
`

// answerAfter is how long a question has to be on the screen before a key answers it.
const answerAfter = 500 * time.Millisecond

// liveTTY is the screen.
type liveTTY struct {
	w     *liveWorld
	u     *liveUI
	out   io.Writer
	size  func() (width, height int)
	color bool
	dirty chan struct{}

	mu      sync.Mutex
	view    *liveView
	settled bool
	log     []string
	asked   *liveQuestion // on the screen; it does not change while it is there
	since   time.Time
	answer  string // what was answered to it
	overlay []string
	prompt  *string
	message string
}

// tell takes a record into the log, or over the screen if it is long.
func (t *liveTTY) tell(_ model.Ms, r liveRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch r.kind {
	case "settled":
		t.settled = true
		t.redraw()
		return
	case "ask", "unask", "host", "hint", "notice": // they are on the screen
		return
	case "help", "log":
		text := strings.Split(r.line(), "\n")[1:]
		switch {
		case r.kind == "help":
			text = append(strings.Split(strings.TrimSuffix(liveKeys, "\n"), "\n"), text...)
		case len(text) == 0:
			text = []string{lineWord(r.name) + " has written nothing to its stderr, or is no process."}
		default:
			text = append([]string{"The last that " + lineWord(r.name) + " wrote to its stderr:", ""}, text...)
		}
		t.overlay = append(text, "", "any key goes back")
		t.redraw()
		return
	}
	t.log = append(t.log, time.Now().Format("15:04:05")+"  "+r.sentence())
	if len(t.log) > 200 {
		t.log = t.log[100:]
	}
	t.redraw()
}

// sentence is a record as a person likes to read it.
func (r *liveRecord) sentence() string {
	f := map[string]string{}
	for _, x := range r.fields {
		if l, ok := x.value.([]string); ok {
			f[x.key] = fmt.Sprint(len(l))
		} else {
			f[x.key] = fmt.Sprint(x.value)
		}
	}
	name := printable(r.name)
	if f["session"] != "" {
		name = printable(f["session"]) + ": " + name
	}
	switch r.kind {
	case "server":
		row := liveRow{state: f["state"], text: f["text"], err: f["error"]}
		state, _, more := row.words()
		if state == "live" {
			more = strings.TrimSuffix(f["tools"]+" tools", map[bool]string{true: "s"}[f["tools"] == "1"])
		}
		if more != "" {
			state += ", " + more
		}
		return name + "  " + state
	case "opened", "closed":
		return name + "  session " + r.kind
	case "gone":
		return name + "  is not configured any more"
	case "decided":
		return name + "  " + f["outcome"] + " as " + f["hash"]
	case "refused":
		why := map[string]string{"stale": "it reads otherwise by now", "not_asked": "it is not asked any more",
			"lock": "the approvals are locked", "read": "the approvals cannot be read", "write": "the approvals cannot be written"}[f["why"]]
		return name + "  the answer does not count: " + why
	case "source":
		return f["file"] + "  read: " + f["outcome"]
	case "calling":
		return name + "  calls " + f["tool"] + " of " + f["server"]
	case "called":
		return name + "  " + f["outcome"] + "  " + f["way"] + f["text"]
	case "cleared":
		return f["file"] + "  no longer " + name
	}
	line, _, _ := strings.Cut(r.line(), "\n")
	return line
}

// show takes a view, on the host's loop. A question that appears is looked at in this moment.
func (t *liveTTY) show(v *liveView) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.view, t.settled = v, false
	if t.asked != nil && t.answer != "" && t.find(v) < 0 {
		t.asked = nil
	}
	if t.asked == nil && len(v.questions) > 0 {
		t.ask(0)
	}
	t.redraw()
}

// find is where the question on the screen is in a view, -1 if it is not asked any more.
func (t *liveTTY) find(v *liveView) int {
	return slices.IndexFunc(v.questions, func(q liveQuestion) bool { return q.server == t.asked.server && q.hash == t.asked.hash })
}

// ask puts a question on the screen. It runs on the loop.
func (t *liveTTY) ask(i int) {
	_ = t.w.do(t.w.core, trace.Step{Do: trace.Look})
	q := t.view.questions[i]
	t.asked, t.since, t.answer, t.message = &q, time.Now(), "", ""
}

// next puts the next question on the screen.
func (t *liveTTY) next() {
	_ = t.w.turn(func(core *impl.Host) {
		v := t.w.view(core)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.view = v
		if len(v.questions) == 0 {
			t.asked = nil
			return
		}
		i := 0
		if t.asked != nil {
			i = slices.IndexFunc(v.questions, func(q liveQuestion) bool { return q.server > t.asked.server })
		}
		t.ask(max(i, 0))
	})
}

func (t *liveTTY) redraw() {
	select {
	case t.dirty <- struct{}{}:
	default:
	}
}

// runLiveTerminal shows a screen and takes keys, until quit or a signal, which it returns.
func runLiveTerminal(w *liveWorld, in, out *os.File, signals <-chan os.Signal) (os.Signal, error) {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, err
	}
	fmt.Fprint(out, "\033[?1049h\033[?25l")
	defer func() {
		fmt.Fprint(out, "\033[?25h\033[?1049l")
		_ = term.Restore(int(in.Fd()), old)
	}()
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)

	t := &liveTTY{w: w, out: out, dirty: make(chan struct{}, 1), color: os.Getenv("NO_COLOR") == "", view: &liveView{},
		size: func() (int, int) {
			width, height, err := term.GetSize(int(out.Fd()))
			if err != nil || width <= 0 || height <= 0 {
				return 80, 24
			}
			return width, height
		}}
	t.u = newLiveUI(w, false, t.tell, t.show)
	if err := t.u.begin(); err != nil {
		return nil, err
	}
	keys := readKeys(in)
	tick := time.NewTicker(answerAfter)
	defer tick.Stop()
	for {
		t.draw()
		select {
		case sig := <-signals:
			return sig, nil
		case <-resized:
		case <-tick.C:
		case <-t.dirty:
			time.Sleep(15 * time.Millisecond) // what belongs together is drawn at once
		case k, ok := <-keys:
			if !ok {
				return nil, nil
			}
			if err := t.key(k); errors.Is(err, errQuit) {
				return nil, nil
			} else if err != nil {
				t.say(err.Error())
			}
		}
	}
}

func (t *liveTTY) say(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.message = text
}

// readKeys passes on what is typed; what the arrow and function keys send is left out.
func readKeys(in io.Reader) <-chan rune {
	ch := make(chan rune)
	go func() {
		defer close(ch)
		buf := make([]byte, 256)
		var rest []byte
		for {
			n, err := in.Read(buf)
			if err != nil {
				return
			}
			rest = append(rest, buf[:n]...)
			for len(rest) > 0 {
				if rest[0] == 27 && len(rest) > 1 && (rest[1] == '[' || rest[1] == 'O') {
					end := 2
					for end < len(rest) && (rest[end] < '@' || rest[end] > '~') {
						end++
					}
					rest = rest[min(end+1, len(rest)):]
					continue
				}
				if !utf8.FullRune(rest) {
					break
				}
				r, size := utf8.DecodeRune(rest)
				rest = rest[size:]
				ch <- r
			}
		}
	}()
	return ch
}

// key does what a key says.
func (t *liveTTY) key(k rune) error {
	t.mu.Lock()
	overlay, prompt := t.overlay != nil, t.prompt
	t.overlay = nil
	t.mu.Unlock()
	switch {
	case k == 3: // ^C
		return errQuit
	case overlay:
		return nil
	case prompt != nil:
		return t.edit(prompt, k)
	}
	t.say("")
	switch k {
	case 'q':
		return errQuit
	case 'a', 'r':
		return t.decide(k == 'a')
	case 'n':
		t.next()
	case 'v':
		t.mu.Lock()
		if t.asked != nil {
			t.overlay = t.question(1000)
		}
		t.mu.Unlock()
	case 'R':
		return t.u.command("reload")
	case 't':
		t.mu.Lock()
		t.overlay = t.tools()
		t.mu.Unlock()
	case 'l':
		t.open("log ")
	case 'c':
		t.open("call ")
	case ':':
		t.open("")
	case '?', 'h':
		return t.u.command("help")
	}
	return nil
}

func (t *liveTTY) open(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prompt = &text
}

// edit takes a key into the command line.
func (t *liveTTY) edit(line *string, k rune) error {
	text := *line
	t.mu.Lock()
	switch {
	case k == '\r' || k == '\n' || k == 27:
		t.prompt = nil
	case k == 127 || k == 8:
		_, size := utf8.DecodeLastRuneInString(text)
		*line = text[:len(text)-size]
	case k == 21: // ^U
		*line = ""
	case k >= ' ':
		*line += string(k)
	}
	t.mu.Unlock()
	if k != '\r' && k != '\n' {
		return nil
	}
	switch word, _, _ := strings.Cut(strings.TrimSpace(text), " "); word {
	case "wait":
		return nil
	case "approve", "reject", "approve-all":
		return errors.New("a and r answer the question that is on the screen; nothing answers another")
	}
	return t.u.command(text)
}

// decide answers the question on the screen: exactly that one, whatever is asked by now.
func (t *liveTTY) decide(approve bool) error {
	t.mu.Lock()
	q, since, answer := t.asked, t.since, t.answer
	t.mu.Unlock()
	switch {
	case q == nil:
		return errors.New("nothing is asked")
	case answer != "":
		return nil
	case time.Since(since) < answerAfter:
		return errors.New("the question has only just appeared: read it, then answer")
	}
	if err := t.u.decide(q.server, q.hash, approve); err != nil {
		return err
	}
	t.mu.Lock()
	t.answer = map[bool]string{true: "approved", false: "rejected"}[approve]
	gone := t.find(t.view) < 0
	t.mu.Unlock()
	if gone { // the host refuses the answer, and says so
		t.next()
	}
	return nil
}

func (t *liveTTY) tools() []string {
	out := []string{"The tools that are offered:"}
	for _, r := range t.view.rows {
		for _, x := range r.tools {
			out = append(out, fmt.Sprintf("  %-20s %-30s %s", printable(r.name), printable(x), impl.ToolName(r.name, x)))
		}
	}
	return append(out, "", "any key goes back")
}

// paint colours a text, if the terminal does.
func (t *liveTTY) paint(code, s string) string {
	if !t.color || s == "" {
		return s
	}
	return "\033[" + code + "m" + s + "\033[0m"
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	invert = "7"
)

// cell cuts or fills a text to a width.
func cell(s string, width int) string {
	s = printable(s)
	n := utf8.RuneCountInString(s)
	if n > width {
		r := []rune(s)
		return string(r[:max(0, width-1)]) + "…"
	}
	return s + strings.Repeat(" ", width-n)
}

// wrap breaks a text into lines of a width.
func wrap(s string, width int) (out []string) {
	r := []rune(printable(s))
	for len(r) > width {
		cut := width
		for i := width; i > width*2/3; i-- {
			if r[i] == ' ' {
				cut = i
				break
			}
		}
		out = append(out, string(r[:cut]))
		r = r[cut:]
	}
	return append(out, string(r))
}

// state is the row's state as a person reads it (VIEW-1), its colour, and more to say below it.
func (r *liveRow) words() (state, color, more string) {
	class, isFailed := strings.CutPrefix(r.state, "failed:")
	switch {
	case r.state == "live":
		return "live", green, ""
	case r.state == "dialing":
		return "connecting", yellow, ""
	case isFailed:
		return "failed: " + class, red, strings.TrimPrefix(r.err, class+": ")
	case r.state == "held:pending_approval":
		return r.text, yellow, ""
	case r.state == "held:rejected":
		state, more, _ = strings.Cut(r.text, ": ")
		return state, red, more
	case r.text != "":
		return r.text, dim, ""
	}
	return r.state, dim, ""
}

// draw paints the whole screen.
func (t *liveTTY) draw() {
	width, height := t.size()
	t.mu.Lock()
	lines := t.lines(width, height)
	t.mu.Unlock() // a terminal that is held up holds up nobody else
	var b strings.Builder
	b.WriteString("\033[H")
	for i := 0; i < height; i++ {
		if i < len(lines) {
			b.WriteString(lines[i])
		}
		b.WriteString("\033[K")
		if i < height-1 {
			b.WriteString("\r\n")
		}
	}
	_, _ = io.WriteString(t.out, b.String())
}

func (t *liveTTY) lines(width, height int) []string {
	if t.overlay != nil {
		var out []string
		for _, l := range t.overlay {
			out = append(out, wrap(l, width)...)
		}
		if len(out) > height {
			out = append(out[:height-1], t.paint(dim, fmt.Sprintf("… and %d lines more; any key goes back", len(out)-height+1)))
		}
		return out
	}
	out := t.head(width)
	out = append(out, t.table(width, max(3, height/2-4))...)
	out = append(out, "")
	if t.asked != nil {
		q := t.question(width)
		if room := height - len(out) - 4; len(q) > room {
			q = append(q[:max(1, room-1)], t.paint(yellow, "  … more than fits: v shows all of it"))
		}
		out = append(append(out, q...), "")
	}
	for i, n := range t.view.notices {
		if i == 4 {
			out = append(out, t.paint(dim, fmt.Sprintf("  … and %d notices more; :status has them", len(t.view.notices)-i)))
			break
		}
		place := ""
		if n.File != "" {
			place = t.w.fileOf(n.File)
			if n.Line > 0 {
				place += fmt.Sprintf(":%d:%d", n.Line, n.Column)
			}
			place += " "
		}
		out = append(out, t.paint(yellow, cell("! "+place+n.Kind+": "+t.w.readable(n.Text), width)))
	}
	if t.view.hint {
		out = append(out, t.paint(dim, cell("a server failed: l shows what it wrote to its stderr", width)))
	}
	if room := height - len(out) - 3; room > 0 && len(t.log) > 0 {
		out = append(out, "")
		for _, l := range t.log[max(0, len(t.log)-room):] {
			out = append(out, t.paint(dim, cell(l, width)))
		}
	}
	if len(out) > height-2 {
		out = out[:max(0, height-2)]
	}
	for len(out) < height-2 {
		out = append(out, "")
	}
	return append(out, t.paint(yellow, cell(t.message, width)), t.foot(width))
}

func (t *liveTTY) head(width int) []string {
	state := "working"
	if t.settled {
		state = "settled"
	}
	left := "mcpsim live  " + t.w.root()
	right := t.w.opt.mode + " mode, approvals " + t.w.opt.approvals + ", " + state + " "
	pad := width - utf8.RuneCountInString(left) - utf8.RuneCountInString(right)
	if pad < 1 {
		left, pad = "mcpsim live  …/"+filepath.Base(t.w.root()), 2
	}
	return []string{t.paint(invert, cell(left+strings.Repeat(" ", max(1, pad))+right, width)), ""}
}

func (t *liveTTY) foot(width int) string {
	if t.prompt != nil {
		return t.paint(bold, ":") + cell(*t.prompt+"▏", width-2)
	}
	return t.paint(dim, cell("a approve  r reject  n next  R reload  c call  t tools  l log  : command  ? help  q quit", width))
}

func (t *liveTTY) table(width, most int) []string {
	if len(t.view.rows) == 0 {
		return []string{t.paint(dim, cell("no servers; "+t.w.fileOf("project")+", "+t.w.fileOf("workspace")+" and "+t.w.fileOf("user")+" may name some under \"mcpServers\"", width))}
	}
	files := make([]string, len(t.view.rows))
	nameWidth, stateWidth, fileWidth := 6, 8, 6
	for i := range t.view.rows {
		r := &t.view.rows[i]
		if files[i] = r.file; len(r.shadows) > 0 {
			files[i] += " over " + strings.Join(r.shadows, ", ")
		}
		state, _, _ := r.words()
		nameWidth = max(nameWidth, utf8.RuneCountInString(r.name))
		stateWidth = max(stateWidth, utf8.RuneCountInString(state))
		fileWidth = max(fileWidth, utf8.RuneCountInString(files[i]))
	}
	const transportWidth, toolsWidth, gap = 9, 5, 2
	rest := width - transportWidth - toolsWidth - 4*gap
	nameWidth = min(nameWidth, max(8, rest/3))
	stateWidth = min(stateWidth, max(16, rest/3))
	fileWidth = max(6, min(fileWidth, rest-nameWidth-stateWidth))
	row := func(name, state, color, file, transport, tools string) string {
		return cell(name, nameWidth+gap) + t.paint(color, cell(state, stateWidth)) + "  " + cell(file, fileWidth) + "  " + cell(transport, transportWidth+gap) + tools
	}
	out := []string{t.paint(bold, row("SERVER", "STATE", "", "FROM", "TRANSPORT", "TOOLS"))}
	for i := range t.view.rows {
		if i >= most && len(t.view.rows) > most+1 {
			return append(out, t.paint(dim, fmt.Sprintf("… and %d more; :status has them", len(t.view.rows)-i)))
		}
		r := &t.view.rows[i]
		state, color, more := r.words()
		tools := "-"
		if r.state == "live" {
			tools = fmt.Sprint(len(r.tools))
		}
		out = append(out, row(r.name, state, color, files[i], r.transport, tools))
		if more != "" {
			out = append(out, t.paint(dim, cell(strings.Repeat(" ", nameWidth+gap)+"└ "+more, width)))
		}
	}
	return out
}

// question is what a person decides on.
func (t *liveTTY) question(width int) []string {
	q := t.asked
	at := t.find(t.view)
	count := fmt.Sprintf("%d asked", len(t.view.questions))
	if at >= 0 {
		count = fmt.Sprintf("question %d of %d", at+1, len(t.view.questions))
	}
	out := []string{t.paint(bold, cell(fmt.Sprintf("May %s run?  (%s)", lineWord(q.server), count), width))}
	add := func(label, text string) {
		for i, l := range wrap(text, max(20, width-12)) {
			if i > 0 {
				label = ""
			}
			out = append(out, fmt.Sprintf("  %-9s %s", label, l))
		}
	}
	add("runs", q.runs)
	add("from", q.file+" ("+q.source+")")
	for i, l := range q.lines {
		label := ""
		if i == 0 {
			label = "entry"
		}
		add(label, l)
	}
	add("hash", shortHash(q.hash))
	switch {
	case t.answer != "":
		out = append(out, t.paint(dim, "  "+t.answer+"…"))
	case at < 0 && slices.ContainsFunc(t.view.questions, func(o liveQuestion) bool { return o.server == q.server }):
		out = append(out, t.paint(red, "  It reads otherwise by now: n shows what is asked."))
	case at < 0:
		out = append(out, t.paint(red, "  It is not asked any more: n goes on."))
	default:
		out = append(out, t.paint(yellow, "  a approves exactly this, r rejects it"))
	}
	return out
}
