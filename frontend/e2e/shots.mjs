// Takes pictures of every state of the page: node e2e/shots.mjs FOLDER [name...]
// Fails on a script error or a policy violation of the shell.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser } from "./browser.mjs";
import { GadgetPage, HomePage, ShellPage } from "./pages.mjs";
import { serveFake } from "./serve_fake.mjs";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node e2e/shots.mjs FOLDER [name...]");
  process.exit(2);
}
const only = process.argv.slice(3);
mkdirSync(folder, { recursive: true });

const stoppedProblem = {
  kind: "cpu",
  what: "“Workshop” was stopped: it used more than 30 s of CPU in one turn.",
  why: "A call of move() did not come to an end. Nothing that was stored is lost.",
  todo: "Restart it. If it happens again, look at the console for the last call.",
};

const openBoard = async (page) => {
  const gadget = await new ShellPage(page).openRow("Workshop");
  await gadget.running();
  await page.waitForTimeout(300);
  return gadget;
};
const fake = (page, script) => page.evaluate(script);

const scenes = {
  home: async () => {},
  "home-one": { query: "?one" },
  "home-empty": { query: "?empty" },
  workspace: openBoard,
  console: async (page) => {
    const gadget = await openBoard(page);
    await fake(page, `fake.log(fake.instance({workspace: fake.state.workspaces[0].id, gadget: fake.state.workspaces[0].gadgets[0].id}), [
      {level:"warn", text:"move: card 4 has no owner", time: Date.now(), source:"server"},
      {level:"error", text:"RangeError: no card 99\\n    at Board.move (server.js:41:13)\\n    at call (server.js:12:5)", time: Date.now(), source:"server"}])`);
    await gadget.showConsole();
    await page.waitForTimeout(300);
  },
  "two-views": async (page) => {
    const gadget = await openBoard(page);
    await gadget.openSecondView();
    await page.waitForTimeout(300);
  },
  "full-screen": async (page) => (await openBoard(page)).fullScreen(),
  palette: async (page) => {
    await openBoard(page);
    await page.locator("main#main").focus();
    await page.keyboard.press("Control+k");
    await new ShellPage(page).palette.waitFor();
    await page.waitForTimeout(250);
  },
  menu: async (page) => {
    await openBoard(page);
    await page.locator("main header").getByRole("button", { name: "More", exact: true }).click();
    await page.waitForTimeout(250);
  },
  nested: async (page) => {
    await new ShellPage(page).openRow("Costs");
    await new GadgetPage(page).running();
    await page.waitForTimeout(300);
  },
  link: async (page) => {
    const gadget = await new ShellPage(page).openRow("Costs");
    await gadget.running();
    await gadget.frame().getByRole("link").click();
    await page.waitForTimeout(300);
  },
  delete: async (page) => {
    await new ShellPage(page).rowMenu("Trip to Lisbon", "Delete workspace");
    await page.waitForTimeout(250);
  },
  rename: async (page) => {
    const gadget = await openBoard(page);
    await gadget.menu("Rename gadget");
    await page.waitForTimeout(250);
  },
  slow: async (page) => {
    await fake(page, "fake.delay = 60000");
    await new ShellPage(page).openRow("Workshop");
    await page.waitForTimeout(2600);
  },
  error: async (page) => {
    await fake(page, `fake.make("broken", "Accounts")`);
    await new ShellPage(page).openRow("Accounts");
    await new GadgetPage(page).problem.waitFor();
    await page.waitForTimeout(300);
  },
  stopped: async (page) => {
    await openBoard(page);
    await page.evaluate((problem) => {
      const w = window.fake.state.workspaces[0];
      window.fake.edit({ workspace: w.id, gadget: w.gadgets[0].id }, (g) => Object.assign(g, { status: "stopped", problem }));
      window.fake.dropViews(w.gadgets[0].id);
    }, stoppedProblem);
    await page.waitForTimeout(300);
  },
  reconnecting: async (page) => {
    await openBoard(page);
    await fake(page, "fake.delay = 60000; fake.dropViews(fake.state.workspaces[0].gadgets[0].id)");
    await page.waitForTimeout(1200);
  },
  offline: async (page) => {
    await openBoard(page);
    await fake(page, "fake.up = false; fake.drop()");
    await page.waitForTimeout(1500);
  },
  denied: async (page) => {
    await fake(page, `fake.denied = {kind:"denied", what:"This page needs a fresh link.", why:"Toolshed lets a browser in by a link that works once, and this one was used already.", todo:"Open a fresh link from the terminal: run toolshed serve again."}; fake.drop()`);
    await page.waitForTimeout(1500);
  },
  "empty-workspace": async (page) => {
    await fake(page, `fake.change((s) => s.workspaces.unshift({ id: "new", title: "Garden", created: Date.now(), opened: Date.now(), gadgets: [] }))`);
    await new ShellPage(page).openRow("Garden");
    await page.waitForTimeout(200);
  },
  headless: async (page) => {
    await fake(page, "fake.edit({workspace: fake.state.workspaces[0].id, gadget: fake.state.workspaces[0].gadgets[0].id}, (g) => (g.headless = true))");
    await new ShellPage(page).openRow("Workshop");
    await page.waitForTimeout(200);
  },
  hidden: async (page) => {
    await openBoard(page);
    await page.locator("main#main").focus();
    await page.keyboard.press("Control+b");
    await page.waitForTimeout(200);
  },
  notices: async (page) => {
    await fake(page, `fake.change((s) => s.notices.push(
      {id:"1", level:"warning", text:"The data folder is almost full: 180 MB are left.", todo:"Free some space, or move the folder."},
      {id:"2", level:"error", text:"“Letters” could not be opened: its file is damaged.", todo:"Restore it from a backup."},
      {id:"3", level:"info", text:"Toolshed was closed without shutting down; everything was checked and is whole."}))`);
    await page.waitForTimeout(400);
  },
};
const sizes = [
  [1280, 800],
  [900, 640],
];

const site = await serveFake();
const browser = await launchBrowser();
const failures = [];
let taken = 0;
try {
  for (const scheme of ["light", "dark"]) {
    for (const [width, height] of sizes) {
      for (const [name, scene] of Object.entries(scenes)) {
        if (only.length && !only.includes(name)) continue;
        const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: "no-preference" });
        const page = await context.newPage();
        page.setDefaultTimeout(6_000);
        const shot = `${name}-${scheme}-${width}`;
        page.on("pageerror", (error) => {
          // The broken gadget's own error is the point of its picture.
          if (!/notes|Cannot read/.test(error.message)) failures.push(`${shot}: ${error.stack}`);
        });
        page.on("console", (line) => /Content Security Policy|React/.test(line.text()) && failures.push(`${shot}: ${line.text()}`));
        await page.goto(site.address + (scene.query ?? ""));
        await new ShellPage(page).ready();
        await new HomePage(page).heading.waitFor();
        await page.evaluate(() => document.fonts.ready);
        if (typeof scene === "function") await scene(page).catch((error) => failures.push(`${shot}: ${error.message}`));
        await page.screenshot({ path: join(folder, `${shot}.png`) });
        taken++;
        await context.close();
      }
    }
  }
} finally {
  await browser.close();
  site.close();
}
console.log(`${taken} pictures in ${folder}`);
for (const failure of failures) console.error(failure);
process.exit(failures.length ? 1 : 0);
