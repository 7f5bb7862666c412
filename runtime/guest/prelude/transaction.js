// Transactions of ctx.storage.
//
// transactionSync is a savepoint: if the callback throws, what it wrote is taken back. What an async callback writes after
// its first await is outside, as in workerd; the console says so.
//
// transaction(async (txn) => …) is a layer over what is stored, and what SQLite-backed Durable Objects of workerd make of
// it: inside, txn and ctx.storage are the same, and nothing outside runs meanwhile that could see the difference. The
// callback begins in a turn of its own; from then to its end calls wait, and so do the timers and the answers to calls
// that were begun before. So a callback that waits for such an answer waits in vain.
//
//   - Its writes, alarms included, survive the end of a turn, and are committed as one turn when it has ended. If it
//     throws, or calls txn.rollback(), or its process or its instance ends first, none of them ever was.
//   - A message that leaves meanwhile waits only for what was written before the transaction began.
//   - Two transactions run one after the other, in the order of the calls. One that is begun inside another is part of
//     it: its end is kept or taken back with the outer one, which waits for it.
//   - After 30 s, or when the turn is interrupted, it is rolled back and its promise rejects. In workerd the whole object
//     is reset then. What the callback does afterwards with ctx.storage is outside; txn refuses.
//   - At most 1,000 wait or are open; what all layers hold together is bounded like a turn. deleteAll() refuses inside.
const maxTransactions = 1000, transactionTime = 30_000;
const hostBegin = host.begin, hostCommit = host.commit, hostRollback = host.rollback;
let openTransaction = null; // the innermost one that has begun
let transactionCount = 0, storageGates = 0;
const transactionQueue = [], heldOutcomes = [];

const closeStorageGate = () => {
  gates++;
  storageGates++;
  backlog ??= [];
};

// openStorageGate lets calls in again, after what waits for the end of the operation: in the next turn.
const openStorageGate = () => {
  timers.get(addTimer(() => {
    storageGates--;
    openGate();
  }, 0, [], false)).always = true;
};

const runSavepoint = (callback) => {
  if (typeof callback !== "function") throw new TypeErrorClass("transactionSync needs a function");
  const layer = hostBegin(1);
  let value;
  try { value = callback(); } catch (thrown) {
    hostRollback(layer);
    throw thrown;
  }
  hostCommit(layer);
  if (isObject(value) && inherits(value, PromisePrototype)) hostLog("warn", "the callback of transactionSync returned a promise: what it writes after its first await is not part of the transaction");
  return value;
};

class Transaction {
  layer = 0; queue = []; outcome = null; ended = false; rolledBack = false;
  pushes = 0; lowest = 0; timers = 0; deadline = 0;
  constructor(callback, parent, resolve, reject) { this.callback = callback; this.parent = parent; this.resolve = resolve; this.reject = reject; }
}

const queueTransaction = (callback, resolve, reject) => {
  if (typeof callback !== "function") throw new TypeErrorClass("transaction needs a function");
  if (transactionCount >= maxTransactions) throw new RangeErrorClass(`at most ${maxTransactions} transactions may wait or be open`);
  transactionCount++;
  const parent = openTransaction, queue = parent === null ? transactionQueue : parent.queue;
  queue[queue.length] = new Transaction(callback, parent, resolve, reject);
  closeStorageGate();
  addTimer(beginNext, 0, [parent], false);
};

// beginNext begins the next transaction inside a parent, unless another one is open there.
const beginNext = (parent) => {
  const queue = parent === null ? transactionQueue : parent.queue;
  if (openTransaction !== parent || queue.length === 0) return;
  const t = queue[0];
  removeFirst(queue);
  try { t.layer = hostBegin(0); } catch (thrown) {
    t.outcome = { state: 2, value: thrown };
    t.rolledBack = true;
    openTransaction = t;
    return endTransaction(t);
  }
  t.pushes = pushesSent;
  apply(mapEach, imports, [(_, n) => { if (n < t.lowest) t.lowest = n; }]);
  t.timers = timerCount;
  openTransaction = t;
  t.deadline = addTimer(() => breakOff(t, new ErrorClass(`the transaction took more than ${transactionTime / 1000} s and was rolled back (inside it, an answer to a call that was made before it began cannot come)`)), transactionTime, [], false);
  timers.get(t.deadline).always = true;
  const result = new PromiseClass((resolve) => resolve(apply(t.callback, undefined, [new TransactionHandle(t)])));
  const finish = (state) => (value) => {
    if (t.ended) return;
    t.outcome = { state, value };
    if (openTransaction === t && t.queue.length === 0) endTransaction(t);
  };
  apply(promiseThen, result, [finish(1), finish(2)]);
};

const removeFirst = (list) => {
  for (let i = 1; i < list.length; i++) list[i - 1] = list[i];
  list.length--;
};

