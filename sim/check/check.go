// Package check is the engine behind mcpsim and the properties: it draws traces, plays them on the host in the simulated world, lets
// the model judge, shrinks what fails and reports. Its output depends on the seed and the number of traces,
// not on the number of workers or the speed of the machine.
package check

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/gen"
	"mcpsim/sim/host"
	"mcpsim/sim/shrink"
	"mcpsim/sim/trace"
)

// Options of a run.
type Options struct {
	N        int    // traces; 0: DefaultN
	Seed     uint64 // trace i is drawn from a mix of Seed and i
	Profile  gen.Profile
	For      time.Duration // stop after this long instead of after N
	Workers  int           // 0: one per core
	Dir      string        // where failing traces are written; "" keeps them in memory only
	OneMode  bool          // do not play each trace in the other mode as well (INV-20)
	StopAt   int           // stop after so many different failures; 0: DefaultStopAt
	NoShrink bool
	Progress func(Progress) // called about once a second and at the end
}

// Defaults of a run.
const (
	DefaultN      = 5000
	DefaultStopAt = 5
)

// Progress is what a run has done so far.
type Progress struct {
	Traces, Events, Failures int
	Elapsed                  time.Duration
	Goals                    int
}

// Failure is one kind of failure, by signature; Count says how many traces had it.
type Failure struct {
	Signature  string
	Violation  model.Violation
	Index      int // of the first trace that had it
	Count      int
	Original   *trace.Trace
	Shrunk     *trace.Trace
	File       string
	Stats      shrink.Stats
	ShrinkTime time.Duration
}

// Report is what a run came to.
type Report struct {
	Options                             Options
	Traces, Plays, Events, Loads, Dials int
	Elapsed                             time.Duration
	Failures                            []*Failure
	Goals                               map[string]int
	Checks                              map[string]int
	Skipped                             map[string]int
	Errors                              []error
}

// Clean reports whether nothing was found.
func (r *Report) Clean() bool { return len(r.Failures) == 0 && len(r.Errors) == 0 }

