// URL, Headers, Blob and streams over Cap'n Web: the same scenarios on an official server and on a gadget, results
// compared; and what is peculiar to the guest.
import util from "node:util";
import { Guest, capnweb, check, equal, finish, idle, within } from "./harness.mjs";
const { RpcTarget, RpcSession } = capnweb;

const methods = (Base) => class extends Base {
  echo(x) { return x } kinds(...a) { return a.map((x) => Object.prototype.toString.call(x)) }
  makeURL() { return new URL("http://é.x/a b?c#d") } readURL(u) { return [u instanceof URL, u.href, u.searchParams.get("c")] }
  makeHeaders() { return new Headers([["B", "1"], ["a", "2"], ["Set-Cookie", "x"], ["set-cookie", "y"]]) } readHeaders(h) { return [h instanceof Headers, [...h]] }
  makeBlob(n) { return new Blob(["é".repeat(n)], { type: "Text/Plain" }) } async readBlob(b) { return [b instanceof Blob, b.size, b.type, (await b.text()).length] }
  makeStream(n, bytes) { let i = 0; return new ReadableStream({ pull(c) { if (i === n) c.close(); else c.enqueue(bytes ? new Uint8Array(bytes).fill(i++) : { i: i++ }) } }) }
  badStream() { let i = 0; return new ReadableStream({ pull(c) { if (i++ === 2) c.error(new RangeError("bad")); else c.enqueue(i) } }) }
  makeResponse(body, init) { return new Response(body, init) } async readResponse(r) { return [r instanceof Response, r.status, r.statusText, [...r.headers], await r.text(), r.ok] }
  makeRequest() { return new Request("http://x/y", { method: "PUT", body: "put", headers: { a: "b" } }) } async readRequest(r) { return [r instanceof Request, r.method, r.url, [...r.headers], await r.text(), r.redirect] }
  async readAll(s) { const all = []; for await (const x of s) all.push(x); return all }
  async readSizes(s) { let n = 0, k = 0; for await (const x of s) { n += x.length; k++ } return [k, n] }
  async readSome(s, n) { const r = s.getReader(), all = []; while (n-- > 0) all.push((await r.read()).value); await r.cancel("enough"); return all }
  ignoreStream() { return "ignored" } both(a, b) { return Promise.all([this.readAll(a), this.readAll(b)]) }
  log = []; makeSink() { this.log = []; return new WritableStream({ write: (x) => { this.log.push(x) }, close: () => { this.log.push("closed") }, abort: (r) => { this.log.push(["aborted", r instanceof Error ? r.message : r]) } }) }
  badSink() { return new WritableStream({ write(x) { if (x === 2) throw new RangeError("no twos") } }) }
  written() { return this.log }
  async writeTo(w, list, end) { const x = w.getWriter(); for (const v of list) await x.write(v); await (end === "abort" ? x.abort("why") : x.close()); return "done" }
  async twice(s) { return (await this.readAll(s)).map((x) => x * 2) } through(s) { return s.pipeThrough(new TransformStream({ transform(x, c) { c.enqueue(x * 2) } })) }
  async holdStub(s) { const out = []; for await (const f of s) out.push(await f(1)); return out }
  locked() { const s = new ReadableStream(); s.getReader(); return s } nested() { return { a: [new URL("x:y"), { b: new Blob(["q"]) }], s: new ReadableStream({ start(c) { c.enqueue(1); c.close() } }) } }
};
const official = methods(RpcTarget);
const gadget = `import { DurableObject } from "cloudflare:workers"; export class Gadget extends (${methods})(DurableObject) {}`;

