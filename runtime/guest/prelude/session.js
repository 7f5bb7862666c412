// The session with the kernel: tables, messages, and their order.
//
// Ids are seen from here: exports are ours (positive ones made by the other side's push, negative ones chosen here),
// imports are the other side's.
const maxMessage = 32 * 1024 * 1024;
const exports_ = new OwnMap(), imports = new OwnMap();
let pushesReceived = 0, pushesSent = 0, exportsChosen = 0;
let sessionError = null; // why the session is over

// Result is the entry of a call of the other side.
class Result extends Future {
  constructor(id) {
    super();
    this.id = id;
    this.count = 1;
    this.pulled = false;
    this.boxes = null;
    this.sent = false; // the value went out at least once
    this.references = true; // the value holds, or may hold, stubs or targets
    this.owned = true; // the value is let go with the entry
  }

  run(path, args, held, out) {
    if (this.state === 1 && path.length === 0 && args === null) return out.settle(1, this.value);
    this.when((value) => run(value, path, args, held, out), (error) => end(2, error, null, held, out));
  }

  pull() {
    if (this.pulled) return;
    this.pulled = true;
    if (this.state === 1) sendResult(this, this.value);
    else this.when((value) => sendResult(this, value), (error) => sendReject(this, error));
  }

  // end is called when the other side has let go: what the result held is let go with it.
  end() {
    if (this.boxes !== null) for (let i = 0; i < this.boxes.length; i++) this.boxes[i].drop();
    if (!this.owned || !this.references) return;
    this.when((value) => {
      try {
        eachReference(value, (handler, target) => {
          if (handler !== null) handler.dispose("with the result it was part of");
          else if (!this.sent) disposeTarget(target);
        }, 0);
      } catch (thrown) { logFailure("a result could not be let go", thrown); } // looking through it runs code of the gadget
    }, () => {});
  }
}

// Shared is the entry of an object of ours.
class Shared {
  count = 1;
  constructor(box) { this.box = box; box.count++; }
  run(path, args, held, out) { run(this.box.target, path, args, held, out); }
  pull() {}
  end() { this.box.exported = 0; this.box.drop(); }
}

// Remote is a hook on an object of the other side. future is pending while calls go there; it is settled with the
// outcome of a promise, or with the failure of an object that was lost.
class Remote {
  constructor(id) { this.id = id; this.count = 1; this.handles = 1; this.future = new Future(); this.pulled = false; this.broken = null; this.section = section; }

  call(path, args) {
    if (this.future.state !== 0) return new Later(this.future).call(path, args);
    return sendCall(this.id, path, args);
  }

  pull(path) {
    if (this.future.state !== 0) return new Later(this.future).pull(path);
    if (path.length > 0) return sendCall(this.id, path, null).pull([]);
    if (!this.pulled && this.id > 0) {
      this.pulled = true;
      hostSend(`["pull",${this.id}]`);
    }
    return this.future;
  }

  drop() {
    if (--this.handles > 0 || imports.get(this.id) !== this) return;
    this.forget();
    if (this.future.state === 0) this.future.settle(2, new ErrorClass("The call was given up because its stub was disposed."));
  }

  forget() {
    if (this.id === 0 || !imports.delete(this.id)) return;
    if (sessionError === null && this.count > 0) hostSend(`["release",${this.id},${this.count}]`);
  }

  onBroken(callback) {
    if (this.future.state === 2) return callback(this.future.value);
    this.future.when(() => {}, callback);
  }

  // settle takes the outcome that the other side has sent.
  settle(state, value) {
    this.forget();
    this.future.settle(state, value);
  }
}

const lookup = (n, cx) => {
  if (cx.scope !== null) return scoped(n, cx.scope);
  const entry = exports_.get(id(n));
  if (entry === undefined) throw wrong(`no such export ${n}`);
  return entry;
};

