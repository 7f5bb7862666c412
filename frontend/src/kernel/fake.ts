import { RpcSession, RpcTarget } from "capnweb";
import type { Blueprint, ConsoleLine, Gadget, GadgetRef, Problem, Shell, State, Subscription, View, Workspace } from "./api.gen";
import { Channels, type OpenPipe, type Pipe } from "./pipe";
import { Denied } from "./problem";
import { ChannelTransport } from "./session";

/**
 * A kernel in memory, for tests and for work on the page without the program.
 * It speaks through the same pipe, channels and Cap'n Web sessions as the real
 * one, so everything above the pipe is the real thing. Never in the built page.
 */

/** What a fake gadget is made of: the view's code, and its server half. */
export interface FakeKind {
  blueprint: Blueprint;
  client: string;
  server(log: (level: ConsoleLine["level"], text: string) => void): RpcTarget;
}

interface Instance {
  target: RpcTarget;
  lines: ConsoleLine[];
  listeners: Set<(lines: ConsoleLine[]) => void>;
  channels: Map<number, () => void>;
}

/** Two ends of a pipe in this process; frames arrive in order, in a later task. */
export function memoryPipe(): [Pipe, Pipe] {
  const ends: Pipe[] = [];
  let open = true;
  const make = (other: () => Pipe): Pipe => ({
    send: (frame) => void setTimeout(() => open && other().onFrame(frame)),
    onFrame: () => {},
    onClose: () => {},
    close: () => {
      if (!open) return;
      open = false;
      for (const end of ends) end.onClose("closed");
    },
  });
  ends.push(
    make(() => ends[1]!),
    make(() => ends[0]!),
  );
  return [ends[0]!, ends[1]!];
}

type AnyFunction = ((value: never) => unknown) & { dup?(): AnyFunction; [Symbol.dispose]?(): void };

/** Keeps a callback beyond the call that brought it. */
function keep<F extends AnyFunction>(callback: F): F {
  return (callback.dup?.() ?? callback) as F;
}

class Stop extends RpcTarget implements Subscription {
  constructor(private end: () => void) {
    super();
  }
  async stop(): Promise<void> {
    this.end();
  }
  [Symbol.dispose](): void {
    this.end();
  }
}

function failure(problem: Problem): Error {
  const error = Object.assign(new Error(problem.what), problem);
  error.name = problem.kind;
  return error;
}

export function missing(what: string): Problem {
  return { kind: "not-found", what: `There is no such ${what}.`, why: "It was deleted, or never existed.", todo: "Choose another one." };
}

export class FakeKernel {
  state: State;
  /** How long openView and createGadget take, in milliseconds. */
  delay = 0;
  /** Set to make every openView fail. */
  failOpen: Problem | undefined;
  /** Set to refuse the page at all. */
  denied: Problem | undefined;
  /** Whether a new pipe can be opened. */
  up = true;
  /** What every view of a kind is told besides its code. */
  viewProblem: Problem | undefined;
  opened = 0;
  private instances = new Map<string, Instance>();
  private watchers = new Set<(state: State) => void>();
  private pipes = new Set<Pipe>();
  private count = 0;
  private channel = 0;

  constructor(private kinds: FakeKind[], person = "Ada") {
    this.state = { person: { name: person }, build: "fake", workspaces: [], blueprints: kinds.map((k) => k.blueprint), notices: [] };
  }

  openPipe: OpenPipe = async () => {
    if (this.denied) throw new Denied(this.denied);
    if (!this.up) throw new Error("the fake kernel is down");
    const [page, own] = memoryPipe();
    this.pipes.add(own);
    const channels = new Channels(own);
    channels.onEnd = () => this.pipes.delete(own);
    new RpcSession(new ChannelTransport(channels.take(0)), new FakeShell(this, channels));
    return page;
  };

  /** Cuts every page off, as a crash would. */
  drop(): void {
    for (const pipe of [...this.pipes]) pipe.close();
    this.watchers.clear();
  }

  /** Ends the open views of a gadget; their pages open them again. */
  dropViews(gadget: string): void {
    for (const end of [...(this.instances.get(gadget)?.channels.values() ?? [])]) end();
  }

  change(edit: (state: State) => void): void {
    const state = structuredClone(this.state);
    edit(state);
    this.state = state;
    for (const watcher of [...this.watchers]) watcher(state);
  }

  edit(ref: GadgetRef, edit: (gadget: Gadget) => void): void {
    this.change((state) => {
      const gadget = state.workspaces.find((w) => w.id === ref.workspace)?.gadgets.find((g) => g.id === ref.gadget);
      if (gadget) edit(gadget);
    });
  }

  watch(watcher: (state: State) => void): () => void {
    this.watchers.add(watcher);
    watcher(this.state);
    return () => this.watchers.delete(watcher);
  }

  make(blueprint: string, title?: string, workspace?: string, opened = Date.now()): GadgetRef {
    const kind = this.kinds.find((k) => k.blueprint.name === blueprint);
    if (!kind) throw failure(missing("blueprint"));
    if (workspace && !this.state.workspaces.some((w) => w.id === workspace)) throw failure(missing("workspace"));
    const name = title ?? kind.blueprint.title;
    const gadget: Gadget = { id: `g${++this.count}`, title: name, blueprint, headless: kind.client === "", status: "idle", views: 0 };
    const owner: Workspace = { id: workspace ?? `w${++this.count}`, title: name, created: opened, opened, gadgets: [] };
    this.change((state) => {
      const known = state.workspaces.find((w) => w.id === owner.id);
      (known ?? owner).gadgets.push(gadget);
      if (!known) state.workspaces.unshift(owner);
    });
    return { workspace: owner.id, gadget: gadget.id };
  }

