// Package mutants keeps deliberate mistakes: of the host, to show that the model finds what the rules forbid, and of the
// model, to show that a wrong model does not agree with a right host. Each is a few exact replacements in the sources, laid
// over them at build time; nothing in the tree changes.
package mutants

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// Edit replaces Old, which occurs exactly once in File (relative to the module), by New.
type Edit struct{ File, Old, New string }

// Mutant is one mistake.
type Mutant struct {
	Name           string
	File, Old, New string // the mistake itself
	Hole           string // the rule or decision that it breaks
	Profile        string // what is drawn; "" is the default profile
	Also           []Edit // what else must go: a second guard, or an assertion of the host's own that would speak first
}

// Edits are all replacements of a mutant.
func (m *Mutant) Edits() []Edit { return append([]Edit{{m.File, m.Old, m.New}}, m.Also...) }

//go:embed KILLED.md
var killedText string

// Kill is one line of KILLED.md: what found a mutant.
type Kill struct{ By, Traces, Seconds, Steps string }

// Killed reads KILLED.md, which a recorded run of all mutants writes.
func Killed() (map[string]Kill, error) {
	out := map[string]Kill{}
	for _, l := range strings.Split(killedText, "\n") {
		if !strings.HasPrefix(l, "| ") || strings.HasPrefix(l, "| mutant ") {
			continue
		}
		f := strings.Split(strings.Trim(l, "| "), " | ")
		if len(f) != 6 {
			return nil, fmt.Errorf("KILLED.md: expected six columns: %s", l)
		}
		out[f[0]] = Kill{f[2], f[3], f[4], f[5]}
	}
	return out, nil
}

// All is every mutant: of the host, of the rules one by one, of its sharing (pool-…), of the model (model-…).
var All = slices.Concat(host, rules, pool, model)

// Few are those that a plain run of the tests tries.
var Few = []string{"excluded-ignored", "pool-drain-29s", "model-excluded-ignored"}

