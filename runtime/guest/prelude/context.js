// ctx, and the module "cloudflare:workers".
const env = {};
const restore = Symbol("restore");

class Identity {
  #text;
  constructor(text) { this.#text = text; }
  toString() { return this.#text; }
  equals(other) { return isObject(other) && textOf(other) === this.#text; }
}

class GadgetContext {
  id;
  storage = new Storage();
  constructor(id) { this.id = new Identity(id); }

  // waitUntil: the timer, which never runs, keeps the host from ending a gadget that seems to have nothing to do. A failure
  // must not go unnoticed.
  waitUntil(promise) {
    const kept = addTimer(() => {}, 2 ** 31 - 1, [], false), end = () => clearTimer(kept);
    apply(promiseThen, new PromiseClass((resolve) => resolve(promise)), [end, (thrown) => {
      end();
      logFailure("a promise given to waitUntil failed", thrown);
    }]);
  }

  // blockConcurrencyWhile holds back all that does not belong to the callback until it has ended and what waits for that has
  // run (sections.js). The callback begins after the code that is running now. If it fails, or takes more than 30 s, so does
  // the gadget.
  blockConcurrencyWhile(callback) {
    return new PromiseClass((resolve, reject) => queueSection(new Block(openOne(section), callback, resolve, reject)));
  }

  // abort ends the instance: what the turn has written is lost, calls that wait fail, and the next call finds a new one.
  abort(reason) { hostFail("the gadget ended itself: " + (reason === undefined ? "it called ctx.abort()" : errorText(reason))); }

  // restore makes a persistent stub: it stands for what the gadget's [restore](params) gives, and can be stored. Reading it
  // back gives a stub that calls [restore](params) again when it is first used, also after a restart. The params are data.
  restore(params) {
    const hook = new Restored(encodeValue(params));
    if (mainTarget !== null) {
      const target = hook.target();
      if (target.state === 2) throw target.value;
    }
    return makeStub(hook, null);
  }

  acceptWebSocket() { throw noNetwork("ctx.acceptWebSocket"); }
}

// Restored is a hook on what [restore](params) gives, asked for once and no sooner than it is needed.
class Restored {
  constructor(text) { this.text = text; this.handles = 1; this.future = null; }

  target() {
    if (this.future !== null) return this.future;
    const future = this.future = new Future(), made = new Future();
    made.when((value) => {
      if (typeof value === "function" || (isObject(value) && isTarget(value))) future.settle(1, value);
      else future.settle(2, new TypeErrorClass("[restore]() must give an RpcTarget, a function or a stub"));
    }, (error) => future.settle(2, error));
    let value;
    try {
      if (typeof mainTarget?.[restore] !== "function") throw new TypeErrorClass("the gadget's class has no [restore](params), which a persistent stub needs");
      value = mainTarget[restore](decodeValue(this.text));
    } catch (thrown) {
      end(2, thrown, ["[restore]"], null, made);
      return future;
    }
    finish(value, ["[restore]"], null, made);
    return future;
  }

  call(path, args) { return new Later(this.target()).call(path, args); }
  pull(path) { return new Later(this.target()).pull(path); }
  onBroken(callback) { if (this.future !== null) this.future.when(() => {}, callback); }

  drop() {
    if (--this.handles > 0 || this.future === null) return;
    this.future.when((value) => {
      const handler = handlerOf(value);
      if (handler !== undefined) handler.dispose("with the persistent stub that stood for it");
      else disposeTarget(value);
    }, () => {});
  }
}

// persistentForm is what is stored for a stub: ["p", params] for one of ctx.restore, ["g", name] for a binding, which is
// kept as its name and read back as whatever has that name in env then. Any other stub is null: it cannot be stored.
const persistentForm = (handler) => {
  handler.check();
  if (handler.hook instanceof Restored && handler.path === null) return ["p", handler.hook.text];
  if (handler instanceof BindingHandler && handler.path.length === 1) return ["g", handler.path[0]];
  return null;
};

const readBinding = (name) => {
  const binding = hasOwn(env, name) ? env[name] : undefined;
  if (handlerOf(binding) !== undefined) return binding.dup();
  return makeStub(new Later(failed(new ErrorClass(`the stored binding ${textOf(name)} is not in env any more`))), null);
};

hide(globalThis, symbolFor("toolshed.workers"), freeze({ DurableObject, WorkerEntrypoint, RpcTarget, RpcStub, RpcPromise, restore, env }));
