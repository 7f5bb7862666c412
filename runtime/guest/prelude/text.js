// UTF-8, for TextEncoder and TextDecoder and for the size of keys.
const utf8Length = (text) => {
  let n = text.length;
  for (let i = 0; i < text.length; i++) {
    const c = codeAt(text, i);
    if (c < 0x80) continue;
    n += c < 0x800 || (c >= 0xd800 && c < 0xe000 && isPair(text, i, c)) ? 1 : 2;
    if (c >= 0xd800 && c < 0xdc00 && isPair(text, i, c)) i++, n += 1;
  }
  return n;
};
// isPair tells whether the unit c at i starts a surrogate pair.
const isPair = (text, i, c) => {
  if (c >= 0xdc00 || i + 1 >= text.length) return false;
  const d = codeAt(text, i + 1);
  return d >= 0xdc00 && d < 0xe000;
};

const encodeUTF8 = (text) => {
  const out = new Uint8(utf8Length(text));
  let n = 0;
  for (let i = 0; i < text.length; i++) {
    let c = codeAt(text, i);
    if (c < 0x80) { out[n++] = c; continue; }
    if (c >= 0xd800 && c < 0xe000) {
      if (isPair(text, i, c)) c = 0x10000 + ((c - 0xd800) << 10) + codeAt(text, ++i) - 0xdc00;
      else c = 0xfffd;
    }
    if (c < 0x800) out[n++] = 0xc0 | c >> 6;
    else {
      if (c < 0x10000) out[n++] = 0xe0 | c >> 12;
      else { out[n++] = 0xf0 | c >> 18; out[n++] = 0x80 | c >> 12 & 0x3f; }
      out[n++] = 0x80 | c >> 6 & 0x3f;
    }
    out[n++] = 0x80 | c & 0x3f;
  }
  return out;
};

// sequence reads one character of UTF-8 at i, as the Encoding Standard's decoder does. It returns the code point
// and the bytes used; -1 for a fault, and -2 for a sequence cut off by the end.
const sequence = (bytes, i) => {
  const first = bytes[i];
  if (first < 0x80) return [first, 1];
  const size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
  if (size === 0) return [-1, 1];
  let low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80, high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  let c = first & (0x7f >> size);
  for (let k = 1; k < size; k++) {
    if (i + k >= bytes.length) return [-2, k];
    const b = bytes[i + k];
    if (b < low || b > high) return [-1, k];
    low = 0x80; high = 0xbf;
    c = c << 6 | b & 0x3f;
  }
  return [c, size];
};

const bytesOf = (source) => {
  if (isObject(source)) {
    const kind = containerNames.get(getPrototypeOf(source));
    if (kind === "DataView") return new Uint8(apply(dataViewBuffer, source, []), apply(dataViewOffset, source, []), apply(dataViewBytes, source, []));
    if (kind !== undefined) return new Uint8(apply(viewBuffer, source, []), apply(viewOffset, source, []), apply(viewBytes, source, []));
    if (getPrototypeOf(source) === ArrayBufferPrototype) return new Uint8(source);
  }
  throw new TypeErrorClass("expected an ArrayBuffer or a view on one");
};

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return encodeUTF8(StringFunction(text)); }
  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const c of StringFunction(text)) {
      const bytes = encodeUTF8(c);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += c.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

class TextDecoder {
  #fatal; #ignoreBOM; #rest = new Uint8(0); #started = false;
  constructor(label = "utf-8", options = {}) {
    const name = lowerCase(trimText(StringFunction(label)));
    if (name !== "utf-8" && name !== "utf8" && name !== "unicode-1-1-utf-8") throw new RangeErrorClass(`TextDecoder knows only UTF-8, not ${label}`);
    this.#fatal = !!options.fatal;
    this.#ignoreBOM = !!options.ignoreBOM;
  }
  get encoding() { return "utf-8"; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(source = new Uint8(0), options = {}) {
    let bytes = bytesOf(source);
    if (this.#rest.length > 0) {
      const joined = new Uint8(this.#rest.length + bytes.length);
      joined.set(this.#rest);
      joined.set(bytes, this.#rest.length);
      bytes = joined;
    }
    const more = !!options.stream, parts = [];
    let text = "", i = 0;
    this.#rest = new Uint8(0);
    while (i < bytes.length) {
      const [c, used] = sequence(bytes, i);
      if (c === -2 && more) { this.#rest = bytesSlice(bytes, i); break; }
      if (c < 0 && this.#fatal) { this.#started = false; throw new TypeErrorClass("the bytes are not valid UTF-8"); }
      i += used;
      if (c === 0xfeff && !this.#started && !this.#ignoreBOM) { this.#started = true; continue; }
      this.#started = true;
      text += c < 0 ? "\ufffd" : fromCodePoint(c);
      if (text.length > 8192) { parts[parts.length] = text; text = ""; }
    }
    if (!more) this.#started = false;
    parts[parts.length] = text;
    return apply(join, parts, [""]);
  }
}
