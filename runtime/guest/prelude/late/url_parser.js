// The basic URL parser of the URL Standard (url.spec.whatwg.org, section 4.4). A method of Parser is one of its
// states, with the Standard's name. A URL record has scheme, username, password, host (null or serialised), port
// (null or a number), path (a list, or a text when it is opaque), query and fragment (null or a text).
const specialPorts = create(null);
specialPorts.http = specialPorts.ws = 80;
specialPorts.https = specialPorts.wss = 443;
specialPorts.ftp = 21;
specialPorts.file = null;
const isSpecial = (url) => specialPorts[url.scheme] !== undefined;

const EOF = -1, HASH = 35, PERCENT = 37, PLUS = 43, SLASH = 47, COLON = 58, QUESTION = 63, AT = 64, BACKSLASH = 92;
const isDigit = (c) => c >= 48 && c <= 57;
const isAlpha = (c) => (c | 32) >= 97 && (c | 32) <= 122;
const hexValue = (c) => (isDigit(c) ? c - 48 : (c | 32) >= 97 && (c | 32) <= 102 ? (c | 32) - 87 : -1);

// points are the code points of a text; a lone surrogate counts as U+FFFD, as in every USVString.
const points = (text) => {
  const list = [];
  for (let i = 0; i < text.length; i++) {
    let c = codeAt(text, i);
    if (c >= 0xd800 && c < 0xe000) c = isPair(text, i, c) ? 0x10000 + ((c - 0xd800) << 10) + codeAt(text, ++i) - 0xdc00 : 0xfffd;
    list[list.length] = c;
  }
  return list;
};

// The percent-encode sets (1.3), as tables of the ASCII characters in them. Every other character is in all of them.
const encodeSet = (more, base) => {
  const table = new Uint8(128);
  for (let c = 0; c < 128; c++) table[c] = base === undefined ? c < 0x20 || c > 0x7e : base[c];
  for (let i = 0; i < more.length; i++) table[codeAt(more, i)] = 1;
  return table;
};
const controlSet = encodeSet(""), fragmentSet = encodeSet(' "<>\x60', controlSet);
const querySet = encodeSet(' "#<>', controlSet), specialQuerySet = encodeSet("'", querySet);
const pathSet = encodeSet("?^\x60{}", querySet), userinfoSet = encodeSet("/:;=@[\\]|", pathSet);
const formSet = encodeSet("$%&+,!'()~", userinfoSet);

const hexUpper = "0123456789ABCDEF";
const percentByte = (b) => "%" + hexUpper[b >> 4] + hexUpper[b & 15];
const percentEncode = (c, set) => {
  if (c < 128) return set[c] === 0 ? fromCodePoint(c) : percentByte(c);
  const bytes = encodeUTF8(fromCodePoint(c));
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += percentByte(bytes[i]);
  return text;
};
const percentEncodeAll = (list, set) => {
  let text = "";
  for (let i = 0; i < list.length; i++) text += percentEncode(list[i], set);
  return text;
};

// percentDecode gives the bytes of a text.
const percentDecode = (text) => {
  const bytes = encodeUTF8(text);
  let n = 0;
  for (let i = 0; i < bytes.length; i++) {
    const high = bytes[i] === PERCENT && i + 2 < bytes.length ? hexValue(bytes[i + 1]) : -1, low = high < 0 ? -1 : hexValue(bytes[i + 2]);
    bytes[n++] = low < 0 ? bytes[i] : (i += 2, high << 4 | low);
  }
  return new Uint8(apply(viewBuffer, bytes, []), 0, n);
};

const isDriveLetter = (text) => text.length === 2 && isAlpha(codeAt(text, 0)) && (text[1] === ":" || text[1] === "|");
const isNormalDriveLetter = (text) => text !== undefined && isDriveLetter(text) && text[1] === ":";
const isSingleDot = (text) => text === "." || lowerCase(text) === "%2e";
const isDoubleDot = (text) => {
  if (text.length > 6) return false;
  const low = lowerCase(text);
  return low === ".." || low === ".%2e" || low === "%2e." || low === "%2e%2e";
};

