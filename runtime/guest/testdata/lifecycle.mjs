// How a gadget begins, restarts, and fails to.
import { Guest, check, equal, finish, memoryStorage } from "./harness.mjs";
const head = `import { DurableObject, WorkerEntrypoint, RpcTarget, RpcStub, restore, env } from "cloudflare:workers";\n`;
const call = (guest, method, ...args) => {
  guest.n = (guest.n ?? 0) + 1;
  guest.deliver(JSON.stringify(["push", ["pipeline", 0, [method], args]]));
  guest.deliver(`["pull",${guest.n}]`);
  const out = guest.sent.splice(0);
  guest.deliver(`["release",${guest.n},1]`);
  return out.join(" ");
};

// Boot.
for (const [name, code, want] of [
  ["no class", "export const x = 1", "server.js has no exported class named Gadget"],
  ["not a class", "export const Gadget = 5", "server.js has no exported class named Gadget"],
  ["other name", head + "export class Thing extends DurableObject {}", "server.js has no exported class named Gadget"],
  ["default only", head + "export default class extends DurableObject {}", "server.js has no exported class named Gadget"],
]) equal(name, (await Guest.open(code)).bootError, want);
for (const [name, code, want] of [["syntax", "export class {", /class statement/], ["foreign import", 'import "node:fs"', /cannot import node:fs/], ["throws", "throw new Error('at load')", /at load/]]) {
  let text = "no error";
  try { await Guest.open(code); } catch (e) { text = String(e.message); }
  check(name, want.test(text), text);
}

