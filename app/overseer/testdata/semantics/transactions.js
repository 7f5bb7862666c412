// Transactions: what is kept, what is taken back, and who waits.
import { Traced, sleep } from "./trace.js";

export class Gadget extends Traced {
  alarm() {}
  plain(label) { this.note(`${label} runs`); return label; }
  async read(...keys) { return await Promise.all(keys.map(async (key) => (await this.ctx.storage.get(key)) ?? null)); }
  async put(key, value) { await this.ctx.storage.put(key, value); return value; }

  async commit() {
    const value = await this.ctx.storage.transaction(async (txn) => {
      await txn.put("a", 1);
      this.note(`inside ${await txn.get("a")}, ${await this.ctx.storage.get("a")}`);
      return "result";
    });
    this.note("committed");
    return value;
  }

  async fail() {
    await this.ctx.storage.put("a", 1);
    await this.attempt("transaction", () => this.ctx.storage.transaction(async (txn) => {
      await txn.put("a", 2);
      await this.ctx.storage.put("b", 2);
      this.ctx.storage.kv.put("c", 2);
      throw new Error("own failure inside");
    }));
  }

  // The inner one is asked for and not waited for before the outer one fails at once.
  async looseInside() {
    const { storage } = this.ctx;
    let inner;
    await this.attempt("outer", () => storage.transaction(async () => {
      inner = this.attempt("inner", () => storage.transaction(async (txn) => { await txn.put("inner", 1); await sleep(10); }));
      throw new Error("own outer failure");
    }));
    await inner;
  }

  async throwAtOnce() { await this.attempt("transaction", () => this.ctx.storage.transaction(() => { throw new Error("own failure at once"); })); }

  async rollback() {
    await this.attempt("transaction", () => this.ctx.storage.transaction(async (txn) => {
      await txn.put("a", 1);
      txn.rollback();
      await this.attempt("get after rollback", () => txn.get("a"));
      await this.attempt("rollback again", () => txn.rollback());
      await this.ctx.storage.put("b", 1);
      return "result";
    }));
  }

  async nested() {
    await this.attempt("outer", () => this.ctx.storage.transaction(async (outer) => {
      await outer.put("a", 1);
      await this.attempt("inner that fails", () => this.ctx.storage.transaction(async (inner) => { await inner.put("b", 1); throw new Error("own inner failure"); }));
      await this.attempt("inner", () => this.ctx.storage.transaction(async (inner) => { await inner.put("c", 1); return await inner.get("a"); }));
      return "outer";
    }));
    await this.attempt("outer that fails", () => this.ctx.storage.transaction(async () => {
      await this.ctx.storage.transaction(async (inner) => { await inner.put("d", 1); });
      throw new Error("own outer failure");
    }));
  }

  async outside() {
    let txn;
    await this.ctx.storage.transaction(async (t) => { txn = t; await t.put("a", 1); });
    await this.attempt("get", () => txn.get("a"));
    await this.attempt("put", () => txn.put("a", 2));
    await this.attempt("rollback", () => txn.rollback());
  }

  async waits(callback) {
    return await this.ctx.storage.transaction(async (txn) => {
      await txn.put("a", 1);
      this.note("asks");
      await callback();
      this.note("goes on");
      await txn.put("b", 1);
      return "committed";
    });
  }

  async waitsAndFails(callback) {
    return await this.ctx.storage.transaction(async (txn) => {
      await txn.put("a", 1);
      await callback();
      throw new Error("own failure after waiting");
    });
  }

  async counter(label) {
    return await this.ctx.storage.transaction(async (txn) => {
      const n = (await txn.get("n")) ?? 0;
      this.note(`${label} read ${n}`);
      await sleep(2);
      await txn.put("n", n + 1);
      return n + 1;
    });
  }

  async order() {
    const p = this.ctx.storage.transaction(async () => { this.note("callback"); });
    this.note("after the call");
    queueMicrotask(() => this.note("microtask"));
    await p;
    this.note("after the transaction");
  }

  async together() {
    const run = (label) => this.ctx.storage.transaction(async (txn) => { this.note(`${label} begins`); await txn.put(label, 1); await sleep(1); this.note(`${label} ends`); });
    await Promise.all([run("one"), run("two"), run("three")]);
  }

  async meanwhile() {
    const s = this.ctx.storage;
    const p = s.transaction(async (txn) => { await txn.put("a", 1); await sleep(5); throw new Error("own failure"); });
    s.put("b", 1);
    this.note("put outside");
    await this.attempt("transaction", () => p);
  }

  async deleteAll() {
    const s = this.ctx.storage;
    await this.attempt("transaction", () => s.transaction(async (txn) => {
      await this.attempt("txn.deleteAll", () => txn.deleteAll());
      await this.attempt("storage.deleteAll", () => s.deleteAll());
    }));
  }

