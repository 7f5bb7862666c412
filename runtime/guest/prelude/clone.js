// Stored values. A value is text: "1" for this version, then a kind.
//
//   1j<JSON>   plain data, which is most of what is ever stored: the engine's own JSON, no copy made
//   1s<JSON>   anything else that can be cloned
//
// In the second kind a JSON object stands for an object and a JSON array is [tag, …]:
//
//   a items…   array                u        undefined          n "NaN"|"Infinity"|"-Infinity"|"-0"
//   h n        n missing items      i digits BigInt             d ms|null   Date
//   m k,v,…    Map                  s items… Set                r source, flags   RegExp
//   b base64   ArrayBuffer          v name, buffer, offset, length   view on a buffer
//   e name, message, stack, cause   Error    w value  boxed Boolean, Number, String
//   @ n        the n-th object met, for shared and circular references, counted from 0
//
// Keys keep the order they have in the value, as a structured clone does. The same value gives the same text.
const maxCloneDepth = 1000;

const cloneError = (what) => new DOMExceptionClass(what + " cannot be stored or cloned", "DataCloneError");

const encodeValue = (value) => {
  switch (typeof value) {
    case "string": case "boolean": return "1j" + stringify(value);
    case "number": if (isFinite_(value) && !isSame(value, -0)) return "1j" + value; break;
    case "object": {
      const text = value === null ? "null" : plainJSON(value);
      if (text !== null) return "1j" + text;
    }
  }
  return "1s" + stringify(new Cloner().encode(value, 0));
};

// plainJSON returns the JSON of a value of which JSON is an exact copy, and null for any other: one with a value
// that JSON changes, or with an object met twice.
const plainJSON = (value) => {
  const seen = new OwnSet(), inside = []; // the objects around the one being visited
  let depth = 0;
  try {
    return stringify(value, function (key, v) {
      while (depth > 0 && inside[depth - 1] !== this) depth--;
      switch (typeof v) {
        case "string": if (typeof this[key] === "string") return v; break; // else a toJSON was called
        case "number": if (isFinite_(v) && (v !== 0 || !isSame(v, -0)) && typeof this[key] === "number") return v; break;
        case "boolean": if (typeof this[key] === "boolean") return v; break;
        case "object": {
          if (v === null) { if (this[key] === null) return v; break; }
          if (v !== this[key] || seen.has(v)) break;
          seen.add(v);
          inside[depth++] = v;
          if (depth > maxCloneDepth) throw tooDeep(); // also because the engine's time grows with its square
          if (isArray(v)) return v;
          const prototype = getPrototypeOf(v);
          if (prototype === ObjectPrototype || prototype === null) return v;
        }
      }
      throw notPlain;
    });
  } catch (thrown) {
    if (thrown === notPlain) return null;
    throw thrown;
  }
};
const notPlain = {};
const tooDeep = () => new RangeErrorClass(`a stored value may be nested ${maxCloneDepth} levels deep`);

class Cloner {
  seen = new OwnMap();

  encode(value, depth) {
    switch (typeof value) {
      case "string": case "boolean": return value;
      case "undefined": return ["u"];
      case "number": return isFinite_(value) && !isSame(value, -0) ? value : ["n", isSame(value, -0) ? "-0" : "" + value];
      case "bigint": return ["i", "" + value];
      case "symbol": throw cloneError("a symbol");
      case "function": throw cloneError(stubHandlers.has(value) ? "an RPC stub" : "a function");
    }
    if (value === null) return null;
    const index = this.seen.get(value);
    if (index !== undefined) return ["@", index];
    if (depth > maxCloneDepth) throw tooDeep();
    this.seen.set(value, this.seen.size);
    return this.object(value, depth + 1);
  }

  object(value, depth) {
    if (isArray(value)) return this.array(value, depth);
    const prototype = getPrototypeOf(value);
    if (prototype === ObjectPrototype || prototype === null) return this.fields(value, depth);
    const view = containerNames.get(prototype);
    if (view !== undefined) return this.view(value, view, depth);
    if (inherits(value, DatePrototype)) {
      const ms = apply(dateTime, value, []);
      return ["d", isFinite_(ms) ? ms : null];
    }
    if (inherits(value, MapPrototype)) return this.collection(value, "m", mapEach, depth);
    if (inherits(value, SetPrototype)) return this.collection(value, "s", setEach, depth);
    if (inherits(value, RegExpPrototype)) return ["r", apply(regExpSource, value, []), apply(regExpFlags, value, [])];
    if (inherits(value, ArrayBufferPrototype)) return ["b", apply(toBase64, new Uint8(value), [])];
    if (inherits(value, ErrorPrototype)) return this.error(value, depth);
    if (inherits(value, NumberPrototype)) return ["w", this.encode(apply(numberValue, value, []), depth)];
    if (inherits(value, StringPrototype)) return ["w", apply(stringValue, value, [])];
    if (inherits(value, BooleanPrototype)) return ["w", apply(booleanValue, value, [])];
    if (isTarget(value)) throw cloneError("an RpcTarget");
    if (inherits(value, PromisePrototype)) throw cloneError("a Promise");
    const name = lateClasses.get(prototype);
    if (name !== undefined) throw cloneError(`an object of ${name}`);
    return this.fields(value, depth);
  }

