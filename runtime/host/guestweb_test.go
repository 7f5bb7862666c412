package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Programs in runtime/guest/testdata/both run in a gadget in a real child and in node, and give the same lines.

// bothMain is the gadget around a program.
const bothMain = `import { DurableObject } from "cloudflare:workers";
import { run } from "./program.mjs";
export class Gadget extends DurableObject {
	async run(name, first, count) { return await run(name, first, count) }
}`

// nodeMain is node around a program: its arguments are the program's file and those of run.
const nodeMain = `const [file, name, first, count] = process.argv.slice(1);
const { run } = await import(file);
console.log(JSON.stringify(await run(name, +first, +count)))`

// known is a difference between a gadget and node that is meant: why, the program, what both say, and what is in the line.
// A nil expression matches everything, an empty program every one.
type known struct {
	why, program       string
	gadget, node, line *regexp.Regexp
	met                int
}

func (k *known) covers(program, gadget, node, line string) bool {
	return (k.program == "" || k.program == program) && (k.gadget == nil || k.gadget.MatchString(gadget)) &&
		(k.node == nil || k.node.MatchString(node)) && (k.line == nil || k.line.MatchString(line))
}

// allMet fails for a difference that is none any more.
func allMet(t *testing.T, differences []*known) {
	t.Helper()
	for _, d := range differences {
		if d.met == 0 {
			t.Errorf("a difference that is none any more: %s", d.why)
		}
		t.Logf("%d times: %s", d.met, d.why)
	}
}

func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("node is missing: run make setup")
	}
}

// runInNode returns the lines that node gives.
func runInNode(t *testing.T, file, name string, first, count int) []string {
	t.Helper()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "--input-type=module", "-e", nodeMain, path, name, fmt.Sprint(first), fmt.Sprint(count))
	out, err := cmd.Output()
	if err != nil {
		var stderr string
		if e, ok := err.(*exec.ExitError); ok {
			stderr = string(e.Stderr)
		}
		t.Fatalf("node: %v\n%s", err, stderr)
	}
	var lines []string
	if err := json.Unmarshal(out, &lines); err != nil {
		t.Fatal(err)
	}
	return lines
}

// both compares the lines of a program in a gadget with node's.
func both(t *testing.T, i *Instance, file, name string, first, count int, differences []*known) {
	t.Helper()
	var ours []any
	const piece = 50 // programs in one call: no turn comes near its limit
	for at := 0; at < count; at += piece {
		v, err := await(t, i.Main().Call(t.Context(), "run", name, float64(first+at), float64(min(piece, count-at))))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines, _ := v.([]any)
		ours = append(ours, lines...)
	}
	theirs := runInNode(t, file, name, first, count)
	if len(ours) != len(theirs) || len(ours) == 0 {
		t.Fatalf("%s: %d lines, node has %d", name, len(ours), len(theirs))
	}
	shown := 0
	for k, line := range ours {
		a, b := strings.Split(fmt.Sprint(line), " | "), strings.Split(theirs[k], " | ")
		for n := 0; n < max(len(a), len(b)); n++ {
			x, y := "(nothing)", "(nothing)"
			if n < len(a) {
				x = a[n]
			}
			if n < len(b) {
				y = b[n]
			}
			if x == y {
				continue
			}
			explained := false
			for _, d := range differences {
				if d.covers(name, x, y, fmt.Sprint(line)) {
					d.met++
					explained = true
					break
				}
			}
			if explained {
				continue
			}
			t.Errorf("%s, seed %d, part %d:\n gadget %.500s\n node   %.500s\n line   %.300s", name, first+k, n, x, y, fmt.Sprint(line))
			if shown++; shown > 4 {
				t.FailNow()
			}
		}
	}
}

// startBoth starts the gadget around a program, with the files that stand beside it. Node ends at a rejection that nobody
// handles, so a gadget must tell of none.
func startBoth(t *testing.T, child *Child, file string) *Instance {
	t.Helper()
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := spec(bothMain)
	s.Files["program.mjs"] = program
	if s.Files["seeded.mjs"], err = os.ReadFile(filepath.Join(filepath.Dir(file), "seeded.mjs")); err != nil {
		t.Fatal(err)
	}
	s.Console = func(l Line) {
		if strings.Contains(l.Text, "nobody handled") {
			t.Errorf("node ends without: %.300s", l.Text)
		}
	}
	return startReal(t, child, s)
}

// subtleDifferences are where a gadget answers otherwise than node 20 on purpose.
var subtleDifferences = []*known{
	{why: "node 20 misspells the error's name: the standard says InvalidAccessError", gadget: regexp.MustCompile("InvalidAccessError$"), node: regexp.MustCompile("InvalidAccessException$")},
	{why: "node 20 gives no name to a format that it does not know for an algorithm", gadget: regexp.MustCompile("NotSupportedError$"), node: regexp.MustCompile("DOMException Error$")},
	{why: "node 20 uses the algorithm that a key shows, which anybody can change", gadget: regexp.MustCompile("^32$"), node: regexp.MustCompile("InvalidAccessError$")},
}