const from = (list) => ReadableStream.from(list);
const all = async (s) => { const out = []; for await (const x of s) out.push(x); return out };
const sink = () => { const log = []; return [log, new WritableStream({ write(x) { log.push(x) }, close() { log.push("closed") }, abort(r) { log.push(["aborted", r instanceof Error ? r.message : r]) } })] };
const scenarios = {
  url: (s) => s.makeURL(), urlArgument: (s) => s.readURL(new URL("http://x/?c=1")), urlEcho: (s) => s.echo([new URL("a:b")]),
  headers: async (s) => [...await s.makeHeaders()], headersArgument: (s) => s.readHeaders(new Headers([["q", "1"], ["q", "2"]])), headersEcho: async (s) => [...(await s.echo({ h: new Headers({ a: "b" }) })).h],
  kinds: (s) => s.kinds(new URL("a:b"), new Headers(), new Blob(["x"]), from([]), new WritableStream()),
  blob: async (s) => { const b = await s.makeBlob(3); return [b.type, b.size, await b.text()] }, blobBig: async (s) => (await s.makeBlob(300000)).size, blobArgument: (s) => s.readBlob(new Blob(["abc"], { type: "a/b" })), blobEmpty: (s) => s.readBlob(new Blob([])),
  blobBigArgument: (s) => s.readBlob(new Blob(["x".repeat(700000)])), blobEcho: async (s) => (await s.echo(new Blob(["hey"]))).text(),
  stream: async (s) => all(await s.makeStream(5)), streamBytes: async (s) => (await all(await s.makeStream(20, 50000))).map((x) => x.length + x[0]), streamEmpty: async (s) => all(await s.makeStream(0)),
  streamArgument: (s) => s.readAll(from([1, { a: [2] }, "x", undefined, null, 5n])), streamBytesArgument: (s) => s.readSizes(from(Array.from({ length: 30 }, () => new Uint8Array(40000)))), streamEmptyArgument: (s) => s.readAll(from([])),
  streamError: async (s) => all(await s.badStream()), streamErrorArgument: (s) => s.readAll(new ReadableStream({ start(c) { c.enqueue(1) }, pull(c) { c.error(new RangeError("source")) } })),
  streamSome: (s) => s.readSome(from([1, 2, 3, 4, 5]), 2), streamSomeHere: async (s) => { const r = (await s.makeStream(100)).getReader(), out = [await r.read(), await r.read()]; await r.cancel("enough"); return out },
  ignored: (s) => s.ignoreStream(from([1, 2])), two: (s) => s.both(from([1, 2]), from(["a", "b"])), through: async (s) => all(await s.through(from([1, 2, 3]))), twice: (s) => s.twice(from([1, 2])),
  response: async (s) => { const r = await s.makeResponse("text", { status: 201, statusText: "Made", headers: { q: "1" } }); return [r.status, r.statusText, [...r.headers], await r.text()] }, responseEmpty: async (s) => { const r = await s.makeResponse(null, { status: 204 }); return [r.status, r.body, [...r.headers]] },
  responseArgument: (s) => s.readResponse(new Response("\u00e9", { status: 404, headers: { x: "y" } })), responseBytes: (s) => s.readResponse(new Response(new Uint8Array([65, 66]))), responseNone: (s) => s.readResponse(new Response()),
  request: async (s) => { const r = await s.makeRequest(); return [r.method, r.url, [...r.headers], await r.text()] }, requestArgument: (s) => s.readRequest(new Request("http://x/?q", { method: "POST", body: "post", redirect: "manual" })), requestGet: (s) => s.readRequest(new Request("http://x/", { headers: { a: "b" } })),
  pipelined: async (s) => s.readAll(s.makeStream(3)),
  sink: async (s) => { const w = (await s.makeSink()).getWriter(); await w.write(1); await w.write({ a: new Date(5) }); await w.close(); return s.written() },
  sinkAbort: async (s) => { const w = (await s.makeSink()).getWriter(); await w.write(1); await w.abort("why"); await idle(5); return s.written() },
  sinkPipe: async (s) => { await from([1, 2, 3]).pipeTo(await s.makeSink()); return s.written() }, sinkError: async (s) => { const w = (await s.badSink()).getWriter(); const out = []; for (const x of [1, 2, 3]) out.push(await w.write(x).then(() => "ok", (e) => e.name)); await idle(5); out.push(await w.closed.then(() => "ok", (e) => e.name + e.message)); return out.at(-1) },
  sinkArgument: async (s) => { const [log, w] = sink(); return [await s.writeTo(w, [1, "b", [3]]), log] }, sinkArgumentAbort: async (s) => { const [log, w] = sink(); const r = await s.writeTo(w, [1], "abort"); await idle(5); return [r, log] },
  sinkArgumentError: (s) => s.writeTo(new WritableStream({ write(x) { if (x === 2) throw new RangeError("client"); } }), [1, 2, 3, 4]),
  nested: async (s) => { const r = await s.nested(); return [r.a[0].href, await r.a[1].b.text(), await all(r.s)] },
  stubs: async (s) => s.holdStub(from([(x) => x + 1, (x) => x + 2])),
};
const one = async (f, stub) => {
  try { return util.inspect(await within(Promise.resolve(f(stub))), { depth: 8, sorted: true, breakLength: 200 }); } catch (e) { return e instanceof Error ? `threw ${e.name}: ${e.message}` : "threw " + util.inspect(e); }
};
const pipe = () => {
  const ends = [0, 1].map(() => ({ queue: [], waiting: null }));
  const end = (me, other) => ({
    send: (m) => { if (ends[other].waiting) { ends[other].waiting(m); ends[other].waiting = null; } else ends[other].queue.push(m); },
    receive: () => new Promise((r) => { if (ends[me].queue.length > 0) r(ends[me].queue.shift()); else ends[me].waiting = r; }),
  });
  return [end(0, 1), end(1, 0)];
};
process.on("unhandledRejection", () => {});
const only = process.argv[2];
let same = 0;
for (const [name, f] of Object.entries(scenarios)) {
  if (only && name !== only) continue;
  const [a, b] = pipe();
  new RpcSession(a, new official());
  const theirs = new RpcSession(b);
  const want = await one(f, theirs.getRemoteMain());
  const guest = await Guest.open(gadget);
  guest.trace = [];
  const ours = guest.connect();
  const got = await one(f, ours.stub);
  if (got === want) same++;
  equal(name, got, want);
  await idle(5);
  const tables = JSON.stringify(ours.session.getStats()), wanted = JSON.stringify(theirs.getStats());
  check(name + ": tables", tables === wanted, `${tables}, not ${wanted}\n  ` + guest.trace.map((l) => l.slice(0, 150)).join("\n  "));
  equal(name + ": the connection lives", guest.failure, "");
  if (only) console.log(guest.trace.join("\n"), got);
}
console.log(`${same} of ${Object.keys(scenarios).length} scenarios the same`);

