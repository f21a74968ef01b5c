package config

import "testing"

func TestIntegersBeyond2To53(t *testing.T) { // SRC-8
	for text, want := range map[string]bool{
		"9007199254740992": false, "-9007199254740992": false, "9007199254740993": true, "-9007199254740993": true,
		"9007199254740992.0": false, "9007199254740993.0": true, "9.007199254740993e15": true, "90071992547409930e-1": true,
		"9007199254740993.5": false, "9007199254740992.5": false, "1e22": true, "1e400": true, "1e-400": false, "0e999999999999999999999": false,
		"0.5e1": false, "123e-2": false, "1e15": false, "1e16": true, "1e99999999999999999999": true, "1e-99999999999999999999": false,
		"0": false, "-0": false, "0.0": false, "00": false, "9007199254740991e0": false, "0.9007199254740993e16": true,
	} {
		if got := beyond(text); got != want {
			t.Errorf("beyond(%s) = %v", text, got)
		}
	}
}
