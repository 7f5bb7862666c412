// ctx.storage. The host's functions answer at once from the turn's own writes and the store, so an operation never
// waits for a message; its promise is already settled.
const maxKeyBytes = 2048;

const storageKey = (key) => {
  if (typeof key !== "string") throw new TypeErrorClass(`a storage key must be a string, not ${key === null ? "null" : typeof key}`);
  if (key === "") throw new TypeErrorClass("a storage key must not be empty");
  if (key.length > maxKeyBytes || (key.length * 3 > maxKeyBytes && utf8Length(key) > maxKeyBytes)) throw new RangeErrorClass(`a storage key may have ${maxKeyBytes} bytes`);
  return key;
};

const hostAlarm = host.alarm, hostSetAlarm = host.setAlarm;

const readKey = (key) => {
  const text = hostGet(storageKey(key));
  return text === undefined ? undefined : decodeValue(text);
};

// readKeys gives what is there in the order of the keys, whatever order they are asked for in.
const readKeys = (keys) => {
  const found = new MapClass(), sorted = apply(sortList, copyOf(keys, 0), []);
  for (let i = 0; i < sorted.length; i++) {
    const text = hostGet(storageKey(sorted[i]));
    if (text !== undefined) apply(mapAdd, found, [sorted[i], decodeValue(text)]);
  }
  return found;
};

const listOptions = (options) => {
  const out = create(null);
  if (options === undefined || options === null) return "{}";
  const texts = ["start", "startAfter", "end", "prefix"];
  for (let i = 0; i < texts.length; i++) {
    const value = options[texts[i]];
    if (value === undefined || value === null) continue;
    if (typeof value !== "string") throw new TypeErrorClass(`list: ${texts[i]} must be a string`);
    out[texts[i]] = value;
  }
  if (out.start !== undefined && out.startAfter !== undefined) throw new TypeErrorClass("list: start and startAfter cannot be used together");
  if (options.reverse) out.reverse = true;
  const limit = options.limit;
  if (limit !== undefined && limit !== null) {
    if (!isInteger(limit) || limit < 1) throw new TypeErrorClass("list: limit must be a whole number above 0");
    out.limit = limit;
  }
  return stringify(out);
};

const listKeys = (options) => {
  const pairs = parseJSON(hostList(listOptions(options)));
  for (let i = 0; i < pairs.length; i++) pairs[i][1] = decodeValue(pairs[i][1]);
  return pairs;
};

const listMap = (options) => {
  const pairs = listKeys(options), found = new MapClass();
  for (let i = 0; i < pairs.length; i++) apply(mapAdd, found, [pairs[i][0], pairs[i][1]]);
  return found;
};

// writeKeys encodes every value before it writes the first, so that a value that cannot be stored changes nothing.
const writeKeys = (values) => {
  const keys = objectKeys(values), texts = free([]);
  for (let i = 0; i < keys.length; i++) texts[i] = encodeStored((storageKey(keys[i]), values[keys[i]]));
  for (let i = 0; i < keys.length; i++) hostPut(keys[i], texts[i]);
};

const removeKeys = (keys) => {
  let n = 0;
  for (let i = 0; i < keys.length; i++) storageKey(keys[i]);
  for (let i = 0; i < keys.length; i++) if (hostRemove(keys[i])) n++;
  return n;
};

// alarmTime returns the milliseconds that setAlarm is given.
const alarmTime = (when) => {
  const ms = isObject(when) && inherits(when, DatePrototype) ? apply(dateTime, when, []) : when;
  if (typeof ms !== "number") throw new TypeErrorClass("setAlarm needs a Date, or a number of milliseconds since 1970");
  if (!(ms > 0 && ms <= 8.64e15)) throw new TypeErrorClass("setAlarm needs a valid time after 1970");
  return ms < 1 ? 1 : ms - (ms % 1);
};

const setAlarm = (when) => {
  const ms = alarmTime(when);
  if (typeof Gadget?.prototype?.alarm !== "function") throw new TypeErrorClass("setAlarm needs a method alarm() in the gadget's class, to be called when the alarm is due");
  hostSetAlarm(ms);
};

const removeEverything = () => {
  if (outermostTransaction() !== null) throw new ErrorClass("deleteAll() cannot be used in a transaction: delete the keys that list() gives");
  hostClear();
  hostSetAlarm(0);
};

// done makes the promise of an operation that has been done.
const done = (operation) => {
  try {
    const value = operation();
    return new PromiseClass((resolve) => resolve(value));
  } catch (thrown) {
    return new PromiseClass((_, reject) => reject(thrown));
  }
};

class Storage {
  get kv() { return kv; }
  get sql() { throw later("ctx.storage.sql", "use ctx.storage.get, put and list meanwhile"); }
  get(key) { return done(() => (isArray(key) ? readKeys(key) : readKey(key))); }
  put(key, value) {
    return done(() => {
      if (isObject(key)) writeKeys(key);
      else hostPut(storageKey(key), encodeStored(value));
    });
  }
  delete(key) { return done(() => (isArray(key) ? removeKeys(key) : hostRemove(storageKey(key)))); }
  list(options) { return done(() => listMap(options)); }
  // deleteAll removes every key, and the alarm.
  deleteAll() { return done(removeEverything); }
  // sync ends the turn: what was written commits, whatever happens later, and the gadget goes on in the next turn. All else
  // waits meanwhile, as at every operation of storage.
  sync() { return new PromiseClass((resolve) => queueSection(new Pause(openOne(section), resolve))); }
  transaction(callback) { return new PromiseClass((resolve, reject) => queueTransaction(callback, resolve, reject)); }
  transactionSync(callback) { return runSavepoint(callback); }
  // setAlarm has alarm({ scheduledTime, retryCount, isRetry }) called at that time, also after a restart of the program, at
  // least once. There is one alarm: setting another replaces it. One that is being given is gone, for getAlarm too; alarm()
  // may set the next. If it fails and set none, it is called again after 2 s, 4 s and so on, six times.
  setAlarm(when) { return done(() => setAlarm(when)); }
  getAlarm() { return done(() => hostAlarm() ?? null); }
  deleteAlarm() { return done(() => { hostSetAlarm(0); }); }
}

// kv is ctx.storage.kv: the same keys, without promises.
const kv = freeze({
  get(key) { return readKey(key); },
  put(key, value) { hostPut(storageKey(key), encodeStored(value)); },
  delete(key) { return hostRemove(storageKey(key)); },
  list(options) { return apply(arrayIterator, listKeys(options), []); },
});
