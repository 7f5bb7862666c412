// The input gate: when calls, answers and timers may run.
import { Traced, sleep, fault } from "./trace.js";

export class Gadget extends Traced {
  constructor(ctx, env) {
    super(ctx, env);
    if (ctx.storage.kv.get("slow start")) {
      ctx.blockConcurrencyWhile(async () => {
        this.note("loading");
        await sleep(20);
        this.note("loaded");
      });
      this.note("constructed");
    }
  }

  plain(label) { this.note(`${label} runs`); return label; }

  async operations(label) {
    const s = this.ctx.storage;
    this.note(`${label} begins`);
    const steps = {
      put: () => s.put("a", 1), get: () => s.get("a"), batch: () => s.put({ b: 2, c: 3 }), many: () => s.get(["a", "b", "x"]), list: () => s.list(),
      delete: () => s.delete("a"), deletes: () => s.delete(["b", "x"]), alarm: () => s.getAlarm(), deleteAll: () => s.deleteAll(),
    };
    for (const name in steps) {
      await steps[name]();
      this.note(`${label} ${name}`);
    }
    this.note(`${label} ends`);
    return label;
  }

  async sync(label) {
    this.note(`${label} begins`);
    await this.ctx.storage.put("a", label);
    await this.ctx.storage.sync();
    this.note(`${label} synced`);
    return label;
  }

  async microtasks(label) {
    for (let n = 0; n < 30; n++) await null;
    this.note(`${label} after 30 microtasks`);
    return label;
  }

  async ask(label, callback) {
    this.note(`${label} asks`);
    const answer = await callback(label);
    this.note(`${label} was told ${answer}`);
    return label;
  }

  async timer(label, ms) {
    this.note(`${label} waits`);
    await sleep(ms);
    this.note(`${label} goes on`);
    return label;
  }

  async gets() {
    const s = this.ctx.storage;
    await s.put({ a: 1, b: 2, c: 3 });
    const all = ["a", "b", "c", "missing"].map((key) => s.get(key).then((v) => { this.note(`${key} = ${v}`); return v ?? null; }));
    this.note("asked");
    return await Promise.all(all);
  }

  async increment() {
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await this.ctx.storage.put("n", n + 1);
    return n + 1;
  }

  async incrementSlowly(callback) {
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await callback();
    await this.ctx.storage.put("n", n + 1);
    return n + 1;
  }

  async gap() {
    const s = this.ctx.storage;
    setTimeout(() => this.note("timer of 0"), 0);
    for (let n = 0; n < 5; n++) await s.get("x");
    this.note("five gets later");
    await sleep(5);
    this.note("5 ms later");
  }

  async blocked(label, callback) {
    this.note(`${label} begins`);
    const value = await this.ctx.blockConcurrencyWhile(async () => {
      this.note(`${label} blocks`);
      await callback();
      this.note(`${label} lets go`);
      return "value";
    });
    this.note(`${label} ends with ${value}`);
    return value;
  }

  async nested(callback) {
    await this.ctx.blockConcurrencyWhile(async () => {
      this.note("outer");
      await this.ctx.blockConcurrencyWhile(async () => {
        this.note("inner");
        await callback();
        this.note("inner ends");
      });
      this.note("outer goes on");
      await sleep(1);
      this.note("outer ends");
    });
    return "done";
  }

  // While it is blocked, what was begun outside: a timer and an answer.
  async outside(callback) {
    setTimeout(() => this.note("outer timer"), 1);
    const answer = callback("outer").then((v) => this.note(`outer answer ${v}`));
    await this.ctx.blockConcurrencyWhile(async () => {
      await sleep(50);
      this.note("blocked for a while");
    });
    await answer;
    await sleep(2);
    return "done";
  }

  async inside(callback) {
    return await this.ctx.blockConcurrencyWhile(async () => {
      await sleep(5);
      this.note("inner timer");
      this.note(`inner answer ${await callback("inner")}`);
      return "done";
    });
  }

