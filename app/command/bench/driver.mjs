// Drives the sides of the benchmark with the official client and prints {figures, notes} as JSON. It reads its plan, which
// package bench made, from its standard input.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const plan = JSON.parse(readFileSync(0, "utf8"));
const WebSocket = (globalThis.WebSocket = createRequire(join(plan.modules, "x.js"))("ws"));
const { newWebSocketRpcSession } = await import(pathToFileURL(join(plan.modules, "capnweb/dist/index.js")));

const figures = [], notes = [];
const wanted = (...names) => names.some((name) => name.startsWith(plan.only) || plan.only.startsWith(name));
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const rank = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))];
const say = (text) => process.stderr.write(`  ${text}\n`);

// figure notes one figure of ours with the peer's, if there is one.
function figure(name, unit, method, [own, peer], compare = true) {
  figures.push({
    name, unit, method, value: own.value, runs: own.runs,
    peer: peer === undefined ? null : peer.value,
    ratio: peer === undefined || !compare ? null : own.value / peer.value,
  });
}

// A connection to a gadget: its stub and how to end it.
function open(side, path) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`ws://127.0.0.1:${side.port}${path}`, { perMessageDeflate: false });
    socket.once("error", reject);
    socket.once("open", () => {
      const stub = newWebSocketRpcSession(socket);
      resolve({ stub, close: () => { stub[Symbol.dispose](); socket.terminate(); } });
    });
  });
}

// start runs a side and waits until a call at path is answered; it returns the process and the milliseconds that took.
async function start(side, path, call, wrap = []) {
  const [command, ...args] = [...wrap, ...side.command];
  const from = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit"], env: { ...process.env, ...side.env } });
  let ended = false;
  child.once("exit", () => (ended = true));
  for (;;) {
    if (ended) throw new Error(`${side.name} does not start`);
    if (performance.now() - from > 180_000) throw new Error(`${side.name} does not answer`);
    try {
      const connection = await open(side, path);
      const answer = await call(connection.stub);
      return { child, connection, answer, took: performance.now() - from };
    } catch (error) {
      if (error.code !== "ECONNREFUSED") throw error;
      await sleep(1);
    }
  }
}

async function stop(running) {
  running.connection.close();
  const gone = new Promise((resolve) => running.child.once("exit", resolve));
  running.child.kill("SIGTERM");
  const late = setTimeout(() => running.child.kill("SIGKILL"), 20_000);
  await gone;
  clearTimeout(late);
}

const ping = (stub) => stub.ping();

// processes returns the ids of a process and all below it.
function processes(root) {
  const parents = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {} // it ended meanwhile
  }
  const found = [root];
  for (const at of found) for (const [child, parent] of parents) if (parent === at) found.push(child);
  return found;
}

// shareOfMemory returns the proportional set size of all processes of a side in KiB.
function shareOfMemory(root) {
  let sum = 0;
  for (const pid of processes(root)) {
    const match = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
    sum += Number(match[1]);
  }
  return sum;
}

// forget drops a side's files from the system's cache of files.
function forget(side) {
  const drop = (path) => {
    let found;
    try { found = statSync(path); } catch { return; }
    if (found.isDirectory()) for (const name of readdirSync(path)) drop(join(path, name));
    else if (found.isFile()) execFileSync("dd", [`if=${path}`, "iflag=nocache", "count=0", "status=none"]);
  };
  execFileSync("sync");
  for (const path of side.files) drop(path);
}

async function starts() {
  const rounds = 7, warm = plan.sides.map(() => []), cold = plan.sides.map(() => []);
  for (const side of plan.sides) await stop(await start(side, "/same/0", async (stub) => { await stub.write(41); return stub.read(); }));
  for (let n = 0; n < rounds; n++) {
    for (const list of [warm, cold]) {
      for (const [k, side] of plan.sides.entries()) {
        if (list === cold) forget(side);
        const running = await start(side, "/same/0", (stub) => stub.read());
        if (running.answer !== 41) throw new Error(`${side.name} lost what was stored: ${running.answer}`);
        list[k].push(running.took);
        await stop(running);
      }
    }
  }
  const result = (lists) => lists.map((list) => ({ value: rank(list, 0.5), runs: rounds }));
  figure("start.warm", "ms", "from starting the program to the answer of a gadget that reads what it stored; median", result(warm));
  figure("start.cold", "ms", "the same after the program's and its data's files were dropped from the system's file cache", result(cold));
}

