// What the programs of this folder share: chance from a seed, and one way of showing a value in a gadget and in node.
export const maker = (seed) => {
  const random = (n) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0, Math.floor((seed / 2 ** 32) * n));
  const pick = (list) => list[random(list.length)];
  const many = (n, f) => Array.from({ length: n }, f);
  const bytes = (n) => Uint8Array.from({ length: n }, () => random(256));
  const odds = (n) => random(n) === 0; // one time in n
  return { random, pick, many, bytes, odds };
};

const number = (n) => (Object.is(n, -0) ? "-0" : String(n));
const hex = (b) => [...new Uint8Array(b)].map((x) => x.toString(16).padStart(2, "0")).join("");

// show tells everything of a value that a copy must have, with #n for an object met before. Errors have their name alone.
export const show = (value, met = new Map()) => {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "number") return number(value);
  if (typeof value === "bigint") return value + "n";
  if (typeof value === "function" || typeof value === "symbol") return typeof value;
  if (typeof value !== "object" || value === null) return String(value);
  if (met.has(value)) return "#" + met.get(value);
  met.set(value, met.size);
  const fields = () => Object.keys(value).map((k) => JSON.stringify(k) + ":" + show(value[k], met)).join();
  const kind = Object.prototype.toString.call(value).slice(8, -1);
  if (value instanceof Error) return `${value.constructor.name}(${value.name}${"cause" in value ? " " + show(value.cause, met) : ""})`;
  if (value instanceof ArrayBuffer) return `ArrayBuffer(${hex(value)})`;
  if (ArrayBuffer.isView(value)) return `${kind}(${value.byteOffset},${value.byteLength},${show(value.buffer, met)})`;
  if (value instanceof Date) return `Date(${number(value.getTime())})`;
  if (value instanceof RegExp) return `RegExp(${value},${value.lastIndex})`;
  if (value instanceof Map) return `Map(${[...value].map(([k, v]) => show(k, met) + "=>" + show(v, met)).join()})`;
  if (value instanceof Set) return `Set(${[...value].map((v) => show(v, met)).join()})`;
  if (["Number", "String", "Boolean", "BigInt"].includes(kind)) return `${kind}(${show(value.valueOf(), met)})`;
  if (Array.isArray(value)) return `[${value.length}:${fields()}]`;
  return `${kind === "Object" ? "" : kind}{${fields()}}`;
};

// answer is what came of something, also of what failed.
export const answer = async (f) => {
  try { return show(await f()); } catch (e) { return "threw " + (e instanceof Error ? e.name : show(e)); }
};
export const answerNow = (f) => {
  try { return show(f()); } catch (e) { return "threw " + (e instanceof Error ? e.name : show(e)); }
};

// runner gives the lines of a program for each seed from the first on.
export const runner = (programs) => async (name, first, count) => {
  const one = async (seed) => `${seed} ${(await programs[name](maker(seed * 7919 + 1))).join(" | ")}`;
  return Promise.all(Array.from({ length: count }, (_, k) => one(first + k)));
};
