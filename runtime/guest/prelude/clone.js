// Stored values. A value is text: "1" for this version, then a kind.
//
//   1j<JSON>   plain data, which is most of what is ever stored: the engine's own JSON, no copy made
//   1s<JSON>   anything else that can be cloned
//
// In the second kind a JSON object stands for an object and a JSON array is [tag, …]:
//
//   a items… [k, fields]   array, with its other properties if it has any     u   undefined          n "NaN"|"Infinity"|"-Infinity"|"-0"
//   h n        n missing items (in an array)      i digits BigInt             d ms|null   Date
//   m k,v,…    Map                  s items… Set                r source, flags   RegExp
//   b base64   ArrayBuffer          v name, buffer, offset, length   view on a buffer
//   e name, message, stack, cause   Error    w value  boxed Boolean, Number, String, BigInt
//   p params   persistent stub      g name     binding of env; both in what is stored only
//   t n        the n-th buffer handed over (never in what is stored)
//   @ n        the n-th object met, for shared and circular references, counted from 0
//
// Keys keep the order they have in the value, as a structured clone does. The same value gives the same text.
const maxCloneDepth = 1000;

const cloneError = (what, where, hint = "") => new DOMExceptionClass(`${what} cannot be stored or cloned${where === "" ? "" : ` (it is at ${where})`}${hint}`, "DataCloneError");

// encodeStored is encodeValue for a value that is stored, which may hold persistent stubs.
const encodeStored = (value) => encodeValue(value, true);

const encodeValue = (value, stored = false) => {
  switch (typeof value) {
    case "string": case "boolean": return "1j" + stringify(value);
    case "number": if (isFinite_(value) && !isSame(value, -0)) return "1j" + value; break;
    case "object": {
      const text = value === null ? "null" : plainJSON(value);
      if (text !== null) return "1j" + text;
    }
  }
  const cloner = new Cloner(stored), tree = cloner.encode(value, 0);
  // What came from a class is plain data once it is copied, and then has the text of plain data.
  return cloner.plainly ? "1j" + toText(new Uncloner().decode(tree)) : "1s" + toText(tree);
};

// plainJSON returns the JSON of a value of which JSON is an exact copy, and null for any other: one with a value
// that JSON changes, or with an object met twice.
const plainJSON = (value) => {
  const seen = new OwnSet(), inside = free([]); // the objects around the one being visited
  let depth = 0, over = null;
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
          if (depth > maxCloneDepth) throw over = tooDeep(); // also because the engine's time grows with its square
          if (isArray(v)) {
            if (objectKeys(v).length === v.length) return v;
            break;
          }
          const prototype = getPrototypeOf(v);
          if (prototype === ObjectPrototype || prototype === null) return v;
        }
      }
      throw notPlain;
    });
  } catch (thrown) {
    if (thrown === over) throw thrown;
    return null; // it is not plain, or a toJSON of the gadget's throws, which the cloner does not ask
  }
};
const notPlain = {};
const tooDeep = () => new RangeErrorClass(`a stored value may be nested ${maxCloneDepth} levels deep`);

const bigIntValue = BigInt.prototype.valueOf, BigIntPrototype = BigInt.prototype;
const cloneClasses = create(null);
for (const Class of [...containers, ...(typeof Float16Array === "function" ? [Float16Array] : [])]) cloneClasses[Class.name] = Class;
// unclonable are the classes whose objects are more than their fields.
const unclonable = [];
for (const Class of [Promise, WeakMap, WeakSet, WeakRef, FinalizationRegistry, Symbol, TextEncoder, TextDecoder]) unclonable[unclonable.length] = [Class.prototype, Class.name];
for (const f of [function* () {}, async function* () {}]) unclonable[unclonable.length] = [getPrototypeOf(f.prototype), "Generator"];

// inside asks a built-in for what an object really is: undefined where it is not of that kind, whatever its prototype says.
const inside = (method, value) => { try { return apply(method, value, []); } catch { return undefined; } };

const pathText = (keys, depth) => {
  let text = "";
  for (let i = 0; i < depth; i++) text += typeof keys[i] === "number" ? `[${keys[i]}]` : (i > 0 ? "." : "") + keys[i];
  return text;
};

class Cloner {
  seen = new OwnMap();
  moved = null; // the buffers that are handed over, in the order of their list
  keys = free([]); // the way to what is being encoded, one for each level
  plainly = true; // JSON is an exact copy of what has been met so far
  constructor(stored) { this.stored = stored; }

  // special is what JSON has no form for.
  special(form) {
    if (form !== undefined) this.plainly = false;
    return form;
  }

  // at encodes what an object holds.
  at(key, value, depth) {
    this.keys[depth - 1] = key;
    return this.encode(value, depth);
  }

  refuse(what, depth, hint) { return cloneError(what, pathText(this.keys, depth), hint); }

