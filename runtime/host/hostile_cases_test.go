package host

import "testing"

func TestHostileGadgets(t *testing.T) {
	t.Run("memory", func(t *testing.T) { t.Parallel(); attackAll(t, hoarders) })
	t.Run("depth", func(t *testing.T) { t.Parallel(); attackAll(t, divers) })
	t.Run("time", func(t *testing.T) { t.Parallel(); attackAll(t, spinners) })
	t.Run("floods", func(t *testing.T) { t.Parallel(); attackAll(t, floods) })
	t.Run("size", func(t *testing.T) { t.Parallel(); attackAll(t, giants) })
	t.Run("throws", func(t *testing.T) { t.Parallel(); attackAll(t, throwers) })
}

// grows is a case that needs more memory than it may.
func grows(name, code string) hostile {
	return hostile{name: name, code: code, limits: roomy, err: outOfMemory, end: KindMemory}
}

var hoarders = []hostile{
	grows("strings", `let s = "x"; for (;;) s += s`),
	grows("arrays", `const a = []; for (;;) a.push([1])`),
	grows("buffers", `const a = []; for (;;) a.push(new Uint8Array(1 << 20))`),
	grows("a Map", `const m = new Map(); for (let i = 0; ; i++) m.set(i, {})`),
	grows("a resizable buffer", `const b = new ArrayBuffer(1, { maxByteLength: 2 ** 30 }); for (let n = 1; ; n *= 2) b.resize(n)`),
	grows("catches and goes on", `const a = []; for (;;) try { for (;;) a.push(new Uint8Array(1 << 16)) } catch {}`),
	grows("in a promise", `const a = []; await null; for (;;) { a.push(new Uint8Array(1 << 18)); await null }`),
	grows("in a timer", `const a = []; setInterval(() => a.push(new Uint8Array(1 << 20)), 0); return new Promise(() => {})`),
	grows("repeat", `return "x".repeat(2 ** 29)`),
	grows("a spread", `const a = new Array(1 << 22).fill(1); return [...a, ...a]`),
	grows("split", `return "x".repeat(8e6).split("")`),
	grows("a clone of a growing tree", `let o = "x".repeat(999); for (let i = 0; i < 40; i++) o = [o + i, o + i]; const c = []; for (;;) c.push(structuredClone(o))`),
	grows("a chain of promises", `const first = new Promise(() => {}); for (let p = first; ; ) p = p.then(() => first)`),
	grows("a chain of bound functions", `let b = () => 1; for (;;) b = b.bind(null)`),
	grows("eval", `let s = "1"; for (;;) s = s + "," + s, eval(s)`),
	{name: "one buffer", code: `return new ArrayBuffer(2 ** 40)`, err: "RangeError: invalid array buffer length"},
	{name: "one list", code: `return Array.from({ length: 2 ** 40 })`, err: "RangeError: invalid array length"},
	{name: "a large number", code: `return 2n ** (2n ** 40n)`, err: "RangeError: BigInt is too large"},
	{name: "at the top", top: `const a = []; for (;;) a.push(new Uint8Array(1 << 20));`, limits: roomy, start: outOfMemory},
	{name: "in the constructor", members: `constructor(c, e) { super(c, e); const a = []; for (;;) a.push(new Uint8Array(1 << 20)) }`,
		limits: roomy, start: outOfMemory},
}

// dives is a case that goes too deep, and goes on.
func dives(name, code string) hostile {
	return hostile{name: name, code: code, limits: roomy, err: outOfStack}
}

var divers = []hostile{
	dives("itself", `const g = () => 1 + g(); return g()`),
	dives("each other", `const a = () => b(), b = () => a() + 1; return a()`),
	dives("a getter", `const o = { get x() { return this.x } }; return o.x`),
	dives("toString", `const o = { toString() { return "" + this } }; return "" + o`),
	dives("toJSON", `const o = { toJSON() { return JSON.stringify(this) } }; return JSON.stringify(o)`),
	dives("a Proxy", `const p = new Proxy({}, { get(t, k, r) { return r[k] } }); return p.x`),
	dives("a comparator", `const g = () => [2, 1].sort(g).length; return g()`),
	dives("a replacer", `const g = () => "x".replace("x", g); return g()`),
	dives("a constructor", `return new this.constructor(this.ctx, this.env).deep()`).with(`deep() { return new this.constructor().deep() }`),
	dives("deep JSON", `return JSON.parse("[".repeat(1e5))`),
	dives("deep code", `return eval("(".repeat(1e5))`),
	dives("an expression without end", "return eval(\"1\" + \"**1\".repeat(1e5))"),
	{name: "a deep regular expression", code: `return new RegExp("(".repeat(1e5) + ")".repeat(1e5))`, err: "SyntaxError"},
	{name: "a deep result", code: `let o = 1; for (let i = 0; i < 1e4; i++) o = [o]; return o`, err: "nested 256 levels deep"},
	{name: "a result in itself", code: `const o = {}; o.o = o; return o`, err: "nested 256 levels deep"},
	{name: "a deep stored value", code: `let o = 1; for (let i = 0; i < 1e5; i++) o = [o]; await this.ctx.storage.put("k", o)`, limits: roomy, err: "levels deep"},
	{name: "a deep clone", code: `let o = 1; for (let i = 0; i < 1e5; i++) o = { o }; structuredClone(o)`, limits: roomy, err: "levels deep"},
	{name: "a deep argument", code: `let o = 1; for (let i = 0; i < 1e4; i++) o = [o]; return await this.env.SINK.take(o)`, err: "nested 256 levels deep"},
	{name: "a deep line", code: `let o = 1; for (let i = 0; i < 1e5; i++) o = [o]; console.log(o)`, limits: roomy},
	{name: "a deep cause", code: `let e = new Error("0"); for (let i = 0; i < 1e4; i++) e = new Error("x" + i, { cause: e }); throw e`, limits: roomy, err: "x9999"},
	{name: "a cause in itself", code: `const e = new Error("mine"); e.cause = e; throw e`, err: "mine"},
	{name: "errors in themselves", code: `const e = new AggregateError([], "mine"); e.errors.push(e, e, e); throw e`, limits: roomy, err: "mine"},
	{name: "at the top", top: `const f = () => 1 + f(); f();`, limits: roomy, start: outOfStack},
	{name: "in the constructor", members: `constructor(c, e) { super(c, e); const f = () => 1 + f(); f() }`, limits: roomy, start: outOfStack},
}

