// Pages that are not ours, in the browser that has Toolshed open: on other ports of this computer, and under a foreign name
// that was made to point here. Each attack is tried on a program that leaves out the one check that stops it, where it must
// work (else it proves nothing), and on the whole program, where none may. What needs no browser is in app/serve.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createServer } from "node:http";
import { dirname, join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { launchBrowser } from "./browser.mjs";
import { Program } from "./program.mjs";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const weak = join(root, "build/bin/foreign/toolshed");
const rebound = "rebound.example";

let browser, neighbour;
before(async () => {
  const environment = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-trimpath" };
  await promisify(execFile)("go", ["build", "-tags", "attack", "-o", weak, "."], { cwd: root, env: environment });
  browser = await launchBrowser([`--host-resolver-rules=MAP ${rebound} 127.0.0.1`]);
  neighbour = createServer((_request, response) => response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>neighbour</title><body></body>"));
  await new Promise((ready) => neighbour.listen(0, "127.0.0.1", ready));
});
after(async () => {
  await browser?.close();
  neighbour?.close();
});

/** A running Toolshed whose link nobody has used, and a browser. */
class Scene {
  static async set(without) {
    const scene = new Scene();
    scene.program = await Program.make();
    const { environment } = scene.program;
    const child = spawn(weak, ["serve", "--json"], { env: { ...environment, TOOLSHED_WITHOUT: without }, stdio: ["ignore", "pipe", "inherit"] });
    scene.program.child = child;
    scene.program.ended = new Promise((done) => child.once("exit", (code, signal) => done({ code, signal })));
    let text = "";
    for await (const chunk of child.stdout) {
      text += chunk;
      if (text.trimEnd().endsWith("}")) break;
    }
    scene.link = JSON.parse(text).link;
    scene.origin = new URL(scene.link).origin;
    scene.context = await browser.newContext();
    scene.context.setDefaultTimeout(15_000);
    return scene;
  }

  async strike() {
    await this.context.close();
    await this.program.remove();
  }

  /** The person opens the link. */
  async enter(context = this.context) {
    const page = await context.newPage();
    await page.goto(this.link);
    return page;
  }

  /** Whether that page was let in. */
  async entered(page) {
    const main = page.locator("main").filter({ has: page.getByRole("heading") });
    await main.waitFor();
    return (await page.getByText("What do you want to make?").count()) > 0;
  }

  /** A page of another port of this computer, by its number or its name. */
  async foreign(host = "127.0.0.1") {
    const page = await this.context.newPage();
    await page.goto(`http://${host}:${neighbour.address().port}/`);
    return page;
  }

  /** Loads an element in a foreign page and says whether the browser gave it what it names. */
  async takesIn(host, tag, attributes) {
    const page = await this.foreign(host);
    return page.evaluate(
      ([tag, attributes]) =>
        new Promise((done) => {
          const element = document.createElement(tag);
          element.onload = () => done(true);
          element.onerror = () => done(false);
          for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
          document.body.append(element);
        }),
      [tag, attributes],
    );
  }

  async asset(extension) {
    const text = await (await fetch(this.origin)).text();
    return this.origin + new RegExp(`"(/assets/[^"]+\\.${extension})"`).exec(text)[1];
  }

  /** Whether a foreign page that shows ours in an element of its own got it. */
  async frames(tag, attribute) {
    const page = await this.foreign();
    await page.evaluate(([tag, attribute, address]) => {
      const element = document.createElement(tag);
      element.setAttribute(attribute, address);
      document.body.append(element);
    }, [tag, attribute, this.origin + "/"]);
    const shows = async () => (await Promise.all(page.frames().slice(1).map((frame) => frame.locator("#root").count().catch(() => 0)))).some(Boolean);
    for (let n = 0; n < 15; n += 1) {
      if (await shows()) return true;
      await page.waitForTimeout(100);
    }
    return false;
  }

  /** A page of a foreign name that was made to point here. */
  async rebind() {
    const page = await this.context.newPage();
    await page.goto(`http://${rebound}:${new URL(this.origin).port}/icon.png`);
    return page;
  }

  /** Whether the link still lets the person in after a foreign page had it. */
  async burned(send) {
    const page = await this.foreign();
    await page.evaluate(send, { address: `${this.origin}/exchange`, body: JSON.stringify({ link: new URL(this.link).hash.slice(1) }) });
    await page.waitForTimeout(300);
    return !(await this.entered(await this.enter()));
  }
}

/** Check, then the attacks that it alone stops. Each answers whether it got what it is after. */
const attacks = {
  embed: {
    "an image, from another port": (scene) => scene.takesIn("127.0.0.1", "img", { src: `${scene.origin}/icon.png` }),
    "an image, from localhost": (scene) => scene.takesIn("localhost", "img", { src: `${scene.origin}/icon.png` }),
    "the page's script": async (scene) => scene.takesIn("127.0.0.1", "script", { src: await scene.asset("js") }),
    "the page's styles": async (scene) => scene.takesIn("localhost", "link", { rel: "stylesheet", href: await scene.asset("css") }),
    "a fetch that cannot be read but shows that we are here": async (scene) =>
      (await scene.foreign()).evaluate((address) => fetch(address, { mode: "no-cors" }).then(() => true, () => false), scene.origin + "/"),
  },
  framing: {
    "in an iframe": (scene) => scene.frames("iframe", "src"),
    "in an object": (scene) => scene.frames("object", "data"),
    "in an embed": (scene) => scene.frames("embed", "src"),
  },
  opener: {
    "a page that opens ours counts its frames": async (scene) => {
      const page = await scene.foreign();
      return page.evaluate(async (address) => {
        const ours = open(address);
        await new Promise((done) => setTimeout(done, 1_000));
        return !ours.closed && ours.length === 0;
      }, scene.origin + "/");
    },
    "a page that opens ours puts another in its place": async (scene) => {
      const page = await scene.foreign();
      const opened = scene.context.waitForEvent("page");
      const away = page.evaluate(async (address) => {
        const ours = open(address);
        await new Promise((done) => setTimeout(done, 1_000));
        ours.location = "about:blank#taken";
        await new Promise((done) => setTimeout(done, 500));
      }, scene.origin + "/");
      const ours = await opened;
      await away;
      return !ours.url().startsWith(scene.origin);
    },
  },
  exchange: {
    "a form uses the link up": (scene) =>
      scene.burned(({ address, body }) => {
        const form = document.createElement("form");
        Object.assign(form, { method: "post", action: address, enctype: "text/plain" });
        const field = document.createElement("input");
        [field.name, field.value] = [body.slice(0, -1) + ',"x":"', '"}'];
        form.append(field);
        document.body.append(form);
        form.submit();
      }),
    "a fetch uses the link up": (scene) => scene.burned(({ address, body }) => void fetch(address, { method: "POST", mode: "no-cors", body }).catch(() => {})),
    "a beacon uses the link up": (scene) => scene.burned(({ address, body }) => void navigator.sendBeacon(address, body)),
  },
  pipe: {
    "a foreign page with the token takes over": async (scene) => {
      const own = await scene.enter();
      await scene.entered(own);
      const token = await own.evaluate(() => sessionStorage.getItem("toolshed.token"));
      const page = await scene.foreign();
      return page.evaluate(
        ([address, token]) =>
          new Promise((done) => {
            const socket = new WebSocket(address);
            socket.onopen = () => socket.send(JSON.stringify({ token }));
            socket.onmessage = (event) => done(event.data.includes("ok"));
            socket.onclose = () => done(false);
          }),
        [scene.origin.replace("http", "ws") + "/pipe", token],
      );
    },
  },
  host: {
    "a name that was made to point here reads the page": async (scene) => {
      const page = await scene.rebind();
      return page.evaluate(async () => (await (await fetch("/")).text()).includes('id="root"'));
    },
    "a name that was made to point here shows the page as its own": async (scene) => {
      const page = await scene.rebind();
      const shown = await page.evaluate(async () => {
        const ours = open("/");
        await new Promise((done) => setTimeout(done, 1_000));
        return ours.document?.getElementById("root") !== null;
      });
      return shown;
    },
  },
  link: {
    "a used link, in another browser": async (scene) => {
      await scene.entered(await scene.enter());
      const other = await browser.newContext();
      try {
        return await scene.entered(await scene.enter(other));
      } finally {
        await other.close();
      }
    },
    "a used link, from the history": async (scene) => {
      await scene.entered(await scene.enter());
      return scene.entered(await scene.enter());
    },
  },
};

/** The checks whose attacks use a link up: each of them has a program of its own. */
const spending = ["exchange", "pipe", "link"];

async function on(without, story) {
  const scene = await Scene.set(without);
  try {
    return await story(scene);
  } finally {
    await scene.strike();
  }
}

/** Tries attacks and answers the names of those that work. */
async function working(without, check, scene) {
  const got = [];
  for (const [name, attack] of Object.entries(attacks[check])) {
    if (await (spending.includes(check) ? on(without, attack) : attack(scene))) got.push(name);
  }
  return got;
}

for (const [check, list] of Object.entries(attacks)) {
  test(`without the check ${check}, foreign pages do: ${Object.keys(list).join("; ")}`, () =>
    on(check, async (scene) => assert.deepEqual(await working(check, check, scene), Object.keys(list))));
}

test("with every check foreign pages do nothing of the kind", () =>
  on("", async (scene) => {
    for (const check of Object.keys(attacks)) assert.deepEqual(await working("", check, scene), [], check);
  }));

test("a second tab has to have a link of its own, and what a link left behind is of no use", () =>
  on("", async (scene) => {
    const page = await scene.enter();
    assert.equal(await scene.entered(page), true);
    assert.equal(page.url(), `${scene.origin}/`, "the link stays in the address bar");
    await page.reload();
    assert.equal(await scene.entered(page), true, "a reload locks the person out");
    const second = await scene.context.newPage();
    await second.goto(scene.origin);
    assert.equal(await scene.entered(second), false);
    assert.deepEqual(await scene.context.cookies(), []);
    const neighbour = await scene.foreign();
    assert.equal(await neighbour.evaluate(() => sessionStorage.length + localStorage.length), 0);
    await second.goto(`${scene.origin}/#${"0".repeat(64)}`);
    assert.equal(await scene.entered(second), false);
  }));

test("cookies that a page of another port set for this address lock nobody out", () =>
  on("", async (scene) => {
    const page = await scene.foreign();
    const kept = await page.evaluate(() => {
      for (let n = 0; n < 400; n += 1) document.cookie = `c${n}=${"x".repeat(4_000)}; path=/`;
      return document.cookie.length;
    });
    assert.ok(kept > 100_000, `only ${kept} bytes of cookies`);
    assert.equal(await scene.entered(await scene.enter()), true);
  }));
