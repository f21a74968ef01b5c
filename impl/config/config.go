// Package config holds server configurations as the host knows them: what a file says (Entry), what is
// dialled after expansion (DialSpec), and the digests that consent and identity rest on.
package config

// Kind is a transport.
type Kind uint8

// The transports (spec section 1).
const (
	Stdio Kind = iota + 1
	HTTP       // streamable HTTP: httpUrl
	SSE        // url
	SDK        // in-process, type "sdk"
)

// DialSpec is what a connection is made from: the transport-defining fields after expansion (SRC-9).
type DialSpec struct {
	Server     string
	Kind       Kind
	Command    string
	Args       []string
	Env        []KV   // sorted by name; added to the environment the host was started with
	Cwd        string // absolute; SRC-16
	URL        string
	Headers    []KV // sorted by name
	UntypedURL bool // a url without a type: the error of a failed dial says so (SRC-4)
}

// KV is one environment variable or header.
type KV struct{ Name, Value string }
