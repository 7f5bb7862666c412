// URL and URLSearchParams against node's own, over cases put together from parts and over mutations of them.
import { Guest, check, equal, finish } from "./harness.mjs";

const guest = await Guest.open(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {}`);
guest.deadline = Infinity;

// What a URL shows, run in both.
const show = `(input, base) => {
  let u;
  try { u = base === null ? new URL(input) : new URL(input, base) } catch (e) { return "threw " + e.name }
  return JSON.stringify([u.href, u.origin, u.protocol, u.username, u.password, u.host, u.hostname, u.port, u.pathname, u.search, u.hash, [...u.searchParams]]);
}`;
const set = `(input, changes) => {
  let u;
  try { u = new URL(input) } catch (e) { return "threw " + e.name }
  const out = [], params = u.searchParams;
  for (const [name, value] of changes) {
    try { u[name] = value } catch (e) { out.push(e.name) }
    out.push(u.href, params.toString());
  }
  return JSON.stringify(out);
}`;
const search = `(init, steps) => {
  const p = new URLSearchParams(init), out = [];
  for (const [name, ...args] of steps) { const r = p[name](...args); out.push(r === null || typeof r !== "object" ? String(r) : [...r], p.toString(), p.size) }
  return JSON.stringify([out, [...p], [...p.keys()], [...p.values()]]);
}`;
// both runs a function over a list of arguments in the guest and here.
const both = (code, list) => {
  const ours = JSON.parse(guest.eval(`{ const f = ${code}; JSON.stringify(${JSON.stringify(list)}.map((a) => f(...a))) }`));
  const f = (0, eval)(code);
  return list.map((a, i) => [JSON.stringify(a), ours[i], f(...a)]);
};

// differences are where node 20 is known to answer otherwise than the Standard: why, and whether a case is one of them.
const dots = /(\.|%2e)(\.|%2e)/i;
const differences = [
  ["node resolves x#y against an opaque path, and should fail", (input, ours, theirs) => /"(mailto:x|data:,x|foo:opaque\?q#f)"\]$/.test(input) && ours === "threw TypeError" && theirs[0] === "["],
  ["node leaves no / where .. ends a path that is not special", (input, ours, theirs) => dots.test(input) && JSON.parse(ours)[8] === "/" && JSON.parse(theirs)[8] === ""],
  ["node leaves . and .. in a file URL where : or | is in the path", (input, ours, theirs) => theirs.startsWith('["file:') && /\/[^?#"]*[:|][^?#"]*\/|\/\.\.?/.test(theirs)],
  ["node loses the query where a path gets /. ahead of it", (input, ours, theirs) => /"(pathname|href|protocol)"/.test(input) && /"[a-z]+:\/\.\/\/[^"?]*\?/.test(ours) && theirs.length < ours.length],
  ["node takes the port :80 for none", (input) => /\["port",":/.test(input) || /\["port",": /.test(input)],
  ["node drops a port that comes with the first host, or loses its way", (input) => /^\["(foo:|mailto:|data:)|"href"/.test(input) && /"host(name)?",/.test(input)],
  ["the Standard encodes the last space of an opaque path since 2025, where a query or a fragment follows", (input, ours, theirs) => ours.replaceAll("%20", " ").replace(/ +([?#"])/g, "$1") === theirs.replaceAll("%20", " ").replace(/ +([?#"])/g, "$1") || (/%20[?#"]/.test(ours) && /foo:opaque {2}\?q|data:text, {2}#x/.test(input))],
  ["the Standard takes a host of ASCII alone as it is since 2025, a label with xn-- too", (input, ours) => /xn--/i.test(input) && /xn--/.test(ours)],
  ["node leaves no / where .. ends a path that is not special (setters)", (input, ours, theirs) => dots.test(input) && /"(pathname|href)"/.test(input) && theirs.length < ours.length],
];
// comparable takes away what differs in very many cases: the Standard encodes ^ in a path since 2024, node 20 does not.
const comparable = (answer) => answer.replaceAll("%5E", "^");

let seed = 20261129;
const random = (n) => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0, Math.floor((seed / 2 ** 32) * n));
const pick = (list) => list[random(list.length)];
const schemes = ["http:", "https:", "ws:", "wss:", "ftp:", "file:", "HtTp:", "foo:", "a+b-c.1:", "mailto:", "data:", "javascript:", "blob:", "1x:", "", "non-special:", ":", "http", "about:"];
const slashes = ["//", "/", "", "\\\\", "///", "/\\", "////", "\\/", " //"];
const users = ["", "", "", "user@", "u:p@", ":p@", "@", "u:@", "a:b:c@", "u@x@", "%41:é@", "a b:c/d@", "[]^|@", ":@", "@@"];
const hosts = ["example.com", "EXAMPLE.com", "localhost", "", "127.0.0.1", "127.1", "0x7f.1", "256.256.256.256", "1.2.3.4.5", "0300.0", "4294967295", "4294967296", "1.2.3.08", "09", "0x", "1e2", "a.0x", "1.2.3.", "..", ".", "a..b", "[::1]", "[1:2:3:4:5:6:7:8]", "[1::8]", "[::]", "[::ffff:1.2.3.4]", "[1:0:0:2::]", "[0:0:1:0:0:0:1:1]", "[::1", "[:::1]", "[1:2:3]", "[1::2::3]", "[::1.2.3]", "[::1.2.3.400]", "[::01.2.3.4]", "[g::]", "[12345::]", "[1:2:3:4:5:6:7:]", "[::%eth0]", "ex%41mple.com", "a%00b", "a b", "a<b", "a^b", "a|b", "a%b", "%zz", "exa\tmple.com", "bücher.de", "BÜCHER.de", "日本語.jp", "☃.net", "xn--bcher-kva.de", "XN--BCHER-KVA.de", "xn--a", "xn--", "faß.de", "ｅｘａｍｐｌｅ．com", "a。b", "a\u00adb.com", "😀.ws", "c:", "C|", "a_b", "-a-", "*", "x.y.z.", "%e2%98%83", "%ff", "a`b", "a{b}", "a\"b", "é%2e"];
const ports = ["", "", "", ":80", ":443", ":21", ":", ":8080", ":0", ":65535", ":65536", ":00080", ":8a", ":-1", ":٣", ": 80", ":99999999999"];
const paths = ["", "/", "/a/b", "/a/../b", "/./a", "/a/%2e%2E/b", "/..", "/../..", "/a//b", "/C:/x", "/c|/y", "C|/z", "/a b", "/é😀", "/\ud800x", "/%zz%4", "\\a\\b", "/a;b=c", "/a/.", "/a/..", "//x", "/.//x", "a/b", "./", "../x", "/\"<>`{}^|[]", "/%2e", "/a\tb\nc", ".", "..", "/a/b/c/../../d", "text/plain,a b ", "x@y.z", "/'\"", "/~-_!$&()*+,;=:@"];
const queries = ["", "", "?", "?a=b", "?a=b&c=d", "?é=ü&x", "?a b+c", "?'\"<>#", "?%zz&=&==&a", "?\ud800", "?`{}|^\\", "?a=1&a=2&b=%41%C3%A9%ff", "?x=a=b", "?+%20+", "?&&a&&"];
const hashes = ["", "", "#", "#a", "#é \"<>`", "#a#b", "#\0x", "#\\|^{}", "#%zz"];
const bases = [null, null, "http://user:pw@host:81/p/q/r?s#t", "https://h/", "file:///C:/a/b", "file:///x/y", "file://srv/x", "foo://h/a/b?c", "foo:/a/b", "mailto:x", "foo:opaque?q#f", "data:,x", "not a url", "ws://h/a/"];
const make = () => pick(schemes) + pick(slashes) + pick(users) + pick(hosts) + pick(ports) + pick(paths) + pick(queries) + pick(hashes);
const odd = ["\0", " ", "\t", "\n", "%", "/", "\\", "?", "#", "@", ":", "[", "]", "|", "^", ".", "é", "\u3002", "\ud83d", "\udc00", "\ufeff", "\u200d", "a", "0", "x", "&", "=", "+", "\x7f", "\x80"];
const mutate = (text) => {
  for (let n = random(3) + 1; n > 0; n--) {
    const at = random(text.length + 1);
    text = text.slice(0, at) + (random(2) === 0 ? pick(odd) : "") + text.slice(at + random(2));
  }
  return text;
};
const relative = () => pick([() => pick(slashes) + pick(hosts) + pick(paths), () => pick(paths), () => pick(paths) + pick(queries), () => pick(queries) + pick(hashes), () => pick(schemes) + pick(paths), make])();

