package impl

import (
	"context"

	"mcpsim/impl/mcp"
	"mcpsim/impl/port"
)

// kinds is a set of lists.
type kinds uint8

const (
	toolList kinds = 1 << iota
	promptList
	resourceList
	allLists = toolList | promptList | resourceList
)

// listing is what a server listed: each name once, the first time it was named (REC-11).
type listing struct {
	tools, prompts, resources []string
	got                       kinds // which of them were asked for
	twice                     kinds // which of them named something twice
}

// refresh is a connection's work after list_changed: one request in flight and one behind it (REC-11). A request asks for
// every list that had changed when it began.
type refresh struct {
	behind  kinds
	running bool
}

// listChanged takes the word of a server. During its dial it is kept for afterwards; of a retired one it is dropped (REC-9).
func (h *Host) listChanged(c *conn, k mcp.ListKind) {
	if c.phase != dialling && c.phase != live {
		return
	}
	switch k {
	case mcp.Tools:
		c.refresh.behind |= toolList
	case mcp.Prompts:
		c.refresh.behind |= promptList
	case mcp.Resources:
		c.refresh.behind |= resourceList
	}
	if c.phase == live {
		h.refreshNext(c)
	}
}

// refreshNext begins the next request, if one is due and none is out. It is bounded like a dial's discovery; one that
// fails or outlasts that is a lost connection.
func (h *Host) refreshNext(c *conn) {
	if c.refresh.running || c.refresh.behind == 0 {
		return
	}
	k := c.refresh.behind
	c.refresh = refresh{running: true}
	c.bound = h.p.Clock.AfterFunc(port.TimerDiscovery, port.Ms(c.boundMs), func() {
		c.bound = nil
		if c.phase == live {
			h.lose(c, "timeout")
		}
	})
	var got listing
	h.list(c, k, &got, func() {
		stop(&c.bound)
		c.refresh.running = false
		c.lists.take(&got)
		for _, s := range c.holders {
			if l := s.link(c.server); l != nil && l.conn == c {
				h.republish(s, l)
			}
		}
		if c.phase == live {
			h.refreshNext(c)
		}
	})
}

// list asks for the lists of a set, one after the other, each one job.
func (h *Host) list(c *conn, k kinds, into *listing, then func()) {
	var names []string
	ask := func(kind port.OpKind, of func(context.Context) ([]string, error), bit kinds, to *[]string) {
		h.step(c, kind, func(ctx context.Context) (err error) {
			names, err = of(ctx)
			return err
		}, func() {
			var twice bool
			if *to, twice = once(names); twice {
				into.twice |= bit
			}
			into.got |= bit
			h.list(c, k&^bit, into, then)
		})
	}
	switch {
	case k&toolList != 0:
		ask(port.OpListTools, c.client.ListTools, toolList, &into.tools)
	case k&promptList != 0:
		ask(port.OpListPrompts, c.client.ListPrompts, promptList, &into.prompts)
	case k&resourceList != 0:
		ask(port.OpListResources, c.client.ListResources, resourceList, &into.resources)
	default:
		then()
	}
}

// take replaces the lists that were asked for again.
func (l *listing) take(got *listing) {
	if got.got&toolList != 0 {
		l.tools = got.tools
	}
	if got.got&promptList != 0 {
		l.prompts = got.prompts
	}
	if got.got&resourceList != 0 {
		l.resources = got.resources
	}
	l.twice = l.twice&^got.got | got.twice
}

// once drops the second and later mentions of a name.
func once(names []string) (unique []string, twice bool) {
	seen := make(map[string]bool, len(names))
	for i, n := range names {
		if seen[n] && !twice {
			twice = true
			unique = append(unique, names[:i]...)
		} else if !seen[n] && twice {
			unique = append(unique, n)
		}
		seen[n] = true
	}
	if !twice {
		return names, false
	}
	return unique, true
}
