package properties

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/fakefs"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

const approvals = sim.PathHome + "/.qwen/mcpApprovals.json"

// powerCut ends the host before one of its file operations.
type powerCut struct{}

// struck is a host whose machine stops before the n-th file operation after the step marked "strike", and starts again.
type struck struct {
	*host.InProcess
	st   *host.FakeStage
	n    int // 0: never
	lost bool

	armed, done bool
	count       int
	ops         []string          // after the mark
	told        map[string]string // decisions reported as recorded before the cut
	found       *disk             // after the next start
}

// disk is what lies around the approvals file.
type disk struct {
	state fakefs.RawState
	text  string
	perm  uint32
	link  bool
	names map[string]string // beside it, with their content
}

func (s *struck) Reset(h *trace.Header, st sim.Stage, t *model.Table, sink sim.Sink) error {
	s.told = map[string]string{}
	s.st.Files().Before(func(op, path string) {
		if !s.armed {
			return
		}
		s.count++
		s.ops = append(s.ops, op+" "+path)
		if s.count == s.n {
			s.armed = false
			panic(powerCut{})
		}
	})
	return s.InProcess.Reset(h, st, t, &reports{sink, s})
}

// reports notes what was reported.
type reports struct {
	sim.Sink
	s *struck
}

func (k *reports) Event(at model.Ms, ev *model.Event) {
	if ev.Kind == model.EvDecided && !k.s.done {
		k.s.told[ev.Server] = ev.Outcome
	}
	k.Sink.Event(at, ev)
}

// Input tells after a cut what it left: whoever was not told of a decision may find it recorded or not.
func (k *reports) Input(at model.Ms, in model.Input) {
	if in.Kind != model.InRestart {
		k.Sink.Input(at, in)
		return
	}
	for name := range look(k.s.st.Files()).names {
		if strings.Contains(name, ".corrupt-") { // it may be there though nobody lived to say so
			k.Sink.Event(at, &model.Event{Kind: model.EvWrote, Path: name})
		}
	}
	k.Sink.Input(at, in)
	left := model.Input{Kind: model.InRecords, Records: map[string]model.Record{}, On: k.s.told["a"] == ""}
	if data, state := k.s.st.Files().ReadRaw(approvals); state == fakefs.OK {
		left.Content.State = trace.Denote(data).State
	}
	for _, r := range k.s.st.RecordViews() {
		left.Records[r.Server] = model.Record{Config: r.Config, Approved: r.Approved}
	}
	k.Sink.Input(at, left)
}

func (s *struck) Do(st *trace.Step) error {
	if st.Why == "strike" {
		s.armed = true
		delete(s.told, "a") // of an earlier config
	}
	return s.InProcess.Do(st)
}

func (s *struck) Settle(budget model.Ms) (bool, error) {
	if !s.armed {
		return s.InProcess.Settle(budget)
	}
	ok, err, cut := s.run(budget)
	s.armed, s.done = false, true
	if cut {
		step := trace.Step{Do: trace.Restart}
		if s.lost {
			step.Unsynced = "lost"
		}
		if err := s.InProcess.Do(&step); err != nil {
			return false, err
		}
		ok, err = s.InProcess.Settle(budget)
	}
	s.found = look(s.st.Files())
	return ok, err
}

func (s *struck) run(budget model.Ms) (ok bool, err error, cut bool) {
	defer func() {
		if e := recover(); e != nil {
			if _, is := e.(powerCut); !is {
				panic(e)
			}
			cut = true
		}
	}()
	ok, err = s.InProcess.Settle(budget)
	return ok, err, false
}

func look(fs *fakefs.FS) *disk {
	d := &disk{perm: uint32(fs.Perm(approvals)), link: fs.IsLink(approvals), names: map[string]string{}}
	data, state := fs.ReadRaw(approvals)
	d.text, d.state = string(data), state
	for _, s := range fs.LinkChain(approvals) { // the link's directory and the file's
		if s.Base != "mcpApprovals.json" {
			continue
		}
		if f, err := fs.Host().Open(s.Dir); err == nil {
			names, _ := f.Readdirnames(-1)
			for _, n := range names {
				data, _ := fs.ReadRaw(s.Dir + "/" + n)
				d.names[n] += string(data)
			}
		}
	}
	return d
}