var host = []Mutant{
	{Name: "approve-by-name", Hole: "APR-5, D-1", Profile: "approvals", File: "impl/decide.go",
		Old: "case q.Hash != hash:",
		New: "case false:"},
	{Name: "stale-answer-recorded", Hole: "APR-5, APR-7", Profile: "approvals", File: "impl/approval/decide.go",
		Old: "if t.check(t.decisions[i]) {",
		New: "if true {"},
	{Name: "rejected-asked-again", Hole: "APR-3, ASK-1", Profile: "approvals", File: "impl/view.go",
		Old: "if s.verdict == admission.PendingApproval && s.approval == approval.Pending {",
		New: "if s.verdict == admission.PendingApproval {"},
	{Name: "hash-without-args", Hole: "APR-1", Profile: "approvals", File: "impl/config/interpret.go",
		Old: `case "scope", "extensionName", "description", "disabled", "enabled":`,
		New: `case "scope", "extensionName", "description", "disabled", "enabled", "args":`},
	{Name: "workspace-not-gated", Hole: "APR-1, section 1", Profile: "approvals", File: "impl/assemble.go",
		Old: "return s == fromProject || s == fromWorkspace",
		New: "return s == fromProject"},

	{Name: "empty-list-absent", Hole: "ADM-2", File: "impl/lists.go",
		Old: "if l.HasAllowed {",
		New: "if l.HasAllowed && len(l.Allowed) > 0 {"},
	{Name: "flag-ignored", Hole: "ADM-1", File: "impl/admission/admission.go",
		Old: "if p.Barred(name) {",
		New: "if false {"},
	{Name: "lists-concatenated", Hole: "D-11", File: "impl/admission/admission.go",
		Old: "\t\tif !l.Match(name) {\n\t\t\treturn false\n\t\t}\n\t}\n\treturn true\n",
		New: "\t\tif l.Match(name) {\n\t\t\treturn true\n\t\t}\n\t}\n\treturn len(p.Allowed) == 0\n"},
	{Name: "first-list-wins", Hole: "D-11", File: "impl/admission/admission.go",
		Old: "\t\tif !l.Match(name) {\n\t\t\treturn false\n\t\t}\n",
		New: "\t\treturn l.Match(name)\n"},
	{Name: "excluded-ignored", Hole: "ADM-3", File: "impl/admission/admission.go",
		Old: "case p.Excluded != nil && p.Excluded.Match(s.Name):",
		New: "case false:"},
	{Name: "disabled-ignored", Hole: "section 5", File: "impl/config/interpret.go",
		Old: `e.Disabled = v.get("disabled").isTrue() || v.get("enabled").isFalse()`,
		New: `e.Disabled = v.get("enabled").isFalse()`},
	{Name: "untrusted-still-dials", Hole: "SRC-12, D-21", File: "impl/host.go",
		Old: "\th.trusted = trusted\n",
		New: "\th.trusted = h.trusted || trusted\n"},
	{Name: "trusted-at-start", Hole: "SRC-12, ADM-6", File: "impl/host.go",
		Old: "trusted: o.Trusted, initialized",
		New: "trusted: true, initialized"},

	{Name: "failed-pass-applied", Hole: "CFG-4, D-4", Profile: "reconcile", File: "impl/pass.go",
		Old: "h.passFailed(s) // D-4: what was applied stays what it was",
		New: "s.applied = applied{ok: true, settings: v.settings, lists: &v.lists, trusted: v.base.policy.Trusted}"},
	{Name: "retry-not-armed", Hole: "D-4", Profile: "reconcile", File: "impl/retry.go",
		Old: "\th.armRetry(s, s.retry.passStep)\n",
		New: ""},
	{Name: "first-session-only", Hole: "GATE-6", File: "impl/gate.go",
		Old: "\t\th.gate(s)\n",
		New: "\t\th.gate(s)\n\t\tbreak\n"},
	{Name: "lists-after-the-pass", Hole: "GATE-4", File: "impl/pass.go",
		Old: "h.pushLists(s, &v.lists) // GATE-4",
		New: "defer h.pushLists(s, &v.lists)"},
	{Name: "everything-restarted", Hole: "REC-5", File: "impl/pass.go",
		Old: "case l.conn != nil && l.entry != sv.entry && l.conn.exp.Fingerprint != h.expand(sv.entry).Fingerprint:",
		New: "case l.conn != nil:"},
	{Name: "env-not-in-fingerprint", Hole: "REC-1, section 1", File: "impl/config/expand.go",
		Old: "[...][]KV{s.Env, s.Headers}",
		New: "[...][]KV{s.Headers}"},
	{Name: "admission-not-rechecked-at-dial", Hole: "REC-15", Profile: "reconcile", File: "impl/links.go",
		Old: "if !h.wants(s, c) {",
		New: "if false {"},
	{Name: "two-alive", Hole: "REC-13", Profile: "reconcile", File: "impl/links.go",
		Old: "if sl.end == nil {",
		New: "if true {"},
	{Name: "prompts-not-purged", Hole: "REC-2", Profile: "reconcile", File: "impl/registry.go",
		Old: "\tif r == nil {\n",
		New: "\tif r == nil || len(r.tools) == 0 {\n"},
	{Name: "publication-before-purge", Hole: "REC-3", Profile: "reconcile", File: "impl/links.go",
		Old: "\th.purge(s, l.server)\n",
		New: "\tif why != \"changed\" {\n\t\th.purge(s, l.server)\n\t}\n"},
	{Name: "late-answer-published", Hole: "REC-9", Profile: "reconcile", File: "impl/conn.go",
		Old:  "if c.phase != dialling && c.phase != live {",
		New:  "if c.phase != dialling && c.phase != live && (err != nil || kind == port.OpStart) {",
		Also: []Edit{{"impl/conn.go", "\tstop(&c.bound)\n\tstop(&c.job)\n", "\tstop(&c.bound)\n"}}},
	{Name: "dial-without-bound", Hole: "REC-7", Profile: "reconcile", File: "impl/conn.go",
		Old: "h.lose(c, \"timeout\") // REC-7",
		New: "h.updated(c.holders[0], c.server)"},
	{Name: "filters-ignored", Hole: "REC-6", File: "impl/registry.go",
		Old: "\t\tif !e.Visible(t) {\n",
		New: "\t\tif false && !e.Visible(t) {\n"},
	{Name: "changed-prompts-not-shown", Hole: "REC-11", Profile: "reconcile", File: "impl/registry.go",
		Old: "slices.Equal(r.prompts, o.prompts) && ",
		New: ""},
	{Name: "list-changed-while-dialling-lost", Hole: "REC-11", Profile: "reconcile", File: "impl/refresh.go",
		Old: "if c.phase != dialling && c.phase != live {",
		New: "if c.phase != live {"},
	{Name: "call-not-rechecked", Hole: "CALL-1", Profile: "calls", File: "impl/calls.go",
		Old: "if verdict != admission.Admitted {",
		New: "if verdict != admission.Admitted && (sv == nil || s.registry.servers[server] == nil) {"},

	{Name: "mcp-block-needs-restart", Hole: "WAT-4", File: "impl/settings/schema.go",
		Old: "\t{[]string{\"mcp\", \"allowed\"}, false},\n\t{[]string{\"mcp\", \"excluded\"}, false},\n",
		New: ""},
	{Name: "broken-project-file-empty", Hole: "SRC-6, D-12", Profile: "files", File: "impl/settings/source.go",
		Old: "\tif doc == nil { // SRC-6: bad input is inert\n",
		New: "\tif doc == nil && src.scope == event.Project {\n\t\tdoc = fixed(cache, emptyText)\n\t}\n\tif doc == nil {\n"},
	{Name: "reload-tells-nobody", Hole: "WAT-11", Profile: "files", File: "impl/settings/load.go",
		Old: "b.why != whyStart || b.why == whyTrust {",
		New: "b.why != whyStart && b.why != \"reload\" || b.why == whyTrust {"},
	{Name: "debounce-200", Hole: "WAT-2", Profile: "files", File: "impl/settings/debounce.go",
		Old: "debounceMs    = 300",
		New: "debounceMs    = 200"},
	{Name: "debounce-without-end", Hole: "WAT-2", Profile: "files", File: "impl/settings/debounce.go",
		Old: "debounceMaxMs = 3000",
		New: "debounceMaxMs = 300000"},
}

