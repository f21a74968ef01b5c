package live

import (
	"bytes"
	"io"
	"sync"
)

// tailMost bounds what is kept of a server's stderr.
const tailMost = 8 << 10

// tail keeps the end of what is written to it. Writing never fails and never waits, so a server that talks a lot on its
// stderr is never held up.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if len(p) > tailMost {
		p, t.buf, t.cut = p[len(p)-tailMost:], t.buf[:0], true
	}
	if over := len(t.buf) + len(p) - tailMost; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	t.buf = append(t.buf, p...)
	return n, nil
}

// drain writes what r says until its end.
func (t *tail) drain(r io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		_, _ = t.Write(buf[:n])
		if err != nil {
			return
		}
	}
}

// lines returns what is kept, without a first line that was cut.
func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := t.buf
	if t.cut {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	var out []string
	for line := range bytes.Lines(text) {
		out = append(out, string(bytes.TrimRight(line, "\r\n")))
	}
	return out
}
