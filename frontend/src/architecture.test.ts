import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const root = import.meta.dirname;
const sources = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name: name.replaceAll("\\", "/"), text: readFileSync(join(root, name), "utf8") }));

function imports(source: { name: string; text: string }): string[] {
  return [...source.text.matchAll(/(?:from|import) "(\.[^"]+)"/g)].map((match) => relative(root, resolve(root, dirname(source.name), match[1]!)));
}
const shipped = sources.filter(({ name }) => !/\.test\.ts$/.test(name));
const isFake = (name: string) => /(^|\/)fake(_|\.|$)/.test(name);

test("there is something to check", () => {
  expect(sources.length).toBeGreaterThan(40);
  expect(shipped.some((source) => imports(source).length > 3)).toBe(true);
});

test("feature folders do not know each other: what two of them need belongs in ui/ or kernel/", () => {
  for (const source of shipped) {
    const own = /^features\/([^/]+)\//.exec(source.name)?.[1];
    if (!own) continue;
    for (const to of imports(source)) expect(to, `${source.name} imports ${to}`).not.toMatch(new RegExp(`^(features/(?!${own}/)|shell/)`));
  }
});

test("the kernel folder knows no feature, no shell and no gadget", () => {
  for (const source of shipped.filter(({ name }) => name.startsWith("kernel/"))) {
    for (const to of imports(source)) expect(to, `${source.name} imports ${to}`).toMatch(/^kernel\//);
  }
});

test("the kernel in memory stays out of the page: only tests and the page made for it use it", () => {
  for (const source of shipped.filter(({ name }) => !isFake(name))) {
    for (const to of imports(source)) expect(isFake(to), `${source.name} imports ${to}`).toBe(false);
  }
});

test("the frame's bootstrap takes nothing of the shell along", () => {
  for (const source of shipped.filter(({ name }) => name.startsWith("gadget/frame/"))) {
    for (const to of imports(source)) expect(to, `${source.name} imports ${to}`).toMatch(/^gadget\/frame\//);
  }
});

test("files stay short enough to read", () => {
  for (const { name, text } of sources) expect(text.split("\n").length, name).toBeLessThanOrEqual(400);
});
