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

// Decide is section 5 of the specification: the first condition that holds, for one server of one session. It allocates
// nothing.
func Decide(e *Effective, s SessionID, server string) Verdict {
	x := e.find(s)
	es := x.server(server)
	switch {
	case es == nil && x.removed(server): // ADM-7
		return Removed
	case es == nil:
		return Unknown
	}
	return e.admit(es)
}

// admit decides about a server that is in the effective map.
func (e *Effective) admit(es *EffectiveServer) Verdict {
	switch {
	case es.Config.Disabled: // it still shadows lower layers
		return Disabled
	case !e.allowed(es.Name):
		return NotAllowed
	case e.excluded(es.Name): // ADM-3: whatever allows it
		return Excluded
	case e.unapproved(es):
		return PendingApproval
	case !e.m.Trusted: // ADM-6: whatever the source
		return Untrusted
	}
	return Admitted
}

// allowed: every defined list, the launch flag among them, must hold an entry that matches (ADM-1, D-5, D-11).
func (e *Effective) allowed(server string) bool {
	for i := range e.lists.Allowed {
		if !matches(e.lists.Allowed[i].Names, server) { // ADM-2: an empty list matches nothing
			return false
		}
	}
	return true
}

func (e *Effective) excluded(server string) bool { return matches(e.lists.Excluded, server) }

// unapproved: gated and not approved for exactly this config, and the host asks at all (APR-1, ASK-5).
func (e *Effective) unapproved(es *EffectiveServer) bool {
	return es.Source.Gated() && !e.m.Launch.ApprovalsOff && !e.m.approved(es)
}

// judge fills in a server's verdict and what follows from its approval state (APR-1, APR-3).
func (e *Effective) judge(es *EffectiveServer) {
	r, ok := e.m.Records[es.Name]
	es.Rejected = es.Source.Gated() && ApprovalState(r, ok, es.Config.ID) == ApprovalRejected
	es.Verdict = e.admit(es)
	if es.Verdict == PendingApproval { // APR-3: only the strictly pending are asked, and a filtered server is not (D-17)
		es.Verdict, es.Strict = PendingApproval, !es.Rejected
	}
}

// String returns the verdict's word, as refusals, states and traces spell it.
func (v Verdict) String() string {
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
	case Admitted:
		return "admitted"
	}
	return "?"
}