  find(ref: GadgetRef): Gadget {
    const gadget = this.state.workspaces.find((w) => w.id === ref.workspace)?.gadgets.find((g) => g.id === ref.gadget);
    if (!gadget) throw failure(missing("gadget"));
    return gadget;
  }

  instance(ref: GadgetRef): Instance {
    const gadget = this.find(ref);
    let instance = this.instances.get(gadget.id);
    if (!instance) {
      const kind = this.kinds.find((k) => k.blueprint.name === gadget.blueprint)!;
      const made: Omit<Instance, "target"> = { lines: [], listeners: new Set(), channels: new Map() };
      const target = kind.server((level, text) => this.log(made, [{ level, text, time: Date.now(), source: "server" }]));
      this.instances.set(gadget.id, (instance = Object.assign(made, { target })));
    }
    return instance;
  }

  log(instance: Omit<Instance, "target">, lines: ConsoleLine[]): void {
    instance.lines = [...instance.lines, ...lines].slice(-1_000);
    for (const listener of [...instance.listeners]) listener(lines);
  }

  async openView(ref: GadgetRef, channels: Channels): Promise<View> {
    this.opened++;
    await new Promise((resolve) => setTimeout(resolve, this.delay));
    if (this.failOpen) throw failure(this.failOpen);
    const gadget = this.find(ref);
    const instance = this.instance(ref);
    const number = ++this.channel;
    const channel = channels.take(number);
    const end = () => {
      channel.close();
      if (!instance.channels.delete(number)) return;
      this.edit(ref, (g) => (g.views = instance.channels.size));
    };
    instance.channels.set(number, end);
    new RpcSession(new ChannelTransport(channel), instance.target);
    const closed = channel.onClose;
    channel.onClose = () => {
      closed();
      end();
    };
    this.edit(ref, (g) => {
      g.views = instance.channels.size;
      g.status = "running";
    });
    const kind = this.kinds.find((k) => k.blueprint.name === gadget.blueprint)!;
    return { channel: number, frame: `${crypto.randomUUID()}`, code: kind.client, ...(this.viewProblem ? { problem: this.viewProblem } : {}) };
  }

  closeView(channel: number): void {
    for (const instance of this.instances.values()) instance.channels.get(channel)?.();
  }

  forgetGadget(gadget: string): void {
    this.dropViews(gadget);
    this.instances.delete(gadget);
  }
}

class FakeShell extends RpcTarget implements Shell {
  constructor(
    private kernel: FakeKernel,
    private channels: Channels,
  ) {
    super();
  }
  async state(): Promise<State> {
    return this.kernel.state;
  }
  async watch({ onState }: { onState: (s: State) => void }): Promise<Subscription> {
    const tell = keep(onState);
    return new Stop(this.kernel.watch((state) => tell(state)));
  }
  async createGadget(p: { blueprint: string; title?: string; workspace?: string }): Promise<GadgetRef> {
    await new Promise((resolve) => setTimeout(resolve, this.kernel.delay));
    return this.kernel.make(p.blueprint, p.title, p.workspace);
  }
  async renameWorkspace(p: { workspace: string; title: string }): Promise<void> {
    this.kernel.change((state) => {
      const workspace = state.workspaces.find((w) => w.id === p.workspace);
      if (!workspace) throw failure(missing("workspace"));
      workspace.title = p.title;
    });
  }
  async deleteWorkspace(p: { workspace: string }): Promise<void> {
    const gone = this.kernel.state.workspaces.find((w) => w.id === p.workspace);
    if (!gone) throw failure(missing("workspace"));
    for (const gadget of gone.gadgets) this.kernel.forgetGadget(gadget.id);
    this.kernel.change((state) => (state.workspaces = state.workspaces.filter((w) => w.id !== p.workspace)));
  }
  async renameGadget(p: GadgetRef & { title: string }): Promise<void> {
    this.kernel.find(p);
    this.kernel.edit(p, (gadget) => (gadget.title = p.title));
  }
  async deleteGadget(p: GadgetRef): Promise<void> {
    this.kernel.find(p);
    this.kernel.forgetGadget(p.gadget);
    this.kernel.change((state) => {
      for (const workspace of state.workspaces) workspace.gadgets = workspace.gadgets.filter((g) => g.id !== p.gadget);
    });
  }
  async restartGadget(p: GadgetRef): Promise<void> {
    this.kernel.find(p);
    this.kernel.edit(p, (gadget) => {
      gadget.status = "idle";
      delete gadget.problem;
    });
    this.kernel.dropViews(p.gadget);
  }
  openView(p: GadgetRef): Promise<View> {
    return this.kernel.openView(p, this.channels);
  }
  async closeView(p: { channel: number }): Promise<void> {
    this.kernel.closeView(p.channel);
  }
  async console(p: GadgetRef & { onLines: (l: ConsoleLine[]) => void }): Promise<Subscription> {
    const instance = this.kernel.instance(p);
    const tell = keep(p.onLines);
    const listener = (lines: ConsoleLine[]) => void tell(lines);
    listener(instance.lines);
    instance.listeners.add(listener);
    return new Stop(() => instance.listeners.delete(listener));
  }
  async report(p: GadgetRef & { lines: ConsoleLine[] }): Promise<void> {
    this.kernel.log(this.kernel.instance(p), p.lines);
  }
  async dismissNotice(p: { id: string }): Promise<void> {
    this.kernel.change((state) => (state.notices = state.notices.filter((n) => n.id !== p.id)));
  }
}

