package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxInteger is 2^53: beyond it two integers can round to one number, and so share an approval (SRC-8).
const maxInteger = 1 << 53

// canonicalNumber returns the form of RFC 8785 of a JSON number if that denotes exactly the same number, else the text as
// it is: 1.0 and 1e0 are 1, but 0.1000000000000000000001 is not 0.1.
func canonicalNumber(s string) string {
	if len(s) < 16 && strings.IndexAny(s, ".eE") < 0 && s != "-0" {
		return s // a short integer
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	c := "0" // also for -0
	if f != 0 {
		c = jsontext.Float(f).String()
	}
	if d1, ok1 := decimalOf(s); c != s && ok1 {
		if d2, ok2 := decimalOf(c); !ok2 || d1 != d2 {
			return s
		}
	}
	return c
}

// decimal is a number as sign and digits without zeros at either end, times a power of ten.
type decimal struct {
	digits string // "" is zero
	power  int
}

// decimalOf is not ok if the exponent is beyond every reason.
func decimalOf(s string) (d decimal, ok bool) {
	mantissa, power := s, "0"
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, power = s[:i], s[i+1:]
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return decimal{}, true
	}
	p, err := strconv.Atoi(power)
	if err != nil {
		return decimal{}, false
	}
	return decimal{sign + short, p - len(fraction) + len(digits) - len(short)}, true
}

// beyond reports an integer beyond 2^53, however it is written.
func beyond(s string) bool {
	f, err := strconv.ParseFloat(s, 64)
	if err == nil && math.Abs(f) < maxInteger {
		return false
	}
	d, ok := decimalOf(s)
	switch {
	case !ok:
		return true
	case d.power < 0: // it has a fraction
		return false
	}
	return err != nil || math.Abs(f) > maxInteger || strings.TrimPrefix(d.digits, "-") != "9007199254740992"
}

// integer reads a whole number of at most 2^53, also one written as 1e3.
func (v *value) integer() (int64, bool) {
	if v == nil || v.kind != number || beyond(v.text) {
		return 0, false
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if d, ok := decimalOf(v.text); err != nil || f != math.Trunc(f) || !ok || d.power < 0 {
		return 0, false
	}
	return int64(f), true
}
