import { expect, test } from "vitest";
import type { ConsoleLine } from "../../kernel/api.gen";
import { append, asText, emptyLog, filter, mostLines } from "./lines";

const line = (text: string, level: ConsoleLine["level"] = "log", source: ConsoleLine["source"] = "server"): ConsoleLine => ({ level, text, time: 0, source });

test("the log is bounded, counts what it dropped, and its keys never repeat", () => {
  let log = emptyLog;
  for (let i = 0; i < 30; i++) log = append(log, Array.from({ length: 100 }, (_, j) => line(`${i}/${j}`)));
  expect(log.lines).toHaveLength(mostLines);
  expect(log.dropped).toBe(3_000 - mostLines);
  expect(log.lines.at(-1)!.text).toBe("29/99");
  expect(new Set(log.lines.map((l) => l.key)).size).toBe(mostLines);
});

test("filters combine", () => {
  const log = append(emptyLog, [line("a", "error"), line("b", "warn", "view"), line("c Alpha"), line("alpha d", "error", "view")]);
  const texts = (...by: [Parameters<typeof filter>[1], Parameters<typeof filter>[2], string]) => filter(log, ...by).map((l) => l.text);
  expect(texts("all", "all", "")).toHaveLength(4);
  expect(texts("warnings", "all", "")).toEqual(["a", "b", "alpha d"]);
  expect(texts("errors", "view", "")).toEqual(["alpha d"]);
  expect(texts("all", "all", " ALPHA ")).toEqual(["c Alpha", "alpha d"]);
});

test("copied lines say when, where from and how loud", () => {
  expect(asText([line("x", "warn", "view")])).toMatch(/^\d\d:\d\d:\d\d\.000 view warn x$/);
});
