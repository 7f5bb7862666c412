// The decoders of TextDecoder other than UTF-8, and TextEncoderStream and TextDecoderStream (Encoding Standard, 7 and 8).

// highLatin is what windows-1252 has in place of the control characters from 0x80 to 0x9f.
const highLatin = "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";
const decodeLatin = (bytes) => {
  const parts = [];
  let text = "";
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    text += c < 0x80 || c > 0x9f ? fromCodePoint(c) : highLatin[c - 0x80];
    if (text.length > 8192) { parts[parts.length] = text; text = ""; }
  }
  parts[parts.length] = text;
  return apply(join, parts, [""]);
};

// utf16 returns a decoder that keeps what a chunk cuts off: half a unit, and half a pair.
const utf16 = (bigEndian, fatal, ignoreBOM) => {
  let half = -1, lead = -1, started = false, begun = false;
  const bad = () => {
    if (fatal) { half = lead = -1; started = begun; throw new TypeErrorClass("the bytes are not valid UTF-16"); }
    return "\ufffd";
  };
  return (bytes, more) => {
    const parts = [];
    let text = "";
    begun = started; // only what was given out counts for a byte order mark
    for (let i = 0; i < bytes.length; i++) {
      if (half < 0) { half = bytes[i]; continue; }
      const unit = bigEndian ? half << 8 | bytes[i] : bytes[i] << 8 | half;
      half = -1;
      if (lead >= 0) {
        const first = lead;
        lead = -1;
        if (unit >= 0xdc00 && unit < 0xe000) { text += fromCodePoint(0x10000 + ((first - 0xd800) << 10) + unit - 0xdc00); continue; }
        text += bad();
      }
      if (unit === 0xfeff && !started && !ignoreBOM) { started = true; continue; }
      started = true;
      if (unit >= 0xd800 && unit < 0xdc00) lead = unit;
      else text += unit >= 0xdc00 && unit < 0xe000 ? bad() : fromCodePoint(unit);
      if (text.length > 8192) { parts[parts.length] = text; text = ""; }
    }
    if (!more && (half >= 0 || lead >= 0)) { half = lead = -1; text += bad(); }
    parts[parts.length] = text;
    return apply(join, parts, [""]);
  };
};
const decoderOf = (encoding, fatal, ignoreBOM) => (encoding === "windows-1252" ? decodeLatin : utf16(encoding === "utf-16be", fatal, ignoreBOM));

const decodeWith = TextDecoder.prototype.decode;
class TextEncoderStream {
  #transform;
  constructor() {
    let lead = ""; // half a pair at the end of a chunk
    this.#transform = new (late("streams").TransformStream)({
      transform(chunk, controller) {
        let text = lead + wellText(chunk);
        const last = text.length === 0 ? 0 : codeAt(text, text.length - 1);
        lead = "";
        if (last >= 0xd800 && last < 0xdc00) { lead = text[text.length - 1]; text = textSlice(text, 0, text.length - 1); }
        if (text !== "") controller.enqueue(encodeUTF8(text));
      },
      flush(controller) { if (lead !== "") controller.enqueue(encodeUTF8(lead)); },
    });
  }
  get encoding() { return this.#transform && "utf-8"; }
  get readable() { return this.#transform.readable; }
  get writable() { return this.#transform.writable; }
}
tag(TextEncoderStream, "TextEncoderStream");
const wellText = (chunk) => {
  if (typeof chunk === "symbol") throw new TypeErrorClass("a symbol is not a text");
  return "" + chunk;
};

class TextDecoderStream {
  #transform; #decoder;
  constructor(label = "utf-8", options = undefined) {
    const decoder = this.#decoder = new TextDecoder(label, options), more = create(null);
    more.stream = true;
    this.#transform = new (late("streams").TransformStream)({
      transform(chunk, controller) {
        const text = apply(decodeWith, decoder, [bytesOf(chunk), more]);
        if (text !== "") controller.enqueue(text);
      },
      flush(controller) {
        const text = apply(decodeWith, decoder, []);
        if (text !== "") controller.enqueue(text);
      },
    });
  }
  get encoding() { return this.#decoder.encoding; }
  get fatal() { return this.#decoder.fatal; }
  get ignoreBOM() { return this.#decoder.ignoreBOM; }
  get readable() { return this.#transform.readable; }
  get writable() { return this.#transform.writable; }
}
tag(TextDecoderStream, "TextDecoderStream");
