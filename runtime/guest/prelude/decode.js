// Expressions of the other side, turned into values in place.

// Refusal is an expression that is legal and not supported: it fails its call, where a wrong one ends the session.
class Refusal extends TypeError {}

// Context of one message, or of one element in a map: the stubs made for it, the promises it waits for, and what
// its ids stand for.
class Context {
  constructor(scope) {
    this.scope = scope; // null: the session's tables; else the table of a map
    this.held = null;
    this.waits = null; // [parent, key, future, …]
  }

  hold(stub) {
    this.held ??= free([]);
    this.held[this.held.length] = handlerOf(stub);
    return stub;
  }
}

const wrong = (what) => new TypeErrorClass("bad RPC message: " + what);

const decode = (v, cx, depth) => {
  if (depth > maxDepthRPC) throw wrong(`nested deeper than ${maxDepthRPC} levels`);
  if (isArray(v)) {
    if (v.length !== 1 || !isArray(v[0])) return special(v, cx, depth);
    const list = v[0];
    for (let i = 0; i < list.length; i++) if (isObject(list[i])) place(list, i, cx, depth + 1);
    return list;
  }
  const keys = objectKeys(v);
  for (let i = 0; i < keys.length; i++) {
    const k = keys[i];
    if (hasOwn(objectNames, k) || k === "toJSON") { // never delivered, but what is in it must be let go
      const x = v[k];
      delete v[k];
      if (isObject(x)) decode(x, cx, depth + 1);
    } else if (isObject(v[k])) place(v, k, cx, depth + 1);
  }
  return v;
};

// place decodes parent[key] and puts the value there, at once or when the promise it names is settled.
const place = (parent, key, cx, depth) => {
  const value = decode(parent[key], cx, depth);
  if (value instanceof Future) {
    if (value.state === 1) parent[key] = copyIn(value.value, cx, 0);
    else {
      parent[key] = undefined;
      cx.waits ??= free([]);
      cx.waits[cx.waits.length] = parent;
      cx.waits[cx.waits.length] = key;
      cx.waits[cx.waits.length] = value;
    }
  } else parent[key] = value;
};

const decodeList = (list, cx, depth) => {
  for (let i = 0; i < list.length; i++) if (isObject(list[i])) place(list, i, cx, depth);
  return list;
};

// whenReady calls ok once every promise in the decoded value is in its place, or fail with the first failure.
const whenReady = (cx, ok, fail) => {
  const waits = cx.waits;
  if (waits === null) return ok();
  let missing = waits.length / 3, over = false;
  for (let i = 0; i < waits.length; i += 3) {
    const parent = waits[i], key = waits[i + 1];
    waits[i + 2].when((value) => {
      if (over) return;
      try { parent[key] = copyIn(value, cx, 0); } catch (thrown) { over = true; return fail(thrown); }
      if (--missing === 0) { over = true; ok(); }
    }, (error) => {
      if (!over) { over = true; fail(error); }
    });
  }
};

const special = (v, cx, depth) => {
  switch (v[0]) {
    case "undefined": return undefined;
    case "inf": return Infinity;
    case "-inf": return -Infinity;
    case "nan": return NaN;
    case "bigint": return decodeBigInt(v[1]);
    case "date":
      if (v[1] !== null && typeof v[1] !== "number") throw wrong("date");
      return new DateClass(v[1] === null ? NaN : v[1]);
    case "bytes": return decodeBytes(v);
    case "error": return decodeError(v, cx, depth);
    case "export": return importStub(v[1], cx);
    case "promise": return importPromise(v[1]);
    case "import": return importBack(v, cx, depth);
    case "pipeline": return pipelined(v, cx, depth);
    case "remap": return remapped(v, cx, depth);
    case "writable": return late("wire").receiveWritable(importHook(v[1], cx), cx);
    case "readable": return late("wire").takeReadable(lookup(v[1], sessionContext), cx);
    case "blob":
      if (typeof v[1] !== "string" || !isArray(v[2]) || v[2][0] !== "readable") throw wrong("blob");
      return late("wire").receiveBlob(v[1], lookup(v[2][1], sessionContext));
    case "url": case "headers": return late("wire").receiveValue(v[0], v[1]);
    case "response": return late("wire").receiveMessage(v[0], null, decodeBody(v[1], cx, depth), v[2]);
    case "request":
      if (typeof v[1] !== "string" || !isObject(v[2])) throw wrong("request");
      return late("wire").receiveMessage(v[0], v[1], decodeBody(v[2].body, cx, depth), v[2]);
  }
  throw wrong("unknown expression");
};

