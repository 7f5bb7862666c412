import { expect, test, vi } from "vitest";
import type { Channel } from "../kernel/pipe";
import { Allowance, limits, Relay, type Port } from "./relay";

function setUp() {
  let now = 0;
  const posted: unknown[] = [];
  const sent: string[] = [];
  const port: Port = { postMessage: (m) => void posted.push(m), onmessage: null, close: vi.fn() };
  const channel: Channel = { send: (t) => void sent.push(t), onMessage: () => {}, onClose: () => {}, close: vi.fn() };
  const events = { control: vi.fn(), excess: vi.fn(), gone: vi.fn() };
  const relay = new Relay(port, channel, events, () => now);
  const from = (data: unknown) => port.onmessage?.({ data });
  return { relay, port, channel, events, posted, sent, from, pass: (ms: number) => (now += ms) };
}

test("strings pass both ways unread, in order", () => {
  const { channel, posted, sent, from } = setUp();
  from('["push",1]');
  from("not even JSON");
  channel.onMessage("back");
  expect(sent).toEqual(['["push",1]', "not even JSON"]);
  expect(posted).toEqual(["back"]);
});

test("a message over the size cap cuts the frame off and is not forwarded", () => {
  const { from, sent, events, channel, port } = setUp();
  from("x".repeat(limits.message));
  expect(sent).toHaveLength(1);
  from("x".repeat(limits.message + 1));
  expect(sent).toHaveLength(1);
  expect(events.excess).toHaveBeenCalledTimes(1);
  expect(channel.close).toHaveBeenCalledTimes(1);
  expect(port.close).toHaveBeenCalledTimes(1);
  from("late");
  expect(sent).toHaveLength(1);
});

test("a flood cuts the frame off; the allowed rate never does", () => {
  const steady = setUp();
  for (let i = 0; i < limits.rate * 3; i++) {
    steady.pass(1000 / limits.rate);
    steady.from("m");
  }
  expect(steady.events.excess).not.toHaveBeenCalled();

  const flood = setUp();
  for (let i = 0; i < limits.burst + 1; i++) flood.from("m");
  expect(flood.events.excess).toHaveBeenCalledTimes(1);
  expect(flood.sent).toHaveLength(limits.burst);
});

test("many large messages pass the volume cap", () => {
  const { from, events } = setUp();
  const large = "x".repeat(limits.message);
  for (let i = 0; i < 4; i++) from(large);
  expect(events.excess).toHaveBeenCalledWith("more than 32 MiB a second");
});

test("control messages over their rate are dropped, counted and told", () => {
  const { from, events, pass } = setUp();
  for (let i = 0; i < limits.controlBurst + 25; i++) from({ console: { level: "log", text: "x" } });
  expect(events.control).toHaveBeenCalledTimes(limits.controlBurst);
  expect(events.excess).not.toHaveBeenCalled();
  pass(1000);
  from({ ready: true });
  const [told, ready] = events.control.mock.calls.slice(-2).map((c) => c[0]);
  expect(told.console.text).toContain("25 messages");
  expect(ready).toEqual({ ready: true });
});

test("null from the frame, and a closed channel, end it once", () => {
  const one = setUp();
  one.from(null);
  one.channel.onClose();
  expect(one.events.gone).toHaveBeenCalledTimes(1);
  const two = setUp();
  two.channel.onClose();
  two.from(null);
  expect(two.events.gone).toHaveBeenCalledTimes(1);
  expect(two.posted).toEqual([null]);
  const three = setUp();
  three.relay.close();
  expect(three.events.gone).not.toHaveBeenCalled();
  expect(three.posted).toEqual([null]);
});

test("an allowance fills up to its burst and no further", () => {
  let now = 0;
  const allowance = new Allowance(10, 5, () => now);
  expect(allowance.take(5)).toBe(true);
  expect(allowance.take(1)).toBe(false);
  now += 100;
  expect(allowance.take(1)).toBe(true);
  now += 1e9;
  expect(allowance.take(6)).toBe(false);
  expect(allowance.take(5)).toBe(true);
});