func TestSubtleAsInNode(t *testing.T) {
	needNode(t)
	file := filepath.Join("..", "guest", "testdata", "both", "subtle.mjs")
	i := startBoth(t, startChild(t, realConfig()), file)
	const first = 1
	t.Logf("seeds from %d", first)
	for _, p := range []struct {
		name  string
		count int
	}{{"digest", 200}, {"hmac", 150}, {"gcm", 300}, {"jwk", 200}, {"importing", 300}, {"generating", 150}, {"misuse", 3}} {
		both(t, i, file, p.name, first, p.count, subtleDifferences)
	}
	allMet(t, subtleDifferences)
}

const subtleCode = `import { DurableObject } from "cloudflare:workers";
const hex = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, "0")).join("");
const data = new Uint8Array(10 << 20);
export class Gadget extends DurableObject {
	ping() { return 1 }
	async large() { return hex(await crypto.subtle.digest("SHA-256", data)) }
	async seal() {
		const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]), iv = crypto.getRandomValues(new Uint8Array(12));
		const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, data));
		return crypto.subtle.timingSafeEqual(plain, data);
	}
	async forever() { for (;;) await crypto.subtle.digest("SHA-512", data) }
	loop() { for (;;) crypto.subtle.digest("SHA-512", data) }
	async secret() {
		const key = await crypto.subtle.importKey("raw", new TextEncoder().encode("TOPSECRET-KEY"), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]), out = [];
		const tries = [() => JSON.stringify(key), () => structuredClone(key), () => this.ctx.storage.put("key", key), () => crypto.subtle.exportKey("raw", key), () => console.log(key), () => Object.getOwnPropertyNames(key), () => Reflect.ownKeys(key),
			() => Object.values(Object.getOwnPropertyDescriptors(CryptoKey.prototype)).map((d) => { try { return d.get ? d.get.call(key) : "" } catch (e) { return e.name } }), () => ({ ...key }), () => Object.assign({}, key), () => String(key), () => { for (const k in key) out.push(k, key[k]) }];
		for (const f of tries) try { out.push(JSON.stringify(await f()) ?? "nothing") } catch (e) { out.push(e.name) }
		return out;
	}
	async returned() { return await crypto.subtle.importKey("raw", new Uint8Array(4), { name: "HMAC", hash: "SHA-256" }, true, ["sign"]) }
	async views() {
		const b = new ArrayBuffer(16, { maxByteLength: 32 }), gone = new Uint8Array(8), out = [];
		gone.buffer.transfer();
		for (const x of [b, new Uint8Array(b), gone, gone.buffer, new SharedArrayBuffer(4), { byteLength: 4, buffer: b }, new Proxy(new Uint8Array(4), {}), Object.setPrototypeOf(new Uint8Array(4), null), Object.create(Uint8Array.prototype)])
			try { out.push(hex(await crypto.subtle.digest("SHA-1", x)).slice(0, 8)) } catch (e) { out.push(e.name) }
		return out;
	}
	async broken() {
		for (const C of [String, Array, Map, Object, RegExp, Number, Function, Uint8Array, ArrayBuffer, Promise, DataView, Object.getPrototypeOf(Uint8Array)]) for (const k of Object.getOwnPropertyNames(C.prototype)) if (k !== "constructor" && k !== "toString" && k !== "then") try { C.prototype[k] = () => { throw new Error("replaced") } } catch {}
		Object.defineProperty(Object.prototype, "alphabet", { get() { throw new Error("polluted") } });
		globalThis.Uint8Array = globalThis.DOMException = globalThis.Promise = globalThis.eval = null;
		Reflect.apply = () => { throw new Error("replaced") };
		return crypto.subtle.digest("SHA-1", data).then((b) => b.byteLength);
	}
}`

// Large inputs pass, a runaway over them is stopped like any other, and others answer meanwhile.
func TestSubtleUnderTheTurnsDeadline(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(subtleCode)
	i := startReal(t, child, s)
	for method, want := range map[string]any{
		"large": "e5b844cc57f57094ea4585e235f36c78c1cd222262bb89d53c94dcb4d6b3e55d",
		"seal":  true,
	} {
		if v, err := await(t, i.Main().Call(t.Context(), method)); err != nil || v != want {
			t.Errorf("%s: %v, %v", method, v, err)
		}
	}
	for _, method := range []string{"forever", "loop"} {
		s.Limits = Limits{Soft: 300 * time.Millisecond}
		runaway := startReal(t, child, s)
		p := runaway.Main().Call(t.Context(), method)
		answers := 0
		for over := false; !over; {
			if v, err := await(t, i.Main().Call(t.Context(), "ping")); err != nil || v != 1.0 {
				t.Fatal(v, err)
			}
			select {
			case <-p.Done():
				over = true
			default:
				answers++
			}
		}
		if _, err := await(t, p); err == nil || answers < 3 {
			t.Errorf("%s: %v after %d answers of another", method, err, answers)
		}
	}
}

