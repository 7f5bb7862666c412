import { useEffect, useState } from "react";
import type { Problem } from "../kernel/api.gen";
import { toProblem } from "../kernel/problem";

/** Something that the person agreed to and that goes on outside the page: it closes its question when it is done. */
export function useOutside<T>(subject: T | undefined, run: (subject: T) => Promise<void>, onDone: () => void) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    setBusy(false);
    setProblem(undefined);
  }, [subject]);
  const begin = () => {
    if (subject === undefined || busy) return;
    setBusy(true);
    setProblem(undefined);
    run(subject)
      .then(onDone, (error) => setProblem(toProblem(error)))
      .finally(() => setBusy(false));
  };
  return { busy, problem, begin };
}
