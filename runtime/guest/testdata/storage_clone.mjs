// Stored values against Node's structuredClone, over generated values: what comes back is what a structured clone is, the
// encoding of what comes back is the same text, and damaged text gives an error and nothing worse.
import { inspect, isDeepStrictEqual } from "node:util";
import { Guest, check, equal, finish, memoryStorage } from "./harness.mjs";

const rounds = Number(process.env.TOOLSHED_CLONES) || 300;
const seed = Number(process.env.TOOLSHED_SEED) || Date.now() % 2 ** 31;
console.log("TOOLSHED_SEED=" + seed);

// generate is source text that both engines run: a value from a seed. describe tells everything about a value that a clone
// keeps, identity included.
const shared = `(seed) => {
  const random = (n) => { seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff; return (seed >>> 8) % n };
  const met = [], meet = (x) => { met.push(x); return x };
  const text = () => ["", "a", "__proto__", "constructor", "10", "2", "h\\u00e9\\ud83d\\ude00", "\\ud800", "x\\udc00y", "toJSON", "\\u0000\\u2028"][random(11)];
  const scalar = () => [undefined, null, true, false, 0, -0, NaN, Infinity, -Infinity, 1.5, 5e-324, 1e300, -7, 2n ** 70n, -1n, text(), text()][random(17)];
  const buffer = () => { const b = meet(new Uint8Array(16).buffer), v = new Uint8Array(b); for (let i = 0; i < 16; i++) v[i] = random(256); if (random(3) === 0) new DataView(b).setUint32(0, 0x7ff80000 | random(9)); return b };
  const view = (b) => { const C = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array][random(11)]; return meet(random(4) === 0 ? new DataView(b, random(8), random(8)) : new C(b, 8 * random(2), 1)) };
  class Sub { constructor() { this.own = scalar() } get hidden() { return 1 } }
  const value = (depth) => {
    if (depth > 4 || random(3) === 0) return met.length > 0 && random(4) === 0 ? met[random(met.length)] : scalar();
    const n = random(4);
    switch (random(15)) {
      case 0: case 1: { const o = meet({}); for (let i = 0; i < n; i++) Object.defineProperty(o, text(), { value: value(depth + 1), enumerable: true, writable: true, configurable: true }); return o }
      case 2: case 3: { const a = meet([]); for (let i = 0; i < n; i++) if (random(4) === 0) a.length += 1 + random(3); else a.push(value(depth + 1)); if (random(5) === 0) a["k" + text()] = value(depth + 1); return a }
      case 4: { const m = meet(new Map()); for (let i = 0; i < n; i++) m.set(value(depth + 1), value(depth + 1)); return m }
      case 5: { const s = meet(new Set()); for (let i = 0; i < n; i++) s.add(value(depth + 1)); return s }
      case 6: return meet(new Date(random(2) ? NaN : random(1e9)));
      case 7: { const r = meet(new RegExp(["a/b", "(x)", "[", ""][random(4)].replace("[", "\\\\["), ["", "g", "giu", "y"][random(4)])); r.lastIndex = random(5); return r }
      case 8: return buffer();
      case 9: return view(met.find((x) => x instanceof ArrayBuffer) ?? buffer());
      case 10: { const C = [Error, TypeError, RangeError, SyntaxError, URIError, EvalError, ReferenceError][random(7)]; const e = meet(new C(text())); if (random(2)) e.cause = value(depth + 1); if (random(3) === 0) e.name = "Mine"; e.extra = 1; e.stack = "stack"; if (random(2)) Object.defineProperty(e, "cause", { enumerable: false, value: e.cause }); return e }
      case 11: return meet(new Number(random(2) ? -0 : 3));
      case 12: return meet(new String(text()));
      case 13: return meet(random(2) ? new Boolean(false) : Object(5n));
      default: return meet(new Sub());
    }
  };
  return value(0);
}`;
const describing = `(value) => {
  const seen = [];
  const units = (s) => [...Array(s.length).keys()].map((i) => s.charCodeAt(i).toString(36)).join(".");
  const tell = (v) => {
    if (typeof v === "string") return "s" + units(v);
    if (typeof v === "bigint") return v + "n";
    if (typeof v !== "object" || v === null) return Object.is(v, -0) ? "-0" : String(v);
    if (seen.includes(v)) return "#" + seen.indexOf(v);
    seen.push(v);
    const kind = Object.prototype.toString.call(v), proto = Object.getPrototypeOf(v)?.constructor?.name;
    const out = [kind, proto];
    const error = v instanceof Error;
    if (v instanceof Map) for (const [k, x] of v) out.push(tell(k) + "=>" + tell(x));
    else if (v instanceof Set) for (const x of v) out.push(tell(x));
    else if (v instanceof Date) out.push(v.getTime());
    else if (v instanceof RegExp) out.push(units(v.source), v.flags, v.lastIndex);
    else if (v instanceof ArrayBuffer) out.push([...new Uint8Array(v)].join());
    else if (ArrayBuffer.isView(v)) out.push(tell(v.buffer), v.byteOffset, v.byteLength);
    else if (error) out.push(v.name, units(v.message), v.stack, Object.hasOwn(v, "cause") ? tell(v.cause) : "no cause");
    else if (v instanceof String) out.push(units(String.prototype.valueOf.call(v)));
    else if (/Number|Boolean|BigInt/.test(kind)) out.push(tell(v.valueOf()));
    if (Array.isArray(v)) out.push(v.length);
    if (!error && !ArrayBuffer.isView(v) && !(v instanceof String)) for (const k of Object.keys(v)) out.push(units(k) + ":" + tell(v[k]));
    return "(" + out.join(" ") + ")";
  };
  return tell(value);
}`;
const generate = (0, eval)(shared), describe = (0, eval)(describing);

