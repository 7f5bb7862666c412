// Event, EventTarget, AbortController and AbortSignal: the same programs here and in node.
import { Guest, check, equal, finish, idle } from "./harness.mjs";

const programs = {
  order: () => { const t = new EventTarget(), out = []; t.addEventListener("x", () => out.push(1)); t.addEventListener("x", { handleEvent(e) { out.push(e.type, this.handleEvent !== undefined) } }); t.addEventListener("y", () => out.push("y")); t.dispatchEvent(new Event("x")); return out },
  once: () => { const t = new EventTarget(); let n = 0; const f = () => n++; t.addEventListener("x", f, { once: true }); t.addEventListener("x", f); t.dispatchEvent(new Event("x")); t.dispatchEvent(new Event("x")); return n },
  same: () => { const t = new EventTarget(); let n = 0; const f = () => n++; t.addEventListener("x", f); t.addEventListener("x", f); t.addEventListener("x", f, true); t.dispatchEvent(new Event("x")); t.removeEventListener("x", f); t.dispatchEvent(new Event("x")); t.removeEventListener("x", f, { capture: true }); t.dispatchEvent(new Event("x")); return n },
  prevent: () => { const t = new EventTarget(); t.addEventListener("x", (e) => e.preventDefault()); const a = new Event("x", { cancelable: true }), b = new Event("x"); return [t.dispatchEvent(a), a.defaultPrevented, a.returnValue, t.dispatchEvent(b), b.defaultPrevented] },
  stop: () => { const t = new EventTarget(), out = []; t.addEventListener("x", (e) => { out.push(1); e.stopPropagation() }); t.addEventListener("x", (e) => { out.push(2); e.stopImmediatePropagation() }); t.addEventListener("x", () => out.push(3)); t.dispatchEvent(new Event("x")); return out },
  change: () => { const t = new EventTarget(), out = []; const late = () => out.push("late"), gone = () => out.push("gone"); t.addEventListener("x", () => { out.push(1); t.removeEventListener("x", gone) }); t.addEventListener("x", gone); t.dispatchEvent(new Event("x")); return out },
  fields: () => { const e = new Event("x", { bubbles: 1, composed: true }), t = new EventTarget(); let inside; t.addEventListener("x", function (e) { inside = [e.target === t, e.currentTarget === t, e.eventPhase, e.composedPath().length, this === t, e.srcElement === t] }); const before = [e.type, e.bubbles, e.cancelable, e.composed, e.target, e.eventPhase, e.isTrusted, typeof e.timeStamp, e.composedPath()]; t.dispatchEvent(e); return [before, inside, e.target === t, e.currentTarget, e.eventPhase, Event.AT_TARGET, Event.BUBBLING_PHASE] },
  custom: () => { const e = new CustomEvent("c", { detail: { a: 1 } }); return [e.detail, new CustomEvent("d").detail, e instanceof Event, Object.prototype.toString.call(e)] },
  sub: () => { class T extends EventTarget { n = 0; constructor() { super(); this.addEventListener("x", () => this.n++) } } const t = new T(); t.dispatchEvent(new Event("x")); class E extends Event { constructor() { super("x"); this.more = 1 } } t.dispatchEvent(new E()); return t.n },
  errors: () => [() => new Event(), () => new EventTarget().dispatchEvent({}), () => new EventTarget().addEventListener("x"), () => new AbortSignal(), () => AbortSignal.any([1]), () => AbortSignal.timeout(), () => new Event("x", 1), () => EventTarget.prototype.dispatchEvent.call({}, new Event("x"))].map((f) => { try { f(); return "ok" } catch (e) { return e.name } }),
  signalOption: () => { const t = new EventTarget(), c = new AbortController(); let n = 0; t.addEventListener("x", () => n++, { signal: c.signal }); t.dispatchEvent(new Event("x")); c.abort(); t.dispatchEvent(new Event("x")); t.addEventListener("x", () => n++, { signal: c.signal }); t.dispatchEvent(new Event("x")); return n },
  abort: () => { const c = new AbortController(), out = [c.signal.aborted, c.signal.reason]; c.signal.onabort = (e) => out.push("on", e.type, e.isTrusted, e.target === c.signal); c.signal.addEventListener("abort", () => out.push("listener")); c.abort(); c.abort("again"); return [...out, c.signal.aborted, c.signal.reason.name, c.signal.reason.message, c.signal.reason.code, c.signal.reason instanceof DOMException] },
  reason: () => { const c = new AbortController(); c.abort("why"); const out = []; try { c.signal.throwIfAborted() } catch (e) { out.push(e) } return [...out, c.signal.reason, AbortSignal.abort().reason.name, AbortSignal.abort(5).reason, AbortSignal.abort(5).aborted, new AbortController().signal.throwIfAborted()] },
  any: () => { const a = new AbortController(), b = new AbortController(), s = AbortSignal.any([a.signal, b.signal]), nested = AbortSignal.any([s]), out = []; s.addEventListener("abort", () => out.push("s")); nested.addEventListener("abort", () => out.push("nested", s.aborted)); a.signal.addEventListener("abort", () => out.push("a", s.aborted)); b.abort("b"); a.abort("a"); return [out, s.reason, nested.reason, AbortSignal.any([]).aborted, AbortSignal.any([AbortSignal.abort(1), AbortSignal.abort(2)]).reason] },
  handler: () => { const c = new AbortController(), out = []; c.signal.onabort = () => out.push("first"); c.signal.addEventListener("abort", () => out.push("second")); c.signal.onabort = () => out.push("changed"); const before = typeof c.signal.onabort; c.abort(); c.signal.onabort = null; return [out, before, c.signal.onabort] },
  shape: () => [Object.prototype.toString.call(new AbortController()), Object.prototype.toString.call(new AbortController().signal), new AbortController().signal instanceof EventTarget, typeof performance.now(), performance.now() > 0, Event.length, EventTarget.length, AbortController.name],
};

