import { expect, test } from "vitest";
import { gaveUp, maxTries, nextView, opening, viewBackoff, type ViewEvent, type ViewState } from "./view";

const view = { channel: 1, frame: "f", code: "1" };
const problem = { kind: "syntax", what: "w", why: "y", todo: "t" };
const run = (state: ViewState, ...events: ViewEvent[]) => events.reduce(nextView, state);

test("a view opens, loads and runs", () => {
  expect(run(opening, { type: "opened", view }).at).toBe("loading");
  expect(run(opening, { type: "opened", view }, { type: "ready" })).toEqual({ at: "running", tries: 0, view });
});

test("a refusal is final, unless only the line was down", () => {
  expect(run(opening, { type: "refused", problem })).toEqual({ at: "failed", problem });
  expect(run(opening, { type: "refused", problem: { ...problem, kind: "disconnected" } })).toEqual({ at: "waiting", tries: 1, wait: 200 });
});

test("a view that keeps going is opened again a bounded number of times, more slowly each time", () => {
  let at: ViewState = opening;
  const waits: number[] = [];
  for (let i = 0; i < 100 && at.at !== "failed"; i++) {
    at = run(at, { type: "opened", view }, { type: "ready" }, { type: "gone" });
    if (at.at === "waiting") waits.push(at.wait);
    at = nextView(at, { type: "retry" });
  }
  expect(at).toEqual({ at: "failed", problem: gaveUp });
  expect(waits).toEqual(Array.from({ length: maxTries }, (_, i) => viewBackoff(i + 1)));
});

test("a view that ran for a while starts to count anew", () => {
  const running: ViewState = { at: "running", tries: 4, view };
  expect(run(running, { type: "steady" }, { type: "gone" })).toEqual({ at: "waiting", tries: 1, wait: 200 });
  expect(run(running, { type: "gone" }, { type: "retry" }, { type: "opened", view }, { type: "gone" }).at).toBe("failed");
});

test("restart leads out of every state", () => {
  const states: ViewState[] = [{ at: "failed", problem }, { at: "waiting", tries: 3, wait: 1 }, { at: "running", tries: 2, view }, { at: "loading", tries: 0, view }];
  for (const state of states) expect(nextView(state, { type: "restart" })).toBe(opening);
});

test("late news changes nothing", () => {
  const failed: ViewState = { at: "failed", problem };
  for (const event of [{ type: "ready" }, { type: "gone" }, { type: "opened", view }, { type: "broken", problem }] as ViewEvent[]) {
    expect(nextView(failed, event)).toBe(failed);
  }
  const running: ViewState = { at: "running", tries: 0, view };
  expect(nextView(running, { type: "opened", view })).toBe(running);
  expect(nextView(running, { type: "retry" })).toBe(running);
});
