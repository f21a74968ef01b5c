package model

// StatusText is what the list says of a server that is held back (VIEW-1); empty if it is admitted or unknown.
func (e *Effective) StatusText(s SessionID, server string) string {
	switch Decide(e, s, server) {
	case Removed:
		return "removed"
	case Disabled:
		return "disabled"
	case NotAllowed:
		return "not allowed"
	case Excluded:
		return "excluded"
	case PendingApproval:
		if e.Server(s, server).Rejected {
			return "rejected: edit the config to be asked again"
		}
		return "needs approval"
	case Untrusted:
		return "untrusted folder"
	}
	return ""
}

// withheld are the (server, tool) pairs of a session that are not offered (VIEW-3), in order of server and tool.
func (m *Machine) withheld(v *SessionView) [][2]string {
	var pairs []Pair
	for i := range v.Servers {
		for _, t := range v.Servers[i].Tools {
			pairs = append(pairs, Pair{v.Servers[i].Name, t})
		}
	}
	_, held := Offered(pairs)
	var out [][2]string
	for _, p := range held {
		out = append(out, [2]string{p.Server, p.Tool})
	}
	return out
}
