package fakemcp

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"mcpsim/impl/config"
	hostmcp "mcpsim/impl/mcp"
	"mcpsim/impl/port"
	"mcpsim/model"
)

func TestHeldAnswersArriveWhateverHappens(t *testing.T) {
	for _, hold := range []model.Hold{model.HoldRequest, model.HoldAnswer} {
		for _, what := range []string{"cancel", "kill", "crash", "change"} {
			b := newBench(t, 0, map[string]*model.Behaviour{"srv": {Tools: []string{"old"}, Delays: one(model.StepTools, 100, hold)}})
			d := b.dial(stdio("a", "srv"))
			b.run(40)
			switch what {
			case "cancel":
				d.job()
				d.job()
			case "kill":
				d.conn.Kill()
			case "crash":
				b.w.Crash("srv")
			case "change":
				b.w.Set("srv", &model.Behaviour{Tools: []string{"new"}})
			}
			if what == "cancel" && b.w.InFlight() != 0 || what == "change" && b.w.InFlight() != 1 || len(b.w.Jobs()) != 1 ||
				b.w.Jobs()[0].InPipe != (hold == model.HoldAnswer) {
				t.Errorf("%v %s: %d in flight, %v", hold, what, b.w.InFlight(), b.w.Jobs())
			}
			b.run(1000)
			got := fmt.Sprint(d.failed, d.lists[0])
			want := map[string]string{"cancel": "canceled at 40[]", "kill": "exit in 3 at 40[]", "crash": "exit in 3 at 40[]", "change": "[new]"}[what]
			if hold == model.HoldAnswer {
				want = map[string]string{"cancel": "[old]", "kill": "exit in 4 at 100[old]", "crash": "exit in 4 at 100[old]", "change": "[old]"}[what]
			}
			if got != want {
				t.Errorf("%v %s: %s, want %s", hold, what, got, want)
			}
			if len(b.w.jobs) != 0 {
				t.Errorf("%v %s: jobs are left", hold, what)
			}
		}
	}
}

func TestDoneOnceAndNeverInline(t *testing.T) {
	b := newBench(t, 9, map[string]*model.Behaviour{"srv": {Fault: model.Hang, FaultAt: model.StepTools}})
	done := 0
	cancel := b.w.Go(port.Op{Kind: port.OpRead}, func(context.Context) error { return nil }, func(error) { done++ })
	if cancel(); done != 0 {
		t.Error("done inside the call")
	}
	cancel()
	b.run(0)
	cancel()
	b.run(0)
	if done != 1 {
		t.Errorf("done %d times", done)
	}
	d := b.dial(stdio("a", "srv"))
	b.run(1000)
	if d.failed != "" || b.w.Pending(port.OpListTools) != 1 || fmt.Sprint(b.w.Busy()) != "[tools of a, connection 1]" {
		t.Error("it does not hang")
	}
	b.w.Crash("srv")
	b.run(0)
	if d.failed != "exit in 3 at 1000" || b.w.InFlight() != 0 {
		t.Errorf("%q", d.failed)
	}
	b.w.JobDelay = func(op port.Op) port.Ms { return port.Ms(len(op.Detail)) }
	var at []port.Ms
	for _, detail := range []string{"four", "", "to"} {
		b.w.Go(port.Op{Kind: port.OpPersist, Detail: detail}, func(context.Context) error { return errors.New(detail) }, func(err error) {
			if err.Error() != detail {
				t.Error(err)
			}
			at = append(at, b.q.Now()-1000)
		})
	}
	b.run(10)
	if !reflect.DeepEqual(at, []port.Ms{0, 2, 4}) {
		t.Errorf("%v", at)
	}
}

func TestBehaviourIsLookedUpAtEachStep(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"srv": {Tools: []string{"x"}, Delays: one(model.StepInit, 10, 0)}})
	d := b.dial(stdio("a", "srv 1"))
	b.run(5)
	b.w.Set("srv 1", &model.Behaviour{Tools: []string{"y"}, Grandchild: true, Fault: model.Hang, FaultAt: model.StepInit})
	b.run(100)
	if d.done || d.failed != "" || b.w.Processes()[0].N != 2 {
		t.Error("a slow answer comes from a server that hangs by now")
	}
	d = b.dial(stdio("a", "srv 1"))
	d.conn.Kill()
	b.w.Set("srv 1", nil)
	d = b.dial(stdio("a", "srv 1"))
	b.run(0)
	if d.failed != "refused in 1 at 105" {
		t.Errorf("%q", d.failed)
	}
	b.w.Set("srv 1", &model.Behaviour{Fault: model.Refuse, Delays: one(model.StepStart, 10, 0)})
	d = b.dial(stdio("a", "srv 1"))
	b.run(5)
	b.w.Set("srv 1", &model.Behaviour{Tools: []string{"z"}})
	b.run(10)
	if !d.done || d.lists[0][0] != "z" {
		t.Errorf("%q", d.failed)
	}
	if b.w.Set("srv 1", &model.Behaviour{Fault: model.Refuse}); d.exit != "" {
		t.Error("who runs refuses nothing")
	}
}

