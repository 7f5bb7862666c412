/** Schemes that a gadget may ask the person to open. */
const schemes = new Set(["http:", "https:", "mailto:"]);

/** The address to show and open, or undefined when it is none that may be opened. */
export function externalAddress(href: unknown): URL | undefined {
  if (typeof href !== "string" || href.length > 8_192) return undefined;
  try {
    const address = new URL(href);
    return schemes.has(address.protocol) ? address : undefined;
  } catch {
    return undefined;
  }
}

/** Whether this page can hand an address to the person's own browser. */
export function canOpenExternal(): boolean {
  return !("go" in window && "runtime" in window);
}

/** The one place that opens an address outside Toolshed, after the person confirmed it. */
export function openExternal(address: URL): void {
  if (canOpenExternal()) window.open(address.href, "_blank", "noopener,noreferrer");
}
