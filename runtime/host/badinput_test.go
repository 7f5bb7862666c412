package host

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// badInput is what is no gadget, or is one in an odd shape.
type badInput struct {
	name  string
	files map[string]string
	kind  string   // of the error; "": it starts, and ping gives 1
	says  []string // in the error
}

const honest = `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject { ping() { return 1 } }`

func onlyServer(code string) map[string]string { return map[string]string{"server.js": code} }

// imports is a gadget whose entry begins with a line, and other files: name, text, ...
func imports(line string, files ...string) map[string]string {
	m := onlyServer(line + "\n" + honest)
	for k := 0; k+1 < len(files); k += 2 {
		m[files[k]] = files[k+1]
	}
	return m
}

const anyModule = "\x00asm\x01\x00\x00\x00"

var badInputs = []badInput{
	{"honest", onlyServer(honest), "", nil},
	{"a byte order mark", onlyServer("\ufeff" + honest), "", nil},
	{"carriage returns", onlyServer(strings.ReplaceAll(honest, "\n", "\r\n")), "", nil},
	{"10 MB of comment", onlyServer(honest + "\n// " + strings.Repeat("x", 10<<20)), "", nil},
	{"10 MB of text", onlyServer(honest + "\nexport const text = \"" + strings.Repeat("x", 10<<20) + "\";"), "", nil},
	{"10 MB of code", onlyServer(honest + strings.Repeat("\n;(() => 1)();", 800_000)), KindMemory, []string{"64 MiB of memory"}},
	{"imports in a ring", imports(`import "./a.js";`, "a.js", `import "./b.js";`, "b.js", `import "./a.js"; import "./server.js";`), "", nil},
	{"an import of itself", imports(`import "./server.js";`), "", nil},
	{"a value before it is there", imports(`import { x } from "./a.js";`, "a.js", `import { Gadget } from "./server.js"; export const x = new Gadget();`),
		KindStart, []string{"a.js:1", "Gadget is not initialized"}},
	{"a missing import", imports(`import "./a.js";`, "a.js", `import "./none.js";`), KindSyntax, []string{"cannot import ./none.js from a.js", "no file none.js"}},
	{"a missing name", imports(`import { x } from "./a.js";`, "a.js", ``), KindSyntax, []string{"'x'", "a.js"}},
	{"above the gadget", imports(`import "../../x";`), KindSyntax, []string{"cannot import ../../x from server.js", "outside the gadget's files"}},
	{"above by a detour", imports(`import "./lib/../../x.js";`), KindSyntax, []string{"outside the gadget's files"}},
	{"an absolute path", imports(`import "/etc/passwd";`), KindSyntax, []string{"cannot import /etc/passwd", "relative path"}},
	{"a module of node", imports(`import "node:fs";`), KindSyntax, []string{"cannot import node:fs", `"cloudflare:workers" and its own files`}},
	{"a module of the network", imports(`import "http://x/y.js";`), KindSyntax, []string{"cannot import http://x/y.js", "relative path"}},
	{"a name with nothing in it", imports(`import "";`), KindSyntax, []string{"cannot import", "relative path"}},
	{"an endless name", imports(`import "./` + strings.Repeat("x", 1<<20) + `";`), KindSyntax, []string{"cannot import ./xxx"}},
	{"not UTF-8", onlyServer(honest + "\xff"), KindSyntax, []string{"server.js is not UTF-8 text (byte ", "save it as UTF-8"}},
	{"UTF-16", onlyServer("\xff\xfe" + strings.ReplaceAll(honest, "", "\x00")), KindSyntax, []string{"server.js is not UTF-8 text (byte 0)"}},
	{"a part that is not UTF-8", imports(`import "./a.js";`, "a.js", "// \xc3\x28"), KindSyntax, []string{"a.js is not UTF-8 text (byte 3)"}},
	{"no files", nil, KindNoGadget, []string{"no server.js"}},
	{"an empty server.js", onlyServer(""), KindNoGadget, []string{"server.js has no exported class named Gadget"}},
	{"another case", map[string]string{"Server.js": honest}, KindNoGadget, []string{"no server.js"}},
	{"a default export", onlyServer(strings.Replace(honest, "class Gadget", "default class Gadget", 1)), KindNoGadget, []string{"no exported class named Gadget"}},
	{"no export", onlyServer(strings.Replace(honest, "export ", "", 1)), KindNoGadget, []string{"no exported class named Gadget"}},
	{"a Gadget that is an object", onlyServer(`export const Gadget = {};`), KindNoGadget, []string{"Gadget"}},
	{"a Gadget that is null", onlyServer(`export const Gadget = null;`), KindNoGadget, []string{"Gadget"}},
	{"a Gadget that is an arrow", onlyServer(`export const Gadget = () => {};`), KindNoGadget, []string{"a Gadget that is not a class"}},
	{"a Gadget that is async", onlyServer(`export async function Gadget() {}`), KindNoGadget, []string{"a Gadget that is not a class"}},
	{"a Gadget that is a generator", onlyServer(`export function* Gadget() {}`), KindNoGadget, []string{"a Gadget that is not a class"}},
	{"a syntax error", onlyServer(honest + "\n\nlet = ;"), KindSyntax, []string{"SyntaxError", "server.js:4"}},
	{"a syntax error in a part", imports(`import "./lib/a.js";`, "lib/a.js", "\n\n}"), KindSyntax, []string{"SyntaxError", "lib/a.js:3"}},
	{"half a file", onlyServer(honest[:len(honest)-3]), KindSyntax, []string{"SyntaxError", "server.js:2"}},
	{"HTML", onlyServer("<!doctype html>\n<title>x</title>"), KindSyntax, []string{"SyntaxError", "server.js:1"}},
	{"NUL", onlyServer("\x00\x00\x00\x00"), KindSyntax, []string{"SyntaxError", "server.js:1"}},
	{"CommonJS", onlyServer(`module.exports = class Gadget {}`), KindStart, []string{"ReferenceError: module is not defined", "server.js:1"}},
	{"JSON that is none", imports(`import "./a.json";`, "a.json", "{\n\"a\":\n}"), KindSyntax, []string{"a.json is not JSON: line 3"}},
	{"server.wasm that is no module", map[string]string{"server.wasm": "hello"}, KindNoGadget, []string{"server.wasm is not a WebAssembly module", "write server.js"}},
	{"server.wasm that is a module", map[string]string{"server.wasm": anyModule}, KindNoGadget, []string{"server.wasm comes with a later version", "write server.js"}},
	{"an import of a module", imports(`import "./x.wasm";`, "x.wasm", anyModule+"\xff"), KindSyntax, []string{"x.wasm cannot be imported", "later version"}},
	{"odd names", imports(`import "./é😀.js"; import x from "./a b%20?#.txt"; if (x !== "t") throw 1;`, "é😀.js", "", "a b%20?#.txt", "t", "", "x", "..", "x",
		"../x", "x", "/etc/x", "x", "a\x00b", "x", "CON", "x", "__proto__", "x", strings.Repeat("n", 1<<16), "x", "\xff", "x"), "", nil},
	{"__proto__ as a name", imports(`import x from "./__proto__"; if (x !== "t") throw 1;`, "__proto__", "t"), "", nil},
}

