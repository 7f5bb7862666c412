import type { Gadget, State, Workspace } from "../kernel/api.gen";

/** Where the person is. The address bar is not ours, so this lives in memory and in the session's storage. */
export type Route =
  | { page: "home" }
  | { page: "workspace"; workspace: string; gadget?: string; /** The gadget of a second view. */ beside?: string };

export interface Trail {
  past: Route[];
  here: Route;
  future: Route[];
}

export const home: Route = { page: "home" };
export const freshTrail: Trail = { past: [], here: home, future: [] };

const longest = 50;

export function same(a: Route, b: Route): boolean {
  return JSON.stringify(ordered(a)) === JSON.stringify(ordered(b));
}

function ordered(route: Route): unknown[] {
  return route.page === "home" ? ["home"] : [route.workspace, route.gadget ?? "", route.beside ?? ""];
}

/** Goes to a place; what was ahead is forgotten. */
export function go(trail: Trail, to: Route): Trail {
  if (same(trail.here, to)) return trail;
  return { past: [...trail.past, trail.here].slice(-longest), here: to, future: [] };
}

/** Puts another place in this one's stead, without a step back to it. */
export function replace(trail: Trail, to: Route): Trail {
  return same(trail.here, to) ? trail : { ...trail, here: to };
}

export function back(trail: Trail): Trail {
  const to = trail.past.at(-1);
  return to ? { past: trail.past.slice(0, -1), here: to, future: [trail.here, ...trail.future] } : trail;
}

export function forward(trail: Trail): Trail {
  const [to, ...future] = trail.future;
  return to ? { past: [...trail.past, trail.here], here: to, future } : trail;
}

/** The nearest place that exists: a gadget that went leads to its workspace, a workspace that went leads home. */
export function heal(route: Route, state: State): Route {
  if (route.page === "home") return route;
  const workspace = state.workspaces.find((w) => w.id === route.workspace);
  if (!workspace) return home;
  const has = (id: string | undefined) => workspace.gadgets.some((g) => g.id === id);
  const gadget = has(route.gadget) ? route.gadget : workspace.gadgets[0]?.id;
  const healed: Route = { page: "workspace", workspace: workspace.id };
  if (gadget) healed.gadget = gadget;
  if (gadget && has(route.beside)) healed.beside = route.beside;
  return same(healed, route) ? route : healed;
}

export interface Place {
  workspace: Workspace;
  gadget?: Gadget;
  beside?: Gadget;
}

/** What a route points at, or undefined at home and where nothing is any more. */
export function place(route: Route, state: State): Place | undefined {
  if (route.page === "home") return undefined;
  const workspace = state.workspaces.find((w) => w.id === route.workspace);
  if (!workspace) return undefined;
  const find = (id: string | undefined) => workspace.gadgets.find((g) => g.id === id);
  return { workspace, gadget: find(route.gadget), beside: find(route.beside) };
}

/** A route from the session's storage; home when the text is none. */
export function parse(text: string | null): Route {
  try {
    const value = JSON.parse(text ?? "") as Partial<Record<string, unknown>>;
    if (value.page !== "workspace" || typeof value.workspace !== "string") return home;
    const route: Route = { page: "workspace", workspace: value.workspace };
    if (typeof value.gadget === "string") route.gadget = value.gadget;
    if (typeof value.beside === "string") route.beside = value.beside;
    return route;
  } catch {
    return home;
  }
}
