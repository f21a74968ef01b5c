package trace

import (
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpsim/model"
)

// ParseValue reads exactly one strict JSON value. Of a duplicate key the last value wins, at the place of the first, and
// the key is listed in Dups. Numbers are canonical (RFC 8785) where that loses nothing. Text that is not valid Unicode (a
// lone surrogate, bytes that are no UTF-8) becomes U+FFFD and sets BadText on the string, or on the object whose key it is.
func ParseValue(data []byte) (*model.Value, error) {
	dec := decoder(data)
	v, err := readValue(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); err == nil {
		return nil, errors.New("more than one JSON value")
	} else if err != io.EOF {
		return nil, err
	}
	return v, nil
}

func readValue(dec *jsontext.Decoder) (*model.Value, error) {
	switch dec.PeekKind() {
	case '{':
		return readObject(dec)
	case '[':
		return readArray(dec)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch raw.Kind() {
	case 'n':
		return model.NullValue(), nil
	case 't', 'f':
		return model.Boolean(raw.Kind() == 't'), nil
	case '0':
		return &model.Value{Kind: model.Number, Text: canonicalNumber(string(raw))}, nil
	}
	s, bad := unquote(raw)
	return &model.Value{Kind: model.String, Text: s, BadText: bad}, nil
}

func unquote(raw []byte) (s string, bad bool) {
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err != nil
}

func readArray(dec *jsontext.Decoder) (*model.Value, error) {
	dec.ReadToken()
	v := &model.Value{Kind: model.Array}
	for dec.PeekKind() != ']' {
		e, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		v.Elems = append(v.Elems, e)
	}
	_, err := dec.ReadToken()
	return v, err
}

func readObject(dec *jsontext.Decoder) (*model.Value, error) {
	dec.ReadToken()
	v := &model.Value{Kind: model.Object}
	var index map[string]int // of keys, once there are many
	for dec.PeekKind() != '}' {
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		key, bad := unquote(raw)
		v.BadText = v.BadText || bad
		e, err := readValue(dec)
		if err != nil {
			return nil, err
		}
		at, dup := find(v, index, key)
		if !dup {
			v.Members = append(v.Members, model.Member{Key: key, Value: e})
			if index != nil {
				index[key] = len(v.Members) - 1
			} else if len(v.Members) > 16 {
				index = make(map[string]int, 64)
				for i := range v.Members {
					index[v.Members[i].Key] = i
				}
			}
			continue
		}
		v.Members[at].Value = e // SRC-8: the last wins
		if !contains(v.Dups, key) {
			v.Dups = append(v.Dups, key)
		}
	}
	_, err := dec.ReadToken()
	return v, err
}

func find(v *model.Value, index map[string]int, key string) (int, bool) {
	if index != nil {
		i, ok := index[key]
		return i, ok
	}
	for i := range v.Members {
		if v.Members[i].Key == key {
			return i, true
		}
	}
	return 0, false
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

// canonicalNumber returns the RFC 8785 form of a JSON number if that denotes exactly the same number, otherwise the text
// as it is: 1.0 and 1e0 are 1, but 12345678901234567890 stays (RFC 8785 would make it ...7000).
func canonicalNumber(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return s
	}
	c := "0" // also for -0
	if f != 0 {
		c = jsontext.Float(f).String()
	}
	if c == s {
		return s
	}
	d1, e1, ok1 := decimal(s)
	d2, e2, ok2 := decimal(c)
	if ok1 && ok2 && d1 == d2 && e1 == e2 {
		return c
	}
	return s
}

// decimal splits a number into its digits (sign, no zeros at either end) and the exponent of ten of the last digit.
func decimal(s string) (digits string, exp int, ok bool) {
	mantissa, power, sign := s, "0", ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, power = s[:i], s[i+1:]
	}
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	mantissa = strings.TrimLeft(whole+fraction, "0")
	short := strings.TrimRight(mantissa, "0")
	if short == "" {
		return "0", 0, true
	}
	p, err := strconv.Atoi(power)
	if err != nil {
		return "", 0, false
	}
	return sign + short, p - len(fraction) + len(mantissa) - len(short), true
}
