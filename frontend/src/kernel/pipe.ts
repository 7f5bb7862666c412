/**
 * The line between the page and the kernel: ordered text frames
 * "<channel>:<payload>". Channel 0 is the shell's own Cap'n Web session, every
 * other channel one view of a gadget. An empty payload closes a channel.
 *
 * A pipe is opened once and never reopened; after onClose it is useless. The
 * owner sets onFrame and onClose before it sends anything: the kernel speaks
 * only when spoken to.
 */
export interface Pipe {
  send(frame: string): void;
  onFrame: (frame: string) => void;
  onClose: (reason: string) => void;
  close(): void;
}

/** Rejects with Denied when asking again is pointless, with any other error when it is not. */
export type OpenPipe = () => Promise<Pipe>;

export interface Channel {
  /** Frames sent after the channel was closed are dropped. */
  send(payload: string): void;
  onMessage: (payload: string) => void;
  /** Called once, also when the whole pipe goes; not after close(). */
  onClose: () => void;
  close(): void;
}

/** Frames of a view may overtake the answer that names its channel: they are kept, up to this. */
const keptFrames = 256;
const keptLength = 4 << 20;

interface Slot {
  channel?: Channel;
  kept: string[];
  length: number;
  closed: boolean;
}

/** Splits one pipe into channels. */
export class Channels {
  private slots = new Map<number, Slot>();
  private open = true;

  constructor(private pipe: Pipe) {
    pipe.onFrame = (frame) => this.receive(frame);
    pipe.onClose = (reason) => this.end(reason);
  }

  onEnd: (reason: string) => void = () => {};

  /** The channel with this number. It may be taken once. */
  take(number: number): Channel {
    const slot = this.slot(number);
    if (slot.channel) throw new Error(`channel ${number} is taken already`);
    const channel: Channel = {
      send: (payload) => {
        if (this.open && !slot.closed && payload !== "") this.pipe.send(`${number}:${payload}`);
      },
      onMessage: () => {},
      onClose: () => {},
      close: () => {
        if (slot.closed || !this.open) return;
        slot.closed = true;
        slot.kept = [];
        this.pipe.send(`${number}:`);
      },
    };
    slot.channel = channel;
    // The taker sets its handlers in this same turn.
    queueMicrotask(() => {
      const kept = slot.kept;
      slot.kept = [];
      for (const payload of kept) channel.onMessage(payload);
      if (slot.closed || !this.open) channel.onClose();
    });
    return channel;
  }

  close(): void {
    this.pipe.close();
    this.end("closed by the page");
  }

  private slot(number: number): Slot {
    let slot = this.slots.get(number);
    if (!slot) {
      slot = { kept: [], length: 0, closed: false };
      this.slots.set(number, slot);
    }
    return slot;
  }

  private receive(frame: string): void {
    const colon = frame.indexOf(":");
    const number = Number(frame.slice(0, colon));
    if (colon < 1 || !Number.isSafeInteger(number) || number < 0) {
      this.pipe.close();
      this.end("the kernel sent a frame that is not one");
      return;
    }
    const payload = frame.slice(colon + 1);
    const slot = this.slot(number);
    if (slot.closed) return;
    if (payload === "") {
      slot.closed = true;
      slot.channel?.onClose();
      return;
    }
    if (slot.channel && slot.kept.length === 0) {
      slot.channel.onMessage(payload);
      return;
    }
    slot.length += payload.length;
    if (slot.kept.length >= keptFrames || slot.length > keptLength) {
      slot.closed = true;
      slot.kept = [];
      this.pipe.send(`${number}:`);
      return;
    }
    slot.kept.push(payload);
  }

  private end(reason: string): void {
    if (!this.open) return;
    this.open = false;
    // The owner hears first: who is told that a channel closed can see why.
    this.onEnd(reason);
    for (const slot of this.slots.values()) {
      if (slot.closed) continue;
      slot.closed = true;
      slot.channel?.onClose();
    }
  }
}
