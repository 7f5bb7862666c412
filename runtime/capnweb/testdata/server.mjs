// The JavaScript twin of the Go test server: the same object served by the official library
// over WebSocket. As a program it prints its address and stays until its input ends.
import { createRequire } from "node:module";
import http from "node:http";
import { pathToFileURL } from "node:url";

const require = createRequire(process.env.TOOLSHED_NODE_MODULES + "/resolve.js");
export const capnweb = require("capnweb");
export const ws = require("ws");
const { RpcSession, RpcTarget, WebSocketTransport } = capnweb;
globalThis.WebSocket ??= ws.WebSocket;

export class Counter extends RpcTarget {
  #n;
  constructor(n) { super(); this.#n = n; }
  inc(k = 1) { return (this.#n += k); }
  increment(k = 1) { return (this.#n += k); }
  get value() { return this.#n; }
}

const later = (ms) => new Promise((done) => setTimeout(done, ms));

export class Main extends RpcTarget {
  #order = [];
  square(n) { return n * n; }
  makeCounter(n) { return new Counter(n); }
  echo(x) { return x; }
  list() { return [{ id: 1 }, { id: 2 }]; }
  name(n) { return "n" + n; }
  fail() { throw Object.assign(new RangeError("bad"), { code: 42 }); }
  throwError() { throw new RangeError("test error"); }
  user() { return { name: "bob", counter: new Counter(3) }; }
  returnNull() { return null; }
  returnUndefined() {}
  note(n) { return this.#order.push(n); }
  generateFibonacci(n) {
    const r = [0, 1];
    while (r.length < n) r.push(r.at(-1) + r.at(-2));
    return r.slice(0, n);
  }
  async slow(v) { await later(5); return v; }
  callFn(f) { return f(7); }
  async callFunction(f, i) { return { result: await f(i) }; }
  callSquare(self, i) { return { result: self.square(i) }; }
  incrementCounter(c, k = 1) { return c.increment(k); }
  describe(n) { if (typeof n !== "bigint") throw new TypeError("not a bigint"); return String(n); }
  get env() { return new Counter(100); }
  async echoBlob(b) { return new Blob([await b.arrayBuffer()], { type: b.type }); }
  getMixedStream() {
    return new ReadableStream({
      start(c) { c.enqueue("a"); c.enqueue(new Uint8Array([1, 2])); c.enqueue({ n: 3 }); c.close(); },
    });
  }
  getBrokenStream() {
    return new ReadableStream({
      pull(c) { if (this.n) c.error(new RangeError("torn")); else { this.n = 1; c.enqueue("a"); } },
    });
  }
  async sink(s) { let n = 0; for await (const c of s) n += c.length ?? 1; return n; }
  getWriter() { return new WritableStream({ write(c) { if (c === "bad") throw new TypeError("bad chunk"); } }); }
  async fill(w, n) {
    const out = w.getWriter();
    for (let i = 0; i < n; i++) await out.write(i);
    await out.close();
    return n;
  }
}

export async function serve() {
  const sessions = new Map();
  const server = http.createServer();
  new ws.WebSocketServer({ server }).on("connection", (socket, request) => {
    sessions.set(request.url, new RpcSession(new WebSocketTransport(socket), new Main()));
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: "ws://127.0.0.1:" + server.address().port, sessions, close: () => server.close() };
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { address } = await serve();
  console.log(address);
  process.stdin.resume().on("end", () => process.exit(0));
}
