package check

// JSON is a report for a program.
type JSON struct {
	Traces   int            `json:"traces"`
	Plays    int            `json:"plays"`
	Events   int            `json:"events"`
	Loads    int            `json:"loads"`
	Dials    int            `json:"dials"`
	Seconds  float64        `json:"seconds"`
	Failures []JSONFailure  `json:"failures"`
	Errors   []string       `json:"errors"`
	Goals    map[string]int `json:"goals"`
	Checks   map[string]int `json:"checks"`
	Skipped  map[string]int `json:"not_checkable"`
}

// JSONFailure is one kind of failure.
type JSONFailure struct {
	Invariant string `json:"invariant"`
	Signature string `json:"signature"`
	Detail    string `json:"detail"`
	File      string `json:"file"`
	Trace     int    `json:"trace"`
	Count     int    `json:"count"`
	Steps     int    `json:"steps"`
	Drawn     int    `json:"steps_drawn"`
}

// JSON returns the report for a program.
func (r *Report) JSON() JSON {
	out := JSON{Traces: r.Traces, Plays: r.Plays, Events: r.Events, Loads: r.Loads, Dials: r.Dials, Seconds: r.Elapsed.Seconds(),
		Goals: r.Goals, Checks: r.Checks, Skipped: r.Skipped, Failures: []JSONFailure{}, Errors: []string{}}
	for _, f := range r.Failures {
		j := JSONFailure{Invariant: f.Violation.Invariant, Signature: f.Signature, Detail: f.Violation.Detail, File: f.File,
			Trace: f.Index, Count: f.Count, Drawn: len(f.Original.Steps), Steps: len(f.Original.Steps)}
		if f.Shrunk != nil {
			j.Steps = len(f.Shrunk.Steps)
		}
		out.Failures = append(out.Failures, j)
	}
	for _, err := range r.Errors {
		out.Errors = append(out.Errors, err.Error())
	}
	return out
}
