package properties

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

var forbiddenImports = []string{"sync", "sync/atomic", "os", "os/exec", "os/signal", "math/rand", "math/rand/v2"}

var forbiddenCalls = map[string][]string{
	"time":    {"Now", "After", "Sleep", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"},
	"context": {"WithTimeout", "WithDeadline", "AfterFunc", "WithTimeoutCause", "WithDeadlineCause"},
}

// impurities lists what a file holds that the model and the host's core must not: goroutines, channels, locks, clocks, os.
func impurities(t *testing.T, name string, src any) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, imp := range file.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		for _, f := range forbiddenImports {
			if path == f {
				out = append(out, "import "+path)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			out = append(out, "go statement")
		case *ast.ChanType:
			out = append(out, "channel")
		case *ast.SelectStmt:
			out = append(out, "select")
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				for _, f := range forbiddenCalls[id.Name] {
					if x.Sel.Name == f {
						out = append(out, id.Name+"."+f)
					}
				}
			}
		}
		return true
	})
	return out
}

func sources(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join("..", dir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") {
			out = append(out, p)
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %v, %d files", dir, err, len(out))
	}
	return out
}

// TestModelAndHostArePure: no goroutine, channel, lock, clock or os call in the model, nor in the host outside impl/live.
func TestModelAndHostArePure(t *testing.T) {
	for _, dir := range []string{"model", "impl"} {
		for _, p := range sources(t, dir) {
			if strings.Contains(filepath.ToSlash(p), "impl/live/") {
				continue
			}
			for _, bad := range impurities(t, p, nil) {
				t.Errorf("%s: %s", p, bad)
			}
		}
	}
	bad := "package x\nimport (\"os\";\"sync\";\"time\")\nfunc f(){ go f(); c := make(chan int); select{}; time.Now(); _, _ = os.Args, sync.Mutex{}; _ = c }"
	if got := impurities(t, "bad.go", bad); len(got) != 6 {
		t.Errorf("the check finds %v in a file with six faults", got)
	}
}

// TestImportsPointOneWay: model and impl know neither each other nor sim; the fakes know only the host's port types; only
// sim/host brings model and host together.
func TestImportsPointOneWay(t *testing.T) {
	may := map[string]func(string) bool{
		"model":         func(string) bool { return false },
		"impl":          func(p string) bool { return strings.HasPrefix(p, "mcpsim/impl") || p == "mcpsim/impl" },
		"sim/fakefs":    func(p string) bool { return strings.HasPrefix(p, "mcpsim/impl/") },
		"sim/fakeclock": func(p string) bool { return strings.HasPrefix(p, "mcpsim/impl/") },
		"sim/trace":     func(p string) bool { return p == "mcpsim/model" },
		"sim/gen":       func(p string) bool { return p == "mcpsim/model" || p == "mcpsim/sim/trace" },
		"sim/shrink":    func(p string) bool { return p == "mcpsim/model" || p == "mcpsim/sim/trace" },
	}
	imports := func(p string) []string {
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, imp := range file.Imports {
			out = append(out, strings.Trim(imp.Path.Value, `"`))
		}
		return out
	}
	for dir, ok := range may {
		for _, p := range sources(t, dir) {
			for _, path := range imports(p) {
				if strings.HasPrefix(path, "mcpsim/") && !ok(path) {
					t.Errorf("%s imports %s", p, path)
				}
				if dir == "model" && strings.Contains(path, ".") {
					t.Errorf("%s imports %s, which is not of the standard library", p, path)
				}
			}
		}
	}
	for _, p := range sources(t, "sim") {
		both := 0
		for _, path := range imports(p) {
			if path == "mcpsim/impl" || path == "mcpsim/model" {
				both++
			}
		}
		if both == 2 && !strings.Contains(filepath.ToSlash(p), "sim/host/") && !strings.Contains(filepath.ToSlash(p), "sim/real") {
			t.Errorf("%s imports both the model and the host", p)
		}
	}
}
