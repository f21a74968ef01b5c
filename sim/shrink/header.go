package shrink

import (
	"mcpsim/model"
	"mcpsim/sim/trace"
)

// header drops what is there at the start.
func (s *shrinker) header() {
	s.minimise(len(s.best.Header.Servers), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Header.Servers = drop(c.Header.Servers, i, j)
		return c
	})
	s.minimise(len(s.best.Header.Files), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Header.Files = drop(c.Header.Files, i, j)
		return c
	})
	s.minimise(len(s.best.Header.Records), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Header.Records = drop(c.Header.Records, i, j)
		return c
	})
	s.minimise(len(s.best.Header.Dirs), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Header.Dirs = drop(c.Header.Dirs, i, j)
		return c
	})
	s.minimise(len(s.best.Header.Faults), func(i, j int) *trace.Trace {
		c := s.copy()
		c.Header.Faults = drop(c.Header.Faults, i, j)
		return c
	})
	if s.best.Header.CorruptRecords {
		c := s.copy()
		c.Header.CorruptRecords = false
		s.try(c)
	}
	if s.best.Header.Order != 0 {
		c := s.copy()
		c.Header.Order = 0
		s.try(c)
	}
}

// launch switches launch options off, all at once and then one by one.
func (s *shrinker) launch() {
	c := s.copy()
	c.Header.Launch = trace.Launch{Mode: c.Header.Launch.Mode, Sessions: c.Header.Launch.Sessions}
	s.try(c)
	s.launchOf(func(t *trace.Trace) *trace.Launch { return &t.Header.Launch }, func(t *trace.Trace, l *trace.Launch) { t.Header.Launch = *l })
}

// launchOf simplifies one launch.
func (s *shrinker) launchOf(get func(*trace.Trace) *trace.Launch, set func(*trace.Trace, *trace.Launch)) {
	for _, simpler := range launchOptions {
		c := s.copy()
		l := *get(c)
		if simpler(&l) {
			set(c, &l)
			s.try(c)
		}
	}
	s.minimise(len(get(s.copy()).Allowed), func(i, j int) *trace.Trace {
		c := s.copy()
		l := *get(c)
		l.Allowed = drop(l.Allowed, i, j)
		set(c, &l)
		return c
	})
}

var launchOptions = []func(*trace.Launch) bool{
	func(l *trace.Launch) bool { return l.Mode == "pool" && clear(&l.Mode) },
	func(l *trace.Launch) bool { return clear(&l.Trusted) },
	func(l *trace.Launch) bool {
		had := l.HasAllowed || l.NoAllowed
		l.HasAllowed, l.NoAllowed, l.Allowed = false, false, nil
		return had
	},
	func(l *trace.Launch) bool { return clear(&l.McpConfig) },
	func(l *trace.Launch) bool { return clear(&l.Approvals) },
	func(l *trace.Launch) bool { return clear(&l.Bare) },
	func(l *trace.Launch) bool { return clear(&l.Env) },
	func(l *trace.Launch) bool { return clear(&l.Cwd) },
	func(l *trace.Launch) bool { return clear(&l.Initialized) },
}

// behaviours simplifies what servers do, in the header and in steps.
func (s *shrinker) behaviours() {
	for i := range s.best.Header.Servers {
		s.behaviour(func(t *trace.Trace) *model.Behaviour { return &t.Header.Servers[i].Behaviour },
			func(t *trace.Trace, v *model.Behaviour) { t.Header.Servers[i].Behaviour = *v })
	}
	for i := range s.best.Steps {
		if s.best.Steps[i].Behaviour != nil {
			s.behaviour(func(t *trace.Trace) *model.Behaviour { return t.Steps[i].Behaviour },
				func(t *trace.Trace, v *model.Behaviour) { t.Steps[i].Behaviour = v })
		}
	}
}

func (s *shrinker) behaviour(get func(*trace.Trace) *model.Behaviour, set func(*trace.Trace, *model.Behaviour)) {
	try := func(simpler func(*model.Behaviour) bool) {
		v := *get(s.best)
		if simpler(&v) {
			c := s.copy()
			set(c, &v)
			s.try(c)
		}
	}
	plain := func(v *model.Behaviour) bool {
		tools := v.Tools
		was := len(v.Prompts)+len(v.Resources) > 0 || v.Delays != [model.NumSteps]model.Delay{} || v.Fault != model.NoFault ||
			v.IgnoreTerm || v.Unkillable || v.Grandchild || v.Linger != 0
		*v = model.Behaviour{Tools: tools}
		return was
	}
	try(plain)
	try(func(v *model.Behaviour) bool { had := len(v.Prompts) > 0; v.Prompts = nil; return had })
	try(func(v *model.Behaviour) bool { had := len(v.Resources) > 0; v.Resources = nil; return had })
	try(func(v *model.Behaviour) bool { v.FaultAt = 0; return clear(&v.Fault) })
	try(func(v *model.Behaviour) bool { return clear(&v.IgnoreTerm) })
	try(func(v *model.Behaviour) bool { return clear(&v.Unkillable) })
	try(func(v *model.Behaviour) bool { return clear(&v.Grandchild) })
	try(func(v *model.Behaviour) bool { return clear(&v.Linger) })
	for step := range get(s.best).Delays {
		try(func(v *model.Behaviour) bool { return clear(&v.Delays[step]) })
		try(func(v *model.Behaviour) bool { return clear(&v.Delays[step].Hold) })
	}
	s.minimise(len(get(s.best).Tools), func(i, j int) *trace.Trace {
		v := *get(s.best)
		v.Tools = drop(v.Tools, i, j)
		c := s.copy()
		set(c, &v)
		return c
	})
}

// sessions closes the sessions that are not needed, and lets one do what several did.
func (s *shrinker) sessions() {
	if n := len(s.best.Header.Launch.Sessions); n > 1 {
		s.minimise(n, func(i, j int) *trace.Trace {
			c := s.copy()
			if j-i == len(c.Header.Launch.Sessions) {
				return nil
			}
			c.Header.Launch.Sessions = drop(c.Header.Launch.Sessions, i, j)
			return c
		})
	}
	ids := s.sessionIDs()
	for i := len(ids) - 1; i > 0; i-- {
		c := s.copy()
		renameSessions(c, map[string]string{ids[i]: ids[0]})
		c.Header.Launch.Sessions = without(c.Header.Launch.Sessions, ids[0])
		s.try(c)
	}
}

// without keeps the first of each; first is there already.
func without(list []string, first string) []string {
	var out []string
	for _, x := range list {
		dup := false
		for _, y := range out {
			dup = dup || x == y
		}
		if !dup {
			out = append(out, x)
		}
	}
	if len(out) == 1 && out[0] == "s1" && first == "s1" {
		return nil // the default
	}
	return out
}

// sources moves what one source says to a simpler one: user before project before workspace before system before defaults.
func (s *shrinker) sources() {
	for _, m := range [...][2]string{{"defaults", "user"}, {"system", "user"}, {"workspace", "user"}, {"workspace", "project"}, {"project", "user"}} {
		c, changes := s.copy(), false
		move := func(file *string) {
			if *file == m[0] {
				*file, changes = m[1], true
			}
		}
		for i := range c.Steps {
			move(&c.Steps[i].File)
		}
		for i := range c.Header.Files {
			move(&c.Header.Files[i].File)
			move(&c.Header.Files[i].Write.File)
		}
		for i := range c.Header.Dirs {
			move(&c.Header.Dirs[i])
		}
		for i := range c.Header.Faults {
			move(&c.Header.Faults[i].File)
		}
		if changes {
			s.try(c)
		}
	}
}
