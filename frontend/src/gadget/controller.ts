import type { ConsoleLine, Problem, View } from "../kernel/api.gen";
import { toProblem } from "../kernel/problem";
import type { Kernel } from "../kernel/session";
import { externalAddress } from "./external";
import { Relay, type Port } from "./relay";
import { Reporter } from "./reporter";
import { offeredFile, type OfferedFile } from "./saving";
import { nextView, opening, type ViewEvent, type ViewState } from "./view";

const helloWithin = 10_000;
const steadyAfter = 10_000;

export interface ViewTarget {
  workspace: string;
  gadget: string;
  title(): string;
  theme(): "light" | "dark";
}

export interface ViewAsks {
  escape(): void;
  palette(): void;
  link(address: URL): void;
  save(file: OfferedFile): void;
}

/**
 * Drives one view: opens it, answers its frame's handshake, relays, and opens
 * it again when the kernel says it is gone. It touches no DOM; the component
 * shows what state() says and hands in the frame's hello.
 */
export class ViewController {
  private current: ViewState = opening;
  private relay: Relay | undefined;
  private listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private generation = 0;
  private disposed = false;
  private reporter: Reporter;
  private unsubscribe: () => void;
  private online: boolean;

  constructor(
    private kernel: Kernel,
    private target: ViewTarget,
    private asks: ViewAsks,
  ) {
    const { workspace, gadget } = target;
    this.reporter = new Reporter((lines) => kernel.call((shell) => shell.report({ workspace, gadget, lines })));
    this.online = kernel.connection().phase === "open";
    this.unsubscribe = kernel.subscribe(() => this.connectionChanged());
    this.open();
  }

  state(): ViewState {
    return this.current;
  }

  subscribe = (changed: () => void): (() => void) => {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  };

  /** The frame of the present view sent its port. False when this is not the moment for one. */
  hello(port: Port): boolean {
    if (this.current.at !== "loading" || this.relay) return false;
    const { view } = this.current;
    try {
      this.relay = new Relay(port, this.kernel.channel(view.channel), {
        control: (message) => this.control(message),
        excess: (what) => this.cutOff(what),
        gone: () => this.lost(),
      });
    } catch {
      this.lost();
      return false;
    }
    clearTimeout(this.timer);
    this.relay.tell({ theme: this.target.theme() });
    this.relay.tell({ start: { code: view.code, title: this.target.title() } });
    return true;
  }

  /** The frame loaded another document than the one it was given. */
  strayed(): void {
    this.lost();
  }

  wear(theme: "light" | "dark"): void {
    this.relay?.tell({ theme });
  }

  /** Begins anew, whatever the state. */
  restart(): void {
    this.release();
    const before = this.current;
    this.step({ type: "restart" });
    if (this.current === before) this.open();
  }

  /** Begins anew if the view had given up; a view that lives is told by the kernel. */
  revive(): void {
    if (this.current.at === "failed") this.restart();
  }

  dispose(): void {
    this.disposed = true;
    this.unsubscribe();
    this.release();
    this.reporter.flush();
    this.listeners.clear();
  }

  private open(): void {
    const mine = ++this.generation;
    const { workspace, gadget } = this.target;
    this.kernel
      .call((shell) => shell.openView({ workspace, gadget }))
      .then(
        (view) => (mine === this.generation && !this.disposed ? this.opened(view) : this.leave(view.channel)),
        (error) => mine === this.generation && this.step({ type: "refused", problem: toProblem(error) }),
      );
  }

  private opened(view: View): void {
    if (view.problem && !view.code) {
      this.leave(view.channel);
      this.step({ type: "refused", problem: view.problem });
      return;
    }
    this.step({ type: "opened", view });
    this.timer = setTimeout(() => this.broke(noHello), helloWithin);
  }

  private leave(channel: number): void {
    if (channel > 0) this.kernel.call((shell) => shell.closeView({ channel })).catch(() => {});
  }

  private release(): void {
    clearTimeout(this.timer);
    this.generation++;
    const relay = this.relay;
    this.relay = undefined;
    const was = this.current;
    if (relay) relay.close();
    if (was.at === "loading" || was.at === "running") this.leave(was.view.channel);
  }

  private lost(): void {
    this.release();
    this.step({ type: "gone" });
  }

  private broke(problem: Problem): void {
    this.release();
    this.step({ type: "broken", problem });
  }

  private cutOff(what: string): void {
    this.reporter.add(line("error", `The view was closed: it sent ${what}.`));
    this.broke({ ...tooMuch, why: `Its view sent ${what}.` });
  }

  private connectionChanged(): void {
    const online = this.kernel.connection().phase === "open";
    if (online === this.online) return;
    this.online = online;
    if (online && this.current.at === "waiting") this.step({ type: "retry" });
  }

  private control(message: object): void {
    const told = message as Record<string, unknown>;
    if (told.ready === true) this.step({ type: "ready" });
    if (isRecord(told.console)) this.reporter.add(line(levelOf(told.console.level), text(told.console.text)));
    if (isRecord(told.error)) this.failedIn(told.error);
    if (told.key === "Escape") this.asks.escape();
    if (told.key === "Mod+K") this.asks.palette();
    const address = externalAddress(told.open);
    if (address) this.asks.link(address);
    const file = offeredFile(told.save);
    if (file) this.asks.save(file);
  }

  private failedIn(error: Record<string, unknown>): void {
    const message = text(error.message);
    const stack = text(error.stack);
    this.reporter.add(line("error", stack.includes(message) ? stack : [message, stack].filter(Boolean).join("\n")));
    if (error.starting !== true) return;
    this.reporter.flush();
    this.broke({ ...badStart, why: message || badStart.why, detail: stack.startsWith(message) ? stack.slice(message.length).trim() : stack });
  }

  private step(event: ViewEvent): void {
    if (this.disposed) return;
    const after = nextView(this.current, event);
    if (after === this.current) return;
    this.current = after;
    this.entered(after);
    for (const listener of [...this.listeners]) listener();
  }

  private entered(state: ViewState): void {
    clearTimeout(this.timer);
    if (state.at === "waiting" && this.online) this.timer = setTimeout(() => this.step({ type: "retry" }), state.wait);
    if (state.at === "opening") this.open();
    if (state.at === "running" && state.tries > 0) {
      this.timer = setTimeout(() => this.step({ type: "steady" }), steadyAfter);
    }
  }
}

const noHello = {
  kind: "frame",
  what: "The gadget's view did not load.",
  why: "Its frame stayed silent for 10 seconds.",
  todo: "Restart the gadget. If it happens again, restart Toolshed.",
};
const tooMuch = {
  kind: "excess",
  what: "The gadget's view was closed.",
  todo: "Restart the gadget. If it happens again, its code needs a correction.",
};
const badStart = {
  kind: "client",
  what: "The gadget's view could not start.",
  why: "Its code stopped with an error.",
  todo: "Look at the console for the place in the code, then restart the gadget.",
};

function line(level: ConsoleLine["level"], value: string): ConsoleLine {
  return { level, text: value, time: Date.now(), source: "view" };
}

function text(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 16_384) : "";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function levelOf(value: unknown): ConsoleLine["level"] {
  return value === "debug" || value === "info" || value === "warn" || value === "error" ? value : "log";
}
