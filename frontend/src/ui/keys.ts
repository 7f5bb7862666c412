/**
 * Shortcuts are written "Mod+Shift+K": Mod is Command on a Mac and Control
 * elsewhere; the last part is what KeyboardEvent.key says.
 */
const mac = typeof navigator !== "undefined" && /Mac|iP/.test(navigator.platform);

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

export function pressed(event: Pressed, keys: string, onMac = mac): boolean {
  const parts = keys.split("+");
  const key = parts.pop()!;
  const wants = (name: string) => parts.includes(name);
  const mod = onMac ? event.metaKey : event.ctrlKey;
  const other = onMac ? event.ctrlKey : event.metaKey;
  return (
    event.key.toLowerCase() === key.toLowerCase() &&
    mod === wants("Mod") &&
    !other &&
    event.altKey === wants("Alt") &&
    event.shiftKey === wants("Shift")
  );
}

/** Whether the keys would type a character in a text field. */
export function types(keys: string): boolean {
  return !/Mod|Alt/.test(keys) && keys.replace("Shift+", "").length === 1;
}

const macSigns: Record<string, string> = { Mod: "⌘", Shift: "⇧", Alt: "⌥" };
const names: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

export function keyLabel(keys: string, onMac = mac): string {
  const parts = keys.split("+").map((part) => {
    if (onMac && macSigns[part]) return macSigns[part];
    if (part === "Mod") return "Ctrl";
    return names[part] ?? (part.length === 1 ? part.toUpperCase() : part);
  });
  return parts.join(onMac ? "" : "+");
}
