import type { ConsoleLine } from "../../kernel/api.gen";

/** The panel keeps this many lines; the kernel may keep more. */
export const mostLines = 1_000;

export interface Log {
  lines: (ConsoleLine & { key: number })[];
  next: number;
  dropped: number;
}

export const emptyLog: Log = { lines: [], next: 0, dropped: 0 };

/** The log with these lines at its end, and the oldest gone when there are too many. */
export function append(log: Log, lines: ConsoleLine[]): Log {
  const all = [...log.lines, ...lines.map((line, i) => ({ ...line, key: log.next + i }))];
  const over = Math.max(0, all.length - mostLines);
  return { lines: all.slice(over), next: log.next + lines.length, dropped: log.dropped + over };
}

export type Level = "all" | "warnings" | "errors";
export type Source = "all" | ConsoleLine["source"];

export function filter(log: Log, level: Level, source: Source, text: string): Log["lines"] {
  const wanted = text.trim().toLowerCase();
  return log.lines.filter(
    (line) =>
      (level === "all" || line.level === "error" || (level === "warnings" && line.level === "warn")) &&
      (source === "all" || line.source === source) &&
      (wanted === "" || line.text.toLowerCase().includes(wanted)),
  );
}

/** The time of day with milliseconds. */
export function clock(time: number): string {
  const at = new Date(time);
  const two = (n: number) => String(n).padStart(2, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

export function asText(lines: ConsoleLine[]): string {
  return lines.map((l) => `${clock(l.time)} ${l.source} ${l.level} ${l.text}`).join("\n");
}
