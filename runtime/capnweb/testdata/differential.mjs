// Runs every scenario with the official client against the official server and against the
// Go peer whose address is the argument; prints one JSON line a scenario:
// {name, js, go, leakJS, leakGo}. A leak is what a server still holds once the client has
// disposed everything; "" is none.
import util from "node:util";
import { capnweb, serve, Counter } from "./server.mjs";

const { RpcSession, RpcStub, RpcTarget, WebSocketTransport } = capnweb;
const later = (ms) => new Promise((done) => setTimeout(done, ms));

// own(x) disposes x at the end of the scenario.
const scenarios = {
  call: (s) => s.square(5),
  pipeline: (s, own) => own(s.makeCounter(4)).inc(2),
  stub: async (s, own) => {
    const c = own(await s.makeCounter(4));
    return [await c.inc(), await c.inc(3), await c.value];
  },
  "property as argument": async (s, own) => {
    const u = own(s.user());
    return [await s.echo(u.name), await u.counter.inc(), await u.counter.inc()];
  },
  "property of an object": (s) => s.env.inc(),
  "method as a value": async (s, own) => { const f = own(await s.square); return f(3); },
  callback: (s) => s.callFn((x) => x + 1),
  "async callback": (s) => s.callFunction(async (x) => { await later(5); return x * 2; }, 21),
  "callback throws": (s) => s.callFn(() => { throw new TypeError("cb"); }),
  "callback throws a string": (s) => s.callFn(() => { throw "text"; }),
  "callback returns a stub": async (s, own) => own(await s.callFn(() => new Counter(1))).inc(),
  "main as argument": (s) => s.callSquare(s, 6),
  "own counter": (s) => s.incrementCounter(new Counter(4), 9),
  "remote counter back": async (s, own) => {
    const c = own(await s.makeCounter(1));
    return [await s.incrementCounter(c, 4), await c.value];
  },
  "echo a stub": async (s, own) => { const c = own(await s.makeCounter(1)); return s.echo(c); },
  "promised counter back": (s, own) => s.incrementCounter(own(s.makeCounter(2)), 4),
  "dup and dispose": async (s, own) => {
    const c = await s.makeCounter(1);
    const d = own(c.dup());
    c[Symbol.dispose]();
    return d.inc();
  },
  fail: (s) => s.fail(),
  throwError: (s) => s.throwError(),
  missing: (s) => s.nope(),
  "missing deep": (s, own) => own(s.user()).nope.x(),
  "missing deeper": (s, own) => own(s.user()).nope.x.y(),
  "not a function": (s, own) => own(s.user()).name(),
  "call a number": (s, own) => own(s.square(2))(),
  "undefined property": (s, own) => own(s.user()).zip,
  "property of null": (s, own) => own(s.returnNull()).zip,
  "prototype name": (s) => s.toString(),
  "constructor name": (s) => s.constructor.name,
  "index": async (s, own) => own(s.generateFibonacci(6))[5],
  special: (s) => s.echo([undefined, null, Infinity, -Infinity, NaN, 10n, -12345678901234567890n, new Date(1e12),
    new Date(NaN), new Uint8Array([1, 2, 3]), new Float32Array([1.5]), new ArrayBuffer(2), [[1]], [], { a: [1],
    u: undefined, e: {} }, "x\u2028é😀\u0000\"\\", -1.5e-7, 1e21, 123456789012345680000, 5e-324, -0, new URL("https://a.b/c")]),
  "byte containers": (s) => s.echo([new Int8Array([-1]), new Uint8ClampedArray([255]), new Int16Array([-2]),
    new Uint16Array([2]), new Int32Array([-3]), new Uint32Array([3]), new BigInt64Array([-4n]), new BigUint64Array([4n]),
    new Float64Array([0.5]), new DataView(new ArrayBuffer(3))]),
  "error value": (s) => s.echo(Object.assign(new TypeError("v"), { code: "E", n: { a: [1n] } })),
  "error with cause": (s) => s.echo(new Error("outer", { cause: new RangeError("inner") })),
  "aggregate error": (s) => s.echo(new AggregateError([new Error("one")], "many")),
  headers: async (s) => [...(await s.echo(new Headers({ a: "b" })))],
  undef: (s) => s.returnUndefined(),
  nul: (s) => s.returnNull(),
  bigint: (s) => s.describe(2n ** 200n),
  fib: (s) => s.generateFibonacci(10),
  slow: (s) => s.slow("x"),
  "promise as argument": (s, own) => s.square(own(s.square(3))),
  "slow promise as argument": (s, own) => s.square(own(s.slow(3))),
  "rejected argument": (s, own) => s.square(own(s.fail())),
  "array of promises": (s, own) => s.echo([own(s.square(2)), own(s.square(3)), { x: own(s.square(4)) }]),
  map: (s, own) => own(s.list()).map((o) => ({ id: o.id, n: s.name(o.id) })),
  "map calls": (s, own) => own(s.generateFibonacci(6)).map((i) => s.square(i)),
  "map a number": (s, own) => own(s.square(3)).map((x) => s.square(x)),
  "map null": (s, own) => own(s.returnNull()).map((x) => x),
  "map undefined": (s, own) => own(s.returnUndefined()).map((x) => x),
  "map nested": (s, own) => own(s.echo([[1, 2], [3]])).map((r) => r.map((x) => s.square(x))),
  "map stubs": async (s, own) => {
    const l = own(await own(s.generateFibonacci(4)).map((i) => s.makeCounter(i)));
    return Promise.all(l.map((c) => c.inc(10)));
  },
  "map with a captured callback": async (s, own) => {
    const f = own(new RpcStub((x) => x * 10));
    return own(s.generateFibonacci(4)).map((i) => f(i));
  },
  "map pipelines": (s, own) => own(s.generateFibonacci(4)).map((i) => s.makeCounter(i).inc(5)),
  "map an error": (s, own) => own(s.fail()).map((x) => s.square(x)),
  "map throws": (s, own) => own(s.generateFibonacci(3)).map(() => s.fail()),
  "map a callback's result": (s, own) => own(s.callFn((x) => [x, x + 1])).map((x) => s.square(x)),
  "big string": async (s) => (await s.echo("x".repeat(1 << 20))).length,
  deep: (s) => {
    const o = {};
    let t = o;
    for (let i = 0; i < 100; i++) t = t.a = {};
    return s.echo(o);
  },
  many: async (s) => (await Promise.all([...Array(2000)].map((_, i) => s.square(i)))).at(-1),
  order: async (s, own) => {
    const c = own(s.makeCounter(0));
    return Promise.all([...Array(20)].map(() => c.inc()));
  },
  "order of notes": (s) => Promise.all([...Array(50)].map((_, i) => s.note(i))),
  "not awaited": async (s, own) => {
    own(s.square(1));
    own(own(s.makeCounter(1)).inc());
    return s.square(2);
  },
  "reserved keys": (s) => s.echo(JSON.parse('{"__proto__":{"x":1},"toJSON":1,"valueOf":2,"ok":2}')),
  "key order": async (s) => Object.keys(await s.echo({ z: 1, a: 2, m: 3, b: { y: 1, x: 2 } })).join(),
  "two callbacks": async (s, own) => {
    const f = own(new RpcStub((x) => x + 1));
    return [await s.callFn(f), await s.callFn(f), await s.callFunction(f, 1)];
  },
  "callback calls back": (s) => s.callFunction(async (i) => (await s.square(i)) + 1, 4),
  blob: async (s) => {
    const b = await s.echoBlob(new Blob(["hey", "you"], { type: "text/plain" }));
    return [b.type, await b.text()];
  },
  "big blob": async (s) => (await s.echoBlob(new Blob([new Uint8Array(1 << 20)]))).size,
  "stream result": async (s) => {
    const out = [];
    for await (const c of await s.getMixedStream()) out.push(c);
    return out;
  },
  "stream result breaks": async (s) => {
    const out = [];
    try { for await (const c of await s.getBrokenStream()) out.push(c); } catch (e) { out.push(String(e)); }
    return out.at(-1); // whether the chunk before the error is still read depends on timing
  },
  "stream argument": (s) => s.sink(new ReadableStream({ start(c) { c.enqueue("qq"); c.enqueue("r"); c.close(); } })),
  "big stream argument": (s) => {
    let n = 0;
    return s.sink(new ReadableStream({ pull(c) { if (n++ < 64) c.enqueue(new Uint8Array(16384)); else c.close(); } }));
  },
  "stream argument breaks": (s) =>
    s.sink(new ReadableStream({ start(c) { c.enqueue("q"); c.error(new TypeError("torn")); } })),
  "writer result": async (s) => {
    const w = (await s.getWriter()).getWriter();
    await w.write("z");
    await w.close();
    return "ok";
  },
  "writer argument": async (s) => {
    const got = [];
    const n = await s.fill(new WritableStream({ write(c) { got.push(c); } }), 5);
    return [n, got];
  },
};

