// A guest in Node: the engine, the prelude, and a __host made of JavaScript. The tests of this folder use it; the Go
// test names the prelude, the engine and the npm packages by environment variables.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { domainToASCII } from "node:url";

const need = (name) => {
  if (!process.env[name]) throw new Error(`${name} is not set: run this through go test`);
  return process.env[name];
};
const load = async (name, file) => import(pathToFileURL(join(need("TOOLSHED_NODE_MODULES"), name, file)));
export const { QuickJS, EvalFlags } = await load("quickjs-wasi", "dist/index.js");
export const capnweb = await load("capnweb", "dist/index.js");
const prelude = readFileSync(need("TOOLSHED_PRELUDE"), "utf8");
const workers = readFileSync(need("TOOLSHED_WORKERS"), "utf8");
const wasm = await WebAssembly.compile(readFileSync(need("TOOLSHED_ENGINE")));

// memoryStorage is a Map that keeps what a gadget stored; two guests may share one, as a restart does.
export const memoryStorage = () => new Map();

const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

const listKeys = (store, json) => {
  const o = JSON.parse(json);
  let keys = [...store.keys()].sort(byBytes).filter((k) =>
    (o.start === undefined || byBytes(k, o.start) >= 0) && (o.startAfter === undefined || byBytes(k, o.startAfter) > 0) &&
    (o.end === undefined || byBytes(k, o.end) < 0) && (o.prefix === undefined || k.startsWith(o.prefix)));
  if (o.reverse) keys.reverse();
  if (o.limit !== undefined) keys = keys.slice(0, o.limit);
  return JSON.stringify(keys.map((k) => [k, store.get(k)]));
};

export class Guest {
  logs = []; sent = []; alarmAt = 0; failure = ""; wakeAt = -1; onMessage = null; jobs = 0;

  static async open(files, { store = memoryStorage(), bindings = [], start = true, memoryLimit } = {}) {
    if (typeof files === "string") files = { "server.js": files };
    const g = new Guest();
    g.store = store;
    g.deadline = Infinity;
    g.vm = await QuickJS.create({
      wasm, memoryLimit: memoryLimit ?? 64 << 20, maxStackSize: 512 << 10, interruptHandler: () => Date.now() > g.deadline,
      onUnhandledRejection: (promise, reason, handled) => { if (g.rejected) g.vm.callFunction(g.rejected, g.vm.undefined, promise, reason, handled ? g.vm.true : g.vm.false).dispose(); },
      moduleLoader: {
        normalize: (base, name) => (name.startsWith("./") ? name.slice(2) : name),
        load: (name) => {
          if (name === "cloudflare:workers") return workers;
          if (files[name] !== undefined) return files[name];
          throw new Error("cannot import " + name);
        },
      },
    });
    g.installHost();
    const guest = g.vm.evalCode(prelude, "prelude.js");
    g.functions = {};
    for (const name of ["boot", "start", "deliver", "wake", "interrupted"]) g.functions[name] = guest.getProp(name);
    g.rejected = guest.getProp("rejected");
    g.guest = guest;
    const promise = g.vm.evalCode(files["server.js"], "server.js", EvalFlags.TYPE_MODULE);
    g.run();
    const result = await g.vm.resolvePromise(promise);
    if ("error" in result) throw new Error("server.js: " + result.error.toString());
    g.bootError = g.call("boot", result.value);
    if (start && g.bootError === "") g.startError = g.start(bindings);
    return g;
  }

