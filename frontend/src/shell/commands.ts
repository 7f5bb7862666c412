import {
  ArrowClockwiseIcon,
  ArrowLeftIcon,
  ArrowRightIcon,
  ArrowsOutSimpleIcon,
  CornersOutIcon,
  FolderIcon,
  HouseIcon,
  MagnifyingGlassIcon,
  MagnifyingGlassMinusIcon,
  MagnifyingGlassPlusIcon,
  PencilSimpleIcon,
  PlusIcon,
  SidebarSimpleIcon,
  SquareSplitHorizontalIcon,
  TerminalWindowIcon,
  TrashIcon,
  type Icon,
} from "@phosphor-icons/react";
import type { Gadget, GadgetRef, State, Workspace } from "../kernel/api.gen";
import type { Desktop } from "../kernel/desktop";
import type { Command } from "../ui/command";
import { gadgetIcon } from "../ui/gadget_icon";
import { place, type Route, type Trail } from "./routing";

/** What commands can see. */
export interface Scene {
  state: State;
  trail: Trail;
  online: boolean;
  full: boolean;
  sidebar: boolean;
  console: boolean;
  /** The program's own window, if the page runs in it. */
  desktop?: Desktop;
}

/** What commands can do. */
export interface Actions {
  go(route: Route): void;
  back(): void;
  forward(): void;
  showPalette(): void;
  setSidebar(on: boolean): void;
  setConsole(on: boolean): void;
  setFull(on: boolean): void;
  create(blueprint: string, workspace?: string): void;
  rename(subject: { workspace: string; gadget?: string }): void;
  remove(subject: { workspace: string; gadget?: string }): void;
  restart(ref: GadgetRef): void;
}

/** Commands that are there everywhere. */
export function appCommands(scene: Scene, act: Actions): Command[] {
  const { trail } = scene;
  return [
    { id: "palette", label: "Search", icon: MagnifyingGlassIcon, keys: "Mod+K", enabled: true, run: act.showPalette },
    { id: "home", label: "Home", hint: "go start", icon: HouseIcon, keys: "Mod+Shift+H", enabled: true, on: trail.here.page === "home", run: () => act.go({ page: "home" }) },
    { id: "back", label: "Back", icon: ArrowLeftIcon, keys: "Alt+ArrowLeft", enabled: trail.past.length > 0, run: act.back },
    { id: "forward", label: "Forward", icon: ArrowRightIcon, keys: "Alt+ArrowRight", enabled: trail.future.length > 0, run: act.forward },
    { id: "sidebar", label: scene.sidebar ? "Hide sidebar" : "Show sidebar", icon: SidebarSimpleIcon, keys: "Mod+B", enabled: true, run: () => act.setSidebar(!scene.sidebar) },
  ];
}

/** Commands about the program's own window; a browser has its own. */
export function windowCommands({ desktop }: Scene): Command[] {
  if (!desktop) return [];
  return [
    { id: "window.full", label: "Window full screen", hint: "fullscreen", icon: CornersOutIcon, keys: "F11", enabled: true, run: desktop.fullScreen },
    { id: "window.larger", label: "Zoom in", hint: "larger text", icon: MagnifyingGlassPlusIcon, keys: "Mod+=", enabled: true, run: () => desktop.zoom(1) },
    { id: "window.smaller", label: "Zoom out", hint: "smaller text", icon: MagnifyingGlassMinusIcon, keys: "Mod+-", enabled: true, run: () => desktop.zoom(-1) },
    { id: "window.usual", label: "Zoom to 100 %", hint: "reset actual size", icon: MagnifyingGlassIcon, keys: "Mod+0", enabled: true, run: () => desktop.zoom(0) },
  ];
}

/** Commands about one gadget, wherever they are offered. */
export function gadgetCommands(scene: Scene, act: Actions, workspace: Workspace, gadget: Gadget): Command[] {
  const ref = { workspace: workspace.id, gadget: gadget.id };
  const hint = gadget.title;
  return [
    { id: "gadget.open", label: "Open", hint, icon: gadgetIcon(gadget.blueprint), enabled: true, run: () => act.go({ page: "workspace", ...ref }) },
    { id: "gadget.beside", label: "Open beside", hint, icon: SquareSplitHorizontalIcon, enabled: besideOf(scene, ref) !== undefined, run: () => act.go(besideOf(scene, ref)!) },
    { id: "gadget.rename", label: "Rename gadget", hint, icon: PencilSimpleIcon, keys: "F2", enabled: scene.online, run: () => act.rename(ref) },
    { id: "gadget.restart", label: "Restart gadget", hint: `${hint} reload`, icon: ArrowClockwiseIcon, enabled: scene.online, run: () => act.restart(ref) },
    { id: "gadget.delete", label: "Delete gadget…", hint, icon: TrashIcon, danger: true, enabled: scene.online, run: () => act.remove(ref) },
  ];
}

