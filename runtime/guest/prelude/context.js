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
  constructor(id) {
    this.id = new Identity(id);
    this.storage = new Storage();
  }

  // waitUntil: a gadget lives on by itself, so only a failure must not go unnoticed.
  waitUntil(promise) {
    apply(promiseThen, new PromiseClass((resolve) => resolve(promise)), [undefined, (thrown) => logFailure("a promise given to waitUntil failed", thrown)]);
  }

  // blockConcurrencyWhile holds back calls until the callback has ended. If it fails, so does the gadget.
  blockConcurrencyWhile(callback) {
    gates++;
    backlog ??= [];
    const result = new PromiseClass((resolve) => resolve(callback()));
    apply(promiseThen, result, [openGate, (thrown) => {
      logFailure("blockConcurrencyWhile failed", thrown);
      hostFail("blockConcurrencyWhile failed: " + errorText(thrown));
    }]);
    return result;
  }

  restore() { throw later("ctx.restore", "pass the RpcTarget itself meanwhile"); }
  acceptWebSocket() { throw noNetwork("ctx.acceptWebSocket"); }
}

const openGate = () => {
  while (gates === 1 && backlog.length > 0) {
    const calls = backlog;
    backlog = [];
    for (let i = 0; i < calls.length; i++) {
      if (gates > 1) backlog[backlog.length] = calls[i];
      else calls[i]();
    }
  }
  gates--;
};

hide(globalThis, symbolFor("toolshed.workers"), freeze({ DurableObject, WorkerEntrypoint, RpcTarget, RpcStub, RpcPromise, restore, env }));
