import { expect, test } from "vitest";
import { fromData } from "./frame/save";
import { kindOf, offeredFile, safeName, sizeInWords } from "./saving";

test("a name is one that no system refuses and that hides nothing", () => {
  const cases: Record<string, string> = {
    "report.pdf": "report.pdf",
    "../../etc/passwd": "passwd",
    "C:\\Users\\ada\\.bashrc": "bashrc",
    "invoice\u202Efdp.exe": "invoice fdp.exe",
    "a\u0000b\nc.txt": "a b c.txt",
    'what?*<>|":.md': "what.md",
    "con.txt": "_con.txt",
    "LPT1": "_LPT1",
    "...": "file",
    "": "file",
    "  spaced  .txt ": "spaced.txt",
    "Überraschung 🎁.png": "Überraschung 🎁.png",
  };
  for (const [name, want] of Object.entries(cases)) expect(safeName(name), JSON.stringify(name)).toBe(want);
  expect([...safeName("🎁".repeat(500) + ".png")].length).toBe(124);
});

test("only a named Blob is an offer", () => {
  expect(offeredFile({ name: "a/b.txt", blob: new Blob(["x"]) })?.name).toBe("b.txt");
  for (const not of [undefined, null, "x", {}, { name: "x" }, { name: 7, blob: new Blob() }, { name: "x", blob: { size: 3 } }]) expect(offeredFile(not)).toBeUndefined();
});

test("the kind is what the bytes say, and a name that says otherwise is told", async () => {
  const kind = (name: string, ...parts: (string | number[])[]) => kindOf({ name, blob: new Blob(parts.map((p) => (typeof p === "string" ? p : new Uint8Array(p)))) });
  expect(await kind("a.pdf", "%PDF-1.7 …")).toEqual({ words: "PDF document" });
  expect(await kind("a.png", [0x89], "PNG\r\n")).toEqual({ words: "PNG picture" });
  expect(await kind("a.webp", "RIFF", [1, 2, 3, 4], "WEBPVP8 ")).toEqual({ words: "WebP picture" });
  expect(await kind("a.docx", "PK", [3, 4])).toEqual({ words: "ZIP archive or office document" });
  expect(await kind("a.md", "# Title\n")).toEqual({ words: "Text" });
  expect(await kind("a.bin", [0, 1, 2])).toEqual({ words: "Data of a kind that Toolshed does not know" });
  expect(await kind("a.txt")).toEqual({ words: "Empty file" });
  for (const [name, begin, words, warning] of [
    ["invoice.pdf", "MZ\0", "Windows program", "not what is inside"],
    ["photo.png", "<html>", "Text", "not what is inside"],
    ["photo.png", "%PDF-1.7", "PDF document", "not what is inside"],
    ["notes.txt", "#!/bin/sh", "Script", "not what is inside"],
    ["setup.exe", "MZ\0", "Windows program", "with all your rights"],
    ["go.bat", "echo", "Text", "with all your rights"],
    ["page.html", "<html>", "Text", "scripts run"],
  ] as const) {
    const found = await kind(name, begin);
    expect(found.words, name).toBe(words);
    expect(found.warning, name).toContain(warning);
  }
});

test("a data: address is its bytes", async () => {
  const text = async (address: string) => (await fromData(address)?.text()) ?? "none";
  expect(await text("data:text/plain,a%20b%C3%A9c")).toBe("a béc");
  expect(await text("data:;base64,aGk=")).toBe("hi");
  expect(await text("data:text/plain;charset=utf-8;base64,aGk%3D")).toBe("hi");
  expect(await text("data:text/plain,100%")).toBe("100%");
  expect(fromData("data:;base64,%%%")).toBeUndefined();
  expect(fromData("https://example.com")).toBeUndefined();
  expect(fromData("data:text/plain,x")?.type).toBe("text/plain");
});

test("a size is never rounded below a limit that it passes", () => {
  expect([0, 1, 1_023, 1_024, 1_025, 10_485_760, 10_485_761].map(sizeInWords)).toEqual(["0 bytes", "1 byte", "1023 bytes", "1 KB", "2 KB", "10 MB", "10.1 MB"]);
});
