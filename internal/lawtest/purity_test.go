package lawtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// clock is what of package time reads or waits for the clock; the rest are types and arithmetic.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// sources are what of package math/rand/v2 takes a seed or a source; its other functions draw from one that the runtime
// seeds anew in every process.
var sources = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Zipf", "Source"}

// impurities lists what a pure package's file must not do, and init functions, which no package of ours has.
func impurities(f *ast.File, fset *token.FileSet, pure bool) []string {
	var found []string
	say := func(n ast.Node, format string, args ...any) {
		found = append(found, fmt.Sprintf("%s: ", fset.Position(n.Pos()))+fmt.Sprintf(format, args...))
	}
	names := importNames(f)
	ast.Inspect(f, func(n ast.Node) bool {
		if fn, is := n.(*ast.FuncDecl); is && fn.Recv == nil && fn.Name.Name == "init" {
			say(n, "init function: construct in New or in main, where errors can be returned")
		}
		if !pure {
			return true
		}
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "a pure package starts no goroutine: its caller decides what runs when")
		case *ast.SelectorExpr:
			x, is := n.X.(*ast.Ident)
			if !is {
				return true
			}
			switch path := names[x.Name]; {
			case path == "time" && slices.Contains(clock, n.Sel.Name):
				say(n, "time.%s in a pure package: take the time as an argument", n.Sel.Name)
			case path == "math/rand/v2" && !slices.Contains(sources, n.Sel.Name):
				say(n, "rand.%s draws from a source that nobody seeded: draw from a rand.Rand with a seed", n.Sel.Name)
			case path == "fmt" && strings.HasPrefix(n.Sel.Name, "Print"):
				say(n, "fmt.%s in a pure package: return the text", n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// importNames maps the names that a file gives to its imports to their paths.
func importNames(f *ast.File) map[string]string {
	names := map[string]string{}
	for _, imp := range f.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		name := strings.TrimSuffix(path, "/v2")
		name = name[strings.LastIndex(name, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		names[name] = path
	}
	return names
}

func TestPurePackagesReadNoClockAndStartNothing(t *testing.T) {
	files := 0
	for _, p := range list(t) {
		name, ours := own(p.ImportPath)
		if !ours {
			continue
		}
		for _, file := range p.GoFiles {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for _, o := range impurities(f, fset, allowed[name].pure) {
				t.Error(o)
			}
		}
	}
	if files == 0 {
		t.Error("no file was looked at: the search is broken")
	}
}

// TestPurityBites shows each impurity to the checker.
func TestPurityBites(t *testing.T) {
	for name, c := range map[string]struct {
		src  string
		pure bool
		want string
	}{
		"reading the clock":              {`package p; import "time"; func F() time.Time { return time.Now() }`, true, "time.Now"},
		"reading it under another name":  {`package p; import t "time"; func F() t.Time { return t.Now() }`, true, "time.Now"},
		"handing the clock over":         {`package p; import "time"; var F = time.Now`, true, "time.Now"},
		"a goroutine":                    {`package p; func F() { go F() }`, true, "goroutine"},
		"drawing without a seed":         {`package p; import "math/rand/v2"; func F() float64 { return rand.Float64() }`, true, "nobody seeded"},
		"drawing from a seed is fine":    {`package p; import "math/rand/v2"; func F(s uint64) float64 { return rand.New(rand.NewPCG(s, 1)).Float64() }`, true, ""},
		"printing":                       {`package p; import "fmt"; func F() { fmt.Println() }`, true, "return the text"},
		"types of time are fine":         {`package p; import "time"; func F(d time.Duration) float64 { return d.Seconds() }`, true, ""},
		"a method Now of something else": {`package p; func F(w W) { w.Now() }`, true, ""},
		"the edge may read the clock":    {`package p; import "time"; func F() time.Time { return time.Now() }`, false, ""},
		"an init function anywhere":      {`package p; func init() {}`, false, "init function"},
	} {
		t.Run(name, func(t *testing.T) {
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, "f.go", c.src, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			got := impurities(f, fset, c.pure)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("unexpected: %q", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one complaint with %q", got, c.want)
			}
		})
	}
}