// Mix gives the seed of trace i of a run (splitmix64).
func Mix(seed uint64, i int) uint64 {
	z := seed + uint64(i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// one is what playing one trace came to.
type one struct {
	i     int
	tr    *trace.Trace
	r     *sim.Result
	plays int
	cross []model.Violation
}

// Run draws, plays and judges. The error is about the invocation, not about findings.
func Run(o Options) (*Report, error) {
	if o.N == 0 {
		o.N = DefaultN
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.StopAt == 0 {
		o.StopAt = DefaultStopAt
	}
	start := time.Now()
	rep := &Report{Options: o, Goals: map[string]int{}, Checks: map[string]int{}, Skipped: map[string]int{}}
	next, stop := make(chan int), make(chan struct{})
	results := make(chan *one, 4*o.Workers)
	var wg sync.WaitGroup
	for w := 0; w < o.Workers; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p := NewPlayer()
			for i := range next {
				results <- p.drawAndPlay(o, i)
			}
		}()
	}
	go func() {
		defer close(next)
		for i := 0; o.For > 0 || i < o.N; i++ {
			if o.For > 0 && time.Since(start) > o.For {
				return
			}
			select {
			case next <- i:
			case <-stop:
				return
			}
		}
	}()
	go func() { wg.Wait(); close(results) }()
	rep.collect(o, results, stop, start)
	rep.Elapsed = time.Since(start)
	if !o.NoShrink {
		for _, f := range rep.Failures {
			shrinkFailure(f)
		}
	}
	if o.Dir != "" {
		for _, f := range rep.Failures {
			if err := f.write(o.Dir); err != nil {
				return rep, err
			}
		}
	}
	return rep, nil
}

// collect takes results in the order of their index, so that the report does not depend on which worker was faster.
func (rep *Report) collect(o Options, results <-chan *one, stop chan struct{}, start time.Time) {
	waiting := map[int]*one{}
	want, stopped := 0, false
	last := start
	bySig := map[string]*Failure{}
	for res := range results {
		waiting[res.i] = res
		for waiting[want] != nil {
			r := waiting[want]
			delete(waiting, want)
			want++
			if stopped {
				continue
			}
			rep.add(r, bySig)
			if len(rep.Failures) >= o.StopAt || len(rep.Errors) >= o.StopAt {
				stopped = true
				close(stop)
			}
		}
		if o.Progress != nil && time.Since(last) > time.Second {
			last = time.Now()
			o.Progress(rep.progress(start))
		}
	}
	if o.Progress != nil {
		o.Progress(rep.progress(start))
	}
}

func (rep *Report) progress(start time.Time) Progress {
	return Progress{Traces: rep.Traces, Events: rep.Events, Failures: len(rep.Failures), Elapsed: time.Since(start), Goals: len(rep.Goals)}
}

func (rep *Report) add(r *one, bySig map[string]*Failure) {
	rep.Traces++
	rep.Plays += r.plays
	rep.Events += r.r.Events
	rep.Loads += r.r.Loads
	rep.Dials += r.r.Dials
	for k, n := range r.r.Goals {
		rep.Goals[k] += n
	}
	for k, n := range r.r.Checks {
		rep.Checks[k] += n
	}
	for k, n := range r.r.Skipped {
		rep.Skipped[k] += n
	}
	if r.r.Err != nil {
		rep.Errors = append(rep.Errors, fmt.Errorf("trace %d: %w", r.i, r.r.Err))
		return
	}
	v := r.r.Violations
	if len(v) == 0 {
		v = r.cross
	}
	if len(v) == 0 {
		return
	}
	sig := Signature(r.tr, v[0])
	if f := bySig[sig]; f != nil {
		f.Count++
		return
	}
	f := &Failure{Signature: sig, Violation: v[0], Index: r.i, Count: 1, Original: r.tr}
	bySig[sig] = f
	rep.Failures = append(rep.Failures, f)
}

// Player plays traces one after another on its own stage and host.
type Player struct {
	Stage *host.FakeStage
	Host  *host.InProcess
}

// NewPlayer returns a player with a simulated world of its own.
func NewPlayer() *Player {
	st := host.NewFakeStage()
	return &Player{Stage: st, Host: host.NewInProcess(st)}
}

// Play plays one trace. A panic of the host is a finding, not a crash of the run.
func (p *Player) Play(tr *trace.Trace, opt sim.PlayOptions) (r *sim.Result) {
	defer func() {
		if e := recover(); e != nil {
			buf := make([]byte, 8192)
			buf = buf[:runtime.Stack(buf, false)]
			r = &sim.Result{Violations: []model.Violation{{Invariant: "PANIC", Sentence: "the host does not crash", Detail: fmt.Sprintf("%v\n%s", e, buf)}}, Step: len(tr.Steps),
				Goals: map[string]int{}, Checks: map[string]int{}, Skipped: map[string]int{}}
			*p = *NewPlayer()
		}
	}()
	return sim.Play(tr, p.Stage, p.Host, opt)
}

func (p *Player) drawAndPlay(o Options, i int) *one {
	tr := gen.Draw(Mix(o.Seed, i), o.Profile)
	r := &one{i: i, tr: tr, plays: 1}
	r.r = p.Play(tr, sim.PlayOptions{})
	if r.r.Failed() || o.OneMode {
		return r
	}
	r.plays++
	other := p.Play(OtherMode(tr), sim.PlayOptions{})
	if len(other.Violations) > 0 {
		r.tr = OtherMode(tr)
		r.r.Violations = other.Violations
		return r
	}
	r.cross = CrossMode(tr, r.r, other)
	for k, n := range other.Goals {
		r.r.Goals[k] += n
	}
	r.r.Checks["INV-20"]++
	return r
}

// OtherMode is the same trace in the other mode.
func OtherMode(tr *trace.Trace) *trace.Trace {
	out := *tr
	if tr.Header.Launch.Mode == "pool" {
		out.Header.Launch.Mode = "single"
	} else {
		out.Header.Launch.Mode = "pool"
	}
	return &out
}

// Signature is stable under shrinking: the invariant and the role of the server and what was seen, without names and numbers.
func Signature(tr *trace.Trace, v model.Violation) string {
	if v.Invariant == "PANIC" {
		d, _, _ := strings.Cut(v.Detail, "\n")
		return "PANIC " + neutral(d, v)
	}
	return v.Invariant + " " + neutral(v.Detail, v)
}

// neutral takes numbers, lists and the server's and session's names out of a sentence.
func neutral(s string, v model.Violation) string {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '[' || c == '{':
			depth++
		case (c == ']' || c == '}') && depth > 0:
			depth--
		case depth > 0:
		case c >= '0' && c <= '9':
			if b.Len() > 0 && b.String()[b.Len()-1] == '#' {
				continue
			}
			b.WriteByte('#')
		default:
			b.WriteByte(c)
		}
	}
	out := b.String()
	if i := strings.IndexByte(out, '"'); i >= 0 {
		out = out[:i]
	}
	return out
}

