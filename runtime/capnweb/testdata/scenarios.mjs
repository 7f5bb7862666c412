// The named scenarios of the official client: each is run on an official server and on a peer of ours, and what the
// client sees must be the same. After each the tables of both sides are back at their start.
//
// s is the stub of the service (service.mjs); own(x) disposes x at the end.
export const scenarios = ({ RpcStub, RpcTarget, later, }) => {
  class Own extends RpcTarget {
    #n; gone = 0;
    constructor(n) { super(); this.#n = n; }
    inc(k = 1) { return (this.#n += k); }
    increment(k = 1) { return (this.#n += k); }
    get value() { return this.#n; }
    [Symbol.dispose]() { this.gone++; }
  }
  const until = async (f) => { for (let i = 0; i < 300; i++) { if (await f()) return "yes"; await later(2); } return "no"; };
  const text = (e) => `${e.name}: ${e.message}`;
  const caught = (p) => Promise.resolve(p).then(() => "no error", text);
  const drain = async (stream) => { const out = []; for await (const c of stream) out.push(c); return out; };
  const of = (...chunks) => new ReadableStream({ start(c) { for (const x of chunks) c.enqueue(x); c.close(); } });
  const dispose = (x) => x[Symbol.dispose]();

  return {
    messages: {
      call: (s) => s.square(5),
      "no arguments": (s) => s.count(),
      "many arguments": (s) => s.count(...Array(200).fill(0)),
      "undefined arguments": (s) => s.count(undefined, null, undefined),
      "awaited twice": async (s) => { const p = s.square(3); return [await p, await p]; },
      "awaited from two sides": async (s, own) => { const p = own(s.slow(3)); return Promise.all([p, p, s.echo(p)]); },
      "not awaited": async (s) => { dispose(s.note(1)); dispose(s.note(2)); return s.noted(); },
      "given up before the answer": async (s) => { dispose(s.slow(1)); return s.square(2); },
      "a counter given up before it exists": async (s) => { dispose(s.laterCounter(1)); return until(async () => (await s.live()) === 0); },
      "released after use": async (s) => {
        const c = await s.makeCounter(1), before = await s.live();
        dispose(c);
        return [before, await s.live()];
      },
      "released with the result it is in": async (s) => {
        const u = await s.user(), before = await s.live();
        dispose(u);
        return [before, await s.live()];
      },
      "released one of two": async (s, own) => {
        const a = await s.makeCounter(1);
        own(await s.makeCounter(2));
        dispose(a);
        return s.live();
      },
      "many in flight": async (s) => (await Promise.all([...Array(2000)].map((_, i) => s.square(i)))).at(-1),
      "a big message": async (s) => (await s.echo("x".repeat(1 << 20))).length,
      "ids far apart": async (s, own) => {
        const c = own(await s.makeCounter(0));
        for (let i = 0; i < 300; i++) dispose(s.note(i));
        return [await c.inc(), (await s.noted()).length];
      },
    },
    values: {
      "undefined and null": (s) => s.echo([undefined, null, { u: undefined, n: null }]),
      "returned undefined": (s) => s.returnUndefined(),
      "returned null": (s) => s.returnNull(),
      "not finite": (s) => s.echo([Infinity, -Infinity, NaN]),
      numbers: (s) => s.echo([0, -0, 1, -1, 1.5, -1.5e-7, 1e21, 123456789012345680000, 5e-324, 1.7976931348623157e308, 0.1 + 0.2, 2 ** 53]),
      booleans: (s) => s.echo([true, false]),
      bigints: (s) => s.echo([0n, 10n, -12345678901234567890n, 2n ** 4000n]),
      "a bigint as itself": (s) => s.describe(2n ** 200n),
      dates: (s) => s.echo([new Date(0), new Date(1e12), new Date(-1), new Date(NaN), new Date(8.64e15)]),
      text: (s) => s.echo(["", "x\u2028é😀\u0000\"\\\n\t/", "\u007f\u0080\ufeff", "a".repeat(5000)]),
      bytes: (s) => s.echo([new Uint8Array(0), new Uint8Array([1, 2, 3]), new Uint8Array(1000).fill(255)]),
      "byte containers": (s) => s.echo([new Int8Array([-1]), new Uint8ClampedArray([255]), new Int16Array([-2]),
        new Uint16Array([2]), new Int32Array([-3]), new Uint32Array([3]), new BigInt64Array([-4n]), new BigUint64Array([4n]),
        new Float32Array([1.5]), new Float64Array([0.5]), new ArrayBuffer(2), new DataView(new ArrayBuffer(3))]),
      "part of a buffer": (s) => s.echo(new Uint8Array(new Uint8Array([1, 2, 3, 4]).buffer, 1, 2)),
      arrays: (s) => s.echo([[], [1], [[1]], [[[]]], [[1, 2], [3]]]),
      "an array that looks like an expression": (s) => s.echo([["import", 0], ["bigint", "x"], ["undefined"]]),
      "text that looks like an expression": (s) => s.echo(["[\"undefined\"]", { k: "[[1]]" }]),
      objects: (s) => s.echo({ a: {}, b: { c: { d: [{}] } }, "": 1, "a b": 2, 7: 3 }),
      "key order": async (s) => Object.keys(await s.echo({ z: 1, a: 2, m: 3, b: { y: 1, x: 2 } })).join(),
      "reserved keys": (s) => s.echo(JSON.parse('{"__proto__":{"x":1},"toJSON":1,"valueOf":2,"hasOwnProperty":3,"ok":2}')),
      deep: (s) => { const o = {}; let t = o; for (let i = 0; i < 100; i++) t = t.a = {}; return s.echo(o); },
      "too deep": async (s) => { const o = {}; let t = o; for (let i = 0; i < 300; i++) t = t.a = {}; return caught(s.echo(o)); },
      urls: (s) => s.echo([new URL("https://a.b/c?d=e#f"), new URL("http://[::1]:80/")]),
      headers: async (s) => [...(await s.echo(new Headers([["a", "b"], ["x-long", "v".repeat(300)]])))],
      "an error": (s) => s.echo(new RangeError("r")),
      "error kinds": async (s) => (await s.echo([new TypeError("1"), new SyntaxError("2"), new EvalError("3"), new URIError("4"), new ReferenceError("5"), Object.assign(new Error("6"), { name: "Own" })])).map((e) => [e.name, e.message, e.constructor.name]),
      "error with properties": (s) => s.echo(Object.assign(new TypeError("v"), { code: "E", n: { a: [1n] } })),
      "error with what cannot be sent": (s) => s.echo(Object.assign(new Error("v"), { ok: 1, bad: new Map(), worse: Symbol("x") })),
      "error with cause": (s) => s.echo(new Error("outer", { cause: new RangeError("inner") })),
      "aggregate error": (s) => s.echo(new AggregateError([new Error("one"), "two"], "many")),
      "an error returned is data": (s) => s.returnError(),
      "what cannot be sent": async (s) => Promise.all([new Map(), /x/, new (class X {})(), Object.create(null), Symbol("x")].map((x) => caught((async () => s.echo(x))()))),
    },
    fetch: {
      request: async (s) => (await s.echo(new Request("http://a.b/c", { method: "PUT", headers: { x: "y" } }))).url,
      response: async (s) => (await s.echo(new Response(null, { status: 201 }))).status,
      "response among arguments": async (s) => [await caught(s.count(1, new Response("body"))), await s.square(2)],
    },
    pipelining: {
      call: (s, own) => own(s.makeCounter(4)).inc(2),
      "on what comes later": (s, own) => own(s.laterCounter(4)).inc(2),
      property: (s, own) => own(s.makeCounter(4)).value,
      "property of an object": (s) => s.held.inc(),
      "path into a value": (s) => s.facts.deep.list[1],
      "whole of a property": (s) => s.facts,
      "path to a stub": (s, own) => own(s.nested()).a.box.c.inc(),
      "path past a stub": (s, own) => own(s.nested()).a.box.c.value,
      "a chain": (s, own) => own(own(own(s.makeCounter(1)).twin()).twin()).inc(1),
      "function from a call": (s, own) => own(s.returnFunction(10))(5),
      "method as a value": async (s, own) => { const f = own(await s.square); return f(3); },
      index: async (s, own) => own(s.generateFibonacci(6))[5],
      "index and property": (s, own) => own(s.list())[1].id,
      "index out of range": (s, own) => own(s.list())[7],
      "length of an array": (s, own) => own(s.list()).length,
      "property of text": (s, own) => own(s.returnText()).length,
      "promise as argument": (s, own) => s.square(own(s.square(3))),
      "slow promise as argument": (s, own) => s.square(own(s.slow(3))),
      "rejected argument": (s, own) => s.square(own(s.fail())),
      "promises everywhere": (s, own) => s.echo([own(s.square(2)), own(s.slow(3)), { x: own(s.square(4)), y: [own(s.returnNull())] }]),
      "property as argument": async (s, own) => { const u = own(s.user()); return [await s.echo(u.name), await u.counter.inc(), await u.counter.inc()]; },
      "stub of a promise as argument": (s, own) => s.incrementCounter(own(s.makeCounter(2)), 4),
      "later stub as argument": (s, own) => s.incrementCounter(own(s.laterCounter(2)), 4),
      "same promise twice": (s, own) => { const p = own(s.square(3)); return s.add(p, p); },
      "two layers": (s, own) => s.add(own(s.square(own(s.add(1, 1)))), own(s.square(own(s.slow(3))))),
      "undefined property": (s, own) => own(s.user()).zip,
      "disposed with calls on it": async (s) => { const c = s.makeCounter(1), p = c.inc(4); dispose(c); return p; },
    },
    failures: {
      thrown: (s) => s.fail(),
      "thrown later": (s) => s.failLater(),
      text: (s) => s.throwIt("text"),
      number: (s) => s.throwIt(5),
      null: (s) => s.throwIt(null),
      object: (s) => s.throwIt({ a: [1] }),
      "error with a cause": (s) => s.throwIt(new TypeError("t", { cause: new Error("c") })),
      "a name of its own": (s) => s.throwIt(Object.assign(new Error("m"), { name: "Own" })),
      "no method": (s) => s.nope(),
      "no method of a counter": (s, own) => own(s.makeCounter(1)).nope(1),
      "no method deep": (s, own) => own(s.user()).nope.x(),
      "no method deeper": (s, own) => own(s.user()).nope.x.y(),
      "not a function": (s, own) => own(s.user()).name(),
      "call of a number": (s, own) => own(s.square(2))(),
      "property of null": (s, own) => own(s.returnNull()).zip,
      "property of undefined": (s, own) => own(s.returnUndefined()).zip,
      "call on a failure": (s, own) => own(s.fail()).a.b(1),
      "read on a failure": (s, own) => own(s.failLater()).value,
      "a failing getter": (s) => s.bad,
      "call on a failing getter": (s) => s.bad.x(),
      "prototype name": (s) => s.toString(),
      "constructor name": (s) => s.constructor.name,
      "after a failure all goes on": async (s) => [await caught(s.fail()), await s.square(2)],
      "a failure nobody looks at": async (s) => { dispose(s.fail()); dispose(s.nope()); return s.square(2); },
      "one of many": async (s) => (await Promise.allSettled([s.square(1), s.fail(), s.failLater(), s.square(2)])).map((r) => r.value ?? text(r.reason)),
    },
    callbacks: {
      call: (s) => s.callFn((x) => x + 1),
      "answered later": (s) => s.callFunction(async (x) => { await later(); return x * 2; }, 21),
      throws: (s) => s.callFn(() => { throw new TypeError("cb"); }),
      "throws text": (s) => s.callFn(() => { throw "text"; }),
      "rejects later": (s) => s.callFunction(async () => { await later(); throw new RangeError("cb"); }, 1),
      "returns a stub": async (s, own) => own(await s.callFn(() => new Own(1))).inc(),
      "returns nothing": (s) => s.callFn(() => {}),
      "returns a promise of ours": (s) => s.callFn((x) => s.square(x)),
      "calls back": (s) => s.callFunction(async (i) => (await s.square(i)) + 1, 4),
      "called many times": (s) => s.callMany((x) => x * x, 20),
      "called in order": async (s) => { const seen = []; await s.callMany((x) => { seen.push(x); }, 20); return seen; },
      "same one in two calls": async (s, own) => { const f = own(new RpcStub((x) => x + 1)); return [await s.callFn(f), await s.callFn(f), await s.callFunction(f, 1)]; },
      "kept and called later": async (s) => { await s.keep((x) => x + 1); const r = [await s.callKept(1), await s.callKept(2)]; await s.dropKept(); return r; },
      "several kept": async (s) => { await s.keep((x) => x + 1); await s.keep((x) => x + 2); const r = await s.callKept(1); await s.dropKept(); return r; },
      "kept without dup": async (s) => { await s.forget(() => 1); return (await caught(s.callForgotten(1))) !== "no error"; },
      "let go after the call": async (s) => { const o = new Own(1); await s.incrementCounter(o, 1); return [await until(() => o.gone > 0), o.gone]; },
      "let go when dropped": async (s) => { const o = new Own(1); await s.keep(o); const before = o.gone; await s.dropKept(); return [before, await until(() => o.gone > 0)]; },
      "nothing is called twice": async (s) => { let n = 0; await s.callFn(() => { n++; }); return n; },
    },
    stubs: {
      "returned and called": async (s, own) => { const c = own(await s.makeCounter(4)); return [await c.inc(), await c.inc(3), await c.value]; },
      "main as argument": (s) => s.callSquare(s, 6),
      "own object": (s) => s.incrementCounter(new Own(4), 9),
      "property of an own object": (s) => s.valueOf_(new Own(4)),
      "handed back": async (s, own) => { const c = own(await s.makeCounter(1)); return [await s.incrementCounter(c, 4), await c.value]; },
      "echoed without dup": async (s, own) => { const c = own(await s.makeCounter(1)); return caught(Promise.resolve(s.echo(c)).then(own)); },
      "passed back": async (s, own) => { const r = own(await s.passBack(own(new RpcStub((x) => x + 1)))); return r.f(2); },
      "dup and dispose": async (s, own) => { const c = await s.makeCounter(1), d = own(c.dup()); dispose(c); return [await d.inc(), await s.live()]; },
      "used after it was disposed": async (s) => { const c = await s.makeCounter(1); dispose(c); return caught(c.inc()); },
      "disposed twice": async (s) => { const c = await s.makeCounter(1); dispose(c); dispose(c); return s.live(); },
      "dup of a promise": async (s, own) => { const p = s.makeCounter(1), d = own(p.dup()); dispose(p); return d.inc(); },
      "twice in one message": async (s, own) => { const c = own(await s.makeCounter(1)); return s.count(c, c, { c }); },
      "own twice in one message": async (s) => { const o = new Own(1); return [await s.count(o, o), await until(() => o.gone > 0)]; },
      "two of one object": async (s, own) => { const l = own(await s.twins()); return [await l[0].inc(), await l[1].inc()]; },
      "one of two let go": async (s, own) => { const l = own(await s.twins()); dispose(l[0]); return l[1].inc(); },
      "the same object again": async (s, own) => { const a = own(await s.shared()), b = own(await s.shared()); return [await a.inc(), await b.inc()]; },
      "several in one result": async (s, own) => { const r = own(await s.nested()); return [r.n, r.a.list, await r.a.box.c.inc(1)]; },
      "a stub of a value": async (s, own) => { const f = own(new RpcStub({ a: 1, f: (x) => x + 1 })); return [await s.callFunction(f.f, 4), await f.a]; },
      "broken by a rejection": async (s, own) => { let why = "whole"; const p = own(s.failLater()); p.onRpcBroken((e) => { why = text(e); }); await caught(p); return why; },
    },
    order: {
      calls: async (s, own) => { const c = own(s.makeCounter(0)); return Promise.all([...Array(20)].map(() => c.inc())); },
      notes: (s) => Promise.all([...Array(50)].map((_, i) => s.note(i))),
      "on a promise": async (s, own) => { const c = own(s.laterCounter(0)); return Promise.all([...Array(20)].map(() => c.inc())); },
      "through a promise that settles": async (s, own) => { const p = own(s.laterCounter(0)), a = p.inc(), c = own(await p), b = c.inc(); return [await a, await b, await p.inc()]; },
      "reads between calls": async (s, own) => { const c = own(s.makeCounter(0)); return Promise.all([c.inc(), c.value, c.inc(), c.value]); },
      "a slow call does not hold others": async (s, own) => { const out = [], p = own(s.slow(1)).then(() => out.push("slow")); await s.square(1).then(() => out.push("fast")); await p; return out; },
      "calls from a callback": async (s) => { await s.callFn(async () => { for (let i = 0; i < 5; i++) await s.note(i); }); return s.noted(); },
    },
    map: {
      values: (s, own) => own(s.list()).map((o) => ({ id: o.id, n: s.name(o.id) })),
      calls: (s, own) => own(s.generateFibonacci(6)).map((i) => s.square(i)),
      identity: (s, own) => own(s.generateFibonacci(5)).map((x) => x),
      "a constant": (s, own) => own(s.generateFibonacci(3)).map(() => ({ k: [1, "x", null] })),
      nothing: (s, own) => own(s.generateFibonacci(3)).map(() => undefined),
      "special values": (s, own) => own(s.generateFibonacci(2)).map((x) => [x, 5n, new Date(3), new Uint8Array([1]), undefined, Infinity]),
      "an empty array": (s, own) => own(s.echo([])).map((x) => s.square(x)),
      "a number": (s, own) => own(s.square(3)).map((x) => s.square(x)),
      null: (s, own) => own(s.returnNull()).map((x) => x),
      undefined: (s, own) => own(s.returnUndefined()).map((x) => x),
      "an object": (s, own) => own(s.user()).map((u) => [u.name, u.counter.inc()]),
      "a property": (s) => s.facts.deep.list.map((x) => s.square(x)),
      nested: (s, own) => own(s.echo([[1, 2], [3]])).map((r) => r.map((x) => s.square(x))),
      "nested with an outer value": (s, own) => own(s.echo([{ k: 2, l: [1, 2] }, { k: 3, l: [3] }])).map((o) => o.l.map((x) => s.add(x, o.k))),
      "on the result of a map": (s, own) => own(own(s.generateFibonacci(4)).map((x) => s.square(x))).map((x) => s.square(x)),
      "result as argument": (s, own) => s.echo(own(own(s.generateFibonacci(4)).map((x) => s.square(x)))),
      stubs: async (s, own) => { const l = own(await own(s.generateFibonacci(4)).map((i) => s.makeCounter(i))); return Promise.all(l.map((c) => c.inc(10))); },
      "stubs that are let go": async (s, own) => { const l = await own(s.generateFibonacci(4)).map((i) => s.makeCounter(i)), n = await s.live(); dispose(l); return [n, await s.live()]; },
      pipelines: (s, own) => own(s.generateFibonacci(4)).map((i) => s.makeCounter(i).inc(5)),
      "a captured callback": async (s, own) => { const f = own(new RpcStub((x) => x * 10)); return own(s.generateFibonacci(4)).map((i) => f(i)); },
      "a captured counter": async (s, own) => { const c = own(await s.makeCounter(0)); return own(s.generateFibonacci(4)).map(() => c.inc()); },
      "a captured promise": (s, own) => { const c = own(s.makeCounter(0)); return own(s.generateFibonacci(3)).map((x) => [x, c.inc(x)]); },
      "a capture used twice": async (s, own) => { const f = own(new RpcStub((x) => x + 1)); return own(s.generateFibonacci(3)).map((i) => [f(i), f(10)]); },
      "an error": (s, own) => own(s.fail()).map((x) => s.square(x)),
      throws: (s, own) => own(s.generateFibonacci(3)).map(() => s.fail()),
      "throws for one": (s, own) => own(s.echo([1n, 2, 3n])).map((x) => s.describe(x)),
      "a callback's result": (s, own) => own(s.callFn((x) => [x, x + 1])).map((x) => s.square(x)),
      "given up": async (s, own) => { dispose(own(s.generateFibonacci(3)).map((i) => s.makeCounter(i))); return until(async () => (await s.live()) === 0); },
    },
    streams: {
      result: async (s) => drain(await s.getMixedStream()),
      "empty result": async (s) => drain(await s.getEmptyStream()),
      "result breaks": async (s) => caught(s.getBrokenStream().then(drain)),
      "result of many bytes": async (s) => { let n = 0, last; for await (const c of await s.getBytes(40, 16384)) { n += c.length; last = c[0]; } return [n, last]; },
      "result given up": async (s) => { const r = (await s.getEndless()).getReader(); await r.read(); await r.cancel(); return until(async () => (await s.canceled()) === "yes"); },
      "result of counters": async (s) => { const out = []; for await (const c of await s.getCounterStream(3)) { out.push(await c.inc(10)); dispose(c); } return [out, await until(async () => (await s.live()) === 0)]; },
      argument: (s) => s.collect(of("qq", { r: 1 }, undefined, [1])),
      "empty argument": (s) => s.collect(of()),
      "argument of many bytes": (s) => { let n = 0; return s.sink(new ReadableStream({ pull(c) { if (n++ < 64) c.enqueue(new Uint8Array(16384)); else c.close(); } })); },
      "argument breaks": (s) => s.sink(new ReadableStream({ start(c) { c.enqueue("q"); c.error(new TypeError("torn")); } })),
      "argument inside a value": (s) => s.collectFrom({ list: [of("a", "b")] }),
      "argument read in part": async (s) => {
        let why = "";
        const r = await s.readSome(new ReadableStream({ pull(c) { c.enqueue("x".repeat(1000)); }, cancel(e) { why = "canceled"; } }), 3);
        return [r.length, await until(() => why !== "")];
      },
      "two at once": async (s) => Promise.all([s.collect(of(1, 2, 3)), s.collect(of(4, 5))]),
      "writer result": async (s) => { const w = (await s.getWriter()).getWriter(); await w.write("z"); await w.write({ a: 1 }); await w.close(); return s.written(); },
      "writer result fails": async (s) => { const w = (await s.getWriter()).getWriter(); await caught(w.write("bad")); return [await caught(w.close()), await s.written()]; },
      "writer result aborted": async (s) => { const w = (await s.getWriter()).getWriter(); await w.write("z"); await w.abort(new Error("x")); return until(async () => (await s.written())[0] === "aborted"); },
      "writer argument": async (s) => { const got = []; return [await s.fill(new WritableStream({ write(c) { got.push(c); } }), 5), got]; },
      "writer argument fails": async (s) => caught(s.fill(new WritableStream({ write(c) { if (c === 2) throw new TypeError("full"); } }), 5)),
      "writer argument aborted": async (s) => { let why = ""; await s.fillAndAbort(new WritableStream({ abort(e) { why = text(e); } })); return [await until(() => why !== ""), why]; },
      "writer argument holds back": async (s) => { let now = 0, most = 0; await s.fill(new WritableStream({ async write() { most = Math.max(most, ++now); await later(1); now--; } }), 10); return most; },
      blob: async (s) => { const b = await s.echoBlob(new Blob(["hey", "you"], { type: "text/plain" })); return [b.type, await b.text()]; },
      "empty blob": async (s) => { const b = await s.echoBlob(new Blob([])); return [b.type, b.size]; },
      "big blob": async (s) => (await s.echoBlob(new Blob([new Uint8Array(1 << 20)]))).size,
      "blob in a value": async (s) => { const r = await s.echo({ b: [new Blob(["x"])] }); return r.b[0].text(); },
      "blob among arguments": (s) => s.count(new Blob(["x"]), 1, new Blob(["y"])),
    },
  };
};

// endings end their session: only what the client sees is compared.
export const endings = ({ later }) => ({
  "main disposed": async (s) => { s[Symbol.dispose](); return s.square(1).then(String, (e) => e.message); },
  "stubs break": async (s) => {
    const c = await s.makeCounter(1);
    let why = "";
    c.onRpcBroken((e) => { why = e.message; });
    s[Symbol.dispose]();
    await later(2);
    return [why, await c.inc().then(String, (e) => e.message)];
  },
  "calls in flight fail": async (s) => { const p = s.slow(1); p.then(() => {}, () => {}); s[Symbol.dispose](); return p.then(String, (e) => e.message); },
  "a stream breaks": async (s) => {
    const r = (await s.getEndless()).getReader();
    await r.read();
    s[Symbol.dispose]();
    for (let i = 0; i < 10_000; i++) try { if ((await r.read()).done) return "ended"; } catch { return "broke"; }
    return "goes on";
  },
});
