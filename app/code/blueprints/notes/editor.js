// The open note: writing it, saving it by itself, and taking in what others write meanwhile.

import { ago, download, html, toast, tool } from "./dom.js";
import { Attachments, markdownFor, upload } from "./attachments.js";
import { Page } from "./page.js";
import { attachmentsIn, merge, tick } from "./text.js";
import { continueList, indent, replaceText, type, typeBelow, wrap } from "./writing.js";

const pause = 500; // milliseconds without a key before a note is saved
const narrow = 640; // pixels, below which text and page do not stand side by side
const modes = { write: "Write", both: "Both", read: "Read" };

export class Editor {
  #note; // what the server last said of it
  #base = ""; // the text that the server and this view last agreed on
  #timer;
  #saving; // a promise while a save is under way
  #stale = false; // the server has something newer
  #retry = 1_000;
  #attachments = new Attachments();
  #wide = "both"; // how a note is shown where there is room
  #slim = "read"; // and where there is none
  #on;

  /** on: { back(), removed(note), opened(id), tag(tag), pin(id, pinned), restore(id) } */
  constructor(on) {
    this.#on = on;
    this.status = html("span", { className: "status", role: "status" });
    this.progress = html("progress", { max: 1, value: 0, hidden: true, ariaLabel: "Attaching" });
    this.area = html("textarea", { className: "write", spellcheck: true, ariaLabel: "Note, in Markdown", placeholder: "Title\n\nWrite in Markdown: # heading, - list, - [ ] task, **bold**, `code`, #tag.\nPaste or drop a picture or a file." });
    this.page = new Page({ attachment: (...args) => this.#attachments.node(...args), tag: on.tag, tick: (line) => this.#tick(line) });
    this.node = html("div", { className: "pane", role: "group", ariaLabel: "Note", hidden: true }, this.#bar(), html("div", { className: "sides" }, this.area, this.page.node));
    this.#listen();
    new ResizeObserver(() => this.#dress()).observe(this.node);
  }

  get id() {
    return this.#note?.id;
  }

  /** Whether something stands here that the server does not know. */
  get dirty() {
    return this.id !== undefined && this.area.value !== this.#base;
  }

  get blank() {
    return this.id !== undefined && this.area.value.trim() === "" && !this.dirty;
  }

  #bar() {
    const pick = html("input", { type: "file", multiple: true, hidden: true, ariaLabel: "Files to attach" });
    pick.addEventListener("change", () => {
      this.attach([...pick.files]);
      pick.value = "";
    });
    this.modes = html("div", { className: "modes", role: "group", ariaLabel: "Show" });
    for (const [mode, label] of Object.entries(modes)) {
      const button = html("button", { type: "button", textContent: label, value: mode });
      button.addEventListener("click", () => this.#show(mode));
      this.modes.append(button);
    }
    this.pin = tool("pin", "Pin", () => this.#on.pin(this.id, !this.#note.pinned));
    const back = tool("back", "All notes", () => this.#on.back());
    back.classList.add("back");
    this.write = html("span", { className: "tools" }, this.pin, tool("clip", "Attach files", () => pick.click()), pick, tool("save", "Save as a Markdown file", () => this.#export()), tool("bin", "Delete", () => this.#on.removed(this.#note)));
    const restore = html("button", { type: "button", className: "primary", textContent: "Restore" });
    restore.addEventListener("click", () => this.#on.restore(this.id));
    this.gone = html("span", { className: "tools" }, html("span", { className: "muted", textContent: "In the trash" }), restore);
    return html("div", { className: "bar" }, back, this.modes, this.status, this.write, this.gone, this.progress);
  }

  #listen() {
    this.area.addEventListener("input", () => this.#edited());
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.area.addEventListener("scroll", () => this.#follow());
    this.node.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "e" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      this.#show(this.mode === "read" ? "write" : "read");
      this.focus();
    });
    addEventListener("pagehide", () => this.flush());
  }

  // ---- How it is shown ----

  get #isNarrow() {
    return this.node.clientWidth < narrow;
  }

  get mode() {
    return this.#isNarrow ? this.#slim : this.#wide;
  }

  #show(mode) {
    if (this.#isNarrow) this.#slim = mode;
    else this.#wide = mode;
    this.#dress();
  }

  #dress() {
    this.node.dataset.mode = this.mode;
    for (const button of this.modes.children) {
      button.ariaPressed = String(button.value === this.mode);
      button.hidden = this.#isNarrow && button.value === "both";
    }
  }

  /** Scrolls the page along with the text beside it. */
  #follow() {
    if (this.mode !== "both") return;
    const { scrollTop, scrollHeight, clientHeight } = this.area;
    const page = this.page.node;
    if (scrollHeight > clientHeight) page.scrollTop = (scrollTop / (scrollHeight - clientHeight)) * (page.scrollHeight - page.clientHeight);
  }

  focus() {
    (this.mode === "read" ? this.page.node : this.area).focus({ preventScroll: true });
  }

  /** Goes on with what was typed before the note was there. */
  begin(text) {
    this.focus();
    if (text) type(this.area, text);
  }

  // ---- Opening ----

  /**
   * Shows a note, with the words of a query marked. What was typed into the one before is saved first; returns false if
   * that could not be done. Throws if the note cannot be read.
   */
  async open(id, query = "") {
    if (!(await this.flush())) return false;
    const note = await gadget.read(id);
    if (this.blank && this.id !== id) gadget.discard(this.id).catch(() => {}); // nothing is lost if it stays
    this.#take(note);
    this.#slim = note.text.trim() ? "read" : "write";
    this.#dress();
    this.area.value = note.text;
    this.area.setSelectionRange(note.text.length, note.text.length);
    this.page.show(note.text);
    this.page.draw();
    this.area.scrollTop = this.page.node.scrollTop = 0;
    this.page.mark(query, true);
    this.#say(note.text ? `Edited ${ago(note.changed)}` : "");
    this.#on.opened(id);
    return true;
  }

  #take(note) {
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
    this.area.readOnly = !!this.#note.deleted && !this.dirty; // whoever is writing is not cut off: see rescue and #moveTo
  }

  /** Closes the note without saving. */
  close() {
    clearTimeout(this.#timer);
    this.#note = undefined;
    this.#base = this.area.value = "";
    this.node.hidden = true;
  }

  // ---- Saving ----

  #edited() {
    this.page.show(this.area.value);
    this.#say(this.dirty ? "Editing…" : "Saved", this.dirty ? "" : "good");
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.flush(), pause);
  }

  /** Saves what is not saved yet. Returns whether everything is saved. */
  async flush() {
    clearTimeout(this.#timer);
    while (this.#saving) await this.#saving;
    if (!this.dirty) return true;
    this.#saving = this.#save();
    const saved = await this.#saving;
    this.#saving = undefined;
    if (this.#stale) await this.pull();
    if (saved && this.dirty) this.#edited(); // typed, or merged, meanwhile
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
      this.#say(result.outcome === "merged" ? "Saved, with what others wrote" : "Saved", "good");
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

  /** Someone changed the same words, or deleted the note: this text is a note of its own now, and the writing goes on there. */
  async #moveTo(copy, sent) {
    const other = this.id;
    const gone = this.#note.deleted;
    const note = await gadget.read(copy);
    const now = merge(sent, this.area.value, note.text) ?? this.area.value;
    this.#take(note);
    this.#set(now);
    this.#on.opened(copy);
    if (gone) toast("The note was deleted while you wrote. Your text is kept in this one.");
    else toast("The same words were changed elsewhere. Your text is kept in this conflict copy.", "Show the other", () => this.open(other).catch((error) => toast(error.message)));
  }

  /** The note is deleted for good, and something here is not saved: makes a new note of it. */
  async rescue() {
    const { mode } = this;
    const text = this.area.value;
    this.close();
    await this.open(await gadget.add(text));
    toast("The note was deleted while you wrote. Your text is kept in this one.");
    this.#show(mode);
    this.focus();
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
    if (this.#saving || id !== this.id || note.revision < this.#note.revision) return;
    const now = merge(this.#base, this.area.value, note.text);
    const news = note.text !== this.#base;
    this.#attachments.know(note.files);
    this.#state({ ...note });
    if (now !== undefined) {
      this.#base = note.text;
      this.#set(now);
    }
    this.page.show(this.area.value);
    if (this.dirty) this.#edited();
    else if (news) this.#say("Changed elsewhere just now");
  }

  #say(text, kind = "") {
    if (this.status.textContent === text) return;
    this.status.className = `status ${kind}`;
    this.status.textContent = text;
    this.status.title = text;
  }

  // ---- Writing ----

  #set(text) {
    replaceText(this.area, text);
    this.page.show(text);
  }

  #key(event) {
    const mod = (event.ctrlKey || event.metaKey) && !event.altKey;
    if (mod && event.key === "s") this.flush();
    else if (mod && event.key === "b") wrap(this.area, "**");
    else if (mod && event.key === "i") wrap(this.area, "*");
    else if (event.key === "Tab" && !mod && !event.altKey && indent(this.area, event.shiftKey)) this.#edited();
    else if (event.key === "Enter" && !mod && !event.shiftKey && !event.isComposing && continueList(this.area)) this.#edited();
    else return;
    event.preventDefault();
  }

  #tick(line) {
    if (this.#note.deleted) return this.page.draw();
    this.#set(tick(this.area.value, line));
    this.page.node.querySelector(`input[data-line="${line}"]`)?.focus();
    return this.#edited();
  }

  // ---- Attachments and export ----

  /** Attaches files to the open note, one after the other. */
  async attach(files) {
    const { id } = this;
    if (!id || this.#note.deleted) return;
    for (const file of files) {
      const name = file.name || "picture";
      try {
        const sent = await upload(id, file, (share) => this.#sending(name, share));
        await this.#mention(id, sent);
      } catch (error) {
        this.#say(`“${name}” is not attached`, "bad");
        toast(error.message);
      }
      this.progress.hidden = true;
    }
  }

  #sending(name, share) {
    this.progress.hidden = false;
    this.progress.value = share;
    this.#say(`Attaching “${name}”: ${Math.round(100 * share)} %`);
  }

  /** Writes an attachment into the note it was attached to, which may not be the open one any more. */
  async #mention(id, file) {
    const text = markdownFor(file);
    if (id === this.id) {
      this.#attachments.know([file]);
      return typeBelow(this.area, text);
    }
    const note = await gadget.read(id);
    return gadget.edit(id, `${note.text}\n\n${text}\n`, note.text);
  }

  async #export() {
    await this.flush();
    download(`${this.#note.title || "Note"}.md`, new Blob([this.area.value], { type: "text/markdown" }));
  }
}
