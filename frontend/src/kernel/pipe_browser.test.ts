import { expect, test } from "vitest";
import { browserPipe, type BrowserSurroundings } from "./pipe_browser";
import { Denied } from "./problem";

class Socket {
  readyState = 1;
  sent: string[] = [];
  onopen = () => {};
  onmessage: (event: { data: unknown }) => void = () => {};
  onclose: (event: { code: number; reason: string }) => void = () => {};
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.onclose({ code: 1000, reason: "" });
  }
}

function around(link: string, kept: string | null, exchange: () => Response) {
  const stored = new Map<string, string>(kept ? [["toolshed.token", kept]] : []);
  const sockets: Socket[] = [];
  const asked: string[] = [];
  const surroundings: BrowserSurroundings = {
    host: "localhost:1",
    takeLink: () => {
      const taken = link;
      link = "";
      return taken;
    },
    storage: {
      getItem: (key) => stored.get(key) ?? null,
      setItem: (key, value) => void stored.set(key, value),
      removeItem: (key) => void stored.delete(key),
    },
    fetch: async (_path, init) => {
      asked.push(String(init.body));
      return exchange();
    },
    socket: () => {
      const socket = new Socket();
      sockets.push(socket);
      return socket as never;
    },
  };
  return { surroundings, stored, sockets, asked };
}
const settle = () => new Promise((resolve) => setImmediate(resolve));
const used = () => Response.json({ what: "Used.", why: "Twice.", todo: "Again." }, { status: 410 });

test("a link becomes a token, the token opens the pipe, and neither is sent twice", async () => {
  const page = around("l1nk", null, () => Response.json({ token: "t0ken" }));
  const open = browserPipe(page.surroundings);
  const opening = open();
  await settle();
  page.sockets[0]!.onopen();
  expect(page.sockets[0]!.sent).toEqual(['{"token":"t0ken"}']);
  page.sockets[0]!.onmessage({ data: '{"ok":true}' });
  const pipe = await opening;
  const got: string[] = [];
  pipe.onFrame = (frame) => got.push(frame);
  page.sockets[0]!.onmessage({ data: "0:hello" });
  pipe.send("0:x");
  expect(got).toEqual(["0:hello"]);
  expect(page.sockets[0]!.sent[1]).toBe("0:x");

  const again = open();
  await settle();
  page.sockets[1]!.onopen();
  page.sockets[1]!.onmessage({ data: '{"ok":true}' });
  await again;
  expect(page.asked).toEqual(['{"link":"l1nk"}']);
});

test("a used link denies with the program's words, unless the page was let in before", async () => {
  const stranger = around("used", null, used);
  const refused = await browserPipe(stranger.surroundings)().catch((e: Denied) => e.problem);
  expect(refused).toEqual({ kind: "denied", what: "Used.", why: "Twice.", todo: "Again." });

  const known = around("used", "old", used);
  void browserPipe(known.surroundings)();
  await settle();
  expect(known.sockets).toHaveLength(1);
});

test("without a link and a token nothing is asked", async () => {
  const page = around("", null, used);
  await expect(browserPipe(page.surroundings)()).rejects.toBeInstanceOf(Denied);
  expect(page.asked).toEqual([]);
  expect(page.sockets).toEqual([]);
});

test("an unknown token is forgotten; another end is only a loss", async () => {
  const page = around("", "stale", used);
  const opening = browserPipe(page.surroundings)();
  await settle();
  page.sockets[0]!.onclose({ code: 4401, reason: "" });
  await expect(opening).rejects.toBeInstanceOf(Denied);
  expect(page.stored.size).toBe(0);

  const other = around("", "good", used);
  const lost = browserPipe(other.surroundings)();
  await settle();
  other.sockets[0]!.onclose({ code: 1006, reason: "" });
  const error = await lost.catch((e: unknown) => e);
  expect(error).toBeInstanceOf(Error);
  expect(error).not.toBeInstanceOf(Denied);
  expect(other.stored.size).toBe(1);
});
