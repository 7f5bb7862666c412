package host

import "time"

// steady is for what does much, a little at a time.
var steady = Limits{Memory: 16 << 20, Soft: 300 * time.Millisecond, Hard: 20 * time.Second}

var floods = []hostile{
	{name: "lines", code: `for (;;) console.log("x".repeat(9000))`, err: outOfTime},
	{name: "lines that are large", code: `for (let i = 0; i < 20; i++) console.log("é".repeat(1e6))`, limits: roomy},
	{name: "lines of promises", code: `for (;;) { await null; console.log("x") }`, err: outOfTime},
	{name: "a line that is a growing tree", code: `let o = [1]; for (let i = 0; i < 40; i++) o = [o, o]; console.log(o)`},
	{name: "a line that is asked", code: `console.log(new Proxy({}, { ownKeys() { for (;;); }, get() { for (;;); } }))`, err: outOfTime},
	{name: "calls that nobody answers", code: `for (;;) this.env.SINK.never()`, limits: roomy, err: "protocol: the gadget said more than it may", end: KindProtocol},
	{name: "calls that are answered", code: `for (;;) await this.env.SINK.take(1)`, cut: true, limits: steady},
	{name: "large calls", code: `const s = "x".repeat(1e6); for (;;) this.env.SINK.take(s)`, limits: roomy, err: "protocol: the gadget said more than it may", end: KindProtocol},
	{name: "calls on results", code: `let p = this.env.SINK.take(1); for (;;) p = p.x`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "callbacks", code: `for (;;) f(1)`, limits: roomy, err: "protocol: the gadget said more than it may", end: KindProtocol},
	{name: "callbacks that are awaited", code: `for (;;) await f(1)`, cut: true, limits: steady},
	{name: "functions that are lent", code: `for (;;) this.env.SINK.take(() => 1)`, limits: roomy, err: "protocol: the gadget said more than it may", end: KindProtocol},
	{name: "functions that are returned", code: `return Array.from({ length: 1e4 }, () => () => 1)`, limits: roomy, err: "too many objects", end: KindProtocol},
	{name: "targets that are returned", code: `return Array.from({ length: 1e4 }, () => new RpcTarget())`, limits: roomy, err: "too many objects", end: KindProtocol},
	{name: "stubs that are kept", code: `const a = []; for (;;) a.push(new RpcStub(() => 1))`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "a stream without end", code: `let n = 0; return new ReadableStream({ pull(c) { c.enqueue(new Uint8Array(1 << 16)) } })`},
	{name: "a stream that starts with all", code: `return new ReadableStream({ start(c) { for (;;) c.enqueue(new Uint8Array(1 << 16)) } })`,
		limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "streams", code: `const a = []; for (;;) a.push(new ReadableStream({}))`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "timers", code: `for (;;) setTimeout(() => {}, 1e9)`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "timers that set timers", code: `const g = () => { setTimeout(g, 0); setTimeout(g, 0) }; g(); return new Promise(() => {})`, cut: true},
	{name: "intervals", code: `for (let i = 0; i < 100; i++) setInterval(() => {}, 0); return new Promise(() => {})`, cut: true},
	{name: "alarms", members: `alarm() {}`, code: `for (;;) await this.ctx.storage.setAlarm(Date.now() + 1e9)`, err: outOfTime},
	{name: "reads", code: `for (;;) await this.ctx.storage.get("k")`, err: outOfTime},
	{name: "writes of one key", code: `for (;;) await this.ctx.storage.put("k", 1)`, err: outOfTime},
	{name: "writes of many keys", code: `for (let i = 0; ; i++) await this.ctx.storage.put("k" + i, 1)`, limits: roomy, err: "at most 50000 keys"},
}

// giants have few things, of a size that nobody should have.
var giants = []hostile{
	{name: "returns 100 MB", code: `return "x".repeat(100e6)`, limits: large, err: "a message may have"},
	{name: "returns 100 MB without the memory", code: `return "x".repeat(100e6)`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "returns 100 MB of bytes", code: `return new Uint8Array(100e6)`, limits: large, err: "a message may have"},
	{name: "returns 100 MB in parts", code: `const s = "x".repeat(1e6); return Array.from({ length: 100 }, () => s)`, limits: large, err: "a message may have"},
	{name: "throws 100 MB", code: `throw new Error("x".repeat(100e6))`, limits: large, err: "more characters"},
	{name: "takes 5 MB", args: 5 << 20, code: `return arg.length`, limits: roomy, err: outOfMemory, end: KindMemory},
	{name: "logs 100 MB", code: `console.log("x".repeat(100e6))`, limits: large},
	{name: "calls with 100 MB", code: `return await this.env.SINK.take("x".repeat(100e6))`, limits: large, err: "a message may have"},
	{name: "stores more than a turn may", code: `const s = "x".repeat(1e6); for (let i = 0; ; i++) await this.ctx.storage.put("k" + i, s)`,
		limits: roomy, err: "a turn may write at most 64 MiB"},
	{name: "stores 2 GB", code: `const s = "x".repeat(1e6); for (let i = 0; i < 2000; i++) { await this.ctx.storage.put("k" + i, s); await this.ctx.storage.sync() }`,
		limits: roomy, quota: 16 << 20, err: "quota: its storage limit is reached", end: KindQuota},
	{name: "stores a key of 100 kB", code: `await this.ctx.storage.put("x".repeat(1e5), 1)`, err: "a storage key may have 2048 bytes"},
	{name: "a message of many keys", code: `const o = {}; for (let i = 0; i < 1e5; i++) o["k" + i] = i; return o`, limits: roomy},
}

