// WritableStream (Streams Standard, 5).
class Writable {
  state = "writable"; error = undefined; writer = null; controller = null; object = null;
  requests = []; writing = null; closeRequest = null; closing = null; pendingAbort = null; pressure = false;

  get closeQueued() { return this.closeRequest !== null || this.closing !== null; }

  abort(reason) {
    if (this.state === "closed" || this.state === "errored") return resolvedWith(undefined);
    const controller = this.controller;
    controller.abortSignal(reason);
    if (this.state === "closed" || this.state === "errored") return resolvedWith(undefined);
    if (this.pendingAbort !== null) return this.pendingAbort.done.promise;
    const erroring = this.state === "erroring", done = deferred();
    this.pendingAbort = { done, reason: erroring ? undefined : reason, erroring };
    if (!erroring) this.startErroring(reason);
    return done.promise;
  }

  close() {
    if (this.state === "closed" || this.state === "errored") return rejectedWith(new TypeErrorClass(`the stream is ${this.state} already`));
    const d = this.closeRequest = deferred();
    if (this.writer !== null && this.pressure && this.state === "writable") this.writer.ready.resolve(undefined);
    this.controller.close();
    return d.promise;
  }

  startErroring(reason) {
    this.state = "erroring";
    this.error = reason;
    if (this.writer !== null) this.writer.failReady(reason);
    if (this.writing === null && this.closing === null && this.controller.started) this.finishErroring();
  }

  // dealWithRejection is called when a write or the close failed.
  dealWithRejection(error) {
    if (this.state === "writable") this.startErroring(error);
    else this.finishErroring();
  }

  finishErroring() {
    this.state = "errored";
    this.controller.queue.clear();
    const requests = this.requests, abort = this.pendingAbort;
    this.requests = [];
    for (let i = 0; i < requests.length; i++) requests[i].reject(this.error);
    if (abort === null) return this.rejectRest();
    this.pendingAbort = null;
    if (abort.erroring) {
      abort.done.reject(this.error);
      return this.rejectRest();
    }
    const onAbort = this.controller.onAbort;
    this.controller.forget();
    upon(onAbort(abort.reason), () => { abort.done.resolve(undefined); this.rejectRest(); }, (error) => { abort.done.reject(error); this.rejectRest(); });
  }

  rejectRest() {
    if (this.closeRequest !== null) {
      this.closeRequest.reject(this.error);
      this.closeRequest = null;
    }
    if (this.writer === null) return;
    this.writer.closed.reject(this.error);
    handled(this.writer.closed.promise);
  }

  finishWrite() {
    this.writing.resolve(undefined);
    this.writing = null;
  }
  failWrite(error) {
    this.writing.reject(error);
    this.writing = null;
    this.dealWithRejection(error);
  }

  finishClose() {
    this.closing.resolve(undefined);
    this.closing = null;
    if (this.state === "erroring") {
      this.error = undefined;
      if (this.pendingAbort !== null) {
        this.pendingAbort.done.resolve(undefined);
        this.pendingAbort = null;
      }
    }
    this.state = "closed";
    if (this.writer !== null) this.writer.closed.resolve(undefined);
  }
  failClose(error) {
    this.closing.reject(error);
    this.closing = null;
    if (this.pendingAbort !== null) {
      this.pendingAbort.done.reject(error);
      this.pendingAbort = null;
    }
    this.dealWithRejection(error);
  }

  setPressure(pressure) {
    if (this.writer !== null && pressure !== this.pressure) {
      if (pressure) this.writer.ready = deferred();
      else this.writer.ready.resolve(undefined);
    }
    this.pressure = pressure;
  }
}

const closeMark = {}; // in the queue, in place of a chunk
class WritableControl {
  queue = new Queue();
  started = false; object = null; aborted = false; abortReason = undefined; abortedSignal = null;

  constructor(stream, { mark, size }, write, close, abort) {
    this.stream = stream;
    this.mark = mark;
    this.size = size;
    this.onWrite = write;
    this.onClose = close;
    this.onAbort = abort;
    stream.controller = this;
  }