function besideOf(scene: Scene, ref: GadgetRef): Route | undefined {
  const here = scene.trail.here;
  if (here.page === "home" || here.workspace !== ref.workspace || !here.gadget || here.beside === ref.gadget) return undefined;
  return { ...here, beside: ref.gadget };
}

/** Commands about the view that is open. */
export function viewCommands(scene: Scene, act: Actions): Command[] {
  const here = scene.trail.here;
  const gadget = place(scene.trail.here, scene.state)?.gadget;
  if (here.page === "home" || !gadget) return [];
  const { beside: _, ...alone } = here;
  const shows = !gadget.headless;
  return [
    { id: "view.second", label: here.beside ? "Close second view" : "Open second view", hint: "split side by side", icon: SquareSplitHorizontalIcon, keys: "Mod+\\", enabled: shows || !!here.beside, on: !!here.beside, run: () => act.go(here.beside ? alone : { ...here, beside: gadget.id }) },
    { id: "view.console", label: scene.console ? "Hide console" : "Show console", hint: "log errors", icon: TerminalWindowIcon, keys: "Mod+J", enabled: true, on: scene.console, run: () => act.setConsole(!scene.console) },
    { id: "view.full", label: scene.full ? "Leave full screen" : "Full screen", icon: ArrowsOutSimpleIcon, keys: scene.full ? "Escape" : "F", enabled: true, run: () => act.setFull(!scene.full) },
  ];
}

/** Commands about one workspace. */
export function workspaceCommands(scene: Scene, act: Actions, workspace: Workspace): Command[] {
  const subject = { workspace: workspace.id };
  const hint = `${workspace.title} workspace`;
  return [
    ...scene.state.blueprints
      .map((b) => ({ id: `workspace.add.${b.name}`, label: `Add ${b.title}`, hint, icon: gadgetIcon(b.name), enabled: scene.online && !workspace.problem, run: () => act.create(b.name, workspace.id) })),
    { id: "workspace.rename", label: "Rename workspace", hint, icon: PencilSimpleIcon, enabled: scene.online, run: () => act.rename(subject) },
    { id: "workspace.delete", label: "Delete workspace…", hint, icon: TrashIcon, danger: true, enabled: scene.online, run: () => act.remove(subject) },
  ];
}

function workspaceIcon({ gadgets, title }: Workspace): Icon {
  const only = gadgets.length === 1 && gadgets[0]!.title === title ? gadgets[0] : undefined;
  return only ? gadgetIcon(only.blueprint) : FolderIcon;
}

/** Everything the palette can find, what is near first. */
export function paletteCommands(scene: Scene, act: Actions): Command[] {
  const at = place(scene.trail.here, scene.state);
  const goTo: Command[] = scene.state.workspaces.flatMap((workspace) => [
    { id: `go.${workspace.id}`, label: workspace.title, hint: "Workspace", icon: workspaceIcon(workspace), enabled: true, run: () => act.go({ page: "workspace", workspace: workspace.id }) },
    ...workspace.gadgets
      .filter((g) => g.title !== workspace.title || workspace.gadgets.length > 1)
      .map((g) => ({ id: `go.${workspace.id}.${g.id}`, label: g.title, hint: workspace.title, icon: gadgetIcon(g.blueprint), enabled: true, run: () => act.go({ page: "workspace", workspace: workspace.id, gadget: g.id }) })),
  ]);
  const make: Command[] = scene.state.blueprints
    .map((b) => ({ id: `new.${b.name}`, label: `New ${b.title}`, hint: "make from blueprint", icon: PlusIcon, enabled: scene.online, run: () => act.create(b.name) }));
  return [
    ...viewCommands(scene, act),
    ...(at?.gadget ? gadgetCommands(scene, act, at.workspace, at.gadget).filter((c) => c.id !== "gadget.open" && c.id !== "gadget.beside") : []),
    ...goTo,
    ...make,
    ...appCommands(scene, act).filter((c) => c.id !== "palette"),
    ...windowCommands(scene),
    ...(at ? workspaceCommands(scene, act, at.workspace) : []),
  ];
}
