import { useCallback, useEffect, useMemo, useReducer, useState } from "react";
import type { GadgetRef, Notice, Shell, State } from "../kernel/api.gen";
import { sentence, toProblem } from "../kernel/problem";
import type { Kernel } from "../kernel/session";
import type { Actions } from "./commands";
import type { Prefs } from "./prefs";
import { back, forward, freshTrail, go, heal, parse, replace, type Route, type Trail } from "./routing";

export interface Subject {
  workspace: string;
  gadget?: string;
}

type Step = { type: "go" | "replace"; to: Route } | { type: "back" | "forward" };

const key = "toolshed.place";

function move(trail: Trail, step: Step): Trail {
  if (step.type === "go") return go(trail, step.to);
  if (step.type === "replace") return replace(trail, step.to);
  return step.type === "back" ? back(trail) : forward(trail);
}

/** The person's place, remembered for the session and moved when what it points at goes. */
export function useTrail(state: State): [Trail, (step: Step) => void] {
  const [trail, step] = useReducer(move, freshTrail, (fresh) => ({ ...fresh, here: parse(sessionStorage.getItem(key)) }));
  // What was just made may be a moment ahead of the state that lists it.
  const [hold, setHold] = useState<Route>();
  const healed = heal(trail.here, state);
  useEffect(() => {
    if (healed === trail.here) return setHold(undefined);
    if (hold === trail.here) {
      const timer = setTimeout(() => step({ type: "replace", to: healed }), 2_000);
      return () => clearTimeout(timer);
    }
    step({ type: "replace", to: healed });
    return undefined;
  }, [healed, hold, trail.here]);
  useEffect(() => sessionStorage.setItem(key, JSON.stringify(trail.here)), [trail.here]);
  const stepOn = useCallback((next: Step) => {
    if (next.type === "go") setHold(next.to);
    step(next);
  }, []);
  return [trail, stepOn];
}

/** Notices of the page itself: calls that failed. They stand beside the kernel's until they are put away. */
export function useOwnNotices(): { own: Notice[]; tell(error: unknown): void; forget(id: string): void } {
  const [own, setOwn] = useState<Notice[]>([]);
  const tell = useCallback((error: unknown) => {
    const problem = toProblem(error);
    const text = [problem.what, problem.why].map(sentence).filter(Boolean).join(" ");
    setOwn((before) => [
      ...before.filter((n) => n.text !== text).slice(-4),
      { id: `page-${crypto.randomUUID()}`, level: "error", text, todo: sentence(problem.todo) },
    ]);
  }, []);
  const forget = useCallback((id: string) => setOwn((before) => before.filter((n) => n.id !== id)), []);
  return { own, tell, forget };
}

export interface Doing {
  actions: Actions;
  palette: boolean;
  setPalette(open: boolean): void;
  full: boolean;
  making?: string;
  renaming?: Subject;
  removing?: Subject;
  restarts: Record<string, number>;
  setRenaming(subject: Subject | undefined): void;
  setRemoving(subject: Subject | undefined): void;
  attempt(run: (shell: Shell) => Promise<unknown>): Promise<boolean>;
}

/** What commands do, and what is going on because of them. */
export function useActions(kernel: Kernel, trailStep: (step: Step) => void, setPrefs: (part: Partial<Prefs>) => void, tell: (error: unknown) => void): Doing {
  const [palette, setPalette] = useState(false);
  const [full, setFull] = useState(false);
  const [making, setMaking] = useState<string>();
  const [renaming, setRenaming] = useState<Subject>();
  const [removing, setRemoving] = useState<Subject>();
  const [restarts, setRestarts] = useState<Record<string, number>>({});

  const attempt = useCallback(
    (run: (shell: Shell) => Promise<unknown>) =>
      kernel.call(run).then(
        () => true,
        (error) => (tell(error), false),
      ),
    [kernel, tell],
  );

  const actions = useMemo<Actions>(
    () => ({
      go: (to) => {
        trailStep({ type: "go", to });
        if (to.page === "home") setFull(false);
      },
      back: () => trailStep({ type: "back" }),
      forward: () => trailStep({ type: "forward" }),
      showPalette: () => setPalette(true),
      setSidebar: (sidebar) => setPrefs({ sidebar }),
      setConsole: (on) => setPrefs({ console: on }),
      setFull,
      create: async (blueprint, workspace) => {
        setMaking(blueprint);
        let made: GadgetRef | undefined;
        await attempt(async (shell) => {
          const { workspace: w, gadget } = await shell.createGadget(workspace ? { blueprint, workspace } : { blueprint });
          made = { workspace: w, gadget };
        });
        setMaking(undefined);
        if (made) trailStep({ type: "go", to: { page: "workspace", ...made } });
      },
      rename: setRenaming,
      remove: setRemoving,
      restart: async (ref) => {
        await attempt((shell) => shell.restartGadget(ref));
        setRestarts((before) => ({ ...before, [ref.gadget]: (before[ref.gadget] ?? 0) + 1 }));
      },
    }),
    [attempt, setPrefs, trailStep],
  );
  return { actions, palette, setPalette, full, making, renaming, removing, restarts, setRenaming, setRemoving, attempt };
}
