const maxLength = 8_000;
const maxEntries = 50;
const maxDepth = 3;

/** A console argument as text: strings bare, everything else the way one would write it, shortened. */
export function inspect(value: unknown): string {
  const text = typeof value === "string" ? value : show(value, 0, new Set());
  return text.length > maxLength ? `${text.slice(0, maxLength)}… (${text.length} characters)` : text;
}

function show(value: unknown, depth: number, above: Set<unknown>): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value !== "object" || value === null) return String(value);
  if (above.has(value)) return "(circular)";
  try {
    above.add(value);
    return showObject(value, depth, above);
  } catch {
    return "(unreadable)";
  } finally {
    above.delete(value);
  }
}

function showObject(value: object, depth: number, above: Set<unknown>): string {
  if (value instanceof Error) return String(value.stack || `${value.name}: ${value.message}`);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (typeof Element !== "undefined" && value instanceof Element) return `<${value.tagName.toLowerCase()}>`;
  if (ArrayBuffer.isView(value)) return `${value.constructor.name}(${value.byteLength} bytes)`;
  const deeper = (inner: unknown) => show(inner, depth + 1, above);
  const list = (open: string, items: string[], total: number, close: string) => {
    if (total > items.length) items.push(`… ${total - items.length} more`);
    return items.length ? `${open} ${items.join(", ")} ${close}` : open + close;
  };
  if (Array.isArray(value)) {
    if (depth >= maxDepth) return `Array(${value.length})`;
    return list("[", value.slice(0, maxEntries).map(deeper), value.length, "]");
  }
  if (value instanceof Map || value instanceof Set) {
    const name = value instanceof Map ? "Map" : "Set";
    if (depth >= maxDepth) return `${name}(${value.size})`;
    const items = [...value].slice(0, maxEntries);
    const shown = items.map((i) => (value instanceof Map && Array.isArray(i) ? `${deeper(i[0])} => ${deeper(i[1])}` : deeper(i)));
    return list(`${name} {`, shown, value.size, "}");
  }
  const keys = Object.keys(value);
  const name = Object.getPrototypeOf(value)?.constructor?.name;
  const open = name && name !== "Object" ? `${name} {` : "{";
  if (depth >= maxDepth) return `${open}…}`;
  const fields = keys.slice(0, maxEntries).map((key) => `${key}: ${deeper((value as Record<string, unknown>)[key])}`);
  return list(open, fields, keys.length, "}");
}