  // The callback's promise is not awaited: what it began inside goes on after it.
  async unfinished(callback) {
    await this.ctx.blockConcurrencyWhile(async () => { callback("left behind").then((v) => this.note(`answer ${v}`)); });
    this.note("not blocked any more");
    return "done";
  }

  async two(callback) {
    const block = (name) => this.ctx.blockConcurrencyWhile(async () => { this.note(`${name} begins`); await callback(name); this.note(`${name} ends`); });
    await Promise.all([block("one"), block("two")]);
    return "done";
  }

  // A block inside another that nobody waits for, and what the outer one leaves running.
  async loose(callback) {
    const value = await this.ctx.blockConcurrencyWhile(async () => {
      this.ctx.blockConcurrencyWhile(async () => {
        this.note("inner");
        await sleep(20);
        this.note(`inner ends with ${await callback("inner")}`);
      });
      setTimeout(() => this.note("timer of the outer one"), 1);
      this.note("outer ends");
      return "outer";
    });
    this.note(`after ${value}`);
    await sleep(60);
    return value;
  }

  // In one go, what only the order of arrival decides.
  async arrivals(callback) {
    const answers = ["a", "b", "c"].map((name) => callback(name).then((v) => this.note(`answer ${v}`)));
    await this.ctx.blockConcurrencyWhile(async () => { await sleep(300); this.note("blocked"); });
    await Promise.all(answers);
    return "done";
  }

  async transactionInside(callback) {
    setTimeout(() => this.note("timer"), 1);
    return await this.ctx.blockConcurrencyWhile(async () => {
      await this.ctx.storage.transaction(async (txn) => {
        await txn.put("a", 1);
        this.note(`told ${await callback("inside")}`);
        await this.ctx.blockConcurrencyWhile(async () => { this.note("block inside"); await sleep(5); });
      });
      this.note("transaction done");
      return await this.ctx.storage.get("a");
    });
  }

  async syncBlock() {
    const p = this.ctx.blockConcurrencyWhile(() => { this.note("runs"); return 5; });
    this.note("after the call");
    return await p;
  }

  async remember(key, value) { await this.ctx.storage.put(key, value); }
  keep(n) { this.kept = (this.kept ?? 0) + n; return this.kept; }
  async failBlocked(kind) {
    try {
      await this.ctx.blockConcurrencyWhile(async () => {
        await this.ctx.storage.put("written", kind);
        await sleep(1);
        throw new Error("own failure inside");
      });
    } catch (e) { this.note(`caught ${fault(e)}`); }
    this.note("goes on");
    return "handled";
  }
  async read(key) { return (await this.ctx.storage.get(key)) ?? null; }
  async forever() { await this.ctx.blockConcurrencyWhile(() => new Promise(() => {})); }
}

const callAll = (t, list) => Promise.all(list.map(([label, promise]) => t.call(label, promise)));

