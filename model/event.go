package model

// EventKind is what the host did. The names are those of a log.
type EventKind uint8

// The events (design, "The events").
const (
	EvWake EventKind = iota + 1
	EvWatch
	EvUnwatch
	EvLoad
	EvNotify
	EvRestartPending
	EvLists
	EvPassStart
	EvPassCompared
	EvPassEnd
	EvDial
	EvDialed
	EvDialFailed
	EvPublished
	EvPurged
	EvClosing
	EvClosed
	EvAcquired
	EvReleased
	EvDrainStart
	EvDrainEnd
	EvUpdated
	EvAsk
	EvDecided
	EvRefused
	EvCallStart
	EvCallEnd
	EvSessionOpened
	EvSessionClosed
	EvWrote
	EvNotice
	EvNoticeCleared
	NumEvents
)

var eventNames = [NumEvents]string{"", "wake", "watch", "unwatch", "load", "notify", "restart_pending", "lists",
	"pass_start", "pass_compared", "pass_end", "dial", "dialed", "dial_failed", "published", "purged", "closing",
	"closed", "acquired", "released", "drain_start", "drain_end", "updated", "ask", "decided", "refused", "call_start",
	"call_end", "session_opened", "session_closed", "wrote", "notice", "notice_cleared"}

// String returns the event's name in logs.
func (k EventKind) String() string { return eventNames[k] }

// ParseEventKind reads an event's name.
func ParseEventKind(name string) (EventKind, bool) {
	for i := 1; i < int(NumEvents); i++ {
		if eventNames[i] == name {
			return EventKind(i), true
		}
	}
	return 0, false
}

// Event is one thing the host did. Only the fields that its kind carries are set; see impl/event, whose table this is.
type Event struct {
	Kind      EventKind
	Session   SessionID
	Sessions  []SessionID
	Server    string
	Conn      ConnID
	Pass      int
	Scope     Scope
	Scopes    []ScopeChange // notify
	Outcome   string
	Why       string
	Path      string
	Keys      []string
	Config    ConfigID // dial, decided
	ConfigVal *Value   // dial: the entry as the host has it, for configs that the machine has never seen
	Tools     []string
	Prompts   []string
	Resources []string
	Trust     bool
	Lists     *Lists
	Questions []Question
	Call      string
	Tool      string
	Notice    *Notice
}

// ScopeChange is one scope's part of a notification (WAT-5).
type ScopeChange struct {
	Scope Scope
	How   string
}

// Violation is one broken rule.
type Violation struct {
	At        Ms
	Invariant string   // INV-1 … INV-21, LIVE-1 … LIVE-3
	Sentence  string   // the invariant's sentence in spec section 13
	Rules     []string // the rules behind it
	Detail    string   // what was expected and what was seen
	Session   SessionID
	Server    string
	Conn      ConnID
}
