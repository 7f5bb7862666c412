// The host parser of the URL Standard (3.5). Domain to ASCII is the host's: the engine has no tables for it.
const forbiddenHost = encodeSet("\0\t\n\r #/:<>?@[\\]^|", new Uint8(128));
const forbiddenDomain = encodeSet("%\x7f", forbiddenHost);
for (let c = 0; c < 32; c++) forbiddenDomain[c] = 1;

const hasAny = (text, table) => {
  for (let i = 0; i < text.length; i++) {
    const c = codeAt(text, i);
    if (c < 128 && table[c] !== 0) return true;
  }
  return false;
};
const isASCII = (text) => {
  for (let i = 0; i < text.length; i++) if (codeAt(text, i) > 127) return false;
  return true;
};
const splitText = (text, separator) => {
  const parts = [];
  let start = 0;
  for (let i = 0; i <= text.length; i++) {
    if (i < text.length && text[i] !== separator) continue;
    parts[parts.length] = textSlice(text, start, i);
    start = i + 1;
  }
  return parts;
};

// parseHost returns the serialised host, or null.
const parseHost = (text, opaque) => {
  if (text[0] === "[") {
    const pieces = text[text.length - 1] === "]" ? parseIPv6(points(textSlice(text, 1, -1))) : null;
    return pieces === null ? null : "[" + serialiseIPv6(pieces) + "]";
  }
  if (opaque) return hasAny(text, forbiddenHost) ? null : percentEncodeAll(points(text), controlSet);
  const domain = domainToASCII(decodeUTF8(percentDecode(text)));
  if (domain === null || domain === "" || hasAny(domain, forbiddenDomain)) return null;
  return endsInNumber(domain) ? parseIPv4(domain) : domain;
};

const endsInNumber = (domain) => {
  const parts = splitText(domain, ".");
  if (parts[parts.length - 1] === "") {
    if (parts.length === 1) return false;
    parts.length--;
  }
  return IPv4Number(parts[parts.length - 1]) >= 0 || isDigits(parts[parts.length - 1]);
};
const isDigits = (text) => {
  for (let i = 0; i < text.length; i++) if (!isDigit(codeAt(text, i))) return false;
  return text !== "";
};

// IPv4Number returns -1 for what is not a number.
const IPv4Number = (text) => {
  let radix = 10, i = 0;
  if (text.length >= 2 && text[0] === "0") {
    if (text[1] === "x" || text[1] === "X") { radix = 16; i = 2; }
    else { radix = 8; i = 1; }
  }
  if (text === "") return -1;
  let n = 0;
  for (; i < text.length; i++) {
    const digit = hexValue(codeAt(text, i));
    if (digit < 0 || digit >= radix) return -1;
    n = n * radix + digit;
  }
  return n;
};

const parseIPv4 = (domain) => {
  const parts = splitText(domain, ".");
  if (parts[parts.length - 1] === "" && parts.length > 1) parts.length--;
  if (parts.length > 4) return null;
  let address = 0;
  for (let i = 0; i < parts.length; i++) {
    const n = IPv4Number(parts[i]), last = i === parts.length - 1;
    if (n < 0 || n >= (last ? 256 ** (5 - parts.length) : 256)) return null;
    address += last ? n : n * 256 ** (3 - i);
  }
  return (address >>> 24) + "." + (address >>> 16 & 255) + "." + (address >>> 8 & 255) + "." + (address & 255);
};

// parseIPv6 returns the eight pieces, or null.
const parseIPv6 = (input) => {
  const pieces = [0, 0, 0, 0, 0, 0, 0, 0];
  let n = 0, compress = -1, p = 0;
  if (input[0] === COLON) {
    if (input[1] !== COLON) return null;
    p = 2;
    compress = ++n;
  }
  while (p < input.length) {
    if (n === 8) return null;
    if (input[p] === COLON) {
      if (compress >= 0) return null;
      p++;
      compress = ++n;
      continue;
    }
    let value = 0, length = 0;
    for (; length < 4 && p < input.length && hexValue(input[p]) >= 0; p++, length++) value = value << 4 | hexValue(input[p]);
    if (input[p] === 46) {
      if (length === 0 || n > 6 || !embeddedIPv4(input, p - length, pieces, n)) return null;
      n += 2;
      break;
    }
    if (input[p] === COLON) {
      if (++p >= input.length) return null;
    } else if (p < input.length) return null;
    pieces[n++] = value;
  }
  if (compress < 0) return n === 8 ? pieces : null;
  for (let i = 7, swaps = n - compress; swaps > 0 && i > 0; i--, swaps--) {
    const from = compress + swaps - 1, piece = pieces[from];
    pieces[from] = pieces[i];
    pieces[i] = piece;
  }
  return pieces;
};

const embeddedIPv4 = (input, p, pieces, n) => {
  for (let seen = 0; seen < 4; seen++) {
    if (seen > 0 && input[p++] !== 46) return false;
    if (!(p < input.length) || !isDigit(input[p])) return false;
    let value = input[p++] - 48;
    for (; p < input.length && isDigit(input[p]); p++) {
      if (value === 0) return false;
      value = value * 10 + input[p] - 48;
      if (value > 255) return false;
    }
    const at = n + (seen >> 1);
    pieces[at] = pieces[at] * 256 + value;
  }
  return p >= input.length;
};

const serialiseIPv6 = (pieces) => {
  let best = -1, bestLength = 1;
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (i + length < 8 && pieces[i + length] === 0) length++;
    if (length > bestLength) { best = i; bestLength = length; }
    if (length > 0) i += length - 1;
  }
  let text = "";
  for (let i = 0; i < 8; i++) {
    if (i === best) {
      text += i === 0 ? "::" : ":";
      i += bestLength - 1;
      continue;
    }
    text += apply(numberText, pieces[i], [16]) + (i < 7 ? ":" : "");
  }
  return text;
};

// domainToASCII returns null for a name that is not valid. One of ASCII alone is taken as it is.
const domainToASCII = (domain) => (isASCII(domain) ? lowerCase(domain) : hostDomain(domain) ?? null);