// Back-pressure: what is not acknowledged stays within the window, both ways.
const guest = await Guest.open(gadget);
const { stub } = guest.connect();
let pulled = 0;
const reading = stub.readSome(new ReadableStream({ pull(c) { pulled++; c.enqueue(new Uint8Array(65536)); } }, { highWaterMark: 0 }), 1);
await within(reading);
await idle(20);
check("an unread stream is not pulled on for ever", pulled < 20, pulled);
const endless = await stub.makeStream(1e9, 65536);
await idle(50);
const unread = guest.sent.filter((m) => m.startsWith('["stream"')).length;
check("a gadget's stream waits for its reader", unread >= 1 && unread < 12, unread);
await endless.cancel();
await idle(5);
equal("after all", guest.failure, "");
// The official server passes a locked stream on as one that never ends; here it is an error.
equal("a locked stream", await within(stub.locked()).then(() => "sent", (e) => e.message), "Cannot serialize value: the stream is locked");
// So is a Response that comes back with its body; the official server refuses to send it again.
equal("a Response comes back", await within(stub.echo(new Response("hey"))).then((r) => r.text()), "hey");
// Values of the web cannot be stored.
equal("not stored", guest.eval(`[new URL("a:b"), new Headers(), new Blob([]), new ReadableStream(), new AbortController()].map((x) => { try { structuredClone(x); return "ok" } catch (e) { return e.name } }).join()`), Array(5).fill("DataCloneError").join());
equal("a buffer is transferred", guest.eval(`(() => { const b = new Uint8Array([1, 2, 3]).buffer, c = structuredClone(b, { transfer: [b] }); return [b.byteLength, c.byteLength, new Uint8Array(c)[2]].join() })()`), "0,3,3");
equal("a transfer twice is refused", guest.eval(`(() => { const b = new ArrayBuffer(1); structuredClone(b, { transfer: [b] }); try { structuredClone(b, { transfer: [b] }) } catch (e) { return e.name } })()`), "DataCloneError");
// A damaged use of a pipe ends the session, as with the official peer.
for (const messages of [['["push",["pipeline",0,["echo"],[["readable",9]]]]'], ['["pipe"]', '["push",["pipeline",0,["ignoreStream"],[["readable",1]]]]', '["push",["pipeline",0,["ignoreStream"],[["readable",1]]]]'], ['["push",["pipeline",0,["echo"],[["url","no"]]]]'], ['["push",["pipeline",0,["echo"],[["writable",5]]]]'], ['["push",["pipeline",0,["echo"],[["blob",1,2]]]]']]) {
  const g = await Guest.open(gadget);
  for (const m of messages) g.deliver(m);
  check("refused " + messages, g.sent.some((m) => m.startsWith('["abort"')), g.sent.join(" "));
}
// A gadget that replaces builtins before it first uses these values still gets and gives them whole.
const broken = await Guest.open(gadget);
broken.eval(`for (const C of [Array, Map, Set, String, RegExp, Function, Uint8Array.__proto__]) for (const k of Object.getOwnPropertyNames(C.prototype)) if (k !== "constructor" && k !== "toString" && k !== "length" && k !== "repeat") try { C.prototype[k] = () => { throw new Error("replaced " + k) } } catch {}
  globalThis.eval = globalThis.Uint8Array = globalThis.Map = globalThis.Set = globalThis.JSON = globalThis.performance = null; 0`);
const { stub: s } = broken.connect();
equal("replaced: stream", (await within(all(await s.makeStream(5)))).length, 5);
equal("replaced: url", (await s.makeURL()).href, "http://xn--9ca.x/a%20b?c#d");
equal("replaced: blob", (await within(s.makeBlob(3))).size, 6);
equal("replaced: argument", JSON.stringify(await within(s.readResponse(new Response("x", { headers: { a: "b" } }))).then((r) => r[4], String)), '"x"');
// The console shows what they hold.
guest.logs.length = 0;
guest.eval(`console.log(new URL("http://x/y"), new Headers({ a: "b" }), new URLSearchParams("q=1"), new Blob(["abc"], { type: "t/x" }), new ReadableStream())`);
equal("console", guest.logs[0], 'log URL http://x/y Headers(1) { "a" => "b" } URLSearchParams(1) { "q" => "1" } Blob(3) "t/x" ReadableStream {}');
// A gadget may freeze its globals.
equal("frozen globals", (await Guest.open(gadget)).eval(`Object.freeze(globalThis); new URL("http://x/").href + typeof Response`), "http://x/function");
finish();
