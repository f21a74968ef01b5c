package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcpsim/impl"
	"mcpsim/sim/realserver"
)

// soakVariable asks for the long form: MCPSIM_SOAK=1 go test -run Soak -timeout 30m ./impl/live
const soakVariable = "MCPSIM_SOAK"

// Hard use: many stdio servers, edits in bursts by every way of saving, servers killed at random, the settings directory
// removed and made again, its permissions taken and given back, links retargeted (a full disk has a test of its own, because
// what it refuses is decisions). At the end what the files say is what runs, and after Close nothing is left:
// no process, no descriptor, no goroutine.
func TestSoak(t *testing.T) {
	size := soak{servers: 12, edits: 40, kills: 20, recreations: 3, swaps: 3}
	if os.Getenv(soakVariable) != "" {
		size = soak{servers: 200, edits: 500, kills: 300, recreations: 100, swaps: 100}
	} else if os.Getenv(soakVariable+"_SHORT") == "" { // its bounds are of a machine that does nothing else
		t.Skip("set " + soakVariable + "=1 (or " + soakVariable + "_SHORT=1) for a soak")
	}
	for _, pool := range []bool{false, true} {
		t.Run(fmt.Sprintf("pool %v", pool), func(t *testing.T) {
			files, heap := descriptors(t), heapInUse()
			size.run(t, pool)
			if grown := int64(heapInUse()) - int64(heap); grown > 32<<20 {
				t.Errorf("the heap grew by %d MB", grown>>20)
			}
			if n := descriptors(t); n > files+3 { // the test's own cleanup is still to come
				t.Errorf("%d descriptors, %d before", n, files)
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

type soak struct{ servers, edits, kills, recreations, swaps int }

func descriptors(t *testing.T) int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(d)
}

func (k soak) run(t *testing.T, pool bool) {
	p := newPlace(t, func(o *Options) { o.Pool = pool })
	s2 := p.open("s2")
	for i := range k.servers {
		p.serve(fmt.Sprintf("srv-%d", i), realserver.Behaviour{Tools: []string{"x"}, Grandchild: i%10 == 0, IgnoreTerm: i%20 == 19})
	}
	r := rand.New(rand.NewPCG(1, 2))
	var half uint64 // what the heap holds after half of the edits
	dir := filepath.Join(p.home, ".qwen")
	file := filepath.Join(dir, "settings.json")
	for i := range k.edits {
		k.save(t, file, k.document(r), r)
		if r.IntN(10) == 0 || i%10 == 9 { // the end of a burst
			must(t, p.h.Core(patient(t), func(*impl.Host) {}))
			must(t, p.h.Settled(patient(t)))
		}
		if i%20 == 10 { // nobody may read it for a while; the superuser may, and then it is one edit more
			must(t, os.Chmod(file, 0))
			must(t, p.h.Core(patient(t), func(*impl.Host) {}))
			must(t, os.Chmod(file, 0o644))
		}
		if i == k.edits/2 {
			p.Forget() // what the servers reported is the test's, not the host's
			half = heapInUse()
		}
		if i*k.kills/k.edits != (i+1)*k.kills/k.edits {
			if pids := p.Pids(""); len(pids) > 0 {
				_ = syscall.Kill(pids[r.IntN(len(pids))], syscall.SIGKILL)
			}
		}
	}
	for range k.recreations {
		must(t, os.RemoveAll(dir))
		must(t, os.MkdirAll(dir, 0o755))
		k.save(t, file, k.document(r), r)
	}
	must(t, os.Remove(file))
	must(t, os.Symlink(filepath.Join("..data", "settings.json"), file))
	for i := range k.swaps {
		version := filepath.Join(dir, "..v"+strconv.Itoa(i))
		must(t, os.Mkdir(version, 0o755))
		k.save(t, filepath.Join(version, "settings.json"), k.document(r), r)
		must(t, os.Symlink(version, filepath.Join(dir, "..tmp")))
		must(t, os.Rename(filepath.Join(dir, "..tmp"), filepath.Join(dir, "..data")))
		if i > 0 {
			must(t, os.RemoveAll(filepath.Join(dir, "..v"+strconv.Itoa(i-1))))
		}
	}

	last := k.document(r)
	k.save(t, filepath.Join(dir, "..data", "settings.json"), last, r)
	var want []string
	helpers := 0
	for i := range k.servers {
		if name := fmt.Sprintf("s%03d", i); last[name] != nil {
			want = append(want, name+" live x")
			if i%10 == 0 {
				helpers++
			}
		}
	}
	good := func(core *impl.Host, s *Session) bool {
		var got []string
		for _, sv := range core.Status(s.id).Servers {
			if sv.State != "removed" {
				got = append(got, sv.Name+" "+sv.State+" "+strings.Join(sv.Tools, "+"))
			}
		}
		return strings.Join(got, ", ") == strings.Join(want, ", ")
	}
	must(t, p.s.Reload(patient(t))) // what was killed is tried again
	must(t, s2.Reload(patient(t)))
	if err := p.h.until(patient(t), func(core *impl.Host) bool { return core.Settled() && good(core, p.s) && good(core, s2) }); err != nil {
		var got string
		_ = p.h.Core(patient(t), func(core *impl.Host) { got = show(core, p.s.id) + "\n" + show(core, s2.id) + fmt.Sprint(core.Busy()) })
		t.Fatalf("%v; shows\n%s\nwant %v", err, got, want)
	}
	alive := len(want) + helpers
	if !pool {
		alive *= 2
	}
	p.await("exactly the servers", func() bool { return p.Alive("") == alive })
	p.Forget()
	if end := heapInUse(); end > 2*half && end > half+(16<<20) {
		t.Errorf("the heap held %d MB after half of the edits and %d at the end", half>>20, end>>20)
	}
	must(t, p.h.Close(patient(t)))
	p.await("nobody", func() bool { return p.Alive("") == 0 })
	p.Forget()
}

// document is a random choice of servers, some with an argument that changes what they are.
func (k soak) document(r *rand.Rand) map[string]any {
	m := map[string]any{}
	for i := range k.servers {
		switch r.IntN(4) {
		case 0:
		case 1:
			m[fmt.Sprintf("s%03d", i)] = map[string]any{"command": fmt.Sprintf("srv-%d", i), "args": []string{strconv.Itoa(r.IntN(3))}}
		default:
			m[fmt.Sprintf("s%03d", i)] = map[string]any{"command": fmt.Sprintf("srv-%d", i)}
		}
	}
	return m
}

// save writes a document by one of the ways editors have.
func (k soak) save(t *testing.T, file string, servers map[string]any, r *rand.Rand) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	must(t, err)
	switch r.IntN(4) {
	case 0: // truncate and write, in pieces
		f, err := os.Create(file)
		must(t, err)
		for len(text) > 0 {
			n := min(len(text), 200)
			_, err = f.Write(text[:n])
			must(t, err)
			text = text[n:]
		}
		must(t, f.Close())
	case 1: // the old one becomes a backup
		if err := os.Rename(file, file+"~"); err == nil {
			defer func() { _ = os.Remove(file + "~") }()
		}
		must(t, os.WriteFile(file, text, 0o644))
	case 2: // remove and make again
		_ = os.Remove(file)
		must(t, os.WriteFile(file, text, 0o644))
	default:
		must(t, os.WriteFile(file+".tmp", text, 0o644))
		must(t, os.Rename(file+".tmp", file))
	}
}

// A disk that is full refuses a decision and loses none.
func TestFullDiskRefusesADecision(t *testing.T) {
	p := newPlace(t, nil)
	dir := filepath.Join(p.home, ".qwen")
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("no right to mount: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	must(t, p.s.Reload(patient(t)))
	p.project(servers("a", "no-such-command", "b", "no-such-command"))
	p.shows(p.s, "a held:pending_approval, b held:pending_approval")
	must(t, p.s.Reject(patient(t), p.asked("a")))
	fill := filepath.Join(dir, "fill")
	f, err := os.Create(fill)
	must(t, err)
	for _, err = f.Write(make([]byte, 4096)); err == nil; _, err = f.Write(make([]byte, 4096)) {
	}
	must(t, f.Close())
	var refused *RefusedError
	if err := p.s.Reject(patient(t), p.asked("b")); err == nil || !errors.As(err, &refused) || refused.Why != "write" {
		t.Errorf("on a full disk: %v", err)
	}
	p.shows(p.s, "a held:rejected, b held:pending_approval")
	must(t, os.Remove(fill))
	must(t, p.s.Reject(patient(t), p.asked("b")))
	p.shows(p.s, "a held:rejected, b held:rejected")
}
