// Everything the prelude uses of the language is taken here, before a gadget's code runs: a gadget may replace any
// of it for itself. The rest of the prelude therefore calls no method through a shared prototype, iterates by
// index, and spreads nothing.
const apply = Reflect.apply, construct = Reflect.construct;
const getPrototypeOf = Object.getPrototypeOf, objectKeys = Object.keys, hasOwn = Object.hasOwn;
const setPrototypeOf = Object.setPrototypeOf, ArrayPrototype = Array.prototype;
const create = Object.create, defineProperty = Object.defineProperty, freeze = Object.freeze;
const isArray = Array.isArray, isInteger = Number.isInteger, isFinite_ = Number.isFinite, isSame = Object.is;
const parseJSON = JSON.parse, stringify = JSON.stringify;
const ObjectPrototype = Object.prototype, PromisePrototype = Promise.prototype;
const PromiseClass = Promise, promiseThen = Promise.prototype.then, promiseFinally = Promise.prototype.finally, isExtensible = Object.isExtensible, ProxyClass = Proxy;
const ErrorClass = Error, ErrorPrototype = Error.prototype, TypeErrorClass = TypeError, RangeErrorClass = RangeError;
const InternalErrorPrototype = InternalError.prototype;
const DateClass = Date, DatePrototype = Date.prototype, dateTime = Date.prototype.getTime, now = Date.now;
const MapPrototype = Map.prototype, SetPrototype = Set.prototype, RegExpPrototype = RegExp.prototype;
const MapClass = Map, SetClass = Set, RegExpClass = RegExp, BigIntFunction = BigInt, StringFunction = String;
const ArrayBufferPrototype = ArrayBuffer.prototype, Uint8 = Uint8Array;
const toBase64 = Uint8.prototype.toBase64, fromBase64 = Uint8.fromBase64;
const TypedArrayPrototype = getPrototypeOf(Uint8.prototype);
const getter = (prototype, name) => Object.getOwnPropertyDescriptor(prototype, name).get;
const viewBuffer = getter(TypedArrayPrototype, "buffer"), viewOffset = getter(TypedArrayPrototype, "byteOffset");
const viewLength = getter(TypedArrayPrototype, "length"), viewBytes = getter(TypedArrayPrototype, "byteLength");
const dataViewBuffer = getter(DataView.prototype, "buffer"), dataViewOffset = getter(DataView.prototype, "byteOffset");
const dataViewBytes = getter(DataView.prototype, "byteLength");
const viewKind = getter(TypedArrayPrototype, Symbol.toStringTag), bufferBytes = getter(ArrayBufferPrototype, "byteLength");
const regExpSource = getter(RegExpPrototype, "source"), regExpFlags = getter(RegExpPrototype, "flags");
const bufferDetached = getter(ArrayBufferPrototype, "detached"), bufferTransfer = ArrayBufferPrototype.transfer;
const mapEach = MapPrototype.forEach, setEach = SetPrototype.forEach;
const mapAdd = MapPrototype.set, setAdd = SetPrototype.add;
const charCodeAt = String.prototype.charCodeAt, join = Array.prototype.join, slice = Array.prototype.slice, sortList = Array.prototype.sort;
// uncurry turns a method into a function of its object: the rest of the prelude calls it wherever it is called much.
const uncurry = Function.prototype.bind.bind(Function.prototype.call);
const codeAt = uncurry(charCodeAt), fromCodePoint = String.fromCodePoint, bytesSlice = uncurry(TypedArrayPrototype.slice), setBytes = TypedArrayPrototype.set;
const takeFirst = uncurry(Array.prototype.shift), sliceOf = uncurry(String.prototype.slice), lowerCase = uncurry(String.prototype.toLowerCase);
const numberValue = Number.prototype.valueOf, stringValue = String.prototype.valueOf, booleanValue = Boolean.prototype.valueOf;
const NumberPrototype = Number.prototype, StringPrototype = String.prototype, BooleanPrototype = Boolean.prototype;
const DOMExceptionClass = DOMException, Finalization = FinalizationRegistry;
const symbolDispose = Symbol.dispose, symbolFor = Symbol.for;
const arrayIterator = Array.prototype[Symbol.iterator];

// free takes a list, or the prototype of a class of ours, out of reach of what a gadget puts on Array.prototype or
// Object.prototype: a setter there would be asked when an item or a field is added.
const free = (object) => setPrototypeOf(object, null);

// copyOf is a free copy of a list from an index on.
const copyOf = (list, from) => {
  const copy = free([]);
  for (let i = from; i < list.length; i++) copy[i - from] = list[i];
  return copy;
};