  encode(value, depth) {
    switch (typeof value) {
      case "string": case "boolean": return value;
      case "undefined": return this.special(["u"]);
      case "number": return isFinite_(value) && !isSame(value, -0) ? value : this.special(["n", isSame(value, -0) ? "-0" : "" + value]);
      case "bigint": return this.special(["i", "" + value]);
      case "symbol": throw this.refuse("a symbol", depth);
    }
    if (value === null) return null;
    const index = this.seen.get(value);
    if (index !== undefined) return this.special(["@", index]);
    if (depth > maxCloneDepth) throw tooDeep();
    this.seen.set(value, this.seen.size);
    if (typeof value === "function") return this.reference(value, depth);
    return this.object(value, depth + 1);
  }

  // reference encodes a function or a stub.
  reference(value, depth) {
    const handler = stubHandlers.get(value);
    if (!this.stored) throw this.refuse(handler === undefined ? "a function" : "an RPC stub", depth);
    const hint = ": only what ctx.restore(params) gives can be kept, and the bindings of env";
    if (handler === undefined) throw this.refuse("a function", depth, hint);
    const form = persistentForm(handler);
    if (form === null) throw this.refuse("an RPC stub", depth, hint);
    return this.special(form);
  }

  object(value, depth) {
    if (isArray(value)) return this.array(value, depth);
    const prototype = getPrototypeOf(value);
    if (prototype === ObjectPrototype || prototype === null) return this.fields(value, depth);
    return this.special(this.view(value, depth) ?? this.dated(value) ?? this.collected(value, depth)) ?? this.plain(value, prototype, depth);
  }

  // dated encodes what is one value inside.
  dated(value) {
    const ms = inherits(value, DatePrototype) ? inside(dateTime, value) : undefined;
    if (ms !== undefined) return ["d", isFinite_(ms) ? ms : null];
    if (inherits(value, RegExpPrototype)) {
      const source = inside(regExpSource, value);
      if (source !== undefined) return ["r", source, apply(regExpFlags, value, [])];
    }
    for (let i = 0; i < boxes.length; i++) {
      const boxed = inherits(value, boxes[i][0]) ? inside(boxes[i][1], value) : undefined;
      if (boxed !== undefined) return ["w", this.encode(boxed, 0)];
    }
  }

  collected(value, depth) {
    if (inherits(value, MapPrototype)) return this.collection(value, "m", mapEach, depth);
    if (inherits(value, SetPrototype)) return this.collection(value, "s", setEach, depth);
    if (inherits(value, ErrorPrototype)) return this.error(value, depth);
  }

  plain(value, prototype, depth) {
    if (isTarget(value)) throw this.refuse("an RpcTarget", depth - 1, this.stored ? ": keep what ctx.restore(params) gives for it" : "");
    for (let i = 0; i < unclonable.length; i++) if (inherits(value, unclonable[i][0])) throw this.refuse(`a ${unclonable[i][1]}`, depth - 1);
    const name = lateClasses.get(prototype);
    if (name !== undefined) throw this.refuse(`an object of ${name}`, depth - 1);
    return this.fields(value, depth);
  }

  // array encodes the items that are there, however long the array says it is.
  array(value, depth) {
    const out = free(["a"]), keys = objectKeys(value), length = value.length;
    let at = 0, k = 0; // the next item, and the next key
    for (; k < keys.length; k++) {
      const index = keys[k] >>> 0;
      if ("" + index !== keys[k] || index >= length) break; // indexes come first, rising
      if (index > at) out[out.length] = this.special(["h", index - at]);
      out[out.length] = this.at(index, value[index], depth);
      at = index + 1;
    }
    if (at < length) out[out.length] = this.special(["h", length - at]);
    if (k < keys.length) {
      const more = create(null);
      for (; k < keys.length; k++) more[keys[k]] = this.at(keys[k], value[keys[k]], depth);
      out[out.length] = this.special(["k", more]);
    }
    return out;
  }

  fields(value, depth) {
    const out = create(null), keys = objectKeys(value);
    for (let i = 0; i < keys.length; i++) out[keys[i]] = this.at(keys[i], value[keys[i]], depth);
    return out;
  }

  collection(value, tag, each, depth) {
    const items = free([]), out = free([tag]);
    try {
      apply(each, value, [(v, k) => {
        if (tag === "m") items[items.length] = k;
        items[items.length] = v;
      }]);
    } catch { return undefined; } // only its prototype is one
    for (let i = 0; i < items.length; i++) {
      const key = tag === "s" || i % 2 === 1 ? "an item of the " + (tag === "m" ? "Map" : "Set") : "a key of the Map";
      out[out.length] = this.at(key, items[i], depth);
    }
    return out;
  }

