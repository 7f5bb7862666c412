// The page over the kernel in memory, in a real browser under the real
// policies: what a person does with it, and what axe says about every state.
// Run with: node --test e2e/page.test.mjs
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import { launchBrowser } from "./browser.mjs";
import { GadgetPage, HomePage, ShellPage } from "./pages.mjs";
import { serveFake } from "./serve_fake.mjs";

let site;
let browser;

before(async () => {
  site = await serveFake();
  browser = await launchBrowser();
});
after(async () => {
  await browser?.close();
  site?.close();
});

/** Runs one story on a fresh page; a script error or a refused resource of the shell fails it. */
async function story(tell, { query = "", scheme = "light", quiet = true } = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 720 }, colorScheme: scheme, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(8_000);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (line) => /Content Security Policy/.test(line.text()) && wrong.push(line.text()));
  try {
    await page.goto(site.address + query);
    await new ShellPage(page).ready();
    await tell(page, new ShellPage(page), new HomePage(page), new GadgetPage(page));
    if (quiet) assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
}

test("a first-time person makes a board, adds a card, and sees it in a second view", () =>
  story(
    async (page, _shell, home) => {
      const gadget = await home.make("board");
      await gadget.openSecondView();
      const field = gadget.frame(0).getByLabel("Add a card").first();
      await field.fill("Buy glue");
      await field.press("Enter");
      await gadget.frame(1).getByText("Buy glue").waitFor();
      await page.getByText("2 views open").waitFor();
    },
    { query: "?empty" },
  ));

test("a gadget is renamed in place, and Escape leaves the name as it was", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.rename("Bench");
    await shell.row("Bench").waitFor();
    assert.equal(await gadget.title.textContent(), "Bench");
    await gadget.menu("Rename gadget");
    await page.keyboard.type("Nothing");
    await page.keyboard.press("Escape");
    assert.equal(await gadget.title.textContent(), "Bench");
  }));

test("deleting names what is lost, starts on the safe answer, and leads home", () =>
  story(async (page, shell, home) => {
    await shell.openRow("Costs");
    await shell.rowMenu("Trip to Lisbon", "Delete workspace");
    await shell.question.getByText("“Route”, “Which weekend?” and “Costs”").waitFor();
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Cancel");
    await shell.answer("Cancel");
    assert.equal(await shell.row("Trip to Lisbon").count(), 1);
    await shell.rowMenu("Trip to Lisbon", "Delete workspace");
    await shell.answer("Delete workspace");
    await home.heading.getByText("What do you want to make?").waitFor();
    assert.equal(await shell.row("Trip to Lisbon").count(), 0);
  }));

test("full screen by F, left by Escape from inside the frame", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.frame().getByText("Oil the workbench top").waitFor();
    await gadget.fullScreen();
    assert.equal(await shell.sidebar.count(), 0);
    await gadget.frame().getByLabel("Add a card").first().click();
    await page.keyboard.press("f");
    await page.keyboard.press("Escape");
    await shell.sidebar.waitFor();
    assert.equal(await gadget.frame().getByLabel("Add a card").first().inputValue(), "f");
  }));

test("keys typed into a text field are not shortcuts", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.showConsole();
    await gadget.console.getByLabel("Filter lines").fill("");
    await gadget.console.getByLabel("Filter lines").press("f");
    assert.equal(await shell.sidebar.count(), 1);
  }));

test("the palette finds by any word and works from inside a frame", () =>
  story(async (page, shell, home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.frame().getByLabel("Add a card").first().click();
    await page.keyboard.press("Control+k");
    await shell.palette.waitFor();
    await page.keyboard.type("lisbon cos");
    await page.keyboard.press("Enter");
    await gadget.title.getByText("Costs").waitFor();
    await shell.run("home");
    await home.blueprints.waitFor();
  }));

