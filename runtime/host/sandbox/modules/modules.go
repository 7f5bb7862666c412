// Package modules says what an import in a gadget's server half means: which of the gadget's files a specifier names,
// and the source text of the module that it becomes. It works on a flat map from path to bytes and reads nothing else.
//
// A specifier is "cloudflare:workers" or a relative path. A path finds the file of that name; like the client's
// bundler it also finds name.js, and name.js for an import of name.ts, because TypeScript is transpiled before.
// JavaScript is a module as it stands; JSON gives its value, and any other text itself, as the default export.
package modules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// Workers is the one module that is not a file of the gadget.
const Workers = "cloudflare:workers"

// maxSpecifier is how much of a specifier an error shows, in bytes.
const maxSpecifier = 200

// Resolve returns the name of the module that a specifier means in the module base. Its errors are for the gadget's
// author: they say what cannot be imported, why, and what can.
func Resolve(files map[string][]byte, base, specifier string) (string, error) {
	fail := func(why string) (string, error) {
		return "", fmt.Errorf("cannot import %s from %s: %s", clip(specifier), clip(base), why)
	}
	if specifier == Workers {
		return Workers, nil
	}
	if base == Workers || !utf8.ValidString(specifier) || strings.ContainsRune(specifier, 0) {
		return fail("the name is not valid")
	}
	if !strings.HasPrefix(specifier, "./") && !strings.HasPrefix(specifier, "../") {
		return fail(`a gadget can import "cloudflare:workers" and its own files, by a relative path such as "./lib.js"`)
	}
	name := path.Join(path.Dir(base), specifier)
	if name == ".." || strings.HasPrefix(name, "../") {
		return fail("it is outside the gadget's files")
	}
	for _, candidate := range candidates(name) {
		if _, ok := files[candidate]; ok {
			return candidate, nil
		}
	}
	return fail("the gadget has no file " + clip(name))
}

func candidates(name string) []string {
	list := []string{name, name + ".js"}
	for _, ending := range []string{".ts", ".tsx", ".jsx", ".mts"} {
		if stem, ok := strings.CutSuffix(name, ending); ok {
			list = append(list, stem+".js")
		}
	}
	return list
}

// Missing says what is wrong with files that have no server.js.
func Missing(files map[string][]byte) string {
	if _, ok := files["server.js"]; ok {
		return ""
	}
	if b, ok := files["server.wasm"]; ok {
		if !bytes.HasPrefix(b, []byte("\x00asm")) {
			return "server.wasm is not a WebAssembly module: write server.js"
		}
		return "server.wasm comes with a later version of Toolshed: write server.js meanwhile"
	}
	return "there is no server.js"
}

// Source returns the source text of the module of a file. The error names the file and what is wrong with it.
func Source(files map[string][]byte, name string) (string, error) {
	b, ok := files[name]
	if !ok {
		return "", fmt.Errorf("the gadget has no file %s", clip(name))
	}
	if at := invalid(b); at >= 0 {
		if path.Ext(name) == ".wasm" {
			return "", fmt.Errorf("%s cannot be imported: WebAssembly comes with a later version of Toolshed", clip(name))
		}
		return "", fmt.Errorf("%s is not UTF-8 text (byte %d): save it as UTF-8", clip(name), at)
	}
	switch path.Ext(name) {
	case ".js", ".mjs", ".ts", ".jsx", ".tsx":
		return string(b), nil
	case ".json":
		if err := checkJSON(b); err != nil {
			return "", fmt.Errorf("%s is not JSON: %w", clip(name), err)
		}
		return "export default JSON.parse(" + literal(b) + ");", nil
	}
	return "export default " + literal(b) + ";", nil
}

// KeepFiles tells whether code that has started may still load files: it has, or may have, an import() in it.
func KeepFiles(files map[string][]byte) bool {
	for name, b := range files {
		if ext := path.Ext(name); ext != ".js" && ext != ".mjs" {
			continue
		}
		for rest := b; ; {
			_, after, found := bytes.Cut(rest, []byte("import"))
			if !found {
				break
			}
			if next := bytes.TrimLeft(after, " \t\r\n"); len(next) > 0 && (next[0] == '(' || next[0] == '/') { // a comment may come between
				return true
			}
			rest = after
		}
	}
	return false
}

func invalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for at := 0; at < len(b); {
		r, n := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && n == 1 {
			return at
		}
		at += n
	}
	return -1
}

func checkJSON(b []byte) error {
	var v json.RawMessage
	err := json.Unmarshal(b, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("line %d: %w", 1+bytes.Count(b[:min(int(syntax.Offset), len(b))], []byte("\n")), err)
	}
	return err
}

// literal is a text as a string of JavaScript.
func literal(b []byte) string {
	out, err := json.Marshal(string(b))
	if err != nil {
		return `""` // a string always has JSON
	}
	return string(out)
}

func clip(s string) string {
	if len(s) <= maxSpecifier {
		return strings.ToValidUTF8(s, "\ufffd")
	}
	return strings.ToValidUTF8(s[:maxSpecifier], "\ufffd") + "…"
}
