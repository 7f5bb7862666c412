import type { Problem, View } from "../kernel/api.gen";

/** The life of one view of a gadget. */
export type ViewState =
  | { at: "opening"; tries: number }
  | { at: "loading"; tries: number; view: View }
  | { at: "running"; tries: number; view: View }
  | { at: "waiting"; tries: number; wait: number }
  | { at: "failed"; problem: Problem };

export type ViewEvent =
  | { type: "opened"; view: View }
  | { type: "refused"; problem: Problem }
  | { type: "ready" }
  | { type: "broken"; problem: Problem }
  | { type: "gone" }
  | { type: "retry" }
  | { type: "steady" }
  | { type: "restart" };

export const opening: ViewState = { at: "opening", tries: 0 };

/** How often a view that was lost is opened again before the person is asked. */
export const maxTries = 5;

/** Milliseconds before the n-th new try: doubles from 200 up to 3,200. */
export function viewBackoff(tries: number): number {
  return Math.min(3200, 200 * 2 ** Math.max(0, tries - 1));
}

export const gaveUp: Problem = {
  kind: "view-lost",
  what: "This gadget keeps losing its connection.",
  why: `It was opened ${maxTries} times in a row, and each time it ended again at once.`,
  todo: "Restart the gadget. What it stored is safe; the console may say more.",
};

function again(tries: number): ViewState {
  if (tries >= maxTries) return { at: "failed", problem: gaveUp };
  return { at: "waiting", tries: tries + 1, wait: viewBackoff(tries + 1) };
}

/** The next state. An event that makes no sense in a state leaves it as it is (the same object). */
export function nextView(state: ViewState, event: ViewEvent): ViewState {
  switch (event.type) {
    case "opened":
      return state.at === "opening" ? { at: "loading", tries: state.tries, view: event.view } : state;
    case "refused":
      if (state.at !== "opening") return state;
      return event.problem.kind === "disconnected" ? again(state.tries) : { at: "failed", problem: event.problem };
    case "ready":
      return state.at === "loading" ? { at: "running", tries: state.tries, view: state.view } : state;
    case "broken":
      return state.at === "failed" ? state : { at: "failed", problem: event.problem };
    case "gone":
      return state.at === "loading" || state.at === "running" ? again(state.tries) : state;
    case "retry":
      return state.at === "waiting" ? { at: "opening", tries: state.tries } : state;
    case "steady":
      return state.at === "running" && state.tries > 0 ? { ...state, tries: 0 } : state;
    case "restart":
      return state.at === "opening" && state.tries === 0 ? state : opening;
  }
}
