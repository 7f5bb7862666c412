// What storage gives, and when what was written is there and told.
import { Traced, sleep, show } from "./trace.js";

export class Gadget extends Traced {
  async read(key) { return (await this.ctx.storage.get(key)) ?? null; }
  async all() { return [...(await this.ctx.storage.list())]; }
  plain(label) { this.note(`${label} runs`); return label; }

  unawaited() {
    const s = this.ctx.storage;
    for (let n = 1; n <= 5; n++) s.put("n", n);
    s.put("other", "x");
    s.delete("other");
    this.note(`kv sees ${s.kv.get("n")} and ${s.kv.get("other")}`);
    return "returned";
  }

  async puts() {
    const s = this.ctx.storage, all = [1, 2, 3].map((n) => s.put("k", n).then(() => this.note(`put ${n}`)));
    s.get("k").then((v) => this.note(`got ${v}`));
    await Promise.all(all);
    return await s.get("k");
  }

  async callbackAfterPut(callback) {
    await this.ctx.storage.put("k", 1);
    await callback("after an awaited put");
    this.ctx.storage.put("k", 2);
    await callback("after a put");
    return "reply";
  }

  write(label) { this.ctx.storage.put("k", label); return label; }

  afterReply() {
    (async () => {
      await sleep(10);
      await this.ctx.storage.put("later", "written");
      this.note("written after the reply");
    })();
    return "reply";
  }

  background(callback) {
    const cb = callback.dup?.() ?? callback;
    this.ctx.waitUntil((async () => {
      await sleep(300);
      this.note("background");
      await cb("from the background");
    })());
    this.note("method ends");
    return "reply";
  }

  failingBackground() {
    this.ctx.waitUntil(Promise.reject(new Error("own background failure")));
    return "reply";
  }

  async writeAndThrow() {
    await this.ctx.storage.put("k", "kept");
    throw new RangeError("own failure after the write");
  }
  writeAndThrowAtOnce() {
    this.ctx.storage.kv.put("k2", "kept too");
    throw new RangeError("own failure at once");
  }

  async options() {
    const s = this.ctx.storage;
    await s.put("k", 1, { allowUnconfirmed: true });
    await this.attempt("get", () => s.get("k", { allowConcurrency: true, noCache: true }));
    await s.put({ a: 1, b: 2 }, { noCache: true });
    await this.attempt("many", () => s.get(["b", "a"], { allowConcurrency: true }));
    await this.attempt("list", () => s.list({ allowConcurrency: true, noCache: true }));
    await this.attempt("delete", () => s.delete("a", { allowUnconfirmed: true }));
    await this.attempt("deletes", () => s.delete(["a", "b"], { noCache: true }));
    await this.attempt("deleteAll", () => s.deleteAll({ allowUnconfirmed: true }));
    await this.attempt("sync", () => s.sync());
  }

  async concurrent(label) {
    for (let n = 0; n < 5; n++) await this.ctx.storage.get("k", { allowConcurrency: true });
    this.note(`${label} has read`);
    return label;
  }

  async unconfirmed(callback) {
    await this.ctx.storage.put("k", 1, { allowUnconfirmed: true });
    await callback("after an unconfirmed put");
    return await this.ctx.storage.get("k");
  }

  async deleting() {
    const s = this.ctx.storage;
    await s.put({ a: 1, b: 2, c: 3 });
    const p = s.deleteAll(), q = s.put("d", 4), r = s.list();
    await Promise.all([p, q]);
    this.note(`listed ${show(await r)}`);
    await s.deleteAll();
    this.note(`then ${show(await s.list())}`);
  }

  async listing() {
    const s = this.ctx.storage;
    for (const k of ["b", "a", "d", "c", "é", "Z", "aa"]) s.put(k, k);
    const now = s.list();
    s.put("e", "e");
    s.delete("a");
    this.note(`began before: ${[...(await now)].map(([k]) => k)}`);
    const tries = [{}, { start: "b" }, { startAfter: "b" }, { end: "c" }, { start: "b", end: "d" }, { prefix: "a" }, { reverse: true }, { limit: 2 }, { reverse: true, limit: 2 },
      { start: "b", end: "d", reverse: true }, { prefix: "a", startAfter: "a" }, { start: "d", end: "b" }, { startAfter: "b", reverse: true, limit: 1 }];
    for (const o of tries) this.note(`${JSON.stringify(o)}: ${[...(await s.list(o))].map(([k]) => k)}`);
    for (const o of [{ limit: 0 }, { limit: -1 }, { start: "a", startAfter: "a" }]) await this.attempt(`list ${JSON.stringify(o)}`, () => s.list(o));
  }

