// The guest's Cap'n Web against the official package: the same scenarios on an official server and on a gadget,
// results compared. After each, both tables must be as they were.
import util from "node:util";
import { Guest, capnweb, check, equal, finish, idle, within } from "./harness.mjs";
import { service } from "../../capnweb/testdata/service.mjs";
import { scenarios as shared } from "../../capnweb/testdata/scenarios.mjs";
const { RpcStub, RpcTarget, RpcSession } = capnweb;

const classes = `
class Counter extends RpcTarget {
  #n; constructor(n) { super(); this.#n = n; this.field = 1; }
  increment(k = 1) { return this.#n += k; } inc(k = 1) { return this.#n += k; } get value() { return this.#n; }
}
const methods = (Base) => class extends Base {
  square(i) { return i * i } async slowSquare(i) { await null; return i * i } makeCounter(n) { return new Counter(n) } echo(x) { return x }
  list() { return [{ id: 1 }, { id: 2 }] } name(o) { return "n" + o } callFn(f) { return f(7) }
  fail() { const e = new RangeError("bad"); e.code = 42; throw e } async failLater() { throw new RangeError("later") } throwText() { throw "text" } throwNull() { throw null }
  callSquare(self, i) { return { result: self.square(i) } } async callFunction(f, i) { return { result: await f(i) } }
  incrementCounter(c, i = 1) { return c.increment(i) } user() { return { name: "bob", tags: ["a", "b"], counter: new Counter(3) } }
  returnNull() { return null } returnUndefined() {} returnFunction() { return (x) => x + 1 } async laterCounter(n) { await null; await null; return new Counter(n) }
  generateFibonacci(n) { const r = [0, 1]; while (r.length < n) r.push(r.at(-1) + r.at(-2)); return r.slice(0, n) }
  kept = null; keep(f) { this.kept?.[Symbol.dispose](); this.kept = f.dup() } callKept(x) { return this.kept(x) } drop() { this.kept[Symbol.dispose](); this.kept = null }
  forget(f) { this.bad = f } callForgotten(x) { return this.bad(x) }
  twice(f) { return Promise.all([f(1), f(2)]) } types(a) { return a.map(x => Object.prototype.toString.call(x)).join() } get prop() { return { deep: { x: 1 } } }
  returnError() { return new TypeError("a value") } sym() { return { s: Symbol("s") } } mapValue() { return new Map() }
  field = 1; fieldFn = () => 1;
};
`;
const official = new Function("RpcTarget", classes + "return methods(RpcTarget)")(RpcTarget);
const gadget = `import { DurableObject, RpcTarget, RpcStub } from "cloudflare:workers"; ${classes}
export class Gadget extends methods(DurableObject) {}`;

