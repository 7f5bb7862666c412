// Runs random programs (programs.mjs) with the official client against the official server and against the Go peer whose
// address is the first argument; the others are the first and the last seed. A session serves many programs; after each the
// tables of both ends must be back at their start. Prints {seed, js, go, leak} for each program that differs, and a last
// line {programs}.
import { capnweb, serve, later } from "./server.mjs";
import { runProgram } from "./programs.mjs";

const { RpcSession, RpcStub, RpcTarget, WebSocketTransport } = capnweb;
const [address, first, last] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const perSession = 50;

const connect = async (url) => {
  const socket = new WebSocket(url);
  await new Promise((done, fail) => { socket.addEventListener("open", done); socket.addEventListener("error", () => fail(new Error("cannot connect to " + url))); });
  return new RpcSession(new WebSocketTransport(socket));
};
const limit = (p) => { // a timer for each program, not for each step
  let timer;
  return Promise.race([p, new Promise((_, fail) => { timer = setTimeout(() => fail(new Error("TIMEOUT")), 8000); })]).finally(() => clearTimeout(timer));
};
const atStart = (st) => st.exports === 1 && st.imports === 1;

// back waits until the session holds what it held at first, and tells what it still holds otherwise.
const back = async (session, stats) => {
  let mine, theirs;
  for (let i = 0; i < 100; i++) {
    mine = session.getStats();
    if (atStart(mine)) {
      theirs = await stats();
      if (atStart(theirs)) return "";
    }
    await later(i < 20 ? 0 : 5);
  }
  return JSON.stringify({ client: mine, server: theirs });
};

const js = await serve();
const stats = address.replace("ws:", "http:") + "/stats";
let next = first, programs = 0;

// work runs programs until there are no more. Several work at once, because a program mostly waits.
const work = async () => {
  for (let a, b, path, left = 0; next <= last; left--) {
    const seed = next++;
    if (left === 0) {
      left = perSession;
      a?.getRemoteMain()[Symbol.dispose]();
      b?.getRemoteMain()[Symbol.dispose]();
      path = "/random" + seed;
      [a, b] = await Promise.all([connect(js.address + path), connect(address + path)]);
    }
    const [want, got] = await Promise.all([a, b].map((session) => limit(runProgram(seed, session.getRemoteMain(), { RpcStub, RpcTarget })).catch(String)));
    const leaks = await Promise.all([
      back(a, () => js.sessions.get(path).getStats()),
      back(b, async () => (await fetch(stats + path)).json()),
    ]);
    programs++;
    // What the official server itself holds on to is not held against ours.
    if (want !== got || (leaks[1] !== "" && leaks[0] === "")) console.log(JSON.stringify({ seed, js: want, go: got, leak: leaks[1] }));
    if (leaks[0] !== "" || leaks[1] !== "") left = 1;
  }
};
await Promise.all(Array.from({ length: 8 }, work));
console.log(JSON.stringify({ programs }));
process.exit(0);
