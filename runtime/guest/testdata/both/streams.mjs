// Streams: random scripts of their methods. What each call came to is noted when it settles; between two steps there is time for
// everything that can settle, so that the number of microtasks an implementation takes does not show.
import { answer, answerNow, runner, show } from "./seeded.mjs";
const rest = async () => { for (let i = 0; i < 3; i++) await new Promise((resolve) => setTimeout(resolve, 0)); };
const error = () => new RangeError("e");
const note = (log, name, f) => {
  try {
    const v = f();
    if (v instanceof Promise) v.then((x) => log.push(`${name} gave ${show(x)}`), (e) => log.push(`${name} failed ${e instanceof Error ? e.name : show(e)}`));
    else log.push(`${name} is ${show(v)}`);
    return v;
  } catch (e) { log.push(`${name} threw ${e instanceof Error ? e.name : show(e)}`); }
};
const strategy = (m, bytes) => m.pick([undefined, {}, { highWaterMark: 0 }, { highWaterMark: 3 }, new CountQueuingStrategy({ highWaterMark: 2 }), bytes ? undefined : { highWaterMark: 4, size: (c) => (typeof c === "number" ? c % 3 : 1) }, bytes ? undefined : { highWaterMark: 1, size: () => m.pick([1, 1, NaN, -1]) }]);
// source notes what it is asked, and answers at random.
const source = (m, log, keep) => {
  let n = 0;
  return {
    start: m.pick([undefined, (c) => { keep.c = c; log.push("start " + c.desiredSize); }, async (c) => { keep.c = c; c.enqueue("s"); }, (c) => { keep.c = c; if (m.odds(8)) throw error(); }]),
    pull: m.pick([undefined, (c) => { keep.c = c; log.push("pull " + c.desiredSize); if (n < 6) c.enqueue(n++); else c.close(); }, async (c) => { log.push("pull"); await null; n++ < 4 ? c.enqueue(n) : c.close(); }, (c) => { n++; if (n === 3) throw error(); c.enqueue(n); }, () => { log.push("pull without"); }]),
    cancel: m.pick([undefined, (why) => { log.push("cancel " + show(why)); }, async () => { throw error(); }, () => "ignored"]),
  };
};
const sink = (m, log, keep) => ({
  start: m.pick([undefined, (c) => { keep.w = c; }]),
  write: m.pick([undefined, (c) => { log.push("write " + show(c)); }, async (c) => { await null; log.push("written " + show(c)); }, (c) => { if (c === 2) throw error(); log.push("write " + show(c)); }, () => new Promise((resolve) => { keep.later = resolve; })]),
  close: m.pick([undefined, () => { log.push("close"); }, async () => { throw error(); }]),
  abort: m.pick([undefined, (why) => { log.push("abort " + show(why)); }, () => { throw error(); }]),
});
const make = (log, name, f) => { try { return f(); } catch (e) { log.push(`${name} threw ${e.name}`); return null; } };
const pickReader = async (m, log, s, keep) => {
  const held = keep.readers ??= [];
  const step = m.pick(["getReader", "read", "read", "read", "release", "cancel", "closed", "enqueue", "close", "error", "desired", "locked", "cancelStream", "tee"]);
  const r = held.length > 0 ? m.pick(held) : undefined, c = keep.c, why = m.pick([undefined, "why", 5]);
  if (step === "getReader") note(log, step, () => { held.push(s.getReader(m.odds(8) ? m.pick([{ mode: "x" }, {}, undefined]) : undefined)); });
  else if (step === "read" && r) note(log, step, () => r.read());
  else if (step === "release" && r) note(log, step, () => r.releaseLock());
  else if (step === "cancel" && r) note(log, step, () => r.cancel(why));
  else if (step === "closed" && r) note(log, step, () => r.closed);
  else if (step === "locked") note(log, step, () => s.locked);
  else if (step === "cancelStream") note(log, step, () => s.cancel(why));
  else if (step === "tee" && m.odds(3)) note(log, step, () => { const [a, b] = s.tee(); held.push(a.getReader(), b.getReader()); });
  else if (c && step === "enqueue") note(log, step, () => c.enqueue(m.pick([1, 2, "x", undefined])));
  else if (c && step === "close" && m.odds(2)) note(log, step, () => c.close());
  else if (c && step === "error" && m.odds(3)) note(log, step, () => c.error(m.pick([error(), "text", undefined])));
  else if (c && step === "desired") note(log, step, () => c.desiredSize);
  await rest();
};

