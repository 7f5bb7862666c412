import type { Problem } from "./api.gen";

/** What the page knows about its line to the kernel. */
export type Connection =
  | { phase: "connecting"; attempt: number }
  | { phase: "open" }
  | { phase: "lost"; attempt: number; wait: number }
  | { phase: "denied"; problem: Problem };

export type ConnectionEvent =
  | { type: "opened" }
  | { type: "closed" }
  | { type: "denied"; problem: Problem }
  | { type: "retry" };

export const start: Connection = { phase: "connecting", attempt: 0 };

/** How long to wait before the n-th attempt, in milliseconds: doubles from 250 up to 5,000. */
export function backoff(attempt: number): number {
  return Math.min(5000, 250 * 2 ** Math.max(0, attempt - 1));
}

/** The next state. An event that makes no sense in a state leaves it as it is (the same object). */
export function next(state: Connection, event: ConnectionEvent): Connection {
  switch (event.type) {
    case "opened":
      return state.phase === "connecting" ? { phase: "open" } : state;
    case "closed": {
      if (state.phase !== "connecting" && state.phase !== "open") return state;
      const attempt = state.phase === "open" ? 1 : state.attempt + 1;
      return { phase: "lost", attempt, wait: backoff(attempt) };
    }
    case "denied":
      return state.phase === "connecting" || state.phase === "open"
        ? { phase: "denied", problem: event.problem }
        : state;
    case "retry":
      if (state.phase === "lost") return { phase: "connecting", attempt: state.attempt };
      return state.phase === "denied" ? { phase: "connecting", attempt: 0 } : state;
  }
}
