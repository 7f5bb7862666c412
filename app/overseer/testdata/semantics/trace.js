// What the gadgets of the scenarios have in common: their events are lines of the console, which outlives whatever fails.
import { DurableObject } from "cloudflare:workers";

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const show = (v) => (v instanceof Map ? "Map " + JSON.stringify([...v]) : v === undefined ? "undefined" : JSON.stringify(v));

// fault describes what was thrown: a gadget's own errors, whose messages begin with "own", as they are, and others by being one,
// because two systems need not agree on the words.
export const fault = (e) => {
  const own = /own .*/.exec(e?.message);
  return own === null ? "an error" : own[0];
};

export class Traced extends DurableObject {
  note(text) { console.log(`> ${this.ctx.id} ${text}`); }

  // attempt notes what becomes of an operation.
  async attempt(label, operation) {
    try {
      const value = await operation();
      this.note(`${label} = ${show(value)}`);
      return value;
    } catch (e) { this.note(`${label} failed: ${fault(e)}`); }
  }

  trace(text) { this.note(text); }
}