const used = new Set(); // the differences that were met
const verdict = (name, results) => {
  let same = 0, shown = 0;
  for (const [input, ours, theirs] of results) {
    if (comparable(ours) === comparable(theirs)) { same++; continue; }
    const known = differences.find(([, is]) => { try { return is(input, ours, theirs) } catch { return false } });
    if (known !== undefined) used.add(known[0]);
    else if (shown++ < 15) equal(`${name} ${input}`, ours, theirs);
    else check(`${name} ${input}`, false);
  }
  check(name, same > results.length * 0.85);
  console.log(`${name}: ${same} of ${results.length} the same`);
};
const many = (n, f) => Array.from({ length: n }, f);
verdict("parts", both(show, [
  ...[schemes, slashes, users, hosts, ports, paths, queries, hashes].flat().flatMap((part) => bases.map((base) => [part, base])),
  ...hosts.flatMap((host) => ["http://", "foo://", "file://"].map((s) => [s + host + "/", null])),
  ...paths.flatMap((path) => ["http://h", "foo://h", "foo:", "file://", "http://h/p"].map((s) => [s + path, null])),
]));
verdict("whole", both(show, many(6000, () => [make(), pick(bases)])));
verdict("relative", both(show, many(4000, () => [relative(), pick(bases)])));
verdict("mutated", both(show, many(6000, () => [mutate(make()), pick(bases)])));