const hookFor = (n, cx) => {
  const entry = lookup(n, cx);
  if (entry instanceof Shared) return new Local(entry.box);
  if (entry.hook !== undefined) { // a capture of a map
    entry.hook.handles++;
    return entry.hook;
  }
  return new Later(entry instanceof Future ? entry : pipelined([0, n, []], cx, 0));
};

const importHook = (n, cx) => {
  if (cx.scope !== null || id(n) >= 0) throw wrong("export");
  let hook = imports.get(n);
  if (hook === undefined) imports.set(n, hook = new Remote(n));
  else { hook.count++; hook.handles++; }
  return hook;
};
const importStub = (n, cx) => cx.hold(makeStub(importHook(n, cx), null));

const importPromise = (n) => {
  if (id(n) >= 0 || imports.has(n)) throw wrong("promise");
  const hook = new Remote(n);
  imports.set(n, hook);
  return hook.future;
};

const exportBox = (box, out) => {
  let n = box.exported;
  if (n !== 0) exports_.get(n).count++;
  else {
    n = box.exported = --exportsChosen;
    exports_.set(n, new Shared(box));
  }
  out.exported ??= free([]);
  out.exported[out.exported.length] = n;
  return n;
};

const exportEntry = (entry, out) => {
  exports_.set(--exportsChosen, entry);
  out.exported ??= free([]);
  return out.exported[out.exported.length] = exportsChosen;
};

const exportFuture = (future, out) => {
  const n = --exportsChosen, entry = new Result(n);
  exports_.set(n, entry);
  entry.owned = false;
  future.when((value) => entry.settle(1, value), (error) => entry.settle(2, error));
  out.exported ??= free([]);
  out.exported[out.exported.length] = n;
  return n;
};

const releaseExport = (n, count) => {
  const entry = exports_.get(n);
  if (entry === undefined) throw wrong(`release of an unknown export ${n}`);
  if (!isInteger(count) || count < 0 || count > entry.count) throw wrong("release count");
  entry.count -= count;
  if (entry.count > 0 || n === 0) return;
  exports_.delete(n);
  entry.end();
};

// send gives a message to the host, and after it the outcomes of the promises that it introduces.
const send = (text, out) => {
  if (text.length > maxMessage) throw new RangeErrorClass(`a message may have ${maxMessage} characters: send it in parts, or as a stream`);
  hostSend(text);
  if (out.after === null) return;
  for (let i = 0; i < out.after.length; i++) {
    const entry = exports_.get(out.after[i]);
    if (entry !== undefined) entry.pull();
  }
};

// sendCall begins a call, or a read, on an object of the other side.
const sendCall = (target, path, args) => {
  if (sessionError !== null) return new Later(failed(sessionError));
  const out = new Outgoing();
  try {
    let text = `["push",["pipeline",${target},${toText(path)}`;
    if (args !== null) {
      const list = free([]);
      for (let i = 0; i < args.length; i++) list[i] = encode(args[i], out, 1);
      text += "," + toText(list);
    }
    return sendPush(text + "]]", out);
  } catch (thrown) {
    rollBack(out);
    return new Later(failed(thrown));
  }
};

const sendPush = (text, out) => {
  const hook = new Remote(pushesSent + 1);
  send(text, out);
  pushesSent++;
  imports.set(hook.id, hook);
  return hook;
};

// sendStream is a call that the other side answers and releases unasked. It returns the future of the outcome, and
// the size of the message.
const sendStream = (target, method, args) => {
  if (sessionError !== null) throw sessionError;
  const out = new Outgoing(), list = free([]);
  let text;
  try {
    for (let i = 0; i < args.length; i++) list[i] = encode(args[i], out, 1);
    text = `["stream",["pipeline",${target},["${method}"],${toText(list)}]]`;
    send(text, out);
  } catch (thrown) {
    rollBack(out);
    throw thrown;
  }
  const hook = new Remote(++pushesSent);
  hook.count = 0;
  imports.set(hook.id, hook);
  return { future: hook.future, size: text.length };
};

