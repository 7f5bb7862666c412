// What may run when: the input gate.
//
// A gadget's code runs in events: a call that comes in, an answer to a call of its own, a chunk of a stream, a timer, each with
// the microtasks after it. An event belongs to the section in which it was begun: the code of a timer to the section in which the
// timer was set, an answer to the one in which the call was made, a chunk to the one that last read the stream, a call that
// comes in to the whole gadget. blockConcurrencyWhile and transaction open a section inside the one that they are called in.
//
//   - It begins after the event that asked for it, ahead of everything that waits, one after the other. Then only what belongs
//     to it may run. All else waits, in the order in which it came or was due.
//   - It ends when its callback has, and the section that is open inside it has. What waits for the callback's value runs as the next
//     event, before anything that has waited; and what the callback left unfinished, sections that wait to begin too, belongs to the section around it from then on.
//   - So a callback that waits for an answer to a call that was made before it, or for a call to come in, waits in vain until its
//     time is up.
class Section {
  ended = false;
  children = free([]); // sections that wait to begin
  waiting = free([]); // {at, stream, run}: events that came while a section inside this one was open
  outcome = null; // {state, value} of the callback: the section ends next
  constructor(parent) { this.parent = parent; }
}
const wholeGadget = new Section(null);
let section = wholeGadget; // the one that the running code belongs to
let innermost = wholeGadget; // the open one: what belongs to it may run

const openOne = (s) => {
  while (s.ended) s = s.parent;
  return s;
};
const somethingWaits = () => innermost.children.length > 0 || innermost.outcome !== null || innermost.waiting.length > 0;
const wakeNow = () => { if (wakeAt !== 0) hostWake(wakeAt = 0); };

// enters tells whether an event of a section may run at once. If so, it is the one that runs.
const enters = (s) => {
  s = openOne(s);
  if (s !== innermost || somethingWaits()) return false;
  section = s;
  return true;
};

// holdEvent has a message wait. Whatever comes first of those that may run then runs instead: a flood of messages holds up nothing.
// What the message names is kept for it, because it may be released before the message runs.
const holdEvent = (s, stream, expression, run) => {
  const { waiting } = openOne(s), kept = free([]);
  keepNamed(expression, kept, 0);
  waiting[waiting.length] = { at: now(), stream, run: () => {
    if (sessionError !== null) return;
    try {
      run();
      for (let i = 0; i < kept.length; i++) releaseExport(kept[i], 1);
    } catch (thrown) { breakSession(thrown); }
  } };
  runWaiting();
  resetWake();
};

const keepNamed = (v, kept, depth) => {
  if (!isObject(v) || depth > maxDepthRPC) return;
  const list = isArray(v), keys = list ? v : objectKeys(v);
  if (list && typeof v[0] === "string" && typeof v[1] === "number") {
    const entry = exports_.get(v[1]);
    if (entry !== undefined) {
      entry.count++;
      kept[kept.length] = v[1];
    }
  }
  for (let i = 0; i < keys.length; i++) keepNamed(list ? v[i] : v[keys[i]], kept, depth + 1);
};

// moveStream gives the chunks of a stream that wait to the section that reads it now.
const moveStream = (stream, from, to) => {
  from = openOne(from);
  to = openOne(to);
  if (from === to) return;
  const stay = free([]);
  for (let i = 0; i < from.waiting.length; i++) {
    const event = from.waiting[i], list = event.stream === stream ? to.waiting : stay;
    list[list.length] = event;
  }
  from.waiting = stay;
  wakeNow();
};

// queueSection has a section begin after the event that runs now.
const queueSection = (s) => {
  const { children } = s.parent;
  children[children.length] = s;
  wakeNow();
};

// runWaiting runs one thing that waits and may run.
const runWaiting = () => {
  const s = section = innermost;
  if (s.outcome !== null) endSection(s);
  else if (s.children.length > 0) {
    innermost = section = takeFirst(s.children);
    section.begin();
  }
  else if (s.waiting.length > 0) takeFirst(s.waiting).run();
};

const endSection = (s) => {
  closeSection(s);
  s.end();
};

// closeSection leaves the open section; what waits in it waits in the one around it.
const closeSection = (s) => {
  s.ended = true;
  innermost = section = s.parent;
  const { waiting, children } = s.parent;
  for (let i = 0; i < s.waiting.length; i++) waiting[waiting.length] = s.waiting[i];
  for (let i = 0; i < s.children.length; i++) {
    children[children.length] = s.children[i];
    s.children[i].parent = s.parent;
  }
  s.waiting = s.children = free([]);
};

// runCallback calls what a section is for. failed is what to do if it fails.
const runCallback = (s, args, failed) => {
  const result = new PromiseClass((resolve) => resolve(apply(s.callback, undefined, args)));
  apply(promiseThen, result, [(value) => noteOutcome(s, 1, value), failed]);
};

const noteOutcome = (s, state, value) => {
  if (s.ended) return;
  s.outcome = { state, value };
  wakeNow();
};

// addDeadline is a timer that runs whatever is open.
const addDeadline = (callback, ms) => {
  const id = addTimer(callback, ms, [], false);
  timers.get(id).always = true;
  return id;
};

// Pause ends as soon as it has begun: what waits for it goes on in another turn, before all else.
class Pause extends Section {
  constructor(parent, resolve) { super(parent); this.resolve = resolve; }
  begin() { endSection(this); }
  end() { this.resolve(); }
  breakOff(error) { this.resolve(); }
}

// Block is a section of blockConcurrencyWhile. If its callback fails, or takes too long, so does the gadget.
const blockTime = 30_000;
class Block extends Section {
  deadline = 0;
  constructor(parent, callback, resolve, reject) { super(parent); this.callback = callback; this.resolve = resolve; this.reject = reject; }

  begin() {
    this.deadline = addDeadline(() => hostFail(`blockConcurrencyWhile took more than ${blockTime / 1000} s (inside it, no call comes in, and no answer to a call that was made before it)`), blockTime);
    runCallback(this, [], (thrown) => {
      logFailure("blockConcurrencyWhile failed", thrown);
      hostFail("blockConcurrencyWhile failed: " + (isInterrupt(thrown) ? cpuText : errorText(thrown)));
    });
  }

  end() {
    clearTimer(this.deadline);
    this.resolve(this.outcome.value);
  }

  breakOff(error) {
    clearTimer(this.deadline);
    this.reject(error);
  }
}

const insideBlock = () => {
  for (let s = innermost; s !== wholeGadget; s = s.parent) if (s instanceof Block) return true;
  return false;
};
