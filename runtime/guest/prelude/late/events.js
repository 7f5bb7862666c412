// Event, EventTarget (DOM Standard, 2) and AbortController, AbortSignal (3). There is no tree: an event has one target.
const needArguments = (given, n) => {
  if (given.length < n) throw new TypeErrorClass(`${n} argument${n > 1 ? "s" : ""} required, but only ${given.length} present`);
};

let dispatch; // (event, target, trusted): gives the event to the target's listeners
class Event {
  #type; #bubbles; #cancelable; #composed; #prevented = false; #stopped = false; #ended = false; #passive = false;
  #target = null; #current = null; #dispatching = false; #trusted = false; #time = performanceNow();

  static {
    dispatch = (event, target, trusted) => {
      if (event.#dispatching) throw new DOMExceptionClass("the event is being dispatched already", "InvalidStateError");
      event.#dispatching = true;
      event.#target = event.#current = target;
      event.#trusted = trusted;
      if (!event.#stopped) eachListener(target, event.#type, (listener) => {
        event.#passive = listener.passive;
        callListener(listener, event, target);
        event.#passive = false;
        return event.#ended;
      });
      event.#dispatching = event.#stopped = event.#ended = false;
      event.#current = null;
      return !event.#prevented;
    };
    for (const Class of [Event, Event.prototype]) {
      const phases = { NONE: 0, CAPTURING_PHASE: 1, AT_TARGET: 2, BUBBLING_PHASE: 3 };
      for (const name of objectKeys(phases)) defineProperty(Class, name, { value: phases[name], enumerable: true });
    }
  }

  constructor(type, init = undefined) {
    needArguments(arguments, 1);
    if (init !== undefined && init !== null && !isObject(init)) throw new TypeErrorClass("the options of an Event must be an object");
    this.#type = "" + type;
    this.#bubbles = !!init?.bubbles;
    this.#cancelable = !!init?.cancelable;
    this.#composed = !!init?.composed;
  }