const crashHead = `{"mcpsim":1,"title":"a power cut","servers":{"srv":{"tools":["x"]}},%s
 "files":{"project":{"servers":{"a":{"command":"srv"},"b":{"command":"srv"},"c":{"command":"srv"}}}}}
{"do":"settle"}
`

// before is what the approvals file is when the decision comes.
var before = []struct{ name, header, steps string }{
	{"no file", "", ""},
	{"no directory", `"dirs":["approvals"],`, ""},
	{"a file", "", `{"do":"approve","session":"s1","server":"b"}` + "\n" + `{"do":"settle"}` + "\n"},
	{"a corrupt file", `"records":"corrupt",`, ""},
	{"a link", "", `{"do":"write","file":"approvals","text":"{\"version\":1,\"roots\":{}}","how":"retarget"}` + "\n" + `{"do":"settle"}` + "\n" +
		`{"do":"approve","session":"s1","server":"b"}` + "\n" + `{"do":"settle"}` + "\n"},
	{"a link to a corrupt file", "", `{"do":"write","file":"approvals","text":"{\"version","how":"retarget"}` + "\n" + `{"do":"settle"}` + "\n"},
}

var answers = []struct{ name, steps string }{
	{"approve", `{"do":"approve","session":"s1","server":"a","why":"strike"}`},
	{"reject", `{"do":"reject","session":"s1","server":"a","why":"strike"}`},
	{"another record of the same server", `{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
{"do":"edit","file":"project","servers":{"a":{"command":"srv","args":["2"]}}}
{"do":"settle"}
{"do":"reject","session":"s1","server":"a","why":"strike"}`},
}

const afterwards = `
{"do":"settle"}
{"do":"approve","session":"s1","server":"c"}
{"do":"settle"}
{"do":"approve","session":"s1","server":"a"}
{"do":"settle"}
`

func strike(t *testing.T, name, text string, n int, lost bool) (*struck, *sim.Result) {
	t.Helper()
	tr, err := trace.Parse(name, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	st := host.NewFakeStage()
	s := &struck{InProcess: host.NewInProcess(st), st: st, n: n, lost: lost}
	return s, sim.Play(tr, st, s, sim.PlayOptions{})
}

// TestPowerCutAtEveryFileOperation: whichever file operation of a decision is the first that does not happen (APR-7), the
// file is the old one or the new one, what was reported as recorded is recorded, and the next decision finds nothing in
// its way. What was not synced is lost, or not.
func TestPowerCutAtEveryFileOperation(t *testing.T) {
	points := 0
	for _, b := range before {
		for _, a := range answers {
			text := fmt.Sprintf(crashHead, b.header) + b.steps + a.steps + afterwards
			whole, r := strike(t, b.name+", "+a.name, text, 0, false)
			if r.Failed() || len(whole.ops) < 8 || whole.found.state != fakefs.OK || whole.told["a"] == "" {
				t.Fatalf("%s, %s without a cut: %v %v, %d operations", b.name, a.name, r.Err, r.Violations, len(whole.ops))
			}
			old := oldFile(t, text)
			for n := 1; n <= len(whole.ops)+1; n++ {
				for _, lost := range []bool{true, false} {
					points++
					s, r := strike(t, b.name, text, n, lost)
					for _, bad := range judgeCut(s, r, old, whole.found) {
						at := "after all"
						if n <= len(whole.ops) {
							at = "before " + whole.ops[n-1]
						}
						t.Errorf("%s, %s, cut %d %s (lost %v): %s", b.name, a.name, n, at, lost, bad)
					}
				}
			}
		}
	}
	if points < 300 {
		t.Errorf("only %d points", points)
	}
	t.Logf("%d cuts", points)
}

// oldFile is the file as it is when the decision comes.
func oldFile(t *testing.T, text string) *disk {
	t.Helper()
	s, _ := strike(t, "old", text[:strings.LastIndex(text[:strings.Index(text, `"strike"`)], "\n")+1]+`{"do":"initialize","why":"strike"}`+"\n"+`{"do":"settle"}`, 0, false)
	return s.found
}

func judgeCut(s *struck, r *sim.Result, old, whole *disk) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, fmt.Sprintf(format, args...)) }
	if r.Err != nil || len(r.Violations) > 0 {
		say("%v %v", r.Err, r.Violations)
	}
	d := s.found
	if d == nil {
		say("nothing was looked at")
		return bad
	}
	isNew := d.state == whole.state && d.text == whole.text
	if isOld := d.state == old.state && d.text == old.text; !isNew && !isOld {
		say("the file is neither the old one nor the new one: %q", d.text)
	}
	if s.told["a"] != "" && !isNew {
		say("a decision that was reported as recorded is lost")
	}
	if isNew && d.perm != 0o600 {
		say("the file has mode %o", d.perm)
	}
	if d.link != old.link {
		say("a link before: %v, and after: %v", old.link, d.link)
	}
	if corrupt := old.state == fakefs.OK && trace.Denote([]byte(old.text)).State != model.Good; corrupt && isNew &&
		!slices.Contains(slices.Collect(maps.Values(d.names)), old.text) {
		say("the corrupt file is gone")
	}
	end := look(s.st.Files())
	for n := range end.names {
		if strings.Contains(n, "tmp") {
			say("%s stays behind", n)
		}
	}
	snap, err := s.Observe()
	if err != nil {
		say("%v", err)
	}
	got := map[string]bool{}
	for _, x := range snap.Host.Records {
		got[x.Server] = x.Approved
	}
	if _, ok := got["a"]; !ok || !got["c"] {
		say("the next decisions are not recorded: %v", got)
	}
	return bad
}

