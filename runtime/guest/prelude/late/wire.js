// The values of the web in Cap'n Web: url, headers, blob and streams both ways. A stream's chunks travel as stream
// messages to a writable end; the window of what is not acknowledged yet is kept here, by the sender alone.
const windowSize = 256 * 1024;
const streams = late("streams"), webValues = late("fetch");
const settled = (operation) => new PromiseClass((resolve) => resolve(operation()));
const ignore = () => {};
const quietly = (promise) => { apply(promiseThen, promise, [ignore, ignore]); };

// remoteWritable makes the WritableStream of a writable end of the other side.
const remoteWritable = (hook) => {
  let broken = false, why, inFlight = 0, room = null, dropped = false;
  const drop = () => { if (!dropped) { dropped = true; hook.drop(); } };
  const give = (method, args) => new PromiseClass((resolve, reject) => sendStream(hook.id, method, args).future.when(resolve, reject));
  const breakDown = (error) => { if (!broken) { broken = true; why = error; } };
  const made = streams.newWritable((chunk) => {
    if (broken) return settled(() => { throw why; });
    return settled(() => {
      const { future, size } = sendStream(hook.id, "write", [chunk]);
      inFlight += size;
      future.when(() => {
        inFlight -= size;
        if (room !== null && inFlight < windowSize) { room.ok(); room = null; }
      }, (error) => {
        inFlight -= size;
        if (!broken) { breakDown(error); made.control.failIfNeeded(error); drop(); }
        if (room !== null) { room.fail(error); room = null; }
      });
      if (inFlight >= windowSize) return new PromiseClass((ok, fail) => { room = { ok, fail }; });
    });
  }, () => {
    if (broken) { drop(); return settled(() => { throw why; }); }
    return apply(promiseThen, give("close", []), [drop, (error) => { drop(); throw broken ? why : error; }]);
  }, (reason) => {
    if (broken) return settled(ignore);
    breakDown(reason ?? new TypeErrorClass("the stream was aborted"));
    if (room !== null) { room.fail(why); room = null; }
    apply(promiseThen, give("abort", [reason]), [drop, drop]);
    return settled(ignore);
  }, { mark: 1, size: () => 1 });
  made.control.begin(undefined);
  return made.stream;
};

// Holder lets go of a received stream with the call or the result that it came with, unless it is in use by then.
class Holder {
  disposed = false;
  constructor(stream, letGo) { this.stream = stream; this.letGo = letGo; }
  dispose() {
    if (this.disposed || this.stream.locked) return;
    this.disposed = true;
    quietly(this.letGo());
  }
}
const hold = (stream, cx, letGo) => {
  const holder = new Holder(stream, letGo);
  streamHolders.set(stream, holder);
  cx.held ??= [];
  cx.held[cx.held.length] = holder;
  return stream;
};

// WritableEntry is what the other side has of a WritableStream here. readable is the other end of a pipe.
class WritableEntry {
  count = 1; exported = 0; closed = false; section = undefined;
  constructor(stream, readable) { this.writer = new streams.Writer(streams.writableOf(stream)); this.readable = readable; }

  run(path, args, held, out) {
    const method = path.length === 1 && args !== null ? path[0] : "", writer = this.writer;
    if (method !== "write" && method !== "close" && method !== "abort") return end(2, new TypeErrorClass("a WritableStream has only write, close and abort"), null, held, out);
    let promise;
    if (method === "write") promise = writer.write(args[0]); // what is in the chunk belongs to its reader
    else {
      this.closed = true;
      promise = method === "close" ? writer.closeFromPipe() : writer.stream.abort(args[0]);
    }
    apply(promiseThen, promise, [() => out.settle(1, undefined), (error) => out.settle(2, error)]);
  }
  pull() {}
  end() {
    const error = new TypeErrorClass("the stream was let go without being closed");
    if (this.readable !== null) quietly(streams.readableOf(this.readable).cancel(error)); // nobody can read it any more
    if (!this.closed) quietly(this.writer.stream.abort(error));
    this.writer.release();
  }
}

const newPipe = () => {
  const t = new streams.TransformStream();
  return new WritableEntry(t.writable, t.readable);
};

