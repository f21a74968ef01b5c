package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mcpsim/sim/trace"
)

const gated = `{"mcpsim":1,"title":"a gated server, approved, edited, approved again","launch":{"sessions":["s1"]},
 "servers":{"srv-a":{"tools":["x","y"],"delay":{"start":20}}}}
{"do":"edit","file":"project","servers":{"a":{"command":"srv-a","args":["--token=one-two-three"],"env":{"KEY":"topsecret1"}}}}
{"do":"settle"}
{"do":"advance","ms":50}
{"do":"look","session":"s1"}
{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
{"do":"edit","file":"project","servers":{"a":{"command":"srv-a","args":["--token=one-two-three"],"env":{"KEY":"topsecret2"}}}}
{"do":"settle"}
{"do":"advance","ms":50}
{"do":"look","session":"s1"}
{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
{"do":"call","id":"c1","session":"s1","server":"a","tool":"x"}
{"do":"settle"}
`

func logOf(t testing.TB, text string) []string {
	t.Helper()
	tr, err := trace.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if r, err := Record(tr, &b); err != nil || len(r.Violations) > 0 {
		t.Fatal(err, r.Violations)
	}
	return strings.SplitAfter(b.String(), "\n")
}

// line finds the n-th line, from 0, that holds all of the texts.
func line(t testing.TB, lines []string, n int, texts ...string) int {
	t.Helper()
	for i, l := range lines {
		has := true
		for _, s := range texts {
			has = has && strings.Contains(l, s)
		}
		if has {
			if n == 0 {
				return i
			}
			n--
		}
	}
	t.Fatalf("no line with %q", texts)
	return 0
}

// moved takes the line at from and puts it, with another's time, before the line at to.
func moved(lines []string, from, to int) []string {
	l := lines[from]
	_, rest, _ := strings.Cut(l, ",")
	at, _, _ := strings.Cut(lines[to], ",")
	out := append([]string{}, lines[:from]...)
	out = append(out, lines[from+1:]...)
	if to > from {
		to--
	}
	return append(append(append([]string{}, out[:to]...), at+","+rest), out[to:]...)
}

func dropped(lines []string, at int) []string {
	return append(append([]string{}, lines[:at]...), lines[at+1:]...)
}

