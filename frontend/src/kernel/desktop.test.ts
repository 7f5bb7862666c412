import { expect, test } from "vitest";
import { desktopOf, type DesktopSurroundings } from "./desktop";

function around(over: Partial<DesktopSurroundings> = {}) {
  const sent: { ticket?: string; body?: BodyInit | null }[] = [];
  const desktop = desktopOf({
    ChooseFile: async () => ({ ticket: "t1" }),
    OpenAddress: async () => null,
    Zoom: async () => {},
    FullScreen: async () => {},
    fetch: async (path, init) => {
      expect([path, init.method]).toEqual(["/save", "POST"]);
      sent.push({ ticket: (init.headers as Record<string, string>)["X-Toolshed-Secret"], body: init.body });
      return new Response(null, { status: 204 });
    },
    ...over,
  });
  return { desktop, sent };
}
const problem = { kind: "save", what: "“x” was not saved", why: "there is no room", todo: "Make room." };

test("the bytes follow the person's choice, with its ticket", async () => {
  const { desktop, sent } = around({ ChooseFile: async (name, size) => (expect([name, size]).toEqual(["x", 3]), { ticket: "t1" }) });
  expect(await desktop.save("x", new Blob(["abc"]))).toBe(true);
  expect(sent).toHaveLength(1);
  expect(sent[0]!.ticket).toBe("t1");
  expect(new TextDecoder().decode(sent[0]!.body as ArrayBuffer)).toBe("abc");
});

test("nothing is sent when the person says no, or cannot be asked", async () => {
  const no = around({ ChooseFile: async () => ({}) });
  expect(await no.desktop.save("x", new Blob(["abc"]))).toBe(false);
  const cannot = around({ ChooseFile: async () => ({ problem }) });
  await expect(cannot.desktop.save("x", new Blob(["abc"]))).rejects.toMatchObject({ problem });
  expect([...no.sent, ...cannot.sent]).toEqual([]);
});

test("what goes wrong is told in the program's words", async () => {
  const full = around({ fetch: async () => Response.json(problem, { status: 500 }) });
  await expect(full.desktop.save("x", new Blob(["abc"]))).rejects.toMatchObject({ problem });
  const mute = around({ fetch: async () => new Response("refused", { status: 403 }) });
  await expect(mute.desktop.save("x", new Blob(["abc"]))).rejects.toMatchObject({ problem: { kind: "save" } });
  const gone = around();
  const blob = Object.assign(new Blob(["abc"]), { arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")) });
  await expect(gone.desktop.save("x", blob)).rejects.toMatchObject({ problem: { kind: "save", why: expect.stringContaining("not there any more") } });
  expect(gone.sent).toEqual([]);
  const closed = around({ OpenAddress: async () => ({ ...problem, kind: "address" }) });
  await expect(closed.desktop.open(new URL("https://example.com"))).rejects.toMatchObject({ problem: { kind: "address" } });
});
