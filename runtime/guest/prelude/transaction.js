// Transactions of ctx.storage.
//
// transactionSync is a savepoint: if the callback throws, what it wrote is taken back. What an async callback writes after
// its first await is outside, as in workerd; the console says so.
//
// transaction(async (txn) => …) is a section (sections.js) with a layer over what is stored, which is what SQLite-backed
// Durable Objects of workerd make of it: inside, txn and ctx.storage are the same, and nothing outside runs meanwhile that
// could see the difference.
//
//   - Its writes, alarms included, survive the end of a turn, and are committed as one turn when it has ended. If it
//     throws, or calls txn.rollback(), or its process or its instance ends first, none of them ever was.
//   - A message that leaves meanwhile waits only for what was written before the transaction began.
//   - Two transactions run one after the other, in the order of the calls. One that is begun inside another is part of
//     it: what it wrote is kept or taken back with the outer one, which waits for it. One that could not begin before the
//     callback of the outer one ended comes after that.
//   - After 30 s, or when the turn is interrupted, it is rolled back and its promise rejects. In workerd the whole object
//     is reset then. What the callback does afterwards with ctx.storage is outside; txn refuses.
//   - At most 1,000 wait or are open; what all layers hold together is bounded like a turn. deleteAll() refuses inside.
const maxTransactions = 1000, transactionTime = 30_000;
const hostBegin = host.begin, hostCommit = host.commit, hostRollback = host.rollback;
let transactionCount = 0;

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

class Transaction extends Section {
  layer = 0; rolledBack = false; deadline = 0;
  constructor(parent, callback, resolve, reject) { super(parent); this.callback = callback; this.resolve = resolve; this.reject = reject; }

  begin() {
    try { this.layer = hostBegin(0); } catch (thrown) {
      this.rolledBack = true;
      return noteOutcome(this, 2, thrown);
    }
    const late = () => new ErrorClass(`the transaction took more than ${transactionTime / 1000} s and was rolled back (inside it, an answer to a call that was made before it began cannot come)`);
    this.deadline = addDeadline(() => breakOff(this, late()), transactionTime);
    runCallback(this, [new TransactionHandle(this)], (thrown) => noteOutcome(this, 2, thrown));
  }

  end() {
    if (!this.rolledBack) (this.outcome.state === 1 ? hostCommit : hostRollback)(this.layer);
    this.settle(this.outcome.state, this.outcome.value);
  }

  breakOff(error) { this.settle(2, error); }

  settle(state, value) {
    clearTimer(this.deadline);
    transactionCount--;
    if (state === 1) this.resolve(value);
    else this.reject(value);
  }
}

const queueTransaction = (callback, resolve, reject) => {
  if (typeof callback !== "function") throw new TypeErrorClass("transaction needs a function");
  if (transactionCount >= maxTransactions) throw new RangeErrorClass(`at most ${maxTransactions} transactions may wait or be open`);
  transactionCount++;
  queueSection(new Transaction(openOne(section), callback, resolve, reject));
};

// outermostTransaction is the open transaction that all others are inside of, or null.
const outermostTransaction = () => {
  let found = null;
  for (let s = innermost; s !== wholeGadget; s = s.parent) if (s instanceof Transaction) found = s;
  return found;
};

// undoTransaction takes back what a transaction and those inside it wrote.
const undoTransaction = (t) => {
  if (t.rolledBack) return;
  for (let inner = innermost; inner !== t; inner = inner.parent) inner.rolledBack = true;
  t.rolledBack = true;
  hostRollback(t.layer);
};

// breakOff rolls a transaction back before it has ended, with the sections inside it, those that wait to begin too.
const breakOff = (t, error) => {
  undoTransaction(t);
  while (!t.ended) {
    const s = innermost, inside = s.children;
    s.children = free([]);
    closeSection(s);
    s.breakOff(error);
    for (let i = 0; i < inside.length; i++) {
      inside[i].ended = true;
      inside[i].breakOff(error);
    }
  }
  resetWake();
};

// breakTransactions is called when a turn was interrupted: nobody can tell whether the open ones will ever end.
const breakTransactions = (error) => {
  const outermost = outermostTransaction();
  if (outermost !== null) breakOff(outermost, error);
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