const isDisposable = (x) => x !== null && (typeof x === "object" || typeof x === "function") && Symbol.dispose in x;
const show = (v) => util.inspect(v, { depth: 6, sorted: false, maxArrayLength: 60, maxStringLength: 300 });
const within = (ms, p) => Promise.race([Promise.resolve(p), later(ms).then(() => { throw new Error("TIMEOUT"); })]);

async function connect(url) {
  const socket = new WebSocket(url);
  await new Promise((done, fail) => {
    socket.addEventListener("open", done);
    socket.addEventListener("error", () => fail(new Error("cannot connect to " + url)));
  });
  return new RpcSession(new WebSocketTransport(socket));
}

async function run(url, f, stats) {
  const session = await connect(url);
  const main = session.getRemoteMain();
  const owned = [];
  const own = (x) => (owned.push(x), x);
  let result;
  try {
    const promise = f(main, own);
    const value = await within(4000, promise);
    result = show(value);
    if (isDisposable(value)) owned.push(value);
  } catch (e) {
    result = e instanceof Error ? "threw " + e.name + ": " + e.message + " " + show({ ...e }) : "threw " + show(e);
  }
  for (const x of owned) if (isDisposable(x)) x[Symbol.dispose]();
  let leak = "";
  for (let i = 0; i < 100; i++) {
    const st = await stats();
    const mine = session.getStats();
    leak = st.exports === 1 && st.imports === 1 ? "" : JSON.stringify({ server: st, client: mine });
    if (leak === "") break;
    await later(2);
  }
  main[Symbol.dispose]();
  return { result, leak };
}

const js = await serve();
const goAddress = process.argv[2];
const statsURL = goAddress.replace("ws:", "http:") + "/stats";
let n = 0;
for (const [name, f] of Object.entries(scenarios)) {
  const path = "/" + ++n;
  const a = await run(js.address + path, f, () => js.sessions.get(path).getStats());
  const b = await run(goAddress + path, f, async () => (await fetch(statsURL + path)).json());
  console.log(JSON.stringify({ name, js: a.result, go: b.result, leakJS: a.leak, leakGo: b.leak }));
}
process.exit(0);
