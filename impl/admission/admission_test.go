package admission

import "testing"

func TestTheFirstConditionThatHoldsDecides(t *testing.T) {
	list := func(names ...string) *List { return NewList(names) }
	open := Policy{Trusted: true}
	in := Subject{Name: "a", InMap: true}
	with := func(f func(*Subject)) Subject { s := in; f(&s); return s }
	gated := with(func(s *Subject) { s.Gated = true })
	for _, c := range []struct {
		rule string
		p    Policy
		s    Subject
		want Verdict
	}{
		{"row 1", open, Subject{Name: "a", Removed: true}, Removed},
		{"row 2", open, Subject{Name: "a"}, Unknown},
		{"ADM-7 re-adding heals", open, with(func(s *Subject) { s.Removed = true }), Admitted},
		{"row 3 before row 4", Policy{Trusted: true, Allowed: []*List{list()}}, with(func(s *Subject) { s.Disabled = true }), Disabled},
		{"ADM-2 an empty list denies", Policy{Trusted: true, Allowed: []*List{list()}}, in, NotAllowed},
		{"ADM-4 a list of empty strings denies", Policy{Trusted: true, Allowed: []*List{list("", "")}}, in, NotAllowed},
		{"ADM-2 a flag without names denies", Policy{Trusted: true, Flag: list()}, in, NotAllowed},
		{"ADM-1 no list but the flag: the flag in full", Policy{Trusted: true, Flag: list("a")}, in, Admitted},
		{"ADM-1 a list never widens past the flag", Policy{Trusted: true, Flag: list("b"), Allowed: []*List{list("*")}}, in, NotAllowed},
		{"ADM-1 a list narrows within the flag", Policy{Trusted: true, Flag: list("*"), Allowed: []*List{list("b")}}, in, NotAllowed},
		{"D-5 both match by one function, globs included", Policy{Trusted: true, Flag: list("?"), Allowed: []*List{list("a*")}}, in, Admitted},
		{"D-11 every layer's list must match", Policy{Trusted: true, Allowed: []*List{list("a"), list("b")}}, in, NotAllowed},
		{"ADM-3 excluded beats allowed", Policy{Trusted: true, Allowed: []*List{list("a")}, Excluded: list("a")}, in, Excluded},
		{"row 4 before row 5", Policy{Trusted: true, Allowed: []*List{list("b")}, Excluded: list("a")}, in, NotAllowed},
		{"row 6", open, gated, PendingApproval},
		{"row 5 before row 6", Policy{Trusted: true, Excluded: list("a")}, gated, Excluded},
		{"row 6 before row 7", Policy{}, gated, PendingApproval},
		{"ASK-5", Policy{Trusted: true, ApprovalsOff: true}, gated, Admitted},
		{"approved", open, with(func(s *Subject) { s.Gated, s.Approved = true, true }), Admitted},
		{"row 7", Policy{}, in, Untrusted},
		{"row 8", open, in, Admitted},
	} {
		if got := c.p.Decide(c.s); got != c.want {
			t.Errorf("%s: %v, want %v", c.rule, got, c.want)
		}
	}
}

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "A", false}, {"a", "ab", false}, {"", "", true}, {"", "a", false},
		{"*", "", true}, {"*", "a/b::c", true}, {"a*", "a", true}, {"a*", "ba", false},
		{"*a", "banana", true}, {"*an*a", "banana", true}, {"*x*", "banana", false},
		{"?", "é", true}, {"?", "", false}, {"??", "日本", true}, {"?", "日本", false}, {"a?c", "a\U0001F600c", true},
		{"*?", "", false}, {"*?b", "ab", true}, {"**", "x", true}, {"a**b", "ab", true},
		{"é", "e\u0301", false}, {"[a]", "a", false}, {"[a]", "[a]", true}, {".*", "a", false},
		{"*aab", "aaaaaaaab", true}, {"a*a*a*b", "aaaaaaaaaaaaaaaaaaaac", false}, {"\\*", "*", false}, {"\\*", "\\x", true},
	} {
		if got := Glob(c.pattern, c.name); got != c.want {
			t.Errorf("Glob(%q, %q) = %v", c.pattern, c.name, got)
		}
		if got := NewList([]string{c.pattern}).Match(c.name); got != (c.want && c.pattern != "") {
			t.Errorf("list of %q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestAListIsASet(t *testing.T) {
	got := NewList([]string{"b", "", "a", "b", "*"}).Names()
	if len(got) != 3 || got[0] != "*" || got[1] != "a" || got[2] != "b" {
		t.Errorf("%q", got)
	}
	if NewList(nil).Match("a") || (*List)(nil).Names() != nil {
		t.Error("an empty list matches nothing")
	}
}

func TestDecideAllocatesNothing(t *testing.T) {
	p := &Policy{Trusted: true, Flag: NewList([]string{"s*"}), Allowed: []*List{NewList([]string{"*1", "srv-2"})}, Excluded: NewList([]string{"x"})}
	s := Subject{Name: "srv-11", InMap: true}
	if n := testing.AllocsPerRun(100, func() { p.Decide(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
