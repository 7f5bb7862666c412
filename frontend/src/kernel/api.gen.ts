// Generated from app/api by `make generate`. Do not edit.

export interface Person {
  name: string;
}

export interface Problem {
  kind: string;
  what: string;
  why: string;
  todo: string;
  detail?: string;
}

export interface Gadget {
  id: string;
  title: string;
  blueprint: string;
  headless: boolean;
  status: "idle" | "starting" | "running" | "stopped";
  problem?: Problem;
  views: number;
}

export interface Workspace {
  id: string;
  title: string;
  created: number;
  opened: number;
  gadgets: Gadget[];
  problem?: Problem;
}

export interface Blueprint {
  name: string;
  title: string;
  description: string;
  thumbnail: string;
}

export interface Notice {
  id: string;
  level: "info" | "warning" | "error";
  text: string;
  todo?: string;
}

export interface State {
  person: Person;
  build: string;
  workspaces: Workspace[];
  blueprints: Blueprint[];
  notices: Notice[];
}

export interface Subscription {
  stop(): Promise<void>;
  [Symbol.dispose](): void;
}

export interface GadgetRef {
  workspace: string;
  gadget: string;
}

export interface View {
  channel: number;
  frame: string;
  code: string;
  problem?: Problem;
}

export interface ConsoleLine {
  level: "debug" | "log" | "info" | "warn" | "error";
  text: string;
  time: number;
  source: "server" | "view";
}

export interface Shell {
  state(): Promise<State>;
  watch(p: { onState: (state: State) => void }): Promise<Subscription>;
  createGadget(p: { blueprint: string; title?: string; workspace?: string }): Promise<GadgetRef>;
  renameWorkspace(p: { workspace: string; title: string }): Promise<void>;
  deleteWorkspace(p: { workspace: string }): Promise<void>;
  renameGadget(p: { workspace: string; gadget: string; title: string }): Promise<void>;
  deleteGadget(p: GadgetRef): Promise<void>;
  restartGadget(p: GadgetRef): Promise<void>;
  openView(p: GadgetRef): Promise<View>;
  closeView(p: { channel: number }): Promise<void>;
  console(p: { workspace: string; gadget: string; onLines: (lines: ConsoleLine[]) => void }): Promise<Subscription>;
  report(p: { workspace: string; gadget: string; lines: ConsoleLine[] }): Promise<void>;
  dismissNotice(p: { id: string }): Promise<void>;
}