const id = (v) => {
  if (!isInteger(v)) throw wrong("an id is not a whole number");
  return v;
};

const decodeBody = (body, cx, depth) => (isObject(body) ? decode(body, cx, depth + 1) : body ?? null);

const pathOf = (v) => {
  if (v === undefined) return [];
  if (!isArray(v)) throw wrong("path");
  for (let i = 0; i < v.length; i++) if (typeof v[i] !== "string" && !isInteger(v[i])) throw wrong("path");
  return v;
};

const decodeBigInt = (digits) => {
  if (typeof digits !== "string" || digits.length > 16385) throw wrong("bigint");
  try { return BigIntFunction(digits); } catch { throw wrong("bigint"); }
};

const decodeBytes = (v) => {
  let bytes;
  try { bytes = fromBase64(v[1]); } catch { throw wrong("bytes"); }
  if (v.length < 3) return bytes;
  const buffer = apply(viewBuffer, bytes, []);
  if (v[2] === "ArrayBuffer") return buffer;
  const Class = typeof v[2] === "string" ? containerClasses[v[2]] : undefined;
  if (Class === undefined) throw wrong("bytes of an unknown kind");
  try { return new Class(buffer); } catch { throw wrong("bytes of a wrong length"); }
};

const decodeError = (v, cx, depth) => {
  if (typeof v[1] !== "string" || typeof v[2] !== "string") throw wrong("error");
  const Class = errorClasses[v[1]] ?? ErrorClass;
  const error = Class === errorClasses.AggregateError ? new Class([], v[2]) : new Class(v[2]);
  if (error.name !== v[1]) hide(error, "name", v[1]);
  if (typeof v[3] === "string") hide(error, "stack", v[3]);
  if (isObject(v[4]) && !isArray(v[4])) {
    const props = decode(v[4], cx, depth + 1), keys = objectKeys(props);
    for (let i = 0; i < keys.length; i++) {
      const k = keys[i];
      if (k === "name" || k === "message" || k === "stack") continue;
      if (k === "cause" || k === "errors") hide(error, k, props[k]);
      else put(error, k, props[k]);
    }
  }
  return error;
};

// importBack is an object of ours that comes home: a stub on it, or a stub on the outcome of a call.
const importBack = (v, cx, depth) => {
  const hook = v.length > 2 ? new Later(pipelined(v, cx, depth)) : hookFor(v[1], cx);
  const stub = makeStub(hook, hook instanceof Later ? [] : null);
  return cx.hold(stub);
};

// pipelined evaluates [_, id, path, args] to the future of its outcome.
const pipelined = (v, cx, depth) => {
  const out = new Future();
  startCall(v, cx, depth, out);
  return out;
};

// startCall begins the call, or the read, that v describes. Its arguments have a context of their own, because
// their stubs live as long as this call.
const startCall = (v, cx, depth, out) => {
  const source = lookup(v[1], cx), path = pathOf(v[2]);
  if (v.length < 4) return source.run(path, null, null, out);
  if (!isArray(v[3])) throw wrong("arguments");
  const inner = new Context(cx.scope);
  let args;
  try { args = decodeList(v[3], inner, depth + 1); } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    return end(2, thrown, path, inner.held, out);
  }
  if (inner.waits === null) source.run(path, args, inner.held, out);
  else whenReady(inner, () => source.run(path, args, inner.held, out), (error) => end(2, error, null, inner.held, out));
};