// sendPipe begins a pipe and returns the hook on its writable end.
const sendPipe = () => {
  if (sessionError !== null) throw sessionError;
  hostSend('["pipe"]');
  const hook = new Remote(++pushesSent);
  imports.set(hook.id, hook);
  return hook;
};

// answering is the entry whose outcome is being written, and answeringOut what that has lent so far. Writing runs code of the
// gadget (getters, proxies): an interrupt there is found in interruptSession.
let answering = null, answeringOut = null;

const sendResult = (entry, value) => {
  if (sessionError !== null || exports_.get(entry.id) !== entry) return;
  if (typeof value !== "object" && typeof value !== "function" || value === null) { // the most usual ones, short
    const text = shortText(value);
    if (text !== null) {
      entry.references = false;
      return hostSend(`["resolve",${entry.id},${text}]`);
    }
  }
  const out = new Outgoing();
  answering = entry;
  answeringOut = out;
  try {
    const text = `["resolve",${entry.id},${toText(encode(value, out, 0))}]`;
    if (entry.boxes === null && out.boxes !== null) {
      entry.boxes = out.boxes;
      for (let i = 0; i < out.boxes.length; i++) out.boxes[i].count++;
    }
    entry.references = out.references;
    entry.sent = true;
    send(text, out);
    answering = answeringOut = null;
  } catch (thrown) {
    rollBack(out);
    answeringOut = null;
    logFailure("a result could not be sent", thrown);
    sendReject(entry, thrown);
  }
};

const shortText = (v) => {
  switch (typeof v) {
    case "string": return v.length < 1024 ? stringify(v) : null;
    case "number": return isFinite_(v) ? "" + (v === 0 ? 0 : v) : null;
    case "boolean": return v ? "true" : "false";
    case "undefined": return '["undefined"]';
  }
  return v === null ? "null" : null;
};

const sendReject = (entry, error) => {
  if (sessionError !== null) return;
  answering = entry;
  hostSend(`["reject",${entry.id},${errorExpression(error)}]`);
  answering = null;
};

// receive deals with one message. A message that breaks the protocol ends the session.
const receive = (text) => {
  if (sessionError !== null) return;
  try {
    if (text.length > maxMessage) throw wrong("too long");
    handle(parseJSON(text));
  } catch (thrown) { breakSession(thrown); }
};

const breakSession = (error) => {
  hostSend(`["abort",${errorExpression(error)}]`);
  endSession(error);
  hostFail("the gadget's connection broke: " + errorText(error));
};

const handle = (m) => {
  section = wholeGadget;
  if (!isArray(m)) throw wrong("not a list");
  switch (m[0]) {
    case "push": return receivePush(m[1], new Result(++pushesReceived));
    case "pull": return lookup(m[1], sessionContext).pull();
    case "release": return releaseExport(id(m[1]), m[2]);
    case "resolve": return takeOutcome(1, id(m[1]), m[2]);
    case "reject": return takeOutcome(2, id(m[1]), m[2]);
    case "stream": return receiveStream(m[1]);
    case "pipe": return receivePipe();
    case "abort": return receiveAbort(m[1]);
  }
  throw wrong("unknown message");
};
const sessionContext = new Context(null);

// running is the call that is being entered. An interrupt unwinds everything without asking any catch or finally: then
// it is still there in interruptSession.
let running = null;

const receivePush = (expression, entry) => {
  exports_.set(entry.id, entry);
  if (enters(wholeGadget)) enterCall(expression, entry);
  else holdEvent(wholeGadget, null, expression, () => enterCall(expression, entry));
};

const enterCall = (expression, entry) => {
  running = entry;
  evaluate(expression, entry);
  running = null;
};

