package model

import (
	"fmt"
	"testing"
)

// crowd is a Memory with n servers over five layers, two of the lists with globs, and two sessions; one server in four is
// gated and approved.
func crowd(t *Table, n int) *Memory {
	m := &Memory{Launch: t.launch, Trusted: true, Records: map[string]Record{}}
	var docs [Approvals]*Value
	for s := Defaults; s < Approvals; s++ {
		servers := &Value{Kind: Object}
		for i := int(s); i < n; i += int(Approvals) {
			name := fmt.Sprintf("server-%05d", i)
			servers.Members = append(servers.Members, Member{name, Obj(
				Member{"command", Str("srv")}, Member{"args", Strs(name, "--port", "80")},
				Member{"env", Obj(Member{"TOKEN", Str("$TOKEN")})})})
		}
		docs[s] = Obj(Member{"mcpServers", servers})
	}
	list := func(key string, names ...string) Member { return Member{"mcp", Obj(Member{key, Strs(names...)})} }
	docs[Defaults].Members = append(docs[Defaults].Members, list("allowed", "server-*", "x?z"))
	docs[User].Members = append(docs[User].Members, list("allowed", "a", "b", "*-0*", "z*"))
	docs[Workspace].Members = append(docs[Workspace].Members, list("excluded", "old", "older"))
	docs[System].Members = append(docs[System].Members, list("excluded", "server-99999"))
	for s := range docs {
		m.Files[s], _ = t.Load(Scope(s), nil, Content{State: Good, Value: docs[s]})
		if s := Scope(s); s == Project || s == Workspace {
			for _, nc := range m.Files[s].Layer.Servers {
				m.Records[nc.Name] = Record{nc.Config.ID, true}
			}
		}
	}
	m.Sessions = []*SessionState{{ID: "s1"}, {ID: "s2"}}
	return m
}

func newTable() *Table { return NewTable(&Launch{Env: map[string]string{"TOKEN": "secret-token"}}) }

// BenchmarkDecide: at least 5 M/s and no allocation with 5 layers, 2 glob lists, 100 servers, 2 sessions.
func BenchmarkDecide(b *testing.B) {
	m := crowd(newTable(), 100)
	e := Derive(m)
	sessions := []SessionID{"s1", "s2"}
	names := e.Names("s1")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if Decide(e, sessions[i&1], names[i%len(names)]) != Admitted {
			b.Fatal("not admitted")
		}
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
}

// BenchmarkDerive: once per load. A changed record leaves every layer as it is; a changed file does not.
func BenchmarkDerive(b *testing.B) {
	for _, n := range []int{5, 100, 1000, 10000} {
		t := newTable()
		m := crowd(t, n)
		b.Run(fmt.Sprintf("records/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Derive(m)
			}
		})
		b.Run(fmt.Sprintf("file/%d", n), func(b *testing.B) {
			user := [2]*Loaded{m.Files[User]}
			user[1], _ = t.Load(User, user[0], Content{State: Good, Value: Obj(Member{"mcpServers", Obj(Member{"new", Obj(Member{"command", Str("n")})})})})
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				m.Files[User] = user[i&1]
				Derive(m)
				i++
			}
		})
	}
}

// BenchmarkLoad: the same Values again, as another play of a trace loads them.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{5, 1000, 10000} {
		t := newTable()
		old := crowd(t, n).Files[User]
		doc := Obj(old.Memory.Members[0], Member{"mcp", Obj(Member{"allowed", Strs("*")})})
		b.Run(fmt.Sprintf("known/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t.Load(User, old, Content{State: Good, Value: doc})
			}
		})
		text := doc.Get("mcpServers")
		b.Run(fmt.Sprintf("new/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fresh := newTable()
				fresh.Load(User, nil, Content{State: Good, Value: Obj(Member{"mcpServers", text})})
			}
		})
	}
}
