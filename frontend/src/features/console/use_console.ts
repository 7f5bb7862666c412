import { useCallback, useEffect, useState } from "react";
import type { ConsoleLine, Problem, Subscription } from "../../kernel/api.gen";
import { toProblem } from "../../kernel/problem";
import { useConnection, useKernel } from "../../kernel/react";
import { append, emptyLog, type Log } from "./lines";

export interface ConsoleFeed {
  log: Log;
  loading: boolean;
  problem?: Problem;
  clear(): void;
}

/** One gadget's console for as long as the component lives; begun anew after each reconnect. */
export function useConsole(workspace: string, gadget: string): ConsoleFeed {
  const kernel = useKernel();
  const online = useConnection().phase === "open";
  const [log, setLog] = useState<Log>(emptyLog);
  const [loading, setLoading] = useState(true);
  const [problem, setProblem] = useState<Problem>();

  useEffect(() => {
    if (!online) return;
    let over = false;
    let waiting: ConsoleLine[] = [];
    let frame = 0;
    let subscription: Subscription | undefined;
    const onLines = (lines: ConsoleLine[]) => {
      if (over) return;
      waiting.push(...lines);
      // Many lines between two paints are one change.
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        const now = waiting;
        waiting = [];
        setLog((before) => append(before, now));
      });
    };
    setLog(emptyLog);
    setProblem(undefined);
    setLoading(true);
    kernel
      .call((shell) => shell.console({ workspace, gadget, onLines }))
      .then(
        (got) => {
          subscription = got;
          if (over) void got.stop().catch(() => {});
          else setLoading(false);
        },
        (error) => {
          if (over) return;
          setLoading(false);
          setProblem(toProblem(error));
        },
      );
    return () => {
      over = true;
      cancelAnimationFrame(frame);
      void subscription?.stop().catch(() => {});
    };
  }, [kernel, online, workspace, gadget]);

  const clear = useCallback(() => setLog((before) => ({ ...emptyLog, next: before.next })), []);
  return { log, loading: loading && online, problem, clear };
}
