// Stored values come back as they were; the same value is always the same text; ctx.storage does what it says.
import { Guest, check, equal, finish, memoryStorage } from "./harness.mjs";

const source = `import { DurableObject, RpcTarget, RpcStub } from "cloudflare:workers";
const show = (v, seen = []) => { // a structural description that knows identity
  if (typeof v === "function") return "fn";
  if (typeof v !== "object" || v === null) return typeof v + ":" + (Object.is(v, -0) ? "-0" : typeof v === "symbol" ? "s" : String(v));
  if (seen.includes(v)) return "#" + seen.indexOf(v);
  seen.push(v);
  const kids = Array.isArray(v) ? Array.from({ length: v.length }, (_, i) => i in v ? show(v[i], seen) : "hole") : Object.keys(v).map(k => k + "=" + show(v[k], seen));
  const more = v instanceof Map ? [...v].map(([k, x]) => show(k, seen) + "=>" + show(x, seen)) : v instanceof Set ? [...v].map(x => show(x, seen)) : v instanceof Date ? [String(v.getTime())]
    : v instanceof RegExp ? [String(v)] : v instanceof Error ? [v.name, v.message, typeof v.stack, show(v.cause, seen)] : v instanceof ArrayBuffer ? [[...new Uint8Array(v)].join()]
    : ArrayBuffer.isView(v) ? [show(v.buffer, seen), v.byteOffset, v.byteLength] : v instanceof Number || v instanceof String || v instanceof Boolean ? [String(v.valueOf())] : [];
  return Object.prototype.toString.call(v) + "(" + [...kids, ...more].join(";") + ")";
};
const buffer = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]).buffer, shared = { s: 1 }, cycle = { list: [] }; cycle.me = cycle; cycle.list.push(cycle, cycle.list);
const keyed = new Map([[{ k: 1 }, new Set([1, "1", NaN])], ["x", new Map()]]); keyed.set("self", keyed);
class Point { constructor() { this.x = 1 } get y() { return 2 } }
const symbolKeyed = { a: 1, [Symbol("s")]: 2 }, sparse = [, 1, , , 2, ,]; const odd = [1, 2]; odd.extra = 1;
const values = {
  string: "hé😀\\u0000\\u2028", lone: "\\ud800x", empty: "", number: 1.5, big: 1e300, small: 5e-324, negative: -7, zero: 0, minusZero: -0, nan: NaN, inf: Infinity, minf: -Infinity,
  yes: true, no: false, nul: null, undef: undefined, bigint: 12345678901234567890n, negBig: -1n, date: new Date(1e12), badDate: new Date(NaN), regexp: /a\\/b"c/giu,
  plain: { a: 1, b: [1, 2, { c: "x" }], d: { e: null } }, order: { z: 1, a: 2, 10: 3, 2: 4 }, array: [], nested: [[[]]], object: {}, undefInside: { a: undefined, b: [undefined] },
  zeroInside: [0, -0, NaN], sparse, holes: new Array(3), dates: [new Date(0), { d: new Date(5) }], map: new Map([["a", 1], [2, { b: 3 }]]), set: new Set([1, [2]]), keyed,
  error: new RangeError("bad"), cause: new Error("outer", { cause: new TypeError("inner") }), bytes: new Uint8Array([0, 255]), buffer, empty8: new Uint8Array(0), floats: new Float64Array([1.5, NaN, -0]),
  bigs: new BigInt64Array([-1n]), clamped: new Uint8ClampedArray([1]), view: new DataView(buffer, 2, 3), views: [new Uint8Array(buffer, 1, 2), new Uint16Array(buffer, 2, 2), buffer],
  shared: [shared, shared, { again: shared }], cycle, selfArray: (() => { const a = []; a.push(a); return a })(), point: new Point(), symbolKeyed, odd, boxed: [new Number(1), new String("s"), new Boolean(false)],
  tags: { a: ["u"], b: ["@", 0], c: ["a"] }, proto: JSON.parse('{"__proto__":{"x":1},"b":new_}'.replace("new_", "2")), toJSONvalue: { toJSON: 1 }, dateKey: { "": 1 },
  mix: { when: new Date(3), list: [1, undefined, { deep: new Map([[new Date(4), [/x/]]]) }], __proto__: null },
};
const bad = { fn: () => 1, inside: { a: [() => 1] }, symbol: Symbol("x"), symbolInside: [Symbol("x")], target: new RpcTarget(), stub: new RpcStub(() => 1), stubInside: { s: new RpcStub(() => 1) }, promise: Promise.resolve(1), toJSON: { toJSON() { return 1 } } };
export class Gadget extends DurableObject {
  async save() { for (const k in values) await this.ctx.storage.put(k, values[k]) }
  async compare() { const out = []; for (const k in values) { const got = show(await this.ctx.storage.get(k)), want = show(values[k]); if (got !== want) out.push(k + ": " + got + " not " + want) } return out }
  async clones() { const out = []; for (const k in values) { const got = show(structuredClone(values[k])), want = show(values[k]); if (got !== want) out.push(k + ": " + got + " not " + want) } return out }
  async refuses() { const out = []; for (const k in bad) { try { await this.ctx.storage.put("bad", bad[k]); out.push(k + " was stored") } catch (e) { if (e.name !== "DataCloneError") out.push(k + " " + e.name + " " + e.message) } } return [out, await this.ctx.storage.get("bad")] }
  async ops() { const s = this.ctx.storage, out = [], add = (x) => out.push(x instanceof Map ? [...x] : x); await s.deleteAll();
    await s.put("a", 1); await s.put({ b: 2, c: 3, d: { e: 4 } }); add(await s.get("a")); add(await s.get("none")); add(await s.get(["a", "none", "c"])); add(await s.list()); add(await s.list({ start: "b", end: "d" }));
    add(await s.list({ startAfter: "a", limit: 2 })); add(await s.list({ reverse: true, limit: 1 })); add(await s.list({ prefix: "d" })); add(await s.delete("a")); add(await s.delete("a")); add(await s.delete(["b", "c", "zz"]));
    add(await s.list()); await s.sync(); await s.deleteAll(); add((await s.list()).size); return out }
  kv() { const kv = this.ctx.storage.kv, out = []; kv.put("k1", { a: new Date(1) }); kv.put("k2", 2); out.push(kv.get("k1").a.getTime(), kv.get("no"), [...kv.list({ prefix: "k" })].map(([k]) => k), kv.delete("k1"), kv.delete("k1")); for (const [k, v] of kv.list()) out.push(k); return out }
  async errors() { const s = this.ctx.storage, out = []; const tries = { key: () => s.put(5, 1), empty: () => s.get(""), long: () => s.put("k".repeat(2049), 1), wide: () => s.put("é".repeat(1025), 1), limit: () => s.list({ limit: 0 }), batch: () => s.put({ good: 1, bad: () => 1 }), missing: () => s.get(undefined),
      sql: () => s.sql.exec("x"), transaction: () => s.transaction(5), transactionSync: () => s.transactionSync(5), alarm: () => s.setAlarm(Date.now()), restore: () => this.ctx.restore({}) };
    for (const k in tries) { try { await tries[k](); out.push(k + " worked") } catch (e) { out.push(k + ": " + e.name + ": " + e.message) } } return [out, await s.get("good"), await s.get("k".repeat(2048))] }
  async mutate() { const v = { a: [1] }; await this.ctx.storage.put("m", v); v.a.push(2); const got = await this.ctx.storage.get("m"); got.a.push(3); return this.ctx.storage.get("m") }
  async deep(n) { let v = 1; for (let i = 0; i < n; i++) v = [v]; await this.ctx.storage.put("deep", v); let d = 0; for (let x = await this.ctx.storage.get("deep"); Array.isArray(x); x = x[0]) d++; return d }
  async large() { const rows = []; for (let i = 0; i < 100000; i++) rows.push({ id: i, name: "row " + i, done: i % 2 === 0 }); const t = Date.now(); await this.ctx.storage.put("large", rows); const w = Date.now(); const got = await this.ctx.storage.get("large"); return [got.length, got[99999].name, w - t, Date.now() - w] }
}`;

