package model

// merged is the part of the effective map that all sessions share, before verdicts. It is made anew only if a source of it
// is another than last time; sources are told apart by the memory they lie in, which nobody changes.
type merged struct {
	ok         bool
	sources    [numSources][]NamedConfig
	extensions []Extension
	configured []EffectiveServer // SRC-2 up to launch, without extensions
	servers    []EffectiveServer // with extensions
	settings   string            // settingsKey(configured)
}

// numSources are those of files and launch: FromDefaults to FromLaunch.
const numSources = int(FromLaunch-FromDefaults) + 1

// merge lays the sources that all sessions share over each other, lowest first (SRC-1, SRC-2).
func (m *Memory) merge() {
	var now [numSources][]NamedConfig
	for s, src := Defaults, FromDefaults; s <= System; s, src = s+1, src+1 { // the scopes have the order of SRC-2
		if l := m.layer(s); l != nil {
			now[src-FromDefaults] = l.Servers
		}
	}
	now[FromLaunch-FromDefaults] = m.LaunchServers
	extensions := m.Extensions
	if m.Launch.Bare { // SRC-13
		extensions = nil
	}
	same := m.merged.ok
	for i := range now {
		same = same && sameMemory(now[i], m.merged.sources[i])
	}
	if !same {
		m.merged = merged{ok: true, sources: now}
		m.merged.configured = layered(&now)
		m.merged.settings = settingsKey(m.merged.configured)
	} else if sameMemory(extensions, m.merged.extensions) {
		return
	}
	m.merged.extensions = extensions
	m.merged.servers = under(extensionMap(extensions), m.merged.configured)
}

// layered merges sources, lowest first: a higher entry replaces a lower one of its name whole. One walk over all of them.
func layered(sources *[numSources][]NamedConfig) []EffectiveServer {
	n := 0
	for _, list := range sources {
		n += len(list)
	}
	out := make([]EffectiveServer, 0, n)
	var at [numSources]int
	for {
		top := -1
		for i := numSources - 1; i >= 0; i-- {
			if at[i] < len(sources[i]) && (top < 0 || sources[i][at[i]].Name < sources[top][at[top]].Name) {
				top = i
			}
		}
		if top < 0 {
			return out
		}
		nc := sources[top][at[top]]
		at[top]++
		es := EffectiveServer{Name: nc.Name, Config: nc.Config, Source: FromDefaults + Source(top)}
		for i := top - 1; i >= 0; i-- {
			if at[i] < len(sources[i]) && sources[i][at[i]].Name == nc.Name {
				es.Shadows = append(es.Shadows, FromDefaults+Source(i))
				at[i]++
			}
		}
		out = append(out, es)
	}
}

// extensionMap is what the extensions give together: the first, by its own name, keeps a name that two give.
func extensionMap(extensions []Extension) []EffectiveServer {
	var out []EffectiveServer
	for _, x := range extensions {
		next := make([]EffectiveServer, 0, len(out)+len(x.Servers))
		i := 0
		for _, nc := range x.Servers {
			for ; i < len(out) && out[i].Name < nc.Name; i++ {
				next = append(next, out[i])
			}
			if i == len(out) || out[i].Name != nc.Name {
				next = append(next, EffectiveServer{Name: nc.Name, Config: nc.Config, Source: FromExtension})
			}
		}
		out = append(next, out[i:]...)
	}
	return out
}

// under lays a map under another: an extension never replaces a configured server (SRC-2).
func under(low, high []EffectiveServer) []EffectiveServer {
	if len(low) == 0 {
		return high
	}
	out := make([]EffectiveServer, 0, len(low)+len(high))
	i := 0
	for _, es := range high {
		for ; i < len(low) && low[i].Name < es.Name; i++ {
			out = append(out, low[i])
		}
		if i < len(low) && low[i].Name == es.Name {
			es.Shadows = append(append([]Source(nil), es.Shadows...), low[i].Source)
			i++
		}
		out = append(out, es)
	}
	return append(out, low[i:]...)
}

// overlay lays a source over a map; both are sorted by name.
func overlay(base []EffectiveServer, list []NamedConfig, src Source) []EffectiveServer {
	if len(list) == 0 {
		return base
	}
	out := make([]EffectiveServer, 0, len(base)+len(list))
	i := 0
	for _, nc := range list {
		for ; i < len(base) && base[i].Name < nc.Name; i++ {
			out = append(out, base[i])
		}
		es := EffectiveServer{Name: nc.Name, Config: nc.Config, Source: src}
		if i < len(base) && base[i].Name == nc.Name {
			es.Shadows = append([]Source{base[i].Source}, base[i].Shadows...)
			i++
		}
		out = append(out, es)
	}
	return append(out, base[i:]...)
}

// settingsKey is a text that is equal for two maps exactly if GATE-2 calls them equal: names, and numbers of what the
// entries say.
func settingsKey(servers []EffectiveServer) string {
	size := 0
	for i := range servers {
		size += len(servers[i].Name) + 8
	}
	b := make([]byte, 0, size)
	for i := range servers {
		b = appendString(b, servers[i].Name)
		n := servers[i].Config.full
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}

func sameMemory[T any](a, b []T) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
