// ReadableStream (Streams Standard, 4).
class Readable {
  state = "readable"; error = undefined; reader = null; disturbed = false; controller = null; object = null; onRead = null;

  cancel(reason) {
    this.disturbed = true;
    if (this.state === "closed") return resolvedWith(undefined);
    if (this.state === "errored") return rejectedWith(this.error);
    this.close();
    const controller = this.controller, cancel = controller.onCancel;
    controller.queue.clear();
    controller.forget();
    return after(cancel(reason), nothing);
  }

  close() {
    this.state = "closed";
    const reader = this.reader;
    if (reader === null) return;
    reader.closed.resolve(undefined);
    const requests = reader.takeRequests();
    for (let i = 0; i < requests.length; i++) requests[i].close();
  }

  fail(error) {
    this.state = "errored";
    this.error = error;
    const reader = this.reader;
    if (reader === null) return;
    reader.closed.reject(error);
    handled(reader.closed.promise);
    const requests = reader.takeRequests();
    for (let i = 0; i < requests.length; i++) requests[i].fail(error);
  }
}

// ReadableControl is the default controller's record.
class ReadableControl {
  queue = new Queue();
  started = false; closing = false; pulling = false; again = false;
  object = null;

  constructor(stream, { mark, size }, pull, cancel) {
    this.stream = stream;
    this.mark = mark;
    this.size = size;
    this.onPull = pull;
    this.onCancel = cancel;
    stream.controller = this;
  }

  begin(result) {
    upon(resolvedWith(result), () => { this.started = true; this.pull(); }, (error) => this.fail(error));
  }

  forget() { this.onPull = this.onCancel = this.size = nothingLater; }
  get open() { return !this.closing && this.stream.state === "readable"; }
  get desired() {
    const state = this.stream.state;
    return state === "errored" ? null : state === "closed" ? 0 : this.mark - this.queue.total;
  }
  get wanted() { return this.stream.reader !== null && this.stream.reader.waiting > 0; }

  pull() {
    if (!this.open || !this.started || !(this.wanted || this.desired > 0)) return;
    if (this.pulling) { this.again = true; return; }
    this.pulling = true;
    upon(this.onPull(this.object), () => {
      this.pulling = false;
      if (!this.again) return;
      this.again = false;
      this.pull();
    }, (error) => this.fail(error));
  }

  close() {
    if (!this.open) return;
    this.closing = true;
    if (!this.queue.empty) return;
    this.forget();
    this.stream.close();
  }

  enqueue(chunk) {
    if (!this.open) return;
    if (this.wanted) this.stream.reader.takeRequest().chunk(chunk);
    else {
      try { this.queue.add(chunk, this.size(chunk)); } catch (thrown) { this.fail(thrown); throw thrown; }
    }
    this.pull();
  }

  fail(error) {
    if (this.stream.state !== "readable") return;
    this.queue.clear();
    this.forget();
    this.stream.fail(error);
  }

  // read gives the next chunk to the request, or keeps it for later.
  read(request) {
    if (this.queue.empty) {
      this.stream.reader.addRequest(request);
      return this.pull();
    }
    const chunk = this.queue.take();
    if (this.closing && this.queue.empty) {
      this.forget();
      this.stream.close();
    } else this.pull();
    request.chunk(chunk);
  }
}

// Reader is a default reader's record. A request has chunk(value), close() and fail(error).
class Reader {
  requests = []; head = 0;

  constructor(stream) {
    if (stream.reader !== null) throw new TypeErrorClass("the stream is locked to a reader already");
    this.stream = stream;
    stream.reader = this;
    this.closed = stream.state === "readable" ? deferred() : stream.state === "closed" ? settledDeferred() : failedDeferred(stream.error);
  }

  get waiting() { return this.requests.length - this.head; }
  addRequest(request) { this.requests[this.requests.length] = request; }
  takeRequest() {
    const request = this.requests[this.head++];
    if (this.head === this.requests.length) { this.requests = []; this.head = 0; }
    return request;
  }
  takeRequests() {
    const rest = apply(slice, this.requests, [this.head]);
    this.requests = [];
    this.head = 0;
    return rest;
  }

  read(request) {
    const stream = this.stream;
    stream.disturbed = true;
    if (stream.onRead !== null) stream.onRead();
    if (stream.state === "closed") request.close();
    else if (stream.state === "errored") request.fail(stream.error);
    else stream.controller.read(request);
  }

  release() {
    const stream = this.stream, error = new TypeErrorClass("the reader has been released");
    this.closed = fail(this.closed, error);
    stream.reader = null;
    this.stream = null;
    const requests = this.takeRequests();
    for (let i = 0; i < requests.length; i++) requests[i].fail(error);
  }
}

const noReader = () => new TypeErrorClass("the reader has been released");
const promisedRead = (reader) => {
  const d = deferred();
  reader.read({
    chunk: (value) => d.resolve({ value, done: false }),
    close: () => d.resolve({ value: undefined, done: true }),
    fail: d.reject,
  });
  return d.promise;
};

