// Attachments: sending them piece by piece, fetching them back, and the node that stands for one in a note.

import { download, html, icon, sizeOf, toast } from "./dom.js";

export const largest = 10 * 1024 * 1024;

/** Sends a file for a note; told(share) hears how much of it is sent, from 0 to 1. Returns { id, name, type, size, parts }. */
export async function upload(note, file, told) {
  const name = file.name || "pasted";
  if (file.size > largest) throw new Error(`“${name}” has ${sizeOf(file.size)}. An attachment has at most 10 MB: make it smaller, or split it.`);
  const { id, part } = await gadget.attach(note, name, file.type, file.size);
  let parts = 0;
  for (let at = 0; at < file.size; at += part, parts += 1) {
    told(at / file.size);
    await gadget.append(id, new Uint8Array(await file.slice(at, at + part).arrayBuffer()));
  }
  return { id, name, type: file.type, size: file.size, parts };
}

/** The Markdown that shows an attachment. */
export function markdownFor({ id, name, type }) {
  const label = name.replace(/[[\]()\\`*_~<>]|\p{Cc}|\p{Bidi_Control}/gu, " ").replace(/\s+/g, " ").replace(/ (?=\.\w+$)/, "").trim() || "file";
  return `${type.startsWith("image/") ? "!" : ""}[${label}](attachment:${id})`;
}

/** What has been fetched for the open note, so that drawing it again does not fetch it again. */
export class Attachments {
  #files = new Map(); // id -> what the server says of it
  #blobs = new Map(); // id -> a promise of its Blob
  #addresses = new Map(); // id -> its blob: address

  /** Begins anew with the files of another note. */
  reset(files) {
    for (const address of this.#addresses.values()) URL.revokeObjectURL(address);
    this.#addresses.clear();
    this.#blobs.clear();
    this.#files.clear();
    this.know(files);
  }

  know(files) {
    for (const file of files) this.#files.set(file.id, file);
  }

  has(id) {
    return this.#files.has(id);
  }

  /** The node for an attachment: a picture that can be enlarged, or a chip that saves the file. */
  node(id, label, asImage) {
    const file = this.#files.get(id);
    if (!file) return html("span", { className: "chip missing" }, icon("file"), `${label || "Attachment"} is missing`);
    return asImage && file.type.startsWith("image/") ? this.#image(file, label) : this.#chip(file, label);
  }

  #image(file, label) {
    const image = html("img", { alt: label || file.name });
    const frame = html("button", { type: "button", className: "picture", title: `${file.name}, ${sizeOf(file.size)}` }, image);
    frame.addEventListener("click", () => image.src && this.#enlarge(file, image.src));
    const known = this.#addresses.get(file.id);
    if (known) image.src = known;
    else {
      frame.classList.add("coming");
      this.#address(file).then(
        (address) => {
          image.src = address;
          frame.classList.remove("coming");
        },
        (error) => frame.replaceWith(html("span", { className: "chip missing" }, icon("file"), `${file.name}: ${error.message}`)),
      );
    }
    image.addEventListener("error", () => frame.replaceWith(this.#chip(file, label)));
    return frame;
  }

  /** Shows a picture as large as there is room, with a button that saves it. */
  #enlarge(file, address) {
    const save = html("button", { type: "button", className: "primary", textContent: "Save" });
    const close = html("button", { type: "button", textContent: "Close" });
    const dialog = html("dialog", { className: "large", ariaLabel: file.name }, html("img", { src: address, alt: file.name }), html("footer", {}, html("span", { textContent: file.name }), html("small", { textContent: sizeOf(file.size) }), close, save));
    save.addEventListener("click", () => this.#save(file));
    close.addEventListener("click", () => dialog.close());
    dialog.addEventListener("pointerdown", (event) => event.target === dialog && dialog.close());
    dialog.addEventListener("keydown", (event) => event.key === "Escape" && event.stopPropagation());
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  #save(file) {
    return this.#blob(file).then((blob) => download(file.name, blob), (error) => toast(error.message));
  }

  #chip(file, label) {
    const chip = html("button", { type: "button", className: "chip", title: `Save ${file.name}` }, icon("file"), html("span", { textContent: label || file.name }), html("small", { textContent: sizeOf(file.size) }));
    chip.addEventListener("click", () => this.#save(file));
    return chip;
  }

  async #address(file) {
    const blob = await this.#blob(file);
    if (!this.#addresses.has(file.id)) this.#addresses.set(file.id, URL.createObjectURL(blob));
    return this.#addresses.get(file.id);
  }

  #blob(file) {
    if (!this.#blobs.has(file.id)) {
      const blob = fetchAll(file);
      this.#blobs.set(file.id, blob);
      blob.catch(() => this.#blobs.delete(file.id)); // it may be there the next time
    }
    return this.#blobs.get(file.id);
  }
}

async function fetchAll({ id, type, parts }) {
  const pieces = [];
  for (let n = 0; n < parts; n += 1) pieces.push(await gadget.part(id, n));
  return new Blob(pieces, { type });
}
