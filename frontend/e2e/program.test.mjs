// What a person does with the real program, in a real browser.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, afterEach, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import { BoardFrame } from "./board_page.mjs";
import { launchBrowser } from "./browser.mjs";
import { NotesFrame } from "./notes_page.mjs";
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
    // One that was cancelled is over too.
    await page.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished.catch(() => {}))));
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

const bench = "# Bench\n\nBuilt from **larch**. #workshop\n\n- [ ] Cut the tenons\n- [x] Order boards\n\n| Part | mm |\n|---|--:|\n| Leg | 840 |\n\n[tables](https://example.com/larch)\n\n<img src=x onerror=alert(1)>";

test("Notes: write, read, tick, search, pin, delete and undo", async () => {
  const page = await open(await program.serve());
  const gadget = await new HomePage(page).make("notes");
  const notes = new NotesFrame(page, gadget.frame(0));
  await notes.frame.getByText("A place for notes").waitFor();
  await accessible(page);
  await notes.frame.getByRole("button", { name: "Write the first note" }).click();
  await page.keyboard.type("Shopping\n- [ ] milk\nbread");
  await notes.saved();
  assert.match(await notes.text.inputValue(), /\n- \[ \] bread$/, "Enter did not go on with the list");
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await notes.text.and(notes.frame.locator(":focus")).waitFor();
  await notes.text.fill(bench);
  await notes.saved();

  await notes.reading.getByRole("heading", { name: "Bench" }).waitFor();
  assert.equal(await notes.frame.locator("img").count(), 0, "Markdown became HTML");
  await notes.reading.getByRole("checkbox", { name: "Cut the tenons" }).check();
  await notes.saved();
  assert.match(await notes.text.inputValue(), /- \[x\] Cut the tenons/);
  await accessible(page);
  await notes.reading.getByRole("link", { name: "tables" }).click();
  const shell = new ShellPage(page);
  await shell.question.getByText("https://example.com/larch").waitFor();
  await shell.answer("Cancel");

  await notes.row("Bench").locator(".note").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("milk");
  await notes.marks.getByText("milk").waitFor();
  assert.equal(await notes.row("Bench").count(), 0);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await notes.reading.getByRole("heading", { name: "Shopping" }).waitFor();
  assert.ok(await notes.reading.evaluate(() => CSS.highlights.get("found")?.size), "the word is not marked in the note");
  await notes.frame.getByRole("button", { name: "Pin", exact: true }).click();
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await notes.row("Bench").waitFor();
  assert.match(await notes.frame.locator(".items li").first().innerText(), /Shopping/, "what is pinned is not first");

  await notes.row("Bench").locator(".note").focus();
  await page.keyboard.press("Delete");
  await notes.row("Bench").waitFor({ state: "detached" });
  await notes.said.getByRole("button", { name: "Undo" }).click();
  await notes.row("Bench").waitFor();
  assert.equal(await notes.text.inputValue(), bench.replace("[ ]", "[x]"));
  assert.deepEqual(page.problems, []);
});

