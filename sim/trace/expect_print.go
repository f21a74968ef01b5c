package trace

import "mcpsim/model"

func writeExpect(w *writer, e *Expect) {
	w.open()
	if e != nil {
		for i := range e.Sessions {
			w.key(e.Sessions[i].ID)
			writeSessionExpect(w, &e.Sessions[i])
		}
		if e.Host != nil {
			w.key("host")
			writeHostExpect(w, e.Host)
		}
	}
	w.close()
}

func writeSessionExpect(w *writer, s *SessionExpect) {
	w.open()
	if s.Servers != nil {
		w.key("servers")
		w.open()
		for _, st := range s.Servers {
			w.str(st.Name, st.State.String())
		}
		w.close()
	}
	writeLists(w, "tools", s.Tools)
	writeLists(w, "prompts", s.Prompts)
	writeLists(w, "resources", s.Resources)
	if s.Ask != nil {
		w.key("ask")
		writeAsk(w, *s.Ask)
	}
	if s.Notices != nil {
		w.key("notices")
		writeNotices(w, *s.Notices)
	}
	if s.Shows != nil {
		w.key("shows")
		writeShows(w, s.Shows)
	}
	w.optBool("hint", s.Hint)
	if s.Calls != nil {
		w.key("calls")
		w.open()
		for _, c := range s.Calls {
			w.str(c.Name, c.Value)
		}
		w.close()
	}
	w.close()
}

func writeLists(w *writer, k string, l *NamedLists) {
	if l == nil {
		return
	}
	w.key(k)
	w.open()
	for _, e := range l.Lists {
		w.key(e.Name)
		w.list(e.Names)
	}
	w.close()
}

func writeAsk(w *writer, list []AskExpect) {
	w.each(len(list), func(i int) {
		a := list[i]
		if a.Config == nil && a.Source == "" {
			w.text(a.Server)
			return
		}
		w.open()
		w.str("server", a.Server)
		w.value("config", a.Config)
		w.str("source", a.Source)
		w.close()
	})
}

func writeNotices(w *writer, list []model.Notice) {
	w.each(len(list), func(i int) {
		w.open()
		w.str("file", list[i].File)
		w.str("server", list[i].Server)
		w.str("key", list[i].Key)
		w.str("kind", list[i].Kind)
		w.close()
	})
}

func writeShows(w *writer, list []ShowsExpect) {
	w.open()
	for _, s := range list {
		w.key(s.Name)
		w.open()
		w.optStr("text", s.Text)
		w.optStr("error", s.Error)
		w.optStr("file", s.File)
		if s.Shadows != nil {
			w.key("shadows")
			w.list(*s.Shadows)
		}
		w.close()
	}
	w.close()
}

func writeHostExpect(w *writer, h *HostExpect) {
	w.open()
	if h.Pool != nil {
		w.key("pool")
		w.each(len(*h.Pool), func(i int) {
			p := (*h.Pool)[i]
			w.open()
			w.str("server", p.Server)
			w.value("config", p.Config)
			w.strs("sessions", p.Sessions)
			w.close()
		})
	}
	if h.Records != nil {
		w.key("records")
		writeRecords(w, *h.Records)
	}
	writeCounts(w, "dials", h.Dials)
	writeCounts(w, "processes", h.Processes)
	w.close()
}

func writeCounts(w *writer, k string, list []NamedCount) {
	if list == nil {
		return
	}
	w.key(k)
	w.open()
	for _, c := range list {
		w.num(c.Name, uint64(c.N))
	}
	w.close()
}
