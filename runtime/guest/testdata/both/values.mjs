// Headers, Blob, File, Request and Response as values, and the shape of random numbers.
import { answer, answerNow, runner, show } from "./seeded.mjs";
const words = ["a", "é😀", "\ud800", "", "line\r\n", "{\"a\":1}", "[1,2]", "null", "\ufeff1", "x=1&y=2"];
const part = (m) => m.pick([() => m.pick(words), () => m.bytes(m.random(6)), () => m.bytes(m.random(6)).buffer, () => new DataView(m.bytes(4).buffer, 1, 2), () => new Blob([m.pick(words)], { type: "a/b" }), () => m.random(10), () => null, () => new Uint16Array([1, 2])])();
const streamed = (m) => { const list = m.many(m.random(4), () => m.bytes(m.random(4))); return new ReadableStream({ start(c) { for (const p of list) c.enqueue(p); c.close(); } }); };
const body = (m) => m.pick([() => undefined, () => null, () => m.pick(words), () => m.bytes(5), () => m.bytes(4).buffer, () => new Blob([m.pick(words)], { type: m.pick(["", "Text/X"]) }), () => new URLSearchParams([["a", "b c"]]), () => streamed(m), () => 5])();
const headers = (m) => m.pick([() => undefined, () => ({ "X-A": "1", b: " 2 " }), () => [["q", "1"], ["Q", "2"], ["Set-Cookie", "a"], ["set-cookie", "b"]], () => new Headers({ "Content-Type": "text/y" }), () => ({ "content-type": "" }), () => ({ "a b": "1" }), () => [["x"]], () => null])();
const told = (x) => [x.status, x.statusText, x.ok, x.type, x.url, x.method, x.bodyUsed, x.body === null, [...x.headers]];
// use reads, clones and looks at a message, and tells what each step gave.
const use = async (m, x, out) => {
  let all = [x];
  for (let n = 1 + m.random(4); n > 0; n--) {
    const r = m.pick(all), step = m.pick(["text", "json", "arrayBuffer", "blob", "clone", "used", "getReader", "told"]);
    if (step === "clone") out.push(answerNow(() => { all.push(r.clone()); return "cloned"; }));
    else if (step === "used") out.push(answerNow(() => [r.bodyUsed, r.body?.locked]));
    else if (step === "getReader") { if (m.odds(3)) out.push(answerNow(() => { r.body?.getReader(); return "locked"; })); }
    else if (step === "told") out.push(answerNow(() => told(r)));
    else out.push(await answer(async () => { const v = await r[step](); return v instanceof Blob ? ["blob", v.size, v.type, await v.text()] : v; }));
  }
};

