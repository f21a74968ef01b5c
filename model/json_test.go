package model

import (
	"encoding/json"
	"strings"
)

// js reads JSON as a trace's parser does: member order kept, the last of duplicates wins and is listed, numbers as they are
// written. The text \ud800, a lone surrogate, becomes text that is not valid Unicode.
func js(text string) *Value {
	dec := json.NewDecoder(strings.NewReader(strings.ReplaceAll(text, `\ud800`, badMark)))
	dec.UseNumber()
	v, err := readJSON(dec)
	if err != nil {
		panic(text + ": " + err.Error())
	}
	return v
}

const badMark = "<bad>"

func readJSON(dec *json.Decoder) (*Value, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch x := tok.(type) {
	case nil:
		return NullValue(), nil
	case bool:
		return Boolean(x), nil
	case json.Number:
		return &Value{Kind: Number, Text: x.String()}, nil
	case string:
		s, bad := marked(x)
		return &Value{Kind: String, Text: s, BadText: bad}, nil
	case json.Delim:
		v := &Value{Kind: Array}
		if x == '{' {
			v.Kind = Object
		}
		for dec.More() {
			if x == '[' {
				e, err := readJSON(dec)
				if err != nil {
					return nil, err
				}
				v.Elems = append(v.Elems, e)
				continue
			}
			k, err := dec.Token()
			if err != nil {
				return nil, err
			}
			key, bad := marked(k.(string))
			v.BadText = v.BadText || bad
			e, err := readJSON(dec)
			if err != nil {
				return nil, err
			}
			if v.Get(key) == nil {
				v.Members = append(v.Members, Member{key, e})
				continue
			}
			*v = Value{Kind: Object, Members: with(v, key, e).Members, Dups: v.Dups, BadText: v.BadText}
			if !contains(v.Dups, key) {
				v.Dups = append(v.Dups, key)
			}
		}
		_, err = dec.Token()
		return v, err
	}
	return nil, nil
}

func marked(s string) (string, bool) {
	return strings.ReplaceAll(s, badMark, "\uFFFD"), strings.Contains(s, badMark)
}