  async alarms() {
    const s = this.ctx.storage, at = Date.now() + 1_000_000;
    await s.setAlarm(at);
    await this.attempt("transaction", () => s.transaction(async (txn) => { await txn.setAlarm(at + 1000); this.note(`inside ${(await txn.getAlarm()) - at}`); throw new Error("own failure"); }));
    this.note(`after ${(await s.getAlarm()) - at}`);
    await this.attempt("transaction", () => s.transaction(async (txn) => { await txn.deleteAlarm(); return await txn.getAlarm(); }));
    this.note(`then ${await s.getAlarm()}`);
  }

  sync() {
    const s = this.ctx.storage;
    s.kv.put("a", 0);
    this.note(`value ${s.transactionSync(() => { s.kv.put("a", 1); return "v"; })}`);
    const fail = (label, f) => { try { this.note(`${label} ${s.transactionSync(f)}`); } catch (e) { this.note(`${label} threw ${e.message}`); } };
    fail("failing", () => { s.kv.put("a", 2); s.kv.put("b", 2); throw new Error("own failure"); });
    this.note(`a ${s.kv.get("a")} b ${s.kv.get("b")}`);
    fail("outer", () => {
      s.kv.put("c", 1);
      fail("inner", () => { s.kv.put("d", 1); throw new Error("own inner failure"); });
      fail("inner two", () => { s.kv.put("e", 1); return "kept"; });
      return `c ${s.kv.get("c")} d ${s.kv.get("d")} e ${s.kv.get("e")}`;
    });
    fail("outer that fails", () => { fail("inner", () => { s.kv.put("f", 1); return "done"; }); throw new Error("own outer failure"); });
    this.note(`f ${s.kv.get("f")}`);
  }

  async syncInside() {
    const s = this.ctx.storage;
    await this.attempt("transaction", () => s.transaction(async (txn) => {
      s.transactionSync(() => s.kv.put("a", 1));
      try { s.transactionSync(() => { s.kv.put("b", 1); throw new Error("own failure"); }); } catch {}
      return [await txn.get("a"), (await txn.get("b")) ?? null];
    }));
  }

  async unawaited() {
    const s = this.ctx.storage;
    await this.attempt("transaction", () => s.transaction(async () => { s.put("a", 1); s.put("b", 2); return "no await"; }));
  }

  async inBlock() {
    return await this.ctx.blockConcurrencyWhile(async () => {
      const v = await this.ctx.storage.transaction(async (txn) => { await txn.put("a", 1); return "inside a block"; });
      this.note("still blocked");
      return v;
    });
  }

  async notAFunction() {
    await this.attempt("transaction", () => this.ctx.storage.transaction(5));
    await this.attempt("transactionSync", () => this.ctx.storage.transactionSync(5));
  }
}

const all = (t, list) => Promise.all(list.map(([label, promise]) => t.call(label, promise)));
const then = (method, ...keys) => async (t, g) => { await t.call("a", g[method]()); if (keys.length > 0) await t.call(keys.join(), g.read(...keys)); };

export const scenarios = {
  "commit": then("commit", "a"),
  "a callback that throws": then("fail", "a", "b", "c"),
  "a callback that throws at once": then("throwAtOnce"),
  "one inside that nobody waits for": then("looseInside", "inner"),
  "rollback": then("rollback", "a", "b"),
  "nested": then("nested", "a", "b", "c", "d"),
  "used after its end": then("outside", "a"),
  "calls wait for an open transaction": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.waits(gate.wait));
    await gate.entered;
    const b = t.call("b", g.plain("b")), c = t.call("read", g.read("a", "b"));
    await t.later();
    t.note("opening");
    gate.open();
    await Promise.all([a, b, c]);
  },
  "calls see nothing of one that is rolled back": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.waitsAndFails(gate.wait));
    await gate.entered;
    const b = t.call("read", g.read("a"));
    await t.later();
    gate.open();
    await Promise.all([a, b]);
  },
  "counters lose nothing": (t, g) => all(t, [1, 2, 3, 4].map((n) => [`call ${n}`, g.counter(`call ${n}`)])),
  "the callback begins later": then("order"),
  "three at once": then("together", "one", "two", "three"),
  "a write outside while one waits to begin": then("meanwhile", "a", "b"),
  "deleteAll inside": then("deleteAll"),
  "alarms are part of it": then("alarms"),
  "transactionSync": then("sync", "a", "b", "c", "d", "e", "f"),
  "transactionSync inside transaction": then("syncInside", "a", "b"),
  "writes that nobody awaits": then("unawaited", "a", "b"),
  "inside blockConcurrencyWhile": then("inBlock", "a"),
  "not a function": then("notAFunction"),
};
