import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { batchLimit, windowPipe, type WindowSurroundings } from "./pipe_window";

type Down = { seq: number; frames?: string[]; fetch?: string };

function around() {
  const sent: { seq: number; frames: string[] }[] = [];
  const posted: { seq: number; frames: string[]; secret: string }[] = [];
  const stored = new Map<string, Promise<string[]>>();
  let down: (d: Down) => void = () => {};
  let listening = 0;
  const surroundings: WindowSurroundings = {
    open: async () => "s3cret",
    send: async (seq, frames) => void sent.push({ seq, frames }),
    listen: (handler) => {
      down = handler;
      listening++;
      return () => listening--;
    },
    fetch: async (path, init) => {
      const secret = new Headers(init.headers).get("X-Toolshed-Secret") ?? "";
      if (init.method === "POST") {
        posted.push({ ...JSON.parse(String(init.body)), secret });
        return new Response("");
      }
      const frames = await stored.get(path);
      return frames ? Response.json(frames) : new Response("", { status: 404 });
    },
  };
  return { surroundings, sent, posted, stored, down: (d: Down) => down(d), listening: () => listening };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

test("frames of one turn travel as one numbered batch", async () => {
  const window = around();
  const pipe = await windowPipe(window.surroundings)();
  pipe.send("0:a");
  pipe.send("0:b");
  await settle();
  pipe.send("0:c");
  await settle();
  expect(window.sent).toEqual([
    { seq: 1, frames: ["0:a", "0:b"] },
    { seq: 2, frames: ["0:c"] },
  ]);
});

test("a large frame goes as a POST with the secret and keeps its number", async () => {
  const window = around();
  const pipe = await windowPipe(window.surroundings)();
  const large = `0:${"x".repeat(batchLimit)}`;
  pipe.send("0:before");
  pipe.send(large);
  pipe.send("0:after");
  await settle();
  expect(window.sent).toEqual([
    { seq: 1, frames: ["0:before"] },
    { seq: 3, frames: ["0:after"] },
  ]);
  expect(window.posted).toEqual([{ seq: 2, frames: [large], secret: "s3cret" }]);
});

test("batches that come down out of order are put in order", async () => {
  const window = around();
  const pipe = await windowPipe(window.surroundings)();
  const got: string[] = [];
  pipe.onFrame = (f) => got.push(f);
  let release: (frames: string[]) => void = () => {};
  window.stored.set("/pipe/1", new Promise((resolve) => (release = resolve)));
  window.down({ seq: 3, frames: ["0:d"] });
  window.down({ seq: 1, frames: ["0:a", "0:b"] });
  window.down({ seq: 2, fetch: "/pipe/1" });
  await settle();
  expect(got).toEqual(["0:a", "0:b"]);
  release(["0:c"]);
  await settle();
  expect(got).toEqual(["0:a", "0:b", "0:c", "0:d"]);
  window.down({ seq: 2, frames: ["0:again"] });
  expect(got).toHaveLength(4);
});

test("a batch that never comes, or cannot be read, ends the pipe", async () => {
  const window = around();
  const pipe = await windowPipe(window.surroundings)();
  const closed = vi.fn();
  pipe.onClose = closed;
  window.down({ seq: 2, frames: ["0:b"] });
  await vi.advanceTimersByTimeAsync(20_000);
  expect(closed).toHaveBeenCalledTimes(1);
  expect(window.listening()).toBe(0);

  const second = around();
  const other = await windowPipe(second.surroundings)();
  other.onClose = closed;
  second.down({ seq: 1, fetch: "/pipe/missing" });
  await settle();
  await settle();
  expect(closed).toHaveBeenCalledTimes(2);
});

test("events of the connection before are not heard", async () => {
  const window = around();
  let opened: (secret: string) => void = () => {};
  window.surroundings.open = () => new Promise((resolve) => (opened = resolve));
  const opening = windowPipe(window.surroundings)();
  window.down({ seq: 1, frames: ["0:old"] });
  opened("s3cret");
  const pipe = await opening;
  const got: string[] = [];
  pipe.onFrame = (f) => got.push(f);
  window.down({ seq: 1, frames: ["0:new"] });
  expect(got).toEqual(["0:new"]);
});
