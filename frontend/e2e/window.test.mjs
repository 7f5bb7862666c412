// What a person does with the real window, by mouse and keyboard.
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
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
  await desktop.picture(`${folder}/${name}.png`);
}

const lanesAre = (gadget, want) => until(JSON.stringify(want), async () => {
  const lanes = await desktop.lanes(gadget).catch(() => undefined);
  return JSON.stringify(lanes) === JSON.stringify(want);
});

test("a Board in the window: two views, a drag, a kill, and everything is there", async () => {
  await desktop.openWindow();
  await desktop.painted();
  await desktop.click(424, 265); // the first blueprint's card
  const gadget = await until("the new Board", async () => (await desktop.json("list")).workspaces[0]?.gadgets[0]?.id);
  await until("an open view", async () => (await desktop.json("list")).workspaces[0].gadgets[0].views === 1);
  await lanesAre(gadget, { "To do": [], Doing: [], Done: [] });
  await desktop.still();
  await desktop.click(307, 195); // "Add a card" below "To do"
  for (const title of ["Sharpen the saw", "Oil the hinge"]) {
    await desktop.type(title);
    await desktop.key("Return");
  }
  await desktop.key("Escape");
  await lanesAre(gadget, { "To do": ["Sharpen the saw", "Oil the hinge"], Doing: [], Done: [] });
  await desktop.drag([330, 155], [650, 170]);
  await lanesAre(gadget, { "To do": ["Oil the hinge"], Doing: ["Sharpen the saw"], Done: [] });
  await picture("one-view");

  // The other view shows what was moved: its own keyboard moves the same card on.
  await desktop.click(1135, 24);
  await until("two views", async () => (await desktop.json("list")).workspaces[0].gadgets[0].views === 2);
  await desktop.still();
  await picture("two-views");
  await desktop.click(900, 700); // the empty floor of the right view
  await desktop.key("Down", "Right", "alt+Right");
  await lanesAre(gadget, { "To do": ["Oil the hinge"], Doing: [], Done: ["Sharpen the saw"] });

  assert.equal((await desktop.end("SIGKILL")).signal, "SIGKILL");
  await desktop.openWindow();
  await desktop.painted();
  await lanesAre(gadget, { "To do": ["Oil the hinge"], Doing: [], Done: ["Sharpen the saw"] });
  await picture("after-kill");
});

test("a second start brings the first one's window to the front and ends", async () => {
  await desktop.openWindow();
  await desktop.painted();
  const again = await desktop.command("open");
  assert.equal(again.code, 0, again.stderr);
  const served = await desktop.command("serve");
  assert.equal(served.code, 4);
  assert.match(served.stderr, /in use/);
});

test("a damaged data folder is explained in a window and left as it is", async () => {
  await mkdir(desktop.data, { mode: 0o700 });
  await writeFile(`${desktop.data}/profile.db`, "rubbish");
  await desktop.openWindow();
  await desktop.painted();
  await picture("trouble");
  await desktop.key("alt+F4");
  assert.deepEqual(await desktop.ended, { code: 4, signal: null });
  assert.match(desktop.errors, /damaged[^]*What to do/);
  assert.equal(await readFile(`${desktop.data}/profile.db`, "utf8"), "rubbish");
});

test("a signal ends the window cleanly", async () => {
  await desktop.openWindow();
  await desktop.painted();
  assert.deepEqual(await desktop.end("SIGTERM"), { code: 0, signal: null });
});

test("the window comes back where it was, as large as it was; F11 and zoom are the window's", async () => {
  await desktop.openWindow({ sized: false });
  await desktop.move(60, 70);
  await desktop.resize(900, 600);
  await until("the place", async () => (await desktop.remembered()).last?.width === 900);
  await desktop.painted();
  const stood = await desktop.geometry();
  await desktop.key("F11");
  await until("a full screen", async () => (await desktop.geometry()).width === 1400);
  await desktop.key("F11");
  await until("the place before", async () => (await desktop.geometry()).width === 900);
  await desktop.key("ctrl+plus", "ctrl+equal", "ctrl+minus", "ctrl+plus");
  await until("the zoom", async () => (await desktop.remembered()).zoom === 125);
  await picture("zoomed");
  await desktop.end("SIGKILL");
  await desktop.openWindow({ sized: false });
  await until("the same place", async () => JSON.stringify(await desktop.geometry()) === JSON.stringify(stood));
  await desktop.painted();
  await desktop.still();
  await picture("zoomed-again");
  await desktop.end();

  // Whatever stands in the file, the window is on the screen; a maximised one comes back maximised.
  const layout = Object.keys((await desktop.remembered()).places)[0];
  for (const [places, check] of [
    [{ [layout]: { x: 90_000, y: -7, width: 1e15, height: -3 } }, (now) => now.x >= 0 && now.width <= 1400 && now.x < 24 && now.height >= 360],
    [{ [layout]: { x: 100, y: 100, width: 700, height: 500, maximised: true } }, (now) => now.width === 1400],
  ]) {
    await writeFile(`${desktop.data}/window.json`, JSON.stringify({ places }));
    await desktop.openWindow({ sized: false });
    await until(JSON.stringify(places), async () => check(await desktop.geometry()));
    await desktop.end();
  }
});
