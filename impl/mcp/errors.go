package mcp

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/mark3labs/mcp-go/client/transport"
)

// What transports wrap so that Class can tell failures apart (REC-8).
var (
	ErrRefused  = errors.New("refused")                   // nothing is there to talk to
	ErrExit     = errors.New("the process has exited")    // the direct child
	ErrClosed   = errors.New("the stream is closed")      // by the other side
	ErrProtocol = errors.New("the answer makes no sense") // garbage
)

// Class is the error class of a failed step: refused, exit, timeout, protocol or closed (REC-8); empty for nil. An answer
// that makes no sense, JSON-RPC errors included, is protocol, and so is whatever is not known.
func Class(err error) string {
	var broken *net.OpError
	var name *net.DNSError
	var slow net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrProtocol):
		return "protocol"
	case errors.Is(err, ErrRefused):
		return "refused"
	case errors.Is(err, ErrExit):
		return "exit"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return "timeout"
	case errors.As(err, &name), errors.As(err, &broken) && broken.Op == "dial":
		return "refused"
	case errors.Is(err, ErrClosed), errors.Is(err, transport.ErrTransportClosed), errors.Is(err, transport.ErrSessionTerminated),
		errors.Is(err, context.Canceled), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		broken != nil:
		return "closed"
	}
	return "protocol"
}

// unclassified reports whether only the last resort of Class names err.
func unclassified(err error) bool {
	return Class(err) == "protocol" && !errors.Is(err, ErrProtocol)
}
