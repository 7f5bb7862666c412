import { RpcTarget } from "capnweb";
import { afterEach, expect, test, vi } from "vitest";
import type { ConsoleLine } from "./api.gen";
import { FakeKernel, type FakeKind } from "./fake";
import { KernelError } from "./problem";
import { Session } from "./session";

class Echo extends RpcTarget {
  say(text: string): string {
    return text;
  }
}
const kind: FakeKind = {
  blueprint: { name: "echo", title: "Echo", description: "", thumbnail: "<svg/>" },
  client: "1",
  server: () => new Echo(),
};

const open: { fake: FakeKernel; session: Session }[] = [];
function begin(fake = new FakeKernel([kind])): { fake: FakeKernel; session: Session } {
  const pair = { fake, session: new Session(fake.openPipe).begin() };
  open.push(pair);
  return pair;
}
afterEach(() => {
  for (const { fake } of open.splice(0)) {
    fake.denied = { kind: "denied", what: "over", why: "", todo: "" };
    fake.drop();
  }
});
const until = (check: () => boolean) => vi.waitFor(() => expect(check()).toBe(true), { timeout: 4_000, interval: 5 });

test("the state comes by itself and follows every change", async () => {
  const { fake, session } = begin();
  await until(() => session.state() !== undefined);
  expect(session.connection()).toEqual({ phase: "open" });
  const ref = await session.call((shell) => shell.createGadget({ blueprint: "echo" }));
  await session.call((shell) => shell.renameGadget({ ...ref, title: "Renamed" }));
  await until(() => session.state()?.workspaces[0]?.gadgets[0]?.title === "Renamed");
  expect(fake.state.workspaces).toHaveLength(1);
});

test("an error of the kernel keeps its words", async () => {
  const { session } = begin();
  await until(() => session.connection().phase === "open");
  const error = await session.call((shell) => shell.createGadget({ blueprint: "nope" })).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(KernelError);
  expect((error as KernelError).problem).toMatchObject({ kind: "not-found", what: "There is no such blueprint.", todo: "Choose another one." });
});

test("after a loss the page connects again and sees what changed meanwhile", async () => {
  const { fake, session } = begin();
  await until(() => session.state() !== undefined);
  fake.up = false;
  fake.drop();
  await until(() => session.connection().phase === "lost");
  await expect(session.call((shell) => shell.state())).rejects.toMatchObject({ name: "disconnected" });
  expect(session.state()).toBeDefined();
  fake.make("echo", "Made meanwhile");
  fake.up = true;
  await until(() => session.connection().phase === "open");
  await until(() => session.state()?.workspaces[0]?.title === "Made meanwhile");
});

test("a call that was under way when the line broke rejects as disconnected", async () => {
  const { fake, session } = begin();
  await until(() => session.state() !== undefined);
  const ref = fake.make("echo");
  fake.delay = 10_000;
  const call = session.call((shell) => shell.openView(ref)).catch((e: KernelError) => e.problem.kind);
  await until(() => fake.opened === 1);
  fake.drop();
  expect(await call).toBe("disconnected");
});

test("who is denied is told why and not tried again", async () => {
  const fake = new FakeKernel([kind]);
  fake.denied = { kind: "denied", what: "Fresh link needed.", why: "", todo: "" };
  const tries = vi.spyOn(fake, "openPipe");
  const { session } = begin(fake);
  await until(() => session.connection().phase === "denied");
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(tries).toHaveBeenCalledTimes(1);
  fake.denied = undefined;
  session.retry();
  await until(() => session.state() !== undefined);
});

test("a console gives its backlog and then goes on until it is stopped", async () => {
  const { fake, session } = begin();
  await until(() => session.state() !== undefined);
  const ref = fake.make("echo");
  const say = (text: string): ConsoleLine[] => [{ level: "log", text, time: 1, source: "server" }];
  fake.log(fake.instance(ref), say("before"));
  const seen: string[] = [];
  const subscription = await session.call((shell) => shell.console({ ...ref, onLines: (lines) => void seen.push(...lines.map((l) => l.text)) }));
  await until(() => seen.length === 1);
  fake.log(fake.instance(ref), say("after"));
  await until(() => seen.length === 2);
  await subscription.stop();
  fake.log(fake.instance(ref), say("unheard"));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(seen).toEqual(["before", "after"]);
});