// blocks lets the sides take turns at a measurement and returns all that each gave.
async function blocks(count, each) {
  const out = plan.sides.map(() => []);
  for (let n = 0; n < count; n++) {
    const order = [...plan.sides.keys()];
    if (n % 2 === 1) order.reverse();
    for (const k of order) out[k].push(...(await each(k, n)));
  }
  return out;
}

async function timed(times, call) {
  const out = [];
  for (let n = 0; n < times; n++) {
    const from = performance.now();
    await call(n);
    out.push((performance.now() - from) * 1000);
  }
  return out;
}

async function calls(running) {
  for (const { connection } of running) await timed(1000, () => connection.stub.ping());
  const took = await blocks(20, (k) => timed(200, () => running[k].connection.stub.ping()));
  const at = (q) => took.map((list) => ({ value: rank(list, q), runs: list.length }));
  figure("call.p50", "µs", "one call of a method that keeps a count in memory, each awaited; median", at(0.5));
  figure("call.p99", "µs", "the same, the 99th of a hundred", at(0.99));
}

async function writes(running, syncs) {
  for (const { connection } of running) await timed(50, (n) => connection.stub.write(n));
  const took = await blocks(20, (k) => timed(25, (n) => running[k].connection.stub.write(n)));
  const each = syncs === null ? "" : `; syncs for each: ${plan.sides.map((side, k) => `${side.name} ${syncs[k].toFixed(2)}`).join(", ")}`;
  figure("write.p50", "µs", `one call that stores a number and is answered once that is durable; median${each}`,
    took.map((list) => ({ value: rank(list, 0.5), runs: list.length })), syncs !== null);
}

async function throughput() {
  const clients = [];
  for (const side of plan.sides) {
    const list = [];
    for (let n = 0; n < 8; n++) list.push(await open(side, `/same/${n + 1}`));
    for (const { stub } of list) await timed(100, () => stub.ping());
    clients.push(list);
  }
  const rates = await blocks(6, async (k) => {
    const until = performance.now() + 1500;
    let sum = 0;
    const from = performance.now();
    await Promise.all(clients[k].map(async ({ stub }) => {
      while (performance.now() < until) { await stub.ping(); sum++; }
    }));
    return [sum / ((performance.now() - from) / 1000)];
  });
  figure("throughput.8", "1/s", "calls of 8 clients on 8 gadgets, each client awaiting its call; median of blocks",
    rates.map((list) => ({ value: rank(list, 0.5), runs: list.length })));
  for (const list of clients) for (const client of list) client.close();
}

async function newGadgets() {
  const opened = [];
  const took = await blocks(60, async (k, n) => {
    const from = performance.now();
    const connection = await open(plan.sides[k], `/same/${200 + n}`);
    await connection.stub.ping();
    const time = (performance.now() - from) * 1000;
    opened.push(connection);
    return [time];
  });
  figure("new_gadget.first_call", "µs", "from opening a WebSocket to a gadget that never ran to its first answer; its code runs in others; median",
    took.map((list) => ({ value: rank(list, 0.5), runs: list.length })));
  for (const connection of opened) connection.close();
}

async function live(kind) {
  const sums = [];
  for (const side of plan.sides) {
    const running = await start(kind === "unique" && side.wide !== null ? { ...side, command: side.wide } : side, `/${kind}/0`, ping);
    const opened = [];
    for (let n = 1; n < 100; n++) {
      const connection = await open(side, `/${kind}/${n}`);
      await connection.stub.ping();
      opened.push(connection);
    }
    await sleep(8000);
    for (const { stub } of opened) if ((await stub.ping()) !== 2) notes.push(`${side.name}: a gadget did not stay in memory`);
    await sleep(2000);
    sums.push({ value: shareOfMemory(running.child.pid), runs: 1 });
    for (const connection of opened) connection.close();
    await stop(running);
  }
  figure(kind === "same" ? "live100.same.pss" : "live100.different.pss", "KiB",
    `memory (PSS) of all processes with 100 gadgets of ${kind === "same" ? "one code" : "100 codes"} in memory, each called and connected`, sums);
}