  begin(result) {
    this.stream.setPressure(this.desired <= 0);
    upon(resolvedWith(result), () => { this.started = true; this.advance(); }, (error) => { this.started = true; this.stream.dealWithRejection(error); });
  }

  // signal is made when somebody asks for it.
  get signal() {
    if (this.abortedSignal === null) {
      const { newSignal, abortNow } = late("events");
      this.abortedSignal = newSignal();
      if (this.aborted) abortNow(this.abortedSignal, this.abortReason);
    }
    return this.abortedSignal;
  }
  abortSignal(reason) {
    if (this.aborted) return;
    this.aborted = true;
    this.abortReason = reason;
    if (this.abortedSignal !== null) late("events").abortNow(this.abortedSignal, reason);
  }

  forget() { this.onWrite = this.onClose = this.onAbort = nothingLater; this.size = one; }
  get desired() { return this.mark - this.queue.total; }

  sizeOf(chunk) {
    try { return this.size(chunk); } catch (thrown) { this.failIfNeeded(thrown); return 1; }
  }

  write(chunk, size) {
    try { this.queue.add(chunk, size); } catch (thrown) { return this.failIfNeeded(thrown); }
    if (!this.stream.closeQueued && this.stream.state === "writable") this.stream.setPressure(this.desired <= 0);
    this.advance();
  }

  close() {
    this.queue.add(closeMark, 0);
    this.advance();
  }

  advance() {
    const stream = this.stream;
    if (!this.started || stream.writing !== null) return;
    if (stream.state === "erroring") return stream.finishErroring();
    if (this.queue.empty) return;
    const chunk = this.queue.first();
    if (chunk === closeMark) this.processClose();
    else this.processWrite(chunk);
  }

  processClose() {
    const stream = this.stream, onClose = this.onClose;
    stream.closing = stream.closeRequest;
    stream.closeRequest = null;
    this.queue.take();
    const result = onClose();
    this.forget();
    upon(result, () => stream.finishClose(), (error) => stream.failClose(error));
  }

  processWrite(chunk) {
    const stream = this.stream;
    stream.writing = stream.requests[0];
    stream.requests = apply(slice, stream.requests, [1]);
    upon(this.onWrite(chunk, this.object), () => {
      stream.finishWrite();
      this.queue.take();
      if (!stream.closeQueued && stream.state === "writable") stream.setPressure(this.desired <= 0);
      this.advance();
    }, (error) => {
      if (stream.state === "writable") this.forget();
      stream.failWrite(error);
    });
  }

  failIfNeeded(error) { if (this.stream.state === "writable") this.fail(error); }
  fail(error) {
    this.forget();
    this.stream.startErroring(error);
  }
}

// Writer is a writer's record.
class Writer {
  constructor(stream) {
    if (stream.writer !== null) throw new TypeErrorClass("the stream is locked to a writer already");
    this.stream = stream;
    stream.writer = this;
    const state = stream.state;
    if (state === "writable") {
      this.ready = !stream.closeQueued && stream.pressure ? deferred() : settledDeferred();
      this.closed = deferred();
    } else {
      this.ready = state === "closed" ? settledDeferred() : failedDeferred(stream.error);
      this.closed = state === "closed" ? settledDeferred() : state === "erroring" ? deferred() : failedDeferred(stream.error);
    }
  }

  failReady(error) { this.ready = fail(this.ready, error); }

  get desired() {
    const state = this.stream.state;
    return state === "errored" || state === "erroring" ? null : state === "closed" ? 0 : this.stream.controller.desired;
  }

  write(chunk) {
    const stream = this.stream, controller = stream.controller, size = controller.sizeOf(chunk);
    if (this.stream !== stream) return rejectedWith(new TypeErrorClass("the writer has been released"));
    if (stream.state === "errored") return rejectedWith(stream.error);
    if (stream.closeQueued || stream.state === "closed") return rejectedWith(new TypeErrorClass("the stream is closing or closed"));
    if (stream.state === "erroring") return rejectedWith(stream.error);
    const d = deferred();
    stream.requests[stream.requests.length] = d;
    controller.write(chunk, size);
    return d.promise;
  }

