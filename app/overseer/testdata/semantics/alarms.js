// Alarms: when they ring, and what the handler sees.
import { Traced, sleep } from "./trace.js";

export class Gadget extends Traced {
  rung = 0;
  async alarm(info) {
    const s = this.ctx.storage, plan = s.kv.get("plan") ?? [], step = plan.shift();
    s.kv.put("plan", plan);
    this.note(`alarm ${++this.rung}: retry ${info?.retryCount} ${info?.isRetry}, getAlarm ${(await s.getAlarm()) === null ? "null" : "a time"}`);
    if (step === "again") await s.setAlarm(Date.now() + 5);
    if (step === "again and fail") {
      await s.setAlarm(Date.now() + 5);
      throw new Error("own failure after setting");
    }
    if (step === "fail") {
      s.kv.put("written", "kept");
      throw new Error("own failure of the alarm");
    }
    if (step === "delete") await s.deleteAlarm();
    if (step === "again, delete") { await s.setAlarm(Date.now() + 5); await s.deleteAlarm(); }
    if (step === "slow") { this.note("slow begins"); await sleep(100); this.note("slow ends"); }
    s.kv.put("rung", (s.kv.get("rung") ?? 0) + 1);
  }

  async plan(ms, ...steps) {
    this.ctx.storage.kv.put("plan", steps);
    await this.ctx.storage.setAlarm(Date.now() + ms);
    return "set";
  }
  status() { return this.ctx.storage.kv.get("rung") ?? 0; }
  async set() { return (await this.ctx.storage.getAlarm()) !== null; }
  async read(key) { return (await this.ctx.storage.get(key)) ?? null; }
  plain(label) { this.note(`${label} runs`); return label; }

  async changing() {
    const s = this.ctx.storage, at = Date.now() + 1e6;
    this.note(`at first ${await s.getAlarm()}`);
    s.setAlarm(at);
    this.note(`set ${(await s.getAlarm()) - at}`);
    await s.setAlarm(new Date(at + 500.7));
    this.note(`again ${(await s.getAlarm()) - at}`);
    await s.deleteAlarm();
    this.note(`deleted ${await s.getAlarm()}`);
    await s.deleteAlarm();
    for (const [name, when] of [["negative", -5], ["NaN", NaN], ["nothing", undefined], ["text", "soon"], ["invalid date", new Date(NaN)], ["endless", Infinity]]) await this.attempt(name, () => s.setAlarm(when));
  }
  async twice() { await this.ctx.storage.setAlarm(Date.now() + 5); await this.ctx.storage.setAlarm(Date.now() + 60); return "set"; }
  async setAndDelete() { await this.ctx.storage.setAlarm(Date.now() + 30); await this.ctx.storage.deleteAlarm(); }
  async setAndDeleteAll() { await this.ctx.storage.setAlarm(Date.now() + 30); await this.ctx.storage.deleteAll(); return await this.ctx.storage.getAlarm(); }
  async setAndThrow() { await this.ctx.storage.setAlarm(Date.now() + 10); throw new Error("own failure after setting"); }
  async blocked() {
    await this.ctx.storage.setAlarm(Date.now() + 5);
    await this.ctx.blockConcurrencyWhile(async () => { this.note("blocked"); await sleep(100); this.note("not blocked"); });
  }
}

const rings = (steps, count) => async (t, g) => {
  await t.call("plan", g.plan(5, ...steps));
  await t.until(async () => (await g.status()) >= count);
  await t.later(80);
  await t.call("still set", g.set());
};

export const scenarios = {
  "one that is set rings once": rings([], 1),
  "the handler sets the next": rings(["again", "again"], 3),
  "the handler deletes what rings": rings(["delete"], 1),
  "the handler sets and deletes": rings(["again, delete"], 1),
  "a handler that fails is called again": async (t, g) => { await rings(["fail"], 1)(t, g); await t.call("written", g.read("written")); },
  "a handler that sets the next and fails": rings(["again and fail"], 1),
  "one in the past rings at once": async (t, g) => { await t.call("plan", g.plan(-10_000)); await t.until(async () => (await g.status()) === 1); },
  "setting, reading and deleting": async (t, g) => { await t.call("a", g.changing()); },
  "the later of two stands": async (t, g) => { await t.call("twice", g.twice()); await t.until(async () => (await g.status()) === 1); await t.later(150); await t.call("rung", g.status()); },
  "one that is deleted does not ring": async (t, g) => { await t.call("a", g.setAndDelete()); await t.later(150); await t.call("rung", g.status()); },
  "deleteAll deletes it": async (t, g) => { await t.call("a", g.setAndDeleteAll()); await t.later(150); await t.call("rung", g.status()); },
  "one that was set before a failure stands": async (t, g) => { await t.call("a", g.setAndThrow()); await t.until(async () => (await g.status()) === 1); },
  "calls interleave with a slow handler": async (t, g) => {
    await t.call("plan", g.plan(1, "slow"));
    await t.later(60);
    await t.call("during", g.plain("during"));
    await t.until(async () => (await g.status()) === 1);
  },
  "the handler waits for blockConcurrencyWhile": async (t, g) => { await t.call("blocked", g.blocked()); await t.until(async () => (await g.status()) === 1); },
};
