package model

import "strings"

// server is one scripted behaviour: Key is a command line prefix, url the prefix that its URLs have.
type server struct {
	key, url string
	b        *Behaviour
}

var unlisted = &Behaviour{Fault: Refuse, FaultAt: StepStart}

// setServer takes a new behaviour; running connections of that key follow it from now on.
func (m *Machine) setServer(in *Input) {
	b := in.Behaviour
	found := false
	for i := range m.servers {
		if m.servers[i].key == in.Key {
			m.servers[i].b, found = b, true
		}
	}
	if !found {
		m.servers = append(m.servers, server{in.Key, in.URL, b})
	}
	for _, c := range m.open {
		if _, now := m.behaviour(c.cfg); now != c.versions[len(c.versions)-1] {
			c.versions = append(c.versions, now)
		}
	}
}

// behaviour finds what a config's server does: the longest key, by characters, that is a prefix of its command line or URL.
func (m *Machine) behaviour(cfg *Config) (key string, b *Behaviour) {
	best, b := -1, unlisted
	for i := range m.servers {
		s := &m.servers[i]
		var ok bool
		switch cfg.Transport {
		case Stdio:
			ok = strings.HasPrefix(cfg.CommandLine, s.key)
		case SDK:
			ok = strings.HasPrefix("sdk:"+cfg.CommandLine, s.key) || cfg.CommandLine == s.key
		default:
			ok = s.url != "" && strings.HasPrefix(cfg.URL, s.url) || strings.HasPrefix(cfg.URL, s.key)
		}
		if n := len([]rune(s.key)); ok && n > best {
			best, key, b = n, s.key, s.b
			if b == nil {
				b = unlisted
			}
		}
	}
	return key, b
}

// outcome is what a dial of a server that behaves as b for its whole length may come to: live, or a class of failure.
// Where a delay ends exactly at the bound either is right.
func outcome(b *Behaviour, tr Transport, bound Ms) State {
	var at Ms
	for step := StepStart; step <= StepResources; step++ {
		d := b.Delays[step].Ms
		if b.Fault != NoFault && b.FaultAt == step {
			if b.Fault == Hang {
				return StateFailedTimeout
			}
			set := faultClass(b.Fault, step, tr)
			if at+d >= bound {
				set |= StateFailedTimeout
			}
			return set
		}
		if at += d; at > bound {
			return StateFailedTimeout
		} else if at == bound && d > 0 {
			return StateFailedTimeout | restOutcome(b, step+1, tr)
		}
	}
	return StateLive
}

// outcomes is what a dial may come to in time that is only exact to slack: a real server takes what its script says or a
// little longer, its start most of all, and the host's timer comes a little late. In virtual time, slack 0, it is outcome.
func outcomes(b *Behaviour, tr Transport, bound, slack Ms) State {
	set := outcome(b, tr, bound)
	if slack > 0 {
		set |= outcome(b, tr, bound-slack) | outcome(b, tr, bound+slack)
	}
	return set
}

// restOutcome is the outcome of the steps left when the time is exactly used up.
func restOutcome(b *Behaviour, from Step, tr Transport) State {
	for step := from; step <= StepResources; step++ {
		if b.Fault != NoFault && b.FaultAt == step && b.Fault != Hang {
			return faultClass(b.Fault, step, tr) | StateFailedTimeout
		}
		if b.Delays[step].Ms > 0 || b.Fault == Hang && b.FaultAt == step {
			return StateFailedTimeout
		}
	}
	return StateLive
}

func faultClass(f Fault, at Step, tr Transport) State {
	switch f {
	case Refuse:
		if at == StepStart {
			return StateFailedRefused
		}
		return StateFailedRefused | StateFailedProtocol
	case Exit:
		if tr == Stdio {
			return StateFailedExit
		}
		return StateFailedClosed
	case Garbage:
		return StateFailedProtocol
	}
	return StateFailedTimeout
}

// classState reads a class as the host names it.
func classState(class string) State {
	s, ok := ParseState("failed:" + class)
	if !ok {
		return StateUnknown
	}
	return s
}
