const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 365 * 86_400_000],
  ["month", 30 * 86_400_000],
  ["week", 7 * 86_400_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** How long ago a time was, in words; times in epoch milliseconds. */
export function ago(time: number, now: number): string {
  const past = Math.max(0, now - time);
  for (const [unit, size] of steps) {
    if (past >= size) return words.format(-Math.floor(past / size), unit);
  }
  return "just now";
}
