// Random programs of calls, pipelines, callbacks, maps and disposals, run on an official server and on a gadget. The
// outcomes must be the same, and so must what is left in the tables. SEED=n repeats one program.
import util from "node:util";
import { Guest, capnweb, check, finish, idle, within } from "./harness.mjs";
const { RpcTarget, RpcSession, RpcStub } = capnweb;

const classes = `
class Counter extends RpcTarget { #n; constructor(n) { super(); this.#n = n } inc(k = 1) { return this.#n += k } async slow() { await null; return this.#n } get value() { return this.#n } twin() { return new Counter(this.#n) } both() { return { a: this.twin(), list: [this.twin(), this.#n] } } fail() { throw new RangeError("r" + this.#n) } }
const methods = (Base) => class extends Base {
  make(n) { return new Counter(n) } async makeLater(n) { await null; await null; return new Counter(n) } echo(x) { return x } add(a, b) { return a + b } list(n) { return Array.from({ length: n }, (_, i) => i) }
  use(c, k) { return c.inc(k) } async useLater(c, k) { await null; const r = await c.inc(k); return r } call(f, x) { return f(x) } async callTwice(f, x) { return [await f(x), await f(x + 1)] }
  kept = []; keep(f) { this.kept.push(f.dup()); return this.kept.length } callAll(x) { return Promise.all(this.kept.map((f) => f(x))) } dropAll() { for (const f of this.kept) f[Symbol.dispose](); this.kept = [] }
};`;
const official = new Function("RpcTarget", classes + "return methods(RpcTarget)")(RpcTarget);
const gadget = `import { DurableObject, RpcTarget } from "cloudflare:workers"; ${classes} export class Gadget extends methods(DurableObject) {}`;

const generator = (seed) => () => { // mulberry32
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};
class Mine extends RpcTarget { #n = 100; inc(k) { return this.#n += k } }

// run carries out the program of a seed and returns its outcomes as text.
const run = async (seed, s) => {
  const random = generator(seed), pick = (list) => list[Math.floor(random() * list.length)], small = () => Math.floor(random() * 9);
  const counters = [], results = [], rest = [];
  const note = (name, p) => results.push([name, Promise.resolve(p).then((v) => util.inspect(v, { depth: 6 }), (e) => `threw ${e.name}: ${e.message}`)]);
  const counter = () => (counters.length === 0 || random() < 0.2 ? (counters.push(random() < 0.5 ? s.make(small()) : s.makeLater(small())), counters.at(-1)) : pick(counters));
  const steps = {
    inc: () => note("inc", counter().inc(small())), value: () => note("value", counter().value), slow: () => note("slow", counter().slow()), fail: () => note("fail", counter().fail()), missing: () => note("missing", counter().nope(1)),
    twin: () => counters.push(counter().twin()), both: () => { const b = counter().both(); rest.push(b); note("both", random() < 0.5 ? b.a.inc(2) : b.list[0].inc(3)); }, dup: () => counters.push(counter().dup()),
    use: () => note("use", s.use(counter(), small())), useLater: () => note("useLater", s.useLater(counter(), small())), useMine: () => note("useMine", s.use(new Mine(), small())), promiseArg: () => note("promiseArg", s.add(counter().inc(1), s.add(small(), counter().slow()))),
    echo: () => note("echo", s.echo({ a: [small(), s.add(1, 2)], b: counter().slow() })), call: () => note("call", s.call((x) => x * 2, small())), callTwice: () => note("callTwice", s.callTwice(async (x) => { await idle(0); return x + 1; }, small())),
    callStub: () => note("callStub", s.call((x) => x, counter().inc(small()))), keep: () => { const n = small(); note("keep", s.keep((x) => x + n)); }, callAll: () => note("callAll", s.callAll(small())), dropAll: () => note("dropAll", s.dropAll()),
    map: () => { const n = small(); note("map", s.list(n % 4).map((x) => ({ x, y: s.add(x, n) }))); }, mapCounter: () => { const c = counter().dup(); rest.push(c); note("mapCounter", s.list(2).map((x) => c.inc(x))); },
    dispose: () => { if (counters.length > 0) counters.splice(Math.floor(random() * counters.length), 1)[0][Symbol.dispose](); }, forget: () => { const p = s.add(1, 1); p[Symbol.dispose](); }, settle: async () => { await Promise.all(results.map(([, p]) => p)); },
    settled: async () => { const c = await s.make(small()); counters.push(c); note("settled", c.inc(1)); },
  };
  const names = Object.keys(steps);
  // In these a call of ours meets one that the other side makes by itself: which is first, the protocol leaves open.
  const free = ["use", "useLater", "slow", "promiseArg", "echo"];
  for (let n = 8 + Math.floor(random() * 25); n > 0; n--) {
    const name = pick(names);
    if (free.includes(name)) await steps.settle();
    await steps[name]();
    if (free.includes(name)) await steps.settle();
  }
  const out = [];
  for (const [name, p] of results) out.push(`${name} ${await p}`);
  await s.dropAll();
  for (const c of [...counters, ...rest]) c[Symbol.dispose]();
  await idle(2);
  return out.join("\n");
};

const pipe = () => {
  const ends = [0, 1].map(() => ({ queue: [], waiting: null }));
  const end = (me, other) => ({
    send: (m) => { if (ends[other].waiting) { ends[other].waiting(m); ends[other].waiting = null; } else ends[other].queue.push(m); },
    receive: () => new Promise((r) => { if (ends[me].queue.length > 0) r(ends[me].queue.shift()); else ends[me].waiting = r; }),
  });
  return [end(0, 1), end(1, 0)];
};

const first = Number(process.env.SEED ?? 1), last = process.env.SEED ? first : Number(process.env.TOOLSHED_PROGRAMS ?? 60);
for (let seed = first; seed <= last; seed++) {
  const [a, b] = pipe();
  new RpcSession(a, new official());
  const theirs = new RpcSession(b);
  const guest = await Guest.open(gadget);
  guest.trace = [];
  const ours = guest.connect();
  const want = await within(run(seed, theirs.getRemoteMain())).catch(String), got = await within(run(seed, ours.stub)).catch(String);
  const w = want.split("\n"), g = got.split("\n"), at = w.findIndex((line, i) => line !== g[i]);
  check(`program ${seed}`, want === got, `line ${at}\n  got  ${g[at]}\n  want ${w[at]}` + (process.env.SEED ? "\n" + guest.trace.join("\n") : ""));
  const t = JSON.stringify(ours.session.getStats()), u = JSON.stringify(theirs.getStats());
  check(`program ${seed}: tables`, t === u, `${t}, not ${u}` + (process.env.SEED ? "\n" + guest.trace.join("\n") : ""));
  check(`program ${seed}: alive`, guest.failure === "", guest.failure);
}
finish();
