// Runs the scenarios (scenarios.mjs) with the official client against the official server and against the Go peer whose
// address is the first argument; the others name scenarios to run alone. Prints one JSON line a scenario:
// {name, js, go, leakJS, leakGo}. A leak is what a server still holds once the client has disposed everything; "" is none.
import util from "node:util";
import { capnweb, serve, later } from "./server.mjs";
import { scenarios, endings } from "./scenarios.mjs";

const { RpcSession, RpcStub, RpcTarget, WebSocketTransport } = capnweb;

const isDisposable = (x) => x !== null && (typeof x === "object" || typeof x === "function") && Symbol.dispose in x;
const show = (v) => util.inspect(v, { depth: 6, sorted: false, maxArrayLength: 60, maxStringLength: 300, breakLength: Infinity });
const within = (ms, p) => Promise.race([Promise.resolve(p), later(ms).then(() => { throw new Error("TIMEOUT"); })]);

async function connect(url) {
  const socket = new WebSocket(url);
  await new Promise((done, fail) => {
    socket.addEventListener("open", done);
    socket.addEventListener("error", () => fail(new Error("cannot connect to " + url)));
  });
  return new RpcSession(new WebSocketTransport(socket));
}

const ended = () => ({ exports: 1, imports: 1 });

async function run(url, f, stats) {
  const session = await connect(url);
  const main = session.getRemoteMain();
  const owned = [];
  const own = (x) => (owned.push(x), x);
  let result;
  try {
    const promise = f(main, own);
    const value = await within(4000, promise);
    result = show(value);
    if (isDisposable(value)) owned.push(value);
  } catch (e) {
    result = e instanceof Error ? "threw " + e.name + ": " + e.message + " " + show({ ...e }) : "threw " + show(e);
  }
  for (const x of owned) if (isDisposable(x)) x[Symbol.dispose]();
  let leak = "";
  for (let i = 0; i < 100; i++) {
    const st = await stats();
    const mine = session.getStats();
    leak = st.exports === 1 && st.imports === 1 ? "" : JSON.stringify({ server: st, client: mine });
    if (leak === "") break;
    await later(2);
  }
  main[Symbol.dispose]();
  return { result, leak };
}

const parts = { RpcStub, RpcTarget, later };
const all = Object.entries({ ...scenarios(parts), endings: endings(parts) }).flatMap(([section, list]) =>
  Object.entries(list).map(([name, f]) => [`${section}: ${name}`, f]));
const js = await serve();
const goAddress = process.argv[2], only = process.argv.slice(3);
const statsURL = goAddress.replace("ws:", "http:") + "/stats";
let n = 0;
for (const [name, f] of all) {
  if (only.length > 0 && !only.includes(name)) continue;
  const path = "/" + ++n, ends = name.startsWith("endings");
  const a = await run(js.address + path, f, ends ? ended : () => js.sessions.get(path).getStats());
  const b = await run(goAddress + path, f, ends ? ended : async () => (await fetch(statsURL + path)).json());
  console.log(JSON.stringify({ name, js: a.result, go: b.result, leakJS: a.leak, leakGo: b.leak }));
}
process.exit(0);
