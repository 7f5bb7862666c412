import { expect, test } from "vitest";
import type { State } from "../kernel/api.gen";
import { back, forward, freshTrail, go, heal, home, parse, place, replace, type Route } from "./routing";

const gadget = (id: string) => ({ id, title: id, blueprint: "board", headless: false, status: "idle" as const, views: 0 });
const state: State = {
  person: { name: "Ada" },
  build: "",
  blueprints: [],
  notices: [],
  workspaces: [
    { id: "w1", title: "One", created: 0, opened: 0, gadgets: [gadget("a"), gadget("b")] },
    { id: "w2", title: "Empty", created: 0, opened: 0, gadgets: [] },
  ],
};
const at = (gadget?: string, beside?: string): Route => ({ page: "workspace", workspace: "w1", gadget, beside });

test("back and forward lead through where the person was", () => {
  let trail = go(go(freshTrail, at("a")), at("b"));
  trail = back(trail);
  expect(trail.here).toEqual(at("a"));
  trail = forward(trail);
  expect(trail.here).toEqual(at("b"));
  expect(forward(trail)).toBe(trail);
  trail = go(back(back(trail)), at("b"));
  expect(trail.future).toEqual([]);
  expect(back(freshTrail)).toBe(freshTrail);
});

test("going where one is adds no step, and the past is bounded", () => {
  const trail = go(freshTrail, at("a"));
  expect(go(trail, { page: "workspace", workspace: "w1", gadget: "a" })).toBe(trail);
  let long = freshTrail;
  for (let i = 0; i < 500; i++) long = go(long, at(String(i)));
  expect(long.past.length).toBe(50);
  expect(replace(trail, home).past).toEqual(trail.past);
});

test("a place that is gone leads to the nearest one that is there", () => {
  expect(heal(at("a"), state)).toEqual(at("a"));
  expect(heal(at("gone"), state)).toEqual({ page: "workspace", workspace: "w1", gadget: "a" });
  expect(heal(at("a", "gone"), state)).toEqual({ page: "workspace", workspace: "w1", gadget: "a" });
  expect(heal({ page: "workspace", workspace: "w9" }, state)).toEqual(home);
  expect(heal({ page: "workspace", workspace: "w2", gadget: "x" }, state)).toEqual({ page: "workspace", workspace: "w2" });
  const fine: Route = { page: "workspace", workspace: "w1", gadget: "b", beside: "b" };
  expect(heal(fine, state)).toBe(fine);
});

test("a healed place is stable", () => {
  for (const route of [home, at(), at("a"), at("gone", "b"), at("a", "a"), at(undefined, "b")]) {
    const once = heal(route, state);
    expect(heal(once, state)).toBe(once);
  }
});

test("a place names what is there", () => {
  expect(place(home, state)).toBeUndefined();
  expect(place(at("a", "b"), state)).toMatchObject({ workspace: { id: "w1" }, gadget: { id: "a" }, beside: { id: "b" } });
});

test("what was remembered is read with care", () => {
  expect(parse(JSON.stringify(at("a", "b")))).toEqual(at("a", "b"));
  for (const text of [null, "", "{", "null", "[]", '{"page":"workspace"}', '{"page":"workspace","workspace":4}', '"x"']) expect(parse(text)).toEqual(home);
  expect(parse('{"page":"workspace","workspace":"w","gadget":5,"evil":1}')).toEqual({ page: "workspace", workspace: "w" });
});