// Start.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject { constructor(ctx, e) { super(ctx, e); this.ok = ctx === this.ctx && e === this.env && e === env; } state() { return [this.ok, this.ctx.id.toString(), String(this.ctx.id), this.ctx.id.equals(this.ctx.id), typeof restore, typeof WorkerEntrypoint] } alarm() { return "a" } fetch() { return "f" } #hidden() {} }`);
  equal("constructor", call(g, "state"), '["resolve",1,[[true,"gadget-1","gadget-1",true,"symbol","function"]]]');
  equal("names of lifecycle methods", call(g, "alarm") + call(g, "fetch"), '["resolve",2,"a"]["resolve",3,"f"]');
  for (const m of ["constructor", "toString", "hasOwnProperty", "__proto__", "__defineGetter__", "valueOf", "hidden", "#hidden", "nothing"]) check("no " + m, /"reject",\d+,\["error","TypeError"/.test(call(g, m)), m);
  for (const m of ["ctx", "env", "ok"]) check("no own " + m, /"reject",\d+,\["error","TypeError","'\w+' is a property of the instance/.test(call(g, m)), m);
  equal("nothing sent at start", g.sent.length, 0);
}
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject { constructor(c, e) { super(c, e); throw new RangeError("no start") } }`);
  check("a throwing constructor", /^RangeError: no start\n +at Gadget \(server\.js:2:\d+\)$/.test(g.startError), g.startError);
  check("is logged", /constructor of Gadget failed: RangeError: no start/.test(g.logs.join()), g.logs.join());
}
{
  const g = await Guest.open(head + `export class Gadget { constructor(ctx) { this.c = ctx } hi() { return "hi" } async n() { return await this.c.storage.get("n") ?? null } }`);
  equal("a class of no base", call(g, "hi") + call(g, "n"), '["resolve",1,"hi"]["resolve",2,null]');
}
{
  const files = { "server.js": `import { Base } from "./base.js"; export class Gadget extends Base { two() { return 2 } }`, "base.js": head + `export class Base extends DurableObject { one() { return 1 } }` };
  const g = await Guest.open(files);
  equal("inherited methods", call(g, "one") + call(g, "two"), '["resolve",1,1]["resolve",2,2]');
}

// Restart: state is in storage, nothing else survives.
{
  const store = memoryStorage();
  const code = head + `let module = 0; export class Gadget extends DurableObject { n = 0; async add() { module++; this.n++; const n = (await this.ctx.storage.get("n") ?? 0) + 1; await this.ctx.storage.put("n", n); return [n, this.n, module] } }`;
  const a = await Guest.open(code, { store });
  equal("before", call(a, "add") + call(a, "add"), '["resolve",1,[[1,1,1]]]["resolve",2,[[2,2,2]]]');
  const b = await Guest.open(code, { store });
  equal("after", call(b, "add"), '["resolve",1,[[3,1,1]]]');
}

// blockConcurrencyWhile: no call enters before it has ended, and then in order.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject {
    constructor(c, e) { super(c, e); c.blockConcurrencyWhile(async () => { this.ready = await c.storage.get("x") ?? "loaded"; await new Promise(r => setTimeout(r, 1)); this.ready += " late" }) }
    see() { return this.ready } seen = []; note(n) { this.seen.push(n); return this.seen }
  }`);
  g.deliver('["push",["pipeline",0,["see"],[]]]'); g.deliver('["pull",1]');
  g.deliver('["push",["pipeline",0,["note"],[1]]]'); g.deliver('["push",["pipeline",0,["note"],[2]]]'); g.deliver('["pull",3]');
  equal("held back", g.sent.join(), "");
  await new Promise((r) => setTimeout(r, 5));
  g.wake(); // the timer
  equal("held back until what waited for the end has run", g.sent.join() + g.wakeAt, "0");
  g.wake(); // the end
  for (let n = 0; n < 3; n++) { g.wakeAt = -1; g.wake(); } // a call each
  equal("nothing waits", g.wakeAt, -1);
  equal("then in order", g.sent.join(" "), '["resolve",1,"loaded late"] ["resolve",3,[[1,2]]]');
  g.sent.length = 0; g.n = 3;
  equal("and open", call(g, "see"), '["resolve",4,"loaded late"]');
}
// While a gadget blocks: what a waiting call names may be let go, and a call that comes in has those before it go on.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject {
    make() { return { get: () => ({ deep: 7 }) } }
    block() { this.ctx.blockConcurrencyWhile(() => new Promise(r => setTimeout(r, 1))); return "blocking" }
    plain(n) { return n }
  }`);
  call(g, "block");
  g.wake(); // it begins
  for (const m of ['["push",["pipeline",0,["make"],[]]]', '["push",["pipeline",2,["get"],[]]]', '["release",2,1]', '["push",["pipeline",3,["deep"]]]', '["pull",4]', '["release",3,1]']) g.deliver(m);
  equal("nothing comes while it blocks", g.sent.join() + g.failure, "");
  await new Promise((r) => setTimeout(r, 5));
  g.wake();
  for (let n = 0; n < 4; n++) g.deliver(`["push",["pipeline",0,["plain"],[${n}]]]`); // each of them lets one go on
  equal("what was released before its use is there", g.sent.join(" "), '["resolve",4,7]');
  for (let n = 0; n < 6; n++) { g.wakeAt = -1; g.wake(); }
  equal("and then no more", g.wakeAt + g.failure, "-1");
}
// The chunks of a stream belong to who reads it: one that an outside reader waits for waits, unless the block reads on.
for (const [name, inside, want] of [["a reader outside", false, "read nothing,block over,read a"], ["a reader inside", true, "read nothing,read a,inside b,block over"]]) {
  const g = await Guest.open(head + `export class Gadget extends DurableObject {
    log = ["read nothing"];
    take(stream, inside) {
      const reader = stream.getReader();
      reader.read().then(({ value }) => this.log.push("read " + value));
      this.ctx.blockConcurrencyWhile(async () => {
        if (inside) this.log.push("inside " + (await reader.read()).value);
        else await new Promise(r => setTimeout(r, 1));
        this.log.push("block over");
      });
    }
    seen() { return this.log }
  }`);
  for (const m of ['["pipe"]', `["push",["pipeline",0,["take"],[["readable",1],${inside}]]]`, '["stream",["pipeline",1,["write"],["a"]]]', '["stream",["pipeline",1,["write"],["b"]]]']) g.deliver(m);
  await new Promise((r) => setTimeout(r, 5));
  for (let n = 0; n < 6; n++) g.wake();
  g.sent.length = 0;
  g.n = 4;
  equal(name, call(g, "seen"), `["resolve",5,[${JSON.stringify(want.split(","))}]]`);
}
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject { constructor(c, e) { super(c, e); c.blockConcurrencyWhile(async () => { throw new Error("migration") }) } }`);
  check("a failing one ends the instance", /migration/.test(g.failure), g.failure);
}

