package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "toolshed/"

// mayImport says which of our packages a package may import, and why the line is drawn there. A package that is not in the
// table does not belong to the program.
var mayImport = map[string]struct {
	imports []string
	why     string
}{
	"runtime/capnweb":              {nil, "the protocol is a library that others could use"},
	"runtime/capnweb/batch":        {[]string{"runtime/capnweb"}, "a transport over HTTP knows sessions, and nothing of what they carry"},
	"runtime/fuel":                 {nil, "the rewriter is a library that others could use"},
	"runtime/guest":                {nil, "what runs in the sandbox depends on nothing outside it"},
	"runtime/storage":              {[]string{"runtime/storage/pages"}, "what storage means does not depend on who stores"},
	"runtime/host":                 {[]string{"runtime/capnweb", "runtime/host/sandbox", "runtime/host/wire", "runtime/storage"}, "the sandbox knows nothing of the kernel"},
	"runtime/host/sandbox":         {[]string{"runtime/fuel", "runtime/guest", "runtime/host/sandbox/clock", "runtime/host/sandbox/domain", "runtime/host/sandbox/image", "runtime/host/sandbox/inbox", "runtime/host/sandbox/linear", "runtime/host/sandbox/modules", "runtime/host/sandbox/overlay", "runtime/host/sandbox/subtle", "runtime/host/walls", "runtime/host/wire", "runtime/storage"}, "the child's side never sees what the kernel holds"},
	"runtime/host/sandbox/clock":   {nil, "time is time, whoever runs"},
	"runtime/host/sandbox/domain":  {nil, "names are text in and text out"},
	"runtime/host/sandbox/image":   {nil, "pages are pages, whatever engine they belong to"},
	"runtime/host/sandbox/inbox":   {[]string{"runtime/host/wire"}, "messages wait the same whatever runs on them"},
	"runtime/host/sandbox/linear":  {[]string{"runtime/host/sandbox/image"}, "memories are memories, whatever engine they belong to"},
	"runtime/host/sandbox/modules": {nil, "names of modules are resolved without an engine"},
	"runtime/host/sandbox/overlay": {[]string{"runtime/host/wire", "runtime/storage"}, "what a turn has written is known without an engine"},
	"runtime/host/sandbox/subtle":  {nil, "cryptography is bytes in and bytes out"},
	"runtime/storage/pages":        {nil, "what a page of a file holds does not depend on who reads it"},
	"runtime/host/walls":           {[]string{"runtime/host/wire"}, "what drops privileges is read line by line and stays small"},
	"runtime/host/wire":            {[]string{"runtime/storage"}, "frames are the same on both sides"},
	"app/code":                     {nil, "sources do not know what runs them"},
	"app/store":                    {nil, "records do not know what they mean"},
	"app/profile":                  {[]string{"app/store", "app/vault", "gatekeepers"}, "the profile exists with no workspace open"},
	"app/overseer":                 {[]string{"app/code", "app/share", "app/store", "gatekeepers", "runtime/capnweb", "runtime/host", "runtime/storage"}, "the kernel keeps authority and order only"},
	"app/api":                      {[]string{"app/overseer", "app/agent", "app/peer", "app/share", "app/profile", "app/code", "runtime/capnweb"}, "capabilities wrap the kernel and know no transport"},
	"app/serve":                    {[]string{"app/api"}, "serving the page needs its capabilities and nothing behind them"},
	"app":                          {[]string{"app/api", "app/overseer", "app/profile", "app/serve", "runtime/capnweb"}, "the shell assembles"},
	"app/command/bench":            {[]string{"app/code", "app/overseer", "app/serve", "runtime/capnweb", "runtime/host", "runtime/storage"}, "what is measured is everything below the commands"},
	"app/command":                  {[]string{"app", "app/api", "app/command/bench", "app/overseer", "app/profile", "app/serve", "runtime/capnweb", "runtime/host"}, "a command talks to the program"},
	"frontend":                     {nil, "the built page is only files"},
	"":                             {[]string{"app", "app/command", "app/overseer", "frontend", "runtime/host"}, "main assembles"},
	"runtime/storage/storagetest":  {[]string{"runtime/storage"}, "a suite tests its contract"},
}

