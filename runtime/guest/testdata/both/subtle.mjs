// Programs over crypto.subtle that a gadget and node both run: what each answers is one line, and the lines must be
// the same. The inputs are made from a seed.
const maker = (seed) => {
  const random = (n) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0, Math.floor((seed / 2 ** 32) * n));
  const pick = (list) => list[random(list.length)];
  const bytes = (n) => Uint8Array.from({ length: n }, () => random(256));
  // some gives n bytes as one of the things that hold bytes, mostly a part of a larger buffer.
  const some = (n) => {
    const buffer = new ArrayBuffer(n + 24), at = 8;
    new Uint8Array(buffer).set(bytes(n + 24));
    const whole = n % 8 === 0;
    return pick([() => new Uint8Array(buffer, at, n), () => buffer.slice(at, at + n), () => new DataView(buffer, at, n), () => new Uint8ClampedArray(buffer, at, n), () => (whole ? new Float64Array(buffer, at, n / 8) : new Int8Array(buffer, at, n)),
      () => (whole ? new BigUint64Array(buffer, at, n / 8) : new Uint8Array(buffer, at, n)), () => new (class Own extends Uint8Array {})(buffer, at, n)])();
  };
  return { random, pick, bytes, some };
};
const hex = (v) => (v instanceof ArrayBuffer ? [...new Uint8Array(v)].map((b) => b.toString(16).padStart(2, "0")).join("") : v);
const shown = (v) => {
  if (v instanceof CryptoKey) return "key " + JSON.stringify([v.type, v.extractable, v.algorithm.name, v.algorithm.length, v.algorithm.hash?.name, [...v.usages].sort()]);
  if (v instanceof ArrayBuffer) return "bytes " + hex(v);
  if (v !== null && typeof v === "object") return "jwk " + JSON.stringify(Object.entries(v).map(([k, x]) => [k, Array.isArray(x) ? [...x].sort() : x]).sort());
  return String(v);
};
const answer = async (f) => {
  try { return shown(await f()); } catch (e) { return "threw " + (e instanceof DOMException ? "DOMException " : "") + e.name; }
};
const s = crypto.subtle;
const hashes = ["SHA-1", "SHA-256", "SHA-384", "SHA-512"], sizes = [0, 1, 7, 16, 31, 32, 55, 56, 63, 64, 65, 111, 112, 127, 128, 129, 1000, 4096, 100000];
const spelled = (m, name) => m.pick([name, name, { name }, name.toLowerCase(), { name: name.toLowerCase() }]);
const usages = ["sign", "verify", "encrypt", "decrypt", "wrapKey", "unwrapKey", "deriveKey", "deriveBits"];

