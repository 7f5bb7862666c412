package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"toolshed/runtime/storage"
)

func short(code string, soft, hard time.Duration) Spec {
	s := spec(code)
	s.Limits = Limits{Soft: soft, Hard: hard}
	return s
}

// Every attack ends by fuel alone, and while it runs another instance of the same child answers.
func TestAttacksByFuel(t *testing.T) {
	c := fakeConfig()
	c.noInterrupt = true
	child := startChild(t, c)
	other := mustStart(t, child, attackCode())
	for k, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			r, err := startRaw(t, child, short(attackCode(), 100*time.Millisecond, 100*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			r.want("ping", nil, "1")
			start := time.Now()
			id := r.post(fmt.Sprint("a", k), nil)
			pings := 0
			for r.Err() == nil && time.Since(start) < 20*time.Second {
				if _, err := other.call("ping", nil); err != nil {
					t.Fatal(err)
				}
				pings++
				r.mu.Lock()
				_, over := r.got[id]
				r.mu.Unlock()
				if over {
					break // it ended by itself
				}
			}
			t.Logf("%v after %v, %d pings", r.Err(), time.Since(start), pings)
			if k := kind(r.Err()); r.Err() != nil && k != KindCPU && k != KindMemory {
				t.Fatalf("kind %q", k)
			}
			if time.Since(start) > 10*time.Second {
				t.Fatal("it was not stopped")
			}
			if pings < 3 {
				t.Fatal("the other instance was held up")
			}
		})
	}
	other.want("ping", nil, "1")
}

// With the interrupt handler a turn ends and the instance lives on with its state.
func TestSoftDeadline(t *testing.T) {
	child := startChild(t, fakeConfig())
	r, err := startRaw(t, child, short(`export class Gadget { n = 0
		loop() { this.n++; while (true) {} }
		catching() { this.n++; try { while (true) {} } catch { return "caught" } }
		async later() { this.n++; await null; while (true) {} }
		count() { return this.n } }`, 50*time.Millisecond, 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"loop", "catching"} {
		if _, err := r.call(m, nil); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Fatalf("%s: %v", m, err)
		}
	}
	r.post("later", nil) // its own caller hears nothing of it in the fake guest's protocol
	r.want("count", nil, "3")
}