// Fails returns the predicate the shrinker needs: the same signature, in the mode of the trace (or across modes).
func Fails(sig string) func(*trace.Trace) bool {
	p := NewPlayer()
	return func(tr *trace.Trace) bool {
		return has(p, tr, sig)
	}
}

func has(p *Player, tr *trace.Trace, sig string) bool {
	r := p.Play(tr, sim.PlayOptions{})
	for _, v := range r.Violations {
		if Signature(tr, v) == sig {
			return true
		}
	}
	if !strings.HasPrefix(sig, "INV-20") || r.Failed() {
		return false
	}
	for _, v := range CrossMode(tr, r, p.Play(OtherMode(tr), sim.PlayOptions{})) {
		if Signature(tr, v) == sig {
			return true
		}
	}
	return false
}

func shrinkFailure(f *Failure) {
	start := time.Now()
	fails := Fails(f.Signature)
	f.Shrunk, f.Stats = shrink.Shrink(f.Original, fails, shrink.DefaultLimit)
	f.ShrinkTime = time.Since(start)
	p := NewPlayer()
	r := p.Play(f.Shrunk, sim.PlayOptions{})
	for _, v := range append(r.Violations, crossIf(p, f, r)...) {
		if Signature(f.Shrunk, v) == f.Signature {
			f.Violation = v
			break
		}
	}
	f.Shrunk.Header.Title = f.Violation.Invariant + " " + f.Violation.Sentence
	f.Shrunk.Header.Rules = f.Violation.Rules
}

func crossIf(p *Player, f *Failure, r *sim.Result) []model.Violation {
	if !strings.HasPrefix(f.Signature, "INV-20") {
		return nil
	}
	return CrossMode(f.Shrunk, r, p.Play(OtherMode(f.Shrunk), sim.PlayOptions{}))
}

// write puts the failing trace into a file whose name depends on its content only.
func (f *Failure) write(dir string) error {
	tr := f.Shrunk
	if tr == nil {
		tr = f.Original
	}
	text := trace.Print(tr)
	name := fmt.Sprintf("%s-%08x.ndjson", strings.ToLower(f.Violation.Invariant), uint32(hash(f.Signature)))
	f.File = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot write the failing trace: %w", err)
	}
	if err := os.WriteFile(f.File, text, 0o644); err != nil {
		return fmt.Errorf("cannot write the failing trace: %w", err)
	}
	return nil
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(s); i++ {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Sometimes are the states that a run of the usual size must reach, or its silence means nothing.
var Sometimes = []string{"a superseded dial", "a dial given up", "a retry", "a stale answer refused", "mixed save",
	"a source moved in", "an overflow", "a revocation from elsewhere", "a process that will not end",
	"a retired connection spoke", "a pass during a debounce", "re-acquired within the drain", "last waiter left",
	"two fingerprints alive", "evicted with two holders", "session closed during its acquisition"}

// Missed lists the states of Sometimes that a run did not reach, though it was of the usual size and of the profile that draws
// everything; of other runs nothing is demanded.
func (r *Report) Missed() []string {
	var out []string
	if r.Options.Profile.Name != "default" || r.Traces < DefaultN {
		return nil
	}
	for _, g := range Sometimes {
		if r.Goals[g] == 0 {
			out = append(out, g)
		}
	}
	return out
}

// SortedGoals lists the goals reached, by name.
func (r *Report) SortedGoals() []string {
	var out []string
	for g := range r.Goals {
		out = append(out, g)
	}
	sort.Strings(out)
	return out
}
