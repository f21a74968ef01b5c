package real

import (
	"fmt"
	"os"
	"strings"

	"mcpsim/model"
	"mcpsim/sim"
	"mcpsim/sim/host"
	"mcpsim/sim/trace"
)

// Why says why a trace is not for real, or "". long is the longest trace, in its own time, that may be played.
func Why(tr *trace.Trace, long model.Ms) string {
	if tr.Header.Real != "" {
		return tr.Header.Real
	}
	text := string(trace.Print(tr))
	remote := func(key string) bool { return strings.Contains(text, "{{url:"+key) }
	for i := range tr.Header.Servers {
		s := &tr.Header.Servers[i]
		if why := whyBehaviour(&s.Behaviour, remote(s.Key)); why != "" {
			return why
		}
	}
	for i := range tr.Header.Files {
		if why := whyStep(&tr.Header.Files[i].Write, remote); why != "" {
			return why
		}
	}
	for i := range tr.Steps {
		if why := whyStep(&tr.Steps[i], remote); why != "" {
			return why
		}
	}
	if strings.Contains(text, `"type":"sdk"`) {
		return "a server inside the host's own process does what no script says"
	}
	st := host.NewFakeStage()
	if end := sim.Play(tr, st, host.NewInProcess(st), sim.PlayOptions{}).End; end > long {
		return fmt.Sprintf("longer than %d s", long/1000)
	}
	return ""
}

func whyStep(s *trace.Step, remote func(key string) bool) string {
	switch {
	case s.Behaviour != nil:
		return whyBehaviour(s.Behaviour, remote(s.Server))
	case s.Unsynced == "lost":
		return "what a crash of the machine loses cannot be lost at will"
	case (s.Locked() || s.Do == trace.Chmod) && os.Geteuid() == 0:
		return "permissions do not bind the superuser"
	}
	return ""
}

func whyBehaviour(b *model.Behaviour, remote bool) string {
	if b.Unkillable {
		return "no process outlives a kill"
	}
	for _, d := range b.Delays {
		if d.Hold == model.HoldAnswer {
			return "no answer arrives on a pipe that is closed"
		}
	}
	if b.Linger > 0 {
		return "no process speaks after its end"
	}
	if b.Fault == model.Garbage && b.FaultAt == model.StepStart && remote {
		return "over HTTP nobody speaks before he is asked"
	}
	return ""
}
