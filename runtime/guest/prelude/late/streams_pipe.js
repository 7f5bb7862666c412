// pipeTo (Streams Standard, 4.9.1 ReadableStreamPipeTo) and TransformStream (6).
const pipeOptions = (options) => {
  options = needObject(options, "the options");
  const signal = options.signal;
  if (signal !== undefined && !late("events").isSignal(signal)) throw new TypeErrorClass("the option signal must be an AbortSignal");
  return { keepDestination: !!options.preventClose, spareDestination: !!options.preventAbort, spareSource: !!options.preventCancel, signal };
};

const both = (a, b) => {
  const d = deferred();
  let left = 2;
  const one = () => { if (--left === 0) d.resolve(undefined); };
  upon(a, one, d.reject);
  upon(b, one, d.reject);
  return d.promise;
};

const pipe = (source, to, options) => {
  const reader = new Reader(source), writer = new Writer(to), result = deferred();
  let ending = false, lastWrite = resolvedWith(undefined), stopWaiting = nothing;
  source.disturbed = true;

  const finalize = (failed, error) => {
    writer.release();
    reader.release();
    stopWaiting();
    if (failed) result.reject(error);
    else result.resolve(undefined);
  };
  const waitForWrites = () => {
    const last = lastWrite;
    return after(last, () => (last === lastWrite ? undefined : waitForWrites()));
  };
  // shutdown ends the pipe, after an action if there is one, once what was read has been written.
  const shutdown = (action, failed, error) => {
    if (ending) return;
    ending = true;
    const act = () => {
      if (action === null) return finalize(failed, error);
      upon(action(), () => finalize(failed, error), (later) => finalize(true, later));
    };
    if (to.state === "writable" && !to.closeQueued) upon(waitForWrites(), act);
    else act();
  };

  const step = () => {
    if (ending) return resolvedWith(true);
    return after(writer.ready.promise, () => new PromiseClass((resolve, reject) => {
      if (ending) return resolve(true);
      reader.read({
        chunk: (chunk) => { lastWrite = after(writer.stream === null ? resolvedWith(undefined) : writer.write(chunk), undefined, nothing); resolve(false); },
        close: () => resolve(true),
        fail: reject,
      });
    }));
  };
  const loop = () => { upon(step(), (finished) => { if (!finished) loop(); }); };

  const whenFailed = (stream, promise, action) => {
    if (stream.state === "errored") action(stream.error);
    else upon(promise, undefined, action);
  };

  if (options.signal !== undefined) {
    const signal = options.signal, abort = () => {
      const error = late("events").reasonOf(signal);
      shutdown(() => both(
        options.spareDestination || to.state !== "writable" ? resolvedWith(undefined) : to.abort(error),
        options.spareSource || source.state !== "readable" ? resolvedWith(undefined) : source.cancel(error),
      ), true, error);
    };
    if (late("events").isAborted(signal)) { abort(); return result.promise; }
    stopWaiting = late("events").whenAborted(signal, abort);
  }
  whenFailed(source, reader.closed.promise, (error) => shutdown(options.spareDestination ? null : () => to.abort(error), true, error));
  whenFailed(to, writer.closed.promise, (error) => shutdown(options.spareSource ? null : () => source.cancel(error), true, error));
  const sourceClosed = () => shutdown(options.keepDestination ? null : () => writer.closeFromPipe(), false);
  if (source.state === "closed") sourceClosed();
  else upon(reader.closed.promise, sourceClosed);
  if (to.closeQueued || to.state === "closed") {
    const error = new TypeErrorClass("the destination is closed already");
    shutdown(options.spareSource ? null : () => source.cancel(error), true, error);
  }
  loop();
  return result.promise;
};

// Transform is a TransformStream's record.
class Transform {
  readable = null; writable = null; // controls
  pressure = undefined; pressureChange = null; finish = null;
  onTransform = null; onFlush = null; onCancel = null; object = null;

  setPressure(pressure) {
    if (this.pressureChange !== null) this.pressureChange.resolve(undefined);
    this.pressureChange = deferred();
    this.pressure = pressure;
  }

  forget() { this.onTransform = this.onFlush = this.onCancel = nothingLater; }
  fail(error) {
    this.readable.fail(error);
    this.failWritable(error);
  }
  failWritable(error) {
    this.forget();
    this.writable.failIfNeeded(error);
    this.unblock();
  }
  unblock() { if (this.pressure) this.setPressure(false); }

