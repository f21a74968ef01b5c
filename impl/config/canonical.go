package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// canonical returns the canonical JSON (RFC 8785) of an object without some of its own members, and without every member that
// counts as absent, at any depth. A number that RFC 8785 would round stays as it was written, so that two different
// configurations never get one text.
func canonical(v *value, without func(key string) bool) string {
	raw := jsontext.Value(appendCompact(nil, v, without))
	err := raw.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		panic(fmt.Sprintf("what was parsed cannot be printed: %v", err)) // only valid Unicode and unique keys get here
	}
	return string(raw)
}

func appendCompact(b []byte, v *value, without func(key string) bool) []byte {
	switch v.kind {
	case null:
		return append(b, "null"...)
	case boolTrue:
		return append(b, "true"...)
	case boolFalse:
		return append(b, "false"...)
	case number:
		return append(b, v.text...)
	case text:
		return appendQuoted(b, v.text)
	case array:
		b = append(b, '[')
		for i, e := range v.elems {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCompact(b, e, nil) // an element counts, also if it is null, {} or []
		}
		return append(b, ']')
	}
	b = append(b, '{')
	first := true
	for i := range v.members {
		m := &v.members[i]
		if m.value.vanishes() || without != nil && without(m.key) {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendQuoted(b, m.key), ':')
		b = appendCompact(b, m.value, nil)
	}
	return append(b, '}')
}

// appendQuoted appends a JSON string; s is valid Unicode.
func appendQuoted(b []byte, s string) []byte {
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		panic(fmt.Sprintf("what was parsed cannot be printed: %v", err))
	}
	return b
}

// digest is the form of every digest of this package: sha256 in hex.
func digest[T string | []byte](s T) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
