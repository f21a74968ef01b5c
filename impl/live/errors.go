package live

import (
	"errors"
	"fmt"
)

// ErrClosed is what everything returns once the host was closed.
var ErrClosed = errors.New("the host is closed")

// CallError says why a tool call has no result (CALL-4).
type CallError struct {
	Server, Tool string // as they were given: of CallName, Tool is the model's name and Server empty
	// Outcome is "refused:" with the verdict, filtered, failed, dialing or no_tool, and then nothing was sent; or "error:"
	// with retired, lost, timeout or session_closed, and then the server may have acted.
	Outcome string
	// Way says, of a refused call, what a model is to be told: the owning server and the way back (VIEW-3).
	Way string
}

func (e *CallError) Error() string {
	if e.Way != "" {
		return e.Way
	}
	return fmt.Sprintf("call of %s %s: %s", e.Server, e.Tool, e.Outcome)
}

// RefusedError says why a decision was not recorded.
type RefusedError struct {
	Server string
	// Why is not_asked (nothing of that server is asked now), stale (its configuration is another one by now, which is
	// asked instead), lock, read or write (the approvals file).
	Why string
}

func (e *RefusedError) Error() string {
	text := e.Why
	switch e.Why {
	case "not_asked":
		text = "it is not asked any more"
	case "stale":
		text = "its configuration has changed since it was shown; look again"
	case "lock":
		text = "the approvals file is locked by another process"
	case "read":
		text = "the approvals file cannot be read"
	case "write":
		text = "the approvals file cannot be written"
	}
	return fmt.Sprintf("the decision about %q was not recorded: %s", e.Server, text)
}
