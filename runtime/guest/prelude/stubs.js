// Stubs and promises of RPC, as a gadget sees them.
//
// A stub is a Proxy with a StubHandler. The handler has a hook, which knows where calls go: a Remote for an object
// of the other side, a Local for one of ours, a Later for a result of ours that may not be there yet. Every hook
// has call(path, args) and pull(path), and counts its handles: at none it lets go of what it stands for.

// Future is a promise that settles its waiters at once and in order, which native promises do not.
class Future {
  constructor() {
    this.state = 0; // 0 pending, 1 fulfilled, 2 rejected
    this.value = undefined;
    this.waiters = null;
  }

  when(ok, fail) {
    if (this.state === 1) ok(this.value);
    else if (this.state === 2) fail(this.value);
    else if (this.waiters === null) this.waiters = free([ok, fail]);
    else {
      this.waiters[this.waiters.length] = ok;
      this.waiters[this.waiters.length] = fail;
    }
  }

  settle(state, value) {
    if (this.state !== 0) return;
    this.state = state;
    this.value = value;
    const waiters = this.waiters;
    this.waiters = null;
    if (waiters === null) return;
    for (let i = 0; i < waiters.length; i += 2) waiters[i + state - 1](value);
  }
}

const failed = (error) => {
  const future = new Future();
  future.settle(2, error);
  return future;
};

// Local is a hook on an object of ours. A Box counts who may still reach the object; at none its [Symbol.dispose]
// runs, unless the box is quiet, which means that somebody else sees to that.
class Box {
  constructor(target, quiet) { this.target = target; this.quiet = quiet; this.count = 0; this.exported = 0; }

  drop() {
    if (--this.count === 0 && !this.quiet) disposeTarget(this.target);
  }
}

class Local {
  constructor(box) { this.box = box; this.handles = 1; box.count++; }
  call(path, args) { return new Later(callLocally(this.box.target, path, args)); }
  pull(path) { return callLocally(this.box.target, path, null); }
  drop() { if (--this.handles === 0) this.box.drop(); }
  onBroken() {}
}

class Later {
  constructor(future) { this.future = future; this.handles = 1; }

  call(path, args) {
    const out = new Future();
    this.future.when((value) => callLocally(value, path, args).when((v) => out.settle(1, v), (e) => out.settle(2, e)), (e) => out.settle(2, e));
    return new Later(out);
  }

  pull(path) { return path.length === 0 ? this.future : this.call(path, null).future; }
  drop() { this.handles--; }
  onBroken(callback) { this.future.when(() => {}, callback); }
}

// disposeTarget runs what a target does when the other side no longer needs it.
const disposeTarget = (target) => {
  try {
    const dispose = target[symbolDispose];
    if (typeof dispose === "function") apply(dispose, target, []);
  } catch (thrown) { logFailure("[Symbol.dispose] failed", thrown); }
};

const stubHandlers = new OwnWeakMap(); // proxy -> StubHandler
const streamHolders = new OwnWeakMap(); // received stream -> what lets go of it

// abandoned lets go of a stub that a gadget dropped without disposing it. A promise that is awaited is left alone.
const abandoned = new Finalization((handler) => { if (!handler.awaited) handler.dispose("collected"); });
const watchAbandoned = Finalization.prototype.register;

class StubHandler {
  disposed = ""; // how it was disposed, "" while it was not
  native = null; // the native promise made by then
  awaited = false;
  disposer = null;
  parent = undefined;
  keep = undefined;

  // path is null for a stub, and the path from the hook's object for a promise. Only an owner counts as a handle.
  constructor(hook, path, owner) { this.hook = hook; this.path = path; this.owner = owner; }

  dispose(how) {
    if (this.disposed !== "" || !this.owner) return;
    this.disposed = how;
    this.hook.drop();
  }

  // fault returns the error of using a stub after it, or the one it is a property of, was disposed; else null.
  fault() {
    let owner = this;
    while (owner.parent !== undefined) owner = owner.parent;
    return owner.disposed === "" ? null : new ErrorClass(`Attempted to use an RPC stub after it was disposed (${owner.disposed}). Keep a stub with dup().`);
  }

  check() {
    const fault = this.fault();
    if (fault !== null) throw fault;
  }

  then(ok, fail) {
    if (this.native === null) {
      this.check();
      this.awaited = true;
      const future = this.hook.pull(this.path);
      this.native = new PromiseClass((resolve, reject) => future.when((value) => resolve(ownResult(value)), reject));
      hide(this.native, "constructor", undefined); // then asks it for a species
    }
    return apply(promiseThen, this.native, [ok, fail]);
  }

  dup() {
    this.check();
    if (this.path !== null && (this.path.length > 0 || !this.owner)) return makeStub(new Later(this.hook.pull(this.path)), []);
    this.hook.handles++;
    return makeStub(this.hook, this.path);
  }

  onBroken(callback) {
    if (typeof callback !== "function") throw new TypeErrorClass("onRpcBroken needs a function");
    this.hook.onBroken((error) => {
      try { callback(error); } catch (thrown) { logFailure("an onRpcBroken callback failed", thrown); }
    });
  }

  // Proxy traps.