  enqueue(chunk) {
    if (!this.readable.open) throw new TypeErrorClass("the readable side is closed or closing");
    try { this.readable.enqueue(chunk); } catch (thrown) {
      this.failWritable(thrown);
      throw this.readable.stream.error;
    }
    const pressure = !(this.readable.wanted || this.readable.desired > 0);
    if (pressure !== this.pressure) this.setPressure(true);
  }

  terminate() {
    this.readable.close();
    this.failWritable(new TypeErrorClass("the transform stream was terminated"));
  }

  perform(chunk) { return after(this.onTransform(chunk, this.object), undefined, (error) => { this.fail(error); throw error; }); }

  write(chunk) {
    if (!this.pressure) return this.perform(chunk);
    return after(this.pressureChange.promise, () => {
      const stream = this.writable.stream;
      if (stream.state === "erroring") throw stream.error;
      return this.perform(chunk);
    });
  }

  abort(reason) { return this.end(() => this.onCancel(reason), (failed, error) => {
    const stream = this.readable.stream;
    if (!failed && stream.state === "errored") return stream.error;
    this.readable.fail(failed ? error : reason);
    return failed ? error : none;
  }); }

  close() { return this.end(() => this.onFlush(this.object), (failed, error) => {
    const stream = this.readable.stream;
    if (!failed && stream.state === "errored") return stream.error;
    if (!failed) { this.readable.close(); return none; }
    this.readable.fail(error);
    return error;
  }); }

  cancel(reason) { return this.end(() => this.onCancel(reason), (failed, error) => {
    const stream = this.writable.stream;
    if (!failed && stream.state === "errored") return stream.error;
    this.writable.failIfNeeded(failed ? error : reason);
    this.unblock();
    return failed ? error : none;
  }); }

  // end runs what ends the transform, once: settle tells what it fails with, or none.
  end(run, settle) {
    if (this.finish !== null) return this.finish.promise;
    const d = this.finish = deferred(), result = run();
    this.forget();
    const conclude = (failed, error) => {
      const failure = settle(failed, error);
      if (failure === none) d.resolve(undefined);
      else d.reject(failure);
    };
    upon(result, () => conclude(false), (error) => conclude(true, error));
    return d.promise;
  }

  pull() {
    this.setPressure(false);
    return this.pressureChange.promise;
  }
}
const none = {};

class TransformStream {
  #readable; #writable;

  constructor(transformer = undefined, writableStrategy = undefined, readableStrategy = undefined) {
    transformer = transformer === undefined ? {} : transformer;
    if (!isObject(transformer) && typeof transformer !== "function") throw new TypeErrorClass("a transformer must be an object");
    if (transformer.readableType !== undefined || transformer.writableType !== undefined) throw new RangeErrorClass("the sides of a TransformStream have no type");
    const t = new Transform(), out = strategyOf(readableStrategy, 0), into = strategyOf(writableStrategy, 1), started = deferred();
    t.onCancel = algorithmOf(transformer, "cancel", nothingLater);
    t.onFlush = algorithmOf(transformer, "flush", nothingLater);
    t.onTransform = algorithmOf(transformer, "transform", (chunk) => {
      try { t.enqueue(chunk); return resolvedWith(undefined); } catch (thrown) { return rejectedWith(thrown); }
    });
    const w = newWritable((chunk) => t.write(chunk), () => t.close(), (reason) => t.abort(reason), into);
    this.#writable = w.stream;
    t.writable = w.control;
    const r = newReadable(() => t.pull(), (reason) => t.cancel(reason), out);
    this.#readable = r.stream;
    t.readable = r.control;
    t.setPressure(true);
    t.writable.begin(started.promise);
    t.readable.begin(started.promise);
    started.resolve(startOf(transformer, newTransformController(t)));
  }

  get readable() { return this.#readable; }
  get writable() { return this.#writable; }
}
tag(TransformStream, "TransformStream");

let newTransformController;
class TransformStreamDefaultController {
  #transform;
  static { newTransformController = (transform) => transform.object = new TransformStreamDefaultController(recordKey, transform); }
  constructor(key, transform) {
    if (key !== recordKey) throw new TypeErrorClass("Illegal constructor");
    this.#transform = transform;
  }
  get desiredSize() { return this.#transform.readable.desired; }
  enqueue(chunk = undefined) { this.#transform.enqueue(chunk); }
  error(reason = undefined) { this.#transform.fail(reason); }
  terminate() { this.#transform.terminate(); }
}
tag(TransformStreamDefaultController, "TransformStreamDefaultController");
