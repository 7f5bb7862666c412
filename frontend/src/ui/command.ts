import type { Icon } from "@phosphor-icons/react";

/** Something a person can do. Menus, buttons, shortcuts and the palette all render from these. */
export interface Command {
  id: string;
  label: string;
  icon: Icon;
  /** As ui/keys writes them. */
  keys?: string;
  enabled: boolean;
  /** For a command that turns something on and off: whether it is on. */
  on?: boolean;
  /** Takes something away for good. */
  danger?: boolean;
  /** More words to find it by, and where it belongs, for the palette. */
  hint?: string;
  run(): void;
}

/** The commands with these ids, in this order; "-" stands for a separator between those found. */
export function pick(commands: Command[], ids: string[]): (Command | "-")[] {
  const found: (Command | "-")[] = [];
  for (const id of ids) {
    const command = id === "-" ? "-" : commands.find((c) => c.id === id);
    if (command && (command !== "-" || (found.length > 0 && found.at(-1) !== "-"))) found.push(command);
  }
  if (found.at(-1) === "-") found.pop();
  return found;
}

/** Commands whose words contain all words of the query, those whose label begins with it first; the order is kept otherwise. */
export function search(commands: Command[], query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const usable = commands.filter((c) => c.enabled);
  if (words.length === 0) return usable;
  const scored: { command: Command; score: number }[] = [];
  for (const command of usable) {
    const label = command.label.toLowerCase();
    const all = `${label} ${command.hint?.toLowerCase() ?? ""}`;
    if (!words.every((word) => all.includes(word))) continue;
    const begins = label.split(/\s+/).some((w) => w.startsWith(words[0]!));
    scored.push({ command, score: label.startsWith(words.join(" ")) ? 0 : begins ? 1 : 2 });
  }
  return scored.sort((a, b) => a.score - b.score).map((s) => s.command);
}
