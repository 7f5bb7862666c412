// Headers, Blob, Request and Response as values: the same programs here and in node, and random ones.
import { Guest, check, equal, finish, within } from "./harness.mjs";

const log = `const out = [], say = (...a) => { out.push(a) }, bytes = async (x) => [...new Uint8Array(await x.arrayBuffer())], fails = async (f) => { try { await f(); return "ok" } catch (e) { return e.name } };
const streamed = (...parts) => new ReadableStream({ start(c) { for (const p of parts) c.enqueue(new TextEncoder().encode(p)); c.close() } });`;
const programs = {
  headers: () => { const h = new Headers({ "Content-Type": "text/plain", "X-A": " 1 " }); h.append("x-a", "2"); h.append("Set-Cookie", "a=1"); h.append("set-cookie", "b=2"); h.set("B", "x"); h.delete("nope"); return [[...h], h.get("X-a"), h.has("b"), h.getSetCookie(), h.get("zz"), [...h.keys()], [...h.values()], Object.prototype.toString.call(h)] },
  headersFrom: () => [[...new Headers([["b", "1"], ["a", "2"], ["B", "3"]])], [...new Headers(new Headers({ q: "r" }))], [...new Headers(new Map([["m", "n"]]))], [...new Headers()]],
  headersErrors: () => [() => new Headers([["a"]]), () => new Headers({ "a b": "1" }), () => new Headers({ a: "1\n2" }), () => new Headers({ a: "\u0100" }), () => new Headers({ "": "x" }), () => new Headers(1), () => new Headers(null), () => new Headers().append("a"), () => new Headers().get(), () => new Headers().get("\n"), () => new Headers().forEach(1), () => new Headers([1]), () => new Headers({ a: "\0" })].map((f) => { try { f(); return "ok" } catch (e) { return e.name } }),
  headersEach: () => { const h = new Headers({ b: "1", a: "2" }), seen = []; h.forEach(function (v, k, o) { seen.push(v, k, o === h, this.t) }, { t: 1 }); const live = []; for (const [k] of h) { live.push(k); if (k === "a") h.append("c", "3") } return [seen, live] },
  headersLatin: () => [new Headers({ a: "\xe9\xff" }).get("a"), new Headers({ a: "\t x \r\n" }).get("a")],
  blob: async () => { const b = new Blob(["a\u00e9", new Uint8Array([1, 2]), new Uint16Array([3]).buffer, new Blob(["z"]), 5, null], { type: "Text/Plain" }); return [b.size, b.type, await b.text(), await bytes(b), Object.prototype.toString.call(b)] },
  blobSlice: async () => { const b = new Blob(["0123456789"]); const all = []; for (const [s, e] of [[], [2], [2, 5], [-3], [-3, -1], [5, 2], [0, 100], [100], [-100, 3], [0, Infinity]]) all.push(await b.slice(s, e, "X/Y").text()); return [all, b.slice(0, 1, "X/Y").type, b.slice().type] },
  blobStream: async () => { const b = new Blob(["x".repeat(200000)]); let n = 0; for await (const c of b.stream()) n += c.length; return [n, await new Response(b.stream()).text() === "x".repeat(200000)] },
  blobErrors: () => [() => new Blob("x"), () => new Blob(1), () => new Blob([], 1), () => new Blob([], { endings: "x" }), () => new Blob([Symbol()]), () => Blob(), () => new Blob([], null)].map((f) => { try { f(); return "ok" } catch (e) { return e.name } }),
  blobEndings: async () => [await new Blob(["a\r\nb\n"], { endings: "native" }).text(), await new Blob(["a\r\nb"]).text(), new Blob([], { type: "\u00e9" }).type],
  response: async () => { const r = new Response("h\u00e9", { status: 201, statusText: "Made", headers: { "X-B": "1" } }); return [r.status, r.statusText, r.ok, r.type, r.url, r.redirected, [...r.headers], r.bodyUsed, await r.text(), r.bodyUsed, await fails(() => r.text()), Object.prototype.toString.call(r)] },
  responseKinds: async () => { const all = []; for (const body of [undefined, null, "", "x", new Uint8Array([1, 2]), new Uint8Array([1, 2, 3, 4]).subarray(1, 3), new ArrayBuffer(2), new Blob(["b"], { type: "a/b" }), new Blob(["b"]), new URLSearchParams({ a: "b c" }), streamed("s", "t"), 5, {}]) { const r = new Response(body); all.push([r.headers.get("content-type"), r.body === null, await bytes(r)]) } return all },
  json: async () => [await new Response('{"a":[1,2]}').json(), await fails(() => new Response("{").json()), await fails(() => new Response().json()), await Response.json({ a: 1 }).text(), Response.json({}).headers.get("content-type"), Response.json({}, { status: 404, headers: { "content-type": "x/y" } }).headers.get("content-type"), await fails(() => Response.json(undefined)), await new Response("\ufeff1").json()],
  reads: async () => { const r = () => new Response("abc", { headers: { "content-type": "Text/X" } }); return [await bytes(await r().blob()), (await r().blob()).type, (await r().arrayBuffer()).byteLength] },
  statics: async () => [Response.error().type, Response.error().status, Response.redirect("http://x/\u00e9", 301).headers.get("location"), Response.redirect("http://x").status, await fails(() => Response.redirect("x")), await fails(() => Response.redirect("http://x", 200)), await fails(() => Response.error().headers.set("a", "b"))],
  responseErrors: async () => [await fails(() => new Response("", { status: 199 })), await fails(() => new Response("", { status: 600 })), await fails(() => new Response("x", { status: 204 })), await fails(() => new Response(null, { status: 204 })), await fails(() => new Response("", { statusText: "\n" })), await fails(() => new Response("", 1)), await fails(() => new Response(Symbol()))],
  clone: async () => { const r = new Response("abc", { status: 203, headers: { a: "b" } }), c = r.clone(); c.headers.set("a", "c"); const s = new Response(streamed("x", "y")), t = s.clone(); return [await r.text(), await c.text(), c.status, r.headers.get("a"), c.headers.get("a"), await s.text(), await t.text(), await fails(() => s.clone())] },
  stream: async () => { const r = new Response("abc"), body = r.body; const first = [body === r.body, body instanceof ReadableStream, r.bodyUsed]; const reader = body.getReader(); const c = await reader.read(); return [first, [...c.value], r.bodyUsed, await fails(() => r.text()), await fails(() => new Response(body))] },
  locked: async () => { const r = new Response("abc"); r.body.getReader(); return [r.bodyUsed, await fails(() => r.text()), await fails(() => r.clone())] },
  badStream: async () => [await fails(() => new Response(new ReadableStream({ start(c) { c.enqueue("text"); c.close() } })).text()), await fails(() => new Response(new ReadableStream({ start(c) { c.error(new RangeError("x")) } })).text())],
  request: async () => { const r = new Request("http://x/a?b#c", { method: "post", headers: { "X-A": "1" }, body: "text" }); return [r.method, r.url, [...r.headers], r.bodyUsed, await r.text(), r.bodyUsed, r.redirect, r.cache, r.credentials, r.referrer, r.destination, r.keepalive, r.integrity, r.signal.aborted, Object.prototype.toString.call(r)] },
  requestMethods: () => ["get", "GeT", "delete", "PATCH", "foo", "options", "put"].map((method) => new Request("http://x", { method }).method),
  requestErrors: async () => [await fails(() => new Request()), await fails(() => new Request("x")), await fails(() => new Request("http://u:p@x")), await fails(() => new Request("http://x", { body: "x" })), await fails(() => new Request("http://x", { method: "a b" })), await fails(() => new Request("http://x", { method: "trace" })), await fails(() => new Request("http://x", { method: "POST", body: streamed("x") })), await fails(() => new Request("http://x", { redirect: "x" })), await fails(() => new Request("http://x", { signal: 1 })), await fails(() => new Request("http://x", 1))],
  requestFrom: async () => { const a = new Request("http://x", { method: "PUT", body: "abc", headers: { q: "1" } }), b = new Request(a), c = new Request(b.clone(), { method: "POST", headers: { w: "2" } }); return [a.bodyUsed, await fails(() => a.text()), b.method, await b.text(), c.method, [...c.headers], await c.text(), b.headers.get("q"), await fails(() => new Request(a))] },
  requestSignal: () => { const c = new AbortController(), r = new Request("http://x", { signal: c.signal }), d = r.clone(); c.abort("why"); return [r.signal.aborted, r.signal.reason, d.signal.aborted, r.signal === c.signal] },
  requestStream: async () => { const r = new Request("http://x", { method: "POST", body: streamed("a", "b"), duplex: "half" }); const b = new Request(r); return [r.bodyUsed, await b.text()] },
};

