// Headers (Fetch Standard, 5.1) and Blob (File API, 3).
const needArguments = (given, n) => {
  if (given.length < n) throw new TypeErrorClass(`${n} argument${n > 1 ? "s" : ""} required, but only ${given.length} present`);
};
const byteText = (value) => {
  if (typeof value === "symbol") throw new TypeErrorClass("a symbol is not a text");
  const text = "" + value;
  for (let i = 0; i < text.length; i++) if (codeAt(text, i) > 255) throw new TypeErrorClass("the text of a header may have characters up to U+00FF only");
  return text;
};
const isToken = (text) => apply(regExpExec, /^[!#$%&'*+.^_\x60|~0-9A-Za-z-]+$/, [text]) !== null;
const headerName = (value) => {
  const name = byteText(value);
  if (!isToken(name)) throw new TypeErrorClass(`"${name}" is not a name of a header`);
  return lowerCase(name);
};
const isBlank = (c) => c === 32 || c === 9 || c === 10 || c === 13;
const headerValue = (value) => {
  const text = byteText(value);
  let start = 0, end = text.length;
  while (start < end && isBlank(codeAt(text, start))) start++;
  while (end > start && isBlank(codeAt(text, end - 1))) end--;
  for (let i = start; i < end; i++) {
    const c = codeAt(text, i);
    if (c === 0 || c === 10 || c === 13) throw new TypeErrorClass("a line break or a NUL is not allowed in the value of a header");
  }
  return textSlice(text, start, end);
};

let headerList, freezeHeaders; // [[name, value], …] in the order in which they were added
const headerPairsOf = (init) => {
  if (!isObject(init) && typeof init !== "function") throw new TypeErrorClass("Headers needs an object or a list of pairs");
  return late("url").pairsOf(init, "Headers", byteText);
};
const fillHeaders = (headers, pairs) => {
  const list = headerList(headers);
  late("url").checkPairs(pairs, "Headers");
  for (let i = 0; i < pairs.length; i++) list[list.length] = [headerName(pairs[i][0]), headerValue(pairs[i][1])];
  return headers;
};

class Headers {
  #list = []; #fixed = false;
  static {
    headerList = (headers) => headers.#list;
    freezeHeaders = (headers) => { headers.#fixed = true; return headers; };
  }

  constructor(init = undefined) {
    if (init === undefined) return;
    fillHeaders(this, headerPairsOf(init));
  }

  #check() { if (this.#fixed) throw new TypeErrorClass("these headers cannot be changed"); }
  #all(name) {
    const values = [];
    for (let i = 0; i < this.#list.length; i++) if (this.#list[i][0] === name) values[values.length] = this.#list[i][1];
    return values;
  }
  #without(name) {
    const list = [];
    for (let i = 0; i < this.#list.length; i++) if (this.#list[i][0] !== name) list[list.length] = this.#list[i];
    return list;
  }
  // #sorted is what iteration shows (5.1, "sort and combine").
  #sorted() {
    const names = new OwnSet(), order = [], out = [];
    for (let i = 0; i < this.#list.length; i++) if (!names.has(this.#list[i][0])) { names.add(this.#list[i][0]); order[order.length] = this.#list[i][0]; }
    sortList(order, (a, b) => (a < b ? -1 : 1));
    for (let i = 0; i < order.length; i++) {
      const values = this.#all(order[i]);
      if (order[i] !== "set-cookie") out[out.length] = [order[i], apply(join, values, [", "])];
      else for (let k = 0; k < values.length; k++) out[out.length] = [order[i], values[k]];
    }
    return out;
  }

  append(name, value) {
    needArguments(arguments, 2);
    name = headerName(name);
    value = headerValue(value);
    this.#check();
    this.#list[this.#list.length] = [name, value];
  }
  delete(name) {
    needArguments(arguments, 1);
    name = headerName(name);
    this.#check();
    this.#list = this.#without(name);
  }
  get(name) {
    needArguments(arguments, 1);
    const values = this.#all(headerName(name));
    return values.length === 0 ? null : apply(join, values, [", "]);
  }
  getSetCookie() { return this.#all("set-cookie"); }
  has(name) {
    needArguments(arguments, 1);
    return this.#all(headerName(name)).length > 0;
  }
  set(name, value) {
    needArguments(arguments, 2);
    name = headerName(name);
    value = headerValue(value);
    this.#check();
    let n = 0, found = false;
    for (let i = 0; i < this.#list.length; i++) {
      const pair = this.#list[i];
      if (pair[0] !== name) this.#list[n++] = pair;
      else if (!found) { found = true; this.#list[n++] = [name, value]; }
    }
    this.#list.length = n;
    if (!found) this.#list[n] = [name, value];
  }
  forEach(callback, self = undefined) {
    needArguments(arguments, 1);
    if (typeof callback !== "function") throw new TypeErrorClass("forEach needs a function");
    for (let i = 0, list; (list = this.#sorted()).length > i; i++) apply(callback, self, [list[i][1], list[i][0], this]);
  }
  *entries() { for (let i = 0, list; (list = this.#sorted()).length > i; i++) yield list[i]; }
  *keys() { for (let i = 0, list; (list = this.#sorted()).length > i; i++) yield list[i][0]; }
  *values() { for (let i = 0, list; (list = this.#sorted()).length > i; i++) yield list[i][1]; }
}
hide(Headers.prototype, iteratorSymbol, Headers.prototype.entries);
tag(Headers, "Headers");

const joinBytes = (parts) => {
  let length = 0, at = 0;
  for (let i = 0; i < parts.length; i++) length += parts[i].length;
  const all = new Uint8(length);
  for (let i = 0; i < parts.length; at += parts[i++].length) setBytes(all, parts[i], at);
  return all;
};
const isBytes = (value) => isObject(value) && (containerNames.get(getPrototypeOf(value)) !== undefined || getPrototypeOf(value) === ArrayBufferPrototype);
const decodeText = (bytes) => apply(textDecode, new TextDecoder(), [bytes]);
const textDecode = TextDecoder.prototype.decode;
const bufferCopy = (bytes) => apply(viewBuffer, new Uint8(bytes), []);
const promised = (operation) => new PromiseClass((resolve) => resolve(operation()));
const lineBreaks = (text) => {
  let out = "";
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\r") { out += "\n"; if (text[i + 1] === "\n") i++; } else out += text[i];
  }
  return out;
};

let blobBytes, isBlob;
const bytesKey = {};
class Blob {
  #bytes; #type = "";
  static {
    blobBytes = (blob) => blob.#bytes;
    isBlob = (value) => isObject(value) && #bytes in value;
  }

  constructor(parts = undefined, options = undefined) {
    if (parts === bytesKey) { // from inside: the bytes and the type
      this.#bytes = options.bytes;
      this.#type = options.type;
      return;
    }
    if (parts !== undefined && (!isObject(parts) || parts[iteratorSymbol] === undefined)) throw new TypeErrorClass("the parts of a Blob must be a list");
    if (options !== undefined && options !== null && !isObject(options) && typeof options !== "function") throw new TypeErrorClass("the options of a Blob must be an object");
    const endings = options?.endings ?? "transparent", list = [];
    if (endings !== "transparent" && endings !== "native") throw new TypeErrorClass("endings must be transparent or native");
    if (parts !== undefined) for (const part of parts) {
      if (isBlob(part)) list[list.length] = part.#bytes;
      else if (isBytes(part)) list[list.length] = new Uint8(bytesOf(part));
      else {
        const text = wellFormed("" + part);
        list[list.length] = encodeUTF8(endings === "native" ? lineBreaks(text) : text);
      }
    }
    this.#bytes = list.length === 1 ? list[0] : joinBytes(list);
    this.#type = typeOf(options?.type);
  }

  get size() { return this.#bytes.length; }
  get type() { return this.#type; }
  slice(start = 0, end = this.#bytes.length, type = "") {
    const size = this.#bytes.length;
    start = clampIndex(+start, size);
    end = clampIndex(+end, size);
    return newBlob(bytesSlice(this.#bytes, start, end > start ? end : start), typeOf(type));
  }
  text() { return promised(() => decodeText(this.#bytes)); }
  arrayBuffer() { return promised(() => bufferCopy(this.#bytes)); }
  bytes() { return promised(() => new Uint8(this.#bytes)); }
  stream() { return streamOf(this.#bytes); }
}
tag(Blob, "Blob");
const newBlob = (bytes, type) => new Blob(bytesKey, { bytes, type });

class File extends Blob {
  #name; #time;
  constructor(parts, name, options = undefined) {
    needArguments(arguments, 2);
    super(parts, options);
    this.#name = wellFormed("" + name);
    const time = options?.lastModified;
    this.#time = time === undefined ? epochNow() : +time;
    this.#time = this.#time !== this.#time ? 0 : this.#time < 0 ? 0 - floor(-this.#time) : floor(this.#time);
  }
  get name() { return this.#name; }
  get lastModified() { return this.#time; }
  get webkitRelativePath() { return this.#name && ""; }
}
tag(File, "File");

// clampIndex makes an index of what slice was given: negative counts from the end.
const clampIndex = (n, size) => {
  n = n !== n ? 0 : n < 0 ? size - floor(-n) : floor(n);
  return n < 0 ? 0 : n > size ? size : n;
};

const typeOf = (value) => {
  if (value === undefined) return "";
  const text = "" + value;
  for (let i = 0; i < text.length; i++) if (codeAt(text, i) < 32 || codeAt(text, i) > 126) return "";
  return lowerCase(text);
};

// streamOf gives bytes in pieces.
const pieceSize = 65536;
const streamOf = (bytes) => {
  let at = 0;
  const { stream, control } = late("streams").newReadable(() => {
    if (at < bytes.length) control.enqueue(bytesSlice(bytes, at, at += pieceSize));
    if (at >= bytes.length) control.close();
    return promised(() => {});
  }, () => promised(() => {}), { mark: 0, size: () => 1 });
  control.begin(undefined);
  return stream;
};
