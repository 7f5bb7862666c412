// The globals that the prelude supplies.
import { Guest, check, equal, finish, idle } from "./harness.mjs";

const source = `import { DurableObject } from "cloudflare:workers";
const all = [..."aé€😀\\u0000\\ud800\\udc00"]; const hex = (b) => [...b].map(x => x.toString(16).padStart(2, "0")).join("");
export class Gadget extends DurableObject {
  encode(s) { return hex(new TextEncoder().encode(s)) } into() { const b = new Uint8Array(4); const r = new TextEncoder().encodeInto("aé€", b); return [r.read, r.written, hex(b)] }
  decode(bytes, o) { return new TextDecoder("utf-8", o).decode(bytes) } lone() { return hex(new TextEncoder().encode("\\ud800x\\udc00")) }
  stream(bytes) { const d = new TextDecoder(); let s = ""; for (const b of bytes) s += d.decode(new Uint8Array([b]), { stream: true }); return s + d.decode() }
  label() { try { new TextDecoder("shift_jis") } catch (e) { return e.name } }
  random() { const a = crypto.getRandomValues(new Uint8Array(16)), b = crypto.getRandomValues(new Uint32Array(4)), u = crypto.randomUUID(); return [hex(a) !== "0".repeat(32), b.some(x => x > 65535), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(u), u !== crypto.randomUUID()] }
  randomErrors() { return [() => crypto.getRandomValues(new Float32Array(1)), () => crypto.getRandomValues(new Uint8Array(65537)), () => crypto.getRandomValues([])].map(f => { try { f(); return "ok" } catch (e) { return e.name } }) }
  base64() { return [btoa("héllo".slice(0, 3)), atob("aGk=")] }
  async network() { const out = []; for (const f of [() => fetch("https://example.com"), () => new WebSocket("wss://example.com"), () => connect("x:1")]) { try { await f(); out.push("worked") } catch (e) { out.push(/binding/.test(e.message)) } } return out }
  async microtask() { const order = []; queueMicrotask(() => order.push(2)); order.push(1); await null; return order }
  clone() { const a = { m: new Map([[1, { d: new Date(5) }]]) }; const b = structuredClone(a); return [b.m.get(1).d.getTime(), b.m !== a.m] }
  cloneFn() { try { structuredClone({ f() {} }) } catch (e) { return [e.name, e.code, e instanceof Error, e instanceof DOMException] } }
  absent() { return ["__host", "std", "os", "process", "require", "Deno", "scriptArgs", "print", "bjson"].filter(n => n in globalThis) }
  names() { return ["console", "setTimeout", "setInterval", "clearTimeout", "clearInterval", "queueMicrotask", "structuredClone", "TextEncoder", "TextDecoder", "atob", "btoa", "crypto", "performance", "fetch", "WebSocket", "connect", "URL", "URLSearchParams", "Event", "EventTarget", "CustomEvent", "AbortController", "AbortSignal", "Headers", "Blob", "Request", "Response", "ReadableStream", "WritableStream", "TransformStream", "CountQueuingStrategy", "ByteLengthQueuingStrategy"].filter(n => typeof globalThis[n] === "undefined") }
  log() {
    console.log("plain", 1, true, null, undefined, -0, 10n, Symbol("s"));
    console.info({ a: 1, "b-c": [1, "x", { d: { e: { f: { g: 1 } } } }] }, [], {}, [, 1]);
    console.warn(new Map([["k", { v: 1 }]]), new Set([1]), new Date(0), /x/g, new Uint8Array([1, 2]), new ArrayBuffer(3));
    console.error(new TypeError("bad"), Object.assign(new Error("x"), { code: 5 }));
    console.debug("%s is %d and %o %% %c.", "it", 5, { a: 1 }, "css", "rest");
    const c = { name: "c" }; c.self = c; class Point { x = 1 } console.log(c, new Point(), Object.create(null), () => 1, function named() {}, class K {}, this.env.GADGET, [this.env.GADGET.foo]);
    console.log({ get x() { throw new Error("no") } }, new Proxy({}, { ownKeys() { throw new Error("trap") } }), { toString() { throw 1 } }); console.log(new Array(200).fill(7)); console.log("x".repeat(100000).length, "y".repeat(100000));
    console.group("g"); console.log("in"); console.groupEnd(); console.log("out"); console.assert(1 === 1, "no"); console.assert(false, "yes"); console.count(); console.count(); console.table([{ a: 1 }]); console.trace("t"); console.time("q"); console.timeEnd("q");
    console.log({ long: "z".repeat(60), other: "z".repeat(60) }); console.log([[1, 2], [3, [4, [5, [6]]]]]); console.log();
  }
  timers = []; timer(ms) { setTimeout((a, b) => this.timers.push(a + b), ms, "a", ms) } seen() { return this.timers }
  order() { setTimeout(() => this.timers.push("late"), 20); setTimeout(() => this.timers.push("early"), 1); const c = setTimeout(() => this.timers.push("never"), 1); clearTimeout(c); setTimeout(() => { throw new Error("in timer") }, 1) }
  every() { let n = 0; this.iv = setInterval(() => { this.timers.push("i" + ++n); if (n === 2) clearInterval(this.iv) }, 5) }
  async sleep(ms) { await new Promise(r => setTimeout(r, ms)); return "slept" } badTimer() { try { setTimeout("code") } catch (e) { return e.name } }
}`;
const guest = await Guest.open(source);
equal("start", guest.bootError + guest.startError, "");
const { stub: s } = guest.connect();
const json = async (name, p, want) => equal(name, JSON.stringify(await p), JSON.stringify(want));