export const scenarios = {
  "calls wait for every awaited operation of storage": (t, g) => callAll(t, [["a", g.operations("a")], ["b", g.operations("b")], ["c", g.plain("c")]]),
  "sync": async (t, g) => { await t.call("a", g.sync("a")); await t.call("b", g.read("a")); },
  "a chain of microtasks is not interrupted": (t, g) => callAll(t, [["a", g.microtasks("a")], ["b", g.plain("b")]]),
  "calls interleave while a callback is awaited": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.ask("a", gate.wait));
    await gate.entered;
    await t.call("b", g.plain("b"));
    gate.open("go");
    await a;
  },
  "two calls that await callbacks go on in the order of the answers": async (t, g) => {
    const one = t.gate(), two = t.gate(), a = t.call("a", g.ask("a", one.wait)), b = t.call("b", g.ask("b", two.wait));
    await Promise.all([one.entered, two.entered]);
    two.open("second");
    await b;
    one.open("first");
    await a;
  },
  "calls interleave while a timer is awaited": (t, g) => callAll(t, [["a", g.timer("a", 100)], ["b", g.plain("b")]]),
  "timers of two calls": (t, g) => callAll(t, [["a", g.timer("a", 150)], ["b", g.timer("b", 30)], ["c", g.plain("c")]]),
  "several gets at once": async (t, g) => { await t.call("a", g.gets()); },
  "reading and writing back loses nothing": (t, g) => callAll(t, [1, 2, 3, 4, 5].map((n) => [`call ${n}`, g.increment()])),
  "with a callback between, an update is lost": async (t, g) => {
    const one = t.gate(), two = t.gate(), a = t.call("a", g.incrementSlowly(one.wait)), b = t.call("b", g.incrementSlowly(two.wait));
    await Promise.all([one.entered, two.entered]);
    one.open();
    await a;
    two.open();
    await b;
    await t.call("n", g.read("n"));
  },
  "a timer waits for awaited reads": async (t, g) => { await t.call("a", g.gap()); },
  "blockConcurrencyWhile holds calls back": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.blocked("a", gate.wait));
    await gate.entered;
    const b = t.call("b", g.plain("b")), c = t.call("c", g.plain("c"));
    await t.later();
    t.note("opening");
    gate.open();
    await Promise.all([a, b, c]);
  },
  "blockConcurrencyWhile in the constructor": async (t, g) => {
    await g.remember("slow start", true);
    await t.call("abort", g.failBlocked("before"));
    const again = await t.open();
    await callAll(t, [["a", again.plain("a")], ["b", again.plain("b")]]);
  },
  "blockConcurrencyWhile nested": async (t, g) => {
    const gate = t.gate(), a = t.call("a", g.nested(gate.wait));
    await gate.entered;
    const b = t.call("b", g.plain("b"));
    await t.later();
    gate.open();
    await Promise.all([a, b]);
  },
  "what was begun outside waits while blocked": async (t, g) => { await t.call("a", g.outside(() => "of the client")); },
  "what was begun inside goes on while blocked": async (t, g) => { await t.call("a", g.inside(() => "of the client")); },
  "what blockConcurrencyWhile leaves behind": async (t, g) => {
    const gate = t.gate();
    await t.call("a", g.unfinished(gate.wait));
    await gate.entered;
    gate.open("late");
    await t.later();
  },
  "two blocks at once": async (t, g) => { await t.call("a", g.two((name) => t.note(`asked by ${name}`))); },
  "a block inside that nobody waits for": async (t, g) => { await t.call("a", g.loose(() => "the client")); },
  "what waits goes on in the order in which it came": async (t, g) => {
    let asked = 0, all;
    const entered = new Promise((resolve) => { all = resolve; }), a = t.call("a", g.arrivals((name) => { if (++asked === 3) all(); return name; }));
    await entered;
    await t.later();
    await Promise.all([a, ...["b", "c", "d"].map((n) => t.call(n, g.plain(n)))]);
  },
  "a transaction inside a block, and a block inside that": async (t, g) => { await t.call("a", g.transactionInside(() => "by the client")); },
  "blockConcurrencyWhile with a function that is not async": async (t, g) => { await t.call("a", g.syncBlock()); },
  "blockConcurrencyWhile that fails resets the gadget": async (t, g) => {
    await t.call("keep", g.keep(1));
    await t.call("keep", g.keep(1));
    const gate = t.gate(), waiting = t.call("waiting", g.ask("waiting", gate.wait));
    await gate.entered;
    await Promise.all([t.call("failing", g.failBlocked("x")), waiting]);
    const again = await t.open();
    await t.call("keep", again.keep(1));
    await t.call("written", again.read("written"));
  },
  "blockConcurrencyWhile that never ends": async (t, g) => {
    await t.call("forever", g.forever());
    const again = await t.open();
    await t.call("after", again.plain("after"));
  },
};
