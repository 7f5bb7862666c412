/** A file that the gadget wants saved. */
export interface Offer {
  name: string;
  blob: Blob;
}

/**
 * Hands files to the shell, which asks the person. The frame's sandbox lets
 * nothing be downloaded and its policy lets nothing be fetched, so the bytes
 * behind <a download> with a blob: or data: address are found here. As in any
 * page that is a click, the person's or the code's, on a link that need not
 * stand in the document.
 */
export function forwardSaves(offer: (file: Offer) => void): void {
  const blobs = new Map<string, Blob>();
  const { createObjectURL, revokeObjectURL } = URL;
  URL.createObjectURL = (object) => {
    const address = createObjectURL.call(URL, object);
    if (object instanceof Blob) blobs.set(address, object);
    return address;
  };
  URL.revokeObjectURL = (address) => {
    blobs.delete(address);
    revokeObjectURL.call(URL, address);
  };

  const take = (link: HTMLAnchorElement): boolean => {
    if (!link.hasAttribute("download")) return false;
    const blob = link.href.startsWith("data:") ? fromData(link.href) : blobs.get(link.href);
    if (!blob) return false;
    offer({ name: link.download, blob });
    return true;
  };
  addEventListener("click", (event) => {
    if (event.defaultPrevented) return;
    const link = event.composedPath().find((at): at is HTMLAnchorElement => at instanceof HTMLAnchorElement);
    if (link && take(link)) event.preventDefault();
  });

  const { click, dispatchEvent } = HTMLAnchorElement.prototype;
  HTMLAnchorElement.prototype.click = function () {
    if (this.isConnected || !take(this)) click.call(this);
  };
  HTMLAnchorElement.prototype.dispatchEvent = function (event) {
    if (event.type === "click" && !this.isConnected && take(this)) return false;
    return dispatchEvent.call(this, event);
  };
}

/** The bytes of a data: address; undefined if it is none. */
export function fromData(address: string): Blob | undefined {
  const match = /^data:([^,]*?)(;base64)?,(.*)$/is.exec(address);
  if (!match) return undefined;
  const [, type = "", base64, body = ""] = match;
  try {
    if (!base64) return new Blob([percentDecoded(body)], { type });
    return new Blob([Uint8Array.from(atob(decodeURIComponent(body)), (c) => c.charCodeAt(0))], { type });
  } catch {
    return undefined;
  }
}

function percentDecoded(text: string): Uint8Array<ArrayBuffer> {
  const raw = new TextEncoder().encode(text);
  const out = new Uint8Array(raw.length);
  let length = 0;
  for (let i = 0; i < raw.length; i++) {
    const hex = raw[i] === 0x25 ? /^[0-9a-f]{2}$/i.exec(String.fromCharCode(raw[i + 1] ?? 0, raw[i + 2] ?? 0))?.[0] : undefined;
    out[length++] = hex ? parseInt(hex, 16) : raw[i]!;
    if (hex) i += 2;
  }
  return out.slice(0, length);
}
