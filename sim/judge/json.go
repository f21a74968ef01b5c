package judge

// JSON is a report for a program.
type JSON struct {
	Log       string          `json:"log"`
	Line      int             `json:"line"`
	Host      string          `json:"host,omitzero"`
	Lines     int             `json:"lines"`
	Inputs    int             `json:"inputs"`
	Events    int             `json:"events"`
	Settled   int             `json:"settled"`
	Checks    map[string]int  `json:"checks"`
	Findings  []JSONFinding   `json:"findings"`
	Unchecked []JSONUnchecked `json:"not_checkable"`
}

// JSONFinding is one finding.
type JSONFinding struct {
	Line      int      `json:"line"`
	Ms        int64    `json:"ms"`
	Invariant string   `json:"invariant"`
	Sentence  string   `json:"sentence"`
	Rules     []string `json:"rules"`
	Detail    string   `json:"detail"`
	Session   string   `json:"session,omitzero"`
	Server    string   `json:"server,omitzero"`
	Conn      int      `json:"conn,omitzero"`
}

// JSONUnchecked is one invariant that could not be checked, or not in every way.
type JSONUnchecked struct {
	Invariant string   `json:"invariant"`
	All       bool     `json:"all"`
	Undecided int      `json:"undecided"`
	Lacks     []string `json:"lacks"`
}

// JSON returns the report for a program.
func (r *Report) JSON() JSON {
	out := JSON{Log: r.Log, Line: r.First, Host: r.Host, Lines: r.Lines, Inputs: r.Inputs, Events: r.Events, Settled: r.Shown, Checks: r.Checks,
		Findings: []JSONFinding{}, Unchecked: []JSONUnchecked{}}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, jsonFinding(&f))
	}
	for _, u := range r.Unchecked {
		out.Unchecked = append(out.Unchecked, JSONUnchecked{u.Invariant, u.All, u.Count, u.Lacks})
	}
	return out
}

func jsonFinding(f *Finding) JSONFinding {
	return JSONFinding{f.Line, int64(f.At), f.Invariant, f.Sentence, f.Rules, f.Detail, string(f.Session), f.Server, int(f.Conn)}
}