export const programs = {
  async readable(m) {
    const log = [], keep = {}, s = make(log, "new", () => new ReadableStream(source(m, log, keep), strategy(m)));
    await rest();
    for (let n = 10; s !== null && n > 0; n--) await pickReader(m, log, s, keep);
    return log;
  },
  async writable(m) {
    const log = [], keep = {}, s = make(log, "new", () => new WritableStream(sink(m, log, keep), strategy(m)));
    await rest();
    const held = [];
    for (let n = 10; s !== null && n > 0; n--) {
      const step = m.pick(["getWriter", "write", "write", "write", "close", "abort", "release", "ready", "closed", "desired", "abortStream", "closeStream", "later", "error", "locked", "signal"]), w = held.length > 0 ? m.pick(held) : undefined;
      if (step === "getWriter") note(log, step, () => { held.push(s.getWriter()); });
      else if (step === "locked") note(log, step, () => s.locked);
      else if (step === "abortStream" && m.odds(3)) note(log, step, () => s.abort("why"));
      else if (step === "closeStream" && m.odds(2)) note(log, step, () => s.close());
      else if (step === "later") keep.later?.();
      else if (step === "error" && m.odds(3)) keep.w?.error(error());
      else if (step === "signal") note(log, step, () => keep.w?.signal.aborted);
      else if (!w) continue;
      else if (step === "write") note(log, step, () => w.write(m.pick([1, 2, "x"])));
      else if (step === "close") note(log, step, () => w.close());
      else if (step === "abort" && m.odds(2)) note(log, step, () => w.abort("a"));
      else if (step === "release") note(log, step, () => w.releaseLock());
      else if (step === "ready") note(log, step, () => w.ready);
      else if (step === "closed") note(log, step, () => w.closed);
      else if (step === "desired") note(log, step, () => w.desiredSize);
      await rest();
    }
    return log;
  },
  async transform(m) {
    const log = [], transformer = m.pick([undefined, {}, { transform(c, t) { if (c === 2) throw error(); t.enqueue(c); t.enqueue(c); } }, { start(t) { t.enqueue("first"); }, flush(t) { t.enqueue("last"); } }, { transform(c, t) { if (c === 3) t.terminate(); else t.enqueue(c); } }, { async transform(c, t) { await null; if (c === 3) t.error(error()); else t.enqueue(c); }, flush() { log.push("flush"); } }, { flush() { throw error(); } }, { readableType: "x" }]);
    const t = make(log, "new", () => new TransformStream(transformer, strategy(m), strategy(m)));
    if (t === null) return log;
    const w = t.writable.getWriter(), r = t.readable.getReader();
    for (let n = 9; n > 0; n--) {
      note(log, "desired", () => w.desiredSize);
      m.pick([() => note(log, "write", () => w.write(m.pick([1, 2, 3]))), () => note(log, "read", () => r.read()), () => note(log, "read", () => r.read()), () => m.odds(2) && note(log, "close", () => w.close()), () => m.odds(4) && note(log, "abort", () => w.abort("a")), () => m.odds(4) && note(log, "cancel", () => r.cancel("c")), () => note(log, "ready", () => w.ready)])();
      await rest();
    }
    return log;
  },
  async pipe(m) {
    const log = [], keep = {}, c = new AbortController(), s = make(log, "source", () => new ReadableStream(source(m, log, keep), strategy(m))), w = make(log, "sink", () => new WritableStream(sink(m, log, keep), strategy(m)));
    if (s === null || w === null) return log;
    const options = m.pick([undefined, {}, { preventClose: true }, { preventAbort: true }, { preventCancel: true }, { signal: c.signal }, { signal: AbortSignal.abort("early") }, { signal: 5 }]);
    const from = m.odds(3) ? make(log, "through", () => s.pipeThrough(new TransformStream())) : s;
    if (from !== null) note(log, "pipeTo", () => from.pipeTo(w, options));
    for (let n = 4; n > 0; n--) { await rest(); m.pick([() => keep.later?.(), () => m.odds(3) && c.abort("stop"), () => { try { keep.c?.enqueue(2); } catch (e) { log.push(e.name); } }, () => { try { if (m.odds(3)) keep.c?.close(); } catch (e) { log.push(e.name); } }])(); }
    await rest();
    return [...log, `${s.locked} ${w.locked}`];
  },
  async iterate(m) {
    const log = [], keep = {}, s = make(log, "new", () => (m.odds(3) ? ReadableStream.from(m.pick([[1, 2, 3], "abc", new Set([1]), (async function* () { yield 1; yield 2; throw error(); })(), [Promise.resolve(1), 2], { [Symbol.iterator]() { return 5; } }, 5, null])) : new ReadableStream(source(m, log, keep), strategy(m))));
    if (s === null) return log;
    const stop = m.random(5), how = m.pick(["break", "throw", "end"]);
    const task = (async () => {
      let n = 0;
      for await (const x of s.values({ preventCancel: m.odds(3) })) { log.push("item " + show(x)); if (++n === stop && how !== "end") { if (how === "throw") throw new TypeError("mine"); break; } if (n > 8) break; }
      return "over";
    })();
    note(log, "loop", () => task);
    for (let n = 6; n > 0; n--) { await rest(); if (n === 2) try { keep.c?.close(); } catch (e) { log.push(e.name); } }
    return [...log, String(s.locked)];
  },
};
export const run = runner(programs);
