// crypto.subtle (Web Cryptography API): digests, HMAC and AES-GCM. The host computes; what a key is, what it may be
// used for and the names of errors are here. The bytes of a key are in a private field and leave only by exportKey.
const fault = (name, message) => new DOMExceptionClass(message, name);
const table = (entries) => {
  const out = create(null);
  for (let i = 0; i < entries.length; i++) out[entries[i][0]] = entries[i][1];
  return out;
};
const hashes = table([["SHA-1", { size: 20, block: 512, jwk: "HS1" }], ["SHA-256", { size: 32, block: 512, jwk: "HS256" }], ["SHA-384", { size: 48, block: 1024, jwk: "HS384" }], ["SHA-512", { size: 64, block: 1024, jwk: "HS512" }]]);
const usageNames = ["encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"];
const keyed = table([["HMAC", { usages: ["sign", "verify"], jwkUse: "sig" }], ["AES-GCM", { usages: ["encrypt", "decrypt", "wrapKey", "unwrapKey"], jwkUse: "enc" }]]);

const anyOf = (names, name) => {
  for (let i = 0; i < names.length; i++) if (names[i] === name) return true;
  return false;
};
const textOfField = (value) => {
  if (typeof value === "symbol") throw new TypeErrorClass("a symbol is not a text");
  return "" + value;
};
const need = (given, n) => { if (given.length < n) throw new TypeErrorClass(`${n} arguments required, but only ${given.length} present`); };
const object = (value) => isObject(value) || typeof value === "function";

// nameOf finds the algorithm that was asked for among those that an operation knows.
const nameOf = (algorithm, known, what) => {
  if (object(algorithm)) {
    algorithm = algorithm.name;
    if (algorithm === undefined) throw new TypeErrorClass("an algorithm needs a name");
  }
  const name = textOfField(algorithm);
  let upper = "";
  for (let i = 0; i < name.length; i++) upper += codeAt(name, i) < 128 ? upperCase(name[i]) : name[i];
  if (known[upper] === undefined) throw fault("NotSupportedError", `${what} knows ${apply(join, objectKeys(known), [", "])}, not "${name}"`);
  return upper;
};
const hashOf = (algorithm) => {
  if (!object(algorithm) || algorithm.hash === undefined) throw new TypeErrorClass("HMAC needs a hash, such as SHA-256");
  return nameOf(algorithm.hash, hashes, "HMAC");
};
const unsupported = (what) => () => { throw fault("NotSupportedError", `${what} is not available: there are digest, sign and verify with HMAC, encrypt and decrypt with AES-GCM, generateKey, importKey and exportKey`); };

// whole reads a number of the interface (EnforceRange).
const whole = (value, most, what) => {
  const n = +value;
  if (!(n > -1 && n < most + 1)) throw new TypeErrorClass(`${what} must be a whole number up to ${most}`);
  return floor(n < 0 ? 0 : n);
};

const listOf = (value, what) => {
  if (isArray(value)) return value;
  if (!object(value) || typeof value[iteratorSymbol] !== "function") throw new TypeErrorClass(`${what} must be a list`);
  const out = [];
  for (const item of value) out[out.length] = item;
  return out;
};

// usagesOf reads what a key is to be used for, in the order that the interface gives usages, each once.
const usagesOf = (value) => {
  const list = listOf(value, "the usages of a key"), out = [];
  for (let i = 0; i < list.length; i++) if (!anyOf(usageNames, list[i] = textOfField(list[i]))) throw new TypeErrorClass(`"${list[i]}" is not a usage of a key`);
  for (let i = 0; i < usageNames.length; i++) if (anyOf(list, usageNames[i])) out[out.length] = usageNames[i];
  return out;
};
const checkUsages = (usages, name) => {
  const allowed = keyed[name].usages;
  for (let i = 0; i < usages.length; i++) if (!anyOf(allowed, usages[i])) throw fault("SyntaxError", `a key for ${name} cannot be used to ${usages[i]}`);
};
const someUsage = (usages) => { if (usages.length === 0) throw fault("SyntaxError", "a secret key needs at least one usage"); };

