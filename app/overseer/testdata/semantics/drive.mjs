// Runs the scenarios of the files in this folder against one side, with the official client over WebSockets, and prints
// {group: {scenario: {id, events}}} as JSON. The plan, {modules, port, groups, only}, comes on the standard input.
import { readFileSync } from "node:fs";
import { createRequire, register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const plan = JSON.parse(readFileSync(0, "utf8"));
globalThis.WebSocket = createRequire(join(plan.modules, "x.js"))("ws");
const { newWebSocketRpcSession, RpcTarget } = await import(pathToFileURL(join(plan.modules, "capnweb/dist/index.js")));

// A scenario's file is the gadget's server half as well: its drivers need nothing of what that imports.
const workers = "data:text/javascript,export class DurableObject {} export class RpcTarget {} export class RpcStub {}";
register("data:text/javascript," + encodeURIComponent(`export const resolve = (name, context, next) =>
  name === "cloudflare:workers" ? { url: ${JSON.stringify(workers)}, shortCircuit: true } : next(name, context);
export const load = (url, context, next) => next(url, url.startsWith("file:") ? { ...context, format: "module" } : context);`));

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const longest = 60_000; // for one scenario

// The means of one scenario.
class Scenario {
  events = []; sockets = [];
  constructor(path) { this.path = path; }

  note(text) { this.events.push(text); }

  // open makes a connection of its own to the gadget.
  async open() {
    const socket = new WebSocket(`ws://127.0.0.1:${plan.port}${this.path}`, { perMessageDeflate: false });
    this.sockets.push(socket);
    await new Promise((resolve, reject) => { socket.once("open", resolve); socket.once("error", reject); });
    const stub = newWebSocketRpcSession(socket);
    this.lastSocket = socket;
    return stub;
  }

  // call notes what becomes of a call, by a label.
  async call(label, promise) {
    try {
      const value = await promise;
      this.note(`${label} = ${value === undefined ? "undefined" : typeof value === "function" ? "a stub" : JSON.stringify(value)}`);
      return value;
    } catch (e) {
      const own = /own .*/.exec(e?.message);
      this.note(`${label} failed: ${own === null ? "an error" : own[0]}`);
      if (own === null && plan.verbose) process.stderr.write(`${this.path} ${label}: ${e?.message}\n`);
    }
  }

  // gate makes a callback that waits to be let on. Its entered settles when it has been called.
  gate() {
    const gate = {};
    gate.entered = new Promise((entered) => {
      gate.wait = () => { entered(); return new Promise((open, fail) => { gate.open = open; gate.fail = fail; }); };
    });
    return gate;
  }

  // later gives what has been sent the time to arrive, where nothing tells that it has.
  later(ms = 60) { return sleep(ms); }

  // until asks again until the answer is true.
  async until(ask) { while (!(await ask())) await sleep(20); }
}
Scenario.prototype.RpcTarget = RpcTarget;

const base = `http://127.0.0.1:${plan.port}`;
const out = {};
async function run(group, name, drive, number) {
  const path = `/${group}/${number}`, t = new Scenario(path);
  const id = await (await fetch(base + path)).text();
  out[group][name] = { id, events: t.events };
  const gadget = await t.open();
  let timer;
  const late = new Promise((_, reject) => { timer = setTimeout(() => reject(new Error("it does not end")), longest); });
  try {
    await Promise.race([drive(t, gadget), late]);
    const last = await t.open();
    await last.trace("end");
  } catch (e) { t.note(`the scenario failed: ${(/own .*/.exec(e.message) ?? [e.message])[0]}`); }
  clearTimeout(timer);
  for (const socket of t.sockets) socket.terminate();
}

const queue = [];
for (const group of plan.groups) {
  const { scenarios } = await import(pathToFileURL(join(plan.folder, group + ".js")));
  out[group] = {};
  for (const [number, name] of Object.keys(scenarios).entries()) {
    if (!`${group}: ${name}`.startsWith(plan.only)) continue;
    out[group][name] = null;
    queue.push(() => run(group, name, scenarios[name], number));
  }
}
// A few at once: most of their time they wait.
await Promise.all([1, 2, 3, 4, 5, 6].map(async () => { for (let next; (next = queue.shift()) !== undefined; ) await next(); }));
process.stdout.write(JSON.stringify(out), () => process.exit(0));
