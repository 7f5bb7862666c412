// Request and Response as values (Fetch Standard, 5.3-5.5): there is no network to send them to.

// Body is what a Request and a Response hold: bytes until somebody asks for a stream.
class Body {
  used = false; stream = null;
  constructor(bytes, stream, type) { this.bytes = bytes; this.stream = stream; this.type = type; }

  get disturbed() { return this.used || (this.stream !== null && late("streams").readableOf(this.stream).disturbed); }
  get unusable() { return this.disturbed || (this.stream !== null && late("streams").readableOf(this.stream).reader !== null); }

  asStream() {
    if (this.stream === null) {
      this.stream = streamOf(this.used ? new Uint8(0) : this.bytes);
      if (this.used) late("streams").readableOf(this.stream).disturbed = true;
    }
    return this.stream;
  }

  read() {
    this.used = true;
    if (this.stream === null) return promised(() => this.bytes);
    const parts = [], reader = new (late("streams").Reader)(late("streams").readableOf(this.stream));
    return new PromiseClass((resolve, reject) => {
      const next = () => reader.read({
        chunk(chunk) {
          if (!isObject(chunk) || containerNames.get(getPrototypeOf(chunk)) !== "Uint8Array") return reject(new TypeErrorClass("a body's stream must give Uint8Array chunks"));
          parts[parts.length] = chunk;
          apply(promiseThen, promised(() => {}), [next]);
        },
        close() { resolve(joinBytes(parts)); },
        fail: reject,
      });
      next();
    });
  }

  // copy gives this body a twin.
  copy() {
    if (this.stream === null) return new Body(this.bytes, null, this.type);
    const branches = late("streams").tee(late("streams").readableOf(this.stream));
    this.stream = branches[0];
    return new Body(null, branches[1], this.type);
  }

  // take moves the body into another object, whose headers say already what it is.
  take() {
    const body = this.stream === null ? new Body(this.bytes, null, null) : new Body(null, this.stream.pipeThrough(new (late("streams").TransformStream)()), null);
    this.used = true;
    return body;
  }
}

const bodyOf = (value) => {
  if (value === null || value === undefined) return null;
  if (isBlob(value)) return new Body(blobBytes(value), null, value.type === "" ? null : value.type);
  if (isBytes(value)) return new Body(new Uint8(bytesOf(value)), null, null);
  if (isObject(value) && late("streams").isReadable(value)) {
    const record = late("streams").readableOf(value);
    if (record.disturbed || record.reader !== null) throw new TypeErrorClass("the stream of a body must not be locked or read from");
    return new Body(null, value, null);
  }
  if (isObject(value) && late("url").isParams(value)) return new Body(encodeUTF8("" + value), null, "application/x-www-form-urlencoded;charset=UTF-8");
  if (typeof value === "symbol") throw new TypeErrorClass("a symbol cannot be a body");
  return new Body(encodeUTF8(wellFormed("" + value)), null, "text/plain;charset=UTF-8");
};

