// map(): a function sent as a list of instructions, and such lists carried out.
//
// Instructions have a table of their own: negative ids are the captures, 0 is the input, k is the outcome of the
// k-th instruction. The last instruction is the result.

// remapped carries out [_, id, path, captures, instructions] and returns the future of its outcome.
const remapped = (v, cx, depth) => {
  const captures = captured(v[3], cx), instructions = v[4], out = new Future();
  if (!isArray(instructions) || instructions.length === 0) throw wrong("instructions");
  const input = new Future();
  lookup(v[1], cx).run(pathOf(v[2]), null, null, input);
  input.when((value) => {
    try {
      if (value === undefined || value === null) out.settle(1, value);
      else if (isArray(value)) mapList(value, captures, instructions, depth, out);
      else mapOne(value, captures, instructions, depth).when((x) => out.settle(1, x), (e) => out.settle(2, e));
    } catch (thrown) { out.settle(2, thrown); }
  }, (error) => out.settle(2, error));
  out.when(() => dropCaptures(captures), () => dropCaptures(captures));
  return out;
};

const dropCaptures = (captures) => { for (let i = 0; i < captures.length; i++) captures[i].drop(); };

const captured = (list, cx) => {
  if (!isArray(list)) throw wrong("captures");
  const hooks = free([]);
  for (let i = 0; i < list.length; i++) {
    const c = list[i];
    if (!isArray(c) || c.length !== 2) throw wrong("capture");
    if (c[0] === "import") hooks[i] = hookFor(c[1], cx);
    else if (c[0] === "export") {
      const handler = handlerOf(importStub(c[1], cx));
      handler.hook.handles++;
      hooks[i] = handler.hook;
    } else throw wrong("capture");
  }
  return hooks;
};

const mapList = (list, captures, instructions, depth, out) => {
  const results = free([]);
  let missing = list.length;
  if (missing === 0) return out.settle(1, results);
  const one = () => { if (--missing === 0 && out.state === 2) letGo(results); };
  for (let i = 0; i < list.length; i++) {
    mapOne(list[i], captures, instructions, depth).when((value) => {
      results[i] = value;
      if (missing === 1) out.settle(1, results);
      one();
    }, (error) => { out.settle(2, error); one(); });
  }
};

// letGo disposes what nobody will take.
const letGo = (value) => eachReference(value, (handler, target) => {
  if (handler !== null) handler.dispose("with the map it was part of");
  else disposeTarget(target);
}, 0);

// Scope is the table of one element's instructions. It owns what their calls gave, until the last one has its outcome: what
// is part of that has a handle of its own by then.
class Scope {
  values = free([]); boxes = null; stubs = free([]); over = false;
  constructor(captures) { this.captures = captures; }

  own(value) {
    if (this.over) return letGo(value);
    eachReference(value, (handler, target) => {
      if (handler !== null) this.stubs[this.stubs.length] = handler;
      else if (this.boxOf(target) === undefined) {
        const box = new Box(target, false);
        box.count++;
        (this.boxes ??= new OwnMap()).set(target, box);
      }
    }, 0);
  }
  boxOf(target) { return this.boxes === null ? undefined : this.boxes.get(target); }

  end() {
    this.over = true;
    for (let i = 0; i < this.stubs.length; i++) this.stubs[i].dispose("with the map it was part of");
    if (this.boxes !== null) apply(mapEach, this.boxes, [(box) => box.drop()]);
  }
}

// mapOne carries the instructions out for one element. They are copied first: decoding works in place.
const mapOne = (value, captures, instructions, depth) => {
  const scope = new Scope(captures);
  scope.values[0] = settled(value);
  let last = null;
  for (let i = 0; i < instructions.length; i++) {
    const cx = new Context(scope), instruction = parseJSON(toText(instructions[i]));
    scope.values[i + 1] = last = carryOut(instruction, cx, depth + 1, scope, i + 1 === instructions.length);
  }
  last.when(() => scope.end(), () => scope.end());
  return last;
};

const carryOut = (instruction, cx, depth, scope, isLast) => {
  const kind = isArray(instruction) && !isLast ? instruction[0] : null;
  if (kind === "remap" || (kind === "pipeline" && instruction.length > 3)) {
    const made = special(instruction, cx, depth);
    made.when((value) => scope.own(value), () => {});
    return made;
  }
  const holder = [instruction], outcome = new Future();
  decodeList(holder, cx, depth);
  whenReady(cx, () => outcome.settle(1, holder[0]), (error) => outcome.settle(2, error));
  return outcome;
};

const settled = (value) => {
  const future = new Future();
  future.settle(1, value);
  return future;
};

