// The real window on an X display: starting and killing it, mouse and keyboard through xdotool, pictures of it.
import { execFile, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Program, binary } from "./program.mjs";

const execute = promisify(execFile);
// A tool that is pointed at a window that has gone may wait for ever.
const run = (program, args) => execute(program, args, { timeout: 20_000 });

/** Calls ask until it gives something, for at most so many milliseconds. */
export async function until(what, ask, within = 20_000) {
  const end = Date.now() + within;
  for (;;) {
    const found = await ask();
    if (found) return found;
    if (Date.now() > end) throw new Error(`it did not happen within ${within / 1000} s: ${what}`);
    await sleep(100);
  }
}

export class Desktop extends Program {
  static async make() {
    return new Desktop((await Program.make()).root);
  }

  /** Opens the window and waits until the window system has it. Without sized it stays as large as it comes. */
  async openWindow({ attack = false, environment = {}, sized = true } = {}) {
    const path = resolve(binary, attack ? "../attack/toolshed-window" : "../toolshed-window");
    const child = spawn(path, ["open"], { env: { ...this.environment, ...environment }, stdio: ["ignore", "inherit", "pipe"] });
    this.child = child;
    this.errors = "";
    child.stderr.on("data", (chunk) => (this.errors += chunk));
    this.ended = new Promise((done) => child.once("exit", (code, signal) => {
      this.window = undefined;
      done({ code, signal });
    }));
    this.window = await until("the window", async () => {
      if (child.exitCode !== null) throw new Error(`the window ended with ${child.exitCode}: ${this.errors}`);
      const { stdout } = await run("xdotool", ["search", "--onlyvisible", "--pid", String(child.pid), "--name", "^Toolshed$"]).catch(() => ({ stdout: "" }));
      return stdout.trim().split("\n").at(-1);
    });
    if (sized) await this.resize(1280, 820);
    await run("xdotool", ["windowactivate", "--sync", this.window]);
  }

  async resize(width, height) {
    const now = await this.geometry();
    // With --sync a change to what is already there never ends.
    if (now.width !== width || now.height !== height) await run("xdotool", ["windowsize", "--sync", this.window, width, height].map(String));
  }

  async move(x, y) {
    await run("xdotool", ["windowmove", this.window, x, y].map(String));
  }

  /** Where the window is and how large. */
  async geometry() {
    const { stdout } = await run("xdotool", ["getwindowgeometry", "--shell", this.window]);
    const { X, Y, WIDTH, HEIGHT } = Object.fromEntries(stdout.trim().split("\n").map((line) => line.split("=")));
    return { x: Number(X), y: Number(Y), width: Number(WIDTH), height: Number(HEIGHT) };
  }

  /** What the window remembers. */
  async remembered() {
    return JSON.parse(await readFile(`${this.data}/window.json`, "utf8").catch(() => "{}"));
  }

  async key(...names) {
    await run("xdotool", ["key", "--delay", "40", ...names]);
  }

  async type(text) {
    await run("xdotool", ["type", "--delay", "12", text]);
  }

  async click(x, y) {
    // With --sync a move to where the pointer is already never ends.
    await run("xdotool", ["mousemove", "--window", this.window, x + 1, y, "mousemove", "--sync", "--window", this.window, x, y, "click", "1"].map(String));
  }

  async drag(from, to) {
    const at = (x, y) => run("xdotool", ["mousemove", "--window", this.window, Math.round(x), Math.round(y)].map(String));
    await at(...from);
    await run("xdotool", ["mousedown", "1"]);
    for (let n = 1; n <= 12; n += 1) {
      await at(from[0] + ((to[0] - from[0]) * n) / 12, from[1] + ((to[1] - from[1]) * n) / 12);
      await sleep(25);
    }
    await run("xdotool", ["mouseup", "1"]);
  }

  /** Waits for a dialog of the system's with this title and returns its window. */
  async dialog(title) {
    const found = await until(`a dialog “${title}”`, async () => {
      const { stdout } = await run("xdotool", ["search", "--onlyvisible", "--name", `^${title}$`]).catch(() => ({ stdout: "" }));
      return stdout.trim().split("\n").at(-1);
    });
    await run("xdotool", ["windowactivate", "--sync", found]);
    return found;
  }

  /** Types an answer into a dialog in place of the one that it suggests, and waits until the dialog is gone. */
  async answer(dialog, text) {
    await this.key("ctrl+a");
    await this.type(text);
    await this.key("Return");
    await until("the end of the dialog", async () => {
      const { stdout } = await run("xdotool", ["search", "--onlyvisible", "--name", ".*"]).catch(() => ({ stdout: "" }));
      return !stdout.split("\n").includes(dialog);
    });
  }

  /** Takes a picture of the window, if it is there, or of the whole screen. */
  async picture(path, { screen = false } = {}) {
    if (!this.window) return;
    await run("import", ["-window", screen ? "root" : this.window, path]);
  }

  /** How many colours the window shows: one that has painted nothing shows one. */
  async colours() {
    const { stdout } = await run("sh", ["-c", `import -window ${this.window} png:- | identify -format %k png:-`]);
    return Number(stdout);
  }

  async painted() {
    await until("the window's first picture", async () => (await this.colours()) > 50);
  }

  /** Waits until the window shows the same picture for a second. */
  async still() {
    let last;
    let since = Date.now();
    await until("a window that stands still", async () => {
      const { stdout } = await run("sh", ["-c", `import -window ${this.window} rgb:- | md5sum`]);
      if (stdout !== last) [last, since] = [stdout, Date.now()];
      return Date.now() - since > 1_000;
    });
  }

  /** A Board as { column title: [card titles] }. */
  async lanes(gadget) {
    const board = await this.json("call", gadget, "snapshot");
    const titles = Object.fromEntries(board.cards.map((card) => [card.id, card.title]));
    return Object.fromEntries(board.columns.map((column) => [column.title, column.cards.map((id) => titles[id])]));
  }
}
