// Events, signals, timers, microtasks: what is called, with what, and in which order.
import { answerNow, runner } from "./seeded.mjs";
const tick = () => new Promise((resolve) => setTimeout(resolve, 0));

export const programs = {
  async listeners(m) {
    const log = [], targets = [new EventTarget(), new EventTarget()], c = new AbortController(), made = [];
    const listener = (i) => made[i] ??= m.pick([
      () => (e) => log.push(`${i}:${e.type}:${e.target === targets[0]}:${e.eventPhase}:${e.currentTarget === e.target}`),
      () => (e) => { log.push(`${i}:prevents`); e.preventDefault(); },
      () => (e) => { log.push(`${i}:stops`); e.stopImmediatePropagation(); },
      () => (e) => { log.push(`${i}:adds`); e.target.addEventListener(e.type === "x" ? "y" : "x", listener((i + 1) % 6)); }, // node 20 would call one of the same type at once
      () => (e) => { log.push(`${i}:removes`); e.target.removeEventListener(e.type, listener((i + 2) % 6)); },
      () => ({ handleEvent(e) { log.push(`${i}:object:${this === made[i]}:${e.detail}`); } }),
      () => () => { log.push(`${i}:aborts`); c.abort(); },
    ])();
    for (let n = 0; n < 12; n++) {
      const t = m.pick(targets), type = m.pick(["x", "y"]), l = listener(m.random(6));
      const step = m.pick(["add", "add", "add", "remove", "dispatch", "dispatch", "null"]);
      const options = m.pick([undefined, true, false, { once: true }, { passive: true }, { capture: true }, { signal: c.signal }]); // not null, which node 20 takes for another capture
      log.push(`${step} ${targets.indexOf(t)} ${type} ${made.indexOf(l)} ${JSON.stringify(options)}`);
      if (step === "add") log.push(answerNow(() => t.addEventListener(type, l, options)));
      if (step === "remove") t.removeEventListener(type, l, options === true ? { capture: true } : options); // node 20 takes true for false here
      if (step === "null") log.push(answerNow(() => t.addEventListener(type, m.pick([null, undefined, 5, "x"]))));
      if (step === "dispatch") log.push(answerNow(() => t.dispatchEvent(m.pick([() => new Event(type, { cancelable: m.odds(2) }), () => new CustomEvent(type, { detail: 5, cancelable: true }), () => ({ type })])())));
    }
    return log;
  },
  async event(m) {
    const init = m.pick([undefined, null, {}, { bubbles: true }, { cancelable: true, composed: true }, { detail: { a: 1 } }, 5]), out = [];
    for (const Class of [Event, CustomEvent]) {
      let e;
      out.push(answerNow(() => { e = new Class(m.pick(["x", "", 5, null, undefined, "abort"]), init); return [e.type, e.bubbles, e.cancelable, e.composed, e.defaultPrevented, e.eventPhase, e.target, e.currentTarget, e.isTrusted, e.returnValue, e.cancelBubble, typeof e.timeStamp, e.detail, e.composedPath().length]; }));
      if (e !== undefined) out.push(answerNow(() => { e.preventDefault(); e.stopPropagation(); return [e.defaultPrevented, e.returnValue, e.cancelBubble]; }));
    }
    return [...out, answerNow(() => new Event()), answerNow(() => Event("x")), answerNow(() => new EventTarget().dispatchEvent({})), answerNow(() => Event.AT_TARGET)];
  },
  async signals(m) {
    const log = [], controllers = m.many(3, () => new AbortController()), signals = controllers.map((c) => c.signal);
    // The standard marks dependent signals first since 2024, node 20 when their turn comes: no listener here looks or aborts in between.
    const dependents = m.random(4);
    for (let n = dependents; n > 0; n--) signals.push(AbortSignal.any(m.many(m.random(4), () => m.pick(signals))));
    if (m.odds(3)) signals.push(AbortSignal.abort(m.pick([undefined, "now", null, 0])));
    signals.forEach((s, i) => {
      s.addEventListener("abort", (e) => log.push(`${i}:${e.type}:${e.isTrusted}:${e.target === s}:${s.aborted}`), { once: m.odds(2) });
      if (m.odds(3)) s.onabort = () => log.push(`${i}:onabort`);
      if (m.odds(6)) s.onabort = null;
      if (dependents === 0 && m.odds(2)) s.addEventListener("abort", () => { log.push(`${i}:aborts another`); m.pick(controllers).abort(i); });
    });
    for (let n = m.random(4); n > 0; n--) {
      m.pick(controllers).abort(m.pick([undefined, "why", null, 5]));
      log.push(signals.map((s) => (s.aborted ? answerNow(() => s.throwIfAborted()) : "-")).join());
    }
    return [...log, answerNow(() => AbortSignal.any([5])), answerNow(() => AbortSignal.any()), answerNow(() => new AbortSignal()), answerNow(() => AbortSignal.timeout(m.pick([-1, NaN, "x", 0, 5, Infinity, 2 ** 53])).aborted)];
  },
  async timeout() {
    const s = AbortSignal.timeout(1), any = AbortSignal.any([s]), awake = setInterval(() => {}, 1); // node ends where only a signal's timer is left
    await new Promise((resolve) => { any.onabort = resolve; });
    clearInterval(awake);
    return [answerNow(() => s.throwIfAborted()), String(any.reason === s.reason), s.reason.name, String(s.reason instanceof DOMException)];
  },
  // All timers have one delay: their order is the order in which they were set, and microtasks run between them.
  async timers(m) {
    const log = [], ids = [];
    let left = 14;
    const step = (name) => () => {
      log.push(name);
      for (let n = m.random(3); n > 0 && left > 0; n--) {
        left--;
        const next = `${name}.${n}`;
        m.pick([
          () => ids.push(setTimeout(step(next), m.pick([0, -5, undefined, NaN, "0", -Infinity, null]))), () => ids.push(setTimeout(step(next), 0)), () => queueMicrotask(step(next)), () => Promise.resolve().then(step(next)),
          () => { (async () => { await null; step(next)(); })(); }, () => ids.length > 0 && clearTimeout(m.pick(ids)), () => clearTimeout(m.pick([undefined, null, -1, 1e9, "x"])),
          () => setTimeout((...args) => log.push(next + args.join("")), 0, "a", 1), () => { const id = setTimeout(() => log.push("cleared in its own callback"), 0); clearTimeout(id); clearTimeout(id); },
        ])();
      }
    };
    for (let n = 3; n > 0; n--) step(`s${n}`)();
    for (let n = 0; n < 12; n++) await tick();
    return log;
  },
  async intervals(m) {
    const log = [], ids = [], counts = m.many(3, () => 1 + m.random(4)), other = m.random(3);
    await new Promise((resolve) => {
      let left = 3;
      const over = (i) => { if (ids[i] === 0) return; clearInterval(ids[i]); ids[i] = 0; if (--left === 0) setTimeout(resolve, 20); };
      counts.forEach((count, i) => {
        let n = 0;
        ids[i] = setInterval(() => { log.push(`${i}:${++n}`); queueMicrotask(() => log.push("m" + i)); if (n === count) { over(i); if (count === 3) over(other); } }, 8);
      });
    });
    return log;
  },
  async wrongTimers(m) {
    return [() => setTimeout(), () => setTimeout("code"), () => setTimeout(null), () => queueMicrotask(), () => queueMicrotask(5), () => setInterval({}), () => clearTimeout(), () => clearInterval({})].map((f) => answerNow(f)).concat(m.odds(2) ? "" : "");
  },
};
export const run = runner(programs);
