package properties

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var forbiddenImports = []string{"sync", "sync/atomic", "os", "os/exec", "os/signal", "math/rand", "math/rand/v2"}

var forbiddenCalls = map[string][]string{
	"time":    {"Now", "After", "Sleep", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Since", "Until"},
	"context": {"WithTimeout", "WithDeadline", "AfterFunc", "WithTimeoutCause", "WithDeadlineCause"},
}

// impurities lists what a file holds that the model and the host's core must not: goroutines, channels, locks, clocks, os.
// A package is known by its path, whatever name the file gives it.
func impurities(t *testing.T, name string, src any) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	calls := map[string][]string{} // by the name in this file
	for _, imp := range file.Imports {
		p := strings.Trim(imp.Path.Value, `"`)
		if slices.Contains(forbiddenImports, p) {
			out = append(out, "import "+p)
		}
		if forbidden := forbiddenCalls[p]; forbidden != nil {
			as := p
			if imp.Name != nil {
				as = imp.Name.Name
			}
			if as == "." {
				out = append(out, "dot import of "+p)
			}
			calls[as] = forbidden
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
		case *ast.SendStmt:
			out = append(out, "send")
		case *ast.UnaryExpr:
			if x.Op == token.ARROW {
				out = append(out, "receive")
			}
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok && slices.Contains(calls[id.Name], x.Sel.Name) {
				out = append(out, id.Name+"."+x.Sel.Name)
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
}

// TestThePurityCheckFindsEachFault: a check that cannot fail says nothing.
func TestThePurityCheckFindsEachFault(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"func f() { go f() }", "go statement"},
		{"var c chan<- int", "channel"},
		{"func f() { select {} }", "select"},
		{"func f(c C) { c <- 1 }", "send"},
		{"func f(c C) { <-c.Done() }", "receive"},
		{`import . "time"`, "dot import of time"},
		{`import tm "time"; var x = tm.Now()`, "tm.Now"},
		{`import "time"; var x time.Duration = 3 * time.Second`, ""},
		{`import ("context"; "syscall"); func f(ctx context.Context) error { return syscall.ENOSPC }`, ""},
	} {
		if got := strings.Join(impurities(t, "bad.go", "package x\n"+c.src), ", "); got != c.want {
			t.Errorf("%s: found %q, not %q", c.src, got, c.want)
		}
	}
	for _, p := range forbiddenImports {
		if got := impurities(t, "bad.go", "package x\nimport _ \""+p+"\""); len(got) != 1 {
			t.Errorf("the import of %s is not found: %v", p, got)
		}
	}
	for p, names := range forbiddenCalls {
		for _, name := range names {
			src := "package x\nimport \"" + p + "\"\nvar f = " + p + "." + name
			if got := impurities(t, "bad.go", src); len(got) != 1 {
				t.Errorf("%s.%s is not found: %v", p, name, got)
			}
		}
	}
}

// mayImport says which packages of this module a package below a folder may import.
var mayImport = map[string]func(string) bool{
	"model":         func(string) bool { return false },
	"impl":          func(p string) bool { return under(p, "mcpsim/impl") },
	"sim/fakefs":    func(p string) bool { return strings.HasPrefix(p, "mcpsim/impl/") },
	"sim/fakeclock": func(p string) bool { return strings.HasPrefix(p, "mcpsim/impl/") },
	"sim/fakemcp": func(p string) bool {
		return strings.HasPrefix(p, "mcpsim/impl/") || p == "mcpsim/model" || p == "mcpsim/sim/fakeclock"
	},
	"sim/trace":      func(p string) bool { return p == "mcpsim/model" },
	"sim/realserver": func(p string) bool { return false },
	"sim/gen":        func(p string) bool { return p == "mcpsim/model" || p == "mcpsim/sim/trace" },
	"sim/shrink":     func(p string) bool { return p == "mcpsim/model" || p == "mcpsim/sim/trace" },
}

func under(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// wrongImports lists what a package, by its folder, imports and must not.
func wrongImports(dir string, imports []string) []string {
	var out []string
	model, host := false, false
	for _, p := range imports {
		model, host = model || p == "mcpsim/model", host || p == "mcpsim/impl" || p == "mcpsim/impl/live"
		for d, ok := range mayImport {
			if under(dir, d) && under(p, "mcpsim") && !ok(p) {
				out = append(out, p)
			}
		}
		first, _, _ := strings.Cut(p, "/")
		if under(dir, "model") && strings.Contains(first, ".") {
			out = append(out, p+", which is not of the standard library")
		}
	}
	if model && host && dir != "sim/host" && dir != "sim/real" && dir != "cmd/mcpsim" {
		out = append(out, "both the model and the host")
	}
	return out
}

// TestImportsPointOneWay: model and impl know neither each other nor sim; the fakes know only the host's parts; a scripted
// server knows neither. Model and host meet in three packages: sim/host, where the core is put into the simulated world and its
// events are translated, sim/real, where the live host is put into the real one and its ports are watched from both sides, and the command, whose live
// verb shows the live host and writes what it saw as a trace and a log.
func TestImportsPointOneWay(t *testing.T) {
	imports := map[string][]string{} // by the folder of the package
	for _, p := range sources(t, "") {
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(p)), "../")
		for _, imp := range file.Imports {
			imports[dir] = append(imports[dir], strings.Trim(imp.Path.Value, `"`))
		}
	}
	for dir := range mayImport {
		if imports[dir] == nil {
			t.Errorf("no package in %s: has it moved?", dir)
		}
	}
	for dir, list := range imports {
		for _, bad := range wrongImports(dir, list) {
			t.Errorf("%s imports %s", dir, bad)
		}
	}
}

