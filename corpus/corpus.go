// Package corpus holds the traces worth keeping: one behaviour per file, one folder per rule group. They say what SPEC.md
// says, not what an implementation does.
package corpus

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"

	"mcpsim/sim/trace"
)

//go:embed */*.ndjson
var files embed.FS

// List returns the names of all traces, such as "src/layers-merge-by-name", sorted.
func List() []string {
	var names []string
	err := fs.WalkDir(files, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(p) == ".ndjson" {
			names = append(names, strings.TrimSuffix(p, ".ndjson"))
		}
		return err
	})
	if err != nil {
		panic("corpus: " + err.Error()) // the files are embedded
	}
	sort.Strings(names)
	return names
}

// Text returns the text of the trace with this name, with or without .ndjson.
func Text(name string) ([]byte, error) {
	data, err := files.ReadFile(strings.TrimSuffix(name, ".ndjson") + ".ndjson")
	if err != nil {
		return nil, fmt.Errorf("corpus: there is no trace %q; `mcpsim corpus list` lists them", name)
	}
	return data, nil
}

// Read parses the trace with this name.
func Read(name string) (*trace.Trace, error) {
	data, err := Text(name)
	if err != nil {
		return nil, err
	}
	return trace.Parse("corpus/"+strings.TrimSuffix(name, ".ndjson")+".ndjson", data)
}
