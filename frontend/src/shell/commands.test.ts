import { expect, test, vi } from "vitest";
import type { State } from "../kernel/api.gen";
import type { Desktop } from "../kernel/desktop";
import { appCommands, gadgetCommands, paletteCommands, viewCommands, workspaceCommands, type Actions, type Scene } from "./commands";
import { readPrefs } from "./prefs";
import { loss } from "./RemoveDialog";
import { freshTrail } from "./routing";

const gadget = (id: string, more = {}) => ({ id, title: id, blueprint: "board", headless: false, status: "idle" as const, views: 0, ...more });
const state: State = {
  person: { name: "Ada" },
  build: "",
  notices: [],
  blueprints: [
    { name: "board", title: "Board", description: "", thumbnail: "" },
    { name: "sheet", title: "Sheet", description: "", thumbnail: "" },
  ],
  workspaces: [{ id: "w", title: "Trip", created: 0, opened: 0, gadgets: [gadget("Route", { views: 2 }), gadget("Costs")] }],
};
const actions = () =>
  ({ go: vi.fn(), back: vi.fn(), forward: vi.fn(), showPalette: vi.fn(), setSidebar: vi.fn(), setConsole: vi.fn(), setFull: vi.fn(), create: vi.fn(), rename: vi.fn(), remove: vi.fn(), restart: vi.fn() }) satisfies Actions;
const scene = (more: Partial<Scene> = {}): Scene => ({
  state,
  trail: { ...freshTrail, here: { page: "workspace", workspace: "w", gadget: "Route" } },
  online: true,
  full: false,
  sidebar: true,
  console: false,
  ...more,
});

test("no two commands share an id or a shortcut", () => {
  const act = actions();
  const desktop: Desktop = { save: vi.fn(), open: vi.fn(), zoom: vi.fn(), fullScreen: vi.fn() };
  const all = [...paletteCommands(scene({ desktop }), act), ...appCommands(scene(), act).filter((c) => c.id === "palette")];
  const ids = all.map((c) => c.id);
  expect(new Set(ids).size).toBe(ids.length);
  const keys = all.flatMap((c) => c.keys ?? []);
  expect(new Set(keys).size).toBe(keys.length);
});

test("what needs the kernel is off while it does not answer", () => {
  const workspace = state.workspaces[0]!;
  const off = [...gadgetCommands(scene({ online: false }), actions(), workspace, workspace.gadgets[0]!), ...workspaceCommands(scene({ online: false }), actions(), workspace)].filter((c) => !c.enabled);
  expect(off.map((c) => c.id)).toEqual(["gadget.rename", "gadget.restart", "gadget.delete", "workspace.add.board", "workspace.add.sheet", "workspace.rename", "workspace.delete"]);
});

test("every blueprint can be made from the palette, on its own or into the open workspace", () => {
  const act = actions();
  const all = paletteCommands(scene(), act);
  all.find((c) => c.id === "new.sheet")!.run();
  expect(act.create).toHaveBeenLastCalledWith("sheet");
  all.find((c) => c.id === "workspace.add.board")!.run();
  expect(act.create).toHaveBeenLastCalledWith("board", "w");
});

test("a second view opens and closes beside the first", () => {
  const act = actions();
  viewCommands(scene(), act).find((c) => c.id === "view.second")!.run();
  expect(act.go).toHaveBeenCalledWith({ page: "workspace", workspace: "w", gadget: "Route", beside: "Route" });
  const split = scene({ trail: { ...freshTrail, here: { page: "workspace", workspace: "w", gadget: "Route", beside: "Costs" } } });
  const close = viewCommands(split, act).find((c) => c.id === "view.second")!;
  expect(close.on).toBe(true);
  close.run();
  expect(act.go).toHaveBeenLastCalledWith({ page: "workspace", workspace: "w", gadget: "Route" });
});

test("deleting names what is lost", () => {
  expect(loss({ workspace: "w" }, state)!.lines[0]).toBe("Its 2 gadgets “Route” and “Costs” and everything stored in them go with it.");
  expect(loss({ workspace: "w", gadget: "Route" }, state)!.lines[0]).toContain("Its 2 open views close.");
  expect(loss({ workspace: "x" }, state)).toBeUndefined();
});

test("remembered preferences are read with care", () => {
  expect(readPrefs('{"console":true,"consoleHeight":9999,"folded":["w",3],"sidebar":"no"}')).toEqual({ console: true, consoleHeight: 220, folded: ["w"], sidebar: true });
  expect(readPrefs("{")).toEqual(readPrefs(null));
});