test("Notes: attachments up to 10 MB, saved after a question, and there after a kill", async () => {
  const page = await open(await program.serve());
  const shell = await new ShellPage(page).ready();
  const gadget = await new HomePage(page).make("notes");
  const notes = new NotesFrame(page, gadget.frame(0));
  await notes.write("Scans\n\n");
  const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 300, height: 200 } });
  const nine = Buffer.alloc(9 << 20, "Nine megabytes. ");
  const [scan, big] = ["scan [1]\u202e.txt", "big.bin"].map((name) => join(program.root, name));
  await writeFile(scan, nine);
  await writeFile(big, Buffer.alloc(11 << 20));
  await notes.attach(scan, big);
  await notes.said.getByText("“big.bin” has 11 MB. An attachment has at most 10 MB").waitFor();
  await notes.give("paste", notes.text, { name: "photo.png", mimeType: "image/png", buffer: picture });
  await notes.give("drop", notes.reading, { name: "photo.png", mimeType: "image/png", buffer: picture });
  await notes.reading.locator(".picture:not(.coming)").nth(1).waitFor();
  assert.equal(await notes.reading.locator("img").first().evaluate((image) => image.decode().then(() => image.naturalWidth)), 300);
  await notes.saved();
  await accessible(page);

  const downloads = [];
  page.on("download", (download) => downloads.push(download));
  await notes.attachment(/scan 1/).click();
  await shell.question.getByText("scan [1].txt").waitFor();
  for (const words of ["Text", "9 MB", "Notes"]) await shell.question.getByText(words, { exact: words !== "Notes" }).waitFor();
  await accessible(page);
  await shell.answer("Cancel");
  await page.waitForTimeout(300);
  assert.deepEqual(downloads, [], "it was saved although the person refused");

  assert.equal((await program.end("SIGKILL")).signal, "SIGKILL");
  const again = await open(await program.serve());
  await (await new ShellPage(again).ready()).openRow("Notes");
  const back = new NotesFrame(again, new GadgetPage(again).frame(0));
  await back.open("Scans");
  await back.reading.locator(".picture:not(.coming)").nth(1).waitFor();
  const saved = again.waitForEvent("download");
  await back.attachment(/scan 1/).click();
  await new ShellPage(again).answer("Save");
  assert.equal((await saved).suggestedFilename(), "scan [1].txt");
  assert.ok(nine.equals(await readFile(await (await saved).path())), "other bytes were saved");
  assert.deepEqual(again.problems, []);
});

test("Notes: two people write in one note and nobody's words are lost", async () => {
  const page = await open(await program.serve());
  const gadget = await new HomePage(page).make("notes");
  const left = new NotesFrame(page, gadget.frame(0));
  await left.write("Trip\n\nTrain at nine\n\n- tent");
  await gadget.openSecondView();
  const right = new NotesFrame(page, gadget.frame(1));
  await right.open("Trip");
  await right.mode("Write");
  await left.mode("Write");

  // Both type at once, before either is told of the other: other lines, and new lines in one place.
  await left.text.fill("Trip\n\nTrain at nine sharp\n\n- tent\n- stove");
  await right.text.fill("Trip to Bled\n\nTrain at nine\n\n- tent\n- maps");
  const together = /^Trip to Bled\n\nTrain at nine sharp\n\n- tent\n- (stove\n- maps|maps\n- stove)$/;
  await assertValue(left.text, together);
  await assertValue(right.text, together);
  await accessible(page);

  // The same word: the later one becomes a note of its own, and its writer goes on there.
  const text = await left.text.inputValue();
  await left.text.fill(text.replace("nine", "eight"));
  await right.text.fill(text.replace("nine", "ten"));
  const copied = await Promise.any([left, right].map((side) => side.said.getByText("conflict copy").waitFor().then(() => side)));
  const other = copied === left ? right : left;
  await copied.row("(conflict copy)").waitFor({ state: "attached" });
  await other.row("(conflict copy)").waitFor({ state: "attached" });
  const both = [await left.text.inputValue(), await right.text.inputValue()];
  assert.ok(both.some((t) => t.includes("eight")) && both.some((t) => t.includes("ten")), both.join("\n---\n"));

  // One deletes for good what the other is typing into.
  await other.text.pressSequentially(" and more");
  await copied.frame.locator("body").evaluate(async (_body, title) => {
    const { notes } = await gadget.snapshot();
    const note = notes.find((n) => n.title === title);
    await gadget.remove(note.id);
    await gadget.empty(note.id);
  }, "Trip to Bled");
  await other.said.getByText("The note was deleted while you wrote").waitFor();
  await assertValue(other.text, /and more/);
  assert.deepEqual(page.problems, []);
});

async function assertValue(field, want) {
  let value;
  for (let n = 0; n < 100; n += 1) {
    value = await field.inputValue();
    if (want.test(value)) return;
    await new Promise((next) => setTimeout(next, 100));
  }
  assert.match(value, want);
}

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
