package real

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"

	"mcpsim/impl/config"
	"mcpsim/impl/live"
	"mcpsim/impl/port"
	"mcpsim/model"
	"mcpsim/sim/realserver"
)

// dialer counts what the live host's dials, and gives each connection a name that the server at its other end repeats.
type dialer struct {
	st    *Stage
	lf    *life
	inner *live.Dialer
}

// newDialer makes a dialer for a host process. Its children find the servers' commands in PATH, and nothing else; its
// requests reach the servers of this machine only.
func newDialer(st *Stage, lf *life, l *live.Loop, env map[string]string) *dialer {
	list := append(st.ctl.Env(), "GORACE=atexit_sleep_ms=0")
	for k, v := range env {
		if k != "PATH" {
			list = append(list, k+"="+v)
		}
	}
	list = append(list, "PATH="+st.bin())
	h := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if name, _, _ := net.SplitHostPort(addr); name != "127.0.0.1" {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		var d net.Dialer
		return d.DialContext(ctx, network, addr)
	}}
	return &dialer{st: st, lf: lf, inner: live.NewDialer(l, live.DialerOptions{Environ: list, HTTP: h, Probe: -1})}
}

// Dial implements port.Dialer. Every dial counts, refused ones too.
func (d *dialer) Dial(op port.Op, spec config.DialSpec) (port.Conn, error) {
	if d.lf.over.Load() {
		return nil, errOver
	}
	d.st.dials[spec.Server]++
	name, b := connName(d.lf.n, op.Conn), d.st.behaviourOf(&spec)
	d.st.conns[name] = dialled{spec.Server, model.ConnID(op.Conn), b}
	spec.Env = append(slices.Clone(spec.Env), config.KV{Name: realserver.ConnVariable, Value: name})
	spec.Headers = append(slices.Clone(spec.Headers), config.KV{Name: realserver.ConnHeader, Value: name})
	for i := range spec.Env {
		if spec.Env[i].Name == "PATH" { // the commands of the world are found wherever an entry says
			spec.Env[i].Value += ":" + d.st.bin()
		}
	}
	if refuses(b) { // a command of several lines may be there for the sake of another
		spec.Env = append(spec.Env, config.KV{Name: "PATH", Value: "/nowhere"})
	}
	if spec.Kind == config.Stdio {
		if !strings.HasPrefix(spec.Cwd, d.st.base) {
			spec.Cwd = d.st.path(spec.Cwd)
		}
		if err := os.MkdirAll(spec.Cwd, 0o755); err != nil { // every directory that an entry names is there
			return nil, err
		}
	}
	return d.inner.Dial(op, spec)
}

func refuses(b *model.Behaviour) bool {
	return b == nil || b.Fault == model.Refuse && b.FaultAt == model.StepStart
}

// connName is what a connection of a host process is called at its other end.
func connName(life int, c port.ConnID) string { return fmt.Sprintf("%d/%d", life, c) }

var steps = [model.NumSteps]string{"start", "init", "tools", "prompts", "resources", "call", "end"}

// behaviour is a model's behaviour as a real server has it; nil refuses.
func behaviour(b *model.Behaviour) realserver.Behaviour {
	if b == nil {
		return realserver.Behaviour{Fault: "refuse"}
	}
	out := realserver.Behaviour{Tools: b.Tools, Prompts: b.Prompts, Resources: b.Resources, IgnoreTerm: b.IgnoreTerm,
		Unkillable: b.Unkillable, Grandchild: b.Grandchild, Linger: int64(b.Linger)}
	for i, d := range b.Delays {
		if d != (model.Delay{}) {
			if out.Delay == nil {
				out.Delay = map[string]realserver.Delay{}
			}
			r := realserver.Delay{Ms: int64(d.Ms)}
			if d.Hold == model.HoldAnswer {
				r.Hold = "answer"
			}
			out.Delay[steps[i]] = r
		}
	}
	if b.Fault != model.NoFault {
		out.Fault = [...]string{model.Refuse: "refuse", model.Exit: "exit", model.Garbage: "garbage", model.Hang: "hang"}[b.Fault]
		out.At = steps[b.FaultAt]
	}
	return out
}
