import { HouseIcon } from "@phosphor-icons/react";
import { expect, test } from "vitest";
import { pick, search, type Command } from "./command";
import { keyLabel, pressed, types } from "./keys";
import { ago } from "./ago";

const make = (id: string, label: string, more: Partial<Command> = {}): Command => ({ id, label, icon: HouseIcon, enabled: true, run: () => {}, ...more });

test("a menu takes commands by id and never has a separator too many", () => {
  const commands = [make("a", "A"), make("b", "B")];
  const ids = (items: (Command | "-")[]) => items.map((i) => (i === "-" ? "-" : i.id));
  expect(ids(pick(commands, ["-", "b", "-", "-", "missing", "-", "a", "-"]))).toEqual(["b", "-", "a"]);
  expect(pick(commands, ["missing", "-"])).toEqual([]);
});

test("search needs every word, prefers beginnings, and leaves out what is off", () => {
  const commands = [make("1", "Reading board"), make("2", "Board"), make("3", "Keyboard"), make("4", "Board off", { enabled: false }), make("5", "Costs", { hint: "Trip to Lisbon" })];
  expect(search(commands, "board").map((c) => c.id)).toEqual(["2", "1", "3"]);
  expect(search(commands, "lisbon cos").map((c) => c.id)).toEqual(["5"]);
  expect(search(commands, "  ").map((c) => c.id)).toEqual(["1", "2", "3", "5"]);
  expect(search(commands, "zzz")).toEqual([]);
});

const event = (key: string, held: Partial<Record<"ctrlKey" | "metaKey" | "altKey" | "shiftKey", boolean>> = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...held });

test("shortcuts match exactly what is held", () => {
  expect(pressed(event("k", { ctrlKey: true }), "Mod+K", false)).toBe(true);
  expect(pressed(event("k", { metaKey: true }), "Mod+K", true)).toBe(true);
  expect(pressed(event("k", { metaKey: true }), "Mod+K", false)).toBe(false);
  expect(pressed(event("k", { ctrlKey: true, shiftKey: true }), "Mod+K", false)).toBe(false);
  expect(pressed(event("f"), "F", false)).toBe(true);
  expect(pressed(event("f", { ctrlKey: true }), "F", false)).toBe(false);
  expect(pressed(event("ArrowLeft", { altKey: true }), "Alt+ArrowLeft", false)).toBe(true);
});

test("shortcuts read as on the person's keyboard", () => {
  expect(keyLabel("Mod+Shift+H", false)).toBe("Ctrl+Shift+H");
  expect(keyLabel("Mod+Shift+H", true)).toBe("⌘⇧H");
  expect(types("F")).toBe(true);
  expect(types("Mod+K") || types("F2") || types("Escape")).toBe(false);
});

test("times are told in words", () => {
  const now = 1_000_000_000_000;
  expect(ago(now + 5_000, now)).toBe("just now");
  expect(ago(now - 61_000, now)).toBe("1 minute ago");
  expect(ago(now - 26 * 3_600_000, now)).toBe("yesterday");
  expect(ago(now - 20 * 86_400_000, now)).toBe("2 weeks ago");
});
