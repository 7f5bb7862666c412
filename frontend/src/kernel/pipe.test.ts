import { expect, test, vi } from "vitest";
import { Channels, type Pipe } from "./pipe";

function recorded(): Pipe & { sent: string[]; closed: number } {
  return {
    sent: [],
    closed: 0,
    send(frame) {
      this.sent.push(frame);
    },
    onFrame: () => {},
    onClose: () => {},
    close() {
      this.closed++;
    },
  };
}
const soon = () => Promise.resolve();

test("frames reach the channel they name, whole", async () => {
  const pipe = recorded();
  const channels = new Channels(pipe);
  const got: string[] = [];
  channels.take(0).onMessage = (m) => got.push(`0 ${m}`);
  channels.take(7).onMessage = (m) => got.push(`7 ${m}`);
  await soon();
  pipe.onFrame('7:["a:b"]');
  pipe.onFrame("0:x");
  expect(got).toEqual(['7 ["a:b"]', "0 x"]);
});

test("what came before the channel was taken is delivered first, in order", async () => {
  const pipe = recorded();
  const channels = new Channels(pipe);
  pipe.onFrame("3:one");
  pipe.onFrame("3:two");
  const got: string[] = [];
  channels.take(3).onMessage = (m) => got.push(m);
  // Comes in the same turn, so it must queue behind the kept ones.
  pipe.onFrame("3:three");
  await soon();
  pipe.onFrame("3:four");
  expect(got).toEqual(["one", "two", "three", "four"]);
});

test("an empty payload closes a channel, both ways", async () => {
  const pipe = recorded();
  const channels = new Channels(pipe);
  const channel = channels.take(2);
  const closed = vi.fn();
  channel.onClose = closed;
  await soon();
  channel.send("");
  expect(pipe.sent).toEqual([]);
  pipe.onFrame("2:");
  pipe.onFrame("2:");
  expect(closed).toHaveBeenCalledTimes(1);
  channel.send("late");
  channel.close();
  expect(pipe.sent).toEqual([]);

  const other = channels.take(4);
  other.onClose = closed;
  await soon();
  other.close();
  other.close();
  expect(pipe.sent).toEqual(["4:"]);
  expect(closed).toHaveBeenCalledTimes(1);
});

test("a lost pipe tells its owner first, then every open channel once", async () => {
  const pipe = recorded();
  const channels = new Channels(pipe);
  const order: string[] = [];
  channels.onEnd = (reason) => order.push(`end ${reason}`);
  channels.take(1).onClose = () => order.push("1");
  channels.take(2).onClose = () => order.push("2");
  await soon();
  pipe.onClose("gone");
  pipe.onClose("gone");
  expect(order).toEqual(["end gone", "1", "2"]);
});

test("frames that are none end the pipe", () => {
  for (const frame of ["", "nonsense", ":x", "-1:x", "1.5:x", "NaN:x"]) {
    const pipe = recorded();
    const channels = new Channels(pipe);
    const ended = vi.fn();
    channels.onEnd = ended;
    pipe.onFrame(frame);
    expect(ended, frame).toHaveBeenCalledTimes(1);
    expect(pipe.closed, frame).toBe(1);
  }
});

test("a flood for a channel that nobody took closes that channel alone", async () => {
  const pipe = recorded();
  const channels = new Channels(pipe);
  for (let i = 0; i < 400; i++) pipe.onFrame("5:x");
  expect(pipe.sent).toEqual(["5:"]);
  const closed = vi.fn();
  channels.take(5).onClose = closed;
  await soon();
  expect(closed).toHaveBeenCalledTimes(1);
});