const store = memoryStorage();
const guest = await Guest.open(`import { DurableObject, RpcTarget } from "cloudflare:workers";
const generate = ${shared}, describe = ${describing};
export class Gadget extends DurableObject {
  one(seed) {
    const kv = this.ctx.storage.kv, value = generate(seed);
    kv.put("first", value);
    const got = kv.get("first");
    kv.put("again", got);
    return [describe(value), describe(got), describe(structuredClone(value))];
  }
  path(which) {
    const f = () => 1, bad = { deep: { a: [1, { f }] }, map: new Map([["k", { x: Symbol("s") }]]), set: [new Set([f])], cause: new Error("e", { cause: { t: new RpcTarget() } }), root: f, weak: { w: new WeakMap() }, gen: [(function* () {})()] }[which];
    try { this.ctx.storage.kv.put("bad", bad); return "stored" } catch (e) { return e.name + ": " + e.message }
  }
  sparse() { const a = []; a[4294967294] = 1; this.ctx.storage.kv.put("sparse", a); const got = this.ctx.storage.kv.get("sparse"); return [got.length, got[4294967294], Object.keys(got).length] }
  read(key) { try { this.ctx.storage.kv.get(key); return "" } catch (e) { return e.name + ": " + e.message } }
  fine() { return 1 }
}`, { store });
equal("start", guest.bootError + guest.startError, "");
const { stub } = guest.connect();

// Node gives DataView of a shared buffer and the rest alike; only its class names of a plain instance differ, which a clone loses.
const texts = [];
let skipped = 0;
for (let n = 0; n < rounds; n++) {
  const s = (seed + n * 7919) % 2 ** 31;
  const [made, got, cloned] = await stub.one(s);
  const value = generate(s);
  equal(`seed ${s}: both engines make the same value`, made, describe(value));
  let want = got;
  try { want = describe(structuredClone(value)); } catch { skipped++; } // V8 fails at some errors that are their own cause
  if (got !== want) { equal(`seed ${s}: stored`, got, want); break; }
  equal(`seed ${s}: structuredClone`, cloned, want);
  equal(`seed ${s}: the same text again`, store.get("again"), store.get("first"));
  texts.push(store.get("first"));
}
check("Node clones nearly all", skipped < rounds / 20, String(skipped));

for (const [which, where] of Object.entries({ deep: "a function cannot be stored or cloned (it is at deep.a[1].f)", map: "k.x", set: "[0].", cause: "an RpcTarget cannot be stored or cloned (it is at cause.t)", root: "a function cannot be stored or cloned:", weak: "a WeakMap cannot be stored or cloned (it is at w)", gen: "a Generator" })) {
  const text = await stub.path(which);
  check(`path ${which}`, text.startsWith("DataCloneError: ") && (which === "map" ? /a symbol .*at an item of the Map\.x/.test(text) : which === "deep" ? /it is at a\[1\]\.f\)/.test(text) : text.includes(where)), text);
}
equal("a sparse array costs what is in it", JSON.stringify(await stub.sparse()), "[4294967295,1,1]");

// Damaged text.
const random = (n) => Math.floor(Math.random() * n);
let damaged = 0;
const crafted = ['1s["@",0]', '1s["@",-1]', '1s["@","length"]', '1s["h",5]', '1s["a",["h",-1]]', '1s["a",["h",1e300]]', '1s["a",["k",null]]', '1s["v","constructor",["b",""],0,1]', '1s["v","Uint8Array",["@",0],0,1]', '1s["v","Uint8Array",["b",""],0,1e9]',
  '1s["b",5]', '1s["b","???"]', '1s["i","x"]', '1s["i",{}]', '1s["r","(","g"]', '1s["r",1,2]', '1s["e","toString","m"]', '1s["e"]', '1s["w"]', '1s["p"]', '1s["p",{}]', '1s["g",["a"]]', '1s["g","__proto__"]', '1s["m",1]', '1s["zz"]', "1s[]", "1s[[]]", "1j", "1s", "", "2", "1x{}", "1j{", '1s["n"]', '1s["d",{}]', "1s" + "[".repeat(50_000), '1s' + '["a",'.repeat(20_000) + "1" + "]".repeat(20_000), "1j" + "[".repeat(100_000) + "]".repeat(100_000)];
const mangled = (text) => {
  const at = random(text.length), size = 1 + random(6);
  const other = texts[random(texts.length)], from = random(other.length);
  return [text.slice(0, at), text.slice(0, at) + text.slice(at + size), text.slice(0, at) + other.slice(from, from + size) + text.slice(at), text.slice(0, at) + '"@",' + random(99) + text.slice(at)][random(4)];
};
for (let n = 0; n < 3 * rounds + crafted.length; n++) {
  const text = n < crafted.length ? crafted[n] : mangled(texts[random(texts.length)]);
  store.set("x", text);
  const said = await stub.read("x");
  if (said !== "") damaged++;
  check("damaged text", said === "" || /^Error: a stored value is damaged/.test(said), `${text.slice(0, 200)}: ${said}`);
}
check("some of it was found to be damaged", damaged > crafted.length / 2, String(damaged));
equal("the gadget lives", String(await stub.fine()) + guest.failure, "1");
finish();
