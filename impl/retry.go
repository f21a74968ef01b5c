package impl

import "mcpsim/impl/port"

const (
	retryFirst port.Ms = 1000
	retryMost  port.Ms = 30000
)

// retry is a session's one retry timer (D-4). A failed pass and a refused publication arm it, each with a step of its own
// that doubles while it goes on failing; a pass in between takes the timer's place.
type retry struct {
	cancel   func() // nil: not armed
	passStep port.Ms
	pubStep  port.Ms
	failedAt port.Ms // the last failure
	refused  bool    // a publication was refused since the last pass began
}

func (r *retry) pending() bool { return r.cancel != nil }

func (r *retry) stop() {
	if r.cancel != nil {
		r.cancel()
		r.cancel = nil
	}
}

func next(step port.Ms) port.Ms {
	if step == 0 {
		return retryFirst
	}
	return min(2*step, retryMost)
}

// passBegins takes the timer's place.
func (r *retry) passBegins() {
	r.stop()
	r.refused = false
}

func (h *Host) passFailed(s *session) {
	s.retry.passStep = next(s.retry.passStep)
	h.armRetry(s, s.retry.passStep)
}

// publishRefused asks for the retry of D-4 (CFG-4); a timer that is armed already will do.
func (h *Host) publishRefused(s *session) {
	r := &s.retry
	if !r.refused {
		r.refused = true
		r.pubStep = next(r.pubStep)
	}
	if r.pending() {
		return
	}
	h.armRetry(s, r.pubStep)
}

func (h *Host) armRetry(s *session, d port.Ms) {
	s.retry.stop()
	if s.closed || h.down {
		return
	}
	s.retry.failedAt = h.p.Clock.Now()
	s.retry.cancel = h.p.Clock.AfterFunc(port.TimerRetry, d, func() {
		s.retry.cancel = nil
		if !s.closed && !h.down {
			h.requestPass(s, nil)
		}
	})
}

// Retries lists the sessions that wait for a retry and when their last attempt failed.
func (h *Host) Retries() []Retry {
	var out []Retry
	for _, s := range h.sessions {
		if s.retry.pending() {
			out = append(out, Retry{s.id, s.retry.failedAt})
		}
	}
	return out
}

// Retry is one session's pending retry.
type Retry struct {
	Session  port.SessionID
	FailedAt port.Ms
}