// onlyIn says where alone an outside module may be imported.
var onlyIn = map[string][]string{
	"github.com/tetratelabs/wazero":       {"runtime/host/sandbox"},
	"github.com/wailsapp/wails":           {"app"},
	"go.etcd.io/bbolt":                    {"runtime/storage", "app/store"},
	"github.com/ncruces/go-sqlite3":       {"runtime/storage"},
	"github.com/zalando/go-keyring":       {"app/vault"},
	"github.com/go-git/go-git":            {"app/code"},
	"github.com/evanw/esbuild":            {"app/code"},
	"github.com/libp2p/go-libp2p":         {"app/peer"},
	"golang.org/x/net/idna":               {"runtime/host/sandbox/domain"},
	"golang.org/x/oauth2":                 {"gatekeepers/oauth"},
	"github.com/landlock-lsm/go-landlock": {"runtime/host/walls"},
	"github.com/elastic/go-seccomp-bpf":   {"runtime/host/walls"},
	"github.com/coder/websocket":          {"app/serve", "app/command/bench"},
}

// The budgets of lines that are not tests. An exception is a line here with its reason.
const (
	functionLines = 100
	fileLines     = 800
	packageLines  = 2_500
	tsxLines      = 400
)

var exceptions = map[string]string{
	"runtime/capnweb": "the whole protocol is one state machine; sub-packages would share its lock",
}

func TestTopLevelStays(t *testing.T) {
	allowed := strings.Fields("app frontend runtime gatekeepers build main.go window.go go.mod go.sum wails.json README.md CONTRIBUTING.md LICENSE Makefile .ci .gitignore .git architecture_test.go")
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(allowed, e.Name()) {
			t.Errorf("%s stands at the top level; a newcomer should find everything in the folders that are there", e.Name())
		}
	}
}

func TestImportsPointInward(t *testing.T) {
	for dir, files := range goFiles(t) {
		rule, known := mayImport[dir]
		if !known {
			t.Errorf("package %s is not in the table of architecture_test.go", dir)
			continue
		}
		for name, file := range files {
			test := strings.HasSuffix(name, "_test.go")
			for _, spec := range file.Imports {
				imported := strings.Trim(spec.Path.Value, `"`)
				if ours, ok := strings.CutPrefix(imported, module); ok {
					if !test && !slices.Contains(rule.imports, ours) {
						t.Errorf("%s imports %s, which %q may not: %s", name, ours, dir, rule.why)
					}
					continue
				}
				for outside, where := range onlyIn {
					if (imported == outside || strings.HasPrefix(imported, outside+"/")) && !test && !slices.Contains(where, dir) {
						t.Errorf("%s imports %s, which belongs in %s alone", name, imported, strings.Join(where, " and "))
					}
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	for dir, files := range goFiles(t) {
		documented := false
		for name, file := range files {
			documented = documented || file.Doc != nil && !strings.HasSuffix(name, "_test.go")
		}
		if !documented {
			t.Errorf("package %q has no doc comment", dir)
		}
	}
}

func TestBudgets(t *testing.T) {
	set := token.NewFileSet()
	perPackage := map[string]int{}
	walk(t, func(name string) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(text), "\n")
		perPackage[path.Dir(name)] += lines
		over(t, name, lines, fileLines)
		file, err := parser.ParseFile(set, name, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				over(t, fmt.Sprintf("%s: %s", name, f.Name.Name), set.Position(f.End()).Line-set.Position(f.Pos()).Line+1, functionLines)
			}
		}
	})
	for dir, lines := range perPackage {
		over(t, dir, lines, packageLines)
	}
	walk(t, func(name string) {
		if strings.HasSuffix(name, ".tsx") && !strings.Contains(name, ".test.") {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			over(t, name, strings.Count(string(text), "\n"), tsxLines)
		}
	})
}

func over(t *testing.T, what string, lines, budget int) {
	t.Helper()
	if lines > budget && exceptions[what] == "" {
		t.Errorf("%s has %d lines, its budget is %d: split it by what it does", what, lines, budget)
	}
}

// walk calls f for every file of the program that people write, by its slash-separated path.
func walk(t *testing.T, f func(name string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(p)
		if d.IsDir() {
			if base := d.Name(); base == "node_modules" || base == "dist" || base == ".git" || base == "testdata" || name == "build/bin" {
				return filepath.SkipDir
			}
			return nil
		}
		f(name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goFiles parses every Go file, by package folder ("" is the root) and path.
func goFiles(t *testing.T) map[string]map[string]*ast.File {
	t.Helper()
	out := map[string]map[string]*ast.File{}
	set := token.NewFileSet()
	walk(t, func(name string) {
		if !strings.HasSuffix(name, ".go") {
			return
		}
		file, err := parser.ParseFile(set, name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		if dir == "." {
			dir = ""
		}
		if out[dir] == nil {
			out[dir] = map[string]*ast.File{}
		}
		out[dir][name] = file
	})
	return out
}
