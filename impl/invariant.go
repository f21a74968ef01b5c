package impl

import "fmt"

var asserting bool

// AssertInvariants makes a broken invariant of the host panic instead of pass. Tests and simulations switch it on before
// the first host is made; it must not change while one runs.
func AssertInvariants(on bool) { asserting = on }

// invariant panics if ok is false and invariants are asserted. id names the invariant of spec section 13.
func invariant(ok bool, id, format string, args ...any) {
	if !ok && asserting {
		panic("host invariant " + id + ": " + fmt.Sprintf(format, args...))
	}
}
