package settings

import (
	"errors"
	"fmt"
	"io"
	iofs "io/fs"

	"mcpsim/impl/port"
)

// fileState is what became of a source when it was read last (SRC-6).
type fileState uint8

const (
	good fileState = iota
	missing
	unreadable
	unparsable
	notObject
)

// reading is what one read gave: the content at the moment it ran, and the way there.
type reading struct {
	trail
	data []byte
}

// maxFile bounds what is read of one source, in bytes.
const maxFile = 64 << 20

// read runs as a job: it touches nothing of the host.
func read(fs port.FS, path string) reading {
	for range 3 {
		r := reading{trail: walk(fs, path)}
		if r.state != good {
			return r
		}
		data, err := content(fs, path)
		switch {
		case errors.Is(err, iofs.ErrNotExist):
			continue // it went while it was looked up
		case err != nil:
			r.state, r.why = unreadable, reason(err)
		default:
			r.data = data
		}
		return r
	}
	r := reading{trail: walk(fs, path)}
	if r.state == good {
		r.state, r.why = unreadable, "it comes and goes"
	}
	return r
}

func content(fs port.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	return data, err
}
