// Calls on values of ours: which names can be reached, and what becomes of arguments and results.
const maxDepthRPC = 256;

// reach returns a property of a value as the other side may see it. On an object that passes by reference these
// are the methods and getters of its class; on plain data its own properties; nothing of Object.prototype.
const reach = (value, name) => {
  if (hasOwn(objectNames, name)) return undefined;
  if (value === null) return undefined;
  if (value === undefined) throw new TypeErrorClass(`Cannot read properties of ${value} (reading '${name}')`);
  if (value === mainTarget) return reachMember(value, name);
  const type = typeof value;
  if (type === "function") return hasOwn(value, name) && name !== "prototype" && name !== "name" && name !== "length" ? value[name] : undefined;
  if (type !== "object") return undefined;
  if (isArray(value)) return isInteger(name) && name >= 0 && hasOwn(value, name) ? value[name] : undefined;
  const prototype = getPrototypeOf(value);
  if (prototype === ObjectPrototype || prototype === null) return hasOwn(value, name) ? value[name] : undefined;
  return isTarget(value) ? reachMember(value, name) : undefined;
};
let mainTarget = null;

const reachMember = (value, name) => {
  if (hasOwn(value, name)) throw new TypeErrorClass(`'${name}' is a property of the instance: only methods and getters of its class can be reached.`);
  return name in ObjectPrototype ? memberOf(value, name) : value[name];
};

// memberOf is a member of the classes of a value, and not what a gadget has put on Object.prototype.
const memberOf = (value, name) => {
  for (let p = getPrototypeOf(value); p !== null && p !== ObjectPrototype; p = getPrototypeOf(p)) if (hasOwn(p, name)) return value[name];
  return undefined;
};

// run calls (or, with args null, reads) what lies at the path below value, and settles out with the outcome. held
// are the stubs in args: they are disposed when the call has ended.
const run = (value, path, args, held, out) => {
  let parent;
  try {
    for (let i = 0; i < path.length; i++) {
      const handler = handlerOf(value);
      if (handler !== undefined) return forward(handler, copyOf(path, i), args, held, out);
      parent = value;
      value = reach(value, path[i]);
    }
    const handler = handlerOf(value);
    if (handler !== undefined && (args !== null || handler.path !== null)) return forward(handler, [], args, held, out);
    if (args === null) {
      if (typeof value === "function" && handler === undefined && isObject(parent) && isTarget(parent)) value = bound(value, parent);
    } else if (typeof value !== "function") throw new TypeErrorClass(`'${apply(join, path, ["."])}' is not a function.`);
    else value = apply(value, parent, args);
  } catch (thrown) { return end(2, thrown, path, held, out); }
  finish(value, path, held, out);
};

const bound = (f, self) => function () { return apply(f, self, arguments); };

// forward passes a call on to a stub met on the way.
const forward = (handler, rest, args, held, out) => {
  try {
    handler.check();
    const path = handler.path === null ? free([]) : copyOf(handler.path, 0);
    for (let i = 0; i < rest.length; i++) path[path.length] = rest[i];
    const hook = args === null ? null : handler.hook.call(path, args);
    const future = hook === null ? handler.hook.pull(path) : hook.pull([]);
    future.when((v) => end(1, v, path, held, out), (e) => end(2, e, null, held, out));
  } catch (thrown) { end(2, thrown, rest, held, out); }
};

// finish waits for the result if it is a promise of any kind.
const finish = (value, path, held, out) => {
  try {
    const handler = handlerOf(value);
    if (handler !== undefined) {
      if (handler.path === null) return end(1, value, path, held, out);
      return handler.then((v) => end(1, v, path, held, out), (e) => end(2, e, path, held, out));
    }
    if (isObject(value)) {
      let promise = null;
      if (getPrototypeOf(value) === PromisePrototype) promise = value;
      else if (!isArray(value) && typeof value.then === "function") promise = new PromiseClass((resolve) => resolve(value));
      if (promise !== null) return whenSettled(promise, (v) => finish2(v, path, held, out), (e) => end(2, e, path, held, out));
    }
  } catch (thrown) { return end(2, thrown, path, held, out); }
  end(1, value, path, held, out);
};

