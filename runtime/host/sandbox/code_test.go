package sandbox

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"toolshed/runtime/host/sandbox/clock"
	"toolshed/runtime/host/wire"
)

// inProcess is a box without a kernel: what its instances send is thrown away.
func inProcess(t *testing.T, o engineOptions) *box {
	t.Helper()
	e, err := newEngine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return newBox(e, strings.NewReader(""), io.Discard)
}

// begin starts an instance as its worker does, on the test's goroutine.
func begin(t *testing.T, b *box, id string, files map[string]string) (*worker, error) {
	t.Helper()
	p := wire.Pack(wire.Start, 1).Text(id).Int(64 << 20).Int(int64(time.Minute)).Int(int64(time.Minute)).Uint(0).Uint(uint64(len(files)))
	for name, text := range files {
		p.Text(name).Bytes([]byte(text))
	}
	w, err := newWorker(b, 1, p.Done()[wire.Head:])
	if err != nil {
		t.Fatal(err)
	}
	if err := w.make(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.vm.close)
	return w, w.boot()
}

func started(t *testing.T, b *box, id string, files map[string]string) *worker {
	t.Helper()
	w, err := begin(t, b, id, files)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// tell evaluates a script in an instance and returns its value as text.
func (w *worker) tell(t *testing.T, script string) string {
	t.Helper()
	w.vm.turn = clock.Begin(time.Minute, time.Minute)
	x, err := w.vm.eval(script, "test.js", evalScript)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := w.vm.text(x)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const gadgetClass = `import { DurableObject, env } from "cloudflare:workers";
export class Gadget extends DurableObject { constructor(c, e) { super(c, e); globalThis.g = this } }
`

func server(text string) map[string]string { return map[string]string{"server.js": gadgetClass + text} }

// modes are the ways to keep start images; each is the only one on some system.
var modes = map[string]engineOptions{"mapped": {}, "copied": {copyImage: true}}

func TestPureCodeIsEvaluatedOnce(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			b := inProcess(t, o)
			for what, text := range map[string]string{
				"constants":         `globalThis.list = [1, 2, 3]`,
				"a settled promise": `await null; globalThis.list = await Promise.all([1, 2, 3])`,
				"jobs that ran":     `queueMicrotask(() => { globalThis.list = [1, 2, 3] })`,
				"a fixed date":      `globalThis.list = [new Date(0).getTime() + 1, 2, 3]`,
				"a great deal":      `globalThis.list = [1, 2, 3]; globalThis.big = new Uint8Array(8 << 20).fill(7)`,
				// Nothing is in env yet, whoever starts.
				"a look at env": `globalThis.list = [Object.keys(env).length + 1, 2, 3]`,
			} {
				before, _, _ := b.engine.codes.Stats()
				for k := range 3 {
					w := started(t, b, fmt.Sprint("id", k), server(text))
					if (w.vm.code != nil) != (k > 0) { // the second start makes it
						t.Errorf("%s: the start %d has an image: %v", what, k, k == 0)
					}
					if got := w.tell(t, `String(list) + " " + g.ctx.id + " " + (globalThis.big?.[8e6] ?? "")`); !strings.HasPrefix(got, fmt.Sprint("1,2,3 id", k)) {
						t.Errorf("%s: the start %d gave %s", what, k, got)
					}
				}
				if after, _, _ := b.engine.codes.Stats(); after != before+1 {
					t.Errorf("%s: %d images", what, after-before)
				}
			}
		})
	}
}

