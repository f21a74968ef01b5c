package settings

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"mcpsim/impl/event"
	"mcpsim/impl/port"
)

const (
	serverA = `{"mcpServers":{"a":{"command":"x"}}}`
	serverB = `{"mcpServers":{"b":{"command":"y"}}}`
)

func TestStartArmsThenReads(t *testing.T) {
	w := newWorld(t)
	w.put(userFile, serverA)
	w.put(systemFile, serverB)
	w.start()
	w.expect("events", w.events(), "0 watch /home/.qwen, 0 watch /project, 0 watch /project/.qwen, 0 load user ok start, 0 load project missing start, 0 load workspace missing start, 0 load system ok start, 0 load approvals missing start")
	w.expect("layers", w.layers(), "user: a=x; system: b=y")
	w.expect("approvals", strings.Join(w.approvals, ","), "|true")
	w.s.Start(nil) // WAT-10
	w.s.Stop()
	w.s.Stop()
	w.expect("watches", w.dirs(), "")
	w.expect("busy", fmt.Sprint(w.s.Busy()), "[]")
	w.save(userFile, serverB)
	w.advance(10000)
	w.expect("after stop", w.events(event.Load, event.Wake), "")
}

func TestDebounce(t *testing.T) { // WAT-2
	w := newWorld(t)
	w.start()
	w.events()
	w.save(userFile, serverA)
	w.advance(200)
	w.save(projectFile, serverB)
	w.event("project/.mcp.json.tmp", port.FSCreate)
	w.advance(299)
	w.expect("early", w.events(event.Load), "")
	w.advance(1)
	w.expect("late", w.events(), "500 load user ok watcher, 500 load project ok watcher, 500 notify user created project created")
	from := w.now
	for range 40 {
		w.event(userFile, port.FSChmod)
		w.advance(100)
	}
	w.expect("no later than 3 s", w.events(event.Load), fmt.Sprintf("%d load user ok watcher", from+3000))
	w.advance(300)
	w.expect("silent", w.events(event.Notify, event.Load), fmt.Sprintf("%d load user ok watcher", from+3900+300))
}