const hasCredentials = (url) => url.username !== "" || url.password !== "";
const hasOpaquePath = (url) => typeof url.path === "string";
const cannotHaveCredentials = (url) => url.host === null || url.host === "" || url.scheme === "file";
const shortenPath = (url) => {
  const last = url.path.length - 1;
  if (last < 0 || (url.scheme === "file" && last === 0 && isNormalDriveLetter(url.path[0]))) return;
  url.path.length = last;
};
const copyList = (list) => {
  const copy = [];
  for (let i = 0; i < list.length; i++) copy[i] = list[i];
  return copy;
};

const fail = 1, stop = 2; // what a state returns to end the parser
class Parser {
  buffer = "";
  mark = 0; // where the authority's present part begins
  atSeen = false; passwordSeen = false; inBrackets = false;

  constructor(input, base, url, state) {
    this.input = input;
    this.base = base;
    this.url = url;
    this.state = state;
    this.override = base === undefined ? state : ""; // the Standard's state override
  }

  // run returns whether the input was accepted.
  run() {
    const input = this.input;
    for (this.p = 0; ; this.p++) {
      const end = this[this.state](this.p < input.length ? input[this.p] : EOF);
      if (end !== undefined) return end === stop;
      if (this.p >= input.length) return true;
    }
  }

  go(state, back) { this.state = state; this.p -= back; }
  next() { return this.p + 1 < this.input.length ? this.input[this.p + 1] : EOF; }
  isSlash(c) { return c === SLASH || (c === BACKSLASH && isSpecial(this.url)); }
  isAuthorityEnd(c) { return c === EOF || c === QUESTION || c === HASH || this.isSlash(c); }
  beginQuery() { this.url.query = ""; this.state = "query"; }
  beginFragment() { this.url.fragment = ""; this.state = "fragment"; }

  copy(withPath) {
    const url = this.url, base = this.base;
    url.username = base.username; url.password = base.password; url.host = base.host; url.port = base.port;
    if (withPath) { url.path = copyList(base.path); url.query = base.query; }
  }

  startsWithDrive() {
    const at = (i) => (this.p + i < this.input.length ? this.input[this.p + i] : EOF), c = at(2);
    return isAlpha(at(0)) && (at(1) === COLON || at(1) === 124) && (c === EOF || c === SLASH || c === BACKSLASH || c === QUESTION || c === HASH);
  }

  schemeStart(c) {
    if (isAlpha(c)) { this.buffer = fromCodePoint(c | 32); this.state = "scheme"; }
    else if (this.override !== "") return fail;
    else this.go("noScheme", 1);
  }

  scheme(c) {
    if (isAlpha(c) || isDigit(c) || c === PLUS || c === 45 || c === 46) { this.buffer += fromCodePoint(isAlpha(c) ? c | 32 : c); return; }
    if (c === COLON) return this.override === "" ? this.afterScheme() : this.changeScheme();
    if (this.override !== "") return fail;
    this.state = "noScheme";
    this.buffer = "";
    this.p = -1;
  }

  changeScheme() {
    const url = this.url, scheme = this.buffer;
    if (isSpecial(url) !== isSpecial({ scheme })) return stop;
    if ((hasCredentials(url) || url.port !== null) && scheme === "file") return stop;
    if (url.scheme === "file" && url.host === "") return stop;
    url.scheme = scheme;
    if (url.port === specialPorts[scheme]) url.port = null;
    return stop;
  }

  afterScheme() {
    const url = this.url;
    url.scheme = this.buffer;
    this.buffer = "";
    if (url.scheme === "file") this.state = "file";
    else if (isSpecial(url)) this.state = this.base !== null && this.base.scheme === url.scheme ? "specialRelativeOrAuthority" : "specialAuthoritySlashes";
    else if (this.next() === SLASH) this.go("pathOrAuthority", -1);
    else { url.path = ""; this.state = "opaquePath"; }
  }

  noScheme(c) {
    const url = this.url, base = this.base;
    if (base === null || (hasOpaquePath(base) && c !== HASH)) return fail;
    if (!hasOpaquePath(base)) return this.go(base.scheme === "file" ? "file" : "relative", 1);
    url.scheme = base.scheme; url.path = base.path; url.query = base.query;
    this.beginFragment();
  }

  specialRelativeOrAuthority(c) {
    if (c === SLASH && this.next() === SLASH) this.go("specialAuthorityIgnoreSlashes", -1);
    else this.go("relative", 1);
  }