// takeReadable gives the readable end of a pipe, once.
const takeReadable = (entry, cx) => {
  const stream = entry instanceof WritableEntry ? entry.readable : undefined;
  if (stream === undefined || stream === null) throw wrong("not a pipe, or its readable end was taken already");
  entry.readable = null;
  // The chunks belong to the section that reads them.
  entry.section = sectionNow();
  streams.readableOf(stream).onRead = () => {
    const from = entry.section;
    if (from !== (entry.section = sectionNow())) moveStream(entry, from, entry.section);
  };
  return hold(stream, cx, () => streams.readableOf(stream).cancel(new TypeErrorClass("the stream was let go without being read")));
};

const receiveWritable = (hook, cx) => {
  const stream = remoteWritable(hook);
  return hold(stream, cx, () => streams.writableOf(stream).abort(new TypeErrorClass("the stream was let go without being closed")));
};

// receiveBlob gives the future of a Blob whose content comes through a pipe.
const receiveBlob = (type, entry) => {
  const out = new Future(), stream = takeReadable(entry, new Context(null));
  apply(promiseThen, new webValues.Response(stream).bytes(), [(bytes) => out.settle(1, webValues.newBlob(bytes, type)), (error) => out.settle(2, error)]);
  return out;
};

const receiveValue = (kind, value) => {
  try {
    if (kind === "url" && typeof value === "string") return new (late("url").URL)(value);
    if (kind === "headers" && isArray(value)) {
      const headers = new webValues.Headers();
      for (let i = 0; i < value.length; i++) headers.append(value[i][0], value[i][1]);
      return headers;
    }
  } catch {}
  throw wrong(kind);
};

// receiveMessage makes a Request or a Response; body is its body as a value, init the rest as it came.
const receiveMessage = (kind, first, body, init) => {
  if (!isObject(init) || isArray(init) || (init.headers !== undefined && !isArray(init.headers))) throw wrong(kind);
  const stream = isObject(body) && streams.isReadable(body) ? body : null;
  if (stream === null && body !== null && typeof body !== "string" && !(isObject(body) && containerNames.get(getPrototypeOf(body)) === "Uint8Array")) throw wrong("body");
  let message;
  try {
    if (kind === "response") message = new webValues.Response(body, init);
    else message = new webValues.Request(first, { ...init, body, signal: undefined, duplex: "half" });
  } catch (thrown) { throw new Refusal(textOf(thrown.message)); }
  if (stream !== null) streamHolders.set(message, streamHolders.get(stream));
  return message;
};

// sendMessage gives the body of a Request or a Response, and what its init says that is not usual.
const sendMessage = (v, init, usual, out) => {
  const names = objectKeys(usual), pairs = headerPairs(v.headers);
  for (let i = 0; i < names.length; i++) if (v[names[i]] !== usual[names[i]]) init[names[i]] = v[names[i]];
  if (pairs.length > 0) init.headers = pairs;
  if (v.bodyUsed) throw cannotSend(v, "its body has been read already");
  return v.body === null ? null : sendReadable(v.body, out);
};
const headerPairs = (headers) => {
  const pairs = [];
  headers.forEach((value, key) => { pairs[pairs.length] = [key, value]; });
  return pairs;
};

// sendReadable begins a pipe ahead of the message that names its readable end.
const sendReadable = (stream, out) => {
  const record = streams.readableOf(stream);
  if (record.reader !== null) throw cannotSend(stream, "the stream is locked");
  const hook = sendPipe();
  out.pipes ??= [];
  out.pipes[out.pipes.length] = hook;
  quietly(stream.pipeTo(remoteWritable(hook)));
  return ["readable", hook.id];
};

// encodeValue returns the expression of a value of the web, or undefined.
const encodeValue = (v, name, out) => {
  switch (name) {
    case "URL": return ["url", "" + v];
    case "Headers": return ["headers", headerPairs(v)];
    case "Response": {
      const init = {}, body = sendMessage(v, init, { status: 200, statusText: "" }, out);
      return ["response", body, init];
    }
    case "Request": {
      const init = {}, body = sendMessage(v, init, { method: "GET", cache: "default", redirect: "follow", integrity: "", mode: "cors", credentials: "same-origin", referrerPolicy: "", keepalive: false }, out);
      if (body !== null) { init.body = body; init.duplex = "half"; }
      return ["request", v.url, init];
    }
    case "Blob": case "File": return ["blob", v.type, sendReadable(v.stream(), out)];
    case "ReadableStream": return sendReadable(v, out);
    case "WritableStream": {
      if (streams.writableOf(v).writer !== null) throw cannotSend(v, "the stream is locked");
      return ["writable", exportEntry(new WritableEntry(v, null), out)];
    }
  }
};