// waitUntil, console of a throwing method, a turn with several messages.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject { w() { this.ctx.waitUntil(Promise.reject(new Error("background"))); return 1 } boom() { throw new RangeError("boom!") } async later() { await null; throw new TypeError("later!") } }`);
  equal("waitUntil", call(g, "w"), '["resolve",1,1]');
  check("its failure is logged", /waitUntil failed: Error: background/.test(g.logs.join()), g.logs.join());
  equal("throws", call(g, "boom") + call(g, "later"), '["reject",2,["error","RangeError","boom!"]]["reject",3,["error","TypeError","later!"]]');
  check("with the method's name", g.logs.some((l) => /^error boom\(\) failed: RangeError: boom!\n +at boom \(server\.js/.test(l)) && g.logs.some((l) => /^error later\(\) failed: TypeError: later!/.test(l)), g.logs.join());
}

// Promises that fail with nobody to handle that are told once, with the gadget's own lines; those that are handled in time are not.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject {
    lost() { Promise.reject(new RangeError("lost")); return 1 }
    async timer() { setTimeout(async () => { await null; throw new TypeError("in a timer") }, 0); return 2 }
    late() { const p = Promise.reject(new Error("handled")); queueMicrotask(() => p.catch(() => {})); return 3 }
    async fails() { throw new Error("of a call") }
    much() { for (let i = 0; i < 250; i++) Promise.reject(i); return 5 }
    storage() { this.ctx.storage.put("", 1); return 6 }
    blocked() { this.ctx.blockConcurrencyWhile(async () => { Promise.reject(new Error("while blocked")); await new Promise(() => {}) }); return 7 }
  }`);
  const told = () => { for (let n = 0; n < 3; n++) g.wake(); return g.logs.splice(0); };
  call(g, "lost");
  const lines = told();
  check("told once, with its own line", lines.length === 1 && /^error a promise failed, and nobody handled that: RangeError: lost\n +at lost \(server\.js:3:\d+\)$/.test(lines[0]), lines.join());
  equal("and no more", told().join(), "");
  call(g, "timer");
  await new Promise((r) => setTimeout(r, 5));
  check("of a timer", /nobody handled that: TypeError: in a timer\n +at <anonymous> \(server\.js:4/.test(told().join()), "");
  equal("it goes on", call(g, "late"), '["resolve",3,3]');
  equal("handled in the same turn", told().join() + g.wakeAt, "-1");
  call(g, "fails");
  check("a call that fails is told by its name alone", /^error fails\(\) failed: Error: of a call[^,]*$/.test(told().join()));
  call(g, "much");
  const much = told();
  equal("a hundred of a turn", much.length + much[100], "101error and 150 more promises failed in the same turn");
  call(g, "storage");
  check("an operation of storage", /nobody handled that: TypeError: a storage key must not be empty/.test(told().join()));
  call(g, "blocked");
  check("while it blocks", /while blocked/.test(told().join()));
}

// A turn that the host cuts off: its calls fail, the instance lives.
{
  const g = await Guest.open(head + `export class Gadget extends DurableObject { n = 0; spin() { for (;;); } async spinLater() { await null; for (;;); } async wait() { await new Promise(() => {}) } add() { return ++this.n } timer() { setTimeout(() => { for (;;); }, 0); setTimeout(() => { this.n = 50 }, 0) } mapper() { return this.env.GADGET.x().map(() => { for (;;); }) } }`);
  const cut = (method) => { g.limit = 30; return call(g, method); };
  equal("first", call(g, "add"), '["resolve",1,1]');
  g.deliver('["push",["pipeline",0,["wait"],[]]]'); g.deliver('["pull",2]'); g.n = 2;
  equal("a loop in the call", cut("spin"), '["reject",3,["error","Error","it ran for too long"]]');
  equal("others are not touched", call(g, "add"), '["resolve",4,2]');
  const text = cut("spinLater");
  equal("a loop in a job", text.split(" ").length > 1 && [...text.matchAll(/"reject",(\d)/g)].map((m) => m[1]).join(), "2,5");
  equal("and it goes on", call(g, "add"), '["resolve",6,3]');
  cut("mapper");
  equal("after a mapper", call(g, "add"), '["resolve",8,4]');
  call(g, "timer");
  await new Promise((r) => setTimeout(r, 5));
  g.limit = 30;
  g.wake();
  check("timers are asked for again", g.wakeAt >= 0);
  g.wake();
  equal("after a timer", call(g, "add"), '["resolve",10,51]');
}
finish();
