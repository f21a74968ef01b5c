package trace

import (
	"fmt"
	"unicode/utf8"
)

// Error says what is wrong with the text of a trace: where, what was expected, and what to do. Line and Col are 1-based,
// Col in code points; both are 0 if no place is to blame.
type Error struct {
	File      string
	Line, Col int
	Msg       string
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// place converts a byte offset to a line and a column.
func place(data []byte, off int) (line, col int) {
	if off > len(data) {
		off = len(data)
	}
	line, start := 1, 0
	for i := 0; i < off; i++ {
		if data[i] == '\n' {
			line++
			start = i + 1
		}
	}
	return line, 1 + utf8.RuneCount(data[start:off])
}
