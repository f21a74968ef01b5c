package model

// Record is an approval record: what was decided about a server's name, and for which config.
type Record struct {
	Config   ConfigID
	Approved bool
}

// Approval is the state of a gated server's approval (APR-1).
type Approval uint8

// The states: no record, or one for another config, is pending.
const (
	ApprovalPending Approval = iota
	ApprovalApproved
	ApprovalRejected
)

// ApprovalState reads a record, of which ok says that there is one, for the config that a server has now (APR-1).
func ApprovalState(rec Record, ok bool, cfg ConfigID) Approval {
	switch {
	case !ok || rec.Config != cfg:
		return ApprovalPending
	case rec.Approved:
		return ApprovalApproved
	}
	return ApprovalRejected
}

// String returns the state's word.
func (a Approval) String() string { return [...]string{"pending", "approved", "rejected"}[a] }