  pathOrAuthority(c) { this.beginAuthorityIf(c === SLASH, "path"); }

  beginAuthorityIf(yes, other) {
    if (!yes) return this.go(other, 1);
    this.state = "authority";
    this.mark = this.p + 1;
  }

  relative(c) {
    this.url.scheme = this.base.scheme;
    if (this.isSlash(c)) { this.state = "relativeSlash"; return; }
    this.copy(true);
    this.afterCopy(c);
  }

  // afterCopy goes on behind what was taken from the base.
  afterCopy(c) {
    if (c === QUESTION) this.beginQuery();
    else if (c === HASH) this.beginFragment();
    else if (c !== EOF) {
      this.url.query = null;
      if (this.url.scheme === "file" && this.startsWithDrive()) this.url.path = [];
      else shortenPath(this.url);
      this.go("path", 1);
    }
  }

  relativeSlash(c) {
    if (isSpecial(this.url) && (c === SLASH || c === BACKSLASH)) { this.state = "specialAuthorityIgnoreSlashes"; return; }
    if (c !== SLASH) this.copy(false);
    this.beginAuthorityIf(c === SLASH, "path");
  }

  specialAuthoritySlashes(c) {
    if (c === SLASH && this.next() === SLASH) this.go("specialAuthorityIgnoreSlashes", -1);
    else this.go("specialAuthorityIgnoreSlashes", 1);
  }

  specialAuthorityIgnoreSlashes(c) {
    if (c === SLASH || c === BACKSLASH) return;
    this.go("authority", 1);
    this.mark = this.p + 1;
  }

  authority(c) {
    if (c === AT) {
      if (this.atSeen) this.addCredential("%40");
      this.atSeen = true;
      for (let i = this.mark; i < this.p; i++) {
        if (this.input[i] === COLON && !this.passwordSeen) this.passwordSeen = true;
        else this.addCredential(percentEncode(this.input[i], userinfoSet));
      }
      this.mark = this.p + 1;
    } else if (this.isAuthorityEnd(c)) {
      if (this.atSeen && this.mark === this.p) return fail;
      this.p = this.mark - 1;
      this.state = "host";
    }
  }

  addCredential(text) {
    if (this.passwordSeen) this.url.password += text;
    else this.url.username += text;
  }

  host(c) {
    const url = this.url;
    if (this.override !== "" && url.scheme === "file") return this.go("fileHost", 1);
    if (c === COLON && !this.inBrackets) {
      if (this.buffer === "" || this.override === "hostname" || !this.takeHost()) return fail;
      this.state = "port";
    } else if (this.isAuthorityEnd(c)) {
      if (this.buffer === "" && (isSpecial(url) || (this.override !== "" && (hasCredentials(url) || url.port !== null)))) return fail;
      if (!this.takeHost()) return fail;
      this.go("pathStart", 1);
      if (this.override !== "") return stop;
    } else {
      if (c === 91) this.inBrackets = true;
      else if (c === 93) this.inBrackets = false;
      this.buffer += fromCodePoint(c);
    }
  }

  hostname(c) { return this.host(c); }

  takeHost() {
    const host = parseHost(this.buffer, !isSpecial(this.url));
    if (host === null) return false;
    this.url.host = host;
    this.buffer = "";
    return true;
  }

  port(c) {
    if (isDigit(c)) { this.buffer += fromCodePoint(c); return; }
    if (!this.isAuthorityEnd(c) && this.override === "") return fail;
    if (this.buffer !== "") {
      const port = +this.buffer;
      if (port > 65535) return fail;
      this.url.port = port === specialPorts[this.url.scheme] ? null : port;
      this.buffer = "";
    }
    if (this.override !== "") return stop;
    this.go("pathStart", 1);
  }

  file(c) {
    this.url.scheme = "file";
    this.url.host = "";
    if (c === SLASH || c === BACKSLASH) { this.state = "fileSlash"; return; }
    if (this.base === null || this.base.scheme !== "file") return this.go("path", 1);
    this.copy(true);
    this.afterCopy(c);
  }

  fileSlash(c) {
    if (c === SLASH || c === BACKSLASH) { this.state = "fileHost"; return; }
    const base = this.base, path = this.url.path;
    if (base !== null && base.scheme === "file") {
      this.url.host = base.host;
      if (!this.startsWithDrive() && isNormalDriveLetter(base.path[0])) path[path.length] = base.path[0];
    }
    this.go("path", 1);
  }