class Counter extends RpcTarget { #n; constructor(n) { super(); this.#n = n } increment(k = 1) { return this.#n += k } }
const deep = (n) => { const o = {}; for (let i = 0, t = o; i < n; i++) t = t.a = {}; return o };

const disposing = async (stub, f) => { try { return await f() } finally { stub[Symbol.dispose]() } };

const scenarios = {
  call: (s) => s.square(5), async: (s) => s.slowSquare(5), pipeline: (s) => s.makeCounter(4).inc(2), pipelineLater: (s) => s.laterCounter(4).inc(2),
  stub: async (s) => { const c = await s.makeCounter(4); const r = [await c.inc(), await c.inc(3), await c.value]; c[Symbol.dispose](); return r },
  "prop to arg": async (s) => { const u = s.user(); const r = [await s.echo(u.name), await u.tags[1], await u.counter.inc(), await u.counter.inc()]; u[Symbol.dispose](); return r },
  getter: (s) => s.prop, getterDeep: (s) => s.prop.deep.x,
  callback: (s) => s.callFn((x) => x + 1), callbackAsync: (s) => s.callFunction(async (x) => { await idle(2); return x * 2 }, 21),
  callbackTwice: (s) => s.twice((x) => x * 10), callbackThrow: (s) => s.callFn(() => { throw new TypeError("cb") }),
  selfRef: (s) => s.callSquare(s.dup(), 6), ownCounter: (s) => s.incrementCounter(new Counter(4), 9),
  remoteCounterBack: async (s) => { const c = await s.makeCounter(1); return disposing(c, async () => [await s.incrementCounter(c, 4), await c.value]) },
  promiseCounterBack: async (s) => s.incrementCounter(s.makeCounter(2), 4), promiseCounterBackLater: async (s) => s.incrementCounter(s.laterCounter(2), 4),
  fn: async (s) => { const f = await s.returnFunction(); return disposing(f, () => f(4)) }, fnPipelined: (s) => s.returnFunction()(4),
  fail: (s) => s.fail(), failLater: (s) => s.failLater(), throwText: (s) => s.throwText(), throwNull: (s) => s.throwNull(),
  missing: (s) => s.nope(), missingProp: (s) => s.nope, missingDeep: (s) => s.user().nope, failDeep: (s) => s.fail().a.b(1),
  constructor_: (s) => s.constructor(), toString_: (s) => s.hasOwnProperty("x"), array0: (s) => s.list()[1].id,
  special: (s) => s.echo([undefined, null, Infinity, -Infinity, NaN, 10n, -12345678901234567890n, new Date(1e12), new Date(NaN), new Uint8Array([1, 2, 3]),
    new Float32Array([1.5]), new ArrayBuffer(2), new BigInt64Array([5n]), [[1]], [], {}, { a: [1], u: undefined, e: {} }, "x\u2028é😀\u0000", "\ud800", -1.5e-7, 1e21]),
  types: (s) => s.types([undefined, null, 1n, new Date(0), new Uint8Array(1), new Float64Array(1), new ArrayBuffer(1), new DataView(new ArrayBuffer(1)), new RangeError("x")]),
  errorValue: (s) => s.echo(Object.assign(new TypeError("v"), { code: "E", n: { a: [1n] } })), errorCause: (s) => s.echo(new Error("v", { cause: new RangeError("c") })), returnError: (s) => s.returnError(),
  undef: (s) => s.returnUndefined(), nul: (s) => s.returnNull(), fib: (s) => s.generateFibonacci(10),
  promiseArg: (s) => s.square(s.square(3)), promiseArgLater: (s) => s.square(s.slowSquare(3)), rejectedArg: (s) => s.square(s.fail()), rejectedArgLater: (s) => s.square(s.failLater()),
  arrayOfPromises: (s) => s.echo([s.square(2), s.slowSquare(3), { x: s.square(4) }]),
  map: (s) => s.list().map((o) => ({ id: o.id, n: s.name(o.id) })), mapCall: (s) => s.generateFibonacci(6).map((i) => s.square(i)), mapNonArray: (s) => s.square(3).map((x) => s.slowSquare(x)),
  mapNull: (s) => s.returnNull().map((x) => x), mapIdentity: (s) => s.generateFibonacci(5).map((x) => x), mapNested: (s) => s.echo([[1, 2], [3]]).map((r) => r.map((x) => s.square(x))),
  mapStubs: async (s) => { const a = await s.generateFibonacci(4).map((i) => s.makeCounter(i)); const r = await Promise.all(a.map((c) => c.inc(10))); a[Symbol.dispose](); return r },
  mapEmpty: (s) => s.echo([]).map((x) => s.square(x)),
  bigString: async (s) => (await s.echo("x".repeat(1 << 20))).length, deep100: (s) => s.echo(deep(100)),
  many: async (s) => (await Promise.all([...Array(500)].map((_, i) => s.square(i)))).at(-1),
  order: async (s) => { const c = await s.makeCounter(0); return disposing(c, () => Promise.all([...Array(20)].map(() => c.inc()))) },
  orderPipelined: async (s) => { const c = s.laterCounter(0); const r = await Promise.all([...Array(20)].map(() => c.inc())); c[Symbol.dispose](); return r },
  noAwait: async (s) => { s.square(1)[Symbol.dispose](); const c = s.makeCounter(1); const i = c.inc(); i[Symbol.dispose](); c[Symbol.dispose](); return s.square(2) },
  protoKeys: (s) => s.echo(JSON.parse('{"__proto__":{"x":1},"toJSON":1,"constructor":3,"ok":2}')),
  keep: async (s) => { const log = []; await s.keep((x) => { log.push(x); return x + 1 }); const r = [await s.callKept(1), await s.callKept(2)]; await s.drop(); return [r, log] },
  sym: async (s) => { try { await s.sym() } catch (e) { return e.name } }, mapValue: async (s) => { try { await s.mapValue() } catch (e) { return e.name } },
  ownField: async (s) => { try { await s.field; return "reached" } catch (e) { return e.name } }, ownFunction: async (s) => { try { await s.fieldFn(); return "reached" } catch (e) { return e.name } },
  counterField: async (s) => { try { await s.makeCounter(1).field; return "reached" } catch (e) { return e.name } },
};

// The frames of an error are where the JavaScript that compares happened to run, not what was said.
const withoutFrames = (text) => text.replace(/\n\s+at [^\n{]*/g, "");

const one = async (f, stub) => {
  try { return withoutFrames(util.inspect(await within(Promise.resolve(f(stub))), { depth: 8, sorted: true, breakLength: 200 })); } catch (e) {
    return withoutFrames(e instanceof Error ? `threw ${e.name}: ${e.message} ${util.inspect({ ...e })}` : "threw " + util.inspect(e));
  }
};
const stats = (session) => JSON.stringify(session.getStats());

const pipe = () => {
  const ends = [0, 1].map(() => ({ queue: [], waiting: null }));
  const end = (me, other) => ({
    send: (m) => { if (ends[other].waiting) { ends[other].waiting(m); ends[other].waiting = null; } else ends[other].queue.push(m); },
    receive: () => new Promise((r) => { if (ends[me].queue.length > 0) r(ends[me].queue.shift()); else ends[me].waiting = r; }),
  });
  return [end(0, 1), end(1, 0)];
};

// deviations are the scenarios in which the guest does something else on purpose, and what the client sees then.
const deviations = {
  "stubs: echoed without dup": "'no error'", // what a gadget gives back of its arguments is duplicated for it
};
// These wait: a gadget answers everything that needs no timer in the turn of the call.
const skipped = ["order: a slow call does not hold others"];

const only = process.argv[2];
let same = 0, run = 0;
const compare = async (name, f, main, gadget) => {
  if (only && name !== only) return;
  run++;
  const [a, b] = pipe();
  new RpcSession(a, main);
  const theirs = new RpcSession(b);
  const want = await one(f, theirs.getRemoteMain());
  const guest = await Guest.open(gadget);
  equal(name + ": start", guest.bootError + guest.startError, "");
  guest.trace = [];
  const ours = guest.connect();
  const got = await one(f, ours.stub);
  if (got === (deviations[name] ?? want)) same++;
  equal(name, got, deviations[name] ?? want);
  if (name in deviations) check(name + ": a deviation", got !== want);
  // What a scenario leaves open on the official side it may leave open here, and nothing more.
  let tables, wanted;
  for (let i = 0; i < 100 && (i === 0 || tables !== wanted); i++) {
    await idle(1);
    tables = stats(ours.session);
    wanted = stats(theirs);
  }
  check(name + ": tables", tables === wanted, `${tables}, not ${wanted}\n  ` + guest.trace.map((l) => l.slice(0, 200)).join("\n  "));
  equal(name + ": the connection lives", guest.failure, "");
  guest.close?.();
  if (only) console.log(guest.trace.join("\n"), got);
};
for (const [name, f] of Object.entries(scenarios)) await compare(name, f, new official(), gadget);

// The scenarios that the Go peer is compared with, on a gadget.
const soon = async () => { for (let i = 0; i < 4; i++) await null; };
const sharedGadget = `import { DurableObject, RpcTarget } from "cloudflare:workers";
const soon = ${soon}; const service = ${service}; export class Gadget extends service(DurableObject, RpcTarget, soon) {}`;
const Main = service(RpcTarget, RpcTarget, soon);
for (const [section, list] of Object.entries(shared({ RpcStub, RpcTarget, later: idle }))) {
  for (const [name, f] of Object.entries(list)) {
    if (skipped.includes(`${section}: ${name}`)) continue;
    const owned = [], own = (x) => (owned.push(x), x);
    const disposing = async (s) => {
      try {
        const v = await f(s, own);
        if (v !== null && typeof v === "object" && Symbol.dispose in v) owned.push(v);
        return v;
      } finally {
        for (const x of owned.splice(0)) if (x !== null && (typeof x === "object" || typeof x === "function") && Symbol.dispose in x) x[Symbol.dispose]();
      }
    };
    await compare(`${section}: ${name}`, disposing, new Main(), sharedGadget);
  }
}
console.log(`${same} of ${run} scenarios the same, ${Object.keys(deviations).length} of them declared deviations`);
finish();
