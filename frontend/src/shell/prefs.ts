import { useCallback, useState } from "react";

/** How the person likes the shell, remembered on this machine. */
export interface Prefs {
  sidebar: boolean;
  console: boolean;
  consoleHeight: number;
  folded: string[];
}

const key = "toolshed.prefs";
const usual: Prefs = { sidebar: true, console: false, consoleHeight: 220, folded: [] };

export function readPrefs(text: string | null): Prefs {
  try {
    const kept = JSON.parse(text ?? "{}") as Partial<Record<keyof Prefs, unknown>>;
    const height = Number(kept.consoleHeight);
    return {
      sidebar: typeof kept.sidebar === "boolean" ? kept.sidebar : usual.sidebar,
      console: typeof kept.console === "boolean" ? kept.console : usual.console,
      consoleHeight: height >= 120 && height <= 800 ? height : usual.consoleHeight,
      folded: Array.isArray(kept.folded) ? kept.folded.filter((f) => typeof f === "string").slice(-500) : [],
    };
  } catch {
    return usual;
  }
}

export function usePrefs(): [Prefs, (change: Partial<Prefs>) => void] {
  const [prefs, setPrefs] = useState(() => readPrefs(localStorage.getItem(key)));
  const change = useCallback((part: Partial<Prefs>) => {
    setPrefs((before) => {
      const after = { ...before, ...part };
      localStorage.setItem(key, JSON.stringify(after));
      return after;
    });
  }, []);
  return [prefs, change];
}
