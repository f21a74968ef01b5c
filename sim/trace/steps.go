package trace

import (
	"fmt"
	"strconv"

	"mcpsim/model"
)

var (
	layers  = []string{"user", "workspace", "project", "system", "defaults"}
	sources = append(append([]string{}, layers...), "approvals")
)

// The fields that several kinds share.
var (
	fFile    = wordField("file", "the source", func(s *Step) *string { return &s.File }, sources...)
	fLayer   = wordField("file", "the source", func(s *Step) *string { return &s.File }, layers...)
	fDir     = Field{Name: "file", Also: "dir", Doc: "the source whose directory it is", Schema: fFile.Schema, read: fFile.read, write: fFile.write}
	fSibling = strField("name", "another file in the same directory instead: its base name", func(s *Step) *string { return &s.Name })
	fSession = Field{Name: "session", Doc: "the session; the first of the launch if absent", Schema: schemaString,
		read: func(n node, s *Step) { s.Session = sessionName(n) }, write: func(w *writer, s *Step) { w.str("session", s.Session) }}
	fServer  = strField("server", "the server's configured name", func(s *Step) *string { return &s.Server })
	fKey     = Field{Name: "server", Also: "key", Required: true, Doc: "whose behaviour: a key of the header's servers", Schema: schemaString, read: fServer.read, write: fServer.write}
	fConfig  = valueField("config", "the entry", schemaMap, func(s *Step) **model.Value { return &s.Config })
	fServers = valueField("servers", "the map name -> entry; null or absent: none", schemaObject, func(s *Step) **model.Value { return &s.Servers })
	fWhy     = Field{Name: "why", Also: "note", Doc: "a sentence for the reader", Schema: schemaString,
		read: func(n node, s *Step) { s.Why = n.str("why") }, write: func(w *writer, s *Step) { w.str("why", s.Why) }}
)

func sessionName(n node) string {
	s := n.str("session")
	if s == "" || s == "host" {
		n.fail("a session's name must not be empty and not \"host\", which expectations use for the host itself")
	}
	return s
}

