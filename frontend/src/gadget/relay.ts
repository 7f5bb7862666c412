import type { Channel } from "../kernel/pipe";

/** The end of a MessageChannel, as far as the relay needs it. */
export interface Port {
  postMessage(message: unknown): void;
  onmessage: ((event: { data: unknown }) => void) | null;
  close(): void;
}

export const limits = {
  /** One message, in UTF-16 units, as Cap'n Web counts. */
  message: 32 << 20,
  /** Messages a second that a frame may keep up, and how many it may send at once. */
  rate: 5_000,
  burst: 30_000,
  /** The same for text, in UTF-16 units. */
  bytesRate: 32 << 20,
  bytesBurst: 96 << 20,
  /** Control messages (console lines, errors, keys, links, files). */
  controlRate: 100,
  controlBurst: 500,
};

/** A bucket that fills at a steady rate. */
export class Allowance {
  private left: number;
  private then: number;

  constructor(
    private rate: number,
    private burst: number,
    private now: () => number,
  ) {
    this.left = burst;
    this.then = now();
  }

  /** Takes the cost if there is enough, else takes nothing and says false. */
  take(cost: number): boolean {
    const now = this.now();
    this.left = Math.min(this.burst, this.left + ((now - this.then) / 1000) * this.rate);
    this.then = now;
    if (cost > this.left) return false;
    this.left -= cost;
    return true;
  }
}

export interface RelayEvents {
  control(message: object): void;
  /** The frame passed a cap; the relay is closed. */
  excess(what: string): void;
  /** Either side ended. */
  gone(): void;
}

/**
 * Carries strings between a frame and its channel without reading them, so it
 * cannot corrupt a value. It caps what a frame may send; a frame that passes a
 * cap is cut off, because a lost message would break its session anyway.
 * Control messages over their rate are dropped and counted.
 */
export class Relay {
  private open = true;
  private dropped = 0;
  private messages: Allowance;
  private bytes: Allowance;
  private controls: Allowance;

  constructor(
    private port: Port,
    private channel: Channel,
    private events: RelayEvents,
    now: () => number = () => performance.now(),
  ) {
    this.messages = new Allowance(limits.rate, limits.burst, now);
    this.bytes = new Allowance(limits.bytesRate, limits.bytesBurst, now);
    this.controls = new Allowance(limits.controlRate, limits.controlBurst, now);
    channel.onMessage = (text) => {
      if (this.open) port.postMessage(text);
    };
    channel.onClose = () => this.end(true);
    port.onmessage = ({ data }) => this.take(data);
  }

  /** Sends a control message to the frame. */
  tell(message: object): void {
    if (this.open) this.port.postMessage(message);
  }

  close(): void {
    this.end(false);
  }

  private take(data: unknown): void {
    if (!this.open) return;
    if (typeof data === "string") return this.forward(data);
    if (data === null) return this.end(true);
    if (typeof data !== "object") return;
    if (!this.controls.take(1)) {
      this.dropped++;
      return;
    }
    if (this.dropped > 0) {
      const text = `${this.dropped} messages of this view came too fast and were dropped.`;
      this.dropped = 0;
      this.events.control({ console: { level: "warn", text } });
    }
    this.events.control(data);
  }

  private forward(text: string): void {
    if (text === "") return;
    if (text.length > limits.message) return this.cut("one message of more than 32 MiB");
    if (!this.messages.take(1)) return this.cut(`more than ${limits.rate.toLocaleString("en")} messages a second`);
    if (!this.bytes.take(text.length)) return this.cut("more than 32 MiB a second");
    this.channel.send(text);
  }

  private cut(what: string): void {
    if (!this.open) return;
    this.end(false);
    this.events.excess(what);
  }

  private end(tell: boolean): void {
    if (!this.open) return;
    this.open = false;
    this.port.postMessage(null);
    this.port.onmessage = null;
    this.port.close();
    this.channel.close();
    if (tell) this.events.gone();
  }
}
