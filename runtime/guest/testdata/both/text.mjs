// Text: encoders, decoders, their streams, base64, and the names of hosts and the parameters of URLs.
import { answer, answerNow, runner, show } from "./seeded.mjs";
const pieces = ["a", "é", "\u07ff", "\u0800", "€", "\uffff", "😀", "\u{10ffff}", "\ud800", "\udc00", "\ud83d", "\ude00", "\0", "\ufeff", "\x7f", "\x80", "line\r\n"];
const text = (m, n = 8) => m.many(m.random(n), () => m.pick(pieces)).join("");
// Bytes that are nearly UTF-8: whole characters, cut ones, and what never stands in it.
const nearly = [[0x41], [0xc3, 0xa9], [0xe2, 0x82, 0xac], [0xf0, 0x9f, 0x98, 0x80], [0xef, 0xbb, 0xbf], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xf0, 0x9f], [0x80], [0xbf], [0xc0, 0x80], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8], [0xff], [0xfe, 0xff], [0xff, 0xfe], [0x3d, 0xd8], [0x00, 0xde], [0, 0x41], [0x41, 0]];
const raw = (m, n = 8) => (m.odds(5) ? m.bytes(m.random(12)) : Uint8Array.from(m.many(m.random(n), () => m.pick(nearly)).flat()));
const labels = ["utf-8", "utf-8", "utf-8", undefined, "UTF8", " utf-8\n", "utf-16le", "utf-16", "utf-16be", "latin1", "ascii", "windows-1252", "x", "", null];
const cut = (m, list) => {
  const out = [];
  for (let at = 0; at < list.length;) { const n = 1 + m.random(4); out.push(list.slice(at, at += n)); }
  return out;
};
const piped = async (stream, chunks) => {
  const out = [], writer = stream.writable.getWriter();
  const writing = (async () => { for (const c of chunks) await writer.write(c); await writer.close(); })().catch((e) => "write " + e.name);
  const reading = (async () => { for await (const c of stream.readable) out.push(show(c)); })().catch((e) => "read " + e.name);
  return [out.join(), await reading, await writing].join(" ");
};

export const programs = {
  async encode(m) {
    const s = text(m), into = new Uint8Array(m.random(12));
    return [answerNow(() => new TextEncoder().encode(m.odds(20) ? m.pick([undefined, null, 5, {}]) : s)), answerNow(() => new TextEncoder().encodeInto(s, into)), show(into), s.isWellFormed?.() ?? ""].slice(0, 3);
  },
  async decode(m) {
    const options = m.odds(8) ? m.pick([undefined, null, {}, 5]) : { fatal: m.odds(3), ignoreBOM: m.odds(3) };
    let d;
    const made = answerNow(() => { d = new TextDecoder(m.pick(labels), options); return [d.encoding, d.fatal, d.ignoreBOM]; });
    if (d === undefined) return [made];
    const out = [made];
    for (let n = 1 + m.random(3); n > 0; n--) {
      const parts = cut(m, raw(m));
      parts.forEach((part, i) => out.push(answerNow(() => d.decode(m.pick([part, part.slice().buffer, new DataView(part.slice().buffer)]), { stream: i < parts.length - 1 || m.odds(6) }))));
      if (m.odds(3)) out.push(answerNow(() => d.decode()));
    }
    return out;
  },
  async wrong(m) {
    return [answerNow(() => new TextDecoder().decode(m.pick(["x", 5, null, {}, [1], undefined]))), answerNow(() => new TextEncoder().encodeInto("x", m.pick([null, 5, new Uint16Array(2), new ArrayBuffer(2)]))), answerNow(() => new TextDecoder("utf-8", m.pick([5, "x", null, () => {}])).fatal), answerNow(() => TextEncoder.prototype.encode.length + TextDecoder.prototype.decode.length)];
  },
  async base64(m) {
    const s = m.many(m.random(9), () => m.pick(["a", "\xff", "\0", "é", "\x80", "Z", m.odds(12) ? "\u0100" : "b"])).join("");
    const coded = answerNow(() => btoa(s)), odd = m.many(m.random(10), () => m.pick(["a", "B", "/", "+", "=", "==", " ", "\n", "-", "_", "é", "A", "Q"])).join("");
    return [coded, answerNow(() => atob(odd)), answerNow(() => atob(btoa(s)) === s), answerNow(() => btoa(m.pick([null, undefined, 5, 1.5]))), answerNow(() => atob(m.pick([null, undefined, "", "ab", "abc", "abcd", "a"])))];
  },
  async encoderStream(m) { return [await piped(new TextEncoderStream(), m.many(m.random(6), () => (m.odds(12) ? m.pick([5, null, undefined, {}]) : text(m, 4))))]; },
  async decoderStream(m) {
    let s;
    const made = answerNow(() => { s = new TextDecoderStream(m.pick(labels), { fatal: m.odds(3), ignoreBOM: m.odds(3) }); return [s.encoding, s.fatal, s.ignoreBOM]; });
    return s === undefined ? [made] : [made, await piped(s, m.odds(12) ? ["text"] : cut(m, raw(m)))];
  },
  // Names of each kind that UTS 46 tells apart, as far as node's Unicode goes.
  async names(m) {
    const labels = ["bücher", "BÜCHER", "faß", "日本語", "ｅｘ", "a\u00adb", "e\u0301", "\u0301a", "ශ්\u200dරී", "نامه\u200cای", "a\u200db", "a\u200cb", "שלום", "\u064aa", "0\u0646", "\u05d01", "1\u05d0", "xn--bcher-kva", "☃", "😀", "\ufffd", "\ue000", "≠", "-é-", "ab--é", "Ⅷ", "½", "ﬀ", "ς", "İ", "ı", "K", "\u2024", "\u3000", "%C3%BC", "a_b", "١", "1"];
    const host = m.many(1 + m.random(3), () => m.pick(labels) + (m.odds(4) ? m.pick(labels) : "")).join(m.pick([".", ".", ".", "。", "．"]));
    return [show(host), answerNow(() => new URL("https://" + host + "/x").href), answerNow(() => { const u = new URL("https://x/"); u.hostname = host; return u.hostname; })];
  },
  async params(m) {
    const word = () => m.pick(["a", "b", "", "é", "a b", "x+y", "%41", "&=", "\ud800", "😀", "\uffff", "~!*'()-._"]), u = new URL("http://x/?" + m.many(m.random(4), () => word() + m.pick(["=", ""]) + word()).join("&")), p = u.searchParams, out = [];
    for (let n = m.random(6); n > 0; n--) {
      out.push(answerNow(m.pick([() => p.append(word(), word()), () => p.delete(word()), () => p.delete(word(), word()), () => p.get(word()), () => p.getAll(word()), () => p.has(word()), () => p.has(word(), word()), () => p.set(word(), word()), () => p.sort(), () => p.size, () => { u.search = word(); }, () => { u.href = "http://y/?" + word(); }])), show(u.href));
    }
    return [...out, show([...p]), show([...p.keys()]), show([...p.values()]), show(String(p))];
  },
  async streamShapes() {
    return [await answer(() => [new TextEncoderStream().encoding, new TextEncoderStream().readable instanceof ReadableStream, new TextDecoderStream().writable instanceof WritableStream])];
  },
};
export const run = runner(programs);
