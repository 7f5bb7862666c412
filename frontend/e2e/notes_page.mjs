// The page model of a notebook inside a view's frame.
export class NotesFrame {
  constructor(page, frame) {
    this.page = page;
    this.frame = frame;
    this.text = frame.getByRole("textbox", { name: "Note, in Markdown" });
    this.reading = frame.getByRole("article");
    this.search = frame.getByRole("searchbox", { name: "Search notes" });
    this.marks = frame.locator(".items mark");
    this.trash = frame.getByRole("button", { name: /^Trash/ });
    this.said = frame.locator(".toast");
  }

  /** A note in the list. */
  row(title) {
    return this.frame.locator(".items li").filter({ hasText: title });
  }

  async open(title) {
    await this.row(title).first().locator(".note").click();
    await this.frame.locator(".pane").waitFor();
  }

  /** Begins a note, writes it, and waits until it is saved. */
  async write(text) {
    await this.frame.getByRole("button", { name: "New note" }).click();
    await this.text.fill(text);
    await this.saved();
  }

  status(words) {
    return this.frame.locator(".status").filter({ hasText: words });
  }

  async saved() {
    await this.status(/^Saved/).waitFor();
  }

  async mode(name) {
    await this.frame.getByRole("group", { name: "Show" }).getByRole("button", { name, exact: true }).click();
  }

  /** Chooses files with the button, by their paths. */
  async attach(...files) {
    const chooser = this.page.waitForEvent("filechooser");
    await this.frame.getByRole("button", { name: "Attach files" }).click();
    await (await chooser).setFiles(files);
  }

  /** An attachment in the note as it reads. */
  attachment(name) {
    return this.reading.getByRole("button", { name });
  }

  /** Drops or pastes a file onto a place. */
  async give(event, target, { name, mimeType, buffer }) {
    await target.evaluate(
      (node, { event, name, mimeType, bytes }) => {
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], name, { type: mimeType }));
        const options = { bubbles: true, cancelable: true };
        node.dispatchEvent(event === "drop" ? new DragEvent("drop", { ...options, dataTransfer: data }) : new ClipboardEvent("paste", { ...options, clipboardData: data }));
      },
      { event, name, mimeType, bytes: buffer.toString("base64") },
    );
  }
}
