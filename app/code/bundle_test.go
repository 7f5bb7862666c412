package code

import (
	"errors"
	"strings"
	"testing"
)

func TestClientBundlesItsOwnFilesAndNothingElse(t *testing.T) {
	files := Files{
		"client.tsx":  []byte("import { one } from './lib/one'; import logo from './logo.png'; import './style.css'; const n: number = one; document.title = logo + n;"),
		"lib/one.ts":  []byte("export const one: number = 41 + 1;"),
		"logo.png":    {0x89, 'P', 'N', 'G'},
		"style.css":   []byte("body { color: \"red\" }\n"),
		"unrelated.x": []byte("never read"),
	}
	text, err := files.Client()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"41 + 1", "data:image/png;base64,iVBORw==", "createElement(\"style\")"} {
		if !strings.Contains(text, want) {
			t.Errorf("the bundle lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "never read") {
		t.Error("the bundle holds a file that nothing imports")
	}
	for _, bad := range []string{"import 'react'", "import '/etc/passwd'", "import '../../../../etc/passwd'", "import 'https://example.com/x.js'"} {
		if _, err := (Files{"client.js": []byte(bad)}).Client(); !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "cannot import") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestMistakesNameFileAndLine(t *testing.T) {
	_, err := Files{"client.js": []byte("import './b.js'"), "b.js": []byte("let a = 1;\nlet = ;\n")}.Client()
	if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "b.js:2:") {
		t.Errorf("the client's error is %v", err)
	}
	_, err = Files{"server.ts": []byte("\n\nclass {")}.Server()
	if !errors.Is(err, ErrSyntax) || !strings.Contains(err.Error(), "server.ts:3:") {
		t.Errorf("the server's error is %v", err)
	}
	if _, err := (Files{}).Client(); !errors.Is(err, ErrNoClient) {
		t.Errorf("no client: %v", err)
	}
	if _, err := (Files{}).Server(); !errors.Is(err, ErrNoServer) {
		t.Errorf("no server: %v", err)
	}
}

func TestServerKeepsJavaScriptAsWritten(t *testing.T) {
	js := "// a comment\nexport class Gadget {}\n"
	out, err := Files{"server.js": []byte(js), "types.ts": []byte("export const a: number = 1"), "client.css": nil}.Server()
	if err != nil || string(out["server.js"]) != js || !strings.Contains(string(out["types.js"]), "const a = 1") || len(out) != 2 {
		t.Errorf("Server gave %q, %v", out, err)
	}
}

func TestServerFiles(t *testing.T) {
	server, err := Files{"server.ts": []byte("export const x: number = 1"), "lib/view.tsx": []byte("export const v = 1 as number"), "data/a.json": []byte("{}"),
		"words.txt": []byte("a"), "client.css": []byte("a{}"), "logo.png": {1}, "server.wasm": {0}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(server.Paths(), " "); got != "data/a.json lib/view.js server.js words.txt" {
		t.Errorf("the server half is %s", got)
	}
	if server, err = (Files{"server.wasm": {0}, "client.js": nil}).Server(); err != nil || server["server.wasm"] == nil {
		t.Error(server, err)
	}
	if _, err = (Files{"readme.md": nil}).Server(); !errors.Is(err, ErrNoServer) {
		t.Error(err)
	}
}

func TestBlueprintsAreWhole(t *testing.T) {
	for _, b := range Blueprints() {
		if b.Title == "" || b.Description == "" || !strings.HasPrefix(b.Thumbnail, "<svg") {
			t.Errorf("%s lacks a title, a description or a thumbnail", b.Name)
		}
		if err := b.Files.Check(); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if _, err := b.Files.Client(); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if _, err := b.Files.Server(); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if len(b.Files["README.md"]) == 0 {
			t.Errorf("%s has no README.md", b.Name)
		}
	}
	if _, err := FindBlueprint("nope"); !errors.Is(err, ErrNoBlueprint) || !strings.Contains(err.Error(), "board") {
		t.Errorf("an unknown blueprint: %v", err)
	}
}