const recordKey = {}; // what internal callers of a constructor give first
let readableOf, isReadable; // the record of a ReadableStream
class ReadableStream {
  #record;
  static {
    readableOf = (value) => value.#record;
    isReadable = (value) => isObject(value) && #record in value;
  }

  constructor(source = undefined, strategy = undefined) {
    const record = this.#record = source === recordKey ? strategy : new Readable();
    record.object = this;
    if (source === recordKey) return;
    source = source === undefined ? {} : source;
    if (!isObject(source) && typeof source !== "function") throw new TypeErrorClass("the source of a stream must be an object");
    const queuing = strategyOf(strategy, 1), cancel = algorithmOf(source, "cancel", nothingLater), pull = algorithmOf(source, "pull", nothingLater);
    if (source.type === "bytes") throw new TypeErrorClass("byte streams are not available: leave out the type, chunks of Uint8Array pass all the same");
    if (source.type !== undefined) throw new TypeErrorClass("a stream has no type of that name");
    const control = new ReadableControl(record, queuing, pull, cancel);
    control.begin(startOf(source, newReadableController(control)));
  }

  static from(items) { return readableFrom(items); }

  get locked() { return this.#record.reader !== null; }

  cancel(reason = undefined) {
    try {
      if (this.#record.reader !== null) throw new TypeErrorClass("a locked stream cannot be cancelled");
    } catch (thrown) { return rejectedWith(thrown); }
    return this.#record.cancel(reason);
  }

  getReader(options = undefined) {
    const mode = needObject(options, "the options").mode;
    if (mode !== undefined) throw new TypeErrorClass(mode === "byob" ? "byte streams are not available: call getReader() without a mode" : "a reader has no mode of that name");
    return new ReadableStreamDefaultReader(this);
  }

  pipeThrough(transform, options = undefined) {
    const { readable, writable } = needObject(transform, "a transform");
    if (!isReadable(readable) || !isWritable(writable)) throw new TypeErrorClass("pipeThrough needs an object with readable and writable");
    const o = pipeOptions(options), to = writableOf(writable);
    if (this.#record.reader !== null || to.writer !== null) throw new TypeErrorClass("a locked stream cannot be piped");
    handled(pipe(this.#record, to, o));
    return readable;
  }

  pipeTo(destination, options = undefined) {
    try {
      if (!isWritable(destination)) throw new TypeErrorClass("pipeTo needs a WritableStream");
      const o = pipeOptions(options), to = writableOf(destination);
      if (this.#record.reader !== null || to.writer !== null) throw new TypeErrorClass("a locked stream cannot be piped");
      return pipe(this.#record, to, o);
    } catch (thrown) { return rejectedWith(thrown); }
  }

  tee() { return tee(this.#record); }

  values(options = undefined) {
    return new StreamIterator(new Reader(this.#record), !!needObject(options, "the options").preventCancel);
  }
}
hide(ReadableStream.prototype, asyncIteratorSymbol, ReadableStream.prototype.values);
tag(ReadableStream, "ReadableStream");

// newReadable makes a stream inside the prelude; pull and cancel give promises.
const newReadable = (pull, cancel, queuing) => {
  const record = new Readable(), control = new ReadableControl(record, queuing, pull, cancel);
  return { stream: new ReadableStream(recordKey, record), control };
};

let newReadableController;
class ReadableStreamDefaultController {
  #control;
  static { newReadableController = (control) => control.object = new ReadableStreamDefaultController(recordKey, control); }
  constructor(key, control) {
    if (key !== recordKey) throw new TypeErrorClass("Illegal constructor");
    this.#control = control;
  }
  get desiredSize() { return this.#control.desired; }
  close() {
    if (!this.#control.open) throw new TypeErrorClass("the stream is closed or closing already");
    this.#control.close();
  }
  enqueue(chunk = undefined) {
    if (!this.#control.open) throw new TypeErrorClass("nothing can be added to a stream that is closed or closing");
    this.#control.enqueue(chunk);
  }
  error(error = undefined) { this.#control.fail(error); }
}
tag(ReadableStreamDefaultController, "ReadableStreamDefaultController");

class ReadableStreamDefaultReader {
  #reader;
  constructor(stream) {
    if (!isReadable(stream)) throw new TypeErrorClass("a reader needs a ReadableStream");
    this.#reader = new Reader(readableOf(stream));
  }
  get closed() { try { return this.#reader.closed.promise; } catch (thrown) { return rejectedWith(thrown); } }
  cancel(reason = undefined) {
    try { return this.#reader.stream === null ? rejectedWith(noReader()) : this.#reader.stream.cancel(reason); } catch (thrown) { return rejectedWith(thrown); }
  }
  read() {
    try { return this.#reader.stream === null ? rejectedWith(noReader()) : promisedRead(this.#reader); } catch (thrown) { return rejectedWith(thrown); }
  }
  releaseLock() { if (this.#reader.stream !== null) this.#reader.release(); }
}
tag(ReadableStreamDefaultReader, "ReadableStreamDefaultReader");

// StreamIterator reads a stream with for await. Its steps wait for each other, and the first for a stream that has just been
// made to begin: so a source is asked before what its start gave is passed on, as in node and the browsers.
class StreamIterator {
  #reader; #keep; #ongoing = resolvedWith(undefined); #finished = false;
  constructor(reader, keep) { this.#reader = reader; this.#keep = keep; }

  next() {
    const step = () => this.#next();
    return this.#ongoing = this.#ongoing === null ? step() : after(this.#ongoing, step, step);
  }
  return(value = undefined) {
    // The engine does not wait for this when a loop is left by an error, so a failure is nobody's.
    const step = () => this.#return(value), done = () => ({ value, done: true });
    return this.#ongoing = handled(after(this.#ongoing === null ? step() : after(this.#ongoing, step, step), done));
  }

  #next() {
    if (this.#finished) return resolvedWith({ value: undefined, done: true });
    const d = deferred(), reader = this.#reader;
    const end = () => { this.#finished = true; this.#ongoing = null; reader.release(); };
    reader.read({
      chunk: (value) => { this.#ongoing = null; d.resolve({ value, done: false }); },
      close: () => { end(); d.resolve({ value: undefined, done: true }); },
      fail: (error) => { end(); d.reject(error); },
    });
    return d.promise;
  }

  #return(value) {
    if (this.#finished) return resolvedWith(undefined);
    this.#finished = true;
    const reader = this.#reader, result = this.#keep ? resolvedWith(undefined) : reader.stream.cancel(value);
    reader.release();
    return result;
  }

  [asyncIteratorSymbol]() { return this; }
}
delete StreamIterator.prototype.constructor;

// readableFrom reads an iterable, which may be asynchronous.
const readableFrom = (items) => {
  const method = items[asyncIteratorSymbol] ?? items[iteratorSymbol];
  if (typeof method !== "function") throw new TypeErrorClass("ReadableStream.from needs an iterable");
  const iterator = apply(method, items, []);
  if (!isObject(iterator) && typeof iterator !== "function") throw new TypeErrorClass("an iterator must be an object");
  const next = iterator.next;
  const step = (f, ...args) => { try { return resolvedWith(apply(f, iterator, args)); } catch (thrown) { return rejectedWith(thrown); } };
  const { stream, control } = newReadable(() => after(step(next), (result) => {
    if (!isObject(result)) throw new TypeErrorClass("an iterator's result must be an object");
    if (result.done) return control.close();
    const value = result.value;
    return items[asyncIteratorSymbol] === undefined ? after(resolvedWith(value), (v) => control.enqueue(v)) : control.enqueue(value);
  }), (reason) => {
    const end = iterator.return;
    return end === undefined || end === null ? resolvedWith(undefined) : after(step(end, reason), (result) => {
      if (!isObject(result)) throw new TypeErrorClass("an iterator's result must be an object");
    });
  }, { mark: 0, size: one });
  control.begin(undefined);
  return stream;
};

// tee reads one stream into two (4.9.1, ReadableStreamDefaultTee).
const tee = (source) => {
  const reader = new Reader(source), branches = [], reasons = [undefined, undefined], cancelled = [false, false], finished = deferred();
  let reading = false, again = false;
  const pull = () => {
    if (reading) { again = true; return resolvedWith(undefined); }
    reading = true;
    reader.read({
      chunk: (chunk) => queueTask(() => {
        again = false;
        for (let i = 0; i < 2; i++) if (!cancelled[i]) branches[i].enqueue(chunk);
        reading = false;
        if (again) pull();
      }),
      close: () => {
        reading = false;
        for (let i = 0; i < 2; i++) if (!cancelled[i]) branches[i].close();
        if (!cancelled[0] || !cancelled[1]) finished.resolve(undefined);
      },
      fail: () => { reading = false; },
    });
    return resolvedWith(undefined);
  };
  const cancel = (i) => (reason) => {
    cancelled[i] = true;
    reasons[i] = reason;
    if (cancelled[1 - i]) finished.resolve(source.cancel([reasons[0], reasons[1]]));
    return finished.promise;
  };
  const streams = [];
  for (let i = 0; i < 2; i++) {
    const made = newReadable(pull, cancel(i), { mark: 1, size: one });
    streams[i] = made.stream;
    branches[i] = made.control;
    branches[i].begin(undefined);
  }
  upon(reader.closed.promise, undefined, (error) => {
    branches[0].fail(error);
    branches[1].fail(error);
    if (!cancelled[0] || !cancelled[1]) finished.resolve(undefined);
  });
  return streams;
};
const queueTask = (f) => { upon(resolvedWith(undefined), f); };
