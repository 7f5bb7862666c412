import { desktop } from "../kernel/desktop";

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

/** The one place that opens an address outside Toolshed, after the person confirmed it. Rejects with KernelError. */
export async function openExternal(address: URL): Promise<void> {
  const own = desktop();
  if (own) await own.open(address);
  else window.open(address.href, "_blank", "noopener,noreferrer");
}
