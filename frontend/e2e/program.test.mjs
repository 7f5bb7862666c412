// What a person does with the real program, in a real browser.
import assert from "node:assert/strict";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import { BoardFrame } from "./board_page.mjs";
import { launchBrowser } from "./browser.mjs";
import { HomePage, ShellPage, GadgetPage } from "./pages.mjs";
import { Program } from "./program.mjs";

let browser, context, program;
before(async () => (browser = await launchBrowser()));
after(() => browser.close());
beforeEach(async () => {
  program = await Program.make();
  context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(15_000);
});
afterEach(async (t) => {
  if (process.env.TOOLSHED_SHOTS) {
    for (const [n, page] of context.pages().entries()) await page.screenshot({ path: `${process.env.TOOLSHED_SHOTS}/${t.name.replace(/\W+/g, "-").slice(0, 40)}-${n}.png` });
  }
  await context.close();
  await program.remove();
});

async function open(link) {
  const page = await context.newPage();
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(error.message));
  await page.goto(link);
  return page;
}

async function accessible(page) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)));
    const { violations } = await new AxeBuilder({ page }).analyze();
    assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`), [], colorScheme);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

test("a Board in two views, a kill, and everything is there", async () => {
  const page = await open(await program.serve());
  await new ShellPage(page).ready();
  await accessible(page);
  const gadget = await new HomePage(page).make("board");
  const left = new BoardFrame(page, gadget.frame(0));
  await left.add("To do", "Sharpen the saw", "Oil the hinge");
  await gadget.openSecondView();
  const right = new BoardFrame(page, gadget.frame(1));
  await right.cardIn("To do", "Oil the hinge").waitFor();
  await left.drag("Sharpen the saw", "Doing");
  await right.cardIn("Doing", "Sharpen the saw").waitFor();
  assert.equal(await right.cardIn("To do", "Sharpen the saw").count(), 0);
  await accessible(page);
  assert.deepEqual(page.problems, []);

  assert.equal((await program.end("SIGKILL")).signal, "SIGKILL");
  const again = await open(await program.serve());
  await (await new ShellPage(again).ready()).openRow("Board");
  const back = new BoardFrame(again, new GadgetPage(again).frame(0));
  await back.cardIn("Doing", "Sharpen the saw").waitFor();
  await back.cardIn("To do", "Oil the hinge").waitFor();
  assert.deepEqual(again.problems, []);
});

test("a Board by keyboard: write, tick, move, search, archive, restore", async () => {
  const page = await open(await program.serve());
  const gadget = await new HomePage(page).make("board");
  const board = new BoardFrame(page, gadget.frame(0));
  await board.add("To do", "Shopping");
  await board.card("Shopping").focus();
  await page.keyboard.press("Enter");
  await board.frame.getByRole("textbox", { name: "Text, in Markdown" }).fill("# List\n- [ ] milk\n- [x] **bread**\n\n<img src=x onerror=alert(1)>");
  await board.frame.getByRole("tab", { name: "Read" }).click();
  await board.frame.getByRole("checkbox").first().check();
  await board.frame.getByRole("button", { name: "Done" }).click();
  await board.card("Shopping").getByText("2/2").waitFor();
  assert.equal(await board.frame.locator("img").count(), 0, "Markdown became HTML");
  await board.card("Shopping").focus();
  await page.keyboard.press("Alt+ArrowRight");
  await board.cardIn("Doing", "Shopping").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("nothing like it");
  await board.frame.locator(".card.dim").waitFor();
  await board.frame.getByRole("searchbox").fill("bread");
  await board.frame.locator(".card:not(.dim)").waitFor();
  await board.card("Shopping").focus();
  await page.keyboard.press("Delete");
  await board.card("Shopping").waitFor({ state: "detached" });
  await board.frame.getByRole("button", { name: "Archive" }).click();
  await board.frame.getByRole("button", { name: "Restore" }).click();
  await board.cardIn("To do", "Shopping").waitFor();
  assert.deepEqual(page.problems, []);
});

test("a runaway gadget holds up neither the page nor another gadget", async () => {
  for (const body of ["while (true) {}", "return Array.prototype.indexOf.call({ length: 4294967295 }, 99)"]) {
    const bad = await program.json("new", "--blueprint", "board", "--title", "Runaway");
    const good = await program.json("new", "--blueprint", "board", "--title", "Calm", "--workspace", bad.workspace);
    await program.push(bad, {
      "server.js": `import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject { spin() { ${body} } }`,
      "client.js": "document.body.textContent = 'spinning'; gadget.spin();",
    });
    const page = await open(await program.serve());
    const shell = await new ShellPage(page).ready();
    await shell.openRow("Runaway");
    await new GadgetPage(page).frame(0).getByText("spinning").waitFor();
    await shell.openRow("Calm");
    const board = new BoardFrame(page, new GadgetPage(page).frame(0));
    await board.add("To do", "Still works");
    const { code, stdout } = await program.command("call", good.gadget, "snapshot");
    assert.equal(code, 0);
    assert.match(stdout, /Still works/);
    assert.deepEqual(page.problems, []);
    await page.close();
    await program.end();
    await program.remove();
    program = await Program.make();
  }
});

test("broken gadgets say what is wrong and what to do", async () => {
  const working = 'import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject {}';
  const cases = {
    "Bad client": [{ "server.js": working, "client.js": "let = ;" }, /client\.js:1/],
    "Bad server": [{ "server.js": "export class Gadget {", "client.js": "await gadget.hello();" }, /server\.js/],
    "No Gadget": [{ "server.js": "export const x = 1;", "client.js": "await gadget.hello();" }, /class named Gadget/],
    "No server": [{ "client.js": "await gadget.hello();" }, /server\.js/],
    "No client": [{ "server.js": working }, /client\.js/],
  };
  for (const [title, [files]] of Object.entries(cases)) {
    await program.push(await program.json("new", "--blueprint", "board", "--title", title), files);
  }
  const page = await open(await program.serve());
  const shell = await new ShellPage(page).ready();
  for (const [title, [, want]] of Object.entries(cases)) {
    const gadget = await shell.openRow(title);
    await gadget.problem.waitFor();
    const text = await gadget.problem.innerText();
    assert.match(text, want, title);
    assert.ok(text.split("\n").filter(Boolean).length >= 3, `${title} lacks what, why or what to do: ${text}`);
  }
  assert.deepEqual(page.problems, []);
});

test("console lines of both halves are shown", async () => {
  const ref = await program.json("new", "--blueprint", "board", "--title", "Talker");
  await program.push(ref, {
    "server.js": 'import { DurableObject } from "cloudflare:workers"; export class Gadget extends DurableObject { talk() { console.info("from the server", { a: 1 }); throw new Error("server trouble"); } }',
    "client.js": 'console.warn("from the view"); document.body.textContent = "hi"; gadget.talk().catch(() => {}); setTimeout(() => { throw new Error("view trouble") }, 50);',
  });
  const page = await open(await program.serve());
  const gadget = await (await new ShellPage(page).ready()).openRow("Talker");
  await gadget.showConsole();
  for (const text of ["from the view", "from the server", "server trouble", "view trouble"]) await gadget.consoleLine(text).first().waitFor();
});

test("a link works once, a reload keeps the page, a new start needs a new link", async () => {
  const link = await program.serve();
  const page = await open(link);
  await new ShellPage(page).ready();
  assert.equal(new URL(page.url()).hash, "", "the link stayed in the address");
  await page.reload();
  await new ShellPage(page).ready();
  const second = await (await browser.newContext()).newPage();
  await second.goto(link);
  await second.getByText("This link was used already").waitFor();
  await second.context().close();
  await program.end();
  await program.serve("--port", new URL(link).port);
  await page.getByText("This page needs a fresh link").waitFor({ timeout: 60_000 });
});

test("rename, restart and delete", async () => {
  const page = await open(await program.serve());
  const shell = await new ShellPage(page).ready();
  const gadget = await new HomePage(page).make("board");
  await new BoardFrame(page, gadget.frame(0)).add("To do", "Stays");
  await gadget.rename("Chores");
  await shell.row("Chores").first().waitFor();
  await gadget.menu("Restart");
  await new BoardFrame(page, gadget.frame(0)).cardIn("To do", "Stays").waitFor();
  await new BoardFrame(page, gadget.frame(0)).add("To do", "After the restart");
  const { workspaces } = await program.json("list");
  assert.equal(workspaces[0].gadgets[0].title, "Chores");
});