  array(value, depth) {
    const out = ["a"], length = value.length;
    for (let i = 0; i < length;) {
      let holes = 0;
      while (i < length && !hasOwn(value, i)) i++, holes++;
      if (holes > 0) out[out.length] = ["h", holes];
      else out[out.length] = this.encode(value[i++], depth);
    }
    return out;
  }

  fields(value, depth) {
    const out = create(null), keys = objectKeys(value);
    for (let i = 0; i < keys.length; i++) out[keys[i]] = this.encode(value[keys[i]], depth);
    return out;
  }

  collection(value, tag, each, depth) {
    const items = [], out = [tag];
    apply(each, value, [(v, k) => {
      if (tag === "m") items[items.length] = k;
      items[items.length] = v;
    }]);
    for (let i = 0; i < items.length; i++) out[out.length] = this.encode(items[i], depth);
    return out;
  }

  view(value, name, depth) {
    const data = name === "DataView";
    const buffer = apply(data ? dataViewBuffer : viewBuffer, value, []), offset = apply(data ? dataViewOffset : viewOffset, value, []);
    return ["v", name, this.encode(buffer, depth), offset, apply(data ? dataViewBytes : viewLength, value, [])];
  }

  error(value, depth) {
    const name = textOf(value.name), out = ["e", errorClasses[name] === undefined ? "Error" : name, textOf(value.message)];
    out[3] = typeof value.stack === "string" ? value.stack : null;
    if (hasOwn(value, "cause")) out[4] = this.encode(value.cause, depth);
    return out;
  }
}

const decodeValue = (text) => {
  if (typeof text === "string" && text[0] === "1") {
    if (text[1] === "j") return parseJSON(apply(sliceText, text, [2]));
    if (text[1] === "s") return new Uncloner().decode(parseJSON(apply(sliceText, text, [2])));
  }
  throw new ErrorClass("a stored value is damaged, or was written by a later version of Toolshed");
};
const sliceText = String.prototype.slice;

class Uncloner {
  met = [];

  // meet numbers an object before what is in it, as the encoder did.
  meet(object) { return this.met[this.met.length] = object; }

  decode(v) {
    if (!isObject(v)) return v;
    if (!isArray(v)) {
      this.meet(v);
      const keys = objectKeys(v);
      for (let i = 0; i < keys.length; i++) {
        const k = keys[i], x = v[k];
        if (isObject(x)) defineProperty(v, k, { value: this.decode(x), writable: true, enumerable: true, configurable: true });
      }
      return v;
    }
    switch (v[0]) {
      case "a": return this.array(v);
      case "u": return undefined;
      case "n": return v[1] === "-0" ? -0 : +v[1];
      case "i": return BigIntFunction(v[1]);
      case "d": return this.meet(new DateClass(v[1] === null ? NaN : v[1]));
      case "m": return this.map(v);
      case "s": return this.set(v);
      case "r": return this.meet(new RegExpClass(v[1], v[2]));
      case "b": return this.meet(bufferOf(v[1]));
      case "v": return this.view(v);
      case "e": return this.error(v);
      case "w": return this.meet(Object(this.decode(v[1])));
      case "@": return this.met[v[1]];
    }
    throw new ErrorClass("a stored value is damaged");
  }

  array(v) {
    const out = this.meet([]);
    for (let i = 1; i < v.length; i++) {
      if (isArray(v[i]) && v[i][0] === "h") out.length += v[i][1];
      else out[out.length] = this.decode(v[i]);
    }
    return out;
  }

  map(v) {
    const out = this.meet(new MapClass());
    for (let i = 1; i < v.length; i += 2) {
      const key = this.decode(v[i]);
      apply(mapAdd, out, [key, this.decode(v[i + 1])]);
    }
    return out;
  }

  set(v) {
    const out = this.meet(new SetClass());
    for (let i = 1; i < v.length; i++) apply(setAdd, out, [this.decode(v[i])]);
    return out;
  }

  view(v) {
    const at = this.met.length;
    this.meet(null);
    const view = new containerClasses[v[1]](this.decode(v[2]), v[3], v[4]);
    return this.met[at] = view;
  }

  error(v) {
    const Class = errorClasses[v[1]], error = this.meet(v[1] === "AggregateError" ? new Class([], v[2]) : new Class(v[2]));
    if (v[3] !== null) hide(error, "stack", v[3]);
    if (v.length > 4) hide(error, "cause", this.decode(v[4]));
    return error;
  }
}

const hide = (object, name, value) => defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
const bufferOf = (base64) => apply(viewBuffer, fromBase64(base64), []);

const structuredClone = (value, options) => {
  const transfer = isObject(options) ? options.transfer : undefined;
  if (transfer !== undefined && transfer.length !== 0) throw later("the option transfer of structuredClone", "leave it out: the value is copied");
  return decodeValue(encodeValue(value));
};