// interruptSession fails what the host has cut off: the call that was being entered, or, if it was a job, every call
// that waits, because nobody can tell whose job it was and its promise will never be settled.
const interruptSession = (text) => {
  const error = new ErrorClass(text), cut = free([]);
  recorder = null;
  if (answering !== null) { // it was the writing of this outcome that took too long
    const entry = answering;
    if (answeringOut !== null) rollBack(answeringOut);
    answeringOut = running = null;
    breakTransactions(error);
    return sendReject(entry, error);
  }
  if (running !== null) cut[0] = running;
  else apply(mapEach, exports_, [(entry) => { if (entry instanceof Result && entry.id > 0 && entry.state === 0) cut[cut.length] = entry; }]);
  running = null;
  for (let i = 0; i < cut.length; i++) cut[i].settle(2, error);
  if (insideBlock()) hostFail("blockConcurrencyWhile was interrupted: " + text);
  breakTransactions(error);
};

const evaluate = (expression, out) => {
  if (isArray(expression) && expression[0] === "pipeline") return startCall(expression, sessionContext, 1, out);
  const cx = new Context(null);
  try {
    const value = isObject(expression) ? decode(expression, cx, 0) : expression;
    if (value instanceof Future) return value.when((v) => end(1, v, null, cx.held, out), (e) => end(2, e, null, cx.held, out));
    whenReady(cx, () => end(1, value, null, cx.held, out), (error) => end(2, error, null, cx.held, out));
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    end(2, thrown, null, cx.held, out);
  }
};

const takeOutcome = (state, n, expression) => {
  const hook = imports.get(n);
  if (hook === undefined || enters(hook.section)) receiveOutcome(state, n, expression);
  else holdEvent(hook.section, null, expression, () => receiveOutcome(state, n, expression));
};

const receiveOutcome = (state, n, expression) => {
  const hook = imports.get(n), cx = new Context(null);
  let value = expression;
  try {
    const holder = [expression];
    decodeList(holder, cx, 0);
    value = holder[0];
    if (cx.waits !== null) value = new Future();
    if (cx.waits !== null) whenReady(cx, () => { value.settle(1, holder[0]); }, (error) => value.settle(2, error));
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw thrown;
    state = 2;
    value = thrown;
  }
  if (hook === undefined) return cx.held === null ? undefined : release(cx.held, undefined, null); // nobody waits for it
  hook.forget();
  if (value instanceof Future) value.when((v) => hook.settle(state, v), (e) => hook.settle(2, e));
  else hook.settle(state, value);
};

// receiveStream is a push that is answered and released unasked.
const receiveStream = (expression) => {
  const n = ++pushesReceived, entry = new Result(n);
  exports_.set(n, entry);
  const target = isArray(expression) && expression[0] === "pipeline" ? exports_.get(expression[1]) : undefined, s = target?.section ?? wholeGadget;
  if (enters(s)) enterStream(expression, entry);
  else holdEvent(s, target, expression, () => enterStream(expression, entry));
};

const enterStream = (expression, entry) => {
  evaluate(expression, entry);
  entry.when((value) => sendResult(entry, value), (error) => sendReject(entry, error));
  entry.when(() => releaseExport(entry.id, 1), () => releaseExport(entry.id, 1));
};

const receivePipe = () => {
  exports_.set(++pushesReceived, late("wire").newPipe());
};

const receiveAbort = (expression) => {
  let error;
  try { error = isObject(expression) ? decode(expression, new Context(null), 0) : expression; } catch {}
  endSession(isObject(error) ? error : new ErrorClass("The connection was closed: " + textOf(error)));
};

// endSession fails everything that waits and lets go of everything that was shared.
const endSession = (error) => {
  if (sessionError !== null) return;
  sessionError = error;
  const hooks = free([]), entries = free([]);
  apply(mapEach, imports, [(hook) => { hooks[hooks.length] = hook; }]);
  apply(mapEach, exports_, [(entry, n) => { if (n !== 0) entries[entries.length] = entry; }]);
  imports.clear();
  exports_.clear();
  for (let i = 0; i < hooks.length; i++) hooks[i].future.settle(2, error);
  for (let i = 0; i < entries.length; i++) entries[i].end();
};
