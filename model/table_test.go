package model

import "testing"

func TestEntriesAreInternedByIdentityAndByContent(t *testing.T) {
	tab := newTable()
	v := js(`{"command":"c","description":"one"}`)
	a, _ := tab.Entry("s", v, false)
	if b, _ := tab.Entry("s", v, false); a != b {
		t.Error("one Value, two configs")
	}
	b, _ := tab.Entry("s", js(`{"command":"c","description":"two"}`), false)
	if a == b || a.ID != b.ID {
		t.Error("another description is another config with the same id") // GATE-2, not consent
	}
	if tab.ByID(a.ID).ID != a.ID || tab.ByFp(a.Fp).Fp != a.Fp || tab.ByID(0) != nil || tab.ByID(99) != nil || tab.ByFp(99) != nil {
		t.Error("look-up by number")
	}
	if n := testing.AllocsPerRun(100, func() { tab.Entry("s", v, false) }); n != 0 {
		t.Errorf("%v allocations for a known entry", n)
	}
}

func TestWhatAHostReportsGetsTheIDOfTheEntry(t *testing.T) {
	tab := newTable()
	a, _ := tab.Entry("s", js(`{"type":"http","url":"u","headers":{"A":1},"args":[],"description":"d"}`), false)
	if id := tab.Intern(js(`{"headers":{"A":"1"},"httpUrl":"u"}`)); id != a.ID {
		t.Errorf("%d is not %d", id, a.ID)
	}
	late := tab.Intern(js(`{"command":"late"}`)) // reported before a source holds it
	if b, _ := tab.Entry("s", js(`{"command":"late"}`), false); b.ID != late || tab.ByID(late).Fp != b.Fp {
		t.Error("an entry that was reported first has another id")
	}
	odd := tab.Intern(js(`{"no transport":1}`))
	if odd == 0 || odd == a.ID || odd == late || tab.Intern(js(`{"no transport":1}`)) != odd {
		t.Error("what is no entry has no id of its own")
	}
	if tab.Intern(nil) != 0 || tab.FpOf(0) != 0 {
		t.Error("nil is something")
	}
}

func TestServersOfAMap(t *testing.T) {
	for _, x := range []struct {
		name, text string
		servers    string
		probs      []Problem
	}{
		{"sorted by name", `{"b":{"command":"c"},"a":{"command":"c"},"B":{"command":"c"}}`, "B a b ", nil},
		{"under mcpServers", `{"mcpServers":{"a":{"command":"c"}},"x":{"command":"c"}}`, "a ", nil},
		{"sdk is allowed", `{"a":{"type":"sdk"}}`, "a ", nil},
		{"malformed costs no other", `{"a":{},"b":{"command":"c"}}`, "b ", []Problem{{"a", "", "malformed"}}},
		{"bad name", `{"\ud800":{"command":"c"},"b":{"command":"c"}}`, "b ", []Problem{{"\uFFFD", "", "malformed"}}},
		{"duplicates", `{"a":{"command":"c"},"a":{"command":"d","env":{"X":"1","X":"2"}}}`, "a ",
			[]Problem{{"a", "a", "duplicate"}, {"a", "a.env.X", "duplicate"}}},
		{"no object", `[]`, "", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			list, probs := newTable().Servers(js(x.text), true)
			got := ""
			for _, nc := range list {
				got += nc.Name + " "
			}
			if got != x.servers || !sameProblems(probs, x.probs) {
				t.Errorf("%q %v", got, probs)
			}
		})
	}
	if list, _ := newTable().Servers(nil, true); list != nil {
		t.Error("nil is a map")
	}
}