func TestOnlyADifferenceNotifies(t *testing.T) { // WAT-3, WAT-4, INV-19
	w := newWorld(t)
	w.put(userFile, `{"a":1,"mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`)
	w.start()
	for _, x := range []struct{ text, want string }{
		{"\xEF\xBB\xBF{ // c\r\n\"mcpServers\":{\"a\":{\"env\":{\"B\":\"2\",\"A\":\"1\"},\"command\":\"x\",}},\r\n\"a\":1.0}", ""},
		{`{"a":2,"mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "notify user modified"},
		{`{"a":2,"proxy":"p","mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "restart_pending user proxy"},
		{`{"a":2,"proxy":"p","env":{"X":"1"},"mcp":{"serverCommand":"s","allowed":[]},"mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`,
			"restart_pending user env,mcp.serverCommand,proxy, notify user modified"},
		{`{"a":2,"mcp":{"allowed":[],"o":1},"mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "restart_pending user mcp"},
		{`{"a":2,"mcp.serverCommand":"s","mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "restart_pending user , notify user modified"},
		{`{"a":2,"mcp.serverCommand":"s","security":{"auth":{"k":"v"}},"mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "restart_pending user security.auth"},
		{`{`, ""},
		{`{"a":2,"mcp.serverCommand":"s","mcpServers":{"a":{"command":"x","env":{"A":"1","B":"2"}}}}`, "restart_pending user "},
	} {
		w.events()
		w.save(userFile, x.text)
		w.advance(300)
		got := strings.ReplaceAll(w.events(event.Notify, event.RestartPending), fmt.Sprint(w.now)+" ", "")
		w.expect(x.text, got, x.want)
	}
	w.remove(userFile)
	w.event(userFile, port.FSRemove)
	w.advance(300)
	w.expect("removed", w.events(event.Notify), fmt.Sprintf("%d notify user deleted", w.now))
}

func TestBadInputIsInert(t *testing.T) { // SRC-6
	w := newWorld(t)
	w.put(userFile, serverA)
	w.put(projectFile, serverB)
	w.start()
	for _, x := range []struct{ text, notices string }{
		{"", "unparsable user"}, {"{", "unparsable user"}, {"[]", "not_object user"}, {"\xff\xfe{\x00}\x00", "unparsable user"},
		{`{"mcpServers":[]}`, "wrong_type user mcpServers"},
	} {
		w.save(userFile, x.text)
		w.advance(300)
		w.expect(x.text, w.layers(), "user: a=x; project: b=y")
		w.expect(x.text, w.standing(), x.notices)
	}
	w.remove(userFile)
	w.mkdir(userFile)
	w.event(userFile, port.FSCreate)
	w.advance(300)
	w.expect("directory", w.layers()+" "+w.standing(), "user: a=x; project: b=y unreadable user; wrong_type user mcpServers")
	w.save(projectFile, "")
	w.advance(300)
	w.expect("D-12", w.layers(), "user: a=x; project: b=y")
	w.remove(userFile)
	w.remove(projectFile)
	w.event(userFile, port.FSRemove)
	w.event(projectFile, port.FSRemove)
	w.advance(300)
	w.expect("gone", w.layers()+w.standing(), "")
}

func TestBadSettingsAtStartDeny(t *testing.T) { // SRC-7
	w := newWorld(t)
	w.put(userFile, "{")
	w.put(projectFile, "{")
	w.put(workspaceFile, `{"mcp":{"allowed":"x","excluded":7},"mcpServers":7}`)
	w.start()
	w.expect("layers", w.layers(), "user: allowed=; workspace: allowed=")
	w.expect("notices", w.standing(), "unparsable project; unparsable user; wrong_type workspace mcp.allowed; wrong_type workspace mcp.excluded; wrong_type workspace mcpServers")
	w.events()
	w.save(userFile, "{}")
	w.remove(projectFile)
	w.event(projectFile, port.FSRemove)
	w.save(workspaceFile, `{"mcp":{"allowed":["a"],"excluded":["b"]},"mcpServers":{"a":{"command":"x"}}}`)
	w.advance(300)
	w.expect("layers", w.layers()+w.standing(), "workspace: a=x allowed=a excluded=b")
	w.expect("notified", w.events(event.Notify), "300 notify user modified workspace modified")
	w.save(workspaceFile, `{"mcp":{"allowed":{},"excluded":"x"},"mcpServers":{"a":{"command":"z"}}}`)
	w.advance(300)
	w.expect("last good of each key", w.layers(), "workspace: a=z allowed=a excluded=b") // SRC-8
	w.save(workspaceFile, `{"mcp":7}`)
	w.advance(300)
	w.expect("mcp itself", w.layers()+" "+w.standing(), "workspace: allowed=a excluded=b restart workspace mcp; wrong_type workspace mcp")
}

func TestBootstrapMovesInAndOut(t *testing.T) { // WAT-7
	w := newWorld(t)
	w.remove("project/.qwen")
	w.remove("home")
	w.start()
	w.expect("ancestors", w.dirs(), " /project")
	w.events()
	w.put(workspaceFile, serverA)
	w.event("project/.qwen", port.FSCreate)
	w.expect("moved in", w.events(), "0 wake workspace, 0 watch /project/.qwen")
	w.advance(300)
	w.expect("loaded", w.events(event.Load, event.Notify), "300 load workspace ok watcher, 300 notify workspace created")
	w.put(userFile, serverB)
	w.event("home", port.FSCreate)
	w.expect("moved in by two names", w.events(event.Watch, event.Unwatch), "300 watch /home/.qwen, 300 unwatch ")
	w.advance(300)
	w.expect("both sources there", w.events(event.Load), "600 load user ok watcher, 600 load approvals missing watcher")
	w.remove("project/.qwen")
	w.self("project/.qwen", port.FSRemove)
	w.expect("moved out", w.dirs(), "/home/.qwen /project")
	w.mkdir("project/.qwen")
	w.event("project/.qwen", port.FSCreate)
	w.expect("in again", w.dirs(), "/home/.qwen /project /project/.qwen")
	w.advance(300)
	w.expect("layers", w.layers(), "user: b=y")
	opened := w.fs.opened
	w.remove("project/.qwen") // rename over: the parent alone says so
	w.mkdir("project/.qwen")
	w.event("project/.qwen", port.FSCreate)
	w.expect("the new directory is watched, not the old one", fmt.Sprint(w.fs.opened-opened, " ", w.dirs()), "1 /home/.qwen /project /project/.qwen")
	if _, err := os.Stat(w.path("etc")); err == nil {
		t.Error("the watcher creates nothing")
	}
}

func TestLinksOnTheWay(t *testing.T) { // WAT-1, WAT-8
	w := newWorld(t)
	w.put("v1/settings.json", serverA)
	w.put("v2/settings.json", serverB)
	w.link("../../v1", "home/.qwen/..data")
	w.link("..data/settings.json", userFile)
	w.start()
	w.expect("watched", w.dirs(), "/home/.qwen /project /project/.qwen /v1")
	w.expect("layers", w.layers(), "user: a=x")
	w.events()
	w.save("v1/settings.json", serverB)
	w.save("v1/other.json", serverB)
	w.advance(300)
	w.expect("target edited", w.events(event.Load, event.Notify), "300 load user ok watcher, 300 notify user modified")
	w.put("v2/settings.json", serverA)
	w.link("../../v2", "home/.qwen/..data")
	w.event("home/.qwen/..data", port.FSCreate)
	w.expect("the watch moved with the link", w.dirs(), "/home/.qwen /project /project/.qwen /v2")
	w.advance(300)
	w.expect("swapped", w.events(event.Load, event.Notify), "600 load user ok watcher, 600 notify user modified")
	w.remove("v2")
	w.self("v2", port.FSRemove)
	w.expect("dangling: its way is watched", w.dirs(), " /home/.qwen /project /project/.qwen")
	w.advance(300)
	w.expect("dangling", w.layers()+" "+w.standing(), "user: a=x unreadable user")
	w.put("v2/settings.json", serverB)
	w.event("v2", port.FSCreate)
	w.advance(300)
	w.expect("there again", w.layers()+w.standing(), "user: b=y")
	w.link("settings.json", userFile)
	w.event(userFile, port.FSCreate)
	w.advance(300)
	w.expect("loop", w.layers()+" "+w.standing(), "user: b=y unreadable user")
}

func TestLinkedDirectoryIsOneWatch(t *testing.T) {
	w := newWorld(t)
	w.remove("home/.qwen")
	w.link("../project/.qwen", "home/.qwen")
	w.put(workspaceFile, serverA)
	w.start()
	w.expect("one watch per directory", w.dirs(), "/home /project /project/.qwen")
	w.events()
	w.save(workspaceFile, serverB)
	w.advance(300)
	w.expect("both sources", w.events(event.Load), "300 load user ok watcher, 300 load workspace ok watcher")
}

func TestBrokenWatchIsPolled(t *testing.T) { // WAT-9
	w := newWorld(t)
	w.fs.fail[w.path("home/.qwen")] = errors.New("no space left")
	w.start()
	w.expect("reported once for two sources", w.standing(), "watch user")
	w.expect("polled", fmt.Sprint(w.s.Polled()), "[user approvals]")
	w.events()
	w.put(userFile, serverA)
	w.advance(2000)
	w.expect("poll", w.events(event.Load, event.Notify), "2000 load user ok poll, 2000 notify user created, 2000 load approvals missing poll")
	if w.s.PolledOnceSince(2000) || !w.s.PolledOnceSince(1999) {
		t.Error("polled at 2000")
	}
	w.expect("settled", fmt.Sprint(w.s.Busy()), "[]")
	w.put(approvalsFile, "{}")
	delete(w.fs.fail, w.path("home/.qwen"))
	w.advance(2000)
	w.expect("the watch stands: what nobody saw is loaded", w.events(), "4000 watch /home/.qwen, 4000 load user ok poll, 4000 load approvals ok poll, 4000 notify approvals created")
	w.expect("cleared", w.standing()+fmt.Sprint(w.s.Polled()), "[]")
	w.advance(10000)
	w.expect("no more polls", w.events(), "")
}

func TestUnreadableIsPolled(t *testing.T) {
	w := newWorld(t)
	w.mkdir(workspaceFile)
	w.start()
	w.expect("polled without a report", w.standing()+fmt.Sprint(w.s.Polled()), "unreadable workspace[workspace]")
	w.remove(workspaceFile)
	w.put(workspaceFile, serverA)
	w.events()
	w.advance(2000)
	w.expect("read", w.events()+w.standing()+fmt.Sprint(w.s.Polled()), "2000 load workspace ok poll, 2000 notify workspace modified[]")
	w.save(workspaceFile, "{")
	w.advance(300)
	w.expect("what cannot be parsed waits for its event", fmt.Sprint(w.s.Polled()), "[]")
}

func TestOverflowLoadsEverything(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.events()
	w.put(userFile, serverA)
	w.fs.watches[0].h(port.FSEvent{Overflow: true})
	w.expect("armed anew", w.events(event.Watch), "0 watch /home/.qwen, 0 watch /project, 0 watch /project/.qwen")
	w.advance(300)
	w.expect("loaded", w.events(event.Load, event.Notify), "300 load user ok watcher, 300 load project missing watcher, 300 load workspace missing watcher, 300 load approvals missing watcher, 300 notify user created")
	w.fs.watches[0].h(port.FSEvent{Err: errors.New("x")})
	w.advance(300)
	w.expect("an error too", w.events(event.Load), "600 load user ok watcher, 600 load project missing watcher, 600 load workspace missing watcher, 600 load approvals missing watcher")
}

func TestLoadsDoNotOverlap(t *testing.T) { // WAT-11
	w := newWorld(t)
	w.start()
	w.events()
	w.held = true
	order := ""
	w.s.LoadAll("reload", func() { order += "reload " })
	w.save(userFile, serverA)
	w.advance(300)
	w.s.LoadApprovals(func() { order += "decision " })
	w.s.LoadAll("reload", func() { order += "again" })
	w.expect("busy", fmt.Sprint(w.s.Busy()), "[load reload load watcher load decision load reload]")
	w.put(userFile, serverB)
	w.release()
	w.advance(0)
	w.expect("order", order, "reload decision again")
	w.expect("notified once", w.events(event.Notify), "300 notify user created")
	w.expect("layers", w.layers(), "user: b=y")
	w.save(userFile, serverA)
	w.s.LoadAll("reload", nil)
	w.advance(0)
	w.expect("the reload has loaded what the event was about", w.events(event.Load, event.Notify)+fmt.Sprint(w.s.Busy()),
		"300 load user ok reload, 300 load project missing reload, 300 load workspace missing reload, 300 load system missing reload, 300 load approvals missing reload, 300 notify user modified[]")
}

func TestChangeBehindALoadInFlight(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.save(userFile, serverA)
	w.held = true
	w.advance(300)
	w.save(userFile, serverB) // the read is asked for and has not run
	w.release()
	w.events()
	w.advance(300)
	w.expect("loaded again", w.events(event.Load), "600 load user ok watcher")
	w.expect("layers", w.layers(), "user: b=y")
}

func TestApprovalsAreComparedByContent(t *testing.T) {
	w := newWorld(t)
	w.put(approvalsFile, "1")
	w.start()
	w.events()
	w.save(approvalsFile, "1")
	w.advance(300)
	w.expect("the same", w.events(event.Load, event.Notify), "300 load approvals ok watcher")
	w.put(approvalsFile, "2")
	w.s.ApprovalsWritten([]byte("2"))
	w.event(approvalsFile, port.FSCreate)
	w.advance(300)
	w.expect("its own", w.events(event.Load, event.Notify), "600 load approvals ok watcher")
	w.save(approvalsFile, "3")
	w.save(userFile, serverA)
	w.advance(300)
	w.expect("another's", w.events(event.Load, event.Notify), "900 load user ok watcher, 900 load approvals ok watcher, 900 notify user created approvals modified")
	w.expect("passed on", strings.Join(w.approvals, ","), "1|false,3|false")
}

func TestTrust(t *testing.T) { // SRC-12
	w := newWorld(t)
	w.put(userFile, serverA)
	w.put(projectFile, serverB)
	w.put(workspaceFile, "{")
	w.start(func(o *Options) { o.Trusted = false })
	w.expect("untrusted", w.layers()+w.standing()+" "+w.dirs(), "user: a=x /home/.qwen")
	w.events()
	done := 0
	w.s.SetTrusted(true, func() { done++ })
	w.expect("not before it is read", w.layers(), "user: a=x")
	w.advance(0)
	w.expect("trusted", w.layers()+" "+w.standing(), "user: a=x; project: b=y; workspace: allowed= unparsable workspace")
	w.expect("notified", w.events(event.Notify), "0 notify project created")
	w.save(projectFile, serverA)
	w.s.SetTrusted(false, func() { done++ })
	w.expect("at once", w.layers()+w.standing()+" "+w.dirs(), "user: a=x /home/.qwen")
	w.advance(1000)
	w.expect("the event is forgotten", w.events(event.Notify, event.Load), "0 load user ok trust, 0 load system missing trust, 0 load approvals missing trust, 0 notify project deleted")
	w.expect("done", fmt.Sprint(done), "2")
}

func TestTrustWithdrawnWhileStarting(t *testing.T) {
	w := newWorld(t)
	w.put(workspaceFile, serverA)
	w.held = true
	w.start()
	w.s.SetTrusted(false, nil)
	w.expect("watched", w.dirs(), "/home/.qwen")
	w.release()
	w.advance(0)
	w.expect("layers", w.layers()+w.standing(), "")
	w.remove("project/.qwen")
	w.self("project/.qwen", port.FSRemove)
	w.expect("nothing is watched there", w.dirs()+fmt.Sprint(w.s.Busy()), "/home/.qwen[]")
}

func TestBareReadsNothing(t *testing.T) { // SRC-13
	w := newWorld(t)
	w.put(userFile, "{")
	w.start(func(o *Options) { o.Bare = true })
	n := 0
	w.s.LoadAll("reload", func() { n++ })
	w.s.LoadApprovals(func() { n++ })
	w.s.SetTrusted(false, func() { n++ })
	w.advance(0)
	w.expect("nothing", w.events()+w.layers()+w.standing()+w.dirs()+fmt.Sprint(n, w.approvals), "0 notify3 []")
}

func TestListeners(t *testing.T) { // WAT-6
	w := newWorld(t)
	w.start()
	var slow func(error)
	var got []string
	say := func(name string, c []event.Change) { got = append(got, fmt.Sprint(w.now, name, c)) }
	w.s.Subscribe("thrower", func(c []event.Change, done func(error)) { say("thrower", c); panic("x") })
	leave := w.s.Subscribe("slow", func(c []event.Change, done func(error)) { say("slow", c); slow = done })
	w.s.Subscribe("fast", func(c []event.Change, done func(error)) { say("fast", c); done(nil); done(errors.New("twice")) })
	check := func(want ...string) {
		t.Helper()
		w.expect("deliveries", strings.Join(got, " "), strings.Join(want, " "))
		got = nil
	}
	w.save(userFile, serverA)
	w.advance(300)
	check("300thrower[{user created}]", "300slow[{user created}]", "300fast[{user created}]")
	w.expect("thrown", w.standing(), "listener thrower")
	w.expect("busy", fmt.Sprint(w.s.Busy()), "[listener slow]")
	w.save(userFile, serverB)
	w.save(projectFile, serverA)
	w.advance(300)
	check("600thrower[{user modified} {project created}]", "600fast[{user modified} {project created}]")
	w.remove(userFile)
	w.event(userFile, port.FSRemove)
	w.advance(29699)
	check("900thrower[{user deleted}]", "900fast[{user deleted}]")
	w.expect("not yet", w.standing(), "listener thrower")
	w.advance(1)
	w.expect("slow", w.standing()+fmt.Sprint(w.s.Busy()), "listener slow; listener thrower[]")
	first := slow
	first(nil)
	check("30300slow[{user deleted} {project created}]")
	first(nil) // a late second word of the first delivery
	if w.s.Busy()[0] != "listener slow" {
		t.Error("the second delivery runs")
	}
	slow(errors.New("y"))
	leave()
	leave()
	w.expect("unsubscribed", w.standing(), "listener thrower")
	w.save(userFile, serverB)
	w.advance(300)
	check("30600thrower[{user created}]", "30600fast[{user created}]")
}

func TestNoticesFollowTheDocument(t *testing.T) {
	w := newWorld(t)
	w.put(projectFile, "{\n\"servers\":{}}")
	w.start()
	w.expect("no servers", w.standing(), "no_servers project")
	w.save(projectFile, `{"mcpServers":{"a":{"command":"x","command":"y","alwaysAllow":["t"]},"b":{}}}`)
	w.advance(300)
	w.expect("inside", w.standing(), "duplicate project a mcpServers.a.command; ignored project a; malformed project b")
	w.save(projectFile, "{")
	w.advance(300)
	w.expect("they stand while memory holds it", w.standing(), "duplicate project a mcpServers.a.command; ignored project a; malformed project b; unparsable project")
	w.remove(projectFile)
	w.event(projectFile, port.FSRemove)
	w.advance(300)
	w.expect("gone", w.standing(), "")
}