const store = memoryStorage();
const open = async () => {
  const guest = await Guest.open(source, { store });
  equal("start", guest.bootError + guest.startError, "");
  const { stub } = guest.connect();
  // sync goes on in the turn after the next wake-up.
  setInterval(() => {
    if (guest.wakeAt < 0 || Date.now() < guest.wakeAt) return;
    guest.wakeAt = -1;
    guest.wake();
  }, 1);
  return { guest, stub };
};
const first = await open();
await first.stub.save();
const texts = JSON.stringify([...store]);
equal("round trip", (await first.stub.compare()).join("\n"), "");
equal("structuredClone", (await first.stub.clones()).join("\n"), "");

const second = await open(); // a restart
equal("round trip after a restart", (await second.stub.compare()).join("\n"), "");
store.clear();
await second.stub.save();
equal("the same value is the same text", JSON.stringify([...store]).replace(/<anonymous>[^"]*/g, ""), texts.replace(/<anonymous>[^"]*/g, ""));
for (const [key, text] of store) if (!/^1[js]/.test(text)) check("version", false, `${key}: ${text}`);
equal("plain data is JSON", store.get("plain"), '1j{"a":1,"b":[1,2,{"c":"x"}],"d":{"e":null}}');
equal("golden", store.get("views"), '1s["a",["v","Uint8Array",["b","AQIDBAUGBwg="],1,2],["v","Uint16Array",["@",2],2,2],["@",2]]');
equal("golden map", store.get("map"), '1s["m","a",1,2,{"b":3}]');
equal("golden sparse", store.get("sparse"), '1s["a",["h",1],1,["h",2],2,["h",1]]');