var cuts = flag.String("cuts", "few", "which faults of writing approvals are tried: few, all, or a name")

// TestPowerCutFindsEachFault: the same test on a host that does one thing wrong must fail.
func TestPowerCutFindsEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the host once per fault")
	}
	for _, m := range []struct{ name, file, old, new, want string }{
		{"file not synced", "file.go", "errors.Join(f.Sync(), f.Close())", "f.Close()", "neither the old one nor the new one"},
		{"directory not synced", "file.go", "return s.fs.SyncDir(dir) }, func(err error) { then(true, err) })", "return nil }, func(err error) { then(true, err) })", "is lost"},
		{"written over a link", "decide.go", "d.target, err = s.target()", "d.target = s.o.Path", "a link before"},
		{"corrupt file not synced", "file.go", "\t\t\tif err == nil {\n\t\t\t\terr = f.Sync()\n\t\t\t}\n", "", "the corrupt file is gone"},
		{"set aside without its directory", "file.go", "\t\t\treturn s.fs.SyncDir(filepath.Dir(path))\n", "\t\t\treturn nil\n", "the corrupt file is gone"},
		{"others may read", "file.go", "fileMode = 0o600", "fileMode = 0o644", "has mode 644"},
		{"a stray temporary is in the way", "file.go", "if err := s.fs.Remove(d.temp); err != nil && !errors.Is(err, iofs.ErrNotExist) {", "if err := error(nil); err != nil {", "the next decisions are not recorded"},
		{"removed before it is renamed", "file.go", "return s.fs.Rename(d.temp, d.target) }", "_ = s.fs.Remove(d.target); return s.fs.Rename(d.temp, d.target) }", "neither the old one nor the new one"},
	} {
		if *cuts != "all" && *cuts != m.name && (*cuts != "few" || m.name != "file not synced") {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			path, err := filepath.Abs("../impl/approval/" + m.file)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(string(text), m.old); n != 1 {
				t.Fatalf("%s holds %q %d times, want once", path, m.old, n)
			}
			dir := t.TempDir()
			to, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
			if err := os.WriteFile(to, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(map[string]any{"Replace": map[string]string{path: to}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(overlay, data, 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.Command("go", "test", "-overlay", overlay, "-short", "-run", "^TestPowerCutAtEveryFileOperation$", ".").CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), m.want) || strings.Contains(string(out), "[build failed]") {
				t.Errorf("not found, or not as %q: %v\n%.2000s", m.want, err, out)
			}
		})
	}
}
