// What leaves the real window and what comes in, by the person's hand: files that are saved, addresses that are opened.
import assert from "node:assert/strict";
import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Desktop, until } from "./desktop.mjs";

let desktop;
beforeEach(async () => (desktop = await Desktop.make()));
afterEach(async () => {
  await picture("last");
  await desktop.remove();
});

async function picture(name) {
  const folder = process.env.TOOLSHED_SHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  await desktop.picture(`${folder}/outside-${name}.png`, { screen: true }); // the system's dialogs too
}

// One thing to click fills the view; what it was given, the gadget tells on request.
const page = (html, script = "") => ({
  "server.js": `import { DurableObject } from "cloudflare:workers";
export class Gadget extends DurableObject { said = []; say(x) { this.said.push(x); } all() { return this.said; } }`,
  "client.js": `document.body.innerHTML = ${JSON.stringify(`<style>body { margin: 0; height: 100vh; display: grid; grid-auto-rows: 1fr } .all { font: 24px sans-serif }</style>${html}`)};
${script}`,
});

/** Opens the window on a gadget with this page. */
async function open(html, script, environment) {
  const ref = await desktop.json("new", "--blueprint", "board", "--title", "Parcel");
  await desktop.push(ref, page(html, script));
  await desktop.openWindow({ environment });
  await desktop.painted();
  await desktop.still();
  await desktop.click(120, 172); // its row in the sidebar
  await until("an open view", async () => (await desktop.json("list")).workspaces[0].gadgets[0].views === 1);
  await desktop.still();
  return ref.gadget;
}

test("a gadget's file and an address leave the window by the person's hand alone", async () => {
  const [folder, tools, opened] = ["papers", "tools", "opened"].map((name) => join(desktop.root, name));
  await Promise.all([mkdir(folder), mkdir(tools), writeFile(opened, "")]);
  await writeFile(join(tools, "xdg-open"), `#!/bin/sh\nprintf '%s\\n' "$@" >> ${opened}\n`, { mode: 0o755 });
  const address = "https://example.com/a?b=c&d=$(id)#e";
  await open(
    `<a class="all" download="../list.csv">Save</a><a class="all" target="_blank" href="${address}">Open</a>`,
    `document.querySelector("a").href = URL.createObjectURL(new Blob([new Uint8Array(3 << 20).fill(0x61)]));`,
    { PATH: `${tools}:${process.env.PATH}` },
  );
  const [saves, opens] = [[700, 200], [700, 700]];
  const agree = async () => {
    await desktop.still();
    await desktop.key("Tab", "Return");
  };
  const where = async (path) => desktop.answer(await desktop.dialog("Save file"), path);
  const there = (name) => until(name, () => stat(join(folder, name)).catch(() => undefined));

  await desktop.click(...saves);
  await agree();
  await where(join(folder, "list.csv"));
  const saved = await there("list.csv");
  assert.equal(saved.mode & 0o7777, 0o666 & ~process.umask());
  assert.ok((await readFile(join(folder, "list.csv"))).equals(Buffer.alloc(3 << 20, "a")));

  // What cannot be saved is said in the question, which stays. The next one begins where the last went: a bare name is enough.
  await desktop.still();
  await desktop.click(...saves);
  await agree();
  await where("/proc/list.csv");
  await desktop.still();
  await picture("failed");
  await desktop.key("Return"); // "Try again", which has the focus still
  await where("second.csv");
  await there("second.csv");
  assert.deepEqual((await readdir(folder)).sort(), ["list.csv", "second.csv"]);

  await desktop.still();
  await desktop.click(...opens);
  await desktop.still();
  await picture("address");
  await desktop.key("Escape");
  await desktop.still();
  await desktop.click(...opens);
  await agree();
  await until("the address", async () => (await readFile(opened, "utf8")) === `${address}\n`); // once, for the second click

  // A program that is told to end does not wait for the answer to a dialog.
  await desktop.still();
  await desktop.click(...saves);
  await agree();
  await desktop.dialog("Save file");
  assert.deepEqual(await desktop.end("SIGTERM"), { code: 0, signal: null });
});