test("the console shows both halves, filters, and follows the end until it is scrolled", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.showConsole();
    await gadget.consoleLine("board ready").waitFor();
    await gadget.consoleLine("view ready { columns: 3 }").waitFor();
    await gadget.console.getByRole("radio", { name: "View" }).check({ force: true });
    await gadget.consoleLine("board ready").waitFor({ state: "hidden" });
    await gadget.console.getByRole("radio", { name: "Both" }).check({ force: true });
    const say = (text, times) =>
      page.evaluate(
        ([text, times]) => {
          const w = window.fake.state.workspaces[0];
          const lines = Array.from({ length: times }, (_, i) => ({ level: "log", text: `${text} ${i}`, time: Date.now(), source: "server" }));
          window.fake.log(window.fake.instance({ workspace: w.id, gadget: w.gadgets[0].id }), lines);
        },
        [text, times],
      );
    await say("first", 1500);
    await gadget.consoleLine("first 1499").waitFor();
    assert.ok((await gadget.console.locator("[data-level]").count()) <= 1000);
    const log = gadget.console.getByRole("log");
    const distance = () => log.evaluate((at) => at.scrollHeight - at.scrollTop - at.clientHeight);
    assert.ok((await distance()) < 8, "it follows");
    await log.evaluate((at) => at.scrollTo(0, 0));
    await gadget.console.getByRole("button", { name: "Go to the end" }).waitFor();
    await say("second", 5);
    await page.waitForTimeout(100);
    assert.ok((await distance()) > 100, "it stays where the person scrolled");
    await gadget.console.getByRole("button", { name: "Go to the end" }).click();
    await gadget.consoleLine("second 4").waitFor();
    await page.waitForFunction(() => {
      const at = document.querySelector('[role="log"]');
      return at.scrollHeight - at.scrollTop - at.clientHeight < 8;
    });
  }));

test("a link is shown whole and asked about; nothing is opened before", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Costs");
    await gadget.running();
    await page.evaluate(() => {
      window.opened = [];
      window.open = (...args) => void window.opened.push(args);
    });
    await gadget.frame().getByRole("link").click();
    assert.equal((await shell.question.locator("[data-address]").textContent()).trim(), "https://example.com/joinery?page=2&from=toolshed");
    assert.deepEqual(await page.evaluate(() => window.opened), []);
    await shell.answer("Open in browser");
    assert.deepEqual(await page.evaluate(() => window.opened), [["https://example.com/joinery?page=2&from=toolshed", "_blank", "noopener,noreferrer"]]);
  }));

test("a view that the kernel ends comes back by itself with what was stored", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    const field = gadget.frame().getByLabel("Add a card").first();
    await field.fill("Survives");
    await field.press("Enter");
    await gadget.frame().getByText("Survives").waitFor();
    await page.evaluate(() => window.fake.dropViews(window.fake.state.workspaces[0].gadgets[0].id));
    await page.waitForFunction(() => window.fake.opened === 2);
    await gadget.running();
    await gadget.frame().getByText("Survives").waitFor();
  }));

test("the page lives through a restart of the program, by itself or at a press of Try now", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    const stop = () => page.evaluate(() => ((window.fake.up = false), window.fake.drop()));
    const back = async () => {
      await page.getByText("Toolshed is not answering.").waitFor({ state: "hidden" });
      await gadget.running();
      await gadget.frame().getByText("Oil the workbench top").waitFor();
    };

    await stop();
    await page.getByText("Toolshed is not answering.").waitFor();
    await page.evaluate(() => (window.fake.up = true));
    await back();

    await stop();
    // The program is there again from the press on: were it there before, the
    // page might come back by itself and take the button away.
    await page.evaluate(() => addEventListener("pointerdown", () => (window.fake.up = true), { once: true, capture: true }));
    await page.getByRole("button", { name: "Try now" }).click();
    await back();
  }));