// finish2 takes what a promise was fulfilled with: only a promise of RPC can still be a promise.
const finish2 = (value, path, held, out) => (typeof value === "function" ? finish(value, path, held, out) : end(1, value, path, held, out));

// end settles the call: stubs of its arguments are disposed, except those that are part of the result.
const end = (state, value, path, held, out) => {
  if (state === 2 && path !== null) logFailure(`${path.length === 0 ? "a callback" : textOf(apply(join, path, ["."])) + "()"} failed`, value);
  if (state === 2 && isInterrupt(value)) value = new ErrorClass("the call was interrupted: " + cpuText);
  if (held !== null) {
    try { release(held, state === 1 ? value : undefined, path); } catch (thrown) { // to look through a result runs code of the gadget
      release(held, undefined, path);
      if (path !== null) logFailure("a result could not be sent", thrown);
      return out.settle(2, thrown);
    }
  }
  out.settle(state, value);
};

const cpuText = "it used more than the CPU time that one turn may use";

// isInterrupt tells whether the engine has turned the end of a turn's time into an ordinary error, as it does for what runs
// inside a new Promise or a then.
const isInterrupt = (thrown) => {
  try { return isObject(thrown) && getPrototypeOf(thrown) === InternalErrorPrototype && thrown.message === "interrupted"; } catch { return false; }
};

const release = (held, result, path) => {
  if (typeof result === "function" || isObject(result)) {
    eachReference(result, (handler) => {
      for (let i = 0; i < held.length; i++) if (held[i] === handler) held[i] = null;
    }, 0);
  }
  const how = path === null || path.length === 0 ? "when the call it came with ended" : `when the call to ${textOf(path[path.length - 1])}() ended`;
  for (let i = 0; i < held.length; i++) if (held[i] !== null) held[i].dispose(how);
};

// callLocally is a call by this gadget on something of its own. Arguments and results are copied as far as they
// are data; objects by reference become stubs.
const callLocally = (target, path, args) => {
  const out = new Future(), result = new Future();
  const cx = new Context(null);
  let copies = null;
  try { if (args !== null) copies = copyIn(args, cx, 0); } catch (thrown) { return failed(thrown); }
  out.when((value) => {
    try { result.settle(1, copyIn(value, new Given(), 0)); } catch (thrown) { result.settle(2, thrown); }
  }, (error) => result.settle(2, error));
  run(target, path, copies, cx.held, out);
  return result;
};

// Given is the context of a result of this gadget's own: whoever has it sees to the end of the targets in it.
class Given {
  boxes = null;
  get scope() { return this; }
  hold(stub) { return stub; }
  boxOf(target) {
    this.boxes ??= new OwnMap();
    if (!this.boxes.has(target)) this.boxes.set(target, new Box(target, target === mainTarget));
    return this.boxes.get(target);
  }
}

// boxFor makes a quiet box: whoever gave the target sees to its end. What a map's own calls gave has a box already.
const boxFor = (target, cx) => (cx !== null && cx.scope !== null ? cx.scope.boxOf(target) : undefined) ?? new Box(target, true);

// copyIn copies plain data and replaces references by stubs of their own, noted in the context if there is one.
const copyIn = (value, cx, depth) => {
  let stub;
  if (typeof value === "function") {
    const handler = stubHandlers.get(value);
    stub = handler === undefined ? makeStub(new Local(boxFor(value, cx)), null) : handler.dup();
  } else if (!isObject(value)) return value;
  else if (isTarget(value)) stub = makeStub(new Local(boxFor(value, cx)), null);
  if (stub !== undefined) return cx === null ? stub : cx.hold(stub);
  if (depth > maxDepthRPC) throw new RangeErrorClass(`a value may be nested ${maxDepthRPC} levels deep`);
  if (isArray(value)) {
    const copy = free([]);
    for (let i = 0; i < value.length; i++) copy[i] = copyIn(value[i], cx, depth + 1);
    return setPrototypeOf(copy, ArrayPrototype);
  }
  const prototype = getPrototypeOf(value);
  if (prototype !== ObjectPrototype && prototype !== null) return value;
  const copy = create(null), keys = objectKeys(value);
  for (let i = 0; i < keys.length; i++) copy[keys[i]] = copyIn(value[keys[i]], cx, depth + 1);
  return setPrototypeOf(copy, ObjectPrototype);
};