export const programs = {
  async headers(m) {
    const out = [];
    let h = new Headers();
    out.push(answerNow(() => { h = new Headers(headers(m)); return [...h]; }));
    for (let n = m.random(8); n > 0; n--) {
      const name = m.pick(["a", "A", "content-type", "Set-Cookie", "x-y", "!#$", "", "a b", "\u00e9", "b"]), value = m.pick(["1", " 2\t", "", "\xff", "a,b", "x\ny", "\u0100", "\r\n3\r\n", null, undefined, 5]);
      out.push(answerNow(m.pick([() => h.append(name, value), () => h.set(name, value), () => h.delete(name), () => h.get(name), () => h.has(name), () => h.getSetCookie(), () => [...h.keys()], () => { const seen = []; h.forEach((v, k) => seen.push(k, v)); return seen; }])));
    }
    return [...out, show([...h])];
  },
  async blob(m) {
    let b;
    const out = [answerNow(() => { b = new Blob(m.many(m.random(4), () => part(m)), m.pick([undefined, {}, { type: "Text/Plain" }, { type: "\u00e9" }, { type: "a\n" }, { endings: "transparent" }, null])); return [b.size, b.type]; })];
    // node 20 aborts where an index is not a whole number
    const at = () => m.pick([undefined, 0, 2, -3, 5, 100, -100]), c = b.slice(at(), at(), m.pick([undefined, "X/Y", "\u00e9", ""]));
    out.push(await answer(() => b.text()), await answer(() => b.arrayBuffer()), show([c.size, c.type]), await answer(() => c.text()), await answer(async () => { const all = []; for await (const x of c.stream()) all.push(...x); return all; }), await answer(() => new Response(c).arrayBuffer()));
    return out;
  },
  async file(m) {
    let f;
    return [answerNow(() => { f = new File(m.many(m.random(3), () => part(m)), m.pick(["name", "a/b", "", 5, "\ud800", null]), m.pick([undefined, { type: "A/B", lastModified: 5 }, { lastModified: -2 }, { lastModified: new Date(7) }])); return [f.name, f.size, f.type, f instanceof Blob, Object.prototype.toString.call(f)]; }),
      answerNow(() => (f.lastModified < 1000 ? f.lastModified : "now")), await answer(() => f.text()), answerNow(() => f.slice(0, 2) instanceof File), answerNow(() => new File([])), answerNow(() => new File()), answerNow(() => new File("x", "n"))];
  },
  async response(m) {
    const out = [];
    let r;
    out.push(answerNow(() => { r = new Response(body(m), m.pick([undefined, {}, null, { status: m.pick([200, 201, 204, 404, 199, 600, "300"]), statusText: m.pick(["", "OK", "a\n", undefined]), headers: headers(m) }])); return told(r); }));
    if (r !== undefined) await use(m, r, out);
    return out;
  },
  async request(m) {
    const out = [], method = m.pick([undefined, "get", "POST", "PUT", "patch", "Foo", "HEAD", "a b", "TRACE"]), noBody = method === undefined || /^(get|head)$/i.test(method);
    let r;
    out.push(answerNow(() => { r = new Request(m.pick(["http://x/a?b#c", "http://h", "x", "http://u:p@x", new URL("http://y/é")]), { method, headers: headers(m), body: noBody ? undefined : body(m), duplex: "half", redirect: m.pick([undefined, "error", "manual", "x"]), cache: m.pick([undefined, "no-store"]) }); return [...told(r), r.redirect, r.cache, r.signal.aborted]; }));
    if (r === undefined) return out;
    if (m.odds(2)) out.push(answerNow(() => { const old = r; r = new Request(r, m.pick([undefined, { method: "POST" }, { headers: { z: "1" } }])); return [told(r), old.bodyUsed]; }));
    await use(m, r, out);
    return out;
  },
  async statics(m) {
    return [await answer(async () => { const r = Response.json(m.pick([{ a: 1 }, null, "x", undefined, 5n, [1]]), m.pick([undefined, { status: 201 }, { status: 204 }, { headers: { "content-type": "x/y" } }])); return [told(r), await r.text()]; }), answerNow(() => told(Response.error())), answerNow(() => Response.error().headers.append("a", "b")),
      answerNow(() => { const r = Response.redirect(m.pick(["http://x/é", "http://y", "z"]), m.pick([undefined, 301, 302, 307, 308, 200, 0])); return [r.status, r.headers.get("location"), r.type]; }), answerNow(() => [new Response().body, new Response("").body === null])];
  },
  async random(m) {
    const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, View = m.pick([Uint8Array, Int16Array, Uint32Array, BigUint64Array, Uint8ClampedArray, Float32Array, Float64Array, DataView]);
    const view = new View(new ArrayBuffer(64), 8, m.pick([0, 1, 4]));
    return [String(uuid.test(crypto.randomUUID())), answerNow(() => crypto.getRandomValues(view) === view), String(new Uint8Array(view.buffer, 0, 8).every((b) => b === 0)), answerNow(() => crypto.getRandomValues(m.pick([null, 5, [], new ArrayBuffer(4), undefined]))), answerNow(() => crypto.getRandomValues(new Uint8Array(m.pick([65536, 65537]))).length), String(new Set(m.many(50, () => crypto.randomUUID())).size)];
  },
};
export const run = runner(programs);
