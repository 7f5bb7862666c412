package modules_test

import (
	"strings"
	"testing"

	"toolshed/runtime/host/sandbox/modules"
)

func TestResolve(t *testing.T) {
	files := map[string][]byte{"server.js": nil, "lib/x.js": nil, "lib/deep/y.js": nil, "data.json": nil, "typed.js": nil}
	for _, c := range []struct{ base, specifier, want string }{
		{"server.js", "./lib/x.js", "lib/x.js"}, {"lib/x.js", "./deep/y.js", "lib/deep/y.js"}, {"lib/deep/y.js", "../../server.js", "server.js"},
		{"lib/deep/y.js", ".././x.js", "lib/x.js"}, {"server.js", "./lib/../data.json", "data.json"}, {"server.js", "./typed.ts", "typed.js"}, {"server.js", "./typed", "typed.js"},
		{"lib/x.js", "cloudflare:workers", "cloudflare:workers"}, {"server.js", "./server.js", "server.js"},
	} {
		if got, err := modules.Resolve(files, c.base, c.specifier); got != c.want || err != nil {
			t.Errorf("%s in %s: %q, %v", c.specifier, c.base, got, err)
		}
	}
	for _, c := range []struct{ base, specifier, want string }{
		{"server.js", "lodash", `"cloudflare:workers" and its own files`}, {"server.js", "node:fs", "its own files"}, {"server.js", "/lib/x.js", "relative path"}, {"server.js", "https://x/y.js", "relative path"},
		{"server.js", "../x.js", "outside the gadget"}, {"lib/x.js", "../../lib/x.js", "outside the gadget"}, {"server.js", "./nope.js", "no file nope.js"}, {"lib/x.js", "./x.json", "no file lib/x.json"},
		{"cloudflare:workers", "./x", "not valid"}, {"server.js", "./\xff", "not valid"}, {"server.js", "./a\x00b", "not valid"}, {"server.js", "", "relative path"}, {"server.js", "./" + strings.Repeat("x", 10000), "…"},
	} {
		if got, err := modules.Resolve(files, c.base, c.specifier); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 800 {
			t.Errorf("%.20s in %s: %q, %v", c.specifier, c.base, got, err)
		}
	}
}

func TestSource(t *testing.T) {
	files := map[string][]byte{"a.js": []byte("export default 1"), "b.json": []byte("{\"__proto__\": \"\u2028\"}"), "c.json": []byte("{\n\"a\":\n}"), "d.txt": []byte("a\"b\n</script>"), "e.js": []byte("x\xff"), "f.bin": {0xff}, "g.wasm": {0, 'a', 's', 'm', 1, 0xff}}
	for name, want := range map[string]string{"a.js": "export default 1", "d.txt": `export default "a\"b\n\u003c/script\u003e";`, "b.json": `export default JSON.parse("{\"__proto__\": \"\u2028\"}");`} {
		if got, err := modules.Source(files, name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{"c.json": "c.json is not JSON: line 3", "e.js": "e.js is not UTF-8 text (byte 1)", "f.bin": "(byte 0)", "g.wasm": "WebAssembly", "none": "no file none"} {
		if got, err := modules.Source(files, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestKeepFiles(t *testing.T) {
	for code, want := range map[string]bool{`import x from "./a.js"`: false, `await import("./a.js")`: true, "import\n (x)": true, "import /* x */ (y)": true, "important(1)": false, "": false} {
		if modules.KeepFiles(map[string][]byte{"a.js": []byte(code)}) != want {
			t.Errorf("%q: not %v", code, want)
		}
	}
}
