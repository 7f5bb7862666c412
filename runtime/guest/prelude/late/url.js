// URL and URLSearchParams (URL Standard, 6).
const decodeUTF8 = (bytes) => apply(textDecode, new TextDecoder("utf-8", keepBOM), [bytes]);
const textDecode = TextDecoder.prototype.decode, keepBOM = { ignoreBOM: true };

// parseForm reads application/x-www-form-urlencoded (5.1) to a list of [name, value].
const parseForm = (text) => {
  const list = [], parts = splitText(text, "&");
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] === "") continue;
    const at = indexOfText(parts[i], "=");
    list[list.length] = at < 0 ? [formDecode(parts[i]), ""] : [formDecode(textSlice(parts[i], 0, at)), formDecode(textSlice(parts[i], at + 1))];
  }
  return list;
};
const formDecode = (text) => {
  let spaced = "";
  for (let i = 0; i < text.length; i++) spaced += text[i] === "+" ? " " : text[i];
  return decodeUTF8(percentDecode(spaced));
};

const formEncode = (text) => {
  const list = points(text);
  let out = "";
  for (let i = 0; i < list.length; i++) out += list[i] === 32 ? "+" : percentEncode(list[i], formSet);
  return out;
};
const serialiseForm = (list) => {
  let text = "";
  for (let i = 0; i < list.length; i++) text += (i > 0 ? "&" : "") + formEncode(list[i][0]) + "=" + formEncode(list[i][1]);
  return text;
};

const usv = (value) => wellFormed("" + (typeof value === "symbol" ? refuseSymbol() : value));
const refuseSymbol = () => { throw new TypeErrorClass("a symbol is not a text"); };

// pairsOf reads what a constructor of name-value pairs takes: a sequence of pairs, or an object. A list in the
// sequence that is no pair is found by checkPairs, after the rest of a constructor's arguments was read.
const pairsOf = (init, what, textOf) => {
  const list = [], iterate = init[iteratorSymbol];
  if (iterate !== undefined && iterate !== null) {
    for (const pair of init) {
      if (!isObject(pair) && typeof pair !== "function") throw new TypeErrorClass(`${what} needs pairs of a name and a value`);
      const texts = [];
      for (const item of pair) texts[texts.length] = textOf(item);
      list[list.length] = texts;
    }
    return list;
  }
  const keys = ownKeys(init), seen = new OwnMap();
  for (let i = 0; i < keys.length; i++) {
    const d = propertyOf(init, keys[i]);
    if (d === undefined || !d.enumerable) continue;
    const name = textOf(keys[i]), pair = seen.get(name) ?? [name, ""];
    pair[1] = textOf(init[keys[i]]);
    if (!seen.has(name)) { seen.set(name, pair); list[list.length] = pair; }
  }
  return list;
};

const checkPairs = (list, what) => {
  for (let i = 0; i < list.length; i++) if (list[i].length !== 2) throw new TypeErrorClass(`${what} needs pairs of a name and a value`);
  return list;
};

