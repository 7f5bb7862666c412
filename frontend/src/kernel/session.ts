import { RpcSession, type RpcTransport } from "capnweb";
import type { Shell, State, Subscription } from "./api.gen";
import { next, start, type Connection, type ConnectionEvent } from "./connection";
import { Channels, type Channel, type OpenPipe } from "./pipe";
import { Denied, disconnected, KernelError, toProblem } from "./problem";

/** The kernel as the rest of the page sees it: the only way to it. */
export interface Kernel {
  connection(): Connection;
  /** The latest state, kept while the connection is lost; undefined before the first. */
  state(): State | undefined;
  /** Calls back after each change of connection() or state(). */
  subscribe(changed: () => void): () => void;
  /** Runs one call. Rejects with KernelError, of kind "disconnected" when the line is down. */
  call<T>(run: (shell: Shell) => Promise<T>): Promise<T>;
  /** The channel that openView named. It may be taken once. */
  channel(number: number): Channel;
  /** Connects at once instead of when the back-off ends. */
  retry(): void;
}

/** Cap'n Web's view of one channel. */
export class ChannelTransport implements RpcTransport {
  private waiting: { resolve(m: string): void; reject(e: unknown): void } | undefined;
  private queue: string[] = [];
  private over: Error | undefined;

  constructor(private channel: Channel) {
    channel.onMessage = (message) => {
      const taker = this.waiting;
      this.waiting = undefined;
      if (taker) taker.resolve(message);
      else this.queue.push(message);
    };
    channel.onClose = () => {
      this.over = new KernelError(disconnected);
      this.waiting?.reject(this.over);
    };
  }

  send(message: string): void {
    this.channel.send(message);
  }

  receive(): Promise<string> {
    const message = this.queue.shift();
    if (message !== undefined) return Promise.resolve(message);
    if (this.over) return Promise.reject(this.over);
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
    });
  }

  abort(): void {
    this.channel.close();
  }
}

interface Line {
  channels: Channels;
  shell: Shell;
}

/**
 * One Cap'n Web session over channel 0 of a pipe, opened again with back-off
 * whenever it is lost. The state is watched on every new session, so it is never
 * older than the connection.
 */
export class Session implements Kernel {
  private at: Connection = start;
  private latest: State | undefined;
  private line: Line | undefined;
  private listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private openPipe: OpenPipe) {}

  /** Begins to connect. Called once. */
  begin(): this {
    void this.connect();
    return this;
  }

  connection(): Connection {
    return this.at;
  }

  state(): State | undefined {
    return this.latest;
  }

  subscribe(changed: () => void): () => void {
    this.listeners.add(changed);
    return () => this.listeners.delete(changed);
  }

  async call<T>(run: (shell: Shell) => Promise<T>): Promise<T> {
    const line = this.line;
    if (!line) throw new KernelError(disconnected);
    try {
      return await run(line.shell);
    } catch (error) {
      throw new KernelError(this.line === line ? toProblem(error) : disconnected);
    }
  }

  channel(number: number): Channel {
    if (!this.line) throw new KernelError(disconnected);
    return this.line.channels.take(number);
  }

  retry(): void {
    const before = this.at;
    this.step({ type: "retry" });
    if (this.at !== before) void this.connect();
  }

  private async connect(): Promise<void> {
    clearTimeout(this.timer);
    try {
      const channels = new Channels(await this.openPipe());
      channels.onEnd = () => this.lose(channels);
      const transport = new ChannelTransport(channels.take(0));
      const rpc = new RpcSession<never>(transport);
      const main = rpc.getRemoteMain() as unknown as Shell & { onRpcBroken(f: () => void): void };
      main.onRpcBroken(() => channels.close());
      const shell: Shell = main;
      this.line = { channels, shell };
      this.step({ type: "opened" });
      void this.watch(this.line);
    } catch (error) {
      if (error instanceof Denied) this.step({ type: "denied", problem: error.problem });
      else this.fall();
    }
  }

  private async watch(line: Line): Promise<void> {
    const onState = (state: State) => {
      if (this.line !== line) return;
      this.latest = state;
      this.changed();
    };
    try {
      const watching: Subscription = await line.shell.watch({ onState });
      void watching;
    } catch {
      // Without its state the page is blind: a fresh connection is the way out.
      line.channels.close();
    }
  }

  private lose(channels: Channels): void {
    if (this.line?.channels !== channels) return;
    this.line = undefined;
    this.fall();
  }

  private fall(): void {
    this.step({ type: "closed" });
    if (this.at.phase !== "lost") return;
    const wait = this.at.wait * (0.75 + Math.random() / 2);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.retry(), wait);
  }

  private step(event: ConnectionEvent): void {
    const after = next(this.at, event);
    if (after === this.at) return;
    this.at = after;
    this.changed();
  }

  private changed(): void {
    for (const listener of [...this.listeners]) listener();
  }
}
