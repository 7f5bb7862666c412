// structuredClone over random values: every type that it copies, shared and circular ones, what it refuses, and transfer.
import { answerNow, runner, show } from "./seeded.mjs";
const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
const views = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array];
const refused = [() => () => 1, () => Symbol("s"), () => new WeakMap(), () => new WeakSet(), () => Promise.resolve(1), () => new WeakRef({})];
const platform = [() => new URL("http://x"), () => new URLSearchParams(), () => new Headers(), () => new Request("http://x"), () => new Response(""), () => new AbortController(), () => new EventTarget(), () => new Event("x"), () => new ReadableStream(), () => new TextEncoder()];

// graph makes a value; objects made before may come again.
const graph = (m, rate) => {
  const made = [];
  const keep = (v) => { made.push(v); return v; };
  const key = () => m.pick(["a", "b", "1", "0", "x y", "constructor", "é"]);
  const buffer = () => m.bytes(8 * m.random(4)).buffer;
  const leaf = () => m.pick([() => m.random(100), () => -0, () => NaN, () => Infinity, () => 1.5e300, () => "text", () => "\ud800é", () => true, () => null, () => undefined, () => 12345678901234567890n, () => -1n])();
  const value = (depth) => {
    if (rate > 0 && m.odds(rate)) return m.pick(refused)();
    if (made.length > 0 && m.odds(5)) return m.pick(made);
    if (depth > 4 || m.odds(3)) return leaf();
    return m.pick([
      () => { const o = keep({}); for (let n = m.random(4); n > 0; n--) o[key()] = value(depth + 1); return o; },
      () => { const a = keep([]); for (let n = m.random(4); n > 0; n--) a.push(value(depth + 1)); if (m.odds(5)) a.length += 2; if (m.odds(6)) a.extra = value(depth + 1); return a; },
      () => { const o = keep(new Map()); for (let n = m.random(4); n > 0; n--) o.set(value(depth + 1), value(depth + 1)); return o; },
      () => { const o = keep(new Set()); for (let n = m.random(4); n > 0; n--) o.add(value(depth + 1)); return o; },
      () => keep(new Date(m.pick([0, 1e12, NaN, -1, 8.64e15]))),
      () => { const r = keep(new RegExp(m.pick(["a", "[^/]+", "\\/", ""]), m.pick(["", "g", "gi", "muy"]))); r.lastIndex = m.random(3); return r; },
      () => keep(Object(m.pick([1, -0, "boxed", true, 5n]))),
      () => keep(buffer()),
      () => { const View = m.pick(views), b = keep(buffer()), n = b.byteLength / View.BYTES_PER_ELEMENT; return keep(n >= 1 && m.odds(2) ? new View(b, View.BYTES_PER_ELEMENT * m.random(n)) : new View(b)); },
      () => { const b = keep(buffer()); return keep(new DataView(b, m.random(b.byteLength + 1))); },
      () => { const e = keep(new (m.pick(errors))("message", m.odds(2) ? { cause: value(depth + 1) } : undefined)); if (m.odds(4)) e.name = m.pick(["TypeError", "Own", "RangeError"]); e.extra = 1; return e; },
      () => keep(new (class Point { constructor() { this.x = 1; } get y() { return 2; } })()),
      () => { const o = keep(Object.create({ inherited: 1 })); o.own = value(depth + 1); Object.defineProperty(o, "hidden", { value: 1 }); o[Symbol("s")] = 1; return o; },
      () => { const v = leaf(); return keep({ get computed() { return v; } }); },
    ])();
  };
  return value(0);
};

export const programs = {
  async copies(m) {
    const value = graph(m, 0);
    let copy;
    const out = answerNow(() => copy = structuredClone(value));
    return [out, show(value), String(typeof value !== "object" || value === null || copy !== value)];
  },
  async refuses(m) {
    const value = graph(m, 6);
    return [answerNow(() => structuredClone(value))];
  },
  async platform() { return platform.map((f) => answerNow(() => structuredClone(f()))); },
  async proxies() { return [new Proxy({}, {}), new Proxy([1], {}), new Proxy({}, { ownKeys() { throw new TypeError("trap"); } })].map((p) => answerNow(() => structuredClone(p))); },
  async throwing(m) {
    const odd = m.pick([{ get x() { throw new RangeError("getter"); } }, { get x() { throw 5; } }, Object.create(null), Object.freeze([1]), new (class extends Array {})(3), new (class extends Map {})([[1, 2]]), Object.assign(() => 1, { a: 1 })]);
    return [answerNow(() => structuredClone(odd)), answerNow(() => structuredClone()), answerNow(() => structuredClone(1, m.pick([undefined, null, {}, 5, "x"])))];
  },
  async transfer(m) {
    const a = m.bytes(8).buffer, b = m.bytes(16).buffer, view = new Uint16Array(b, 2, 3), shared = { a, b, view, again: a, list: [view] };
    const list = m.pick([[], [a], [b], [a, b], [b, a], [a, a], [view], [5], [{}], [null], a, 5, "x", undefined, new Set([a]), [new ArrayBuffer(0)]]);
    const value = m.pick([shared, a, view, [a, b], { x: 1 }, new Map([[a, view]])]);
    const out = [answerNow(() => structuredClone(value, { transfer: list })), a.byteLength, b.byteLength, view.length];
    out.push(answerNow(() => structuredClone(a)), answerNow(() => structuredClone(view).length), answerNow(() => structuredClone(a, { transfer: [a] })));
    return out;
  },
  async transferFails(m) {
    const a = m.bytes(4).buffer, out = [];
    out.push(answerNow(() => structuredClone({ a, f() {} }, { transfer: [a] })), a.byteLength, answerNow(() => structuredClone({ a, get x() { throw new RangeError("x"); } }, { transfer: [a] })), a.byteLength);
    return out;
  },
};
export const run = runner(programs);
