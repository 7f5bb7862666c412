// The object that the scenarios and the random programs talk to, as a function of what it is built from: the official
// server uses it, and its text runs inside a gadget. The Go twin is in fixture_test.go and service_test.go.
//
// later() resolves a little later. Nothing outside the function may be used in it.
export const service = (Base, RpcTarget, later) => {
  class Counter extends RpcTarget {
    #n; #owner;
    constructor(n, owner) { super(); this.#n = n; this.#owner = owner; if (owner) owner.live++; }
    inc(k = 1) { return (this.#n += k); }
    increment(k = 1) { return (this.#n += k); }
    get value() { return this.#n; }
    twin() { return new Counter(this.#n, this.#owner); }
    fail() { throw new RangeError("r" + this.#n); }
    async slow() { await later(); return this.#n; }
    [Symbol.dispose]() { if (this.#owner) this.#owner.live--; }
  }

  return class extends Base {
    #order = []; #kept = []; #forgotten = null; #owner = { live: 0 }; #shared = null; #canceled = "no"; #written = []; #writer = "open";
    square(n) { return n * n; }
    add(a, b) { return a + b; }
    makeCounter(n) { return new Counter(n, this.#owner); }
    async laterCounter(n) { await later(); return new Counter(n, this.#owner); }
    live() { return this.#owner.live; }
    echo(x) { return x; }
    count(...all) { return all.length; }
    list() { return [{ id: 1 }, { id: 2 }]; }
    name(n) { return "n" + n; }
    user() { return { name: "bob", counter: new Counter(3, this.#owner) }; }
    nested() { return { a: { box: { c: new Counter(5, this.#owner) }, list: [6] }, n: 1 }; }
    twins() { const c = new Counter(0, this.#owner); return [c, c]; }
    shared() { return (this.#shared ??= new Counter(0)); }
    returnNull() { return null; }
    returnUndefined() {}
    returnText() { return "text"; }
    returnFunction(k) { return (x) => x + k; }
    returnError() { return new TypeError("a value"); }
    generateFibonacci(n) {
      const r = [0, 1];
      while (r.length < n) r.push(r.at(-1) + r.at(-2));
      return r.slice(0, n);
    }
    note(n) { return this.#order.push(n); }
    noted() { return this.#order; }
    describe(n) { if (typeof n !== "bigint") throw new TypeError("not a bigint"); return String(n); }
    async slow(v) { await later(); return v; }
    get held() { return new Counter(100, this.#owner); }
    get bad() { throw new TypeError("bad getter"); }
    get facts() { return { deep: { x: 1, list: [1, 2, 3] } }; }

    fail() { throw Object.assign(new RangeError("bad"), { code: 42 }); }
    throwError() { throw new RangeError("test error"); }
    throwIt(x) { throw x; }
    async failLater() { await later(); throw new RangeError("later"); }

    callFn(f) { return f(7); }
    async callFunction(f, i) { return { result: await f(i) }; }
    callSquare(self, i) { return { result: self.square(i) }; }
    incrementCounter(c, k = 1) { return c.increment(k); }
    callMany(f, n) { return Promise.all(Array.from({ length: n }, (_, i) => f(i))); }
    async valueOf_(c) { return await c.value; }
    keep(f) { return this.#kept.push(f.dup()); }
    callKept(x) { return Promise.all(this.#kept.map((f) => f(x))); }
    dropKept() { for (const f of this.#kept) f[Symbol.dispose](); this.#kept = []; }
    forget(f) { this.#forgotten = f; }
    callForgotten(x) { return this.#forgotten(x); }
    passBack(f) { return { f: f.dup() }; }

    async echoBlob(b) { return new Blob([await b.arrayBuffer()], { type: b.type }); }
    getMixedStream() {
      return new ReadableStream({
        start(c) { c.enqueue("a"); c.enqueue(new Uint8Array([1, 2])); c.enqueue({ n: 3 }); c.close(); },
      });
    }
    getEmptyStream() { return new ReadableStream({ start(c) { c.close(); } }); }
    getBrokenStream() {
      return new ReadableStream({
        pull(c) { if (this.n) c.error(new RangeError("torn")); else { this.n = 1; c.enqueue("a"); } },
      });
    }
    getCounterStream(n) {
      let i = 0;
      return new ReadableStream({ pull: (c) => { if (i < n) c.enqueue(new Counter(i++, this.#owner)); else c.close(); } });
    }
    getBytes(chunks, size) {
      let i = 0;
      return new ReadableStream({ pull(c) { if (i++ < chunks) c.enqueue(new Uint8Array(size).fill(i)); else c.close(); } });
    }
    getEndless() {
      return new ReadableStream({ pull: (c) => c.enqueue("x".repeat(100)), cancel: () => { this.#canceled = "yes"; } });
    }
    canceled() { return this.#canceled; }
    async sink(s) { let n = 0; for await (const c of s) n += c.length ?? 1; return n; }
    async collect(s) { const out = []; for await (const c of s) out.push(c); return out; }
    collectFrom(o) { return this.collect(o.list[0]); }
    async readSome(s, n) {
      const r = s.getReader(), out = [];
      while (out.length < n) out.push((await r.read()).value);
      await r.cancel(new TypeError("enough"));
      return out;
    }
    getWriter() {
      return new WritableStream({
        write: (c) => { if (c === "bad") throw new TypeError("bad chunk"); this.#written.push(c); },
        close: () => { this.#writer = "closed"; }, abort: () => { this.#writer = "aborted"; },
      });
    }
    written() { return [this.#writer, this.#written]; }
    async fill(w, n) {
      const out = w.getWriter();
      for (let i = 0; i < n; i++) await out.write(i);
      await out.close();
      return n;
    }
    async fillAndAbort(w) {
      const out = w.getWriter();
      await out.write(1);
      await out.abort(new TypeError("given up"));
      return "aborted";
    }
  };
};
