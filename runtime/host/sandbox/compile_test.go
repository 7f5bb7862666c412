package sandbox

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// WebAssembly is compiled in one function only, and that takes nothing but a *fuel.Module: no guest without fuel.
func TestOnlyFuelledModulesAreCompiled(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			ast.Inspect(d, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				switch s.Sel.Name {
				case "Instantiate", "InstantiateWithConfig":
					if x, ok := s.X.(*ast.Ident); !ok || x.Name != "b" {
						t.Errorf("%s: %s compiles too", e.Name(), s.Sel.Name)
					}
				case "WithCloseOnContextDone":
					t.Errorf("%s: the slow way to stop a guest", e.Name())
				case "CompileModule":
					calls++
					f, ok := d.(*ast.FuncDecl)
					if !ok || f.Name.Name != "compile" || len(f.Type.Params.List) != 3 {
						t.Errorf("%s: only compile may call CompileModule", e.Name())
						return true
					}
					star, ok := f.Type.Params.List[2].Type.(*ast.StarExpr)
					if sel, is := star.X.(*ast.SelectorExpr); !ok || !is || sel.Sel.Name != "Module" {
						t.Errorf("compile takes something else than a *fuel.Module")
					}
				}
				return true
			})
		}
	}
	if calls != 1 {
		t.Errorf("%d calls of CompileModule", calls)
	}
}
