package fakeclock

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"mcpsim/impl/port"
)

var _ port.Clock = (*Queue)(nil)

func TestEverythingDueHappensInOrder(t *testing.T) {
	q := New(0)
	var got []string
	say := func(s string) func() { return func() { got = append(got, fmt.Sprint(q.Now(), s)) } }
	q.AfterFunc(port.TimerDebounce, 300, say("c"))
	q.AfterFunc(port.TimerPoll, 100, say("a"))
	q.At(300, 0, Func(say("d")))
	q.AfterFunc(port.TimerRetry, 100, func() {
		say("b")()
		q.Post(say("posted"))
		q.AfterFunc(port.TimerRetry, -5, say("at once"))
		q.At(50, 0, Func(say("past"))) // has passed: now
	})
	q.AfterFunc(port.TimerRetry, 301, say("later"))
	if err := q.RunUntil(300); err != nil {
		t.Fatal(err)
	}
	want := []string{"100a", "100b", "100posted", "100at once", "100past", "300c", "300d"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if at, ok := q.Next(); q.Now() != 300 || at != 301 || !ok || q.Idle() != true || q.Len() != 1 || q.Ran() != 7 {
		t.Errorf("now %d, next %d, %v, ran %d", q.Now(), at, ok, q.Ran())
	}
}

func TestWhatIsStoppedNeverRuns(t *testing.T) {
	q := New(7)
	ran := 0
	stop := q.AfterFunc(port.TimerKill, 5, func() { ran++ })
	var other func()
	q.AfterFunc(port.TimerKill, 5, func() { other() })
	other = q.AfterFunc(port.TimerKill, 5, func() { ran += 10 })
	if q.Timers(port.TimerKill) != 3 {
		t.Errorf("%d timers", q.Timers(port.TimerKill))
	}
	stop()
	stop()
	_ = q.RunUntil(4)
	stop() // its memory may be in use again
	_ = q.RunUntil(5)
	if ran != 0 && ran != 10 || q.Timers(port.TimerKill) != 0 {
		t.Errorf("ran %d, %d timers", ran, q.Timers(port.TimerKill))
	}
	h := q.At(9, 0, Func(func() { ran = -1 }))
	stop()
	other()
	if !q.Pending(h) || !q.Cancel(h) || q.Cancel(h) || q.Pending(Handle{}) || q.Cancel(Handle{}) {
		t.Error("a stale stop took what is another's, or a handle lies")
	}
}

func TestTiesAreDrawnByOrder(t *testing.T) {
	play := func(order uint64) (got string) {
		q := New(order)
		for _, s := range []string{"a", "b", "c", "d"} {
			for i := range 2 {
				q.At(10, q.Tie(Job(port.OpStart), s, 1), Func(func() { got += fmt.Sprint(s, i) }))
			}
		}
		_ = q.RunUntil(10)
		return got
	}
	if got := play(0); got != "a0a1b0b1c0c1d0d1" {
		t.Errorf("order 0 is not first in, first out: %s", got)
	}
	seen := map[string]bool{}
	for order := range uint64(50) {
		got := play(order)
		if got != play(order) {
			t.Fatalf("order %d gives two orders", order)
		}
		for _, s := range []string{"a", "b", "c", "d"} { // one tie keeps its order
			if !slices.Contains([]string{got[0:4], got[4:8], got[8:12], got[12:16]}, s+"0"+s+"1") {
				t.Fatalf("order %d: %s", order, got)
			}
		}
		seen[got] = true
	}
	if len(seen) < 15 {
		t.Errorf("50 orders gave %d different ones", len(seen))
	}
	q := New(3)
	if q.Tie(Timer(port.TimerKill), "", 0) == q.Tie(Timer(port.TimerPoll), "", 0) || q.Tie(Exit, "a", 1) == q.Tie(Exit, "a", 2) {
		t.Error("kind and connection do not count")
	}
}

func TestAgainstANaiveQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		q := New(uint64(round % 3))
		type naive struct {
			at   port.Ms
			tie  uint64
			seq  int
			id   int
			h    Handle
			dead bool
		}
		var all []*naive
		var got, want []int
		for i := range 60 {
			switch {
			case i%7 == 6 && len(all) > 0:
				x := all[r.IntN(len(all))]
				if q.Cancel(x.h) == x.dead {
					t.Fatal("cancel disagrees")
				}
				x.dead = true
			default:
				x := &naive{at: port.Ms(r.IntN(20)), tie: q.Tie(Exit, fmt.Sprint(r.IntN(3)), 0), seq: i, id: i}
				x.h = q.At(x.at, x.tie, Func(func() { got = append(got, x.id) }))
				all = append(all, x)
			}
		}
		slices.SortFunc(all, func(a, b *naive) int {
			ea, eb := entry{a.at, a.tie, uint64(a.seq), nil}, entry{b.at, b.tie, uint64(b.seq), nil}
			if ea.before(&eb) {
				return -1
			}
			return 1
		})
		for _, x := range all {
			if !x.dead {
				want = append(want, x.id)
			}
		}
		_ = q.RunUntil(20)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d: got %v, want %v", round, got, want)
		}
	}
}