// setParams gives an object of URLSearchParams its list, and the record of the URL that it belongs to.
let setParams, isParams;
class URLSearchParams {
  #list = [];
  #url = null;
  static {
    setParams = (params, list, url) => { params.#list = list; params.#url = url; };
    isParams = (value) => #url in value;
  }

  constructor(init = "") {
    if (isObject(init) || typeof init === "function") this.#list = checkPairs(pairsOf(init, "URLSearchParams", usv), "URLSearchParams");
    else {
      const text = usv(init);
      this.#list = parseForm(text[0] === "?" ? textSlice(text, 1) : text);
    }
  }

  #changed() {
    if (this.#url === null) return;
    const text = serialiseForm(this.#list);
    this.#url.query = text === "" ? null : text;
  }

  get size() { return this.#list.length; }

  append(name, value) {
    needArguments(arguments, 2);
    this.#list[this.#list.length] = [usv(name), usv(value)];
    this.#changed();
  }

  delete(name, value) {
    needArguments(arguments, 1);
    this.#keep(usv(name), value === undefined ? undefined : usv(value));
    this.#changed();
  }

  // #keep leaves the pairs that do not match.
  #keep(name, value) {
    let n = 0;
    for (let i = 0; i < this.#list.length; i++) {
      const pair = this.#list[i];
      if (pair[0] !== name || (value !== undefined && pair[1] !== value)) this.#list[n++] = pair;
    }
    this.#list.length = n;
  }

  #find(name, value) {
    for (let i = 0; i < this.#list.length; i++) if (this.#list[i][0] === name && (value === undefined || this.#list[i][1] === value)) return i;
    return -1;
  }

  get(name) {
    needArguments(arguments, 1);
    const i = this.#find(usv(name));
    return i < 0 ? null : this.#list[i][1];
  }

  getAll(name) {
    needArguments(arguments, 1);
    const values = [];
    name = usv(name);
    for (let i = 0; i < this.#list.length; i++) if (this.#list[i][0] === name) values[values.length] = this.#list[i][1];
    return values;
  }

  has(name, value) {
    needArguments(arguments, 1);
    return this.#find(usv(name), value === undefined ? undefined : usv(value)) >= 0;
  }

  set(name, value) {
    needArguments(arguments, 2);
    name = usv(name);
    value = usv(value);
    let n = 0, found = false;
    for (let i = 0; i < this.#list.length; i++) {
      const pair = this.#list[i];
      if (pair[0] === name) {
        if (found) continue;
        found = true;
        pair[1] = value;
      }
      this.#list[n++] = pair;
    }
    this.#list.length = n;
    if (!found) this.#list[n] = [name, value];
    this.#changed();
  }

  // sort orders by the UTF-16 units of the names and keeps the order of equal ones.
  sort() {
    sortList(this.#list, (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
    this.#changed();
  }

  forEach(callback, self) {
    if (typeof callback !== "function") throw new TypeErrorClass("forEach needs a function");
    for (let i = 0; i < this.#list.length; i++) apply(callback, self, [this.#list[i][1], this.#list[i][0], this]);
  }

  *entries() { for (let i = 0; i < this.#list.length; i++) yield [this.#list[i][0], this.#list[i][1]]; }
  *keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
  *values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
  toString() { return serialiseForm(this.#list); }
}
hide(URLSearchParams.prototype, iteratorSymbol, URLSearchParams.prototype.entries);
tag(URLSearchParams, "URLSearchParams");

const needArguments = (given, n) => {
  if (given.length < n) throw new TypeErrorClass(`${n} argument${n > 1 ? "s" : ""} required, but only ${given.length} present`);
};

// read parses the arguments of the constructor to a record, or null.
const read = (text, base) => {
  let record = null;
  text = usv(text);
  if (base !== undefined && (record = parseURL(usv(base), null)) === null) return null;
  return parseURL(text, record);
};
const invalidURL = (input) => {
  const error = new TypeErrorClass("Invalid URL");
  error.code = "ERR_INVALID_URL";
  error.input = "" + input;
  return error;
};

let isURL;
class URL {
  #record; #params = null;
  static { isURL = (value) => #record in value; }

  constructor(url, base = undefined) {
    needArguments(arguments, 1);
    this.#record = read(url, base);
    if (this.#record === null) throw invalidURL(url);
  }

  static canParse(url, base) {
    needArguments(arguments, 1);
    return read(url, base) !== null;
  }
  static parse(url, base) {
    needArguments(arguments, 1);
    return read(url, base) === null ? null : new URL(url, base);
  }

  #query(list) { if (this.#params !== null) setParams(this.#params, list, this.#record); }

  get href() { return serialiseURL(this.#record, true); }
  set href(value) {
    const record = parseURL(usv(value), null);
    if (record === null) throw invalidURL(value);
    this.#record = record;
    this.#query(record.query === null ? [] : parseForm(record.query));
  }
  get origin() { return originOf(this.#record); }
  get protocol() { return this.#record.scheme + ":"; }
  set protocol(value) { changeURL(this.#record, usv(value) + ":", "schemeStart"); }
  get username() { return this.#record.username; }
  set username(value) {
    value = usv(value);
    if (!cannotHaveCredentials(this.#record)) this.#record.username = percentEncodeAll(points(value), userinfoSet);
  }
  get password() { return this.#record.password; }
  set password(value) {
    value = usv(value);
    if (!cannotHaveCredentials(this.#record)) this.#record.password = percentEncodeAll(points(value), userinfoSet);
  }
  get host() { return serialiseHost(this.#record); }
  set host(value) {
    value = usv(value);
    if (!hasOpaquePath(this.#record)) changeURL(this.#record, value, "host");
  }
  get hostname() { return this.#record.host ?? ""; }
  set hostname(value) {
    value = usv(value);
    if (!hasOpaquePath(this.#record)) changeURL(this.#record, value, "hostname");
  }
  get port() { return this.#record.port === null ? "" : "" + this.#record.port; }
  set port(value) {
    value = usv(value);
    if (cannotHaveCredentials(this.#record)) return;
    if (value === "") this.#record.port = null;
    else changeURL(this.#record, value, "port");
  }
  get pathname() { return serialisePath(this.#record); }
  set pathname(value) {
    value = usv(value);
    if (hasOpaquePath(this.#record)) return;
    this.#record.path = [];
    changeURL(this.#record, value, "pathStart");
  }
  get search() { return this.#record.query === null || this.#record.query === "" ? "" : "?" + this.#record.query; }
  set search(value) {
    value = usv(value);
    if (value === "") {
      this.#record.query = null;
      return this.#query([]);
    }
    if (value[0] === "?") value = textSlice(value, 1);
    this.#record.query = "";
    changeURL(this.#record, value, "query");
    this.#query(parseForm(value));
  }
  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams();
      this.#query(this.#record.query === null ? [] : parseForm(this.#record.query));
    }
    return this.#params;
  }
  get hash() { return this.#record.fragment === null || this.#record.fragment === "" ? "" : "#" + this.#record.fragment; }
  set hash(value) {
    value = usv(value);
    if (value === "") {
      this.#record.fragment = null;
      return;
    }
    this.#record.fragment = "";
    changeURL(this.#record, value[0] === "#" ? textSlice(value, 1) : value, "fragment");
  }
  toString() { return serialiseURL(this.#record, true); }
  toJSON() { return serialiseURL(this.#record, true); }
}
tag(URL, "URL");

const originOf = (url) => {
  if (url.scheme === "blob") {
    const inner = hasOpaquePath(url) ? parseURL(url.path, null) : null;
    return inner !== null && (inner.scheme === "http" || inner.scheme === "https") ? originOf(inner) : "null";
  }
  return isSpecial(url) && url.scheme !== "file" ? url.scheme + "://" + serialiseHost(url) : "null";
};
