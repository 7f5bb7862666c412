// Package guest holds what runs inside the sandbox: the JavaScript engine, compiled to WebAssembly, and the
// prelude, the only JavaScript of ours in there.
//
// The prelude gives a gadget the module "cloudflare:workers", its env and ctx, console, timers and the web APIs
// that the engine lacks, and speaks Cap'n Web with the kernel: one guest entry for each message. It talks to the
// outside through one object, __host, which it captures and deletes before a gadget's code runs.
//
// The prelude is a set of small files, concatenated in the order of the list below inside one function, so that
// they share names with each other and with nothing else. Nothing in here is trusted by the kernel: a gadget may
// break its own prelude, and then breaks only itself.
package guest

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// EngineSum is the sha256 of the engine that this package is written for.
const EngineSum = "c0bd8f296e18cf074969f6401b9ecb72609a1323818ec2b9bf7a8f8d740d1363"

// ErrNoEngine says that the program was built without the engine.
var ErrNoEngine = errors.New("the JavaScript engine is missing: run make setup")

//go:embed engine
var engine embed.FS

//go:embed prelude
var prelude embed.FS

// parts are the files of the prelude in the order in which they are evaluated.
var parts = []string{
	"builtins.js", "text.js", "inspect.js", "console.js", "clone.js", "storage.js", "sections.js", "transaction.js", "timers.js", "web.js",
	"stubs.js", "targets.js", "decode.js", "encode.js", "remap.js", "session.js", "context.js", "late.js", "guest.js",
}

// latePart is a part of the prelude, in prelude/late, that is evaluated when one of its names is first used. Its files
// are one function, as the parts above are another.
type latePart struct {
	name    string
	files   []string
	globals []string // names it gives to a gadget
	shares  []string // names it gives to the rest of the prelude besides
}

var lateParts = []latePart{
	{"url", []string{"url_parser.js", "url_host.js", "url.js"}, []string{"URL", "URLSearchParams"}, []string{"parseURL", "serialiseURL", "pairsOf", "checkPairs", "isParams", "isURL"}},
	{"events", []string{"events.js"}, []string{"Event", "CustomEvent", "EventTarget", "AbortController", "AbortSignal"}, []string{"whenAborted", "abortNow", "newSignal", "isSignal", "isAborted", "reasonOf"}},
	{"streams", []string{"streams_queue.js", "streams_readable.js", "streams_writable.js", "streams_pipe.js"}, []string{
		"ReadableStream", "ReadableStreamDefaultReader", "ReadableStreamDefaultController", "WritableStream", "WritableStreamDefaultWriter",
		"WritableStreamDefaultController", "TransformStream", "TransformStreamDefaultController", "CountQueuingStrategy", "ByteLengthQueuingStrategy",
	}, []string{"newReadable", "readableOf", "isReadable", "Reader", "tee", "newWritable", "writableOf", "isWritable", "Writer"}},
	{"fetch", []string{"fetch_values.js", "fetch.js"}, []string{"Headers", "Blob", "File", "Request", "Response"}, []string{"newBlob"}},
	{"encoding", []string{"encoding.js"}, []string{"TextEncoderStream", "TextDecoderStream"}, []string{"decoderOf"}},
	{"transfer", []string{"transfer.js"}, []string{}, []string{"cloneWith"}},
	{"subtle", []string{"subtle.js"}, []string{"CryptoKey", "SubtleCrypto"}, []string{"subtle"}},
	{"table", []string{"table.js"}, []string{}, []string{"tableText"}},
	{"wire", []string{"wire.js"}, []string{}, []string{"newPipe", "takeReadable", "receiveWritable", "receiveBlob", "receiveValue", "receiveMessage", "encodeValue"}},
}

// Engine returns the engine's WebAssembly module. The caller owns the bytes. It fails with ErrNoEngine when the
// program was built before setup, and with another error when the file is not the pinned one.
func Engine() ([]byte, error) {
	wasm, err := engine.ReadFile("engine/quickjs.wasm")
	if err != nil {
		return nil, ErrNoEngine
	}
	if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != EngineSum {
		return nil, fmt.Errorf("the JavaScript engine is not the pinned one (sha256 %x): run make setup", sum)
	}
	return wasm, nil
}

// Prelude returns the prelude: one classic script whose completion value is the object guest with the functions
// boot(namespace), start(json), deliver(text), wake(), interrupted(text) and rejected(promise, reason, handled). boot and start return "" or what went
// wrong. It expects the global object __host.
func Prelude() string {
	var b strings.Builder
	b.WriteString("((lateTexts) => { \"use strict\";\n")
	for _, name := range parts {
		b.WriteString(code(name))
	}
	b.WriteString("return guest;\n})({")
	for _, part := range lateParts {
		globals, err := json.Marshal(part.globals)
		if err != nil {
			panic("guest: " + err.Error())
		}
		fmt.Fprintf(&b, "%s: { globals: %s, text: %s },\n", part.name, globals, part.literal())
	}
	b.WriteString("})\n")
	return b.String()
}

// literal returns the part's text as a string literal.
func (p latePart) literal() []byte {
	var b strings.Builder
	for _, name := range p.files {
		b.WriteString(code("late/" + name))
	}
	b.WriteString("return { " + strings.Join(append(slices.Clone(p.globals), p.shares...), ", ") + " };")
	literal, err := json.Marshal(b.String())
	if err != nil {
		panic("guest: " + err.Error())
	}
	return literal
}

// code returns the text of a part's file without comments and indents: the engine keeps the text of every function, so that
// they would only cost each gadget memory. No file has a text of more than one line.
func code(name string) string {
	var b strings.Builder
	for line := range strings.Lines(source(name)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// source returns the text of a part's file.
func source(name string) string {
	text, err := prelude.ReadFile("prelude/" + name)
	if err != nil {
		panic("guest: " + err.Error()) // embedded at build time: a missing part is a mistake in the list
	}
	return string(text)
}

// Workers returns the source of the ES module "cloudflare:workers".
func Workers() string {
	return source("workers.mjs")
}