const { stub } = second;
equal("unclonable values", JSON.stringify(await stub.refuses()), '[[],null]');
equal("operations", JSON.stringify(await stub.ops()), JSON.stringify([1, undefined, [["a", 1], ["c", 3]], [["a", 1], ["b", 2], ["c", 3], ["d", { e: 4 }]], [["b", 2], ["c", 3]], [["b", 2], ["c", 3]],
  [["d", { e: 4 }]], [["d", { e: 4 }]], true, false, 2, [["d", { e: 4 }]], 0]));
equal("kv", JSON.stringify(await stub.kv()), '[1,null,["k1","k2"],true,false,"k2"]');
const [errors, good, long] = await stub.errors();
equal("errors", errors.map((e) => e.split(":")[0] + ":" + e.split(":")[1]).join(), "key: TypeError,empty: TypeError,long: RangeError,wide: RangeError,limit: TypeError,batch: DataCloneError,missing: TypeError,sql: Error,transaction: TypeError,transactionSync: TypeError,alarm: TypeError,restore: TypeError");
check("a failed batch stores nothing", good === undefined && long === undefined);
check("what is missing says so", errors.filter((e) => /later version of Toolshed; /.test(e)).length === 1, errors.join("\n"));
equal("values are copies", JSON.stringify(await stub.mutate()), '{"a":[1]}');
equal("deep", await stub.deep(1000), 1000);
try { await stub.deep(50000); check("too deep", false, "was stored"); } catch (e) { check("too deep", /^a stored value may be nested 1000/.test(e.message), e.name + e.message); }
store.set("damaged", "1sx"); store.set("later", "2{}");
const [length, name, put, get] = await stub.large();
check("large", length === 100000 && name === "row 99999");
console.log(`100,000 rows (${store.get("large").length} bytes): put ${put} ms, get ${get} ms`);
equal("the connection lives", second.guest.failure, "");
finish();
