// Package eventlog writes and reads what happened in one run of a host: the log that `mcpsim judge` takes, and the events
// and snapshots that adapters share with it (design, "The events").
//
// A log is NDJSON. The first line is a header as a trace has it, with one more key, "log". Each further line holds "t", whole
// milliseconds since the start, never less than the line before, and one of: an input, an event, a snapshot, a mark. Keys that
// are not named here are errors. What happened in one instant stands in the order in which it happened.
//
//	{"mcpsim":1,"log":{"version":1,"host":"my host 1.2","clock":"virtual"},"title":"…","launch":{"mode":"pool","sessions":["s1"]}}
//	{"t":0,"input":"server","key":"srv-a","behaviour":{"tools":["x"]}}
//	{"t":0,"input":"file","scope":"user","state":"good","content":{"mcpServers":{"a":{"command":"srv-a"}}}}
//	{"t":0,"event":"load","scope":"user","outcome":"ok","why":"start"}
//	{"t":0,"event":"dial","sessions":["s1"],"server":"a","conn":1,"config":{"command":"srv-a"}}
//	{"t":40,"settled":true,"snapshot":{"sessions":[…]}}
//	{"t":2000,"passed":true}
//
// # Header
//
// "launch" says how the host was started. "servers", "files", "records" and "faults" are what is there at the start; a log may
// give them as input lines at 0 instead. "log" may have:
//
//	version   1
//	host      whose log it is
//	clock     "virtual": reactions are exact to the millisecond; absent: real time
//	slack_ms  how late a reaction may be (real time: 250)
//	events    the kinds of event that this host writes. What is listed and missing is silence, and judged. Without the list
//	          a kind that occurs nowhere in the log counts as not written, and what needs it as not checkable
//	woken     whether the log tells which file events reached the host ("woken"); absent: whether it does anywhere
//	shows     the parts of a snapshot that this host shows: tools prompts resources text error file shadows notices hint calls
//	          pool records dials processes. Absent: those that occur anywhere in the log
//
// # Inputs: what the world did
//
//	file           scope state [content | text] [link_text]   what a read of the source gives from now on; state is good (a
//	               document), missing, unreadable, unparsable, not_object. With "text", the file's text, state may be absent
//	read           scope, as file   what the host's read got just now; its load follows. Without it a load got what "file" said
//	records        state [records:[{server,config,approved}]] [elsewhere]   what a read of the approvals file gives from now on;
//	               elsewhere: another process, or a person, wrote it
//	woken          scope   a file event that concerns the source was delivered to the host
//	started        conn server   a process or connection began, whatever the host says of it
//	decide         session server config approve [group]   a person answered; config is the one that was shown
//	reload         session
//	server         key [url] [behaviour]   how the scripted servers behave whose command line begins with key, or whose URL
//	               begins with url or key; the longest key wins; no behaviour: it refuses. A behaviour is as in a trace
//	list_changed   key [kinds]   every live server of that key says that its tools, prompts or resources changed
//	crash          key   every process or stream of that key ends. Instead of the key, list_changed and crash take server
//	call           session call, and server and tool, or key: the name that a model knows the tool by
//	runtime_add    session server entry
//	runtime_remove session server
//	extension      name [servers]   absent: it is gone
//	open           session [servers]
//	close          session
//	trust          on
//	initialize
//	restart        launch   the process ended, another began; the whole launch
//	shutdown
//	fault          fault [times] [ms]   the world breaks something: pass publish listener watch overflow enospc eio lock disk
//	witness        invariant detail [session] [server]   the world saw the host break a rule that no event shows
//
// # Events: what the host did
//
// Their names and fields are those of impl/event: wake, watch, unwatch, load, notify, restart_pending, lists, pass_start,
// pass_compared, pass_end, dial, dialed, dial_failed, published, purged, closing, closed, acquired, released, drain_start,
// drain_end, updated, ask, decided, refused, call_start, call_end, session_opened, session_closed, wrote, notice,
// notice_cleared. Line has the spelling.
//
// # Snapshots and marks
//
// "settled":true with "snapshot": nothing is in flight (SPEC.md, "settled"), and this is what the host shows; it is held
// against what must be so. "settled":false: it did not settle within ten minutes. A snapshot without "settled" is not judged.
// "passed":true: everything up to and including t has been written, so that silence since the last line means something.
//
// # Secrets
//
// A Writer masks, with a keyed digest per value: values of env and headers, args, URLs, every string of a field that this
// project does not know, every string outside mcpServers and the lists, the launch's environment, and commands and
// directories that hold a variable. Equal values have equal masks within one log; the key is random and written nowhere. A
// masked value is "mask:…", a number that looks like none, or "${mask_…}" where the value holds a variable; what that expands
// to is given by "mask" on the line, and stays until a restart:
//
//	{"t":0,"mask":{"mask_5d0c…":"mask:91aa…"},"input":"file",…}
//
// so approval hashes and fingerprints are equal exactly if they were. A server's key is the masked command line or URL then.
// One thing is not kept: two values of one field that expand to the same text, of which one leaves a variable unexpanded
// and is not itself that text.
// A log written elsewhere may hold its values as they are.
package eventlog
