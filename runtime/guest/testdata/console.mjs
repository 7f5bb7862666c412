// The console's less usual methods, as a person sees them.
import { Guest, check, equal, finish } from "./harness.mjs";
const open = async (body) => {
  const g = await Guest.open(`import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject { run() { ${body} } }`);
  g.deliver('["push",["pipeline",0,["run"],[]]]');
  g.deliver('["pull",1]');
  equal("it goes on: " + body, g.sent.join(), '["resolve",1,["undefined"]]');
  return g.logs;
};
const shows = async (body, ...lines) => equal(body, (await open(body)).join("\n"), lines.join("\n"));

await shows(`console.table([{ a: 1, b: "x" }, { a: 22, c: [1] }])`,
  "log ┌─────────┬────┬─────┬─────┐", "│ (index) │ a  │ b   │ c   │", "├─────────┼────┼─────┼─────┤", '│ 0       │ 1  │ "x" │     │', "│ 1       │ 22 │     │ [1] │", "└─────────┴────┴─────┴─────┘");
await shows(`console.table({ one: [1, 2], two: 5 }, ["1"])`, "log ┌─────────┬───┬────────┐", "│ (index) │ 1 │ Values │", "├─────────┼───┼────────┤", "│ one     │ 2 │        │", "│ two     │   │ 5      │", "└─────────┴───┴────────┘");
await shows(`console.table(new Map([["k", { v: 1 }]]))`, "log ┌─────────┬───┐", "│ (index) │ v │", "├─────────┼───┤", '│ "k"     │ 1 │', "└─────────┴───┘");
await shows(`console.table(5); console.table("x"); console.table(null)`, "log 5", "log x", "log null");
check("a row that throws", /throws when it is looked at/.test((await open(`console.table(new Proxy({}, { ownKeys() { throw new Error("trap") } }))`)).join()));
equal("a large one", (await open(`console.table(new Array(5000).fill({ a: 1 }))`)).join().split("\n").length, 105);
await shows(`console.group("g"); console.log("a\\nb"); console.group(); console.warn("c"); console.groupEnd(); console.groupEnd(); console.groupEnd(); console.log("d")`, "log g", "log   a", "  b", "warn     c", "log d");
await shows(`console.assert(false); console.assert(0, "why", 1); console.assert(1, "no")`, "error Assertion failed", "error Assertion failed: why 1");
await shows(`console.count(); console.count("x"); console.count(); console.countReset(); console.count(); console.countReset("y")`, "info default: 1", "info x: 1", "info default: 2", "info default: 1", "warn there is no count y");
const times = (await open(`console.time("t"); console.time("t"); console.timeLog("t", "more"); console.timeEnd("t"); console.timeEnd("t")`)).join("\n");
check("time", /^warn the timer t runs already\ninfo t: [\d.]+ ms more\ninfo t: [\d.]+ ms\nwarn there is no timer t$/.test(times), times);
check("trace", /^debug t \n +at run \(server\.js:1:\d+\)/.test((await open(`console.trace("t")`)).join()), (await open(`console.trace("t")`)).join());
await shows(`console.dir({ a: 1 })`, "log { a: 1 }");
finish();