  get type() { return this.#type; }
  get target() { return this.#target; }
  get srcElement() { return this.#target; }
  get currentTarget() { return this.#current; }
  get eventPhase() { return this.#dispatching ? 2 : 0; }
  get bubbles() { return this.#bubbles; }
  get cancelable() { return this.#cancelable; }
  get composed() { return this.#composed; }
  get defaultPrevented() { return this.#prevented; }
  get returnValue() { return !this.#prevented; }
  get cancelBubble() { return this.#stopped; }
  set cancelBubble(value) { if (value) this.#stopped = true; }
  get isTrusted() { return this.#trusted; }
  get timeStamp() { return this.#time; }
  composedPath() { return this.#dispatching ? [this.#target] : []; }
  preventDefault() { if (this.#cancelable && !this.#passive) this.#prevented = true; }
  stopPropagation() { this.#stopped = true; }
  stopImmediatePropagation() { this.#stopped = this.#ended = true; }
}
tag(Event, "Event");

class CustomEvent extends Event {
  #detail;
  constructor(type, init = undefined) {
    super(type, init);
    this.#detail = init?.detail ?? null;
  }
  get detail() { return this.#detail; }
}
tag(CustomEvent, "CustomEvent");

const callListener = (listener, event, target) => {
  try {
    if (typeof listener.callback === "function") apply(listener.callback, target, [event]);
    else listener.callback.handleEvent(event);
  } catch (thrown) { logFailure(`a listener for ${textOf(event.type)} failed`, thrown); }
};

// eachListener visits the listeners that there are when it begins and that are not removed before their turn, until
// visit returns true.
let eachListener;
class EventTarget {
  #listeners = [];

  static {
    eachListener = (target, type, visit) => {
      const now = [];
      for (let i = 0; i < target.#listeners.length; i++) if (target.#listeners[i].type === type) now[now.length] = target.#listeners[i];
      for (let i = 0; i < now.length; i++) {
        if (now[i].removed) continue;
        if (now[i].once) target.#remove(now[i]);
        if (visit(now[i])) return;
      }
    };
  }

  #find(type, callback, capture) {
    for (let i = 0; i < this.#listeners.length; i++) {
      const l = this.#listeners[i];
      if (l.type === type && l.callback === callback && l.capture === capture) return l;
    }
  }

  #remove(listener) {
    let n = 0;
    for (let i = 0; i < this.#listeners.length; i++) if (this.#listeners[i] !== listener) this.#listeners[n++] = this.#listeners[i];
    this.#listeners.length = n;
    listener.removed = true;
  }

  addEventListener(type, callback, options = undefined) {
    needArguments(arguments, 2);
    type = "" + type;
    const capture = typeof options === "boolean" ? options : !!options?.capture, signal = isObject(options) ? options.signal : undefined;
    if (signal !== undefined && !isSignal(signal)) throw new TypeErrorClass("the option signal must be an AbortSignal");
    if (callback === null || callback === undefined) return;
    if (typeof callback !== "function" && !isObject(callback)) throw new TypeErrorClass("a listener must be a function or an object");
    if (signal?.aborted || this.#find(type, callback, capture) !== undefined) return;
    const listener = { type, callback, capture, once: isObject(options) && !!options.once, passive: isObject(options) && !!options.passive, removed: false };
    this.#listeners[this.#listeners.length] = listener;
    if (signal !== undefined) whenAborted(signal, () => this.#remove(listener));
  }

  removeEventListener(type, callback, options = undefined) {
    needArguments(arguments, 2);
    const listener = this.#find("" + type, callback, typeof options === "boolean" ? options : !!options?.capture);
    if (listener !== undefined) this.#remove(listener);
  }

  dispatchEvent(event) {
    needArguments(arguments, 1);
    if (!(event instanceof Event)) throw new TypeErrorClass("dispatchEvent needs an Event");
    return dispatch(event, this, false);
  }
}
tag(EventTarget, "EventTarget");

// whenAborted calls an algorithm when the signal is aborted, ahead of its listeners; it returns how to stop that.
// abortNow aborts a signal, newSignal makes one.
let whenAborted, abortNow, newSignal, isSignal, isAborted, reasonOf;
const signalKey = {};
class AbortSignal extends EventTarget {
  #aborted = false; #reason = undefined; #algorithms = []; #handler = null; #listener = null;
  #sources = null; #dependents = null; // the signals that this one was made from by any(), and those made from it

  static {
    newSignal = () => new AbortSignal(signalKey);
    isSignal = (value) => isObject(value) && #algorithms in value;
    isAborted = (signal) => signal.#aborted;
    reasonOf = (signal) => signal.#reason;
    whenAborted = (signal, algorithm) => {
      if (signal.#aborted) return () => {};
      const entry = { algorithm };
      signal.#algorithms[signal.#algorithms.length] = entry;
      return () => { entry.algorithm = null; signal.#sweep(); };
    };
    abortNow = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason;
      const others = signal.#dependents ?? [];
      const hit = [];
      for (let i = 0; i < others.length; i++) {
        if (others[i].#aborted) continue;
        others[i].#aborted = true;
        others[i].#reason = reason;
        hit[hit.length] = others[i];
      }
      signal.#run();
      for (let i = 0; i < hit.length; i++) hit[i].#run();
    };
  }

  constructor(key) {
    if (key !== signalKey) throw new TypeErrorClass("Illegal constructor");
    super();
  }

  #sweep() {
    let n = 0;
    for (let i = 0; i < this.#algorithms.length; i++) if (this.#algorithms[i].algorithm !== null) this.#algorithms[n++] = this.#algorithms[i];
    this.#algorithms.length = n;
  }

  #run() {
    const list = this.#algorithms;
    this.#algorithms = [];
    for (let i = 0; i < list.length; i++) if (list[i].algorithm !== null) list[i].algorithm();
    dispatch(new Event("abort"), this, true);
  }

  static abort(reason = new DOMExceptionClass("This operation was aborted", "AbortError")) {
    const signal = newSignal();
    signal.#aborted = true;
    signal.#reason = reason;
    return signal;
  }

  static timeout(ms) {
    needArguments(arguments, 1);
    ms = +ms;
    if (!(ms > -1 && ms < 2 ** 53)) throw new TypeErrorClass("a timeout must be a number of milliseconds");
    const signal = newSignal();
    addTimer(() => abortNow(signal, new DOMExceptionClass("The operation was aborted due to timeout", "TimeoutError")), ms, [], false);
    return signal;
  }

  static any(signals) {
    needArguments(arguments, 1);
    const list = [...signals], out = newSignal();
    for (let i = 0; i < list.length; i++) if (!isSignal(list[i])) throw new TypeErrorClass("AbortSignal.any needs signals");
    for (let i = 0; i < list.length; i++) if (list[i].#aborted) { out.#aborted = true; out.#reason = list[i].#reason; return out; }
    out.#sources = new OwnSet();
    for (let i = 0; i < list.length; i++) {
      if (list[i].#sources === null) out.#sources.add(list[i]);
      else apply(setEach, list[i].#sources, [(source) => { out.#sources.add(source); }]);
    }
    apply(setEach, out.#sources, [(source) => { source.#dependents ??= []; source.#dependents[source.#dependents.length] = out; }]);
    return out;
  }

  get aborted() { return this.#aborted; }
  get reason() { return this.#reason; }
  throwIfAborted() { if (this.#aborted) throw this.#reason; }
  get onabort() { return this.#handler; }
  set onabort(value) {
    this.#handler = typeof value === "function" || isObject(value) ? value : null;
    if (this.#listener !== null) return;
    this.#listener = (event) => { if (typeof this.#handler === "function") apply(this.#handler, this, [event]); };
    this.addEventListener("abort", this.#listener);
  }
}
tag(AbortSignal, "AbortSignal");

class AbortController {
  #signal = newSignal();
  get signal() { return this.#signal; }
  abort(reason = new DOMExceptionClass("This operation was aborted", "AbortError")) { abortNow(this.#signal, reason); }
}
tag(AbortController, "AbortController");
