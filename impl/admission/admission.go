// Package admission decides whether a server may run: a pure function of what launch fixed, the lists, the approvals and
// trust (spec section 5). It reads nothing, remembers nothing and does not know single mode from pool mode (POOL-1).
package admission

// Verdict is the outcome for one server.
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

// Subject is one server as a session sees it.
type Subject struct {
	Name     string
	InMap    bool // in the session's effective map
	Removed  bool // it went during this session (ADM-7)
	Disabled bool // disabled is true or enabled is false
	Gated    bool // from .mcp.json or the workspace settings
	Approved bool // a record approves exactly this config
}

// Policy is what a verdict depends on besides the server.
type Policy struct {
	Flag         *List   // the launch flag; nil: not given (ADM-1)
	Allowed      []*List // one list per layer that defines one; every one must match (D-11)
	Excluded     *List   // the union of all layers; nil: none
	ApprovalsOff bool
	Trusted      bool
}

// Decide returns the first condition of section 5 that holds. It allocates nothing.
func (p *Policy) Decide(s Subject) Verdict {
	switch {
	case !s.InMap && s.Removed:
		return Removed
	case !s.InMap:
		return Unknown
	case s.Disabled:
		return Disabled
	case !p.allows(s.Name):
		return NotAllowed
	case p.Excluded != nil && p.Excluded.Match(s.Name): // ADM-3: whatever allows it
		return Excluded
	case s.Gated && !s.Approved && !p.ApprovalsOff:
		return PendingApproval
	case !p.Trusted:
		return Untrusted
	}
	return Admitted
}

func (p *Policy) allows(name string) bool {
	if p.Barred(name) {
		return false
	}
	for _, l := range p.Allowed {
		if !l.Match(name) {
			return false
		}
	}
	return true
}

// Barred reports whether the launch flag itself keeps a server out: no edit can change that (ADM-1).
func (p *Policy) Barred(name string) bool { return p.Flag != nil && !p.Flag.Match(name) }

// String returns the verdict's word, as refusals, traces and logs spell it.
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