  async batches() {
    const s = this.ctx.storage;
    await s.put({ b: 2, a: 1 });
    await this.attempt("many", () => s.get(["c", "b", "missing", "a", "b"]));
    await this.attempt("none", () => s.get([]));
    await this.attempt("delete many", () => s.delete(["a", "a", "missing"]));
    await this.attempt("delete", () => s.delete("b"));
    await this.attempt("delete again", () => s.delete("b"));
    await this.attempt("list", () => s.list());
    await this.attempt("no key", () => s.put());
    await this.attempt("function", () => s.put("f", () => 1));
    await this.attempt("batch with a function", () => s.put({ good: 1, f: () => 1 }));
    await this.attempt("list after failures", () => s.list());
  }

  async undefinedValues() {
    const s = this.ctx.storage;
    await this.attempt("undefined", () => s.put("u", undefined));
    await this.attempt("in a batch", () => s.put({ a: 1, b: undefined }));
    this.note(`keys ${[...(await s.list())].map(([k]) => k)}`);
  }
  async oddKeys() {
    const s = this.ctx.storage;
    await this.attempt("empty key", () => s.put("", 1));
    await this.attempt("long key", () => s.put("k".repeat(2049), 1));
    this.note(`keys ${(await s.list()).size}`);
  }

  async copies() {
    const s = this.ctx.storage, value = { n: 1 };
    const p = s.put("v", value);
    value.n = 2;
    await p;
    const got = await s.get("v");
    got.n = 3;
    this.note(`stored ${show(await s.get("v"))}`);
  }

  kvOperations() {
    const { kv } = this.ctx.storage;
    this.note(`put ${show(kv.put("a", 1))}`);
    kv.put("b", { deep: [1] });
    this.note(`get ${show(kv.get("a"))} ${show(kv.get("missing"))}`);
    this.note(`list ${JSON.stringify([...kv.list()])} ${JSON.stringify([...kv.list({ start: "b" })])}`);
    this.note(`delete ${kv.delete("a")} ${kv.delete("a")}`);
    this.note(`list ${JSON.stringify([...kv.list()])}`);
  }

  // What is stored is seen by both ways of storage at once.
  async mixed() {
    const s = this.ctx.storage;
    s.put("k", 1);
    this.note(`kv ${s.kv.get("k")}`);
    s.kv.put("k", 2);
    this.note(`get ${await s.get("k")}`);
    const p = s.get("k");
    s.kv.put("k", 3);
    this.note(`begun before ${await p}`);
  }
}

const all = (t, list) => Promise.all(list.map(([label, promise]) => t.call(label, promise)));

export const scenarios = {
  "writes that nobody awaits": async (t, g) => { await t.call("a", g.unawaited()); await t.call("n", g.read("n")); await t.call("other", g.read("other")); },
  "several puts of one key at once": async (t, g) => { await t.call("a", g.puts()); },
  "a callback leaves after the write before it, and the reply after both": async (t, g) => { await t.call("a", g.callbackAfterPut((text) => t.note(text))); await t.call("k", g.read("k")); },
  "replies keep the order of the calls, written or not": (t, g) => all(t, [["a", g.plain("a")], ["b", g.write("b")], ["c", g.plain("c")], ["d", g.write("d")], ["e", g.plain("e")]]),
  "a write after the reply": async (t, g) => {
    await t.call("a", g.afterReply());
    await t.until(async () => (await g.read("later")) !== null);
    await t.call("later", g.read("later"));
  },
  "waitUntil goes on after the reply": async (t, g) => {
    let done;
    const told = new Promise((resolve) => { done = resolve; });
    await t.call("a", g.background((text) => { t.note(text); done(); }));
    await told;
  },
  "a failure in waitUntil fails nobody": async (t, g) => { await t.call("a", g.failingBackground()); await t.call("b", g.plain("b")); },
  "a method that throws keeps what it wrote": async (t, g) => {
    await t.call("a", g.writeAndThrow());
    await t.call("b", g.writeAndThrowAtOnce());
    await t.call("k", g.read("k"));
    await t.call("k2", g.read("k2"));
  },
  "the options of operations": async (t, g) => { await t.call("a", g.options()); },
  "reads with allowConcurrency": (t, g) => all(t, [["a", g.concurrent("a")], ["b", g.plain("b")]]),
  "a put with allowUnconfirmed": async (t, g) => { await t.call("a", g.unconfirmed((text) => t.note(text))); },
  "deleteAll between other operations": async (t, g) => { await t.call("a", g.deleting()); },
  "lists": async (t, g) => { await t.call("a", g.listing()); },
  "batches and refusals": async (t, g) => { await t.call("a", g.batches()); },
  "values that are undefined": async (t, g) => { await t.call("a", g.undefinedValues()); },
  "keys that are empty or long": async (t, g) => { await t.call("a", g.oddKeys()); },
  "values are copied when they are put and got": async (t, g) => { await t.call("a", g.copies()); },
  "kv": async (t, g) => { await t.call("a", g.kvOperations()); await t.call("all", g.all()); },
  "kv and the promises together": async (t, g) => { await t.call("a", g.mixed()); },
};