// endTransaction ends the innermost transaction, which has its outcome, and lets go on what waited for that.
const endTransaction = (t) => {
  if (!t.rolledBack) {
    if (t.outcome.state === 1) hostCommit(t.layer);
    else hostRollback(t.layer);
  }
  openTransaction = t.parent;
  leaveTransaction(t);
  const parent = t.parent, queue = parent === null ? transactionQueue : parent.queue;
  releaseHeld();
  if (queue.length > 0) addTimer(beginNext, 0, [parent], false);
  else if (parent !== null && parent.outcome !== null && openTransaction === parent) endTransaction(parent);
};

// leaveTransaction settles the promise of a transaction, and rejects those that wait inside it.
const leaveTransaction = (t) => {
  t.ended = true;
  clearTimer(t.deadline);
  transactionCount--;
  if (t.outcome.state === 1) t.resolve(t.outcome.value);
  else t.reject(t.outcome.value);
  openStorageGate();
  for (let i = 0; i < t.queue.length; i++) {
    t.queue[i].outcome = t.outcome;
    leaveTransaction(t.queue[i]);
  }
  t.queue.length = 0;
};

// undoTransaction takes back what a transaction and those inside it wrote.
const undoTransaction = (t) => {
  if (t.rolledBack) return;
  for (let inner = openTransaction; inner !== t; inner = inner.parent) inner.rolledBack = true;
  t.rolledBack = true;
  hostRollback(t.layer);
};

// breakOff rolls a transaction back before it has ended, with those inside it.
const breakOff = (t, error) => {
  undoTransaction(t);
  while (openTransaction !== t.parent) {
    const inner = openTransaction;
    openTransaction = inner.parent;
    inner.outcome = { state: 2, value: error };
    leaveTransaction(inner);
  }
  releaseHeld();
  const parent = t.parent, queue = parent === null ? transactionQueue : parent.queue;
  if (queue.length > 0) addTimer(beginNext, 0, [parent], false);
  else if (parent !== null && parent.outcome !== null) endTransaction(parent);
};

// breakTransactions is called when a turn was interrupted: nobody can tell whether the open ones will ever end.
const breakTransactions = (error) => {
  if (openTransaction === null) return;
  let outermost = openTransaction;
  while (outermost.parent !== null) outermost = outermost.parent;
  breakOff(outermost, error);
};

// What was begun before the open transaction waits for its end: the answers to calls, and timers.
const holdsOutcome = (n) => openTransaction !== null && (n > 0 ? n <= openTransaction.pushes : n >= openTransaction.lowest);
const holdsTimer = (id, timer) => openTransaction !== null && id <= openTransaction.timers && timer.always !== true;

const holdOutcome = (state, n, expression) => { heldOutcomes[heldOutcomes.length] = { state, n, expression }; };

const releaseHeld = () => {
  resetWake();
  const held = apply(slice, heldOutcomes, []);
  heldOutcomes.length = 0;
  for (let i = 0; i < held.length; i++) {
    const { state, n, expression } = held[i];
    if (holdsOutcome(n)) holdOutcome(state, n, expression);
    else if (sessionError === null) receiveOutcome(state, n, expression);
  }
};

// TransactionHandle is the txn that the callback is given.
class TransactionHandle {
  #transaction;
  constructor(transaction) { this.#transaction = transaction; }
  #use(name, operation) {
    return done(() => {
      const t = this.#transaction;
      if (t.ended) throw new ErrorClass(`${name}() came after the end of the transaction: txn is good only until its callback has ended`);
      if (t.rolledBack) throw new ErrorClass(`${name}() came after the transaction was rolled back`);
      return operation();
    });
  }
  get(key) { return this.#use("get", () => (isArray(key) ? readKeys(key) : readKey(key))); }
  put(key, value) {
    return this.#use("put", () => {
      if (isObject(key)) writeKeys(key);
      else hostPut(storageKey(key), encodeStored(value));
    });
  }
  delete(key) { return this.#use("delete", () => (isArray(key) ? removeKeys(key) : hostRemove(storageKey(key)))); }
  list(options) { return this.#use("list", () => listMap(options)); }
  deleteAll() { return this.#use("deleteAll", removeEverything); }
  getAlarm() { return this.#use("getAlarm", () => hostAlarm() ?? null); }
  setAlarm(when) { return this.#use("setAlarm", () => setAlarm(when)); }
  deleteAlarm() { return this.#use("deleteAlarm", () => { hostSetAlarm(0); }); }
  // rollback takes back what was written so far, at once.
  rollback() {
    const t = this.#transaction;
    if (t.ended) throw new ErrorClass("rollback() came after the end of the transaction: it cannot be taken back any more");
    undoTransaction(t);
  }
}