// differences are where the Standard, which is followed here, says other than node 20 does: [ours, node's].
const differences = {
  passive: [() => { const t = new EventTarget(); t.addEventListener("x", (e) => e.preventDefault(), { passive: true }); return t.dispatchEvent(new Event("x", { cancelable: true })) }, true, false],
  recursion: [() => { const t = new EventTarget(); let name = ""; t.addEventListener("x", (e) => { try { t.dispatchEvent(e) } catch (err) { name = err.name } }); t.dispatchEvent(new Event("x")); return name }, "InvalidStateError", "Error"],
  phases: [() => new Event("x").BUBBLING_PHASE ?? null, 3, null],
};

const guest = await Guest.open(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {
  timeout() { this.s = AbortSignal.timeout(5); return this.s.aborted } timedOut() { return [this.s.aborted, this.s.reason?.name, this.s.reason?.message] }
  throwing() { const t = new EventTarget(); let n = 0; t.addEventListener("x", () => { throw new RangeError("in a listener") }); t.addEventListener("x", () => n++); t.dispatchEvent(new Event("x")); return n }
}`);
for (const [name, f] of Object.entries(programs)) equal(name, guest.eval(`JSON.stringify((${f})())`), JSON.stringify(f()));
for (const [name, [f, ours, theirs]] of Object.entries(differences)) {
  equal(name, guest.eval(`JSON.stringify((${f})())`), JSON.stringify(ours));
  equal(name + " in node", JSON.stringify(f()), JSON.stringify(theirs));
}
const { stub } = guest.connect();
equal("timeout before", await stub.timeout(), false);
for (let i = 0; i < 100 && guest.wakeAt < 0; i++) await idle();
await idle(Math.max(0, guest.wakeAt - Date.now()) + 2);
guest.wake();
const s = AbortSignal.timeout(1);
await idle(20);
equal("timeout", JSON.stringify(await stub.timedOut()), JSON.stringify([s.aborted, s.reason.name, s.reason.message]));
equal("a throwing listener stops no other", await stub.throwing(), 1);
check("a throwing listener is logged", guest.logs.some((l) => /^error a listener for x failed: RangeError: in a listener/.test(l)), guest.logs.join("\n"));
finish();
