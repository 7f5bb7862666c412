// How a gadget begins, fails and begins again, its timers, and what it shares with its callers.
import { RpcTarget } from "cloudflare:workers";
import { Traced, sleep, fault } from "./trace.js";

class Counter extends RpcTarget {
  #gadget; #n = 0; #name;
  constructor(gadget, name) { super(); this.#gadget = gadget; this.#name = name; }
  add(n) { return this.#n += n; }
  fail() { throw new RangeError("own failure of the counter"); }
  [Symbol.dispose]() { this.#gadget.note(`${this.#name} is disposed`); }
}

export class Gadget extends Traced {
  n = 0;
  constructor(ctx, env) {
    super(ctx, env);
    if (ctx.storage.kv.get("broken until") > Date.now()) {
      ctx.storage.kv.put("tried", true);
      throw new Error("own failure of the constructor");
    }
  }

  count() { return ++this.n; }
  plain(label) { this.note(`${label} runs`); return label; }
  async read(key) { return (await this.ctx.storage.get(key)) ?? null; }
  async put(key, value) { await this.ctx.storage.put(key, value); }
  fail() { throw new TypeError("own failure"); }
  async failLater() { await sleep(1); throw new RangeError("own failure later"); }
  failOddly(kind) { throw { text: "own text", nothing: null, number: 5, object: { message: "own object" } }[kind]; }

  async ask(label, callback) {
    this.note(`${label} asks`);
    try { this.note(`${label} was told ${await callback(label)}`); } catch (e) { this.note(`${label} heard ${fault(e)}`); throw e; }
    return this.n;
  }

  unhandled() {
    Promise.reject(new Error("own unhandled rejection"));
    setTimeout(() => { this.note("timer throws"); throw new Error("own failure in a timer"); }, 1);
    queueMicrotask(() => { throw new Error("own failure in a microtask"); });
    return ++this.n;
  }

  async abort(callback) {
    this.n = 100;
    await this.ctx.storage.put("before", "kept");
    if (callback) await callback();
    this.note("aborts");
    this.ctx.abort("own reason");
    this.note("after abort");
  }

  // Timers.
  async timers() {
    const order = (text) => () => this.note(text);
    setTimeout(order("0 a"), 0);
    setTimeout(order("20"), 20);
    setTimeout(order("5 a"), 5);
    setTimeout(order("5 b"), 5);
    setTimeout(order("0 b"), 0);
    queueMicrotask(order("microtask"));
    Promise.resolve().then(order("promise"));
    this.note("method");
    await sleep(60);
  }
  async nestedTimers() {
    setTimeout(() => {
      this.note("one");
      setTimeout(() => this.note("three"), 0);
      queueMicrotask(() => this.note("microtask of one"));
    }, 0);
    setTimeout(() => this.note("two"), 0);
    await sleep(30);
  }
  async cleared() {
    const id = setTimeout(() => this.note("cleared"), 1), other = setTimeout(() => { this.note("clears"); clearTimeout(later); }, 2), later = setTimeout(() => this.note("cleared by another"), 20);
    clearTimeout(id);
    clearTimeout(12345);
    clearTimeout(undefined);
    let n = 0;
    const every = setInterval(() => { this.note(`interval ${++n}`); if (n === 3) clearInterval(every); }, 5);
    await sleep(80);
    return typeof other;
  }
  async arguments() { await new Promise((resolve) => setTimeout((...all) => { this.note(`given ${JSON.stringify(all)}`); resolve(); }, 1, 1, "two", [3])); }
  afterReply() { setTimeout(() => this.note("after the reply"), 20); return "reply"; }
  async throwing() {
    setTimeout(() => { throw new Error("own failure"); }, 0);
    setTimeout(() => this.note("the next one"), 0);
    await sleep(20);
    return "alive";
  }

  // Stubs.
  counter(name) { return new Counter(this, name); }
  pair() { return { a: new Counter(this, "a"), f: (x) => x + 1 }; }
  async use(callback) { return [await callback(1), await callback(2)]; }
  keep(callback) { this.kept = callback; this.held = callback.dup(); }
  async later() {
    await this.attempt("kept", () => this.kept("kept"));
    return await this.attempt("dup", () => this.held("dup"));
  }
  letGo() { this.held[Symbol.dispose](); }
  async inOrder(callback) { await Promise.all([1, 2, 3, 4, 5].map((n) => callback(n))); }
  async failing(callback) { await this.attempt("callback", () => callback()); }
  async target(counter) { return [await counter.add(1), await counter.add(2)]; }
  async broken(callback) {
    this.note("asks");
    try { await callback(); } catch (e) { this.note("lost"); }
    await this.ctx.storage.put("after", "went on");
  }

  // Names.
  get property() { return "a getter"; }
  own = "an own property";
  async async() { return "async"; }
  nothing() {}

  // Streams.
  bytes() {
    const encoder = new TextEncoder(), texts = ["one ", "two ", "three"];
    return new ReadableStream({ pull: (c) => { if (texts.length === 0) c.close(); else c.enqueue(encoder.encode(texts.shift())); } });
  }
  failingBytes() {
    let n = 0;
    return new ReadableStream({ pull: (c) => { if (n++ === 0) c.enqueue(new TextEncoder().encode("one")); else c.error(new Error("own failure of the stream")); } });
  }
  async take(stream) {
    let text = "";
    const decoder = new TextDecoder();
    for (const reader = stream.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += decoder.decode(value, { stream: true });
    }
  }
}

const all = (t, list) => Promise.all(list.map(([label, promise]) => t.call(label, promise)));
const only = (method) => async (t, g) => { await t.call("a", g[method]()); };
const disposed = (t) => t.later(100);

export const scenarios = {
  "a constructor that throws is tried again": async (t, g) => {
    await t.call("count", g.count());
    await g.put("broken until", Date.now() + 1000);
    await t.call("abort", g.abort());
    await t.call("first", (await t.open()).plain("first"));
    await t.later(1100);
    await t.call("second", (await t.open()).count());
    await t.call("tried", (await t.open()).read("tried"));
  },
  "memory survives a method that throws": async (t, g) => {
    await t.call("count", g.count());
    await t.call("fail", g.fail());
    await t.call("failLater", g.failLater());
    await t.call("count", g.count());
  },
  "a call that throws while another waits": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.ask("a", gate.wait));
    await gate.entered;
    await t.call("count", g.count());
    await t.call("fail", g.fail());
    await t.call("failLater", g.failLater());
    await t.call("count", g.count());
    gate.open("go");
    await a;
  },
  "odd things thrown": async (t, g) => { for (const kind of ["text", "nothing", "number", "object"]) await t.call(kind, g.failOddly(kind)); },
  "failures that nobody handles": async (t, g) => {
    await t.call("a", g.unhandled());
    await t.later();
    await t.call("count", g.count());
  },
  "abort": async (t, g) => {
    await t.call("count", g.count());
    await t.call("abort", g.abort());
    const again = await t.open();
    await t.call("count", again.count());
    await t.call("before", again.read("before"));
  },
  "abort while others wait": async (t, g) => {
    const gate = t.gate(), waiting = t.call("waiting", g.ask("waiting", gate.wait));
    await gate.entered;
    await Promise.all([t.call("abort", g.abort()), waiting]);
    await t.call("count", (await t.open()).count());
  },
  "timers come by time, and then in order": only("timers"),
  "timers in timers": only("nestedTimers"),
  "cleared timers and intervals": only("cleared"),
  "arguments of a timer": only("arguments"),
  "a timer after the reply": async (t, g) => { await t.call("a", g.afterReply()); await t.later(100); },
  "a timer that throws stops no other": only("throwing"),
  "a returned object, its calls and its end": async (t, g) => {
    const counter = await g.counter("counter");
    await t.call("add", counter.add(2));
    await t.call("fail", counter.fail());
    await t.call("add", counter.add(3));
    counter[Symbol.dispose]();
    await disposed(t);
  },
  "pipelined calls": async (t, g) => {
    const counter = g.counter("counter");
    await all(t, [["one", counter.add(1)], ["two", counter.add(2)]]);
    counter[Symbol.dispose]();
    await disposed(t);
  },
  "stubs inside a result": async (t, g) => {
    const pair = await g.pair();
    await t.call("add", pair.a.add(5));
    await t.call("f", pair.f(1));
    pair[Symbol.dispose]();
    await disposed(t);
  },
  "a callback is called while the call waits": async (t, g) => { await t.call("a", g.use((n) => { t.note(`called with ${n}`); return n * 10; })); },
  "a callback kept after the call": async (t, g) => {
    await t.call("keep", g.keep((how) => { t.note(`called: ${how}`); return how; }));
    await t.call("later", g.later());
    await t.call("letGo", g.letGo());
  },
  "calls on a callback come in order": async (t, g) => { await t.call("a", g.inOrder((n) => { t.note(`callback ${n}`); })); },
  "a callback that throws": async (t, g) => { await t.call("a", g.failing(() => { throw new RangeError("own failure of the client"); })); },
  "a callback that calls the gadget": async (t, g) => {
    await t.call("a", g.ask("a", async () => { await t.call("inside", g.plain("inside")); return "answered"; }));
  },
  "an object of the client": async (t, g) => {
    class Mine extends t.RpcTarget { n = 0; add(k) { t.note(`add ${k}`); return this.n += k; } [Symbol.dispose]() { t.note("the client's object is disposed"); } }
    await t.call("a", g.target(new Mine()));
    await disposed(t);
  },
  "a client that leaves while its callback is awaited": async (t) => {
    const other = await t.open(), gate = t.gate();
    other.broken(gate.wait).catch(() => {});
    await gate.entered;
    t.lastSocket.terminate();
    const again = await t.open();
    await t.until(async () => (await again.read("after")) !== null);
    await t.call("after", again.read("after"));
  },
  "names that can be reached": async (t, g) => {
    for (const name of ["property", "own", "ctx", "missing"]) await t.call(name, g[name]);
    for (const name of ["async", "nothing", "missing", "property", "own", "toString", "hasOwnProperty"]) await t.call(`${name}()`, g[name]());
  },
  "a stream of bytes to the client": async (t, g) => {
    const stream = await g.bytes();
    let text = "";
    for await (const chunk of stream) text += new TextDecoder().decode(chunk);
    t.note(`read ${text}`);
  },
  "a stream that fails": async (t, g) => {
    const stream = await g.failingBytes();
    let read = "";
    try { for await (const chunk of stream) read += new TextDecoder().decode(chunk); } catch { t.note(`failed after ${read}`); }
  },
  "a stream of bytes to the gadget": async (t, g) => {
    const encoder = new TextEncoder(), texts = ["uno ", "due"];
    await t.call("take", g.take(new ReadableStream({ pull: (c) => { if (texts.length === 0) c.close(); else c.enqueue(encoder.encode(texts.shift())); } })));
  },
};