// Steps is the table of all kinds of steps, with a worked example of each.
var Steps = []StepDoc{
	{Write, "a file is written", `{"do":"write","file":"user","json":{"mcpServers":{"a":{"command":"srv-a"}}},"how":"atomic"}`, []Field{
		fFile.required(""),
		fSibling,
		valueField("json", "the document: the file's text is its JSON, or text if that is given too", schemaAny, func(s *Step) **model.Value { return &s.JSON }),
		{Name: "text", Doc: "the file's text", Schema: schemaString,
			read: func(n node, s *Step) { s.HasText, s.Text = true, n.str("text") },
			write: func(w *writer, s *Step) {
				if s.HasText {
					w.key("text")
					w.text(s.Text)
				}
			}},
		{Name: "base64", Doc: "the file's bytes", Schema: schemaString,
			read:  func(n node, s *Step) { s.Base64 = readBase64(n) },
			write: func(w *writer, s *Step) { w.str("base64", s.Base64) }},
		yesField("unreadable", "alone: the file is there but nobody may read it; with text or base64: they are no document", func(s *Step) *bool { return &s.Unreadable }),
		wordField("how", "how it is saved (default inplace)", func(s *Step) *string { return &s.How }, "inplace", "atomic", "backup", "chunks", "link-target", "retarget", "data-swap"),
		wordField("kind", "something else than a file stands there", func(s *Step) *string { return &s.Kind }, "directory", "dangling", "loop"),
		{Name: "parts", Doc: "in how many pieces", Schema: schemaWhole,
			read: func(n node, s *Step) { s.Parts = int(n.whole("parts")) },
			write: func(w *writer, s *Step) {
				if s.Parts != 0 {
					w.num("parts", uint64(s.Parts))
				}
			}},
		msField("gap_ms", "the time between the pieces; the next step comes after the last", false, func(s *Step) *model.Ms { return &s.GapMs }),
		wordField("mtime", "the file's time stays", func(s *Step) *string { return &s.Mtime }, "keep"),
		fWhy}},
	{Edit, "entries and keys of a settings file are replaced whole, null takes out; becomes an atomic whole-file write", `{"do":"edit","file":"project","servers":{"a":{"command":"srv-a"}}}`, []Field{
		fLayer.required(""),
		valueField("servers", "entries of mcpServers; null takes one out, or all", schemaObject, func(s *Step) **model.Value { return &s.Servers }),
		valueField("mcp", "keys of mcp; null takes one out, or the whole block", schemaObject, func(s *Step) **model.Value { return &s.Mcp }),
		valueField("other", "other top-level keys", schemaMap, func(s *Step) **model.Value { return &s.Other }),
		fWhy}},
	{Remove, "a file is removed", `{"do":"remove","file":"user"}`, []Field{fFile.required(""), fSibling, fWhy}},
	{Mkdir, "a source's directory is made, with its parents", `{"do":"mkdir","file":"workspace"}`, []Field{fDir.required(""), fWhy}},
	{Rmdir, "a source's directory is removed with all that is in it", `{"do":"rmdir","file":"workspace"}`, []Field{fDir.required(""), fWhy}},
	{Chmod, "permission bits change", `{"do":"chmod","file":"user","mode":"0000"}`, []Field{
		{Name: "file", Doc: fFile.Doc, Schema: fFile.Schema, read: fFile.read, write: fFile.write},
		fSibling,
		{Name: "dir", Doc: "true: of its directory, not of the file", Schema: schemaAny,
			read: func(n node, s *Step) {
				if n.kind() == '"' {
					fFile.read(n, s)
					s.Dir = true
					return
				}
				s.Dir = n.boolean("dir")
			},
			write: func(w *writer, s *Step) { w.yes("dir", s.Dir) }},
		{Name: "mode", Required: true, Doc: `the bits: "0644" or 644`, Schema: `{"type":["string","number"]}`,
			read: func(n node, s *Step) { m := readMode(n); s.Mode = &m },
			write: func(w *writer, s *Step) {
				if s.Mode != nil {
					w.str("mode", fmt.Sprintf("%04o", *s.Mode))
				}
			}},
		fWhy}},
	{Touch, "a file's time changes", `{"do":"touch","file":"user"}`, []Field{fFile.required(""), fSibling, fWhy}},
	{Advance, "time passes, its last instant included", `{"do":"advance","ms":300}`, []Field{
		msField("ms", "how long", true, func(s *Step) *model.Ms { return &s.Ms }).required(""), fWhy}},
	{Settle, "time passes until the host is settled", `{"do":"settle"}`, []Field{fWhy}},
	{Look, "a person looks at a session's queue", `{"do":"look","session":"s1"}`, []Field{fSession, fWhy}},
	{Approve, "the person approves what was shown last, or is asked now if nobody looked", `{"do":"approve","session":"s1","server":"a"}`, []Field{fSession, fServer.required(""), fWhy}},
	{Reject, "the person rejects it", `{"do":"reject","session":"s1","server":"a"}`, []Field{fSession, fServer.required(""), fWhy}},
	{ApproveAll, "the person approves all that was shown, in one decision", `{"do":"approve_all","session":"s1"}`, []Field{fSession, fWhy}},
	{DecideElsewhere, "another process records a decision", `{"do":"decide_elsewhere","server":"a","config":{"command":"srv-a"},"status":"approved"}`, []Field{
		fServer.required(""), fConfig.required("the entry it is about"),
		wordField("status", "the decision", func(s *Step) *string { return &s.Status }, "approved", "rejected").required(""), fWhy}},
	{Reload, "the command /reload", `{"do":"reload","session":"s1"}`, []Field{fSession, fWhy}},
	{Call, "a session calls a tool", `{"do":"call","id":"c1","session":"s1","server":"a","tool":"x"}`, []Field{
		strField("id", "names the call in expectations", func(s *Step) *string { return &s.ID }).required(""),
		fSession, fServer,
		strField("tool", "the tool's name", func(s *Step) *string { return &s.Tool }),
		strField("name", "instead of server and tool: the name a model knows it by", func(s *Step) *string { return &s.ModelName }), fWhy}},
	{Server, "a scripted server changes", `{"do":"server","server":"srv-a","behaviour":{"tools":["x","z"]},"list_changed":true}`, []Field{
		fKey,
		{Name: "behaviour", Doc: "replaces the old one; null: it refuses from now on; absent: it stays", Schema: `{"anyOf":[{"$ref":"#/$defs/behaviour"},{"type":"null"}]}`,
			read: func(n node, s *Step) {
				if s.Unlisted = n.null(); !s.Unlisted {
					b := readBehaviour(n)
					s.Behaviour = &b
				}
			},
			write: func(w *writer, s *Step) {
				if s.Behaviour != nil {
					w.key("behaviour")
					writeBehaviour(w, s.Behaviour)
				} else if s.Unlisted {
					w.value("behaviour", model.NullValue())
				}
			}},
		{Name: "list_changed", Doc: "it says that its lists changed: true, or the kinds tools, prompts, resources", Schema: `{"anyOf":[{"type":"boolean"},{"enum":["tools","prompts","resources"]},{"type":"array","items":{"enum":["tools","prompts","resources"]}}]}`,
			read: readListChanged,
			write: func(w *writer, s *Step) {
				if s.ListKinds != nil {
					w.strs("list_changed", s.ListKinds)
				} else {
					w.yes("list_changed", s.ListChanged)
				}
			}}, fWhy}},
	{Crash, "every process or stream of a behaviour ends", `{"do":"crash","server":"srv-a"}`, []Field{fKey, fWhy}},
	{RuntimeAdd, "a runtime server is added to a session", `{"do":"runtime_add","session":"s1","server":"r","config":{"command":"srv-r"}}`, []Field{
		fSession, fServer.required(""), fConfig.required(""), fWhy}},
	{RuntimeRemove, "it is removed", `{"do":"runtime_remove","session":"s1","server":"r"}`, []Field{fSession, fServer.required(""), fWhy}},
	{Extension, "an extension's servers change", `{"do":"extension","name":"ext","servers":{"e":{"command":"srv-e"}}}`, []Field{
		strField("name", "the extension's name", func(s *Step) *string { return &s.Name }).required(""), fServers, fWhy}},
	{Open, "a session opens", `{"do":"open","session":"s2","servers":{"own":{"command":"srv-own"}}}`, []Field{fSession.required(""), fServers, fWhy}},
	{Close, "a session closes", `{"do":"close","session":"s2"}`, []Field{fSession.required(""), fWhy}},
	{Trust, "the folder's trust changes", `{"do":"trust","trusted":false}`, []Field{
		{Name: "trusted", Required: true, Doc: "trusted or not", Schema: schemaBool,
			read: func(n node, s *Step) { s.Trusted = n.boolean("trusted") }, write: func(w *writer, s *Step) { w.bool("trusted", s.Trusted) }}, fWhy}},
	{Initialize, "the host is initialised (the launch said it is not yet)", `{"do":"initialize"}`, []Field{fWhy}},
	{Restart, "the process ends at once and a new one starts", `{"do":"restart","launch":{"env":{"X":"2"}},"unsynced":"lost"}`, []Field{
		{Name: "launch", Doc: "what changes of the launch", Schema: `{"$ref":"#/$defs/launch"}`,
			read: func(n node, s *Step) { l := readLaunch(n); s.Launch = &l },
			write: func(w *writer, s *Step) {
				if s.Launch != nil {
					w.key("launch")
					writeLaunch(w, s.Launch)
				}
			}},
		wordField("unsynced", "the machine went down too: what was not synced is gone", func(s *Step) *string { return &s.Unsynced }, "lost"), fWhy}},
	{Shutdown, "the host shuts down", `{"do":"shutdown"}`, []Field{fWhy}},
	{Fault, "a fault is armed", `{"do":"fault","kind":"pass","times":2}`, []Field{
		wordField("kind", "what fails", func(s *Step) *string { return &s.Kind }, "pass", "publish", "listener", "watch", "overflow", "enospc", "eio", "lock").required(""),
		{Name: "file", Doc: "only for this source", Schema: fFile.Schema, read: fFile.read, write: fFile.write},
		strField("op", "only this operation", func(s *Step) *string { return &s.Op }),
		{Name: "times", Doc: "how often (default 1)", Schema: schemaWhole,
			read: func(n node, s *Step) { s.Times = int(n.whole("times")) },
			write: func(w *writer, s *Step) {
				if s.Times != 1 {
					w.num("times", uint64(s.Times))
				}
			}},
		msField("ms", "how long", false, func(s *Step) *model.Ms { return &s.Ms }),
		{Name: "session", Doc: "only in this session", Schema: schemaString, read: fSession.read, write: fSession.write},
		fServer,
		strField("name", "the listener's name", func(s *Step) *string { return &s.Name }), fWhy}},
	{ExpectStep, "what an observer must see now", `{"expect":{"s1":{"servers":{"a":"live"},"tools":{"a":["x"]}},"host":{"dials":{"a":1}}}}`, []Field{
		{Name: "expect", Required: true, Doc: "session -> expectation, and host", Schema: `{"$ref":"#/$defs/expect"}`,
			read: func(n node, s *Step) { s.Expect = readExpect(n) },
			write: func(w *writer, s *Step) {
				w.key("expect")
				writeExpect(w, s.Expect)
			}}, fWhy}},
	{Note, "a sentence for the reader", `{"note":"the person reads the question"}`, []Field{
		{Name: "note", Also: "text", Required: true, Doc: "the sentence", Schema: schemaString,
			read: func(n node, s *Step) { s.Text2 = n.str("note") },
			write: func(w *writer, s *Step) {
				w.key("note")
				w.text(s.Text2)
			}},
		{Name: "why", Doc: fWhy.Doc, Schema: schemaString, read: fWhy.read, write: fWhy.write}}},
}

