// The open note: writing it, drawing it, saving it by itself, and taking in what others write meanwhile.

import { download, html, toast, tool } from "./dom.js";
import { Attachments, markdownFor, upload } from "./attachments.js";
import { render } from "./markdown.js";
import { attachmentsIn, merge, tick } from "./text.js";

const pause = 500; // milliseconds without a key before a note is saved
const views = { write: "Write", both: "Both", read: "Read" };

export class Editor {
  #note; // what the server last said of it
  #base = ""; // the text that the server and this view last agreed on
  #timer;
  #saving; // a promise while a save is under way
  #stale = false; // the server has something newer
  #retry = 1_000;
  #attachments = new Attachments();
  #on;

  /** on: { back(), removed(note), opened(id), tag(tag), pin(id, pinned), restore(id) } */
  constructor(on) {
    this.#on = on;
    this.status = html("span", { className: "status", role: "status" });
    this.area = html("textarea", { className: "write", spellcheck: true, ariaLabel: "Note, in Markdown", placeholder: "The first line is the title.\n\nMarkdown works: # heading, - list, - [ ] task, **bold**, `code`, #tag.\nPaste or drop a picture or a file." });
    this.page = html("article", { className: "prose", ariaLabel: "Note, as it reads", tabIndex: 0 });
    this.node = html("section", { className: "pane", ariaLabel: "Note", hidden: true }, this.#bar(), html("div", { className: "sides" }, this.area, this.page));
    this.#mode("both");
    this.#listen();
  }

  get id() {
    return this.#note?.id;
  }

  #bar() {
    const pick = html("input", { type: "file", multiple: true, hidden: true, ariaLabel: "Files to attach" });
    pick.addEventListener("change", () => {
      this.#attach([...pick.files]);
      pick.value = "";
    });
    this.modes = html("div", { className: "modes", role: "group", ariaLabel: "Show" });
    for (const [mode, label] of Object.entries(views)) {
      const button = html("button", { type: "button", textContent: label, value: mode });
      button.addEventListener("click", () => this.#mode(mode));
      this.modes.append(button);
    }
    this.pin = tool("pin", "Pin", () => this.#on.pin(this.id, !this.#note.pinned));
    const back = tool("back", "All notes", () => this.#on.back());
    back.classList.add("back");
    this.write = html("span", { className: "tools" }, this.pin, tool("clip", "Attach files", () => pick.click()), pick, tool("save", "Export as Markdown", () => this.#export()), tool("bin", "Delete", () => this.#on.removed(this.#note)));
    const restore = html("button", { type: "button", className: "primary", textContent: "Restore" });
    restore.addEventListener("click", () => this.#on.restore(this.id));
    this.gone = html("span", { className: "tools" }, html("span", { className: "muted", textContent: "In the trash" }), restore);
    return html("div", { className: "bar" }, back, this.modes, this.status, this.write, this.gone);
  }

  #mode(mode) {
    this.node.dataset.mode = mode;
    for (const button of this.modes.children) button.ariaPressed = String(button.value === mode);
  }

  #listen() {
    this.area.addEventListener("input", () => this.#edited());
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.area.addEventListener("paste", (event) => this.#take(event, event.clipboardData));
    this.node.addEventListener("dragover", (event) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      this.node.classList.add("dropping");
    });
    for (const name of ["dragleave", "drop", "dragend"]) this.node.addEventListener(name, () => this.node.classList.remove("dropping"));
    this.node.addEventListener("drop", (event) => this.#take(event, event.dataTransfer));
    addEventListener("pagehide", () => this.flush());
  }

  #take(event, data) {
    const files = [...(data?.files ?? [])];
    if (files.length === 0) return;
    event.preventDefault();
    this.#attach(files);
  }

  // ---- Opening ----

  /** Shows a note. What was typed into the one before is saved first. Throws if the note cannot be read. */
  async open(id) {
    if (!(await this.flush())) return false;
    const note = await gadget.read(id);
    this.#show(note);
    this.area.value = note.text;
    this.area.scrollTop = this.page.scrollTop = 0;
    this.area.setSelectionRange(note.text.length, note.text.length);
    this.#draw();
    this.#say("");
    this.#on.opened(id);
    return true;
  }

  #show(note) {
    if (note.id !== this.id) this.#attachments.reset(note.files);
    else this.#attachments.know(note.files);
    this.#note = note;
    this.#base = note.text;
    this.#state(note);
  }

  #state(note) {
    this.#note = { ...this.#note, ...note };
    this.node.hidden = false;
    this.pin.ariaPressed = String(this.#note.pinned);
    this.gone.hidden = !this.#note.deleted;
    this.write.hidden = !!this.#note.deleted;
    this.area.readOnly = !!this.#note.deleted;
  }

  /** Closes the note without saving: it is gone. */
  close() {
    clearTimeout(this.#timer);
    this.#note = undefined;
    this.#base = this.area.value = "";
    this.node.hidden = true;
  }

  focus() {
    (this.node.dataset.mode === "read" ? this.page : this.area).focus();
  }

  // ---- Saving ----

  #edited() {
    this.#draw();
    this.#say(this.area.value === this.#base ? "" : "Editing…");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), pause);
  }

  /** Saves what is not saved yet. Returns whether everything is saved. */
  async flush() {
    clearTimeout(this.#timer);
    if (this.#saving) await this.#saving;
    if (!this.id || this.area.value === this.#base) return true;
    this.#saving = this.#save();
    const saved = await this.#saving;
    this.#saving = undefined;
    if (this.#stale) await this.pull();
    if (saved && this.id && this.area.value !== this.#base) this.#edited(); // typed, or merged, meanwhile
    return saved;
  }

  async #save() {
    const { id } = this;
    const text = this.area.value;
    this.#say("Saving…");
    try {
      const result = await gadget.edit(id, text, this.#base);
      if (result.outcome === "copied") await this.#moveTo(result.copy, text);
      else this.#agree(text, result);
      this.#retry = 1_000;
      this.#say("Saved", "good");
      if ([...attachmentsIn(this.area.value)].some((file) => !this.#attachments.has(file))) this.#stale = true;
      return true;
    } catch (error) {
      this.#say("Not saved: " + error.message, "bad");
      this.#timer = setTimeout(() => this.flush(), this.#retry);
      this.#retry = Math.min(2 * this.#retry, 15_000);
      return false;
    }
  }

  #agree(sent, { text, revision }) {
    const now = merge(sent, this.area.value, text);
    // Without a way to bring them together, the next save tells the server so, and it makes a copy.
    this.#base = now === undefined ? sent : text;
    if (now !== undefined) this.#set(now);
    this.#note.revision = revision;
  }

  /** Someone changed the same lines: this text is a note of its own now, and the writing goes on there. */
  async #moveTo(copy, sent) {
    const other = this.id;
    const note = await gadget.read(copy);
    const now = merge(sent, this.area.value, note.text) ?? this.area.value;
    this.#show(note);
    this.#set(now);
    this.#on.opened(copy);
    toast("The same lines were changed elsewhere. Your text is kept as a conflict copy.", "Show the other", () => this.open(other));
  }

  /** Hears what the server said of the open note. */
  heard(summary) {
    const newer = summary.revision > this.#note.revision;
    this.#state({ pinned: summary.pinned, deleted: summary.deleted });
    if (newer) return this.pull();
    return undefined;
  }

  /** Takes in what others wrote, into the text as it stands. */
  async pull() {
    this.#stale = true;
    if (this.#saving) return; // when that has ended, it calls this again
    this.#stale = false;
    const { id } = this;
    let note;
    try {
      note = await gadget.read(id);
    } catch {
      return; // it is gone, or the gadget is: a change or a new watch says which
    }
    if (this.#saving) this.#stale = true;
    if (this.#saving || id !== this.id) return;
    const now = merge(this.#base, this.area.value, note.text);
    this.#attachments.know(note.files);
    this.#state({ ...note });
    if (now !== undefined) {
      this.#base = note.text;
      this.#set(now);
    }
    this.#draw();
    if (this.area.value !== this.#base) this.#edited();
  }

  #say(text, kind = "") {
    if (this.status.textContent === text) return;
    this.status.className = `status ${kind}`;
    this.status.textContent = text;
    this.status.title = text;
  }

  // ---- Writing ----

  /** Puts a text in place of what stands there; the caret stays with the words it was at. */
  #set(text) {
    const { value, selectionStart, selectionEnd, scrollTop } = this.area;
    if (value === text) return;
    let head = 0;
    while (head < value.length && value[head] === text[head]) head += 1;
    let tail = 0;
    while (tail < value.length - head && tail < text.length - head && value[value.length - 1 - tail] === text[text.length - 1 - tail]) tail += 1;
    const moved = (at) => (at <= head ? at : at >= value.length - tail ? at + text.length - value.length : Math.min(at, text.length - tail));
    this.area.value = text;
    this.area.setSelectionRange(moved(selectionStart), moved(selectionEnd));
    this.area.scrollTop = scrollTop;
    this.#draw();
  }

  /** Types a text at the caret, in a way that the browser's own undo knows of. */
  #type(text) {
    this.area.focus();
    if (document.execCommand("insertText", false, text)) return;
    this.area.setRangeText(text, this.area.selectionStart, this.area.selectionEnd, "end");
    this.#edited();
  }

  #key(event) {
    const mod = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (mod && event.key === "s") this.flush();
    else if (mod && event.key === "b") this.#wrap("**");
    else if (mod && event.key === "i") this.#wrap("*");
    else if (event.key !== "Enter" || mod || event.shiftKey || event.isComposing || !this.#continueList()) return;
    event.preventDefault();
  }

  #wrap(mark) {
    const { selectionStart, selectionEnd, value } = this.area;
    this.#type(mark + value.slice(selectionStart, selectionEnd) + mark);
    if (selectionStart === selectionEnd) this.area.setSelectionRange(selectionStart + mark.length, selectionStart + mark.length);
  }

  /** Enter at the end of a list item begins the next one; in an empty item it ends the list. */
  #continueList() {
    const { selectionStart, selectionEnd, value } = this.area;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
    const line = value.slice(from, selectionStart);
    const match = /^(\s*)(?:([-*+])|(\d{1,8})([.)]))(\s+)(\[[ xX]\]\s+)?(.*)$/.exec(line);
    if (selectionStart !== selectionEnd || !match) return false;
    const [, indent, bullet, number, point, space, box, text] = match;
    if (text === "") {
      this.area.setSelectionRange(from, selectionStart);
      if (!document.execCommand("delete")) this.area.setRangeText("");
      this.#edited();
    } else this.#type(`\n${indent}${bullet ?? Number(number) + 1 + point}${space}${box ? "[ ] " : ""}`);
    return true;
  }

  #draw() {
    const on = { attachment: (...args) => this.#attachments.node(...args), tag: this.#on.tag, tick: this.#note?.deleted ? undefined : (line) => this.#tick(line) };
    this.page.replaceChildren(this.area.value.trim() ? render(this.area.value, on) : html("p", { className: "muted", textContent: "Nothing is written here yet." }));
  }

  #tick(line) {
    this.#set(tick(this.area.value, line));
    this.page.querySelector(`input[data-line="${line}"]`)?.focus();
    this.#edited();
  }

  // ---- Attachments and export ----

  async #attach(files) {
    const { id } = this;
    if (!id || this.#note.deleted) return;
    for (const file of files) {
      try {
        const sent = await upload(id, file, (share) => this.#say(`Attaching ${file.name || "picture"}… ${Math.round(100 * share)} %`));
        await this.#mention(id, sent);
      } catch (error) {
        this.#say("Not attached", "bad");
        toast(error.message);
      }
    }
  }

  /** Writes an attachment into the note it was attached to, which may not be the open one any more. */
  async #mention(id, file) {
    const text = markdownFor(file);
    if (id === this.id) {
      this.#attachments.know([file]);
      const { value, selectionStart } = this.area;
      const fresh = selectionStart === 0 || value[selectionStart - 1] === "\n";
      this.#type(`${fresh ? "" : "\n"}${text}\n`);
      return;
    }
    const note = await gadget.read(id);
    await gadget.edit(id, `${note.text}\n${text}\n`, note.text);
  }

  async #export() {
    const name = (this.#note.title || "Note").replace(/[\\/:*?"<>|\p{Cc}]+/gu, " ").trim().slice(0, 80) || "Note";
    await this.flush();
    download(`${name}.md`, new Blob([this.area.value], { type: "text/markdown" }));
  }
}
