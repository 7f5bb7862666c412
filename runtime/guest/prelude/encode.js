// Values of ours, turned into expressions. What needs no change is not copied.

// Outgoing collects what one message introduces, so that it can be taken back if a later part cannot be sent.
class Outgoing {
  exported = null; // [entry id, …]
  boxes = null; // of targets in the value
  pipes = null; // that were begun for streams in it
  after = null; // promises to resolve after the message
  references = false; // the value holds stubs or targets
  errors = 0; // so many are in the value
  size = 0; // characters of the texts and bytes in it

  // add refuses early what would be too large in the end: writing it out takes seconds.
  add(length) {
    if ((this.size += length) > maxMessage) throw new RangeErrorClass(`a message may have ${maxMessage} characters: send it in parts, or as a stream`);
  }
  scope = null; // the recorder of a map
}

const cannotSend = (value, why) => new TypeErrorClass(`Cannot serialize value: ${why ?? describe(value)}`);
const describe = (value) => {
  try {
    if (typeof value === "symbol") return "a symbol";
    const Class = value.constructor;
    return typeof Class === "function" ? `[object ${textOf(Class.name)}]` : "[object Object]";
  } catch { return "[object]"; }
};

const encode = (v, out, depth) => {
  switch (typeof v) {
    case "string": if (v.length > 999) out.add(v.length); // falls through
    case "boolean": return v;
    case "number": return isFinite_(v) ? v : [v !== v ? "nan" : v > 0 ? "inf" : "-inf"];
    case "undefined": return ["undefined"];
    case "bigint": return ["bigint", "" + v];
    case "symbol": throw cannotSend(v);
    case "function": return encodeReference(v, out, depth);
  }
  if (v === null) return null;
  if (depth > maxDepthRPC) throw new RangeErrorClass(`a value may be nested ${maxDepthRPC} levels deep (does it contain itself?)`);
  if (isArray(v)) {
    const list = free([]);
    for (let i = 0; i < v.length; i++) list[i] = encode(v[i], out, depth + 1);
    return [list];
  }
  const prototype = getPrototypeOf(v);
  if (prototype === ObjectPrototype || prototype === null) return encodeFields(v, out, depth);
  return encodeObject(v, prototype, out, depth);
};

// encodeFields returns the object itself when it is plain JSON as it is.
const encodeFields = (v, out, depth) => {
  const keys = objectKeys(v);
  let copy = null;
  for (let i = 0; i < keys.length; i++) {
    const x = v[keys[i]], e = encode(x, out, depth + 1);
    if (copy !== null) copy[keys[i]] = e;
    else if (e !== x) {
      copy = create(null);
      for (let j = 0; j < i; j++) copy[keys[j]] = v[keys[j]];
      copy[keys[i]] = e;
    }
  }
  return copy === null ? v : copy;
};

const encodeObject = (v, prototype, out, depth) => {
  const view = containerNames.get(prototype);
  if (view !== undefined) return encodeBytes(bytesOf(v), view, out);
  if (prototype === ArrayBufferPrototype) return encodeBytes(new Uint8(v), "ArrayBuffer", out);
  if (prototype === DatePrototype) {
    const ms = apply(dateTime, v, []);
    return ["date", isFinite_(ms) ? ms : null];
  }
  if (isTarget(v)) return encodeReference(v, out, depth);
  if (inherits(v, ErrorPrototype)) return encodeError(v, out, depth);
  const name = lateClasses.get(prototype);
  if (name !== undefined && out.scope === null) {
    const expression = late("wire").encodeValue(v, name, out);
    if (expression !== undefined) return expression;
  }
  throw cannotSend(v);
};

const base64Options = { omitPadding: true };
const encodeBytes = (bytes, kind, out) => {
  out.add(apply(viewBytes, bytes, []) * 4 / 3);
  const text = apply(toBase64, bytes, [base64Options]);
  return kind === "Uint8Array" ? ["bytes", text] : ["bytes", text, kind];
};

// Errors are made of errors, of themselves even: those beyond the first maxErrors of a message go without what is in them.
const maxErrors = 100;

const encodeError = (error, out, depth) => {
  const e = free(["error", textOf(error.name), textOf(error.message)]);
  out.add(e[1].length + e[2].length);
  const props = create(null), keys = objectKeys(error);
  let any = false;
  const add = (key) => {
    if (key === "name" || key === "message" || key === "stack") return;
    try { props[key] = encode(error[key], out, depth + 2); any = true; } catch {} // what cannot be sent is left out
  };
  if (++out.errors > maxErrors) return e;
  for (let i = 0; i < keys.length; i++) add(keys[i]);
  if (hasOwn(error, "cause") && error.cause !== undefined) add("cause");
  if (hasOwn(error, "errors")) add("errors");
  if (any) { e[3] = null; e[4] = props; }
  return e;
};

// encodeReference sends a stub, a function or a target.
const encodeReference = (v, out, depth) => {
  const handler = handlerOf(v);
  out.references = true;
  if (out.scope !== null) return out.scope.capture(handler, v);
  if (handler === undefined) {
    const box = new Box(v, false);
    out.boxes ??= free([]);
    out.boxes[out.boxes.length] = box;
    return ["export", exportBox(box, out)];
  }
  handler.check();
  return encodeHook(handler.hook, handler.path, out, depth);
};

const encodeHook = (hook, path, out, depth) => {
  if (hook instanceof Local && path === null) return ["export", exportBox(hook.box, out)];
  if (hook instanceof Remote && hook.future.state === 0) {
    if (path === null) return ["import", hook.id];
    return path.length === 0 ? ["pipeline", hook.id] : ["pipeline", hook.id, path];
  }
  const future = hook instanceof Remote && path === null ? hook.future : hook.pull(path === null ? [] : path);
  const n = exportFuture(future, out);
  out.after ??= free([]);
  out.after[out.after.length] = n;
  return ["promise", n];
};

const rollBack = (out) => {
  if (out.pipes !== null) for (let i = 0; i < out.pipes.length; i++) out.pipes[i].drop();
  if (out.exported === null) return;
  for (let i = 0; i < out.exported.length; i++) releaseExport(out.exported[i], 1);
};

// errorExpression is the text of an expression for anything thrown; it never fails.
const errorExpression = (thrown) => {
  const out = new Outgoing();
  try {
    if (typeof thrown !== "function" && !(isObject(thrown) && isTarget(thrown))) {
      const e = encode(thrown, out, 0);
      if (out.exported === null) {
        const text = toText(e);
        if (typeof text === "string") return text;
      }
    }
  } catch {}
  rollBack(out);
  const text = errorText(thrown), more = text.length - maxText;
  return '["error","Error",' + stringify(more > 0 ? sliceOf(text, 0, maxText) + `… ${more} more characters` : text) + "]"; // of a string: no toJSON is asked
};
