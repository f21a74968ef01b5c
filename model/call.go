package model

import "fmt"

// call is one tool call.
type call struct {
	id      string
	session SessionID
	server  string
	tool    string
	conn    *conn
	at      Ms
	timeout Ms
	outcome string // empty: running
	mustEnd string // how it must end, from endAt on (CALL-2)
	endAt   Ms
	garbage bool
	name    string // called by the name a model knows the tool by (VIEW-3)
}

// inCall notes a call and what it must come to if it must not be sent (CALL-1).
func (m *Machine) inCall(in *Input) {
	k := &call{id: in.Call, session: in.Session, server: in.Server, tool: in.Tool, at: m.now, timeout: 600000, name: in.Key}
	m.calls = append(m.calls, k)
	m.callByID[in.Call] = k
}

// refusals are the words a call may be refused with now; sent reports whether it may be sent.
func (m *Machine) refusals(k *call) (words []string, sent bool) {
	if m.session(k.session) == nil {
		return []string{"error:session_closed"}, false
	}
	e := m.effective()
	v := Decide(e, k.session, k.server)
	if v != Admitted {
		return []string{"refused:" + verdictWord(v)}, false
	}
	es := e.Server(k.session, k.server)
	s := m.session(k.session)
	c := s.last[k.server]
	filtered := !es.Config.Allows(k.tool)
	if filtered {
		words = append(words, "refused:filtered")
	}
	switch {
	case c == nil || c.phase == dialling || c.cfg.Fp != es.Config.Fp || c.phase >= retired && c.class == 0:
		words = append(words, "refused:dialing")
		if p := m.predecessor(k.session, es); p != nil && m.now >= p.stuckFrom() {
			words = append(words, "refused:failed")
		}
	case c.phase >= retired || c.mustLose:
		words = append(words, "refused:failed")
		if m.predecessor(k.session, es) != nil {
			words = append(words, "refused:dialing")
		}
	case s.reg[k.server] == nil:
		words = append(words, "refused:dialing", "refused:failed")
	}
	if len(words) > 0 {
		if s.failedLast && c != nil && c.phase >= retired { // its pass failed: the old failure may still be what is known
			words = append(words, "refused:failed")
		}
		return words, false
	}
	r := s.reg[k.server]
	if !contains(r.tools, k.tool) {
		return []string{"refused:no_tool"}, false
	}
	return nil, true
}

func verdictWord(v Verdict) string {
	switch v {
	case Removed:
		return "removed"
	case Unknown:
		return "unknown"
	case Disabled:
		return "disabled"
	case NotAllowed:
		return "not_allowed"
	case Excluded:
		return "excluded"
	case PendingApproval:
		return "pending_approval"
	case Untrusted:
		return "untrusted"
	}
	return "admitted"
}

// callStart judges that a call is sent only to an admitted server's visible tool (INV-21).
func (m *Machine) callStart(ev *Event) {
	k := m.callByID[ev.Call]
	if k == nil {
		return
	}
	if ev.Server != "" {
		if k.name != "" && len(k.name) < maxToolName && ToolName(ev.Server, ev.Tool) != k.name && ev.Conn != 0 { // the digest of a longer one is the host's own
			m.fail("INV-21", k.session, ev.Server, ev.Conn, "a call by name reached a tool that has another name", "VIEW-3")
		}
		k.server, k.tool = ev.Server, ev.Tool
	}
	if ev.Conn == 0 {
		return
	}
	m.checked("INV-21")
	c := m.conns[ev.Conn]
	words, sent := m.refusals(k)
	switch {
	case c == nil:
		m.fail("INV-21", k.session, k.server, ev.Conn, "a call was sent to a connection that no dial announced")
		return
	case !sent && !c.mustLose:
		m.fail("INV-21", k.session, k.server, ev.Conn, fmt.Sprintf("a call of %q was sent, it must be %v", k.tool, words), "CALL-1")
	case !c.holds(k.session):
		m.fail("INV-21", k.session, k.server, ev.Conn, "a call was sent to a connection that the session does not hold", "CALL-2")
	case c.server != k.server || c.phase != live:
		m.fail("INV-21", k.session, k.server, ev.Conn, "a call was sent to a connection that is not live, or another server's", "CALL-2")
	}
	k.conn = c
	if es := m.effective().Server(k.session, k.server); es != nil {
		k.timeout = es.Config.Timeout
	}
	for _, b := range c.versions {
		if b.Fault != NoFault && b.FaultAt == StepCall {
			k.garbage = true
		}
	}
}