// large has room for what must not leave.
var large = Limits{Memory: 300 << 20, Soft: 30 * time.Second, Hard: 30 * time.Second}

// throwers throw what is no error, or one that fights.
var throwers = []hostile{
	{name: "null", code: `throw null`, err: "thrown value"},
	{name: "undefined", code: `throw undefined`, err: "thrown value"},
	{name: "a rejection with null", code: `await Promise.reject(null)`, err: "thrown value"},
	{name: "zero", code: `throw 0`, err: "thrown value"},
	{name: "an empty text", code: `throw ""`, err: "thrown value"},
	{name: "a symbol", code: `throw Symbol("x")`, err: "a symbol"},
	{name: "a function", code: `throw () => 1`, err: "() => 1"},
	{name: "a target", code: `throw new (class extends RpcTarget {})()`, err: "[object Object]"},
	{name: "a list", code: `throw [1, [2]]`, err: "thrown value"},
	{name: "a Proxy", code: `throw new Proxy({}, new Proxy({}, { get() { throw 1 } }))`, err: "a value that cannot be shown"},
	{name: "a Proxy of an error", code: `throw new Proxy(new Error("x"), new Proxy({}, { get() { throw 1 } }))`, err: "a value that cannot be shown"},
	{name: "a revoked Proxy", code: `const r = Proxy.revocable({}, {}); r.revoke(); throw r.proxy`, err: "a value that cannot be shown"},
	{name: "an endless prototype", code: `const p = new Proxy({}, { getPrototypeOf() { return p } }); throw p`, err: outOfTime},
	{name: "throwing getters", code: `const e = new Error("x"); for (const k of ["message", "name", "stack", "cause", "constructor"])
		Object.defineProperty(e, k, { get() { throw null } }); throw e`, err: "a value that cannot be shown"},
	{name: "throwing fields", code: `throw { get message() { throw 1 }, get name() { throw 1 }, get a() { throw 1 } }`, err: "[object Object]"},
	{name: "a frozen error", code: `throw Object.freeze(new Error("mine"))`, err: "mine"},
	{name: "an error without a prototype", code: `throw Object.setPrototypeOf(new Error("mine"), null)`, err: "thrown value"},
	{name: "a message that is no text", code: `const e = new Error(); e.message = { toString() { throw 1 } }; throw e`, err: "a value that cannot be shown"},
	{name: "a large message", code: `throw new Error("x".repeat(1 << 20))`, err: "xxxx", limits: roomy},
	{name: "an error of errors", code: `throw new AggregateError(Array.from({ length: 1000 }, (_, i) => new Error("e" + i)), "all")`, err: "all", limits: roomy},
	{name: "what looks like the protocol", code: `throw ["export", -1]`, err: "thrown value"},
	{name: "a thenable", code: `throw { then(ok) { ok(1) } }`, err: "[object Object]"},
	{name: "in a thenable", code: `return { then() { throw null } }`, err: "thrown value"},
	{name: "in a getter of the result", code: `return { get x() { throw null } }`, err: "thrown value"},
	{name: "in a trap of the result", code: `return new Proxy({}, { ownKeys() { throw new Error("trap") } })`, err: "trap"},
	{name: "in a revoked result", code: `const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy`, err: "TypeError: revoked proxy"},
	{name: "in a timer", code: `setTimeout(() => { throw null }, 0); setTimeout(() => { throw new Proxy({}, { get() { throw 1 } }) }, 0)`},
	{name: "in a microtask", code: `queueMicrotask(() => { throw undefined })`},
	{name: "in a rejection that nobody sees", code: `Promise.reject(null); Promise.reject(new Proxy({}, { get() { throw 1 } }))`},
	{name: "at the top", top: `throw null;`, start: "start: null"},
	{name: "a Proxy at the top", top: `throw new Proxy({}, { get() { throw 1 } });`, start: "start: "},
	{name: "in the constructor", members: `constructor(c, e) { super(c, e); throw new Proxy({}, { get() { throw 1 } }) }`, start: "start: a value that cannot be shown"},
	{name: "undefined in the constructor", members: `constructor(c, e) { super(c, e); throw undefined }`, start: "start: "},
	{name: "ends itself", code: `this.ctx.abort(new Proxy({}, { get() { throw 1 } }))`, err: "the gadget ended itself", end: KindProtocol},
}