var pool = []Mutant{
	{Name: "pool-drain-closes-reacquired", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old:  "if c.phase != live || len(c.holders) > 0 || c.drain == nil {",
		New:  "if c.phase != live {",
		Also: []Edit{{"impl/links.go", "\tc.drain()\n", ""}}},
	{Name: "pool-old-drain-counts", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old: "\tc.drain()\n",
		New: ""},
	{Name: "pool-drain-29s", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old: "drainAfter port.Ms = 30000",
		New: "drainAfter port.Ms = 29000"},
	{Name: "pool-drain-on-a-pass", Hole: "POOL-3, D-18", Profile: "pool", File: "impl/links.go",
		Old: "case c.phase == live && s.closed && !h.down && c.slot.key.shared():",
		New: "case c.phase == live && !h.down && c.slot.key.shared():"},
	{Name: "pool-no-drain", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old: "case c.phase == live && s.closed && !h.down && c.slot.key.shared():",
		New: "case false:"},
	{Name: "pool-drain-never-closes", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old: "\t\th.retire(c, \"drained\")\n",
		New: ""},
	{Name: "pool-drain-outlives-shutdown", Hole: "REC-13", Profile: "pool", File: "impl/shutdown.go",
		Old: "\t\t\t\th.retire(c, \"shutdown\")\n",
		New: ""},
	{Name: "pool-holder-not-removed", Hole: "POOL-3", Profile: "pool", File: "impl/links.go",
		Old: "c.holders = slices.DeleteFunc(slices.Clone(c.holders), func(x *session) bool { return x == s })",
		New: "c.holders = slices.DeleteFunc(slices.Clone(c.holders), func(x *session) bool { return x == s && (!s.closed || c.phase != live) })"},
	{Name: "pool-closing-session-keeps-its-dial", Hole: "POOL-7", Profile: "pool", File: "impl/session.go",
		Old: "\t\tif l.conn != nil {\n\t\t\th.release(s, l, \"session_closed\")",
		New: "\t\tif l.conn != nil && l.conn.phase != dialling {\n\t\t\th.release(s, l, \"session_closed\")"},
	{Name: "pool-by-name", Hole: "POOL-2", Profile: "pool", File: "impl/slot.go",
		Old:  "return slotKey{server: server, fingerprint: x.Fingerprint}",
		New:  "return slotKey{server: server, fingerprint: \"any\"}",
		Also: []Edit{{"impl/links.go", "\tinvariant(c.exp.Fingerprint == x.Fingerprint, \"INV-9\", \"%s: joined a connection of another config\", l.server)\n", ""}}},
	{Name: "pool-headers-shared", Hole: "POOL-5", Profile: "pool", File: "impl/slot.go",
		Old: "case x.Spec.Kind == config.Stdio:",
		New: "case x.Spec.Kind == config.Stdio || x.Spec.Kind == config.HTTP:"},
	{Name: "pool-lost-stays-registered", Hole: "POOL-8", Profile: "pool", File: "impl/conn.go",
		Old: "\t\th.purge(s, c.server)\n",
		New: "\t\th.purge(s, c.server)\n\t\tbreak\n"},
	{Name: "pool-leaving-cancels-the-dial", Hole: "POOL-7", Profile: "pool", File: "impl/links.go",
		Old: "if len(c.holders) == 0 && c.phase < ending {",
		New: "if (len(c.holders) == 0 || c.phase == dialling) && c.phase < ending {"},
	{Name: "pool-dial-without-waiters", Hole: "POOL-7", Profile: "pool", File: "impl/links.go",
		Old: "if len(c.holders) == 0 && c.phase < ending {",
		New: "if len(c.holders) == 0 && c.phase < ending && c.phase != dialling {"},
	{Name: "pool-anothers-filter", Hole: "POOL-6", Profile: "pool", File: "impl/registry.go",
		Old: "\tr := register(c, l.entry)\n",
		New: "\tr := register(c, c.holders[0].link(l.server).entry)\n"},
	{Name: "pool-first-waiter-only", Hole: "POOL-6", Profile: "pool", File: "impl/conn.go",
		Old: "\t\t\th.publish(s, l)\n",
		New: "\t\t\th.publish(s, l)\n\t\t\tbreak\n"},
	{Name: "pool-first-holder-refreshed-only", Hole: "REC-11, POOL-6", Profile: "pool", File: "impl/refresh.go",
		Old: "\t\t\t\th.republish(s, l)\n",
		New: "\t\t\t\th.republish(s, l)\n\t\t\t\tbreak\n"},
	{Name: "pool-joined-not-published", Hole: "POOL-2, REC-1", Profile: "pool", File: "impl/links.go",
		Old: "\tif c.phase == live {\n\t\th.publish(s, l)",
		New: "\tif c.phase == live && len(c.holders) == 1 {\n\t\th.publish(s, l)"},
	{Name: "pool-refused-for-all", Hole: "CFG-4", Profile: "pool", File: "impl/registry.go",
		Old: "if len(l.conn.holders) == 1 {",
		New: "if len(l.conn.holders) > 0 {"},
}