func readListChanged(n node, s *Step) {
	kinds := []string{"tools", "prompts", "resources"}
	switch n.kind() {
	case 't', 'f':
		s.ListChanged = n.boolean("list_changed")
	case '"':
		s.ListChanged, s.ListKinds = true, []string{n.word("list_changed", kinds...)}
	case '[':
		for _, e := range n.elems("list_changed") {
			s.ListKinds = append(s.ListKinds, e.word("list_changed", kinds...))
		}
		s.ListChanged = s.ListKinds != nil
	default:
		n.fail("list_changed must be true or a list of tools, prompts, resources")
	}
}

// readMode reads permission bits: an octal string, or a number that is written in octal (644) or is their value (420). A
// number is taken as octal if its digits allow it and its owner may do all that others may.
func readMode(n node) uint32 {
	digits := ""
	if n.kind() == '0' {
		u := n.whole("mode")
		digits = strconv.FormatUint(u, 10)
		m, err := strconv.ParseUint(digits, 8, 32)
		if owner := m >> 6 & 7; err != nil || m > 0o777 || owner&(m>>3&7) != m>>3&7 || owner&(m&7) != m&7 {
			if u > 0o777 {
				n.fail("mode must be permission bits such as \"0644\", this is %s", n.raw)
			}
			return uint32(u)
		}
		return uint32(m)
	}
	digits = n.str("mode")
	if len(digits) > 2 && digits[:2] == "0o" {
		digits = digits[2:]
	}
	m, err := strconv.ParseUint(digits, 8, 32)
	if err != nil || m > 0o777 {
		n.fail("mode must be permission bits such as \"0644\", this is %q", digits)
	}
	return uint32(m)
}
