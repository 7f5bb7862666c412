// Gadgets that break what they can reach, and peers that break the protocol: an error every time, never a hang.
import { Guest, check, equal, finish } from "./harness.mjs";
const head = `import { DurableObject, RpcTarget, RpcStub, env } from "cloudflare:workers";\n`;
const open = (code) => Guest.open(head + code);
const run = (g, method, ...args) => {
  g.n = (g.n ?? 0) + 1;
  const from = g.sent.length;
  g.deliver(JSON.stringify(["push", ["pipeline", 0, [method], args]]));
  g.deliver(`["pull",${g.n}]`);
  return g.sent.slice(from).filter((m) => /^\["(resolve|reject|abort)"/.test(m)).join(" ");
};
const answered = (name, g, text) => check(name, /^\["(resolve|reject)",\d+,|^\["abort",/.test(text) || g.failure !== "", text || "no answer: a hang");

// Gadgets that replace builtins. The call must still be answered; with what is their affair.
const breakages = {
  "Object.prototype getters": `Object.defineProperty(Object.prototype, "then", { get() { throw new Error("x") }, configurable: true })`,
  "Object.prototype fields": `Object.prototype.type = 1; Object.prototype.path = "x"; Object.prototype.hook = 1; Object.prototype.value = 3`,
  "Object.prototype toJSON": `Object.prototype.toJSON = () => { throw new Error("x") }`, "Array toJSON": `Array.prototype.toJSON = () => 5`,
  JSON: `JSON.parse = JSON.stringify = () => { throw 1 }; globalThis.JSON = null`, Promise: `globalThis.Promise = class { constructor() { throw 1 } }`,
  "Promise then": `Promise.prototype.then = () => { throw 1 }; Promise.prototype.catch = null`, "Promise constructor": `Promise.prototype.constructor = class { constructor(f) { throw 2 } }`,
  "Promise species": `Object.defineProperty(Promise, Symbol.species, { get() { throw 3 } })`,
  "Array methods": `for (const n of ["push", "map", "join", "slice", "concat", "includes", "forEach"]) Array.prototype[n] = () => { throw 4 }`,
  "Array iterator": `Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 }`, "Map and Set": `for (const C of [Map, Set, WeakMap]) for (const n of ["get", "set", "has", "delete", "add", "forEach"]) C.prototype[n] = () => { throw 5 }`,
  Reflect: `Reflect.apply = () => { throw 6 }; Object.keys = Object.getPrototypeOf = Object.hasOwn = () => { throw 6 }; Array.isArray = () => true`,
  "Symbol.dispose": `try { Object.defineProperty(Symbol, "dispose", { value: Symbol("other") }) } catch {} Function.prototype[Symbol.dispose] = () => { throw 7 }`,
  "Function.prototype": `Function.prototype.call = Function.prototype.apply = Function.prototype.bind = () => { throw 8 }`, "Error": `Error.prototype.toString = () => { throw 9 }; globalThis.Error = null; Error_ = 1`.replace("; Error_ = 1", ""),
  "String and Number": `String.prototype.charCodeAt = String.prototype.slice = Number.prototype.toString = () => { throw 10 }`, Proxy: `globalThis.Proxy = globalThis.Map = globalThis.WeakMap = globalThis.FinalizationRegistry = null`,
  console: `console.log = console.error = () => { throw 11 }; globalThis.console = null`, "workers key": `delete globalThis[Symbol.for("toolshed.workers")]; try { globalThis[Symbol.for("toolshed.workers")] = null } catch {}`,
  "RpcTarget": `RpcTarget.prototype.then = (f) => f(1); DurableObject.prototype.x = 1; Object.setPrototypeOf(DurableObject.prototype, null)`,
};
for (const [name, code] of Object.entries(breakages)) {
  const g = await open(`export class Gadget extends DurableObject { constructor(c, e) { super(c, e); ${code} } plain(x) { return x } async later() { await null; return { a: [1, { b: 2 }] } } async store() { await this.ctx.storage.put("k", { a: [1] }); return await this.ctx.storage.get("k") } fail() { throw new TypeError("bad") } target() { return new RpcTarget() } }`);
  equal(name + ": start", g.bootError + g.startError, "");
  for (const m of ["plain", "later", "store", "fail", "target"]) answered(`${name}: ${m}`, g, run(g, m, 5));
}

// Things thrown and returned.
const oddities = {
  throwNull: "throw null", throwUndefined: "throw undefined", throwProxy: "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })", throwFunction: "throw () => 1", throwSymbol: "throw Symbol('s')",
  throwGetter: "throw Object.defineProperty(new Error('x'), 'message', { get() { throw new Error('getter') } })", throwName: "throw Object.assign(new Error('x'), { name: { toString() { throw 1 } } })", throwCycle: "const e = new Error('c'); e.self = e; throw e", throwTarget: "throw new RpcTarget()", throwStub: "throw new RpcStub(() => 1)",
  throwDeep: "let o = {}; for (let i = 0; i < 5000; i++) o = { o }; throw Object.assign(new Error('d'), { o })", throwPromise: "throw Promise.resolve(1)",
  returnProxy: "return new Proxy({}, { get() { throw 1 } })", returnRevoked: "const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy", returnGetter: "return { get x() { throw new Error('g') } }", returnThenable: "return { then(f) { f(5) } }", returnThenThrow: "return { then() { throw new Error('t') } }",
  returnThenGetter: "return Object.defineProperty({}, 'then', { get() { throw new Error('tg') } })", returnSymbol: "return Symbol('x')", returnCycle: "const a = []; a.push(a); return a", returnMap: "return new Map()", returnClass: "return new (class Foo {})()",
  returnSelf: "return this", returnGlobal: "return globalThis", returnCtx: "return this.ctx", returnEnv: "return this.env", returnArguments: "return arguments", overflow: "return this.overflow()", overflowJSON: "let o = []; for (let i = 0; i < 100000; i++) o = [o]; return o", never: "return new Promise(() => {})",
};
const g1 = await open(`export class Gadget extends DurableObject { ok() { return "ok" } ${Object.entries(oddities).map(([n, c]) => `${n}() { ${c} }`).join("\n")} }`);
for (const name of Object.keys(oddities)) {
  const text = run(g1, name);
  if (name === "never") equal(name, text, "");
  else answered(name, g1, text);
}
equal("still well", run(g1, "ok").replace(/\d+/, "n"), '["resolve",n,"ok"]');
equal("no failure", g1.failure, "");

// Peers that break the protocol: an abort with a fixed text, once, and silence after it.
const wrongs = {
  text: "hello", number: "5", object: "{}", empty: "[]", unknown: '["hello",1]', "no export": '["pull",99]', "release unknown": '["release",99,1]', "release too much": '["push",1]|["release",1,2]', "release negative": '["push",1]|["release",1,-1]', "release fraction": '["push",1]|["release",1,0.5]',
  "id text": '["pull","x"]', "positive export": '["push",["pipeline",0,["ok"],[["export",5]]]]', "promise twice": '["push",["pipeline",0,["ok"],[["promise",-1],["promise",-1]]]]', "import unknown": '["push",["pipeline",0,["ok"],[["import",7]]]]', "bad path": '["push",["pipeline",0,[{}],[]]]', "path not list": '["push",["pipeline",0,"ok",[]]]',
  "args not list": '["push",["pipeline",0,["ok"],5]]', "bad bigint": '["push",["pipeline",0,["ok"],[["bigint","x"]]]]', "huge bigint": `["push",["pipeline",0,["ok"],[["bigint","${"9".repeat(20000)}"]]]]`, "bad date": '["push",["pipeline",0,["ok"],[["date","x"]]]]', "bad bytes": '["push",["pipeline",0,["ok"],[["bytes","*"]]]]',
  "bad bytes kind": '["push",["pipeline",0,["ok"],[["bytes","AAAA","Function"]]]]', "bad bytes length": '["push",["pipeline",0,["ok"],[["bytes","AAAA","Float64Array"]]]]', "unknown special": '["push",["pipeline",0,["ok"],[["what"]]]]', "bad error": '["push",["pipeline",0,["ok"],[["error",1]]]]',
  deep: `["push",["pipeline",0,["ok"],[${'{"a":'.repeat(300)}1${"}".repeat(300)}]]]`, "very deep": `["push",["pipeline",0,["ok"],[${"[[".repeat(50000)}${"]]".repeat(50000)}]]]`, "map without instructions": '["push",["remap",0,[],[],[]]]', "map bad capture": '["push",["remap",0,["ok"],[["import",99]],[1]]]', "truncated": '["push",["pipel',
};
for (const [name, messages] of Object.entries(wrongs)) {
  const g = await open("export class Gadget extends DurableObject { ok(x) { return typeof x } }");
  for (const m of messages.split("|")) g.deliver(m);
  const aborts = g.sent.filter((m) => m.startsWith('["abort"'));
  check("wrong: " + name, aborts.length === 1 && g.failure !== "" && !/undefined is not|cannot read|not a function/i.test(aborts[0]), g.sent.join(" ") + " " + g.failure);
  g.sent.length = 0;
  g.deliver('["push",["pipeline",0,["ok"],[1]]]'); g.deliver('["pull",1]');
  equal("silence after: " + name, g.sent.join(), "");
}

// Legal, and refused: only the call fails.
const g2 = await open("export class Gadget extends DurableObject { ok(x) { return typeof x } }");
for (const m of ['["response",null,{"status":1}]', '["request","not a url",{}]', '["request","http://x",{"method":"a b"}]', '["request","http://x",{"body":"x"}]']) {
  g2.n = (g2.n ?? 0) + 1;
  g2.deliver(`["push",["pipeline",0,["ok"],[${m}]]]`); g2.deliver(`["pull",${g2.n}]`);
  check("refused: " + m, new RegExp(`\\["reject",${g2.n},\\["error","TypeError","`).test(g2.sent.join(" ")), g2.sent.join(" "));
  g2.sent.length = 0;
}
g2.deliver('["pipe"]'); g2.n++;
g2.deliver(`["stream",["pipeline",${g2.n},["write"],["x"]]]`); g2.n++;
equal("a chunk waits for a reader", g2.sent.splice(0).join(), "");
g2.deliver(`["stream",["pipeline",${g2.n - 1},["constructor"],[]]]`); g2.n++;
equal("a pipe has no other methods", g2.sent.splice(0).join(), `["reject",${g2.n},["error","TypeError","a WritableStream has only write, close and abort"]]`);
g2.deliver(`["release",${g2.n - 2},1]`);
equal("what waits for a pipe that was let go", g2.sent.splice(0).join(), `["reject",${g2.n - 1},["error","TypeError","the stream was let go without being closed"]]`);
g2.deliver(`["stream",["pipeline",0,["ok"],[1]]]`); g2.n++;
equal("a call as a stream", g2.sent.splice(0).join(), `["resolve",${g2.n},"number"]`);
g2.deliver('["push",["pipeline",0,["ok"],[{"__proto__":{"x":1},"constructor":["export",-3]}]]]');
equal("dropped keys are let go", g2.sent.join(), '["release",-3,1]');
equal("no failure 2", g2.failure, "");

const g4 = await Guest.open(head + "export class Gadget extends DurableObject { huge() { return 'x'.repeat(33 * 1024 * 1024) } }", { memoryLimit: 512 << 20 });
equal("a message over the limit", run(g4, "huge"), '["reject",1,["error","RangeError","a message may have 33554432 characters: send it in parts, or as a stream"]]');

// Loops and hunger end in an error (the deadline and the memory limit are the host's).
const g3 = await open("export class Gadget extends DurableObject { ok() { return 1 } eat() { const a = []; for (;;) a.push(new Array(1000).fill(a.length)) } }");
let text = "";
try { text = run(g3, "eat"); } catch (e) { text = "threw " + e.message; }
check("memory", text !== "", text);
finish();
