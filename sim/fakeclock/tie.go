package fakeclock

import "mcpsim/impl/port"

// Kind is what an event is, for its tie.
type Kind uint8

// The kinds beside timers and jobs.
const (
	Posted Kind = 64 + iota // by the host, for itself
	File                    // a file event
	Exit                    // the end of a process or a stream
	Notice                  // what a server says unasked
	Step                    // the rest of a step of the trace, such as the later parts of a write
)

// Timer is the kind of a timer.
func Timer(k port.TimerKind) Kind { return Kind(k) }

// Job is the kind of a job.
func Job(k port.OpKind) Kind { return 32 + Kind(k) }

// Tie is what breaks a tie at one instant: a hash of the trace's order, what it is, whose server and which of that
// server's connections (counted per server, so that leaving a step out of a trace does not reshuffle the rest). 0 if the
// trace has order 0.
func (q *Queue) Tie(k Kind, server string, ordinal int) uint64 {
	if q.order == 0 {
		return 0
	}
	h := uint64(14695981039346656037)
	for i := 0; i < len(server); i++ {
		h = (h ^ uint64(server[i])) * 1099511628211
	}
	return mix(mix(h^q.order) + uint64(k)<<48 + uint64(ordinal))
}

// mix is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