const guest = await Guest.open(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {}`);
guest.deadline = Infinity;
const plain = `(v) => JSON.stringify(v, (_, x) => (x === undefined ? "undefined" : x))`;
const here = async (body) => (0, eval)(plain)(await within(new Function(`return (async () => { ${log}; return (${body})() })()`)()));
const there = async (body) => {
  guest.eval(`globalThis.answer = undefined; (async () => { ${log}; return (${body})() })().then((v) => { answer = (${plain})(v) }, (e) => { answer = "threw " + e + e.stack }); 0`);
  guest.run();
  return guest.eval("answer");
};
for (const [name, f] of Object.entries(programs)) equal(name, await there(f.toString()), await here(f.toString()).catch((e) => "threw " + e));
equal("bytes", await there(`async () => [[...await new Response("ab").bytes()], [...await new Blob(["c"]).bytes()]]`), "[[97,98],[99]]"); // node 20 has neither
equal("endings", await there(`() => new Blob(["a\\rb"], { endings: "native" }).text()`), '"a\\nb"'); // node leaves a lone CR
equal("formData is refused", await there(`() => fails(() => new Response("").formData())`), '"Error"');

// Random headers and blobs.
let seed = 3;
const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, Math.floor((seed / 2 ** 32) * n));
const pick = (list) => list[random(list.length)];
const names = ["a", "A", "content-type", "Set-Cookie", "x-y", "!#$", "", "a b", "\u00e9", "b"], values = ["1", " 2\t", "", "\xff", "a,b", "x\ny", "\u0100", "\r\n3\r\n"];
const steps = () => Array.from({ length: random(8) + 1 }, () => [pick(["append", "append", "set", "delete", "get", "has"]), pick(names), pick(values)]);
for (let i = 0; i < 300; i++) {
  const body = `() => { const h = new Headers(); for (const [m, n, v] of ${JSON.stringify(steps())}) { try { const r = m === "append" || m === "set" ? h[m](n, v) : h[m](n); say(r) } catch (e) { say(e.name) } } return [out, [...h], h.getSetCookie()] }`;
  equal(`headers ${i} ${body}`, await there(body), await here(body));
}
const parts = ["a", "\u00e9\ud83d\ude00", "\ud800", "", "line\r\n"];
for (let i = 0; i < 200; i++) {
  const list = JSON.stringify(Array.from({ length: random(4) }, () => pick(parts))), cut = [random(20) - 8, random(20) - 8];
  const body = `async () => { const b = new Blob([...${list}, new Uint8Array([${random(256)}, ${random(256)}])], { type: ${JSON.stringify(pick(["", "a/B", "\n"]))} }), c = b.slice(${cut}); return [b.size, b.type, await bytes(b), await c.text(), c.size, await new Response(c).text(), await (await new Response(b).blob()).text()] }`;
  equal(`blob ${i} ${body}`, await there(body), await here(body));
}
finish();
