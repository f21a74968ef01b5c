package trace

import (
	"strconv"
	"strings"
)

const headerKeys = "mcpsim, title, why, rules, real, modes, launch, servers, files, dirs, records, faults, order"

// readHeader reads the first value of a trace.
func readHeader(n node) Header {
	if n.kind() != '{' {
		n.fail("the first value must be the header, an object such as {\"mcpsim\":1,\"title\":\"…\"}, this is %s", kindNames[n.kind()])
	}
	ms := n.members("the header")
	var h Header
	for _, m := range ms {
		if m.key == "mcpsim" {
			if h.Version = int(m.val.whole("mcpsim")); h.Version != 1 {
				m.val.fail("this is version %d of the format; version 1 is what can be read", h.Version)
			}
		}
	}
	if h.Version == 0 {
		n.fail("the first value must be the header, with the key \"mcpsim\": put a line such as {\"mcpsim\":1,\"title\":\"…\"} before the steps")
	}
	for _, m := range ms {
		if m.key == "launch" {
			h.Launch = readLaunch(m.val)
		}
	}
	if len(h.Launch.SessionNames()) > 0 {
		n.t.session = h.Launch.SessionNames()[0]
	}
	for _, m := range ms {
		readHeaderKey(&h, m)
	}
	return h
}

func readHeaderKey(h *Header, m member) {
	switch v := m.val; m.key {
	case "mcpsim", "launch":
	case "title":
		h.Title = v.str("title")
	case "why":
		h.Why = v.str("why")
	case "rules":
		h.Rules = v.strs("rules")
	case "real":
		h.Real = v.str("real")
	case "modes":
		h.Modes = v.str("modes")
	case "servers":
		h.Servers = readServers(v)
	case "files":
		h.Files = readFiles(v)
	case "dirs":
		h.Dirs = []string{}
		for _, e := range v.elems("dirs") {
			h.Dirs = append(h.Dirs, e.word("an element of dirs (the source whose directory is missing at start)", sources...))
		}
	case "records":
		readRecordsAtStart(h, v)
	case "faults":
		h.Faults = readFaults(v)
	case "order":
		h.Order = v.whole("order")
	default:
		m.at.fail("the header has no key %q; it takes %s", m.key, headerKeys)
	}
}

func readServers(n node) []ServerBehaviour {
	list := []ServerBehaviour{}
	for _, m := range n.members("servers") {
		key := m.key
		if inner, ok := strings.CutPrefix(key, "{{url:"); ok { // the key that the placeholder stands for
			if inner, ok := strings.CutSuffix(inner, "}}"); ok {
				key = inner
			}
		}
		list = append(list, ServerBehaviour{key, readBehaviour(m.val)})
	}
	return list
}

// readFiles reads the files at start: source -> write step, edit step, whole document, or text; or a list of steps.
func readFiles(n node) []FileAtStart {
	list := []FileAtStart{}
	if n.kind() == '[' {
		for _, e := range n.elems("files") {
			s := readKind(e, Write, Edit)
			list = append(list, FileAtStart{s.File, s})
		}
		return list
	}
	for _, m := range n.members("files") {
		if !contains(sources, m.key) {
			m.at.fail("files has no source %q; the sources are %s", m.key, strings.Join(sources, ", "))
		}
		if !m.val.null() {
			list = append(list, FileAtStart{m.key, readFile(m)})
		}
	}
	return list
}

// readFile reads one member of files.
func readFile(m member) Step {
	s := Step{Do: Write, File: m.key, Line: lineOf(m.val)}
	if m.val.kind() == '"' {
		s.HasText, s.Text = true, m.val.str("a file's text")
		return s
	}
	ms := m.val.members("a file at start")
	has := map[string]bool{}
	for _, f := range ms {
		has[f.key] = true
	}
	switch {
	case len(ms) == 0 || has["mcpServers"] || has["security"] || has["env"] || has["proxy"] || has["theme"]: // the document itself
		s.JSON = m.val.value()
		return s
	case has["servers"] || has["mcp"] || has["other"]:
		s.Do = Edit
	}
	return readStepFields(m.val, ms, s)
}