  closeFromPipe() {
    const stream = this.stream;
    if (stream.closeQueued || stream.state === "closed") return resolvedWith(undefined);
    return stream.state === "errored" ? rejectedWith(stream.error) : stream.close();
  }

  release() {
    const error = new TypeErrorClass("the writer has been released");
    this.failReady(error);
    this.closed = fail(this.closed, error);
    this.stream.writer = null;
    this.stream = null;
  }
}

let writableOf, isWritable;
class WritableStream {
  #record;
  static {
    writableOf = (value) => value.#record;
    isWritable = (value) => isObject(value) && #record in value;
  }

  constructor(sink = undefined, strategy = undefined) {
    const record = this.#record = sink === recordKey ? strategy : new Writable();
    record.object = this;
    if (sink === recordKey) return;
    sink = sink === undefined ? {} : sink;
    if (!isObject(sink) && typeof sink !== "function") throw new TypeErrorClass("the sink of a stream must be an object");
    if (sink.type !== undefined) throw new RangeErrorClass("a WritableStream has no type");
    const queuing = strategyOf(strategy, 1), abort = algorithmOf(sink, "abort", nothingLater), close = algorithmOf(sink, "close", nothingLater), write = algorithmOf(sink, "write", nothingLater);
    const control = new WritableControl(record, queuing, write, close, abort);
    control.begin(startOf(sink, newWritableController(control)));
  }

  get locked() { return this.#record.writer !== null; }
  abort(reason = undefined) { return this.#free("aborted", (record) => record.abort(reason)); }
  close() {
    return this.#free("closed", (record) => {
      if (record.closeQueued) throw new TypeErrorClass("the stream is closing already");
      return record.close();
    });
  }
  #free(what, then) {
    try {
      if (this.#record.writer !== null) throw new TypeErrorClass(`a locked stream cannot be ${what}`);
      return then(this.#record);
    } catch (thrown) { return rejectedWith(thrown); }
  }
  getWriter() { return new WritableStreamDefaultWriter(this); }
}
tag(WritableStream, "WritableStream");

const newWritable = (write, close, abort, queuing) => {
  const record = new Writable(), control = new WritableControl(record, queuing, write, close, abort);
  return { stream: new WritableStream(recordKey, record), control };
};

let newWritableController;
class WritableStreamDefaultController {
  #control;
  static { newWritableController = (control) => control.object = new WritableStreamDefaultController(recordKey, control); }
  constructor(key, control) {
    if (key !== recordKey) throw new TypeErrorClass("Illegal constructor");
    this.#control = control;
  }
  get signal() { return this.#control.signal; }
  error(error = undefined) { this.#control.failIfNeeded(error); }
}
tag(WritableStreamDefaultController, "WritableStreamDefaultController");

class WritableStreamDefaultWriter {
  #writer;
  constructor(stream) {
    if (!isWritable(stream)) throw new TypeErrorClass("a writer needs a WritableStream");
    this.#writer = new Writer(writableOf(stream));
  }
  get closed() { try { return this.#writer.closed.promise; } catch (thrown) { return rejectedWith(thrown); } }
  get ready() { try { return this.#writer.ready.promise; } catch (thrown) { return rejectedWith(thrown); } }
  get desiredSize() {
    if (this.#writer.stream === null) throw new TypeErrorClass("the writer has been released");
    return this.#writer.desired;
  }
  #held(then) {
    try {
      if (this.#writer.stream === null) throw new TypeErrorClass("the writer has been released");
      return then(this.#writer);
    } catch (thrown) { return rejectedWith(thrown); }
  }
  abort(reason = undefined) { return this.#held((writer) => writer.stream.abort(reason)); }
  close() {
    return this.#held((writer) => {
      if (writer.stream.closeQueued) throw new TypeErrorClass("the stream is closing already");
      return writer.stream.close();
    });
  }
  write(chunk = undefined) { return this.#held((writer) => writer.write(chunk)); }
  releaseLock() { if (this.#writer.stream !== null) this.#writer.release(); }
}
tag(WritableStreamDefaultWriter, "WritableStreamDefaultWriter");