// No call of the host takes the interrupt handler away, and the engine has no modules of its own.
func TestSoftDeadlineAfterHostCalls(t *testing.T) {
	code := `export class Gadget { constructor(x) { this.h = x.host }
		after(name) {
			const h = this.h;
			({ put: () => h.put("k", "v"), get: () => h.get("k"), list: () => h.list("{}"), remove: () => h.remove("k"),
			  clear: () => h.clear(), log: () => h.log("info", "x"), random: () => h.random(8), wake: () => h.wake(1e15),
			  send: () => h.send("x"), wrong: () => { try { h.put(1) } catch {} } })[name]();
			while (true) {}
		}
		bare() { return [typeof std, typeof os, typeof bjson, typeof scriptArgs, typeof print] } }`
	r, err := startRaw(t, startChild(t, fakeConfig()), short(code, 30*time.Millisecond, 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"put", "get", "list", "remove", "clear", "log", "random", "wake", "send", "wrong"} {
		if _, err := r.call("after", name); err == nil || !strings.Contains(err.Error(), "interrupted") {
			t.Fatalf("after %s: %v", name, err)
		}
	}
	r.want("bare", nil, `["undefined","undefined","undefined","undefined","undefined"]`)
}

func TestHardDeadlineDiscards(t *testing.T) {
	c := fakeConfig()
	c.noInterrupt = true
	child := startChild(t, c)
	store := storage.OpenMemory()
	s := short(`export class Gadget { constructor(x) { this.h = x.host }
		loop() { this.h.put("k", "lost"); while (true) {} }
		set() { this.h.put("k", "kept") } }`, 50*time.Millisecond, 50*time.Millisecond)
	s.Storage = store
	r, err := startRaw(t, child, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.call("set", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := r.call("loop", nil); kind(err) != KindCPU {
		t.Fatal(err)
	}
	<-r.Done()
	if v, _, _ := store.Get("k"); string(v) != "kept" {
		t.Fatalf("%q", v)
	}
}

func TestMemoryLimit(t *testing.T) {
	child := startChild(t, fakeConfig())
	other := mustStart(t, child, `export class Gadget { ping() { return 1 } }`)
	for _, code := range []string{
		`const a = []; for (;;) a.push(new Uint8Array(1 << 20))`,
		`let s = "x"; for (;;) s += s + "y"`,
		`const a = []; for (;;) a.push({ a: [1, 2, 3] })`,
		`try { const a = []; for (;;) a.push(new Uint8Array(1 << 20)) } catch { return 1 }`,
	} {
		s := spec(`export class Gadget { eat() { ` + code + ` } }`)
		s.Limits = Limits{Memory: 8 << 20, Soft: 20 * time.Second}
		r, err := startRaw(t, child, s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.call("eat", nil)
		t.Log(err)
		if kind(err) != KindMemory {
			t.Errorf("%s: %v", code, err)
		}
		other.want("ping", nil, "1")
	}
}

func TestDeepRecursion(t *testing.T) {
	deep := spec(`export class Gadget {
		deep() { const f = n => f(n + 1) + 1; try { return f(0) } catch (e) { return e.name } }
		data() { let s = "[".repeat(1e6); try { return JSON.parse(s) } catch (e) { return e.name } }
		build() { let a = []; for (let i = 0; i < 2e4; i++) a = [a]; try { return JSON.stringify(a).length } catch (e) { return e.name } }
		regex() { try { return new RegExp("(".repeat(2e4) + ")".repeat(2e4)).test("a") } catch (e) { return e.name } }
		source() { try { return eval("(".repeat(2e4)) } catch (e) { return e.name } }
		getter() { const o = { get x() { return this.x } }; try { return o.x } catch (e) { return e.name } }
		ping() { return 1 } }`)
	deep.Limits.Soft = time.Minute // the stack must end these calls, however busy the machine is
	r, err := startRaw(t, startChild(t, fakeConfig()), deep)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"deep", "getter", "data", "build", "regex", "source"} {
		got, err := r.call(m, nil)
		t.Log(m, got, err)
		if err != nil || (got != `"RangeError"` && (m == "deep" || m == "getter")) || m != "build" && !strings.Contains(got, "Error") {
			t.Errorf("%s: %s %v", m, got, err)
		}
	}
	r.want("ping", nil, "1")
}

func TestStartFailures(t *testing.T) {
	child := startChild(t, fakeConfig())
	for _, c := range []struct {
		files map[string]string
		kind  string
		text  string
	}{
		{map[string]string{"server.js": `export class Gadget {`}, KindSyntax, "SyntaxError"},
		{map[string]string{"server.js": `export class Other {}`}, KindNoGadget, "Gadget"},
		{map[string]string{}, KindNoGadget, "server.js"},
		{map[string]string{"server.js": `throw new Error("at once"); export class Gadget {}`}, KindStart, "at once"},
		{map[string]string{"server.js": `export class Gadget { constructor() { throw new Error("mine") } }`}, KindStart, "mine"},
		{map[string]string{"server.js": `import "node:fs"; export class Gadget {}`}, KindSyntax, "cannot import node:fs"},
		{map[string]string{"server.js": `import "./a.js"; export class Gadget {}`, "a.js": `import "../../etc/x"`}, KindSyntax, "cannot import"},
		{map[string]string{"server.js": `import "./a.js"; export class Gadget {}`, "a.js": `let let = 1`}, KindSyntax, "SyntaxError"},
		{map[string]string{"server.js": `await new Promise(() => {}); export class Gadget {}`}, KindStart, "never"},
		{map[string]string{"server.js": `export class Gadget { constructor(x) { throw { toString() { x.host.put("k", "v"); x.host.log("info", "l"); return "odd" } } } }`}, KindStart, "odd"},
		{map[string]string{"server.js": `export class Gadget { constructor() { throw { toString() { throw 1 } } } }`}, KindStart, "cannot be shown"},
		{map[string]string{"server.js": `export class Gadget { constructor() { throw { toString() { for (;;) {} } } } }`}, KindCPU, "too long"},
		{map[string]string{"server.js": `export class Gadget { constructor() { const e = new Error("x"); Object.defineProperty(e, "stack", { get() { for (;;) {} } }); throw e } }`}, KindCPU, "too long"},
		{map[string]string{"server.js": `for (;;) {}`}, KindCPU, "too long"},
		{map[string]string{"server.js": `export class Gadget { constructor(x) { x.host.fail("no use") } }`}, KindStart, "no use"},
	} {
		s := spec("")
		s.Files = map[string][]byte{}
		for name, text := range c.files {
			s.Files[name] = []byte(text)
		}
		s.Limits.Soft = 500 * time.Millisecond
		_, err := startRaw(t, child, s)
		var f *Failure
		if !errors.As(err, &f) || f.Kind != c.kind || !strings.Contains(f.Message, c.text) {
			t.Errorf("%v: %v", c.files, err)
		}
	}
	s := spec("")
	s.Files = map[string][]byte{"server.js": []byte(`import { x } from "./lib/a.js"; export class Gadget { x() { return x } }`),
		"lib/a.js": []byte(`export { x } from "../b.js"`), "b.js": []byte(`export const x = 7`)}
	r, err := startRaw(t, child, s)
	if err != nil {
		t.Fatal(err)
	}
	r.want("x", nil, "7")
}
