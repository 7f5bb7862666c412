import { expect, test } from "vitest";
import { disconnected, KernelError, problemText, sentence, toProblem } from "./problem";

test("a clause becomes a sentence, a name keeps its letters", () => {
  expect(sentence("the disk is full")).toBe("The disk is full.");
  expect(sentence("Done!")).toBe("Done!");
  expect(sentence("server.js has no class")).toBe("server.js has no class.");
  expect(sentence("move() did not end")).toBe("move() did not end.");
  expect(sentence("  ")).toBe("");
});

test("the kernel's words are kept, anything else is a defect with its message", () => {
  expect(toProblem(new KernelError(disconnected))).toBe(disconnected);
  const told = Object.assign(new Error("x"), { kind: "cpu", what: "Stopped", why: "cpu", todo: "Restart", detail: "" });
  expect(toProblem(told)).toEqual({ kind: "cpu", what: "Stopped", why: "cpu", todo: "Restart" });
  expect(toProblem(new TypeError("boom"))).toMatchObject({ kind: "unexpected", detail: "TypeError: boom" });
  expect(toProblem("thrown text").detail).toBe("thrown text");
});

test("copied details hold everything", () => {
  expect(problemText({ kind: "k", what: "a", why: "b", todo: "c", detail: "d" })).toBe("A.\nB.\nC.\nd\n(k)");
});