  // view encodes an ArrayBuffer or a view on one, also of a subclass.
  view(value, depth) {
    const kind = apply(viewKind, value, []);
    if (kind !== undefined && apply(bufferDetached, apply(viewBuffer, value, []), [])) throw this.refuse("a view on an ArrayBuffer that was transferred", depth - 1);
    if (kind !== undefined) return ["v", kind, this.at("buffer", apply(viewBuffer, value, []), depth), apply(viewOffset, value, []), apply(viewLength, value, [])];
    if (inherits(value, ArrayBufferPrototype) && inside(bufferDetached, value)) throw this.refuse("an ArrayBuffer that was transferred", depth - 1);
    if (inherits(value, ArrayBufferPrototype) && inside(bufferBytes, value) !== undefined) return this.moved !== null && this.moved.has(value) ? ["t", this.moved.get(value)] : ["b", apply(toBase64, new Uint8(value), [])];
    const size = inherits(value, DataViewPrototype) ? inside(dataViewBytes, value) : undefined;
    if (size !== undefined) return ["v", "DataView", this.at("buffer", apply(dataViewBuffer, value, []), depth), apply(dataViewOffset, value, []), size];
  }

  error(value, depth) {
    const name = textOf(value.name), out = free(["e", errorClasses[name] === undefined || name === "AggregateError" ? "Error" : name, textOf(value.message)]);
    out[3] = typeof value.stack === "string" ? value.stack : null;
    if (hasOwn(value, "cause")) out[4] = this.at("cause", value.cause, depth);
    return out;
  }
}

const DataViewPrototype = DataView.prototype;
const boxes = [[NumberPrototype, numberValue], [StringPrototype, stringValue], [BooleanPrototype, booleanValue], [BigIntPrototype, bigIntValue]];

const decodeValue = (text) => {
  if (typeof text === "string" && text[0] === "1") {
    try {
      if (text[1] === "j") return parseJSON(apply(sliceText, text, [2]));
      if (text[1] === "s") return new Uncloner().decode(parseJSON(apply(sliceText, text, [2])));
    } catch (thrown) { throw new ErrorClass("a stored value is damaged: " + errorText(thrown)); }
  }
  throw new ErrorClass("a stored value is damaged, or was written by a later version of Toolshed");
};
const textItem = (v) => {
  if (typeof v !== "string") throw new TypeErrorClass("a text is missing");
  return v;
};
const sliceText = String.prototype.slice;

class Uncloner {
  met = free([]);
  moved = null; // what a buffer that was handed over is now

  // meet numbers an object before what is in it, as the encoder did.
  meet(object) { return this.met[this.met.length] = object; }

  decode(v) {
    if (!isObject(v)) return v;
    if (!isArray(v)) {
      this.meet(v);
      const keys = objectKeys(v);
      for (let i = 0; i < keys.length; i++) {
        const k = keys[i], x = v[k];
        if (isObject(x)) put(v, k, this.decode(x));
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
      case "t": return this.meet(this.moved[v[1]]);
      case "v": return this.view(v);
      case "e": return this.error(v);
      case "w": return this.meet(Object(this.decode(v[1])));
      case "p": return this.meet(makeStub(new Restored(textItem(v[1])), null));
      case "g": return this.meet(readBinding(textItem(v[1])));
      case "@": {
        const met = isInteger(v[1]) ? this.met[v[1]] : undefined;
        if (met !== undefined && met !== null) return met;
      }
    }
    throw new RangeErrorClass("an unknown form");
  }

  array(v) {
    const out = this.meet([]);
    for (let i = 1; i < v.length; i++) {
      const x = v[i], tag = isArray(x) ? x[0] : "";
      if (tag === "h") out.length += x[1];
      else if (tag === "k") this.more(out, x[1]);
      else put(out, out.length, this.decode(v[i]));
    }
    return out;
  }

  // more gives an array its other properties.
  more(out, fields) {
    const keys = objectKeys(fields);
    for (let i = 0; i < keys.length; i++) put(out, keys[i], this.decode(fields[keys[i]]));
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
    const view = new cloneClasses[v[1]](this.decode(v[2]), v[3], v[4]);
    return this.met[at] = view;
  }

  error(v) {
    const Class = errorClasses[v[1]], error = this.meet(new Class(v[2]));
    if (v[3] !== null) hide(error, "stack", v[3]);
    if (v.length > 4) hide(error, "cause", this.decode(v[4]));
    return error;
  }
}

const bufferOf = (base64) => apply(viewBuffer, fromBase64(base64), []);

const structuredClone = function (value, options = undefined) {
  if (arguments.length === 0) throw new TypeErrorClass("1 argument required, but only 0 present");
  if (options !== undefined && options !== null && !isObject(options) && typeof options !== "function") throw new TypeErrorClass("the options of structuredClone must be an object");
  const list = options?.transfer;
  return list === undefined ? decodeValue(encodeValue(value)) : late("transfer").cloneWith(value, list);
};
