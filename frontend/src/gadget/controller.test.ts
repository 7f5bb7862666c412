import { RpcTarget } from "capnweb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeKernel, type FakeKind } from "../kernel/fake";
import { Session } from "../kernel/session";
import { ViewController } from "./controller";
import type { Port } from "./relay";

class Nothing extends RpcTarget {}
const kind: FakeKind = {
  blueprint: { name: "thing", title: "Thing", description: "", thumbnail: "" },
  client: "the code",
  server: () => new Nothing(),
};

let fake: FakeKernel;
let session: Session;
let controller: ViewController;
const asks = { escape: vi.fn(), palette: vi.fn(), link: vi.fn(), save: vi.fn() };
const until = (check: () => boolean) => vi.waitFor(() => expect(check()).toBe(true), { timeout: 4_000, interval: 5 });

function port() {
  const posted: unknown[] = [];
  const made: Port = { postMessage: (m) => void posted.push(m), onmessage: null, close: () => {} };
  return { made, posted, say: (data: unknown) => made.onmessage?.({ data }) };
}

async function running() {
  await until(() => controller.state().at === "loading");
  const frame = port();
  expect(controller.hello(frame.made)).toBe(true);
  frame.say({ ready: true });
  expect(controller.state().at).toBe("running");
  return frame;
}

beforeEach(async () => {
  vi.clearAllMocks();
  fake = new FakeKernel([kind]);
  const ref = fake.make("thing");
  session = new Session(fake.openPipe).begin();
  await until(() => session.state() !== undefined);
  controller = new ViewController(session, { ...ref, title: () => "Thing", theme: () => "dark" }, asks);
});
afterEach(() => {
  controller.dispose();
  fake.denied = { kind: "denied", what: "", why: "", todo: "" };
  fake.drop();
});
const gadget = () => fake.state.workspaces[0]!.gadgets[0]!;

test("the frame gets the theme and its code once, and a second hello is refused", async () => {
  const frame = await running();
  expect(frame.posted).toEqual([{ theme: "dark" }, { start: { code: "the code", title: "Thing" } }]);
  expect(controller.hello(port().made)).toBe(false);
});

test("when the kernel ends the view it is opened again by itself", async () => {
  await running();
  fake.dropViews(gadget().id);
  await until(() => controller.state().at === "waiting");
  await until(() => controller.state().at === "loading");
  expect(fake.opened).toBe(2);
  await running();
});

test("a kernel that is gone costs one try, and the view comes back with the line", async () => {
  await running();
  fake.up = false;
  fake.drop();
  await until(() => controller.state().at === "waiting");
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(controller.state()).toMatchObject({ at: "waiting", tries: 1 });
  fake.up = true;
  await until(() => controller.state().at === "loading");
});

test("code that fails at the start is an error with its message; later errors only go to the console", async () => {
  const frame = await running();
  frame.say({ error: { message: "TypeError: later", stack: "" } });
  expect(controller.state().at).toBe("running");
  frame.say({ error: { message: "TypeError: x", stack: "TypeError: x\n at client.js:1:1", starting: true } });
  expect(controller.state()).toMatchObject({ at: "failed", problem: { kind: "client", why: "TypeError: x", detail: "at client.js:1:1" } });
  const lines = () => fake.instance({ workspace: fake.state.workspaces[0]!.id, gadget: gadget().id }).lines;
  await until(() => lines().length === 2);
  expect(lines().map((l) => [l.source, l.level])).toEqual([["view", "error"], ["view", "error"]]);
  await until(() => gadget().views === 0);
  controller.revive();
  await until(() => controller.state().at === "loading");
});

test("what a frame asks for is checked before the shell hears of it", async () => {
  const frame = await running();
  for (const open of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://" + "a".repeat(9000), 7, null]) frame.say({ open });
  for (const junk of [[], { key: "F4" }, { console: 4 }, { error: null }, { ready: "yes" }]) frame.say(junk);
  expect(asks.link).not.toHaveBeenCalled();
  frame.say({ open: "https://example.com/a?b" });
  expect(asks.link.mock.calls[0]![0].href).toBe("https://example.com/a?b");
  frame.say({ key: "Escape" });
  expect(asks.escape).toHaveBeenCalledTimes(1);
});

test("a closed view is closed at the kernel too", async () => {
  await running();
  await until(() => gadget().views === 1);
  controller.dispose();
  await until(() => gadget().views === 0);
});

test("a refusal shows the kernel's problem", async () => {
  controller.dispose();
  fake.failOpen = { kind: "syntax", what: "server.js has a mistake.", why: "line 3", todo: "Correct it." };
  const ref = { workspace: fake.state.workspaces[0]!.id, gadget: gadget().id };
  controller = new ViewController(session, { ...ref, title: () => "", theme: () => "light" }, asks);
  await until(() => controller.state().at === "failed");
  expect(controller.state()).toMatchObject({ problem: fake.failOpen });
  fake.failOpen = undefined;
  controller.restart();
  await until(() => controller.state().at === "loading");
});

test("a file that the frame offers is asked about under a safe name, and nothing else is taken for one", async () => {
  const frame = await running();
  const blob = new Blob(["hello"]);
  frame.say({ save: { name: "../x/hello.txt", blob } });
  frame.say({ save: { name: "no bytes", blob: "hello" } });
  frame.say({ save: true });
  expect(asks.save.mock.calls).toEqual([[{ name: "hello.txt", blob }]]);
});
