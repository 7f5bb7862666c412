import type { OpenPipe, Pipe } from "./pipe";

/** Batches up to this many characters go over the bound method, larger ones as a POST. */
export const batchLimit = 100_000;
/** A batch from the kernel that is missing for this long ends the pipe. */
const gapWithin = 15_000;

type Down = { seq: number; frames?: string[]; fetch?: string; closed?: boolean };

/** What the window pipe needs of the window around it. */
export interface WindowSurroundings {
  /** Starts a new connection, both counters at 1, and gives the secret for large batches. */
  open(): Promise<string>;
  send(seq: number, frames: string[]): Promise<void>;
  /** Subscribes to what comes down and returns how to stop. */
  listen(handler: (down: Down) => void): () => void;
  fetch(path: string, init: RequestInit): Promise<Response>;
}

/**
 * The pipe of the window. Frames of one turn of the page travel as one batch;
 * batches are numbered, because a small one may overtake a large one that goes
 * another way, and are put in order again at the other end (here: for what
 * comes down).
 */
export function windowPipe(around: WindowSurroundings): OpenPipe {
  return async () => {
    let line: Line | undefined;
    // Heard before Open was answered, an event belongs to the connection before.
    const stop = around.listen((down) => line?.receive(down));
    try {
      line = new Line(around, await around.open(), stop);
      return line;
    } catch (error) {
      stop();
      throw error;
    }
  };
}

class Line implements Pipe {
  onFrame: (frame: string) => void = () => {};
  onClose: (reason: string) => void = () => {};
  private queue: string[] = [];
  private scheduled = false;
  private sent = 0;
  private due = 1;
  private early = new Map<number, string[] | null>();
  private gap: ReturnType<typeof setTimeout> | undefined;
  private open = true;

  constructor(
    private around: WindowSurroundings,
    private secret: string,
    private stop: () => void,
  ) {}

  send(frame: string): void {
    if (!this.open) return;
    this.queue.push(frame);
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => this.flush());
  }

  close(): void {
    this.end("closed by the page");
  }

  receive(down: Down): void {
    if (this.open && down.closed) return this.end("the kernel closed the connection");
    if (!this.open || down.seq < this.due || this.early.has(down.seq)) return;
    if (down.fetch === undefined) {
      this.early.set(down.seq, down.frames ?? []);
      this.deliver();
      return;
    }
    this.early.set(down.seq, null);
    this.load(down.fetch).then(
      (frames) => {
        this.early.set(down.seq, frames);
        this.deliver();
      },
      () => this.end("a batch from the kernel could not be read"),
    );
    this.deliver();
  }

  private async load(path: string): Promise<string[]> {
    const answer = await this.around.fetch(path, { headers: { "X-Toolshed-Secret": this.secret } });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return (await answer.json()) as string[];
  }

  private deliver(): void {
    for (let frames = this.early.get(this.due); frames && this.open; frames = this.early.get(this.due)) {
      this.early.delete(this.due++);
      for (const frame of frames) if (this.open) this.onFrame(frame);
    }
    clearTimeout(this.gap);
    if (this.open && this.early.size > 0) {
      this.gap = setTimeout(() => this.end("a batch from the kernel never came"), gapWithin);
    }
  }

  private flush(): void {
    this.scheduled = false;
    const frames = this.queue;
    this.queue = [];
    let batch: string[] = [];
    let length = 0;
    for (const frame of frames) {
      if (batch.length > 0 && length + frame.length > batchLimit) {
        this.dispatch(batch, length);
        batch = [];
        length = 0;
      }
      batch.push(frame);
      length += frame.length;
    }
    if (batch.length > 0) this.dispatch(batch, length);
  }

  private dispatch(frames: string[], length: number): void {
    if (!this.open) return;
    const seq = ++this.sent;
    const going =
      length <= batchLimit
        ? this.around.send(seq, frames)
        : this.around
            .fetch("/pipe", {
              method: "POST",
              headers: { "Content-Type": "application/json", "X-Toolshed-Secret": this.secret },
              body: JSON.stringify({ seq, frames }),
            })
            .then((answer) => {
              if (!answer.ok) throw new Error(`status ${answer.status}`);
            });
    going.catch(() => this.end("the kernel did not take a batch"));
  }

  private end(reason: string): void {
    if (!this.open) return;
    this.open = false;
    clearTimeout(this.gap);
    this.stop();
    this.early.clear();
    this.onClose(reason);
  }
}

interface WailsWindow {
  go?: { app?: { Pipe?: { Open(): Promise<string>; Send(seq: number, frames: string[]): Promise<void> } } };
  runtime?: { EventsOn(name: string, handler: (down: Down) => void): () => void };
}

/** The surroundings of a page that runs in the program's own window, else undefined. */
export function realWindow(): WindowSurroundings | undefined {
  const { go, runtime } = window as unknown as WailsWindow;
  const bound = go?.app?.Pipe;
  if (!bound || !runtime) return undefined;
  return {
    open: () => bound.Open(),
    send: (seq, frames) => bound.Send(seq, frames),
    listen: (handler) => runtime.EventsOn("pipe", handler),
    fetch: (path, init) => fetch(path, init),
  };
}
