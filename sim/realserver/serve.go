package realserver

import (
	"context"
	"fmt"
)

// ServeHTTP serves over HTTP, in both transports, until ctx ends or its controller is gone. socket may be empty. ready is
// told the URL.
func ServeHTTP(ctx context.Context, name, addr string, b Behaviour, socket string, ready func(url string)) error {
	l, err := dialLink(socket)
	if err != nil {
		return err
	}
	h, err := NewHTTPServer(name, addr, b, l.report)
	if err != nil {
		return err
	}
	defer h.close()
	ready(h.URL)
	if l.conn == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	defer context.AfterFunc(ctx, func() { _ = l.conn.Close() })()
	l.report(present(name, "http", false))
	for {
		c, ok := l.next()
		if !ok {
			return ctx.Err()
		}
		if c.Behaviour != nil {
			b := Behaviour{Fault: "refuse"}
			if string(*c.Behaviour) != "null" {
				p, err := ParseBehaviour(*c.Behaviour)
				if err != nil {
					return fmt.Errorf("from the controller: %w", err)
				}
				b = *p
			}
			h.behave(b)
		}
		h.announce(c.ListChanged)
		if c.Crash {
			h.crash()
		}
	}
}