func TestAbandonForgetsTheHostOnly(t *testing.T) {
	q := New(5)
	var got []port.Ms
	note := func() { got = append(got, q.Now()) }
	for i := range port.Ms(20) {
		q.AfterFunc(port.TimerPoll, i, func() { t.Error("the host is dead") })
		q.At(19-i, q.Tie(Exit, "a", int(i)), Func(note))
	}
	q.Post(func() { t.Error("the host is dead") })
	if at, ok := q.Timer(port.TimerPoll); at != 0 || !ok {
		t.Errorf("the first poll is due at %d, %v", at, ok)
	}
	q.Abandon()
	if q.Timers(port.TimerPoll) != 0 || q.Len() != 20 {
		t.Errorf("%d timers, %d events", q.Timers(port.TimerPoll), q.Len())
	}
	if _, ok := q.Timer(port.TimerPoll); ok {
		t.Error("a poll is left")
	}
	_ = q.RunUntil(100)
	if len(got) != 20 || !slices.IsSorted(got) {
		t.Errorf("got %v", got)
	}
}

func TestLivelockIsAnError(t *testing.T) {
	q := New(0)
	var again func()
	again = func() { q.Post(again) }
	again()
	var err *LivelockError
	if !errors.As(q.RunUntil(1), &err) || err.At != 0 {
		t.Errorf("got %v", err)
	}
	q.Reset(0)
	if q.Len() != 0 || q.RunUntil(1) != nil {
		t.Error("Reset leaves something")
	}
}

func BenchmarkTimer(b *testing.B) { // one timer set and run per op, among 100 pending ones
	q := New(1)
	for i := range port.Ms(100) {
		q.AfterFunc(port.TimerPoll, 1<<50+i, func() {})
	}
	f := func() {}
	b.ReportAllocs()
	for b.Loop() {
		q.AfterFunc(port.TimerDebounce, 3, f)
		_ = q.Step()
	}
}

func BenchmarkStop(b *testing.B) {
	q := New(1)
	f := func() {}
	for i := range port.Ms(100) {
		q.AfterFunc(port.TimerPoll, i, f)
	}
	b.ReportAllocs()
	for b.Loop() {
		q.AfterFunc(port.TimerCall, 600000, f)()
	}
}

func BenchmarkEvent(b *testing.B) {
	q := New(1)
	tie := q.Tie(Exit, "a", 1)
	var r Runner = Func(func() {})
	for i := range port.Ms(100) {
		q.At(1<<50+i, 0, r)
	}
	b.ReportAllocs()
	for b.Loop() {
		q.At(q.now+1, tie, r)
		_ = q.Step()
	}
}