  fileHost(c) {
    if (!this.isAuthorityEnd(c)) { this.buffer += fromCodePoint(c); return; }
    if (this.override === "" && isDriveLetter(this.buffer)) return this.go("path", 1);
    if (this.buffer === "") this.url.host = "";
    else {
      if (!this.takeHost()) return fail;
      if (this.url.host === "localhost") this.url.host = "";
    }
    this.go("pathStart", 1);
    if (this.override !== "") return stop;
  }

  pathStart(c) {
    const url = this.url;
    if (isSpecial(url)) this.go("path", c === SLASH || c === BACKSLASH ? 0 : 1);
    else if (this.override === "" && c === QUESTION) this.beginQuery();
    else if (this.override === "" && c === HASH) this.beginFragment();
    else if (c !== EOF) this.go("path", c === SLASH ? 0 : 1);
    else if (this.override !== "" && url.host === null) url.path[url.path.length] = "";
  }

  path(c) {
    const slash = this.isSlash(c);
    if (c !== EOF && !slash && (this.override !== "" || (c !== QUESTION && c !== HASH))) {
      this.buffer += percentEncode(c, pathSet);
      return;
    }
    const url = this.url, path = url.path;
    if (isDoubleDot(this.buffer)) {
      shortenPath(url);
      if (!slash) path[path.length] = "";
    } else if (isSingleDot(this.buffer)) {
      if (!slash) path[path.length] = "";
    } else {
      if (url.scheme === "file" && path.length === 0 && isDriveLetter(this.buffer)) this.buffer = this.buffer[0] + ":";
      path[path.length] = this.buffer;
    }
    this.buffer = "";
    if (c === QUESTION) this.beginQuery();
    else if (c === HASH) this.beginFragment();
  }

  opaquePath(c) {
    if (c === QUESTION) this.beginQuery();
    else if (c === HASH) this.beginFragment();
    else if (c === 32 && (this.next() === QUESTION || this.next() === HASH)) this.url.path += "%20";
    else if (c !== EOF) this.url.path += percentEncode(c, controlSet);
  }

  query(c) {
    if (c === HASH && this.override === "") this.beginFragment();
    else if (c !== EOF) this.url.query += percentEncode(c, isSpecial(this.url) ? specialQuerySet : querySet);
  }

  fragment(c) {
    if (c !== EOF) this.url.fragment += percentEncode(c, fragmentSet);
  }
}

const withoutBreaks = (list) => {
  const out = [];
  for (let i = 0; i < list.length; i++) if (list[i] !== 9 && list[i] !== 10 && list[i] !== 13) out[out.length] = list[i];
  return out;
};

// parseURL returns the record of an absolute or relative URL, or null.
const parseURL = (text, base) => {
  let start = 0, end = text.length;
  while (start < end && codeAt(text, start) <= 32) start++;
  while (end > start && codeAt(text, end - 1) <= 32) end--;
  const url = { scheme: "", username: "", password: "", host: null, port: null, path: [], query: null, fragment: null };
  return new Parser(withoutBreaks(points(textSlice(text, start, end))), base, url, "schemeStart").run() ? url : null;
};

// changeURL parses a text into one part of a record, beginning at a state, and leaves what it cannot accept.
const changeURL = (url, text, state) => new Parser(withoutBreaks(points(text)), undefined, url, state).run();

const serialisePath = (url) => {
  if (hasOpaquePath(url)) return url.path;
  let text = "";
  for (let i = 0; i < url.path.length; i++) text += "/" + url.path[i];
  return text;
};
const serialiseHost = (url) => (url.host === null ? "" : url.port === null ? url.host : url.host + ":" + url.port);
const serialiseURL = (url, withFragment) => {
  let text = url.scheme + ":";
  if (url.host !== null) {
    text += "//";
    if (hasCredentials(url)) text += url.username + (url.password === "" ? "" : ":" + url.password) + "@";
    text += serialiseHost(url);
  } else if (!hasOpaquePath(url) && url.path.length > 1 && url.path[0] === "") text += "/.";
  text += serialisePath(url);
  if (url.query !== null) text += "?" + url.query;
  return withFragment && url.fragment !== null ? text + "#" + url.fragment : text;
};
