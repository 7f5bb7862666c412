// Random programs (runtime/capnweb/testdata/programs.mjs) run on an official server and on a gadget. The outcomes must be
// the same, and so must what is left in the tables. SEED=n repeats one program.
import { Guest, capnweb, check, finish, idle, within } from "./harness.mjs";
import { service } from "../../capnweb/testdata/service.mjs";
import { runProgram } from "../../capnweb/testdata/programs.mjs";
const { RpcTarget, RpcSession, RpcStub } = capnweb;

const soon = async () => { for (let i = 0; i < 4; i++) await null; };
const official = service(RpcTarget, RpcTarget, soon);
const gadget = `import { DurableObject, RpcTarget } from "cloudflare:workers";
const soon = ${soon}; const service = ${service}; export class Gadget extends service(DurableObject, RpcTarget, soon) {}`;

const pipe = () => {
  const ends = [0, 1].map(() => ({ queue: [], waiting: null }));
  const end = (me, other) => ({
    send: (m) => { if (ends[other].waiting) { ends[other].waiting(m); ends[other].waiting = null; } else ends[other].queue.push(m); },
    receive: () => new Promise((r) => { if (ends[me].queue.length > 0) r(ends[me].queue.shift()); else ends[me].waiting = r; }),
  });
  return [end(0, 1), end(1, 0)];
};

const first = Number(process.env.SEED ?? 1), last = process.env.SEED ? first : Number(process.env.TOOLSHED_PROGRAMS ?? 60);
// A gadget serves many programs; one that went wrong is not used again.
const perGadget = 40;
let theirs, guest, ours;
for (let seed = first, left = 0; seed <= last; seed++, left--) {
  if (left === 0) {
    left = perGadget;
    const [a, b] = pipe();
    new RpcSession(a, new official());
    theirs = new RpcSession(b);
    guest = await Guest.open(gadget);
    ours = guest.connect();
  }
  guest.trace = [];
  const [want, got] = await Promise.all([theirs.getRemoteMain(), ours.stub].map((s) => within(runProgram(seed, s, { RpcStub, RpcTarget })).catch(String)));
  const w = want.split("\n"), g = got.split("\n"), at = w.findIndex((line, i) => line !== g[i]);
  let t, u;
  for (let i = 0; i < 100 && (i === 0 || t !== u); i++) {
    await idle(i === 0 ? 0 : 2);
    t = JSON.stringify(ours.session.getStats());
    u = JSON.stringify(theirs.getStats());
  }
  const trace = process.env.SEED ? "\n" + guest.trace.join("\n") : "";
  check(`program ${seed}`, want === got, `line ${at}\n  got  ${g[at]}\n  want ${w[at]}` + trace);
  check(`program ${seed}: tables`, t === u, `${t}, not ${u}` + trace);
  check(`program ${seed}: alive`, guest.failure === "", guest.failure);
  if (want !== got || t !== u || guest.failure !== "") left = 1;
}
finish();