// objectNames are the names on Object.prototype; what a gadget adds there changes nothing.
const objectNames = create(null);
for (const name of Reflect.ownKeys(ObjectPrototype)) objectNames[name] = true;

// put sets a property of a gadget's object whatever is on its prototype.
const put = (object, key, value) => defineProperty(object, key, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
const hide = (object, name, value) => defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });

// toText is the JSON of plain data. The engine's own asks for toJSON and keeps a list, and a gadget may have put things on
// the prototypes that come in between.
const toText = (v) => (asksPrototypes() ? writeOut(v) : stringify(v));
const asksPrototypes = () => hasOwn(ObjectPrototype, "toJSON") || hasOwn(ArrayPrototype, "toJSON") || hasOwn(ObjectPrototype, 0) || hasOwn(ArrayPrototype, 0) ||
  getPrototypeOf(ArrayPrototype) !== ObjectPrototype;
const writeOut = (v) => {
  if (typeof v !== "object" || v === null) return stringify(v);
  let text = "";
  if (isArray(v)) {
    for (let i = 0; i < v.length; i++) text += (i > 0 ? "," : "") + (v[i] === undefined ? "null" : writeOut(v[i]));
    return "[" + text + "]";
  }
  const keys = objectKeys(v);
  for (let i = 0; i < keys.length; i++) if (v[keys[i]] !== undefined) text += (text === "" ? "" : ",") + stringify(keys[i]) + ":" + writeOut(v[keys[i]]);
  return "{" + text + "}";
};

// whenSettled calls one of two functions once a native promise has an outcome. A species of the gadget's may keep then from working.
const whenSettled = (promise, ok, fail) => {
  try { apply(promiseThen, promise, [ok, fail]); } catch { awaited(promise, ok, fail); }
};
const awaited = async (promise, ok, fail) => {
  let value;
  try { value = await promise; } catch (thrown) { return fail(thrown); }
  ok(value);
};

// own makes a subclass whose methods are its own copies, so that replacing the shared ones changes nothing.
const own = (Class) => {
  const Own = class extends Class {};
  for (const name of Reflect.ownKeys(Class.prototype)) {
    if (name === "constructor") continue;
    defineProperty(Own.prototype, name, Object.getOwnPropertyDescriptor(Class.prototype, name));
  }
  return Own;
};
const OwnMap = own(Map), OwnSet = own(Set), OwnWeakMap = own(WeakMap);

const containers = [
  Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array,
  Float64Array, BigInt64Array, BigUint64Array, DataView,
];
// containerNames maps the prototype of a view on bytes to its name, containerClasses the name to its class.
const containerNames = new OwnMap(), containerClasses = create(null);
for (const Class of containers) {
  containerNames.set(Class.prototype, Class.name);
  containerClasses[Class.name] = Class;
}
const errorClasses = create(null);
for (const Class of [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError]) {
  errorClasses[Class.name] = Class;
}

const host = globalThis.__host;
delete globalThis.__host;
const hostSend = host.send, hostGet = host.get, hostList = host.list, hostPut = host.put, hostRemove = host.remove;
const hostClear = host.clear, hostLog = host.log, hostRandom = host.random, hostWake = host.wake, hostFail = host.fail;
const hostDigest = host.digest, hostHMAC = host.hmac, hostSeal = host.seal, hostOpen = host.open, hostEqual = host.equal, hostDomain = host.domain;

// lateClasses maps the prototype of a class of a late part to its name, once that part is there.
const lateClasses = new OwnMap();

const isObject = (v) => typeof v === "object" && v !== null;

// inherits tells whether a prototype is in the chain of a value.
const inherits = (value, prototype) => {
  for (let p = getPrototypeOf(value); p !== null; p = getPrototypeOf(p)) if (p === prototype) return true;
  return false;
};

// textOf is String() for any value, also one that throws when it is looked at.
const textOf = (value) => {
  try { return typeof value === "symbol" ? "a symbol" : StringFunction(value); } catch { return "a value that cannot be shown"; }
};

// errorText is "Name: message" of anything thrown.
const errorText = (thrown) => {
  try {
    if (isObject(thrown) && inherits(thrown, ErrorPrototype)) {
      const name = textOf(thrown.name), message = textOf(thrown.message);
      return message === "" ? name : name + ": " + message;
    }
  } catch {}
  return textOf(thrown);
};

const later = (what, instead) => new ErrorClass(what + " comes with a later version of Toolshed; " + instead + ".");