for (const text of ["", "a", "aé€😀\u0000", "\u07ff\u0800\uffff\u{10000}\u{10ffff}", "x".repeat(9000) + "é"]) {
  await json("encode", s.encode(text), Buffer.from(text).toString("hex"));
  await json("decode", s.decode(new Uint8Array(Buffer.from(text))), text);
  await json("decode in pieces", s.stream(new Uint8Array(Buffer.from(text))), text);
}
await json("lone surrogates", s.lone(), "efbfbd78efbfbd");
await json("encodeInto", s.into(), [2, 3, "61c3a900"]);
const node = new TextDecoder();
for (const bytes of [[0x80], [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x90], [0xf4, 0x90, 0x80, 0x80], [0xff, 0x41], [0xe2, 0x82, 0x41], [0xef, 0xbb, 0xbf, 0x41], [0x41, 0xef, 0xbb, 0xbf], [0xf0, 0x9f, 0x98, 0x80, 0xf0]]) {
  const b = new Uint8Array(bytes);
  await json("decode " + bytes, s.decode(b), node.decode(b));
  await json("pieces " + bytes, s.stream(b), node.decode(b));
  let fatal = "ok";
  try { new TextDecoder("utf-8", { fatal: true }).decode(b); } catch (e) { fatal = e.name; }
  await json("fatal " + bytes, s.decode(b, { fatal: true }).then(() => "ok", (e) => e.name), fatal);
}
await json("label", s.label(), "RangeError");
await json("random", s.random(), [true, true, true, true]);
await json("random errors", s.randomErrors(), ["TypeMismatchError", "QuotaExceededError", "TypeError"]);
await json("base64", s.base64(), ["aOls", "hi"]);
await json("network", s.network(), [true, true, true]);
await json("microtask", s.microtask(), [1, 2]);
await json("structuredClone", s.clone(), [5, true]);
await json("DataCloneError", s.cloneFn(), ["DataCloneError", 25, true, true]);
await json("absent", s.absent(), []);
await json("present", s.names(), []);

guest.logs.length = 0;
await s.log();
const log = (n) => guest.logs[n];
equal("primitives", log(0), "log plain 1 true null undefined -0 10n Symbol(s)");
equal("objects", log(1), 'info {\n  a: 1,\n  "b-c": [1, "x", { d: { e: [Object] } }]\n} [] {} [<empty>, 1]'.replace("{\n  a: 1,\n  ", "{ a: 1, ").replace("]\n}", "] }"));
equal("containers", log(2), 'warn Map(1) { "k" => { v: 1 } } Set(1) { 1 } 1970-01-01T00:00:00.000Z /x/g Uint8Array(2) [1, 2] ArrayBuffer(3)');
check("errors", /^error TypeError: bad\n +at log \(server.js:\d+/.test(log(3)) && /Error: x\n[^]*\{ code: 5 \}$/.test(log(3)), log(3));
equal("format", log(4), 'debug it is 5 and { a: 1 } % . rest');
equal("odd things", log(5), 'log { name: "c", self: [Circular] } Point { x: 1 } [no prototype] {} [Function (anonymous)] [Function named] [class K] [RpcPromise] [[RpcPromise]]'.replace("[RpcPromise] [[", "[RpcStub] [["));
check("throwing things", /^log \{ x: \[Getter\] \} \[an object that throws/.test(log(6)), log(6));
check("long lists", /… 100 more/.test(log(7)) && log(8).length < 40000, log(7));
equal("group", log(9) + "|" + log(10) + "|" + log(11), "log g|log   in|log out");
equal("assert and count", log(12) + "|" + log(13) + "|" + log(14), "error Assertion failed: yes|info default: 1|info default: 2");
equal("lines", log(18), `log {\n  long: "${"z".repeat(60)}",\n  other: "${"z".repeat(60)}"\n}`);
equal("depth", log(19), "log [[1, 2], [3, [4, [5, [Array(1)]]]]]");
equal("nothing", log(20), "log ");

// Timers: the child wakes the guest when it asked for it. until waits for what must come, however slow the machine is.
const until = async (done) => {
  for (const end = Date.now() + 20000; Date.now() < end && !await done();) {
    await idle(1);
    if (guest.wakeAt >= 0 && Date.now() >= guest.wakeAt) { guest.wakeAt = -1; guest.wake(); }
  }
};
const seen = async (want) => { await until(async () => (await s.seen()).length >= want.length); await json("seen", s.seen(), want); };
equal("no wake asked", guest.wakeAt, -1);
const from = Date.now();
await s.timer(5);
check("a wake asked", guest.wakeAt >= from + 5 && guest.wakeAt <= Date.now() + 5, guest.wakeAt);
await seen(["a5"]);
equal("no wake left", guest.wakeAt, -1);
await s.order();
await seen(["a5", "early", "late"]);
check("a failing timer", guest.logs.some((l) => /^error a timer failed: Error: in timer/.test(l)));
await s.every();
await seen(["a5", "early", "late", "i1", "i2"]);
await until(() => guest.wakeAt < 0);
equal("interval cleared", guest.wakeAt, -1);
const slept = s.sleep(5);
let awake = false;
slept.then(() => { awake = true; });
await until(() => awake);
await json("sleep", slept, "slept");
await json("bad timer", s.badTimer(), "TypeError");
finish();