// TestTheImportCheckFindsEachFault: so does this one.
func TestTheImportCheckFindsEachFault(t *testing.T) {
	for _, c := range []struct {
		dir     string
		imports []string
		wrong   int
	}{
		{"model", []string{"strings", "crypto/sha256"}, 0},
		{"model", []string{"mcpsim/impl/config"}, 1},
		{"model", []string{"mcpsim/sim"}, 1},
		{"model", []string{"github.com/spf13/afero"}, 1},
		{"impl", []string{"mcpsim/model"}, 1},
		{"impl/settings", []string{"mcpsim/impl/port", "mcpsim/sim/fakefs"}, 1},
		{"impl/live", []string{"mcpsim/impl", "mcpsim/model"}, 2},
		{"sim/fakefs", []string{"mcpsim/impl/port", "mcpsim/impl"}, 1},
		{"sim/fakefs", []string{"mcpsim/model"}, 1},
		{"sim/fakeclock", []string{"mcpsim/sim/trace"}, 1},
		{"sim/fakemcp", []string{"mcpsim/impl/mcp", "mcpsim/model", "mcpsim/sim/fakeclock"}, 0},
		{"sim/fakemcp", []string{"mcpsim/sim"}, 1},
		{"sim/fakemcp", []string{"mcpsim/impl"}, 1},
		{"sim/gen", []string{"mcpsim/sim"}, 1},
		{"sim/host", []string{"mcpsim/impl", "mcpsim/model"}, 0},
		{"sim/real", []string{"mcpsim/impl", "mcpsim/impl/live", "mcpsim/model"}, 0},
		{"sim/realserver", []string{"mcpsim/model"}, 1},
		{"sim/judge", []string{"mcpsim/impl/live", "mcpsim/model"}, 1},
		{"sim/check", []string{"mcpsim/impl", "mcpsim/model"}, 1},
		{"cmd/mcpsim", []string{"mcpsim/impl", "mcpsim/model"}, 0},
		{"sim/check", []string{"mcpsim/impl", "mcpsim/model"}, 1},
	} {
		if got := wrongImports(c.dir, c.imports); len(got) != c.wrong {
			t.Errorf("%s importing %v: found %v, not %d faults", c.dir, c.imports, got, c.wrong)
		}
	}
}