// Message is what Request and Response have in common.
class Message {
  #body; #headers;
  constructor(body, headers) {
    this.#body = body;
    this.#headers = headers;
    if (body !== null && body.type !== null && !headers.has("content-type")) headers.append("content-type", body.type);
  }
  static bodyOf(message) { return message.#body; }

  #read(convert) {
    return promised(() => {
      if (this.#body === null) return convert(new Uint8(0));
      if (this.#body.unusable) throw new TypeErrorClass("the body has been read already, or is being read");
      return apply(promiseThen, this.#body.read(), [convert]);
    });
  }

  get headers() { return this.#headers; }
  get body() { return this.#body === null ? null : this.#body.asStream(); }
  get bodyUsed() { return this.#body !== null && this.#body.disturbed; }
  text() { return this.#read(decodeText); }
  json() { return this.#read((bytes) => parseJSON(decodeText(bytes))); }
  arrayBuffer() { return this.#read(bufferCopy); }
  bytes() { return this.#read((bytes) => new Uint8(bytes)); }
  blob() { return this.#read((bytes) => newBlob(new Uint8(bytes), typeOf(this.#headers.get("content-type") ?? ""))); }
  formData() { return promised(() => { throw laterVersion("formData()", "read the body with text() or bytes() meanwhile"); }); }
  #copied() {
    if (this.#body === null) return null;
    if (this.#body.unusable) throw new TypeErrorClass("a body that has been read cannot be cloned");
    return this.#body.copy();
  }
  static copyOf(message) { return message.#copied(); }
}
const messageBody = Message.bodyOf, copyBody = Message.copyOf;
delete Message.bodyOf;
delete Message.copyOf;

const copyHeaders = (headers) => {
  const copy = new Headers(), list = headerList(headers);
  for (let i = 0; i < list.length; i++) headerList(copy)[i] = [list[i][0], list[i][1]];
  return copy;
};
const headersOf = (init) => (init === undefined ? new Headers() : new Headers(init));
const optionsOf = (init, what) => {
  if (init === undefined || init === null) return {};
  if (!isObject(init) && typeof init !== "function") throw new TypeErrorClass(`the options of a ${what} must be an object`);
  return init;
};

const partsKey = {};
class Response extends Message {
  #parts;

  constructor(body = null, init = undefined) {
    if (body === partsKey) {
      super(init.body, init.headers);
      this.#parts = init;
      return;
    }
    init = optionsOf(init, "Response");
    // First everything is read, then it is judged, the status before the rest (Fetch Standard, "initialize a response").
    const content = bodyOf(body), pairs = init.headers === undefined ? [] : headerPairsOf(init.headers);
    const status = init.status === undefined ? 200 : +init.status & 0xffff, statusText = init.statusText === undefined ? "" : byteText(init.statusText);
    if (status < 200 || status > 599) throw new RangeErrorClass("the status of a Response must be from 200 to 599");
    if (apply(regExpExec, /^[\t\x20-\x7e\x80-\xff]*$/, [statusText]) === null) throw new TypeErrorClass("the statusText of a Response is not valid");
    const headers = fillHeaders(new Headers(), pairs);
    if (content !== null && (status === 204 || status === 205 || status === 304)) throw new TypeErrorClass(`a Response of status ${status} has no body`);
    super(content, headers);
    this.#parts = { type: "default", status, statusText, url: "" };
  }

  static error() { return new Response(partsKey, { body: null, headers: freezeHeaders(new Headers()), type: "error", status: 0, statusText: "", url: "" }); }
  static redirect(url, status = 302) {
    needArguments(arguments, 1);
    const record = late("url").parseURL(wellFormed("" + url), null);
    if (record === null) throw new TypeErrorClass(`"${url}" is not an absolute URL`);
    if (status !== 301 && status !== 302 && status !== 303 && status !== 307 && status !== 308) throw new RangeErrorClass("the status of a redirect must be 301, 302, 303, 307 or 308");
    const headers = new Headers();
    headers.append("location", late("url").serialiseURL(record, true));
    return new Response(partsKey, { body: null, headers: freezeHeaders(headers), type: "default", status, statusText: "", url: "" });
  }
  static json(data, init = undefined) {
    needArguments(arguments, 1);
    const text = stringify(data);
    if (text === undefined) throw new TypeErrorClass("this value is not JSON");
    const response = new Response(text, init);
    if (!isObject(init) || !new Headers(init.headers ?? undefined).has("content-type")) response.headers.set("content-type", "application/json");
    return response;
  }

  get type() { return this.#parts.type; }
  get url() { return this.#parts.url; }
  get redirected() { return false; }
  get status() { return this.#parts.status; }
  get ok() { return this.#parts.status >= 200 && this.#parts.status < 300; }
  get statusText() { return this.#parts.statusText; }
  clone() {
    const { type, status, statusText, url } = this.#parts;
    return new Response(partsKey, { body: copyBody(this), headers: copyHeaders(this.headers), type, status, statusText, url });
  }
}
tag(Response, "Response");

const methodOf = (value) => {
  const method = byteText(value), upper = upperCase(method);
  if (!isToken(method)) throw new TypeErrorClass(`"${method}" is not a method`);
  if (upper === "CONNECT" || upper === "TRACE" || upper === "TRACK") throw new TypeErrorClass(`the method ${method} is not allowed`);
  return upper === "DELETE" || upper === "GET" || upper === "HEAD" || upper === "OPTIONS" || upper === "POST" || upper === "PUT" ? upper : method;
};

// modes are the fields of a Request that mean nothing here, with the values they can have.
const modes = {
  redirect: ["follow", "error", "manual"], cache: ["default", "no-store", "reload", "no-cache", "force-cache", "only-if-cached"],
  credentials: ["same-origin", "omit", "include"], mode: ["cors", "no-cors", "same-origin"],
  referrerPolicy: ["", "no-referrer", "no-referrer-when-downgrade", "same-origin", "origin", "strict-origin", "origin-when-cross-origin", "strict-origin-when-cross-origin", "unsafe-url"],
};
let isRequest;
class Request extends Message {
  #parts;
  static { isRequest = (value) => isObject(value) && #parts in value; }

  constructor(input, init = undefined) {
    needArguments(input === partsKey ? [1] : arguments, 1);
    if (input === partsKey) {
      super(init.body, init.headers);
      this.#parts = init;
      return;
    }
    init = optionsOf(init, "Request");
    const from = isRequest(input) ? input : null, parts = partsOf(from === null ? input : from.#parts, from, init);
    const own = init.body !== undefined && init.body !== null, noBody = parts.method === "GET" || parts.method === "HEAD", old = from === null ? null : messageBody(from);
    if (noBody && (own || old !== null)) throw new TypeErrorClass(`a Request with the method ${parts.method} has no body`);
    let body = own ? bodyOf(init.body) : null;
    if (own && body.stream !== null && init.duplex !== "half") throw new TypeErrorClass('a Request with a stream as its body needs the option duplex: "half"');
    if (!own && old !== null) {
      if (old.unusable) throw new TypeErrorClass("the body of the Request has been read already");
      body = old.take();
    }
    super(body, init.headers === undefined ? (from === null ? new Headers() : copyHeaders(from.headers)) : headersOf(init.headers));
    this.#parts = parts;
  }

  get method() { return this.#parts.method; }
  get url() { return this.#parts.url; }
  get signal() { return this.#parts.signal ??= late("events").newSignal(); }
  get redirect() { return this.#parts.redirect; }
  get cache() { return this.#parts.cache; }
  get credentials() { return this.#parts.credentials; }
  get mode() { return this.#parts.mode; }
  get referrerPolicy() { return this.#parts.referrerPolicy; }
  get referrer() { return "about:client"; }
  get destination() { return ""; }
  get integrity() { return this.#parts.integrity; }
  get keepalive() { return this.#parts.keepalive; }
  get duplex() { return "half"; }
  clone() {
    const body = copyBody(this);
    return new Request(partsKey, { ...this.#parts, signal: this.#parts.signal === null ? null : dependent(this.#parts.signal), body, headers: copyHeaders(this.headers) });
  }
}
tag(Request, "Request");

const dependent = (signal) => late("events").AbortSignal.any([signal]);

// partsOf reads what a Request is made of, except its headers and body.
const partsOf = (input, from, init) => {
  const parts = { url: "", method: "GET", signal: null, integrity: "", keepalive: false };
  const names = objectKeys(modes);
  for (let i = 0; i < names.length; i++) parts[names[i]] = modes[names[i]][0];
  if (from !== null) {
    const all = objectKeys(parts);
    for (let i = 0; i < all.length; i++) parts[all[i]] = input[all[i]];
    if (parts.signal !== null) parts.signal = dependent(parts.signal);
  } else {
    if (typeof input === "symbol") throw new TypeErrorClass("a symbol is not a URL");
    const record = late("url").parseURL(wellFormed("" + input), null);
    if (record === null) throw new TypeErrorClass(`Failed to parse URL from ${input}`);
    if (record.username !== "" || record.password !== "") throw new TypeErrorClass("the URL of a Request must not have a user name or a password");
    parts.url = late("url").serialiseURL(record, true);
  }
  for (let i = 0; i < names.length; i++) {
    if (init[names[i]] === undefined) continue;
    const value = "" + init[names[i]];
    let known = false;
    for (let k = 0; k < modes[names[i]].length; k++) if (modes[names[i]][k] === value) known = true;
    if (!known) throw new TypeErrorClass(`"${value}" is not a ${names[i]} of a Request`);
    parts[names[i]] = value;
  }
  if (init.method !== undefined) parts.method = methodOf(init.method);
  if (init.integrity !== undefined) parts.integrity = "" + init.integrity;
  if (init.keepalive !== undefined) parts.keepalive = !!init.keepalive;
  if (init.signal === null) parts.signal = null;
  else if (init.signal !== undefined) {
    if (!late("events").isSignal(init.signal)) throw new TypeErrorClass("the signal of a Request must be an AbortSignal");
    parts.signal = dependent(init.signal);
  }
  return parts;
};
