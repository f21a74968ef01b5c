package fakemcp

import (
	"fmt"
	"reflect"
	"testing"

	"mcpsim/impl/port"
	"mcpsim/model"
)

// ends plays the end of a live process: what is done to it and when, and how many of its group are alive after each change.
func TestHowProcessesEnd(t *testing.T) {
	end := func(ms model.Ms) [model.NumSteps]model.Delay { return one(model.StepEnd, ms, 0) }
	polite := []string{"0 close", "500 term", "2500 kill"}
	for _, c := range []struct {
		name string
		b    model.Behaviour
		do   []string
		want string
	}{
		{"at once", model.Behaviour{}, polite, "1, 0:0 exit gone"},
		{"within its delay", model.Behaviour{Delays: end(400)}, polite, "1, 400:0 exit gone"},
		{"at the termination", model.Behaviour{Delays: end(10000)}, polite, "1, 500:0 exit gone"},
		{"terminated only", model.Behaviour{Delays: end(10)}, []string{"5 term"}, "1, 5:0 exit gone"},
		{"killed", model.Behaviour{IgnoreTerm: true}, polite, "1, 2500:0 exit gone"},
		{"ignores, then ends", model.Behaviour{IgnoreTerm: true, Delays: end(900)}, polite, "1, 900:0 exit gone"},
		{"ignores, killed before it ends", model.Behaviour{IgnoreTerm: true, Delays: end(9000)}, polite, "1, 2500:0 exit gone"},
		{"killed at once", model.Behaviour{IgnoreTerm: true, Delays: end(9000)}, []string{"3 kill"}, "1, 3:0 exit gone"},
		{"unkillable", model.Behaviour{Unkillable: true}, polite, "1"},
		{"unkillable, ends", model.Behaviour{Unkillable: true, Delays: end(20000)}, polite, "1, 20000:0 exit gone"},
		{"unkillable, only killed", model.Behaviour{Unkillable: true, Delays: end(100)}, []string{"3 kill", "50 kill"}, "1, 103:0 exit gone"},
		{"unkillable, crashes", model.Behaviour{Unkillable: true}, []string{"0 close", "2 crash"}, "1, 2:0 exit gone"},
		{"helper terminated", model.Behaviour{Grandchild: true}, polite, "2, 0:1 exit, 500:0 exit gone"},
		{"helper killed", model.Behaviour{Grandchild: true, IgnoreTerm: true}, polite, "2, 2500:0 exit gone"},
		{"helper outlives, killed", model.Behaviour{Grandchild: true, IgnoreTerm: true, Delays: end(100)}, polite, "2, 100:1 exit, 2500:0 exit gone"},
		{"helper of a crash", model.Behaviour{Grandchild: true}, []string{"7 crash", "9 kill"}, "2, 7:1 exit, 9:0 exit gone"},
		{"helper of an unkillable", model.Behaviour{Grandchild: true, Unkillable: true}, polite, "2, 500:1"},
		{"hangs at the end", model.Behaviour{Fault: model.Hang, FaultAt: model.StepEnd}, polite, "1, 500:0 exit gone"},
		{"twice", model.Behaviour{}, []string{"0 close", "0 close", "1 crash", "1 kill", "2 term"}, "1, 0:0 exit gone"},
	} {
		b := newBench(t, 0, map[string]*model.Behaviour{"srv": &c.b})
		d := b.dial(stdio("a", "srv"))
		b.run(0)
		if !d.done {
			t.Fatalf("%s: %q", c.name, d.failed)
		}
		state := func() string {
			n := 0
			for _, p := range b.w.Processes() {
				n += p.N
			}
			s := fmt.Sprint(n)
			if d.exit != "" {
				s += " exit"
			}
			if d.gone {
				s += " gone"
			}
			return s
		}
		got := state()
		last := got
		note := func() {
			if s := state(); s != last {
				got, last = got+fmt.Sprint(", ", b.q.Now(), ":", s), s
			}
		}
		for _, do := range c.do {
			var at port.Ms
			var what string
			fmt.Sscan(do, &at, &what)
			for b.q.Len() > 0 {
				if next, _ := b.q.Next(); next >= at && next > b.q.Now() {
					break
				}
				_ = b.q.Step()
				b.run(0)
				note()
			}
			b.run(at - b.q.Now())
			note()
			map[string]func(){"close": d.conn.CloseInput, "term": d.conn.Terminate, "kill": d.conn.Kill, "crash": func() { b.w.Crash("srv") }}[what]()
			b.run(0)
			note()
		}
		for b.q.Len() > 0 {
			_ = b.q.Step()
			b.run(0)
			note()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRemoteStreamsEnd(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"srv": {Delays: one(model.StepEnd, 30, 0)}})
	dialIt := func() *dialled {
		d := b.dial(remote("u", ResolveURL("srv")))
		b.run(0)
		if !d.done || d.conn.Process() {
			t.Fatal(d.failed)
		}
		return d
	}
	d := dialIt()
	d.conn.CloseInput()
	d.conn.Terminate()
	d.conn.Kill()
	b.run(100)
	if d.exit != "" || b.w.Processes() != nil {
		t.Error("a stream took a signal")
	}
	closed := port.Ms(0)
	b.w.Go(port.Op{Kind: port.OpEnd, Conn: d.op.Conn}, d.client.Close, func(error) { closed = b.q.Now() })
	b.run(29)
	if closed != 0 || d.exit != "" || b.w.InFlight() != 1 {
		t.Error("closed too early")
	}
	b.run(1)
	if closed != 130 || d.exit != "at 130 " || d.gone {
		t.Errorf("closed at %d, %q", closed, d.exit)
	}
	d = dialIt()
	b.w.Crash("srv")
	b.run(0)
	if d.exit != "at 130 closed" || d.gone {
		t.Errorf("%q", d.exit)
	}
	d = dialIt()
	stop := b.w.Go(port.Op{Kind: port.OpEnd, Conn: d.op.Conn}, d.client.Close, func(err error) { closed = -1 })
	b.run(10)
	stop()
	b.run(0)
	if closed != -1 || d.exit != "" || b.w.conns[d.op.Conn].up {
		t.Error("a stream that was given up is open, or is heard of")
	}
}

func TestHostDies(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"polite": {Delays: one(model.StepEnd, 5, 0)}, "stubborn": {IgnoreTerm: true, Grandchild: true},
		"slow": {Delays: one(model.StepInit, 50, model.HoldAnswer)}})
	var ds []*dialled
	for _, line := range []string{"polite", "stubborn", "slow"} {
		ds = append(ds, b.dial(stdio("a", line)))
	}
	b.run(10)
	ran := false
	b.w.Go(port.Op{Kind: port.OpRead}, nil, func(error) { ran = true })
	b.w.HostDied()
	b.q.Abandon()
	if b.w.Processes() != nil || b.w.Orphans() != 3 || b.w.InFlight() != 0 || len(b.w.Jobs()) != 0 {
		t.Errorf("%v, %d orphans, %d jobs", b.w.Processes(), b.w.Orphans(), b.w.InFlight())
	}
	b.next = 0 // a new host counts from 1
	d := b.dial(stdio("a", "polite"))
	b.run(100)
	if !d.done || d.op.Conn != 1 || b.w.Orphans() != 2 || ran {
		t.Errorf("%v %d orphans", d.failed, b.w.Orphans())
	}
	for _, d := range ds {
		if d.exit != "" || d.gone || d.at == port.OpListTools && d.op.Conn == 3 {
			t.Error("the dead host heard something")
		}
	}
	b.w.Crash("stubborn")
	b.w.HostDied()
	b.run(5)
	if b.w.Orphans() != 1 { // its helper
		t.Errorf("%d orphans", b.w.Orphans())
	}
	if want := []model.Count{{Server: "a", N: 4}}; !reflect.DeepEqual(b.w.Dials(), want) {
		t.Errorf("%v", b.w.Dials())
	}
}