const buffer = (bytes) => apply(viewBuffer, bytes, []);
const compute = (operation, args) => {
  try { return apply(operation, undefined, args); } catch (thrown) { throw fault("OperationError", textOf(thrown.message)); }
};

const keyKey = {};
let secretOf, isKey; // {bytes, name, hash, usages, extractable} of a key
class CryptoKey {
  #secret; #algorithm; #usages;
  static {
    secretOf = (key) => key.#secret;
    isKey = (value) => isObject(value) && #secret in value;
  }

  constructor(key, secret) {
    if (key !== keyKey) throw new TypeErrorClass("Illegal constructor");
    const length = secret.bytes.length * 8, { name, hash } = secret;
    this.#secret = secret;
    this.#algorithm = hash === "" ? { name, length } : { name, length, hash: { name: hash } };
    this.#usages = apply(slice, secret.usages, []);
  }

  get type() { return secretOf(this) && "secret"; }
  get extractable() { return secretOf(this).extractable; }
  get algorithm() { return this.#algorithm; }
  get usages() { return this.#usages; }
}
tag(CryptoKey, "CryptoKey");

const makeKey = (bytes, name, hash, usages, extractable) => new CryptoKey(keyKey, { bytes, name, hash, usages, extractable });

const needKey = (key) => { if (!isKey(key)) throw new TypeErrorClass("expected a CryptoKey"); };

// usable returns the secret of a key that may be used like this.
const usable = (key, name, usage) => {
  const secret = secretOf(key);
  if (secret.name !== name) throw fault("InvalidAccessError", `this key is for ${secret.name}, not ${name}`);
  if (!anyOf(secret.usages, usage)) throw fault("InvalidAccessError", `this key may not be used to ${usage}`);
  return secret;
};

// bytesOfJwk reads the key out of a JSON Web Key (RFC 7517, RFC 7518).
const bytesOfJwk = (jwk, name, alg, extractable, usages) => {
  const wrong = (message) => fault("DataError", message);
  if (jwk.kty !== "oct") throw wrong('the kty of a secret key must be "oct"');
  if (typeof jwk.k !== "string") throw wrong("the k of a secret key is missing");
  let bytes;
  const options = create(null);
  options.alphabet = "base64url";
  try { bytes = fromBase64(jwk.k, options); } catch { throw wrong("the k of a key must be base64url"); }
  if (usages.length > 0 && jwk.use !== undefined && jwk.use !== keyed[name].jwkUse) throw wrong(`the use of a key for ${name} must be "${keyed[name].jwkUse}"`);
  if (jwk.key_ops !== undefined) {
    const ops = listOf(jwk.key_ops, "key_ops");
    for (let i = 0; i < ops.length; i++) for (let k = 0; k < i; k++) if (ops[i] === ops[k]) throw wrong("an entry of key_ops stands there twice");
    for (let i = 0; i < usages.length; i++) if (!anyOf(ops, usages[i])) throw wrong(`the key's key_ops do not allow to ${usages[i]}`);
  }
  if (jwk.ext !== undefined && !jwk.ext && extractable) throw wrong("the key says that it is not extractable");
  const want = alg(bytes.length);
  if (jwk.alg !== undefined && want !== "" && jwk.alg !== want) throw wrong(`the alg of this key must be "${want}"`);
  return bytes;
};
const aesName = (length) => (length === 16 || length === 24 || length === 32 ? `A${length * 8}GCM` : "");

const importKey = (format, data, algorithm, extractable, given) => {
  format = textOfField(format);
  if (!anyOf(["raw", "jwk", "pkcs8", "spki"], format)) throw new TypeErrorClass(`"${format}" is not a format of a key`);
  if (format === "jwk" ? !object(data) : !isBufferSource(data)) throw new TypeErrorClass(`a key of the format ${format} must be ${format === "jwk" ? "an object" : "an ArrayBuffer or a view on one"}`);
  const usages = usagesOf(given), name = nameOf(algorithm, keyed, "importKey"), hash = name === "HMAC" ? hashOf(algorithm) : "";
  const length = name === "HMAC" && algorithm.length !== undefined ? whole(algorithm.length, 2 ** 32 - 1, "the length of a key") : -1;
  checkUsages(usages, name);
  if (format !== "raw" && format !== "jwk") throw fault("NotSupportedError", `importKey knows the formats raw and jwk for ${name}, not ${format}`);
  const bytes = format === "raw" ? bytesSlice(bytesOf(data), 0) : bytesOfJwk(data, name, name === "HMAC" ? () => hashes[hash].jwk : aesName, !!extractable, usages);
  if (name === "AES-GCM" && aesName(bytes.length) === "") throw fault("DataError", "a key for AES-GCM has 128, 192 or 256 bits");
  if (name === "HMAC" && bytes.length === 0) throw fault("DataError", "a key for HMAC must not be empty");
  if (length >= 0 && length !== bytes.length * 8) throw fault("DataError", `the key has ${bytes.length * 8} bits, not ${length}`);
  someUsage(usages);
  return makeKey(bytes, name, hash, usages, !!extractable);
};

const generateKey = (algorithm, extractable, given) => {
  const usages = usagesOf(given), name = nameOf(algorithm, keyed, "generateKey"), hash = name === "HMAC" ? hashOf(algorithm) : "";
  let length = object(algorithm) ? algorithm.length : undefined;
  if (length === undefined && name === "HMAC") length = hashes[hash].block;
  else if (length === undefined) throw new TypeErrorClass("generateKey needs the length of the key in bits");
  else length = whole(length, name === "HMAC" ? 2 ** 32 - 1 : 65535, "the length of a key");
  checkUsages(usages, name);
  if (name === "AES-GCM" && aesName(length / 8) === "") throw fault("OperationError", "a key for AES-GCM has 128, 192 or 256 bits");
  if (length === 0 || length % 8 !== 0 || length > 8 * 65536) throw fault("OperationError", "a key for HMAC has a number of whole bytes, from 1 to 65536");
  someUsage(usages);
  return makeKey(hostRandom(length / 8), name, hash, usages, !!extractable);
};

const exportKey = (format, key) => {
  format = textOfField(format);
  if (!anyOf(["raw", "jwk", "pkcs8", "spki"], format)) throw new TypeErrorClass(`"${format}" is not a format of a key`);
  needKey(key);
  const { bytes, name, hash, usages, extractable } = secretOf(key);
  if (!extractable) throw fault("InvalidAccessError", "this key is not extractable");
  if (format === "raw") return buffer(bytesSlice(bytes, 0));
  if (format !== "jwk") throw fault("NotSupportedError", `exportKey knows the formats raw and jwk for ${name}, not ${format}`);
  const options = create(null);
  options.alphabet = "base64url";
  options.omitPadding = true;
  return { kty: "oct", k: apply(toBase64, bytes, [options]), alg: name === "HMAC" ? hashes[hash].jwk : aesName(bytes.length), key_ops: apply(slice, usages, []), ext: true };
};

const digest = (algorithm, data) => {
  const bytes = bytesOf(data), name = nameOf(algorithm, hashes, "digest"), out = new Uint8(hashes[name].size);
  compute(hostDigest, [name, bytes, out]);
  return out;
};
const mac = (secret, data) => {
  const out = new Uint8(hashes[secret.hash].size);
  compute(hostHMAC, [secret.hash, secret.bytes, data, out]);
  return out;
};

const onlyHMAC = table([["HMAC", true]]), onlyGCM = table([["AES-GCM", true]]);
const sign = (algorithm, key, data) => {
  needKey(key);
  const bytes = bytesOf(data), name = nameOf(algorithm, onlyHMAC, "sign");
  return buffer(mac(usable(key, name, "sign"), bytes));
};
const verify = (algorithm, key, signature, data) => {
  needKey(key);
  const given = bytesOf(signature), bytes = bytesOf(data), name = nameOf(algorithm, onlyHMAC, "verify");
  return compute(hostEqual, [mac(usable(key, name, "verify"), bytes), given]);
};

// sealing reads the parameters of AES-GCM: the tag's length is in bytes.
const sealing = (algorithm, what) => {
  const name = nameOf(algorithm, onlyGCM, what);
  if (!object(algorithm) || algorithm.iv === undefined) throw new TypeErrorClass("AES-GCM needs an iv");
  const nonce = bytesOf(algorithm.iv), additional = algorithm.additionalData === undefined ? new Uint8(0) : bytesOf(algorithm.additionalData);
  const bits = algorithm.tagLength === undefined ? 128 : whole(algorithm.tagLength, 255, "tagLength");
  return { name, nonce, additional, bits };
};
const tagOf = ({ nonce, bits }) => {
  if (bits !== 32 && bits !== 64 && (bits < 96 || bits > 128 || bits % 8 !== 0)) throw fault("OperationError", "tagLength must be 32, 64, 96, 104, 112, 120 or 128");
  if (nonce.length === 0) throw fault("OperationError", "the iv must not be empty");
  return bits / 8;
};
const encrypt = (algorithm, key, data) => {
  needKey(key);
  const bytes = bytesOf(data), parameters = sealing(algorithm, "encrypt"), secret = usable(key, parameters.name, "encrypt");
  const out = new Uint8(bytes.length + tagOf(parameters));
  compute(hostSeal, [secret.bytes, parameters.nonce, parameters.additional, bytes, out]);
  return buffer(out);
};
const decrypt = (algorithm, key, data) => {
  needKey(key);
  const bytes = bytesOf(data), parameters = sealing(algorithm, "decrypt"), secret = usable(key, parameters.name, "decrypt"), size = tagOf(parameters);
  if (bytes.length < size) throw fault("OperationError", "the data is shorter than its tag");
  const out = new Uint8(bytes.length - size);
  if (!compute(hostOpen, [secret.bytes, parameters.nonce, parameters.additional, bytes, out])) throw fault("OperationError", "the data was changed, or the key, iv, additionalData or tagLength is another one");
  return buffer(out);
};

const subtleKey = {};
let isSubtle;
const settle = (self, operation) => new PromiseClass((resolve) => {
  if (!isSubtle(self)) throw new TypeErrorClass("call this as a method of crypto.subtle");
  resolve(operation());
});
class SubtleCrypto {
  #own = true;
  static { isSubtle = (value) => isObject(value) && #own in value; }
  constructor(key) { if (key !== subtleKey) throw new TypeErrorClass("Illegal constructor"); }

  digest(algorithm, data) { return settle(this, () => { need(arguments, 2); return buffer(digest(algorithm, data)); }); }
  sign(algorithm, key, data) { return settle(this, () => { need(arguments, 3); return sign(algorithm, key, data); }); }
  verify(algorithm, key, signature, data) { return settle(this, () => { need(arguments, 4); return verify(algorithm, key, signature, data); }); }
  encrypt(algorithm, key, data) { return settle(this, () => { need(arguments, 3); return encrypt(algorithm, key, data); }); }
  decrypt(algorithm, key, data) { return settle(this, () => { need(arguments, 3); return decrypt(algorithm, key, data); }); }
  generateKey(algorithm, extractable, keyUsages) { return settle(this, () => { need(arguments, 3); return generateKey(algorithm, extractable, keyUsages); }); }
  importKey(format, keyData, algorithm, extractable, keyUsages) { return settle(this, () => { need(arguments, 5); return importKey(format, keyData, algorithm, extractable, keyUsages); }); }
  exportKey(format, key) { return settle(this, () => { need(arguments, 2); return exportKey(format, key); }); }
  deriveBits(algorithm, baseKey, length) { return settle(this, unsupported("deriveBits")); }
  deriveKey(algorithm, baseKey, derivedKeyType, extractable, keyUsages) { return settle(this, unsupported("deriveKey")); }
  wrapKey(format, key, wrappingKey, wrapAlgorithm) { return settle(this, unsupported("wrapKey")); }
  unwrapKey(format, wrappedKey, unwrappingKey, unwrapAlgorithm, unwrappedKeyAlgorithm, extractable, keyUsages) { return settle(this, unsupported("unwrapKey")); }

  // timingSafeEqual compares in a time that depends on the length alone. It is not in the standard; workerd has it.
  timingSafeEqual(a, b) {
    need(arguments, 2);
    const first = bytesOf(a), second = bytesOf(b);
    if (first.length !== second.length) throw new TypeErrorClass("timingSafeEqual compares buffers of one length");
    return compute(hostEqual, [first, second]);
  }
}
tag(SubtleCrypto, "SubtleCrypto");
const subtle = new SubtleCrypto(subtleKey);