  get(_, name, receiver) {
    if (typeof name === "symbol") return name === symbolDispose ? this.disposer ??= () => this.dispose("by [Symbol.dispose]") : undefined;
    switch (name) {
      case "dup": return () => this.dup();
      case "onRpcBroken": return (callback) => this.onBroken(callback);
      case "map": return (mapper) => sendMap(this, mapper);
      case "then": return this.path === null ? undefined : (ok, fail) => this.then(ok, fail);
      case "catch": return this.path === null ? undefined : (fail) => this.then(undefined, fail);
      case "finally": return this.path === null ? undefined : (f) => { this.then(); return apply(promiseFinally, this.native, [f]); };
    }
    return makeProxy(this.child(name, receiver));
  }

  // child is the promise of a property. It keeps its parent's proxy, which must not count as abandoned before.
  child(name, proxy) {
    const path = this.path === null ? free([]) : copyOf(this.path, 0);
    path[path.length] = isIndex(name) ? +name : name; // an item of a list has a number on the wire
    const child = new StubHandler(this.hook, path, false);
    child.parent = this;
    child.keep = proxy;
    return child;
  }

  apply(_, __, args) {
    const fault = this.fault();
    if (fault !== null) return makeStub(new Later(failed(fault)), []);
    const path = this.path === null ? [] : this.path;
    if (recorder !== null) return makeStub(recorder.call(recorder.idOf(this.hook), path, args), []); // inside map()
    return makeStub(this.hook.call(path, args), []);
  }

  construct() { throw new TypeErrorClass("an RPC stub is not a constructor"); }
  getPrototypeOf() { return this.path === null ? RpcStub.prototype : RpcPromise.prototype; }
  has(_, name) { return name === symbolDispose || name === "dup" || name === "onRpcBroken" || name === "map" || (this.path !== null && (name === "then" || name === "catch" || name === "finally")); }
  ownKeys() { return []; }
  getOwnPropertyDescriptor() { return undefined; }
  set() { throw new TypeErrorClass("an RPC stub's properties cannot be set"); }
  defineProperty() { throw new TypeErrorClass("an RPC stub's properties cannot be set"); }
  deleteProperty() { throw new TypeErrorClass("an RPC stub's properties cannot be deleted"); }
  setPrototypeOf() { throw new TypeErrorClass("an RPC stub's prototype cannot be set"); }
}

const isIndex = (name) => {
  const c = apply(charCodeAt, name, [0]);
  return c >= 48 && c <= 57 && "" + (name >>> 0) === name;
};

const proxyTarget = () => {}; // of every stub: makes it callable

const makeProxy = (handler) => {
  const proxy = new ProxyClass(proxyTarget, handler);
  stubHandlers.set(proxy, handler);
  return proxy;
};

// makeStub makes the proxy for a handle that the hook already counts.
const makeStub = (hook, path) => {
  const handler = new StubHandler(hook, path, true), proxy = makeProxy(handler);
  apply(watchAbandoned, abandoned, [proxy, handler]);
  return proxy;
};

const handlerOf = (value) => (typeof value === "function" ? stubHandlers.get(value) : undefined);

// ownResult gives the receiver of a result the means to dispose every stub in it.
const ownResult = (value) => {
  if (isObject(value) && !isTarget(value) && !hasOwn(value, symbolDispose) && isExtensible(value)) {
    hide(value, symbolDispose, () => eachReference(value, (handler) => { if (handler !== null) handler.dispose("with the result it came in"); }, 0));
  }
  return value;
};

class RpcPromise {
  constructor() { throw new TypeErrorClass("an RpcPromise comes from a call only"); }
}

// RpcTarget, RpcStub, DurableObject and WorkerEntrypoint are what a gadget imports.
class RpcTarget {}

class RpcStub {
  constructor(target) {
    const handler = handlerOf(target);
    if (handler !== undefined) return handler.dup();
    if (typeof target !== "function" && !isObject(target)) throw new TypeErrorClass("RpcStub needs an RpcTarget or a function");
    return makeStub(new Local(new Box(target, false)), null);
  }
}

class DurableObject {
  ctx; env;
  constructor(ctx, env) { this.ctx = ctx; this.env = env; }
}

class WorkerEntrypoint {
  ctx; env;
  constructor(ctx, env) { this.ctx = ctx; this.env = env; }
}

const targetPrototypes = [RpcTarget.prototype, DurableObject.prototype, WorkerEntrypoint.prototype];

// isTarget tells whether an object passes by reference.
const isTarget = (value) => {
  for (let p = getPrototypeOf(value); p !== null && p !== ObjectPrototype; p = getPrototypeOf(p)) {
    if (p === targetPrototypes[0] || p === targetPrototypes[1] || p === targetPrototypes[2]) return true;
  }
  return false;
};

// eachReference visits the stubs, functions and targets in a value: visit(handler, null) or visit(null, target).
const eachReference = (value, visit, depth) => {
  if (typeof value === "function") {
    const handler = stubHandlers.get(value);
    if (handler === undefined) visit(null, value);
    else visit(handler, null);
    return;
  }
  if (!isObject(value) || depth > maxDepthRPC) return;
  const list = isArray(value);
  if (!list) {
    const prototype = getPrototypeOf(value);
    if (prototype !== ObjectPrototype && prototype !== null) {
      if (isTarget(value)) visit(null, value);
      else if (lateClasses.size > 0 && streamHolders.has(value)) visit(streamHolders.get(value), null);
      return;
    }
  }
  const keys = list ? value : objectKeys(value);
  for (let i = 0; i < keys.length; i++) {
    const v = list ? value[i] : value[keys[i]];
    if (typeof v === "function" || isObject(v)) eachReference(v, visit, depth + 1);
  }
};