const setters = {
  href: [() => make()], protocol: [() => pick(schemes), () => pick(["https", "http", "file", "foo", "ws:x", "9"])], username: [() => pick(users)], password: [() => pick(users)],
  host: [() => pick(hosts.slice(0, 3)) + pick(ports), () => pick(hosts.filter(Boolean)) + pick(paths)], // node 20 aborts at foo://h with the host ":80"
  hostname: [() => pick(hosts), () => pick(hosts) + pick(ports)], port: [() => pick(ports), () => pick(["8080", "80", "", "443x", "x", "65536", "1\t2"])],
  pathname: [() => pick(paths)], search: [() => pick(queries), () => "a=b&c"], hash: [() => pick(hashes), () => "x y"],
};
const starts = ["http://u:p@example.com:8080/a/b?c=d#e", "https://h/", "file:///C:/a", "file://srv/x", "foo://h:1/a", "foo:/a", "foo:/.//x", "mailto:x@y?z#f", "foo:opaque?q#f", "data:text,  #x", "ws://h:99/", "ftp://u@h/a", "foo://h/?q#f"];
verdict("setters", both(set, many(6000, () => [pick(starts), many(random(3) + 1, () => { const name = pick(Object.keys(setters)); return [name, pick(setters[name])()]; })])));

const words = ["a", "b", "", "é", "a b", "x+y", "%41", "&=", "\ud800", "😀", "\uffff", "1", "~!*'()-._"];
const steps = [() => ["append", pick(words), pick(words)], () => ["delete", pick(words)], () => ["delete", pick(words), pick(words)], () => ["get", pick(words)], () => ["getAll", pick(words)], () => ["has", pick(words)],
  () => ["has", pick(words), pick(words)], () => ["set", pick(words), pick(words)], () => ["sort"], () => ["toString"], () => ["entries"]];
const inits = [() => pick(queries), () => pick(queries).slice(1) + "&" + pick(words), () => many(random(4), () => [pick(words), pick(words)]), () => Object.fromEntries(many(random(4), () => [pick(words), pick(words)]))];
verdict("params", both(search, many(3000, () => [pick(inits)(), many(random(5) + 1, () => pick(steps)())])));

for (const [why] of differences) check(`a difference that is none any more: ${why}`, used.has(why));

// Shapes and errors.
const same = (name, code) => equal(name, guest.eval(`JSON.stringify((${code})())`), JSON.stringify((0, eval)(`(${code})()`)));
same("errors", `() => [() => new URL(), () => new URL("x"), () => new URL(Symbol()), () => URL("http://x"), () => new URLSearchParams([["a"]]), () => new URLSearchParams([1]), () => new URLSearchParams().append("a"),
  () => new URLSearchParams().get(), () => { new URL("http://x").href = "y" }, () => Object.getOwnPropertyDescriptor(URL.prototype, "href").get.call({}), () => new URLSearchParams().forEach(1)].map((f) => { try { f(); return "ok" } catch (e) { return e.name + (e.code === "ERR_INVALID_URL" ? e.code + e.message : "") } })`);
same("shape", `() => { const u = new URL("http://x/?a=1"), p = u.searchParams; p.append("b", "2"); const seen = []; p.forEach((v, k, o) => seen.push(v, k, o === p));
  return [String(u), JSON.stringify({ u }), Object.prototype.toString.call(u), Object.prototype.toString.call(p), u.searchParams === p, seen, URL.canParse("x"), URL.canParse("x", "http://y"), u instanceof URL, Object.keys(u),
    new URLSearchParams(p).toString(), new URLSearchParams(undefined).toString(), typeof URL, URL.name, URL.length, Object.getOwnPropertyDescriptor(globalThis, "URL").enumerable, u.origin] }`);
same("live", `() => { const u = new URL("http://x/?a=1&b=2&c=3"), out = []; for (const [k] of u.searchParams) { out.push(k); if (k === "a") u.searchParams.delete("b") } u.search = "?z=1"; out.push([...u.searchParams]); u.href = "http://y/?q"; out.push([...u.searchParams]); u.searchParams.set("r", "s"); out.push(u.href); return out }`);
// A gadget that replaces builtins before the first use gets the same URLs.
const broken = await Guest.open(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {}`);
equal("replaced builtins", broken.eval(`for (const C of [String, Array, Map, Object, RegExp, Number, Function]) for (const k of Object.getOwnPropertyNames(C.prototype)) if (k !== "constructor" && k !== "toString") try { C.prototype[k] = () => { throw new Error("replaced") } } catch {}
  globalThis.eval = globalThis.TextDecoder = globalThis.Uint8Array = null; const u = new URL("../é?x=%41#y", "HTTP://Bücher.de:80/a/b/c"); u.searchParams.append("k", "v w"); u.href`), "http://xn--bcher-kva.de/a/%C3%A9?x=A&k=v+w#y");
equal("a global can be replaced", guest.eval(`globalThis.URLSearchParams = 5; URLSearchParams`), 5);
finish();