// alsoTrue reports whether an outcome is as right as the one that is due at this instant: two things ended the call.
func (m *Machine) alsoTrue(k *call, outcome string) bool {
	switch outcome {
	case "ok":
		return true
	case "error:lost":
		return k.conn != nil && (k.conn.mustLose || k.conn.world != 0 || k.garbage || k.conn.changedAt >= 0)
	case "error:session_closed":
		return m.session(k.session) == nil
	case "error:timeout":
		return m.now >= k.at+k.timeout
	case "error:retired":
		es := m.effective().Server(k.session, k.server)
		return es == nil || es.Verdict != Admitted || k.conn == nil || es.Config.Fp != k.conn.cfg.Fp
	}
	return false
}

// callEnd judges an outcome (CALL-1 to CALL-4).
func (m *Machine) callEnd(ev *Event) {
	k := m.callByID[ev.Call]
	if k == nil {
		return
	}
	m.checked("INV-21")
	if k.outcome != "" {
		m.fail("INV-21", k.session, k.server, 0, "a call ended twice: "+k.outcome+", then "+ev.Outcome)
		return
	}
	k.outcome = ev.Outcome
	bad := func(why string, rules ...string) { m.fail("INV-21", k.session, k.server, 0, why, rules...) }
	if k.mustEnd != "" {
		if ev.Outcome != k.mustEnd && !(k.endAt == m.now && m.alsoTrue(k, ev.Outcome)) {
			bad(fmt.Sprintf("a call ended as %s, it ended with its connection or session as %s", ev.Outcome, k.mustEnd), "CALL-2", "CALL-4")
		}
		return
	}
	if k.conn == nil {
		if k.name != "" && k.server == "" {
			if ev.Outcome != "refused:no_tool" && ev.Outcome != "error:session_closed" {
				bad("a call of a name that nobody owns ended as "+ev.Outcome, "VIEW-3")
			}
			return
		}
		words, sent := m.refusals(k)
		if s := m.session(k.session); s != nil && s.last[k.server] != nil && s.last[k.server].mustLose {
			return // its process ended at this instant: the host may or may not know yet
		}
		if sent {
			bad(fmt.Sprintf("a call of %q was not sent but ended as %s, though it may be sent", k.tool, ev.Outcome), "CALL-1")
		} else if !contains(words, ev.Outcome) {
			bad(fmt.Sprintf("a call ended as %s, it must be %v", ev.Outcome, words), "CALL-1", "CALL-4")
		}
		return
	}
	switch ev.Outcome {
	case "ok":
	case "error:timeout":
		if m.now < k.at+k.timeout {
			bad(fmt.Sprintf("a call timed out after %d ms, its timeout is %d ms", m.now-k.at, k.timeout), "CALL-3")
		}
	case "error:lost":
		if k.conn.phase < retired && !k.conn.mustLose && !k.garbage && k.conn.world == 0 && k.conn.changedAt < 0 {
			bad("a call ended as lost on a connection that is live", "CALL-2")
		}
	case "error:retired":
		if k.conn.phase < retired && k.conn.holds(k.session) {
			m.mustBeUnwanted(k.conn, k.session, "taken from a running call")
		}
	default:
		bad("a call that was sent ended as "+ev.Outcome, "CALL-4")
	}
}

// endCalls notes that running calls must end at this instant (CALL-2).
func (m *Machine) endCalls(which func(*call) bool, outcome string) {
	for _, k := range m.calls {
		if k.outcome == "" && k.mustEnd == "" && (k.conn != nil || outcome == "error:session_closed") && which(k) {
			k.mustEnd, k.endAt = outcome, m.now
		}
	}
}