test("code that fails says so, and Restart tries again", () =>
  story(
    async (page, shell, _home, gadget) => {
      await page.evaluate(() => window.fake.make("broken", "Accounts"));
      await shell.openRow("Accounts");
      await gadget.problem.getByText("Cannot read properties of undefined").waitFor();
      const before = await page.evaluate(() => window.fake.opened);
      await gadget.problem.getByRole("button", { name: "Restart gadget" }).click();
      await page.waitForFunction((n) => window.fake.opened > n, before);
      await gadget.problem.getByText("Cannot read properties of undefined").waitFor();
    },
    { quiet: false },
  ));

test("a stopped gadget says why and starts again on request", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await page.evaluate(() => {
      const w = window.fake.state.workspaces[0];
      const problem = { kind: "cpu", what: "it used more than 30 s of CPU", why: "move() did not end", todo: "restart it" };
      window.fake.edit({ workspace: w.id, gadget: w.gadgets[0].id }, (g) => Object.assign(g, { status: "stopped", problem }));
      window.fake.dropViews(w.gadgets[0].id);
    });
    await gadget.problem.getByText("It used more than 30 s of CPU").waitFor();
    await gadget.problem.getByRole("button", { name: "Restart gadget" }).click();
    await gadget.running();
  }));

test("a call that fails becomes a notice with the kernel's words, until it is dismissed", () =>
  story(async (page, shell, _home, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.menu("Delete gadget");
    await page.evaluate(() => {
      window.fake.find = () => {
        throw Object.assign(new Error("x"), { kind: "full", what: "the disk is full", why: "0 bytes are left", todo: "free some space" });
      };
    });
    await shell.answer("Delete gadget");
    await shell.notices.getByText("The disk is full. 0 bytes are left. Free some space.").waitFor();
    await shell.notices.getByRole("button", { name: "Dismiss" }).click();
    await shell.notices.waitFor({ state: "hidden" });
  }));

test("everything is reached by keyboard, and the focus is seen", () =>
  story(async (page, shell, home, gadget) => {
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.dataset.blueprint), "board");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle), "none");
    await page.keyboard.press("Enter");
    await gadget.running();
    await shell.row("Board").first().focus();
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Workshop");
  }));

/** Opens the board with other code in its view. */
async function withCode(page, shell, code) {
  await page.evaluate((code) => (window.fake.kinds[0].client = code), code);
  await shell.openRow("Workshop");
}

test("a frame that floods is cut off, and the page goes on", () =>
  story(
    async (page, shell, home, gadget) => {
      await withCode(page, shell, "document.body.innerHTML = '<p>flood'; for (let i = 0; i < 200000; i++) gadget.add(0, 'x');");
      await gadget.problem.getByText("more than 5,000 messages a second").waitFor({ timeout: 20_000 });
      await shell.home();
      await home.heading.waitFor();
    },
    { quiet: false },
  ));

test("a frame that leaves its document loses its view; the shell goes nowhere", () =>
  story(
    async (page, shell, _home, gadget) => {
      await withCode(page, shell, "document.body.innerHTML = '<p>away'; location.href = 'https://example.com/?secret'; location.href = location.origin + '/frame/again';");
      await page.waitForTimeout(1500);
      assert.equal(new URL(page.url()).origin, site.address);
      assert.ok(!page.frames().some((frame) => /example\.com/.test(frame.url())));
      assert.equal(await gadget.title.textContent(), "Workshop");
    },
    { quiet: false },
  ));

test("a frame without the person in it opens no question and no palette", () =>
  story(async (page, shell, _home, gadget) => {
    const steal = `
      const own = MessagePort.prototype.postMessage;
      let port;
      MessagePort.prototype.postMessage = function (...args) { port = this; return own.apply(this, args); };
      document.body.innerHTML = "<p>here";
      gadget.add(0, "x");
      parent.postMessage({ open: "https://example.com/" }, "*");
      setInterval(() => { for (const m of [{ open: "https://example.com/" }, { key: "Mod+K" }, { key: "Escape" }]) if (port) own.call(port, m); }, 20);`;
    await withCode(page, shell, steal);
    await gadget.running();
    await gadget.fullScreen();
    await page.waitForTimeout(600);
    assert.equal(await shell.question.count(), 0);
    assert.equal(await shell.palette.count(), 0);
    assert.equal(await shell.sidebar.count(), 0, "it stays in full screen");
  }));