var model = []Mutant{
	{Name: "model-excluded-ignored", Hole: "ADM-3", File: "model/decide.go",
		Old: "func (e *Effective) excluded(server string) bool { return matches(e.lists.Excluded, server) }",
		New: "func (e *Effective) excluded(server string) bool { return false }"},
	{Name: "model-empty-list-absent", Hole: "ADM-2", File: "model/derive.go",
		Old: "if l.HasAllowed {",
		New: "if l.HasAllowed && len(l.Allowed) > 0 {"},
	{Name: "model-approve-by-name", Hole: "APR-1", Profile: "approvals", File: "model/derive.go",
		Old: "return ok && r.Config == es.Config.ID && r.Approved",
		New: "return ok && r.Approved"},
	{Name: "model-rejected-asked", Hole: "APR-3", Profile: "approvals", File: "model/decide.go",
		Old: "es.Verdict, es.Strict = PendingApproval, !es.Rejected",
		New: "es.Verdict, es.Strict = PendingApproval, true"},
	{Name: "model-bad-settings-allow", Hole: "SRC-7", Profile: "files", File: "model/layer.go",
		Old: "if scope != Project { // SRC-7",
		New: "if false { // SRC-7"},
	{Name: "model-debounce-200", Hole: "WAT-2", Profile: "files", File: "model/window.go",
		Old: "debounceMs    Ms = 300 ",
		New: "debounceMs    Ms = 200 "},
	{Name: "model-drain-29s", Hole: "POOL-3", Profile: "pool", File: "model/conn.go",
		Old: "drainMs      Ms = 30000",
		New: "drainMs      Ms = 29000"},
	{Name: "model-headers-shared", Hole: "POOL-5", Profile: "pool", File: "model/conn.go",
		Old: "return m.launch.Mode == Pool && cfg.Transport == Stdio }",
		New: "return m.launch.Mode == Pool }"},
}
