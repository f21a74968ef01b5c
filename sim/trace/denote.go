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
	if len(denoted.m) >= maxDenoted || denoted.m == nil {
		denoted.m = make(map[string]model.Content)
	}
	denoted.m[string(data)] = c
	return c
}

// maxDenoted bounds the cache; when it is full it starts anew.
const maxDenoted = 4096

var denoted struct {
	sync.Mutex
	m map[string]model.Content
}

func denote(data []byte) model.Content {
	body := bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	plain, err := hujson.Standardize(bytes.Clone(body))
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
