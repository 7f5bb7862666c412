// What readable and writable streams share (Streams Standard, 4-8). The public classes are thin: behind each is a
// record, and all work is done on records. Byte streams are not here: a readable stream is always a default one.
const nothing = () => {};
const one = () => 1;
const deferred = () => {
  const d = { promise: null, pending: true, resolve: null, reject: null };
  d.promise = new PromiseClass((resolve, reject) => {
    d.resolve = (value) => { d.pending = false; resolve(value); };
    d.reject = (error) => { d.pending = false; reject(error); };
  });
  return d;
};
const resolvedWith = (value) => new PromiseClass((resolve) => resolve(value));
const rejectedWith = (error) => new PromiseClass((_, reject) => reject(error));
const after = (promise, ok, failed) => apply(promiseThen, promise, [ok, failed]);
const upon = (promise, ok, failed) => { after(after(promise, ok, failed), undefined, nothing); };
const handled = (promise) => { after(promise, undefined, nothing); return promise; };
// failedDeferred is a deferred promise that is rejected already, and that nobody needs to handle.
const failedDeferred = (error) => {
  const d = deferred();
  d.reject(error);
  handled(d.promise);
  return d;
};
// fail rejects a deferred promise, or gives another in its place if it is settled.
const fail = (d, error) => {
  if (!d.pending) return failedDeferred(error);
  d.reject(error);
  handled(d.promise);
  return d;
};
const settledDeferred = () => {
  const d = deferred();
  d.resolve(undefined);
  return d;
};

const needObject = (value, what) => {
  if (value === undefined || value === null) return {};
  if (!isObject(value) && typeof value !== "function") throw new TypeErrorClass(`${what} must be an object`);
  return value;
};

// algorithmOf takes a method of a source, sink or transformer: its call gives a promise.
const algorithmOf = (object, name, otherwise) => {
  const f = object[name];
  if (f === undefined) return otherwise;
  if (typeof f !== "function") throw new TypeErrorClass(`${name} must be a function`);
  return (a, b) => {
    try { return resolvedWith(apply(f, object, [a, b])); } catch (thrown) { return rejectedWith(thrown); }
  };
};
const nothingLater = () => resolvedWith(undefined);

// startOf calls the start method now and returns what it gave.
const startOf = (object, controller) => {
  const f = object.start;
  if (f === undefined) return undefined;
  if (typeof f !== "function") throw new TypeErrorClass("start must be a function");
  return apply(f, object, [controller]);
};

// strategyOf reads a queuing strategy to [highWaterMark, size].
const strategyOf = (strategy, otherwise) => {
  strategy = needObject(strategy, "a queuing strategy");
  const size = strategy.size;
  let mark = strategy.highWaterMark;
  if (size !== undefined && typeof size !== "function") throw new TypeErrorClass("size must be a function");
  if (mark === undefined) mark = otherwise;
  else if ((mark = +mark) !== mark || mark < 0) throw new RangeErrorClass("highWaterMark must be a number that is not negative");
  return { mark, size: size === undefined ? one : (chunk) => apply(size, undefined, [chunk]) };
};

// Queue holds chunks with their sizes. Taken ones are swept when they are half of the list.
class Queue {
  list = []; head = 0; total = 0;
  get empty() { return this.head === this.list.length; }
  add(value, size) {
    size = +size;
    if (!(size >= 0) || size === Infinity) throw new RangeErrorClass("the size of a chunk must be a finite number that is not negative");
    this.list[this.list.length] = { value, size };
    this.total += size;
  }
  first() { return this.list[this.head].value; }
  take() {
    const { value, size } = this.list[this.head];
    this.list[this.head++] = undefined;
    if (this.head > 16 && this.head * 2 > this.list.length) { this.list = apply(slice, this.list, [this.head]); this.head = 0; }
    this.total -= size;
    if (this.total < 0) this.total = 0;
    return value;
  }
  clear() { this.list = []; this.head = 0; this.total = 0; }
}

const strategyClass = (name, measure) => {
  const Class = { [name]: class {
    #mark;
    constructor(init) {
      if (!isObject(init) || init.highWaterMark === undefined) throw new TypeErrorClass(`${name} needs a highWaterMark`);
      this.#mark = +init.highWaterMark;
    }
    get highWaterMark() { return this.#mark; }
    get size() { return this.#mark === null ? undefined : measure; }
  } }[name];
  tag(Class, name);
  return Class;
};
const CountQueuingStrategy = strategyClass("CountQueuingStrategy", function size() { return 1; });
const ByteLengthQueuingStrategy = strategyClass("ByteLengthQueuingStrategy", function size(chunk) { return chunk.byteLength; });