func TestImpureCodeIsEvaluatedAtEachStart(t *testing.T) {
	b := inProcess(t, engineOptions{})
	for _, text := range []string{
		`globalThis.at = Date.now()`, `globalThis.at = new Date()`, `globalThis.at = performance.now()`,
		`globalThis.at = Math.random()`, `crypto.getRandomValues(new Uint8Array(4))`, `crypto.randomUUID()`,
		`setTimeout(() => {}, 1e6)`, `clearTimeout(setTimeout(() => {}, 1e6))`, `setInterval(() => {}, 1e6)`,
		`console.log("here")`, `console.time("x")`, `queueMicrotask(() => Date.now())`, `await null; Math.random()`,
		`try { await import("./none.js") } catch {}`, `import("./none.js").catch(() => {})`,
		`[1, 2].sort(() => Math.random() - 0.5)`,
	} {
		for range 3 {
			if w := started(t, b, "id", server(text)); w.vm.code != nil {
				t.Errorf("an image was kept of %s", text)
			}
		}
	}
	if images, _, _ := b.engine.codes.Stats(); images != 0 {
		t.Errorf("%d images", images)
	}
	// The same code without them has one: the test would notice.
	started(t, b, "id", server(""))
	if w := started(t, b, "id", server("")); w.vm.code == nil {
		t.Error("no image of pure code")
	}
	// What never comes keeps the gadget from starting, and leaves no image.
	for _, text := range []string{`await new Promise(() => {})`, `throw new Error("no")`} {
		if w, err := begin(t, b, "id", server(text)); err == nil || w.vm.code != nil {
			t.Errorf("%s: started, or has an image", text)
		}
	}
}

// An image is of exactly one code: every file counts, with its name, and so do the memory and the order of neither.
func TestAnImageBelongsToItsCode(t *testing.T) {
	b := inProcess(t, engineOptions{})
	seen := map[string]string{}
	for what, files := range map[string]map[string][]byte{
		"one":        {"a": []byte("b"), "c": []byte("d")},
		"names":      {"b": []byte("b"), "c": []byte("d")},
		"contents":   {"a": []byte("b"), "c": []byte("e")},
		"boundaries": {"ab": []byte(""), "c": []byte("d")},
		"together":   {"a": []byte("bcd")},
		"more":       {"a": []byte("b"), "c": []byte("d"), "e": nil},
	} {
		for _, memory := range []int64{32 << 20, 64 << 20} {
			key := b.engine.codeKey(files, memory)
			if other := seen[string(key[:])]; other != "" {
				t.Errorf("%s and %s have one key", what, other)
			}
			if seen[string(key[:])] = what; b.engine.codeKey(files, memory) != key {
				t.Errorf("%s has two keys", what)
			}
		}
	}
}

// Two gadgets of one code share nothing but the code: neither state, nor chance, nor what one does to its globals.
func TestGadgetsOfOneCodeAreApart(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			b := inProcess(t, o)
			files := server(`export const shared = { n: 0 }; globalThis.shared = shared;`)
			var all []*worker
			for k := range 4 {
				all = append(all, started(t, b, fmt.Sprint("id", k), files))
			}
			seen := map[string]bool{}
			for k, w := range all {
				if got := w.tell(t, `shared.n++ + " " + g.ctx.id + " " + globalThis.mark; `); got != fmt.Sprintf("0 id%d undefined", k) {
					t.Errorf("the instance %d sees %s", k, got)
				}
				w.tell(t, fmt.Sprintf(`globalThis.mark = "secret%d"; Object.prototype.mine = %d; 1`, k, k))
				for _, chance := range []string{`Math.random()`, `crypto.randomUUID()`} {
					v := w.tell(t, chance)
					if seen[v] {
						t.Errorf("two instances drew %s", v)
					}
					seen[v] = true
				}
				w.vm.rest() // what rest gives back is not what the instance wrote
				if got := w.tell(t, `mark + " " + shared.n`); got != fmt.Sprintf("secret%d 1", k) {
					t.Errorf("after a rest the instance %d sees %s", k, got)
				}
			}
			if got := started(t, b, "new", files).tell(t, `shared.n + " " + globalThis.mark + " " + ({}).mine`); got != "0 undefined undefined" {
				t.Errorf("a new instance sees %s", got)
			}
		})
	}
}

// Instances that evaluate one code at the same time, start from its image, and end, do not disturb each other.
func TestImagesOfManyInstancesAtOnce(t *testing.T) {
	b := inProcess(t, engineOptions{})
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for n := range 12 {
				code := fmt.Sprintf(`globalThis.answer = %d; globalThis.junk = new Array(1000).fill(%d)`, n%3, k)
				if k%2 == 0 {
					code = fmt.Sprintf(`globalThis.answer = %d`, n%3)
				}
				w, err := begin(t, b, "id", server(code))
				if err != nil {
					t.Error(err)
					return
				}
				if got := w.tell(t, `answer`); got != fmt.Sprint(n%3) {
					t.Errorf("%s of %d", got, n%3)
				}
			}
		})
	}
	all.Wait()
}
