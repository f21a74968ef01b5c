package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	hostmcp "mcpsim/impl/mcp"
)

// Limits of what a server may write on its stdout.
const (
	messageMost = 64 << 20 // bytes in one message
	noiseMost   = 1000     // lines in a row that are no messages
)

// ErrGarbage is why a request failed whose server wrote something that is no message.
var ErrGarbage = fmt.Errorf("%w: the server wrote something on its stdout that is not MCP", hostmcp.ErrProtocol)

// framing reads a server's stdout line by line and passes on JSON objects. mcp-go drops silently what it cannot parse, and
// the request then waits for its time-out; here a line that begins like a message ({" but for spaces) and is none is
// garbage, told at once. Text is tolerated for a while: many servers greet or log on stdout, though the protocol forbids it.
type framing struct {
	r       *bufio.Reader
	rest    []byte // of a good line
	noise   int
	garbage func(error) // called once, by the reader
	broken  bool
	eof     chan struct{} // closed when nothing more will be read
}

func newFraming(r io.Reader, garbage func(error)) *framing {
	return &framing{r: bufio.NewReaderSize(r, 64<<10), garbage: garbage, eof: make(chan struct{})}
}

// Read gives whole good lines only. Every error, a closed pipe included, is the end.
func (f *framing) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		line, err := f.line()
		if err != nil {
			if f.eof != nil {
				close(f.eof)
				f.eof = nil
			}
			return 0, io.EOF
		}
		f.take(line)
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// take judges one line.
func (f *framing) take(line []byte) {
	text := bytes.TrimSpace(line)
	inside, object := bytes.CutPrefix(text, []byte("{"))
	switch {
	case len(text) == 0:
	case !object || !bytes.HasPrefix(bytes.TrimSpace(inside), []byte(`"`)):
		if f.noise++; f.noise > noiseMost {
			f.fail(fmt.Errorf("%w: %d lines of text", ErrGarbage, f.noise))
		}
	case !json.Valid(text):
		f.fail(fmt.Errorf("%w: a line of %d bytes that is no JSON", ErrGarbage, len(text)))
	default:
		f.noise, f.rest = 0, line
	}
}

func (f *framing) fail(err error) {
	if !f.broken {
		f.broken = true
		f.garbage(err)
	}
}

// line reads up to a newline. The last line of a stream may lack it: it is no message then.
func (f *framing) line() ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if len(line)+len(part) > messageMost {
				f.fail(fmt.Errorf("%w: a line of more than %d bytes", ErrGarbage, messageMost))
				return nil, io.ErrShortBuffer
			}
			line = append(line, part...)
			continue
		}
		if err != nil {
			return nil, err
		}
		return append(line, part...), nil // a copy: part is the reader's
	}
}
