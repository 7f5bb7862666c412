import { useEffect, useState } from "react";

export const skeletonAfter = 150;
export const wordsAfter = 2_000;

/** True once the condition held for that many milliseconds without a break. */
export function useLate(condition: boolean, after: number): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!condition) return;
    const timer = setTimeout(() => setLate(true), after);
    return () => clearTimeout(timer);
  }, [condition, after]);
  return condition && late;
}
