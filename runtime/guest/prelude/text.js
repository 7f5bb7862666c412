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
  if (c < 0xd800 || c >= 0xdc00 || i + 1 >= text.length) return false;
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

// bytesOf makes a view on the bytes of an ArrayBuffer or of any view, also one of a subclass. It asks what the value
// is inside, so a getter or a proxy has no say.
const bytesOf = (source) => {
  const bytes = viewOf(source);
  if (bytes === null) throw new TypeErrorClass("expected an ArrayBuffer or a view on one");
  return bytes;
};
const viewOf = (source) => {
  if (!isObject(source)) return null;
  if (apply(viewKind, source, []) !== undefined) return new Uint8(apply(viewBuffer, source, []), apply(viewOffset, source, []), apply(viewBytes, source, []));
  try {
    apply(bufferBytes, source, []);
    return new Uint8(source);
  } catch {}
  try { return new Uint8(apply(dataViewBuffer, source, []), apply(dataViewOffset, source, []), apply(dataViewBytes, source, [])); } catch {}
  return null;
};
const isBufferSource = (value) => viewOf(value) !== null;

class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return encodeUTF8(StringFunction(text)); }
  encodeInto(text, target) {
    text = StringFunction(text);
    if (!isObject(target) || apply(viewKind, target, []) !== "Uint8Array") throw new TypeErrorClass("encodeInto needs a Uint8Array");
    const size = apply(viewBytes, target, []);
    let read = 0, written = 0;
    while (read < text.length) { // a few characters at a time, so that a small target costs little
      let end = read + 1;
      if (isPair(text, read, codeAt(text, read))) end++;
      const bytes = encodeUTF8(sliceOf(text, read, end));
      if (written + bytes.length > size) break;
      apply(setBytes, target, [bytes, written]);
      read = end;
      written += bytes.length;
    }
    return { read, written };
  }
}

// encodingOf returns the name of the encoding that a label stands for (Encoding Standard, 4.2), of those that there are.
const encodingLabels = create(null);
for (const [name, labels] of [["utf-8", "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"], ["utf-16le", "utf-16 ucs-2 unicode csunicode iso-10646-ucs-2 unicodefeff"], ["utf-16be", "unicodefffe"],
  ["windows-1252", "latin1 l1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100 csisolatin1 cp1252 x-cp1252 cp819 ibm819 ansi_x3.4-1968"]]) {
  for (const label of `${name} ${labels}`.split(" ")) encodingLabels[label] = name;
}
const encodingOf = (label) => {
  const text = StringFunction(label);
  let start = 0, end = text.length;
  const blank = (i) => { const c = codeAt(text, i); return c === 32 || c === 9 || c === 10 || c === 12 || c === 13; };
  while (start < end && blank(start)) start++;
  while (end > start && blank(end - 1)) end--;
  const name = encodingLabels[lowerCase(sliceOf(text, start, end))];
  if (name === undefined) throw new RangeErrorClass(`TextDecoder knows UTF-8, UTF-16 and Latin-1 (windows-1252), not "${text}"`);
  return name;
};

class TextDecoder {
  #encoding; #fatal; #ignoreBOM; #rest = new Uint8(0); #started = false; #streaming = false; #other = null;
  constructor(label = "utf-8", options = undefined) {
    label = StringFunction(label);
    if (options !== undefined && options !== null && !isObject(options) && typeof options !== "function") throw new TypeErrorClass("the options of a TextDecoder must be an object");
    this.#encoding = encodingOf(label);
    this.#fatal = !!options?.fatal;
    this.#ignoreBOM = !!options?.ignoreBOM;
  }
  get encoding() { return this.#encoding; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#ignoreBOM; }
  decode(source = undefined, options = undefined) {
    let bytes = source === undefined ? new Uint8(0) : bytesOf(source);
    const more = !!options?.stream;
    if (!this.#streaming) { this.#rest = new Uint8(0); this.#started = false; this.#other = null; }
    this.#streaming = more;
    const begun = this.#started; // only what was given out counts for a byte order mark
    if (this.#encoding !== "utf-8") {
      this.#other ??= late("encoding").decoderOf(this.#encoding, this.#fatal, this.#ignoreBOM);
      return this.#other(bytes, more);
    }
    if (this.#rest.length > 0) {
      const joined = new Uint8(this.#rest.length + bytes.length);
      apply(setBytes, joined, [this.#rest]);
      apply(setBytes, joined, [bytes, this.#rest.length]);
      bytes = joined;
    }
    const parts = [];
    let text = "", i = 0;
    this.#rest = new Uint8(0);
    while (i < bytes.length) {
      let c = bytes[i], used = 1;
      if (c >= 0x80) { const read = sequence(bytes, i); c = read[0]; used = read[1]; };
      if (c === -2 && more) { this.#rest = bytesSlice(bytes, i); break; }
      if (c < 0 && this.#fatal) { this.#started = begun; throw new TypeErrorClass("the bytes are not valid UTF-8"); }
      i += used;
      if (c === 0xfeff && !this.#started && !this.#ignoreBOM) { this.#started = true; continue; }
      this.#started = true;
      text += c < 0 ? "\ufffd" : fromCodePoint(c);
      if (text.length > 8192) { parts[parts.length] = text; text = ""; }
    }
    parts[parts.length] = text;
    return apply(join, parts, [""]);
  }
}
for (const [Class, name] of [[TextEncoder, "TextEncoder"], [TextDecoder, "TextDecoder"]]) defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
