import type { ConsoleLine } from "../kernel/api.gen";

const every = 100;
const most = 500;

/** Sends a view's console lines to the kernel in batches, in order, and drops the oldest when there are too many. */
export class Reporter {
  private lines: ConsoleLine[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private send: (lines: ConsoleLine[]) => Promise<void>) {}

  add(line: ConsoleLine): void {
    this.lines.push(line);
    if (this.lines.length > most) this.lines.shift();
    this.timer ??= setTimeout(() => this.flush(), every);
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const lines = this.lines;
    this.lines = [];
    // Without a connection there is nobody to tell; the view goes with it.
    if (lines.length > 0) this.send(lines).catch(() => {});
  }
}
