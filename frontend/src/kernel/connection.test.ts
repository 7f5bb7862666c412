import { expect, test } from "vitest";
import { backoff, next, start, type Connection, type ConnectionEvent } from "./connection";

const problem = { kind: "denied", what: "w", why: "y", todo: "t" };

test("a page connects, loses the line, and connects again", () => {
  const seen: string[] = [];
  let at: Connection = start;
  const events: ConnectionEvent[] = [{ type: "opened" }, { type: "closed" }, { type: "retry" }, { type: "closed" }, { type: "retry" }, { type: "opened" }];
  for (const event of events) {
    at = next(at, event);
    seen.push(at.phase === "lost" ? `lost ${at.attempt} ${at.wait}` : at.phase);
  }
  expect(seen).toEqual(["open", "lost 1 250", "connecting", "lost 2 500", "connecting", "open"]);
});

test("a success forgets the failures before it", () => {
  let at: Connection = { phase: "connecting", attempt: 9 };
  at = next(at, { type: "opened" });
  expect(next(at, { type: "closed" })).toEqual({ phase: "lost", attempt: 1, wait: 250 });
});

test("who is denied is not connected again until the person asks", () => {
  const denied = next(start, { type: "denied", problem });
  expect(denied).toEqual({ phase: "denied", problem });
  expect(next(denied, { type: "closed" })).toBe(denied);
  expect(next(denied, { type: "opened" })).toBe(denied);
  expect(next(denied, { type: "retry" })).toEqual({ phase: "connecting", attempt: 0 });
});

test("events out of place change nothing", () => {
  const open: Connection = { phase: "open" };
  expect(next(open, { type: "opened" })).toBe(open);
  expect(next(open, { type: "retry" })).toBe(open);
  const lost: Connection = { phase: "lost", attempt: 1, wait: 250 };
  expect(next(lost, { type: "closed" })).toBe(lost);
  expect(next(lost, { type: "opened" })).toBe(lost);
});

test("the back-off never shrinks and never passes five seconds", () => {
  const waits = Array.from({ length: 40 }, (_, i) => backoff(i + 1));
  expect([...waits].sort((a, b) => a - b)).toEqual(waits);
  expect(waits.at(-1)).toBe(5000);
});
