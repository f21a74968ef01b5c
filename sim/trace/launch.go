package trace

import "mcpsim/model"

// readLaunch reads "launch" of a header, or what a restart changes of it.
func readLaunch(n node) Launch {
	var l Launch
	for _, m := range n.members("launch") {
		v := m.val
		switch m.key {
		case "mode":
			l.Mode = v.word("mode", "single", "pool")
		case "sessions":
			l.Sessions = []string{}
			for _, e := range v.elems("sessions") {
				l.Sessions = append(l.Sessions, sessionName(e))
			}
		case "trusted":
			l.Trusted = readBool(v, "trusted")
		case "allowed":
			if l.NoAllowed = v.null(); !l.NoAllowed {
				l.HasAllowed, l.Allowed = true, v.strs("allowed")
			}
		case "mcp_config":
			l.McpConfig = v.object("mcp_config")
		case "approvals":
			l.Approvals = v.word("approvals", "ask", "off")
		case "bare":
			l.Bare = readBool(v, "bare")
		case "env":
			for _, e := range v.members("env") {
				e.val.str("the variable " + e.key)
			}
			l.Env = v.value()
		case "cwd":
			l.Cwd = v.word("cwd", "real", "link", "home")
		case "initialized":
			l.Initialized = readBool(v, "initialized")
		default:
			m.at.fail("launch has no key %q; it takes mode, sessions, trusted, allowed, mcp_config, approvals, bare, env, cwd, initialized", m.key)
		}
	}
	return l
}

func readBool(n node, what string) *bool {
	b := n.boolean(what)
	return &b
}

func writeLaunch(w *writer, l *Launch) {
	w.open()
	w.str("mode", l.Mode)
	w.strs("sessions", l.Sessions)
	w.optBool("trusted", l.Trusted)
	switch {
	case l.NoAllowed:
		w.value("allowed", model.NullValue())
	case l.HasAllowed && l.Allowed == nil:
		w.strs("allowed", []string{})
	case l.HasAllowed:
		w.strs("allowed", l.Allowed)
	}
	w.value("mcp_config", l.McpConfig)
	w.str("approvals", l.Approvals)
	w.optBool("bare", l.Bare)
	w.value("env", l.Env)
	w.str("cwd", l.Cwd)
	w.optBool("initialized", l.Initialized)
	w.close()
}

func (w *writer) optBool(k string, v *bool) {
	if v != nil {
		w.bool(k, *v)
	}
}

// With returns the launch of a process that restarts with the changes c: what c leaves out stays.
func (l Launch) With(c *Launch) Launch {
	if c == nil {
		return l
	}
	if c.Mode != "" {
		l.Mode = c.Mode
	}
	if c.Sessions != nil {
		l.Sessions = c.Sessions
	}
	if c.Trusted != nil {
		l.Trusted = c.Trusted
	}
	if c.HasAllowed || c.NoAllowed {
		l.HasAllowed, l.Allowed, l.NoAllowed = c.HasAllowed, c.Allowed, c.NoAllowed
	}
	if c.McpConfig != nil {
		l.McpConfig = c.McpConfig
	}
	if c.Approvals != "" {
		l.Approvals = c.Approvals
	}
	if c.Bare != nil {
		l.Bare = c.Bare
	}
	if c.Env != nil {
		l.Env = c.Env
	}
	if c.Cwd != "" {
		l.Cwd = c.Cwd
	}
	if c.Initialized != nil {
		l.Initialized = c.Initialized
	}
	return l
}

// SessionNames returns the sessions that are open at the start: s1 if the launch does not say.
func (l *Launch) SessionNames() []string {
	if l.Sessions == nil {
		return []string{"s1"}
	}
	return l.Sessions
}

// Entries returns a map name -> entry, whether v is one or an object that holds it under mcpServers; nil if v is none.
func Entries(v *model.Value) *model.Value {
	if inner := v.Get("mcpServers"); inner != nil && inner.Kind == model.Object {
		return inner
	}
	if v == nil || v.Kind != model.Object {
		return nil
	}
	return v
}

// Model returns the launch as the model takes it. root is the real path of the working directory.
func (l *Launch) Model(root string) model.Launch {
	yes := func(b *bool, absent bool) bool {
		if b == nil {
			return absent
		}
		return *b
	}
	m := model.Launch{
		HasFlag: l.HasAllowed, Flag: l.Allowed, ApprovalsOff: l.Approvals == "off", Bare: yes(l.Bare, false),
		Trusted: yes(l.Trusted, true), HomeIsRoot: l.Cwd == "home", Root: root, McpConfig: Entries(l.McpConfig),
		Uninitialized: !yes(l.Initialized, true), Env: map[string]string{},
	}
	if l.Mode == "pool" {
		m.Mode = model.Pool
	}
	if l.Env != nil {
		for _, e := range l.Env.Members {
			m.Env[e.Key] = e.Value.Text
		}
	}
	for _, s := range l.SessionNames() {
		m.Sessions = append(m.Sessions, model.SessionID(s))
	}
	return m
}