  installHost() {
    const { vm, store } = this, host = vm.newObject();
    const add = (name, f) => vm.setProp(host, name, vm.newFunction(name, f));
    const text = (s) => vm.newString(s), nothing = () => vm.undefined;
    add("send", (m) => { const s = m.toString(); this.sent.push(s); if (this.onMessage) this.onMessage(s); return nothing(); });
    add("get", (k) => { const v = store.get(k.toString()); return v === undefined ? nothing() : text(v); });
    add("list", (o) => text(listKeys(store, o.toString())));
    add("put", (k, v) => { store.set(k.toString(), v.toString()); return nothing(); });
    add("remove", (k) => (store.delete(k.toString()) ? vm.true : vm.false));
    add("clear", () => { store.clear(); return nothing(); });
    // A transaction remembers everything as it was; a restart has none.
    const saved = [], keep = () => [[...store], this.alarmAt], restoreTo = ([entries, alarm]) => { store.clear(); for (const [k, v] of entries) store.set(k, v); this.alarmAt = alarm; };
    const number = (n) => vm.newNumber(n);
    add("begin", () => number(saved.push(keep())));
    add("commit", (n) => { if (n.toNumber() > saved.length) throw new Error("no transaction"); saved.length = n.toNumber() - 1; return nothing(); });
    add("rollback", (n) => { if (n.toNumber() > saved.length) throw new Error("no transaction"); restoreTo(saved[n.toNumber() - 1]); saved.length = n.toNumber() - 1; return nothing(); });
    add("alarm", () => (this.alarmAt ? number(this.alarmAt) : nothing()));
    add("setAlarm", (at) => { this.alarmAt = at.toNumber(); return nothing(); });
    add("log", (level, t) => { this.logs.push(level.toString() + " " + t.toString()); return nothing(); });
    add("random", (n) => {
      const buffer = vm.newArrayBuffer(randomBytes(n.toNumber()));
      const Uint8 = vm.evalCode("(b) => new Uint8Array(b)");
      return vm.callFunction(Uint8, vm.undefined, buffer);
    });
    add("domain", (name) => { const out = domainToASCII(name.toString()); return out === "" ? nothing() : text(out); });
    add("wake", (ms) => { this.wakeAt = ms.toNumber(); return nothing(); });
    add("fail", (t) => { this.failure = t.toString(); return nothing(); });
    vm.setProp(vm.global, "__host", host);
  }

  // call enters the guest once and runs its jobs: one turn.
  call(name, ...handles) {
    this.deadline = Date.now() + (this.limit ?? 5000);
    try {
      const out = this.vm.callFunction(this.functions[name], this.guest, ...handles);
      const value = out.isString ? out.toString() : undefined;
      out.dispose();
      this.run();
      return value;
    } catch (e) {
      if (e.message !== "interrupted") throw e;
      this.limit = undefined;
      this.text("interrupted", "it ran for too long");
    }
  }

  run() {
    for (let n; (n = this.vm.executePendingJobs()) > 0;) this.jobs += n;
  }

  start(bindings) { return this.text("start", JSON.stringify({ id: "gadget-1", bindings })); }
  deliver(message) { return this.text("deliver", message); }
  wake() { return this.call("wake"); }

  text(name, s) {
    const h = this.vm.newString(s);
    try { return this.call(name, h); } finally { h.dispose(); }
  }

  // eval runs a script beside the gadget, to look at things.
  eval(code) { return this.vm.evalCode(code).consume((h) => this.vm.dump(h)); }

  // connect opens an official session to this guest. main is what the gadget's env reads from.
  connect(main) {
    const queue = [], waiting = [];
    let dead = null;
    const transport = {
      send: (m) => { this.trace?.push("> " + m); queueMicrotask(() => { if (!dead) this.deliver(m); }); },
      receive: () => new Promise((resolve, reject) => {
        if (queue.length > 0) resolve(queue.shift());
        else if (dead) reject(dead);
        else waiting.push({ resolve, reject });
      }),
      abort: (e) => { dead ??= e; },
    };
    const accept = (m) => {
      this.trace?.push("< " + m);
      if (waiting.length > 0) waiting.shift().resolve(m);
      else queue.push(m);
    };
    for (const m of this.sent) accept(m); // what the constructor already sent
    this.onMessage = accept;
    const session = new capnweb.RpcSession(transport, main);
    return { stub: session.getRemoteMain(), session, close: (e = new Error("closed")) => { dead = e; for (const w of waiting) w.reject(e); } };
  }
}

// Checks.
let failures = 0, checks = 0;
export const check = (name, ok, detail = "") => {
  checks++;
  if (ok) return;
  failures++;
  console.log(`FAIL ${name} ${detail}`);
};
export const equal = (name, got, want) => check(name, got === want, `\n  got  ${got}\n  want ${want}`);
export const finish = () => {
  console.log(`${checks} checks, ${failures} failures`);
  process.exit(failures > 0 || checks === 0 ? 1 : 0);
};
export const idle = (ms = 5) => new Promise((resolve) => setTimeout(resolve, ms));
export const within = (promise, ms = 4000) => Promise.race([promise, new Promise((_, reject) => setTimeout(() => reject(new Error("TIMEOUT")), ms))]);
