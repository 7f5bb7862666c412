// What a call costs inside the engine: entries and jobs are checked, times are printed. The host's side of a message
// is not in it, because the host here is a few JavaScript functions in the same engine.
import { readFileSync } from "node:fs";
import { QuickJS, check, equal, finish } from "./harness.mjs";

const wasm = readFileSync(process.env.TOOLSHED_ENGINE);
const vm = await QuickJS.create({ wasm, memoryLimit: 64 << 20, interruptHandler: () => false });
const run = (code) => vm.evalCode(code).consume((h) => vm.dump(h));
const jobs = () => { let n = 0; for (let k; (k = vm.executePendingJobs()) > 0;) n += k; return n; };
run(`globalThis.sent = []; const none = () => {}; globalThis.__host = { send: (m) => { sent.push(m) }, get: none, list: none, put: none, remove: none, clear: none, log: none, random: none, wake: none, fail: (t) => { throw new Error(t) } }; 0`);
vm.setProp(vm.global, "guest", vm.evalCode(readFileSync(process.env.TOOLSHED_PRELUDE, "utf8")));
run(`const { DurableObject } = globalThis[Symbol.for("toolshed.workers")];
class Gadget extends DurableObject { add(a, b) { return a + b } async later(a, b) { return a + b } echo(x) { return x } call(f) { return f(1) } }
guest.boot({ Gadget }); guest.start('{"id":"g","bindings":[]}'); globalThis.bare = new Gadget(); 0`);

let id = 0;
const message = (method, args) => {
  id++;
  return [`["push",["pipeline",0,["${method}"],${args}]]`, `["pull",${id}]`, `["release",${id},1]`];
};
const counted = (method, args) => {
  run("sent.length = 0; 0");
  let n = 0;
  for (const m of message(method, args)) { run(`guest.deliver(${JSON.stringify(m)}); 0`); n += jobs(); }
  return [n, run("sent.join(' ')")];
};

let [n, out] = counted("add", "[1,2]");
equal("a plain method: answer", out, `["resolve",${id},3]`);
equal("a plain method: jobs", n, 0);
[n, out] = counted("later", "[1,2]");
equal("an async method: answer", out, `["resolve",${id},3]`);
equal("an async method: jobs", n, 1);
[n, out] = counted("echo", '[{"a":[[1,{"b":2}]]}]');
equal("data: answer", out, `["resolve",${id},{"a":[[1,{"b":2}]]}]`);
equal("data: jobs", n, 0);

// Time, in microseconds a call: the best of some rounds, because other programs run on the machine too.
const rounds = 8, loops = 2000;
const best = (prepare, code) => {
  let least = Infinity;
  for (let r = 0; r < rounds; r++) {
    prepare();
    const t = performance.now();
    run(code);
    jobs();
    least = Math.min(least, performance.now() - t);
  }
  return (least / loops) * 1000;
};
const time = (method, args, parts = 3) => best(() => {
  const list = [];
  for (let i = 0; i < loops; i++) list.push(...message(method, args).slice(0, parts));
  run(`globalThis.list = ${JSON.stringify(list)}; sent.length = 0; 0`);
}, "for (let i = 0; i < list.length; i++) guest.deliver(list[i]); 0");
const bare = best(() => {}, `for (let i = 0; i < ${loops}; i++) bare.add(1, 2); 0`);
const json = best(() => {}, `for (let i = 0; i < ${loops}; i++) JSON.stringify(["resolve", i, bare.add(...JSON.parse('["push",["pipeline",0,["add"],[1,2]]]')[1][3])]); 0`);
const report = (name, us) => console.log(`${name}: ${us.toFixed(2)} us (${(us / bare).toFixed(0)} bare calls, ${(us / json).toFixed(1)} x parse + call + stringify)`);
report("bare call", bare);
report("parse + call + stringify", json);
const call = time("add", "[1,2]");
report("call: push, pull, release", call);
report("async call", time("later", "[1,2]"));
report("echo of an object", time("echo", '[{"a":[[1,{"b":2}]],"c":"text","d":{"e":true}}]'));
check("a call costs too much", call < 400 && call < json * 20, `${call} us`);

// Starting: the prelude, and each late part when it is first used.
const fresh = async () => {
  const v = await QuickJS.create({ wasm, memoryLimit: 64 << 20, interruptHandler: () => false }), none = "const none = () => {}; globalThis.__host = { send: none, get: none, list: none, put: none, remove: none, clear: none, log: none, random: none, wake: none, fail: none }; 0";
  v.evalCode(none).dispose();
  v.runGC();
  return [v, v.getAllocatedSize()];
};
const prelude = readFileSync(process.env.TOOLSHED_PRELUDE, "utf8");
let least = Infinity, grown = 0;
for (let i = 0; i < 5; i++) {
  const [v, empty] = await fresh(), t = performance.now();
  v.setProp(v.global, "guest", v.evalCode(prelude));
  least = Math.min(least, performance.now() - t);
  v.runGC();
  grown = v.getAllocatedSize() - empty;
  if (i < 4) continue;
  console.log(`prelude: ${least.toFixed(1)} ms, ${(grown / 1024).toFixed(0)} KB of heap`);
  for (const name of ["URL", "AbortController", "ReadableStream", "Response"]) {
    const before = v.getAllocatedSize(), from = performance.now();
    v.evalCode(`typeof ${name}`).dispose();
    const took = performance.now() - from;
    v.runGC();
    console.log(`first use of ${name}: ${took.toFixed(1)} ms, ${((v.getAllocatedSize() - before) / 1024).toFixed(0)} KB`);
  }
}
check("the prelude is too large", grown < 700 << 10, `${grown} bytes`);

// Nothing stays behind.
const heap = () => { run("sent.length = 0; list = null; 0"); vm.runGC(); return vm.getAllocatedSize(); };
const before = heap();
time("add", "[1,2]");
const after = heap();
console.log(`heap ${(before / 1024).toFixed(0)} KB`);
check("calls leave memory behind", after - before < 64 << 10, `${after - before} bytes after ${rounds * loops} calls`);
finish();