func (h hostile) with(members string) hostile {
	h.members = members
	return h
}

// spins is a case that the engine interrupts: it goes on.
func spins(name, code string) hostile { return hostile{name: name, code: code, err: outOfTime} }

// blindly is a case that never asks whether to go on: only fuel ends it, and the instance with it.
func blindly(name, code string) hostile {
	return hostile{name: name, code: code, limits: blind, err: outOfTime, end: KindCPU}
}

var spinners = []hostile{
	spins("a loop", `for (;;);`),
	spins("a loop that catches", `for (;;) try { for (;;); } catch {}`),
	spins("a finally", `try { for (;;); } finally { for (;;); }`),
	spins("later", `await null; for (;;);`),
	spins("a timer", `await new Promise((r) => setTimeout(r, 1)); for (;;);`),
	spins("a regular expression", `return /^(a+)+$/.test("a".repeat(99) + "b")`),
	spins("a regular expression of choices", `return /^(a|aa)+$/.test("a".repeat(999) + "b")`),
	spins("eval", `eval("for (;;);")`),
	spins("Function", `Function("for (;;);")()`),
	spins("promises", `for (;;) await null`),
	spins("microtasks", `const g = () => queueMicrotask(g); g(); return new Promise(() => {})`),
	spins("a thenable", `return { then() { for (;;); } }`),
	spins("a thenable that is asked", `return { get then() { for (;;); } }`),
	spins("a thenable of thenables", `const t = () => ({ then(ok) { ok(t()) } }); return t()`),
	spins("a result that is a growing tree", `let o = [1]; for (let i = 0; i < 40; i++) o = [o, o]; return o`),
	spins("a getter of the result", `return { get x() { for (;;); } }`),
	spins("a Proxy as the result", `return new Proxy({}, { ownKeys() { for (;;); } })`),
	spins("a thrown value", `throw { toString() { for (;;); }, get stack() { for (;;); } }`),
	spins("a transaction", `return this.ctx.storage.transaction(() => { for (;;); })`),
	spins("a synchronous transaction", `return this.ctx.storage.transactionSync(() => { for (;;); })`),
	spins("a stored getter", `await this.ctx.storage.put("k", { get x() { for (;;); } })`),
	spins("an import", `await import("./loop.js")`),
	spins("an index of nothing", `return Array.prototype.indexOf.call({ length: 2 ** 32 - 1 }, 1)`),
	blindly("a sparse join", `return new Array(1e9).join()`),
	blindly("a sparse sort", `const a = []; a.length = 4e9; return a.sort()`),
	blindly("a large list to text", `return new Array(1_000_000_000) + ""`),
	{name: "a waitUntil", code: `this.ctx.waitUntil((async () => { await null; for (;;); })())`, err: ""},
	{name: "a dispose", code: `return new (class extends RpcTarget { [Symbol.dispose]() { for (;;); } })()`},
	{name: "a finalizer", code: `const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 3e3; i++) r.register({}, 1)`},
	{name: "at the top", top: `for (;;);`, start: "cpu: it took too long to start"},
	{name: "waits at the top for ever", top: `await new Promise(() => {});`, start: "start: server.js waits for something that never comes"},
	{name: "in the constructor", members: `constructor(c, e) { super(c, e); for (;;); }`, start: "cpu: it took too long to start"},
	{name: "an export that is asked", top: `export const then = (ok) => { for (;;); };`, start: "cpu: it took too long to start"},
	{name: "a gate", code: `return this.ctx.blockConcurrencyWhile(async () => { await null; for (;;); })`, err: "blockConcurrencyWhile", end: KindProtocol},
	{name: "a gate that stays shut", code: `return this.ctx.blockConcurrencyWhile(() => new Promise(() => {}))`, cut: true, deaf: true},
	{name: "a gate in the constructor", members: `constructor(c, e) { super(c, e); c.blockConcurrencyWhile(() => { for (;;); }) }`, start: outOfTime},
	{name: "no answer", code: `return new Promise(() => {})`, cut: true},
	{name: "no answer from a call", code: `return await this.env.SINK.never()`, cut: true},
	{name: "a getter in place of a method", code: `return 1`, members: `get ping() { return () => 1 }`},
	{name: "no Atomics", code: `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)`, err: "ReferenceError"},
	{name: "no WebAssembly", code: `return new WebAssembly.Memory({ initial: 1 })`, err: "ReferenceError"},
	{name: "odd imports", code: `for (const n of ["", ".", "..", "/", "./", "../x.js", "node:fs", "https://x/y.js", "data:text/javascript,1", "file:///etc/passwd",
		"./a\0b", "cloudflare:sockets", "server", "./" + "x".repeat(1e5)]) {
		const said = await import(n).then(() => "imported", (e) => e.message);
		if (!said.startsWith("cannot import ")) throw new Error(JSON.stringify(n).slice(0, 50) + ": " + said);
	}`},
	{name: "an import of itself", code: `if ((await import("./server.js")).Gadget !== this.constructor) throw new Error("another Gadget")`},
}
