// Starts and ends the real program for a test, and changes a gadget's code the way any git can.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
export const binary = resolve(dirname(fileURLToPath(import.meta.url)), "../../build/bin/toolshed");

/** A data folder of its own, with a private folder for sockets, and the program on it. */
export class Program {
  static async make() {
    const root = await mkdtemp(join(tmpdir(), "toolshed-e2e-"));
    await mkdir(join(root, "run"), { mode: 0o700 });
    return new Program(root);
  }

  constructor(root) {
    this.root = root;
    this.data = join(root, "data");
    // The web engine keeps what the page remembers in the person's own folders: a test has its own.
    this.environment = { ...process.env, XDG_RUNTIME_DIR: join(root, "run"), XDG_DATA_HOME: join(root, "share"), XDG_CACHE_HOME: join(root, "cache"), TOOLSHED_DATA: this.data };
  }

  /** Starts `toolshed serve` and returns its one-time link. */
  async serve(...args) {
    const child = spawn(binary, ["serve", "--json", ...args], { env: this.environment, stdio: ["ignore", "pipe", "inherit"] });
    this.child = child;
    this.ended = new Promise((done) => child.once("exit", (code, signal) => done({ code, signal })));
    let text = "";
    return new Promise((found, failed) => {
      child.stdout.on("data", (chunk) => {
        text += chunk;
        try {
          found(JSON.parse(text).link);
        } catch {
          // not whole yet
        }
      });
      child.once("exit", (code) => failed(new Error(`toolshed serve ended with ${code}: ${text}`)));
    });
  }

  /** Ends the program with a signal and waits for its end. */
  async end(signal = "SIGTERM") {
    if (!this.child) return undefined;
    this.child.kill(signal);
    const how = await this.ended;
    this.child = undefined;
    return how;
  }

  /** Runs a command and returns { code, stdout, stderr }. */
  async command(...args) {
    try {
      const { stdout, stderr } = await run(binary, args, { env: this.environment });
      return { code: 0, stdout, stderr };
    } catch (error) {
      return { code: error.code, stdout: error.stdout, stderr: error.stderr };
    }
  }

  async json(...args) {
    const { code, stdout, stderr } = await this.command(...args, "--json");
    if (code !== 0) throw new Error(`toolshed ${args.join(" ")}: ${code}\n${stderr}${stdout}`);
    return JSON.parse(stdout);
  }

  /** Makes a gadget's code these files and nothing else, with the real git. */
  async push({ workspace, gadget }, files) {
    const clone = await mkdtemp(join(this.root, "clone-"));
    const git = (...args) => run("git", ["-C", clone, "-c", "user.name=Ada", "-c", "user.email=ada@localhost", ...args]);
    await run("git", ["clone", "-q", "--branch", `gadgets/${gadget}`, join(this.data, "workspaces", workspace, "code.git"), clone]);
    await git("rm", "-rq", ".");
    for (const [name, text] of Object.entries(files)) await writeFile(join(clone, name), text);
    await git("add", "-A");
    await git("commit", "-qm", "Change the code");
    await git("push", "-q");
  }

  async remove() {
    await this.end("SIGKILL");
    await rm(this.root, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }); // the web engine's helpers end a little later
  }
}
