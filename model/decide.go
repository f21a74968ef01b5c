package model

// Verdict is the outcome of admission (spec section 5).
type Verdict uint8

// The verdicts, in the order in which they are decided.
const (
	Removed Verdict = iota + 1
	Unknown
	Disabled
	NotAllowed
	Excluded
	PendingApproval
	Untrusted
	Admitted
)

// Decide is section 5 of the specification: the first condition that holds. It allocates nothing.
func Decide(e *Effective, s SessionID, server string) Verdict {
	x := e.find(s)
	es := e.Server(s, server)
	switch {
	case es == nil && x != nil && x.state.Removed[server]:
		return Removed
	case es == nil:
		return Unknown
	case es.Config.Disabled:
		return Disabled
	case !e.allowed(server):
		return NotAllowed
	case e.excluded(server):
		return Excluded
	case es.Source.Gated() && !e.m.Launch.ApprovalsOff && !e.m.approved(es):
		return PendingApproval
	case !e.m.Trusted:
		return Untrusted
	}
	return Admitted
}

// allowed: every defined list, the launch flag among them, must hold an entry that matches (ADM-1, D-5, D-11).
func (e *Effective) allowed(server string) bool {
	for i := range e.lists.Allowed {
		if !matches(e.lists.Allowed[i].Names, server) {
			return false
		}
	}
	return true
}

func (e *Effective) excluded(server string) bool { return matches(e.lists.Excluded, server) }

func matches(list []string, server string) bool {
	for _, p := range list {
		if Match(p, server) {
			return true
		}
	}
	return false
}

// Record is an approval record.
type Record struct {
	Config   ConfigID
	Approved bool
}

// judge fills in a server's verdict and its approval state (APR-1, APR-3).
func (e *Effective) judge(es *EffectiveServer) {
	r, ok := e.m.Records[es.Name]
	es.Rejected = es.Source.Gated() && ok && r.Config == es.Config.ID && !r.Approved
	switch {
	case es.Config.Disabled:
		es.Verdict = Disabled
	case !e.allowed(es.Name):
		es.Verdict = NotAllowed
	case e.excluded(es.Name):
		es.Verdict = Excluded
	case es.Source.Gated() && !e.m.Launch.ApprovalsOff && !e.m.approved(es):
		es.Verdict, es.Strict = PendingApproval, !es.Rejected
	case !e.m.Trusted:
		es.Verdict = Untrusted
	default:
		es.Verdict = Admitted
	}
}
