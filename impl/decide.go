package impl

import (
	"slices"

	"mcpsim/impl/approval"
	"mcpsim/impl/config"
	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

// Answer is a person's decision on a question: the server and the hash that was shown (APR-5).
type Answer struct {
	Server, Hash string
	Approve      bool
}

// AnswerResult says what became of an answer. Why is set if it was not recorded: not_asked, stale, lock, read or write.
type AnswerResult struct {
	Answer   Answer
	Recorded bool
	Why      string
}

// Decide takes answers to questions of one session; several are one write (ASK-4). An answer counts only if exactly that
// question is in the session's queue now, by what is loaded, and still is when it is written; it reads no settings file.
// What is approved is persisted first, then every session recomputes its lists and queue and runs a pass, this one first;
// what is rejected is persisted, and nothing is dialled (APR-4). done gets one result per answer, in their order, once
// everything is written and the passes have begun.
func (h *Host) Decide(id port.SessionID, answers []Answer, done func([]AnswerResult)) {
	results := make([]AnswerResult, len(answers))
	var decisions []approval.Decision
	var index []int
	for i, a := range answers {
		results[i].Answer = a
		entry, why := h.asked(id, a.Server, a.Hash)
		if why != "" {
			h.refuse(id, &results[i], nil, why)
			continue
		}
		if slices.ContainsFunc(decisions, func(d approval.Decision) bool { return d.Server == a.Server }) {
			h.refuse(id, &results[i], entry, "not_asked") // it was answered just now
			continue
		}
		decisions = append(decisions, approval.Decision{Server: a.Server, Hash: a.Hash, Entry: entry, Approve: a.Approve})
		index = append(index, i)
	}
	if len(decisions) == 0 {
		if done != nil {
			done(results)
		}
		return
	}
	h.deciding++
	h.store.Decide(decisions, func(d approval.Decision) bool {
		_, why := h.asked(id, d.Server, d.Hash)
		return why == ""
	}, func(written []approval.Result) {
		h.deciding--
		h.decided(id, written, index, results)
		if done != nil {
			done(results)
		}
	})
}

// asked looks for exactly this question in the session's queue (APR-5, D-1, D-14).
func (h *Host) asked(id port.SessionID, server, hash string) (*config.Entry, string) {
	s := h.session(id)
	if s == nil || !h.started || h.down {
		return nil, "not_asked"
	}
	switch q := findQuestion(h.view(s).queue, server); {
	case q == nil:
		return nil, "not_asked"
	case q.Hash != hash:
		return q.Entry, "stale"
	default:
		return q.Entry, ""
	}
}

func (h *Host) refuse(id port.SessionID, r *AnswerResult, e *config.Entry, why string) {
	r.Why = why
	h.emit(&event.Event{Kind: event.Refused, Session: id, Server: r.Answer.Server, Why: why, Entry: e})
}

// decided takes what was written: the records are in force already.
func (h *Host) decided(id port.SessionID, written []approval.Result, index []int, results []AnswerResult) {
	approved, recorded := false, false
	for n, w := range written {
		r := &results[index[n]]
		if !w.Recorded {
			h.refuse(id, r, w.Decision.Entry, w.Why)
			continue
		}
		r.Recorded, recorded = true, true
		outcome := "rejected"
		if w.Decision.Approve {
			outcome, approved = "approved", true
		}
		h.emit(&event.Event{Kind: event.Decided, Session: id, Server: w.Decision.Server, Entry: w.Decision.Entry, Outcome: outcome})
	}
	if !recorded || h.down {
		return
	}
	h.changed()
	if !approved {
		return
	}
	asked := h.session(id)
	if asked != nil {
		h.requestPass(asked, nil)
	}
	for _, s := range h.allSessions() { // D-15: the record is everybody's
		if s != asked {
			h.requestPass(s, nil)
		}
	}
}