// countSyncs returns how many syncs each side makes for an acknowledged write: runs with and without writes are compared.
async function countSyncs() {
  if (plan.strace === "") return null;
  const counted = [];
  for (const side of plan.sides) {
    const sums = [];
    for (const count of [10, 210]) {
      const log = join(process.cwd(), `syncs-${side.name}-${count}`);
      const wrap = [plan.strace, "-f", "-c", "-e", "trace=fsync,fdatasync,sync,syncfs,msync,sync_file_range", "-o", log];
      const running = await start(side, "/same/9", async (stub) => { for (let n = 0; n < count; n++) await stub.write(n); }, wrap);
      const [, ...below] = processes(running.child.pid);
      running.connection.close();
      const gone = new Promise((resolve) => running.child.once("exit", resolve));
      process.kill(below[0], "SIGTERM");
      await gone;
      sums.push([...readFileSync(log, "utf8").matchAll(/^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?\w*sync\w*$/gm)].reduce((sum, match) => sum + Number(match[1]), 0));
    }
    counted.push((sums[1] - sums[0]) / 200);
  }
  figure("syncs.per_write", "", "syncs that an acknowledged write takes, counted under strace in runs of their own", counted.map((value) => ({ value, runs: 200 })), false);
  return counted;
}

async function rpc() {
  const running = [];
  for (const side of plan.rpc) running.push(await start(side, "/rpc", (stub) => stub.square(2)));
  const sequential = running.map(() => []), parallel = running.map(() => []);
  for (const { connection } of running) await timed(2000, (n) => connection.stub.square(n));
  for (let n = 0; n < 12; n++) {
    for (const k of n % 2 === 0 ? [0, 1] : [1, 0]) {
      const { stub } = running[k].connection;
      sequential[k].push(...(await timed(500, (m) => stub.square(m))));
      const from = performance.now();
      await Promise.all(Array.from({ length: 5000 }, (_, m) => stub.square(m)));
      parallel[k].push(5000 / ((performance.now() - from) / 1000));
      globalThis.gc?.();
    }
  }
  figure("rpc.official.p50", "µs", "a call of the official client to a Go capability, each awaited; the peer is the official server on node; median",
    sequential.map((list) => ({ value: rank(list, 0.5), runs: list.length })));
  figure("rpc.official.calls_per_s", "1/s", "the same with 5,000 calls at once; median of rounds",
    parallel.map((list) => ({ value: rank(list, 0.5), runs: list.length })));
  for (const side of running) await stop(side);
}

async function main() {
  say("making the gadgets");
  for (const side of plan.sides) await stop(await start(side, "/same/0", ping));
  if (wanted("start.")) { say("starts"); await starts(); }
  let syncs = null;
  if (wanted("syncs.", "write.")) { say("syncs for a write"); syncs = await countSyncs(); }
  if (wanted("call.", "write.", "throughput.", "new_gadget.")) {
    const running = [];
    for (const side of plan.sides) running.push(await start(side, "/same/0", ping));
    if (wanted("call.")) { say("calls"); await calls(running); }
    if (wanted("write.")) { say("writes"); await writes(running, syncs); }
    if (wanted("throughput.")) { say("throughput"); await throughput(); }
    if (wanted("new_gadget.")) { say("new gadgets"); await newGadgets(); }
    for (const side of running) await stop(side);
  }
  if (wanted("live100.") && process.platform === "linux") {
    say("100 live gadgets");
    await live("same");
    await live("unique");
  }
  if (wanted("rpc.official.")) { say("the official client"); await rpc(); }
}

let failure = null;
try { await main(); } catch (error) { failure = error; }
process.stdout.write(JSON.stringify({ figures, notes }), () => {
  if (failure !== null) process.stderr.write(`${failure.stack}\n`);
  process.exit(failure === null ? 0 : 1);
});
