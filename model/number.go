package model

import (
	"strconv"
	"strings"
)

// maxInteger is 2^53: beyond it two integers can be one number, and so share an approval (SRC-8).
const maxInteger = 1 << 53

// wholeNumber reads a whole number of at most 2^53, also one written as 1e3 or 5.0.
func wholeNumber(v *Value) (int64, bool) {
	if v == nil || v.Kind != Number {
		return 0, false
	}
	n, whole, fits := readNumber(v.Text)
	return n, whole && fits
}

// readNumber reads a JSON number exactly: whether it is whole, and if so, whether it fits 2^53.
func readNumber(text string) (n int64, whole, fits bool) {
	mantissa, exponent := text, "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa, exponent = text[:i], text[i+1:]
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	integral, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(integral+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return 0, true, true
	}
	power, err := strconv.Atoi(exponent)
	if err != nil { // an exponent beyond every reason: far too large, or the smallest of fractions
		return 0, exponent[0] != '-', false
	}
	power += len(digits) - len(short) - len(fraction)
	switch {
	case power < 0:
		return 0, false, false
	case len(short)+power > 16: // 2^53 has 16 digits
		return 0, true, false
	}
	n, err = strconv.ParseInt(short+strings.Repeat("0", power), 10, 64)
	if err != nil || n > maxInteger {
		return 0, true, false
	}
	if negative {
		n = -n
	}
	return n, true, true
}

// holdsHugeInteger reports an integer beyond 2^53 anywhere in v (SRC-8).
func holdsHugeInteger(v *Value) bool {
	if v.Kind == Number {
		_, whole, fits := readNumber(v.Text)
		return whole && !fits
	}
	for _, e := range v.Elems {
		if holdsHugeInteger(e) {
			return true
		}
	}
	for i := range v.Members {
		if holdsHugeInteger(v.Members[i].Value) {
			return true
		}
	}
	return false
}