func TestSubtleKeepsItsSecrets(t *testing.T) {
	i := startReal(t, startChild(t, realConfig()), spec(subtleCode))
	v, err := await(t, i.Main().Call(t.Context(), "secret"))
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(v)
	t.Log(text)
	for _, leak := range []string{"TOPSECRET", "84,79,80", "84 79 80", "VE9QU0VDUkVU"} {
		if strings.Contains(text, leak) {
			t.Errorf("the key shows as %s", leak)
		}
	}
	if !strings.Contains(text, "DataCloneError") || !strings.Contains(text, "InvalidAccessError") {
		t.Error("the key was cloned, stored or exported")
	}
	if _, err := await(t, i.Main().Call(t.Context(), "returned")); err == nil {
		t.Error("a key can be sent away")
	}
	const views = "[e129f27c e129f27c TypeError TypeError TypeError TypeError TypeError 9069ca78 TypeError]"
	if v, err = await(t, i.Main().Call(t.Context(), "views")); err != nil || fmt.Sprint(v) != views {
		t.Error(v, err)
	}
	if v, err = await(t, i.Main().Call(t.Context(), "broken")); err != nil || v != 20.0 {
		t.Error(v, err)
	}
}

// Imports between files, and the file and line of what they throw.
func TestImportsAndStacks(t *testing.T) {
	child := startChild(t, realConfig())
	s := spec(`import { DurableObject } from "cloudflare:workers";
import { fail, loop } from "./lib/deep/x.js";
import data from "./data.json";
import text from "./note.txt";
export class Gadget extends DurableObject {
	all() { return [loop(), data.a, text] }
	async late() { return (await import("./late")).value }
	boom() { fail() }
	task() { queueMicrotask(() => { throw new Error("in a microtask") }) }
}`)
	for name, code := range map[string]string{
		"lib/deep/x.js": "import { two } from '../y.js';\nexport const one = 1;\nexport const loop = () => one + two();\nexport const fail = () => { throw new RangeError('deep') };",
		"lib/y.js":      "import { one } from './deep/x.js';\nexport const two = () => one + 1;",
		"data.json":     `{"a": 5}`, "note.txt": "a \"note\"\n", "late.js": "export const value = 'late';",
	} {
		s.Files[name] = []byte(code)
	}
	lines := make(chan Line, 100)
	s.Console = func(l Line) { lines <- l }
	i := startReal(t, child, s)
	if v, err := await(t, i.Main().Call(t.Context(), "all")); err != nil || fmt.Sprintf("%q", v) != `['\x03' '\x05' "a \"note\"\n"]` && fmt.Sprint(v) != "[3 5 a \"note\"\n]" {
		t.Error(v, err)
	}
	if v, err := await(t, i.Main().Call(t.Context(), "late")); err != nil || v != "late" {
		t.Error(v, err)
	}
	if _, err := await(t, i.Main().Call(t.Context(), "boom")); err == nil {
		t.Error("nothing was thrown")
	}
	if _, err := await(t, i.Main().Call(t.Context(), "task")); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`lib/deep/x\.js:4:\d+\)\n +at boom \(server\.js:8:`, `a microtask failed: Error: in a microtask\n +at .*server\.js:9:`} {
		select {
		case l := <-lines:
			if !regexp.MustCompile(want).MatchString(l.Text) || strings.Contains(l.Text, "prelude") {
				t.Errorf("%q does not show %s", l.Text, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatal("no line on the console")
		}
	}
}

// What keeps a gadget from starting is told with the file and, where there is one, the line.
func TestStartFailuresNameTheFile(t *testing.T) {
	child := startChild(t, realConfig())
	const head = `import { DurableObject } from "cloudflare:workers"; `
	for _, c := range []struct {
		name, want string
		files      map[string]string
	}{
		{"missing", `cannot import ./nope.js from server.js: the gadget has no file nope.js`, map[string]string{"server.js": `import "./nope.js"`}},
		{"outside", `outside the gadget's files`, map[string]string{"server.js": `import "../x.js"`}},
		{"bare", `"cloudflare:workers" and its own files`, map[string]string{"server.js": `import "lodash"`}},
		{"not UTF-8", `lib.js is not UTF-8 text (byte 1)`, map[string]string{"server.js": `import "./lib.js"`, "lib.js": "x\xff"}},
		{"server not UTF-8", `server.js is not UTF-8 text (byte 0)`, map[string]string{"server.js": "\xff"}},
		{"wasm", `server.wasm comes with a later version`, map[string]string{"server.wasm": "\x00asm"}},
		{"syntax", `lib.js:2:`, map[string]string{"server.js": `import "./lib.js"`, "lib.js": "1;\nconst = 5"}},
		{"throws", `lib/x.js:3:`, map[string]string{"server.js": `import "./lib/x.js"`, "lib/x.js": "\n\nthrow new Error('at load')"}},
		{"constructor", `server.js:2:`, map[string]string{"server.js": head + "export class Gadget extends DurableObject {\nconstructor(c, e) { super(c, e); null.x } }"}},
	} {
		s := spec("")
		s.Files = map[string][]byte{}
		for name, text := range c.files {
			s.Files[name] = []byte(text)
		}
		_, err := child.Start(t.Context(), s)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "prelude") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