test("a frame has no network, no storage, no way up and no second hello", () =>
  story(
    async (page, shell, _home, gadget) => {
      const probe = `
        const tried = {};
        const attempt = async (name, f) => { try { await f(); tried[name] = "worked"; } catch { tried[name] = "refused"; } };
        await attempt("fetch", () => fetch("/"));
        await attempt("storage", () => localStorage.length);
        await attempt("parent", () => parent.document.title);
        await attempt("socket", () => new Promise((ok, no) => { const s = new WebSocket("ws://" + location.host + "/pipe"); s.onopen = ok; s.onerror = no; }));
        await attempt("popup", () => { if (!open("about:blank")) throw 0; });
        const spare = new MessageChannel();
        await attempt("hello", () => new Promise((ok, no) => { spare.port1.onmessage = ok; setTimeout(no, 300); parent.postMessage({ gadgetRpc: 1, encoding: "string" }, "*", [spare.port2]); }));
        document.body.textContent = JSON.stringify(tried);`;
      await withCode(page, shell, probe);
      await gadget.running();
      const text = await gadget.frame().locator("body").textContent();
      assert.deepEqual(JSON.parse(text), { fetch: "refused", storage: "refused", parent: "refused", socket: "refused", popup: "refused", hello: "refused" });
    },
    { quiet: false },
  ));

const states = {
  home: async () => {},
  workspace: async (_page, shell, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
  },
  "two views and the console": async (_page, shell, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await gadget.openSecondView();
    await gadget.showConsole();
    await gadget.consoleLine("view ready").first().waitFor();
  },
  palette: async (page, shell) => {
    await page.keyboard.press("Control+k");
    await shell.palette.waitFor();
  },
  question: async (_page, shell) => shell.rowMenu("Trip to Lisbon", "Delete workspace"),
  menu: async (page, shell, gadget) => {
    await shell.openRow("Costs");
    await gadget.running();
    await page.locator("main header").getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menu").waitFor();
  },
  error: async (page, shell, gadget) => {
    await page.evaluate(() => (window.fake.failOpen = { kind: "syntax", what: "server.js has a mistake", why: "line 3", todo: "correct it", detail: "SyntaxError" }));
    await shell.openRow("Workshop");
    await gadget.problem.waitFor();
  },
  reconnecting: async (page, shell, gadget) => {
    await shell.openRow("Workshop");
    await gadget.running();
    await page.evaluate(() => {
      window.fake.delay = 60_000;
      window.fake.dropViews(window.fake.state.workspaces[0].gadgets[0].id);
    });
    await gadget.reconnecting.waitFor();
  },
  denied: async (page) => {
    await page.evaluate(() => {
      window.fake.denied = { kind: "denied", what: "This page needs a fresh link.", why: "It was used.", todo: "Open another." };
      window.fake.drop();
    });
    await page.getByText("This page needs a fresh link").waitFor();
  },
  notices: async (page, shell) => {
    await page.evaluate(() => window.fake.change((s) => s.notices.push({ id: "1", level: "warning", text: "The disk is almost full.", todo: "Free some space." })));
    await shell.notices.waitFor();
  },
};
for (const [name, reach] of Object.entries(states)) {
  for (const scheme of ["light", "dark"]) {
    test(`axe finds nothing: ${name}, ${scheme}`, () =>
      story(
        async (page, shell, _home, gadget) => {
          await reach(page, shell, gadget);
          await page.waitForTimeout(250);
          // What stands in a frame is the gadget's own affair.
          const found = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]).exclude("iframe").analyze();
          assert.deepEqual(
            found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`),
            [],
          );
        },
        { scheme },
      ));
  }
}