// TestMutatedLogs: a log that is not what a right host would have written is found out, by the right invariant.
func TestMutatedLogs(t *testing.T) {
	lines := logOf(t, gated)
	config := func(n int) string { // of the n-th dial
		l := lines[line(t, lines, n, `"event":"dial"`)]
		return l[strings.Index(l, `"config":`):]
	}
	if config(0) == config(1) {
		t.Fatal("two secrets have one mask")
	}
	for _, c := range []struct {
		name, want string
		log        []string
	}{
		{"as it is", "", lines},
		{"nobody approved, and it is recorded", "INV-12", dropped(lines, line(t, lines, 0, `"input":"decide"`))},
		{"nobody recorded, and it is dialled", "INV-1", dropped(lines, line(t, lines, 0, `"event":"decided"`))},
		{"dialled before its approval", "INV-1", moved(lines, line(t, lines, 0, `"event":"dial"`), line(t, lines, 0, `"input":"decide"`))},
		{"another config is dialled than the approved one", "INV-1", replaced(lines, line(t, lines, 1, `"event":"dial"`), config(1), config(0))},
		{"another config is recorded than the shown one", "INV-12", replaced(lines, line(t, lines, 1, `"event":"decided"`), config1(lines, t, 1), config1(lines, t, 0))},
		{"the person said no", "INV-12", replaced(lines, line(t, lines, 0, `"input":"decide"`), `"approve":true`, `"approve":false`)},
		{"a load comes late", "INV-13", moved(lines, line(t, lines, 0, `"event":"load"`, `"why":"watcher"`), line(t, lines, 0, `"input":"decide"`))},
		{"a change is never loaded", "INV-13", dropped(lines, line(t, lines, 0, `"event":"load"`, `"why":"watcher"`))},
		{"a question is not raised", "INV-11", droppedAll(lines, `"event":"ask"`)},
		{"a tool too many is shown", "LIVE-1", replaced(lines, line(t, lines, 1, `"settled":true`), `"tools":["x","y"]`, `"tools":["x","y","z"]`)},
		{"a live server is shown as failed", "LIVE-1", replaced(lines, line(t, lines, 1, `"settled":true`), `"state":"live"`, `"state":"failed:exit"`)},
		{"a process began that was not announced", "INV-1", droppedAll(lines, `"event":"dial"`)},
		{"a process outlived its connection", "INV-9", dropped(lines, line(t, lines, 0, `"event":"closed"`))},
		{"a purge is missing", "INV-8", dropped(lines, line(t, lines, 0, `"event":"purged"`))},
		{"a call that was never sent is answered", "INV-21", dropped(lines, line(t, lines, 0, `"event":"call_start"`))},
		{"the lists are pushed after the pass", "INV-14", dropped(lines, line(t, lines, 2, `"event":"lists"`))},
		{"the host writes elsewhere", "INV-15", replaced(lines, line(t, lines, 0, `"event":"wrote"`), `mcpApprovals.json`, `settings.json`)},
		{"it does not settle", "LIVE-3", replaced(lines, line(t, lines, 0, `"settled":true`), lines[line(t, lines, 0, `"settled":true`)], `{"t":300,"settled":false}`+"\n")},
		{"the world is a witness", "INV-10", append(append([]string{}, lines[:len(lines)-1]...), `{"t":9000,"input":"witness","invariant":"INV-10","detail":"seen"}`)},
	} {
		rep, err := Log("log", []byte(strings.Join(c.log, "")), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.want == "" {
			if len(rep.Findings) > 0 {
				t.Errorf("%s: %v", c.name, rep.Findings)
			}
			continue
		}
		var ids []string
		found := false
		for _, f := range rep.Findings {
			ids = append(ids, fmt.Sprintf("%s (line %d: %s)", f.Invariant, f.Line, f.Detail))
			found = found || f.Invariant == c.want
		}
		if !found {
			t.Errorf("%s: found %v, want %s", c.name, ids, c.want)
		}
		if len(rep.Unchecked) > 0 {
			t.Errorf("%s: what the header lists counts as written, but: %v", c.name, rep.Unchecked)
		}
	}
}

// config1 is the config of the n-th decided line, with the end of its line.
func config1(lines []string, t testing.TB, n int) string {
	l := lines[line(t, lines, n, `"event":"decided"`)]
	return l[strings.Index(l, `"config":`):]
}

func replaced(lines []string, at int, old, new string) []string {
	out := append([]string{}, lines...)
	if out[at] = strings.Replace(out[at], old, new, 1); out[at] == lines[at] {
		panic("nothing to replace: " + old)
	}
	return out
}

func droppedAll(lines []string, text string) []string {
	var out []string
	for _, l := range lines {
		if !strings.Contains(l, text) {
			out = append(out, l)
		}
	}
	return out
}

// TestWhatALogLacksHidesNothingElse: without its passes and loads a host is still held to its approvals.
func TestWhatALogLacksHidesNothingElse(t *testing.T) {
	all := logOf(t, gated)
	for _, c := range []struct {
		name, want string
		drop       []string
		change     func([]string) []string
		unchecked  string
	}{
		{"no passes, dialled unapproved", "INV-1", []string{`"event":"pass_`, `"event":"lists"`}, func(l []string) []string {
			return dropped(l, line(t, l, 0, `"event":"decided"`))
		}, "INV-10"},
		{"no loads, dialled unapproved at the start", "INV-1", []string{`"event":"load"`, `"event":"notify"`}, func(l []string) []string {
			i := line(t, l, 0, `"input":"file"`, `"project"`, `"state":"missing"`)
			file := strings.Replace(l[line(t, l, 0, `"input":"file"`, `"project"`, `"state":"good"`)], `"t":0`, `"t":0`, 1)
			out := append([]string{}, l...)
			out[i] = file
			dial := out[line(t, out, 0, `"event":"dial"`)]
			_, rest, _ := strings.Cut(dial, ",")
			at := line(t, out, 0, `"event":"pass_start"`)
			return append(append(append([]string{}, out[:at+1]...), `{"t":0,`+rest), out[at+1:]...)
		}, "INV-13"},
		{"no loads, dialled unapproved after it was settled", "INV-1", []string{`"event":"load"`}, func(l []string) []string {
			return dropped(l, line(t, l, 0, `"event":"decided"`))
		}, "LIVE-1"},
		{"no loads, the queue is wrong", "INV-11", []string{`"event":"load"`}, func(l []string) []string {
			i := line(t, l, 0, `"settled":true`)
			return replaced(l, i, l[i], `{"t":300,"settled":true,"snapshot":{"sessions":[{"id":"s1","servers":[],"ask":[]}]}}`+"\n")
		}, "INV-18"},
		{"no wakes, nobody approved", "INV-12", []string{`"event":"wake"`, `"input":"woken"`}, func(l []string) []string {
			return dropped(l, line(t, l, 0, `"input":"decide"`))
		}, "INV-13"},
		{"no dials, the queue is wrong", "INV-11", []string{`"event":"dial"`}, func(l []string) []string {
			i := line(t, l, 0, `"settled":true`)
			return replaced(l, i, l[i], `{"t":300,"settled":true,"snapshot":{"sessions":[{"id":"s1","servers":[],"ask":[]}]}}`+"\n")
		}, "LIVE-1"},
	} {
		changed := c.change(all)
		for _, d := range c.drop {
			changed = droppedAll(changed, d)
		}
		rep, err := Log("log", undeclared([]byte(strings.Join(changed, ""))), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		found, counted := false, false
		for _, f := range rep.Findings {
			found = found || f.Invariant == c.want
		}
		for _, u := range rep.Unchecked {
			counted = counted || u.Invariant == c.unchecked
		}
		if !found || !counted {
			t.Errorf("%s: findings %v, not checkable %v; want %s and %s", c.name, rep.Findings, rep.Unchecked, c.want, c.unchecked)
		}
	}
}

// TestAHandWrittenLog: what another host may write: everything at the start in the header, values in clear, real time.
func TestAHandWrittenLog(t *testing.T) {
	const begin = `{"mcpsim":1,"log":{"version":1,"host":"their host"},"title":"x","launch":{"mode":"pool","env":{"T":"v"}},
`
	head := strings.ReplaceAll(begin, "\n", "") + `"servers":{"srv-a":{"tools":["x"]}},"files":{"user":"{\"mcpServers\":{\"a\":{\"command\":\"srv-a\"}}, // why\n}","project":{"servers":{"b":{"command":"srv-a"}}}},"records":[{"server":"c","config":{"command":"srv-a"},"status":"approved"}]}
`
	const run = `{"t":3,"event":"dial","sessions":["s1"],"server":"a","conn":1,"config":{"command":"srv-a"}}
{"t":40,"event":"dialed","conn":1}
{"t":41,"event":"published","session":"s1","server":"a","conn":1,"tools":["x"]}

{"t":700,"settled":true,"snapshot":{"sessions":[{"id":"s1","servers":[{"name":"a","state":"live","tools":["x"]},{"name":"b","state":"held:pending_approval"}],"ask":[{"server":"b","config":{"command":"srv-a"},"source":"project"}]}]}}
`
	rep, err := Log("log", []byte(head+run), Options{})
	if err != nil || len(rep.Findings) > 0 {
		t.Fatalf("%v %+v", err, rep)
	}
	if rep.Host != "their host" || rep.Events != 3 || rep.Shown != 1 || len(rep.Unchecked) == 0 || rep.Checks["INV-4"] == 0 {
		t.Errorf("%+v", rep)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"server":"a","conn":1,"config"`, `"server":"b","conn":1,"config"`, "INV-1"},
		{`"tools":["x"]}`, `"tools":["x","q"]}`, "LIVE-1"},
		{`"state":"held:pending_approval"`, `"state":"live"`, "LIVE-1"},
		{`"ask":[{"server":"b","config":{"command":"srv-a"},"source":"project"}]`, `"ask":[]`, "INV-11"},
	} {
		rep, err := Log("log", []byte(head+strings.Replace(run, c.old, c.new, 1)), Options{})
		if err != nil || len(rep.Findings) == 0 || rep.Findings[0].Invariant != c.want {
			t.Errorf("%s: %v %v", c.new, err, rep.Findings)
		}
	}
}

// TestMalformedLogs: file, line, what was expected, what to do.
func TestMalformedLogs(t *testing.T) {
	const h = `{"mcpsim":1,"log":{"version":1},"title":"x"}` + "\n"
	for _, c := range []struct{ log, want string }{
		{"", `x.log:1:1: the log is empty; it begins with a header such as`},
		{"[]\n", `x.log:1:1: the first line must be the header, an object such as`},
		{`{"mcpsim":1,"log":{"version":1},"nonsense":2}`, `x.log:1:1: the header has no key "nonsense"; it takes`},
		{`{"mcpsim":1,"log":{"version":7}}`, `x.log:1:1: "log" is version 7 of the format; version 1 is what can be read`},
		{`{"mcpsim":1,"log":{"version":1,"events":["jump"]}}`, `x.log:1:1: "events" names "jump"; the events are wake,`},
		{`{"mcpsim":1,"log":{"version":1,"clock":"sun"}}`, `"clock" is "sun"; expected "virtual"`},
		{`{"mcpsim":1,"log":{"version":1,"shows":["faces"]}}`, `"shows" names "faces"; the parts are tools,`},
		{`{"mcpsim":1,"log":{"version":1,"key":"k"}}`, `x.log:1:1: there is no key "key"; `},
		{`{"log":{"version":1}}`, `x.log:1:1: the first value must be the header, with the key "mcpsim"`},
		{h + `{"t":0,"event":"pass_st`, `x.log:2:`},
		{h + `{"t":0,"event":"pass_st`, `the line is cut off; write one whole JSON object a line`},
		{h + "\n\n" + `{"t":0,"event":"jump"}`, `x.log:4:1: there is no event "jump"; the events are wake,`},
		{h + `{"t":0,"input":"jump"}`, `there is no input "jump"; the inputs are call,`},
		{h + `{"t":0,"event":"load","scope":"user","outcome":"ok"} x`, `x.log:2:54: this is no JSON`},
		{h + `{"t":0}`, `a line holds exactly one of "event", "input",`},
		{h + `{"t":0,"event":"wake","input":"woken"}`, `a line holds exactly one of`},
		{h + `{"event":"wake","scope":"user"}`, `a line needs the key "t"`},
		{h + `{"t":5,"passed":true}` + "\n" + `{"t":4,"passed":true}`, `x.log:3:1: time runs backwards: t is 4 after 5; write lines in the order`},
		{h + `{"t":0,"event":"wake"}`, `wake needs the key "scope"`},
		{h + `{"t":0,"event":"wake","scope":"moon"}`, `unknown scope "moon"; expected defaults,`},
		{h + `{"t":0,"event":"load","scope":"user","outcome":"fine"}`, `load: expected one of ok, kept, missing, this is "fine"`},
		{h + `{"t":0,"event":"call_end","call":"c","outcome":"x"}`, `call_end: expected ok, refused:… or error:…, this is "x"`},
		{h + `{"t":0,"event":"dial","server":"a","conn":1,"config":{}}`, `dial needs the key "sessions"`},
		{h + `{"t":0,"event":"dial","server":"a","conn":1,"sessions":["s1"],"config":7}`, `a config must be an object`},
		{h + `{"t":0,"event":"dial","server":"a","conn":"one"}`, `the key conn cannot be a string`},
		{h + `{"t":0,"event":"wake","scope":"user","colour":1}`, `there is no key "colour"; `},
		{h + `{"t":0,"input":"file","scope":"user","state":"good"}`, `a good document needs "content"`},
		{h + `{"t":0,"input":"file","scope":"user","state":"nice"}`, `state is "nice"; expected one of missing, good,`},
		{h + `{"t":0,"input":"file","scope":"user","state":"good","text":"{"}`, `the text is unparsable, the line says "good"`},
		{h + `{"t":0,"input":"file","scope":"approvals","state":"good","content":{}}`, `the approvals file is told by the input "records"`},
		{h + `{"t":0,"input":"server","key":"k","behaviour":{"colour":1}}`, `a behaviour has no key "colour"`},
		{h + `{"t":0,"input":"restart","launch":{"colour":1}}`, `launch has no key "colour"`},
		{h + `{"t":0,"input":"witness","invariant":"INV-99","detail":"x"}`, `there is no invariant "INV-99"`},
		{h + `{"t":0,"settled":true}`, `"settled":true needs the key "snapshot"`},
		{h + `{"t":0,"settled":true,"snapshot":{"sessions":[{"id":"s1","servers":[{"name":"a","state":"happy"}],"ask":[]}]}}`, `unknown state "happy"`},
	} {
		_, err := Logs("x.log", []byte(c.log), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.log, err, c.want)
		}
	}
	two := h + `{"t":9,"passed":true}` + "\n" + h + `{"t":0,"passed":true}` + "\n"
	if list, err := Logs("x.log", []byte(two), Options{}); err != nil || len(list) != 2 || list[1].First != 3 || list[1].Lines != 2 {
		t.Errorf("two logs in one file: %v %v", list, err)
	}
	if _, err := Logs("x.log", []byte(two+"{}\n"), Options{}); err == nil || !strings.HasPrefix(err.Error(), "x.log:5:") {
		t.Errorf("the line of the second log: %v", err)
	}
}

// FuzzLine: no line in the middle of a log makes the judge crash.
func FuzzLine(f *testing.F) {
	lines := logOf(f, gated)
	at := line(f, lines, 0, `"event":"decided"`)
	for i, l := range lines {
		if i == 0 || i%9 == 0 {
			f.Add([]byte(l))
		}
	}
	before, after := []byte(strings.Join(lines[:at], "")), []byte("\n"+strings.Join(lines[at:at+9], ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := Logs("fuzz", slices.Concat(before, data, after), Options{})
		if err != nil && strings.Contains(err.Error(), "cannot go on from here") {
			t.Log(err) // said, and no crash
		}
	})
}
