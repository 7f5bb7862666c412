// Random programs of calls, pipelines, property reads, maps, callbacks, streams, failures, stubs passed back, duplicates and
// disposals. A program is the same for the same seed wherever it runs, and so must be what it sees.
//
// No map captures a counter: the official client never releases a stub of the peer that a map has captured (scenarios.mjs
// has that case), and then no leak of ours could be seen.
import util from "node:util";

const generator = (seed) => () => { // mulberry32
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

// runProgram carries out the program of a seed on s, a stub of the service, and returns what it saw as text.
export const runProgram = async (seed, s, { RpcStub, RpcTarget }) => {
  class Mine extends RpcTarget { #n = 100; inc(k) { return (this.#n += k); } increment(k) { return (this.#n += k); } get value() { return this.#n; } }
  const random = generator(seed), pick = (list) => list[Math.floor(random() * list.length)], small = () => Math.floor(random() * 9);
  const counters = [], results = [], rest = [];
  const own = (x) => (rest.push(x), x);
  const note = (name, p) => results.push([name, Promise.resolve(p).then((v) => util.inspect(v, { depth: 6, breakLength: Infinity }), (e) => `threw ${e?.name}: ${e?.message ?? util.inspect(e)}`)]);
  const make = () => (random() < 0.5 ? s.makeCounter(small()) : s.laterCounter(small()));
  const counter = () => (counters.length === 0 || random() < 0.2 ? (counters.push(make()), counters.at(-1)) : pick(counters));
  const of = (...chunks) => new ReadableStream({ start(c) { for (const x of chunks) c.enqueue(x); c.close(); } });
  const drain = async (p) => { const out = []; for await (const c of await p) out.push(c); return out; };
  const settle = () => Promise.all(results.map(([, p]) => p));
  const steps = {
    inc: () => note("inc", counter().inc(small())),
    value: () => note("value", counter().value),
    path: () => note("path", pick([() => s.facts.deep.x, () => s.facts.deep, () => s.held.value, () => s.held.inc(small()), () => s.facts.none])()),
    missing: () => note("missing", counter().nope(1)),
    fail: () => note("fail", counter().fail()),
    failLater: () => note("failLater", s.failLater()),
    onFailure: () => note("onFailure", own(s.fail()).a.b(small())),
    throwIt: () => note("throwIt", s.throwIt(pick(["text", 5, null, { a: 1 }]))),
    twin: () => { counters.push(counter().twin()); },
    nested: () => note("nested", own(s.nested()).a.box.c.inc(small())),
    // Calls on a promise and on its duplicate have no order among them before the promise is settled.
    dup: async () => { const c = counter(); await c.value; counters.push(c.dup()); },
    mine: () => note("mine", s.incrementCounter(new Mine(), small())),
    callback: () => { const k = small(); note("callback", s.callFn((x) => x * k)); },
    callbackLater: () => { const k = small(); note("callbackLater", s.callFunction(async (x) => { await null; return x + k; }, small())); },
    callbackFails: () => { const k = small(); note("callbackFails", s.callFn(() => { throw new RangeError("r" + k); })); },
    callbackStub: () => note("callbackStub", own(s.callFn(() => new Mine())).inc(small())),
    callMany: () => note("callMany", s.callMany((x) => x + 1, small())),
    keep: () => { const k = small(); note("keep", s.keep((x) => x + k)); },
    callKept: () => note("callKept", s.callKept(small())),
    dropKept: () => note("dropKept", s.dropKept()),
    map: () => { const k = small(); note("map", own(s.generateFibonacci(2 + (k % 4))).map((x) => ({ x, y: s.add(x, k) }))); },
    mapNested: () => note("mapNested", own(s.echo([[small()], [1, small()]])).map((row) => row.map((x) => [x, s.square(x)]))),
    mapPipelines: () => note("mapPipelines", own(s.generateFibonacci(small())).map((x) => s.makeCounter(x).inc(2))),
    mapCallback: () => { const f = own(new RpcStub((x) => x * 3)); note("mapCallback", own(s.list()).map((o) => f(o.id))); },
    stream: () => note("stream", s.collect(of("a", small(), { k: small() }))),
    streamBack: () => note("streamBack", drain(s.getMixedStream())),
    bytes: () => note("bytes", s.sink(of(new Uint8Array(small() * 1000), "x"))),
    writer: () => { const got = []; note("writer", s.fill(new WritableStream({ write(c) { got.push(c); } }), small()).then((n) => [n, got])); },
    blob: () => note("blob", s.echoBlob(new Blob(["x".repeat(small())])).then((b) => b.text())),
    values: () => note("values", s.echo([small(), 7n, new Date(small()), undefined, new Uint8Array([small()]), [[]], new TypeError("t")].slice(small() % 7)).then((l) => l.map((x) => (x instanceof Error ? x.message : x)))),
    // In these a call of ours meets one that the other side makes by itself: which is first, the protocol leaves open. So
    // everything before is awaited, and they are.
    use: async () => { await settle(); note("use", s.incrementCounter(counter(), small())); await settle(); },
    valueOf: async () => { await settle(); note("valueOf", s.valueOf_(counter())); await settle(); },
    passBack: async () => { await settle(); const k = small(), f = own(new RpcStub((x) => x + k)), r = own(await s.passBack(f)); note("passBack", r.f(small())); await settle(); },
    slow: async () => { await settle(); note("slow", counter().slow()); await settle(); },
    promiseArg: async () => { await settle(); note("promiseArg", s.add(own(counter().inc(1)), own(s.add(small(), own(counter().slow()))))); await settle(); },
    promisesInside: async () => { await settle(); note("promisesInside", s.echo({ a: [small(), own(s.add(1, 2))], b: own(counter().slow()) })); await settle(); },
    dispose: () => { if (counters.length > 0) counters.splice(Math.floor(random() * counters.length), 1)[0][Symbol.dispose](); },
    forget: () => s.add(1, 1)[Symbol.dispose](),
    forgetCounter: () => make()[Symbol.dispose](),
    settle,
    settled: async () => { const c = await make(); counters.push(c); note("settled", c.inc(1)); },
  };
  const names = Object.keys(steps);
  for (let n = 6 + Math.floor(random() * 20); n > 0; n--) await steps[pick(names)]();
  const out = [];
  for (const [name, p] of results) out.push(`${name} ${await p}`);
  await s.dropKept();
  for (const x of [...counters, ...rest]) if (x !== null && (typeof x === "object" || typeof x === "function") && Symbol.dispose in x) x[Symbol.dispose]();
  return out.join("\n");
};