// scoped looks an id up in the table of a map.
const scoped = (n, scope) => {
  const entry = id(n) < 0 ? scope.captures[-n - 1] : scope.values[n];
  if (entry === undefined) throw wrong("no such variable");
  if (entry instanceof Future) return { run: (path, args, held, out) => entry.when((v) => run(v, path, args, held, out), (e) => end(2, e, null, held, out)) };
  const runStub = (path, args, held, out) => {
    entry.handles++;
    run(makeStub(entry, null), path, args, held, out);
  };
  return { run: runStub, hook: entry };
};

// Recorder records what a mapper does with its placeholder.
class Recorder {
  captures = free([]); hooks = free([]); instructions = free([]); parent = null;

  // call adds an instruction and returns the hook of its outcome.
  call(target, path, args) {
    const instruction = ["pipeline", target, path];
    if (args !== null) {
      const out = new Outgoing(), list = free([]);
      out.scope = this;
      for (let i = 0; i < args.length; i++) list[i] = encode(args[i], out, 1);
      instruction[3] = list;
    }
    return this.add(instruction);
  }

  add(instruction) {
    this.instructions[this.instructions.length] = instruction;
    return new Placeholder(this, this.instructions.length);
  }

  // capture turns a stub used inside the mapper into an expression.
  capture(handler) {
    if (handler === undefined) throw new ErrorClass("A function or an RpcTarget cannot be made inside map(). Make an RpcStub before it and use that.");
    const path = handler.path === null ? [] : handler.path, n = this.idOf(handler.hook);
    return handler.path === null ? ["import", n] : path.length === 0 ? ["pipeline", n] : ["pipeline", n, path];
  }

  idOf(hook) {
    if (hook instanceof Placeholder && hook.recorder === this) return hook.n;
    for (let i = 0; i < this.hooks.length; i++) if (this.hooks[i] === hook) return -i - 1;
    let expression;
    if (hook instanceof Placeholder) {
      if (this.parent === null) throw new ErrorClass("A value inside map() was used after the mapper returned.");
      expression = ["import", this.parent.idOf(hook)];
    } else {
      const out = new Outgoing();
      if (this.parent !== null) expression = ["import", this.parent.idOf(hook)];
      else expression = encodeHook(hook, hook instanceof Local ? null : hook.id < 0 || hook.id === 0 ? null : [], out, 0);
      if (expression[0] === "pipeline") expression = ["import", expression[1]];
      if (expression[0] === "promise") { rollBack(out); throw new ErrorClass("A promise that is settled cannot be used inside map(). Await it before."); }
    }
    this.hooks[this.hooks.length] = hook;
    this.captures[this.captures.length] = expression;
    return -this.hooks.length;
  }
}

let recorder = null; // of the mapper that is running

// Placeholder is the hook of a value inside a mapper.
class Placeholder {
  handles = 1;
  constructor(recorder, n) { this.recorder = recorder; this.n = n; }
  call() { return active(); } // only reached after the mapper: while it runs, the stub records
  pull() { throw new ErrorClass("map() calls its function once, without a value: nothing can be awaited inside."); }
  drop() {}
  onBroken() {}
}

const active = () => {
  if (recorder === null) throw new ErrorClass("A value inside map() was used after the mapper returned.");
  return recorder;
};

// record runs the mapper once and returns what it did.
const record = (mapper) => {
  const r = new Recorder(), out = new Outgoing();
  r.parent = recorder;
  recorder = r;
  out.scope = r;
  try {
    const result = mapper(makeStub(new Placeholder(r, 0), []));
    if (isObject(result) && getPrototypeOf(result) === PromisePrototype) throw new ErrorClass("The function given to map() must not be async.");
    r.instructions[r.instructions.length] = encode(result, out, 0);
    return r;
  } finally { recorder = r.parent; }
};

// sendMap is stub.map(mapper).
const sendMap = (handler, mapper) => {
  handler.check();
  const path = handler.path === null ? [] : handler.path, hook = handler.hook;
  const r = record(mapper);
  if (hook instanceof Placeholder) {
    const n = active().idOf(hook);
    return makeStub(active().add(["remap", n, path, r.captures, r.instructions]), []);
  }
  if (hook instanceof Remote && hook.future.state === 0) {
    if (sessionError !== null) throw sessionError;
    const text = `["push",["remap",${hook.id},${toText(path)},${toText(r.captures)},${toText(r.instructions)}]]`;
    return makeStub(sendPush(text, new Outgoing()), []);
  }
  const captures = r.hooks, out = new Future();
  for (let i = 0; i < captures.length; i++) captures[i].handles++;
  out.when(() => dropCaptures(captures), () => dropCaptures(captures));
  hook.pull(path).when((value) => {
    if (value === undefined || value === null) out.settle(1, value);
    else if (isArray(value)) mapList(value, captures, r.instructions, 0, out);
    else mapOne(value, captures, r.instructions, 0).when((x) => out.settle(1, x), (e) => out.settle(2, e));
  }, (error) => out.settle(2, error));
  return makeStub(new Later(out), []);
};
