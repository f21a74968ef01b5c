package fakemcp

import "strings"

// ResolveURL is the address of a key's servers, where traces say {{url:KEY}}: http://KEY.test. What cannot stand in a host
// name (capitals included, and the dot, so that no address is the beginning of another key's) becomes a dot and two hex
// digits for each byte; two keys never have one address.
func ResolveURL(key string) string {
	var b strings.Builder
	b.WriteString("http://")
	for i := 0; i < len(key); i++ {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			b.WriteByte('.')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	b.WriteString(".test")
	return b.String()
}

const hex = "0123456789abcdef"
