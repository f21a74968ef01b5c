package trace

import (
	"bytes"
	"path"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tailscale/hujson"

	"mcpsim/model"
)

// Denote says what the bytes of a file denote (SRC-5, SRC-6): JSON with comments and trailing commas, UTF-8, an optional
// BOM. It is the model's own reading and shares no library with the host's. Text that is no valid Unicode costs the string
// that holds it and not the document (SRC-8). The result is shared: do not change it.
func Denote(data []byte) model.Content {
	denoted.Lock()
	c, ok := denoted.m[string(data)]
	denoted.Unlock()
	if ok {
		return c
	}
	c = denote(data)
	denoted.Lock()
	defer denoted.Unlock()
	if denoted.size += len(data); denoted.size > maxDenoted || denoted.m == nil {
		denoted.m, denoted.size = make(map[string]model.Content), len(data)
	}
	denoted.m[string(data)] = c
	return c
}

// maxDenoted bounds the texts in the cache, in bytes; when it is full it starts anew. It serves plays of one trace: what is
// kept longer only burdens the collector.
const maxDenoted = 128 << 10

var denoted struct {
	sync.Mutex
	m    map[string]model.Content
	size int
}

func denote(data []byte) model.Content {
	body := escaped(bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF")))
	plain, err := hujson.Standardize(append(body, '\n')) // it wants an end to a comment on the last line
	var v *model.Value
	if err == nil {
		v, err = ParseValue(plain) // hujson lets bad input pass; this does not
	}
	switch {
	case err != nil:
		return model.Content{State: model.Unparsable, LinkText: linkText(data)}
	case v.Kind != model.Object:
		return model.Content{State: model.NotObject}
	}
	return model.Content{State: model.Good, Value: v}
}

// escaped returns a copy in which every byte that is no UTF-8 is written as a lone surrogate: equally bad in a string,
// equally wrong between values, and no reason to refuse a comment.
func escaped(data []byte) []byte {
	out := make([]byte, 0, len(data)+1)
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 && !bytes.HasSuffix(out, []byte(`\`)) {
			out = append(out, `\ud800`...)
		} else {
			out = append(out, data[:n]...)
		}
		data = data[n:]
	}
	return out
}

// linkText reports whether the whole text is one relative path, as a link checked out as text is (SRC-15).
func linkText(data []byte) bool {
	s := strings.TrimSuffix(string(data), "\n")
	if s == "" || len(s) > 4096 || !utf8.ValidString(s) || path.IsAbs(s) || !strings.ContainsAny(s, "./") {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`{}[]"<>|*?`, r)
	})
}