func TestListChangesAreToldWhileTheServerCanSpeak(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"srv": {Linger: 300, Delays: one(model.StepInit, 10, 0)}, "srv-q": {}})
	d, q := b.dial(stdio("a", "srv")), b.dial(stdio("q", "srv-q"))
	b.w.ListChanged("srv")
	b.run(5)
	if d.announced != nil {
		t.Error("told before it was initialised")
	}
	b.run(5)
	b.w.ListChanged("srv")
	b.w.ListChanged("srv", "prompts")
	b.w.ListChanged("q", "resources") // no key: a configured name
	if d.announced != nil {
		t.Error("told inside the call")
	}
	b.w.Crash("srv-q") // what was said arrives
	b.run(0)
	if !reflect.DeepEqual(d.announced, []hostmcp.ListKind{hostmcp.Tools, hostmcp.Prompts, hostmcp.Resources, hostmcp.Prompts}) ||
		!reflect.DeepEqual(q.announced, []hostmcp.ListKind{hostmcp.Resources}) {
		t.Errorf("%v, %v", d.announced, q.announced)
	}
	d.conn.Kill()
	b.run(300)
	d.announced, q.announced = nil, nil
	b.w.ListChanged("srv", "tools")
	b.w.ListChanged("srv-q", "tools")
	b.run(0)
	if len(d.announced) != 1 || len(q.announced) != 0 {
		t.Errorf("lingering %v, gone %v", d.announced, q.announced)
	}
	b.run(1)
	b.w.ListChanged("srv", "tools")
	b.run(0)
	if len(d.announced) != 1 {
		t.Error("it lingers too long")
	}
}

func TestCalls(t *testing.T) {
	b := newBench(t, 0, map[string]*model.Behaviour{"srv": {Tools: []string{"x", `q"`}, Delays: one(model.StepCall, 20, 0)}})
	var called []string
	b.w.OnCall = func(c port.ConnID, tool string) { called = append(called, fmt.Sprint(c, tool)) }
	d := b.dial(stdio("a", "srv"))
	b.run(0)
	call := func(tool string) string {
		var out string
		start := b.q.Now()
		cancel := b.w.Go(port.Op{Kind: port.OpCall, Conn: d.op.Conn, Detail: tool}, func(ctx context.Context) error {
			res, err := d.client.Call(ctx, tool, map[string]any{"k": 1})
			if err == nil {
				out = res.Content[0].(mcp.TextContent).Text
			}
			return err
		}, func(err error) {
			var broken *transport.Error
			out = fmt.Sprint(b.q.Now()-start, " ", out+hostmcp.Class(err), " ", errors.As(err, &broken))
		})
		b.run(1000)
		cancel()
		b.run(0)
		return out
	}
	for _, c := range []struct {
		fault model.Fault
		tool  string
		want  string
	}{
		{0, "x", "20 x false"},
		{0, `q"`, `20 q" false`},
		{0, "nope", "20 protocol false"},
		{model.Refuse, "x", "20 protocol false"}, // an answer, of this call only
		{model.Garbage, "x", "20 protocol true"}, // the stream is broken
		{model.Hang, "x", "1000 closed false"},   // until it is cancelled
		{model.Exit, "x", "20 exit true"},
		{0, "x", "20 exit true"},
	} {
		b.w.Set("srv", &model.Behaviour{Tools: []string{"x", `q"`}, Delays: one(model.StepCall, 20, 0), Fault: c.fault, FaultAt: model.StepCall})
		if got := call(c.tool); got != c.want {
			t.Errorf("%v %s: %q, want %q", c.fault, c.tool, got, c.want)
		}
	}
	if !reflect.DeepEqual(called, []string{"1x", `1q"`, "1nope"}) {
		t.Errorf("%q", called)
	}
}

func TestTheRealServerAnswersTheSame(t *testing.T) {
	var long []string
	for i := range 2*pageSize + 1 {
		long = append(long, fmt.Sprintf("tool-%03d", i))
	}
	for _, v := range []model.Behaviour{
		{}, {Tools: []string{"x", "y"}, Prompts: []string{"p"}, Resources: []string{"r", "s"}}, {Tools: long, Prompts: long, Resources: long},
		{Tools: []string{"ñ", "日本", "a/b", `"`}},
	} {
		var got [2]string
		for i := range got {
			b := newBench(t, 0, map[string]*model.Behaviour{"srv": &v})
			b.w.Real = i == 1
			d := b.dial(config.DialSpec{Server: "k", Kind: config.SDK})
			b.w.Set("k", &v)
			b.run(0)
			if !d.done {
				t.Fatal(d.failed)
			}
			for j := range d.lists {
				got[i] += fmt.Sprintf("%q\n", sortedCopy(d.lists[j]))
			}
			for _, tool := range append([]string{"nope"}, v.Tools[:min(2, len(v.Tools))]...) {
				res, err := d.client.Call(context.Background(), tool, nil)
				got[i] += fmt.Sprintf("%q %v %s\n", tool, err, hostmcp.Class(err))
				if err == nil {
					got[i] += fmt.Sprintf("%v\n", res.Content)
				}
			}
		}
		if got[0] != got[1] {
			t.Errorf("prepared:\n%s\nreal:\n%s", got[0], got[1])
		}
	}
}