func lineOf(n node) int {
	line, _ := place(n.t.data, n.off)
	return line
}

func readRecordsAtStart(h *Header, n node) {
	if n.kind() == '"' {
		n.word("records, if it is no list,", "corrupt")
		h.CorruptRecords = true
		return
	}
	h.Records = readRecords(n, true)
}

// readRecords reads a list of records; an expectation may leave the config out.
func readRecords(n node, full bool) []Record {
	list := []Record{}
	for _, e := range n.elems("records") {
		var r Record
		for _, m := range e.members("a record") {
			switch m.key {
			case "server":
				r.Server = m.val.str("server")
			case "config":
				m.val.want('{', "config")
				r.Config = m.val.value()
			case "status":
				r.Status = m.val.word("status", "approved", "rejected")
			default:
				m.at.fail("a record has no key %q; it takes server, config, status", m.key)
			}
		}
		if r.Server == "" || r.Config == nil && full || r.Status == "" {
			e.fail("a record needs server, config and status, such as {\"server\":\"a\",\"config\":{\"command\":\"srv-a\"},\"status\":\"approved\"}")
		}
		list = append(list, r)
	}
	return list
}

// readFaults reads fault steps whose "do" may be left out.
func readFaults(n node) []Step {
	list := []Step{}
	for _, e := range n.elems("faults") {
		list = append(list, readKind(e, Fault))
	}
	return list
}

// Append appends the header as one line, without its end.
func (h *Header) Append(b []byte) []byte {
	w := writer{b: b}
	w.open()
	w.num("mcpsim", 1)
	w.str("title", h.Title)
	w.str("why", h.Why)
	w.strs("rules", h.Rules)
	w.str("real", h.Real)
	w.str("modes", h.Modes)
	lw := writer{}
	if writeLaunch(&lw, &h.Launch); len(lw.b) > len("{}") {
		w.key("launch")
		w.b = append(w.b, lw.b...)
	}
	if h.Servers != nil {
		w.key("servers")
		w.open()
		for i := range h.Servers {
			w.key(h.Servers[i].Key)
			writeBehaviour(&w, &h.Servers[i].Behaviour)
		}
		w.close()
	}
	if h.Files != nil {
		w.key("files")
		writeFiles(&w, h.Files)
	}
	w.strs("dirs", h.Dirs)
	if h.CorruptRecords {
		w.str("records", "corrupt")
	} else if h.Records != nil {
		w.key("records")
		writeRecords(&w, h.Records)
	}
	if h.Faults != nil {
		w.key("faults")
		writeSteps(&w, h.Faults)
	}
	if h.Order != 0 {
		w.key("order")
		w.b = strconv.AppendUint(w.b, h.Order, 10)
	}
	w.close()
	return w.b
}

// writeFiles writes the map form, or the list form if a source occurs twice or a sibling is meant.
func writeFiles(w *writer, files []FileAtStart) {
	seen := map[string]bool{}
	for i := range files {
		f := &files[i]
		if seen[f.File] || f.Write.Name != "" {
			steps := make([]Step, len(files))
			for j := range files {
				steps[j] = files[j].Write
				steps[j].File = files[j].File
			}
			writeSteps(w, steps)
			return
		}
		seen[f.File] = true
	}
	w.open()
	for i := range files {
		s := files[i].Write
		w.key(files[i].File)
		w.open()
		s.File = ""
		writeFields(w, &s)
		w.close()
	}
	w.close()
}

func writeSteps(w *writer, steps []Step) {
	w.b = append(w.b, '[')
	for i := range steps {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.b = steps[i].Append(w.b)
	}
	w.b = append(w.b, ']')
}

func writeRecords(w *writer, list []Record) {
	w.b = append(w.b, '[')
	for i := range list {
		if i > 0 {
			w.b = append(w.b, ',')
		}
		w.open()
		w.str("server", list[i].Server)
		w.value("config", list[i].Config)
		w.str("status", list[i].Status)
		w.close()
	}
	w.b = append(w.b, ']')
}
