import { expect, test } from "vitest";
import { inspect } from "./inspect";

test("values are shown as one would write them", () => {
  expect(inspect("bare")).toBe("bare");
  expect(inspect({ a: 1, b: ["x", null, undefined], c: { d: new Date(0) } })).toBe('{ a: 1, b: [ "x", null, undefined ], c: { d: 1970-01-01T00:00:00.000Z } }');
  expect(inspect(12n)).toBe("12n");
  expect(inspect([])).toBe("[]");
  expect(inspect({})).toBe("{}");
  expect(inspect(new Map([["k", 1]]))).toBe('Map { "k" => 1 }');
  expect(inspect(new Uint8Array(3))).toBe("Uint8Array(3 bytes)");
  class Card {
    id = 1;
  }
  expect(inspect(new Card())).toBe("Card { id: 1 }");
});

test("nothing makes it fail, loop or grow without end", () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  expect(inspect(loop)).toBe("{ self: (circular) }");
  const trap = new Proxy({}, { ownKeys: () => { throw new Error("no"); } });
  expect(inspect(trap)).toBe("(unreadable)");
  expect(inspect(Object.create(null))).toBe("{}");
  expect(inspect("x".repeat(100_000)).length).toBeLessThan(9_000);
  expect(inspect(Array.from({ length: 500 }, (_, i) => i))).toContain("… 450 more");
});