func (b badInput) spec() Spec {
	s := spec("")
	s.Files = map[string][]byte{}
	for name, text := range b.files {
		s.Files[name] = []byte(text)
	}
	s.Limits = Limits{Soft: 20 * time.Second, Hard: 20 * time.Second}
	return s
}

// What is no gadget is refused with an error that says what, why and where; the child and the gadgets in it go on.
func TestBadInput(t *testing.T) {
	c := startChild(t, realConfig())
	n := newNeighbour(t, c)
	many := badInput{name: "10,000 files", files: imports(`import "./f9999.js";`)}
	for k := range 10_000 {
		many.files[fmt.Sprintf("f%d.js", k)] = fmt.Sprintf("import %q;", fmt.Sprintf("./f%d.js", 0))
	}
	for _, b := range append(badInputs, many) {
		t.Run(b.name, func(t *testing.T) {
			n.t = t
			for range 2 { // the second start must not find an image of what failed
				b.try(t, c)
			}
			n.ping()
			if c.Err() != nil {
				t.Fatal(c.Err())
			}
		})
	}
	n.t = t
}

func (b badInput) try(t *testing.T, c *Child) {
	i, err := c.Start(t.Context(), b.spec())
	if b.kind == "" {
		if err != nil {
			t.Errorf("it does not start: %.300v", err)
			return
		}
		defer i.Close()
		hostile{}.next(t, i)
		return
	}
	if err == nil {
		i.Close()
		t.Error("it starts")
		return
	}
	if kind(err) != b.kind || len(err.Error()) > 10<<10 {
		t.Errorf("the kind is %q, want %q: %.300v", kind(err), b.kind, err)
	}
	for _, text := range b.says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("it says %.400v; want %q in it", err, text)
		}
	}
}
