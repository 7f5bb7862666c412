// ctx.storage. The host's functions answer at once from the turn's own writes and the store, so an operation never
// waits for a message; its promise is already settled.
const maxKeyBytes = 2048;

const storageKey = (key) => {
  if (typeof key !== "string") throw new TypeErrorClass(`a storage key must be a string, not ${key === null ? "null" : typeof key}`);
  if (key === "") throw new TypeErrorClass("a storage key must not be empty");
  if (key.length * 3 > maxKeyBytes && utf8Length(key) > maxKeyBytes) throw new RangeErrorClass(`a storage key may have ${maxKeyBytes} bytes`);
  return key;
};

const readKey = (key) => {
  const text = hostGet(storageKey(key));
  return text === undefined ? undefined : decodeValue(text);
};

const readKeys = (keys) => {
  const found = new MapClass();
  for (let i = 0; i < keys.length; i++) {
    const text = hostGet(storageKey(keys[i]));
    if (text !== undefined) apply(mapAdd, found, [keys[i], decodeValue(text)]);
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

// writeKeys encodes every value before it writes the first, so that a value that cannot be stored changes nothing.
const writeKeys = (values) => {
  const keys = objectKeys(values), texts = [];
  for (let i = 0; i < keys.length; i++) texts[i] = encodeValue((storageKey(keys[i]), values[keys[i]]));
  for (let i = 0; i < keys.length; i++) hostPut(keys[i], texts[i]);
};

const removeKeys = (keys) => {
  let n = 0;
  for (let i = 0; i < keys.length; i++) storageKey(keys[i]);
  for (let i = 0; i < keys.length; i++) if (hostRemove(keys[i])) n++;
  return n;
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
      else hostPut(storageKey(key), encodeValue(value));
    });
  }
  delete(key) { return done(() => (isArray(key) ? removeKeys(key) : hostRemove(storageKey(key)))); }
  list(options) {
    return done(() => {
      const pairs = listKeys(options), found = new MapClass();
      for (let i = 0; i < pairs.length; i++) apply(mapAdd, found, [pairs[i][0], pairs[i][1]]);
      return found;
    });
  }
  deleteAll() { return done(() => { hostClear(); }); }
  // sync ends the turn: what was written commits, whatever happens later, and the gadget goes on in the next turn. Calls wait
  // meanwhile, as at every operation of storage.
  sync() {
    gates++;
    backlog ??= [];
    return new PromiseClass((resolve) => addTimer(() => {
      resolve();
      apply(promiseThen, new PromiseClass((open) => open()), [openGate]);
    }, 0, [], false));
  }
  transaction() { return done(() => { throw later("ctx.storage.transaction", "all writes of one call are committed together already"); }); }
  transactionSync() { throw later("ctx.storage.transactionSync", "all writes of one call are committed together already"); }
  getAlarm() { return done(() => { throw later("ctx.storage.getAlarm", "use setTimeout while the gadget runs"); }); }
  setAlarm() { return done(() => { throw later("ctx.storage.setAlarm", "use setTimeout while the gadget runs"); }); }
  deleteAlarm() { return done(() => { throw later("ctx.storage.deleteAlarm", "use setTimeout while the gadget runs"); }); }
}

// kv is ctx.storage.kv: the same keys, without promises.
const kv = freeze({
  get(key) { return readKey(key); },
  put(key, value) { hostPut(storageKey(key), encodeValue(value)); },
  delete(key) { return hostRemove(storageKey(key)); },
  list(options) { return apply(arrayIterator, listKeys(options), []); },
});
