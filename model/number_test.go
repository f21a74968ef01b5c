package model

import "testing"

func TestWholeNumbersAreReadExactly(t *testing.T) { // SRC-8
	for _, x := range []struct {
		text        string
		n           int64
		whole, fits bool
	}{
		{"0", 0, true, true},
		{"-0", 0, true, true},
		{"0e999999999999999999999", 0, true, true},
		{"1", 1, true, true},
		{"-17", -17, true, true},
		{"1e3", 1000, true, true},
		{"1E+3", 1000, true, true},
		{"5.0", 5, true, true},
		{"1200e-2", 12, true, true},
		{"0.5e1", 5, true, true},
		{"1.5", 0, false, false},
		{"0.1", 0, false, false},
		{"1e-400", 0, false, false},
		{"1e-99999999999999999999", 0, false, false},
		{"9007199254740992", 1 << 53, true, true},
		{"-9007199254740992", -1 << 53, true, true},
		{"9007199254740993", 0, true, false},
		{"-9007199254740993", 0, true, false},
		{"9007199254740992.5", 0, false, false},
		{"90071992547409930e-1", 0, true, false},
		{"99999999999999999999999", 0, true, false},
		{"1e20", 0, true, false},
		{"1e400", 0, true, false},
		{"1e99999999999999999999", 0, true, false},
	} {
		n, whole, fits := readNumber(x.text)
		if whole != x.whole || whole && (fits != x.fits || fits && n != x.n) {
			t.Errorf("%s: %d, whole %v, fits %v", x.text, n, whole, fits)
		}
	}
}