export const programs = {
  async digest(m) {
    const data = m.some(m.pick(sizes));
    return [await answer(() => s.digest(spelled(m, m.pick([...hashes, ...hashes, "MD5", "SHA256", "", "sha-1 "])), m.random(20) === 0 ? m.pick([null, "text", 5, [1, 2], {}]) : data))];
  },
  async hmac(m) {
    const hash = m.pick(hashes), data = m.some(m.pick(sizes)), out = [];
    const raw = m.some(m.pick([1, 3, 16, 20, 32, 64, 65, 128, 129, 200]));
    const key = await s.importKey("raw", raw, { name: spelled(m, "HMAC").name ?? "HMAC", hash: spelled(m, hash) }, m.random(2) === 0, m.pick([["sign"], ["verify"], ["sign", "verify"], ["verify", "sign"]]));
    out.push(shown(key), await answer(() => s.sign("HMAC", key, data)), await answer(() => s.exportKey("raw", key)), await answer(() => s.exportKey("jwk", key)));
    const full = await s.importKey("raw", raw, { name: "HMAC", hash }, true, ["sign", "verify"]), signature = new Uint8Array(await s.sign({ name: "hmac" }, full, data));
    if (m.random(2) === 0) signature[m.random(signature.length)] ^= m.random(2);
    const given = m.random(4) === 0 ? signature.subarray(0, m.random(signature.length)) : signature;
    out.push(await answer(() => s.verify("HMAC", key, given, data)), await answer(() => s.verify("HMAC", full, given, data)));
    return out;
  },
  async gcm(m) {
    const size = m.pick([16, 24, 32, 16, 24, 32, 8, 20, 0]), raw = m.some(size), plain = m.some(m.pick([0, 1, 15, 16, 17, 100, 5000]));
    const key = await s.importKey("raw", raw, "AES-GCM", m.random(2) === 0, m.pick([["encrypt", "decrypt"], ["encrypt", "decrypt"], ["encrypt"], ["decrypt"]])).catch((e) => e);
    if (!(key instanceof CryptoKey)) return [key.name, size];
    const full = await s.importKey("raw", raw, "AES-GCM", true, ["encrypt", "decrypt"]);
    const parameters = { name: m.pick(["AES-GCM", "aes-gcm"]), iv: m.some(m.pick([12, 12, 12, 13, 16, 64, 128])) };
    if (m.random(2) === 0) parameters.additionalData = m.some(m.pick([0, 1, 16, 40]));
    if (m.random(2) === 0) parameters.tagLength = m.pick([128, 120, 112, 104, 96, 64, 32, 8, 0, 100, 136, 129, "128", 255]);
    const out = [shown(key), await answer(() => s.encrypt(parameters, key, plain))];
    const sealed = await s.encrypt(parameters, full, plain).catch((e) => e);
    if (!(sealed instanceof ArrayBuffer)) return [...out, sealed.name];
    const changed = new Uint8Array(sealed.slice(0)), cut = m.random(6) === 0 ? m.random(changed.length + 1) : changed.length;
    if (m.random(2) === 0 && changed.length > 0) changed[m.random(changed.length)] ^= 1 << m.random(8);
    out.push(await answer(() => s.decrypt(parameters, full, sealed)), await answer(() => s.decrypt(parameters, key, changed.subarray(0, cut))));
    out.push(await answer(() => s.decrypt({ ...parameters, additionalData: m.some(3) }, full, sealed)));
    return out;
  },
  async jwk(m) {
    const name = m.pick(["HMAC", "AES-GCM"]), hash = m.pick(hashes), size = m.pick([16, 24, 32, 64, 5]);
    const jwk = { kty: "oct", k: btoa(String.fromCharCode(...m.bytes(size))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") };
    if (m.random(2) === 0) jwk.alg = name === "HMAC" ? m.pick(["HS1", "HS256", "HS384", "HS512", "HS256"]) : m.pick(["A128GCM", "A192GCM", "A256GCM"]);
    if (m.random(3) === 0) jwk.use = m.pick(["sig", "enc", "other"]);
    if (m.random(3) === 0) jwk.ext = m.random(2) === 0;
    if (m.random(3) === 0) jwk.key_ops = m.pick([["sign", "verify"], ["encrypt", "decrypt"], ["sign"], [], ["encrypt", "decrypt", "x"], ["sign", "verify", "sign"]]);
    if (m.random(8) === 0) jwk.kty = m.pick(["RSA", undefined, 5]);
    if (m.random(8) === 0) delete jwk.k;
    const key = await s.importKey("jwk", jwk, { name, hash }, m.random(2) === 0, name === "HMAC" ? ["sign", "verify"] : ["encrypt", "decrypt"]).catch((e) => e);
    if (!(key instanceof CryptoKey)) return [JSON.stringify(jwk), key.name];
    return [shown(key), await answer(() => s.exportKey("jwk", key)), await answer(() => s.exportKey("raw", key)), name === "HMAC" ? await answer(() => s.sign("HMAC", key, m.bytes(10))) : await answer(() => s.encrypt({ name, iv: new Uint8Array(12) }, key, m.bytes(10)))];
  },
  async importing(m) {
    const format = m.pick(["raw", "raw", "raw", "jwk", "spki", "pkcs8", "", "RAW"]), data = m.random(6) === 0 ? m.pick([null, {}, "x", 5, undefined]) : m.some(m.pick([0, 16, 32, 5]));
    const list = m.random(10) === 0 ? m.pick([null, undefined, "sign", 5, ["nope"], new Set(["sign"])]) : usages.filter(() => m.random(4) === 0);
    const algorithm = m.pick(["HMAC", "AES-GCM", { name: "HMAC", hash: "SHA-256" }, { name: "HMAC", hash: { name: "sha-512" } }, { name: "HMAC", hash: "MD5" }, { name: "HMAC", hash: "SHA-256", length: m.pick([128, 256, 0, 8, 40, 127, -1, NaN]) }, { name: "AES-GCM" }, {}, "nothing", 5, null, { name: 7 }]);
    return [JSON.stringify([format, algorithm, list]), await answer(() => s.importKey(format, data, algorithm, m.pick([true, false, 1, ""]), list))];
  },
  async generating(m) {
    const algorithm = m.pick([{ name: "HMAC", hash: m.pick(hashes) }, { name: "HMAC", hash: "SHA-256", length: m.pick([8, 64, 512, 1024, 0]) }, { name: "AES-GCM", length: m.pick([128, 192, 256, 0, 64, 257, -1, 1e9, undefined]) }, "HMAC", "AES-GCM", { name: "x" }]);
    const list = usages.filter((u) => m.random(3) === 0 || (u === "sign" && algorithm.name === "HMAC") || (u === "encrypt" && algorithm.name === "AES-GCM"));
    const allowed = m.random(4) === 0 ? list : list.filter((u) => (algorithm.name === "HMAC" ? ["sign", "verify"] : ["encrypt", "decrypt", "wrapKey", "unwrapKey"]).includes(u));
    const key = await s.generateKey(algorithm, true, allowed).catch((e) => e);
    if (!(key instanceof CryptoKey)) return [JSON.stringify([algorithm, allowed]), key.name];
    const raw = await s.exportKey("raw", key);
    return [shown(key), raw.byteLength, new Set(new Uint8Array(raw)).size > 1 || raw.byteLength < 4];
  },
  async misuse(m) {
    const hmac = await s.importKey("raw", m.bytes(32), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]), aes = await s.importKey("raw", m.bytes(32), "AES-GCM", false, ["encrypt"]), data = m.bytes(8), iv = m.bytes(12);
    return Promise.all([() => s.sign("HMAC", aes, data), () => s.sign("AES-GCM", aes, data), () => s.verify("HMAC", hmac, data, data), () => s.encrypt({ name: "AES-GCM", iv }, hmac, data), () => s.encrypt({ name: "HMAC", iv }, aes, data), () => s.decrypt({ name: "AES-GCM", iv }, aes, data),
      () => s.encrypt({ name: "AES-GCM" }, aes, data), () => s.encrypt("AES-GCM", aes, data), () => s.encrypt({ name: "AES-GCM", iv: "text" }, aes, data), () => s.encrypt({ name: "AES-GCM", iv, tagLength: 300 }, aes, data), () => s.encrypt({ name: "AES-GCM", iv, tagLength: -1 }, aes, data), () => s.encrypt({ name: "AES-GCM", iv, additionalData: 5 }, aes, data), () => s.sign("HMAC", {}, data), () => s.sign("HMAC", null, data), () => s.sign("HMAC", hmac, "text"), () => s.sign("HMAC"), () => s.digest("SHA-1"), () => s.digest(), () => s.exportKey("raw", hmac), () => s.exportKey("jwk", aes), () => s.exportKey("pkcs8", hmac),
      () => s.exportKey("x", hmac), () => s.exportKey("raw"), () => new CryptoKey(), () => s.digest.call({}, "SHA-1", data), () => s.deriveBits("HMAC", hmac, 8), () => Object.prototype.toString.call(hmac), () => Object.prototype.toString.call(s), () => JSON.stringify(hmac), () => { hmac.algorithm.name = "x"; hmac.usages.push("verify"); return s.sign("HMAC", hmac, data).then((b) => b.byteLength); }, () => s.verify("HMAC", hmac, data, data)].map((f) => answer(async () => f())));
  },
};

// run gives the lines of a program for each seed from the first on.
export const run = async (name, first, count) => {
  const lines = [];
  for (let seed = first; seed < first + count; seed++) lines.push(`${seed} ${(await programs[name](maker(seed * 7919 + 1))).join(" | ")}`);
  return lines;
};
