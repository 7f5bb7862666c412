// The server half of a notebook. It owns the truth: every change is made here, stored, and then told to every view that
// is open. A view that makes a change learns of it the same way as all the others.
//
// Stored:  "note:" + id               { id, text, created, changed, revision, pinned, deleted? }
//          "file:" + id               { id, note, name, type, size, parts } once all of it is here
//          "part:" + id + ":" + n     a piece of an attachment, as bytes
//          "upload:" + id             { id, size } of an attachment that is still coming in
//          "revision"                 a number that rises with every change

import { DurableObject } from "cloudflare:workers";
import { attachmentsIn, excerptOf, merge, tagsOf, titleOf } from "./text.js";
import { Finder, mark, snippet, termsOf } from "./search.js";

const limits = { notes: 5_000, text: 200_000, all: 4_000_000, file: 10 * 1024 * 1024, part: 1024 * 1024, uploads: 20, views: 100, hits: 100 };

export class Gadget extends DurableObject {
  #notes = new Map();
  #files = new Map();
  #uploads = new Map();
  #finder = new Finder();
  #revision = 0;
  #characters = 0;
  #views = new Set();

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(() => this.#load());
  }

  async #load() {
    const storage = this.ctx.storage;
    this.#revision = (await storage.get("revision")) ?? 0;
    for (const note of (await storage.list({ prefix: "note:" })).values()) this.#keep(note);
    for (const file of (await storage.list({ prefix: "file:" })).values()) this.#files.set(file.id, file);
    // Uploads that a restart cut off cannot go on: their pieces would lie here for ever.
    for (const { id, size } of (await storage.list({ prefix: "upload:" })).values()) this.#forget(id, Math.ceil(size / limits.part));
  }

  // ---- Reading ----

  /** Every note without its text, in the trash too: { revision, notes: [{ id, title, excerpt, tags, pinned, ... }] }. */
  snapshot() {
    return { revision: this.#revision, notes: [...this.#notes.values()].map(summary) };
  }

  /**
   * Opens a view: returns the snapshot, and calls watcher.changed(change) for every change after that. A change is
   * { revision, notes: [summary], removed: [id] }. The view lasts until its watcher is lost.
   */
  watch(watcher) {
    if (this.#views.size >= limits.views) throw new RangeError(`Notes can be open in at most ${limits.views} views.`);
    const view = watcher.dup(); // arguments are released when the call ends; this one is kept
    this.#views.add(view);
    view.onRpcBroken(() => this.#close(view));
    return this.snapshot();
  }

  /** One note: its summary, with text, and files: [{ id, name, type, size, parts }] that the text names. */
  read(id) {
    const note = this.#note(id);
    const files = [...attachmentsIn(note.text)].map((file) => this.#files.get(file)).filter(Boolean);
    return { ...summary(note), text: note.text, files };
  }

  /**
   * The notes (not in the trash) that hold every word of the query, or a word that begins with it; #word asks for a tag.
   * The best comes first: { all: how many there are, hits: [{ id, title, text }] }, where title and text are [piece, hit] pairs.
   */
  search(query) {
    const terms = termsOf(string(query, "query"));
    const found = [...this.#finder.find(terms)].map(([id, score]) => ({ note: this.#notes.get(id), score }));
    found.sort((a, b) => b.score - a.score || b.note.changed - a.note.changed);
    const hits = found.slice(0, limits.hits).map(({ note }) => ({ id: note.id, title: mark(titleOf(note.text), terms), text: snippet(note.text, terms) }));
    return { all: found.length, hits };
  }

  // ---- Notes ----

  /** Adds a note and returns its id. */
  add(text = "") {
    return this.#add(checked(text)).id;
  }

  /**
   * Saves a text that someone wrote when the note read base. If the note reads otherwise by now, both changes are brought
   * together by lines and words. If that cannot be, the note stays as it is and this text becomes a note of its own, so that nothing
   * is lost. Returns { outcome: "saved" | "merged" | "copied", text, revision, copy }: what the note reads now, and the copy's id.
   */
  edit(id, text, base) {
    const note = this.#note(id);
    checked(text);
    checked(base);
    if (note.deleted) return this.#copy(note, text, "edited after it was deleted");
    if (note.text === text) return { outcome: "saved", text, revision: note.revision };
    const merged = merge(base, text, note.text);
    if (merged === undefined || merged.length > limits.text) return this.#copy(note, text, "conflict copy");
    if (merged !== note.text) this.#save([this.#change(note, { text: merged, changed: Date.now() })]);
    return { outcome: merged === text ? "saved" : "merged", text: merged, revision: this.#note(id).revision };
  }

  pin(id, pinned) {
    this.#save([this.#change(this.#note(id), { pinned: pinned === true })]);
  }

  /** Puts a note into the trash, from where it can be restored. */
  remove(id) {
    this.#save([this.#change(this.#note(id), { deleted: Date.now() })]);
  }

  /** Deletes a note in which nothing was written, without the trash. Returns whether it was so. */
  discard(id) {
    const note = this.#notes.get(id);
    if (!note || note.deleted || note.text.trim()) return false;
    this.#drop(id);
    this.#save([], [id]);
    return true;
  }

  restore(id) {
    this.#save([this.#change(this.#note(id), { deleted: undefined })]);
  }

  /** Deletes notes in the trash for good (all of them, unless one is named), with the attachments that no other note names. */
  async empty(id) {
    const gone = id === undefined ? [...this.#notes.values()].filter((note) => note.deleted) : [this.#note(id)];
    if (gone.some((note) => !note.deleted)) throw new Error("Put the note into the trash first; only notes there can be deleted for good.");
    for (const note of gone) this.#drop(note.id);
    const named = new Set();
    for (const note of this.#notes.values()) for (const file of attachmentsIn(note.text)) named.add(file);
    const ids = new Set(gone.map((note) => note.id));
    const files = [...this.#files.values()].filter((file) => !named.has(file.id) && !this.#notes.has(file.note));
    for (const file of files) this.#files.delete(file.id);
    this.#save([], [...ids], files);
  }

  // ---- Attachments ----

  /** Begins to take in an attachment of size bytes for a note. Returns { id, part }: send pieces of part bytes, in order. */
  attach(note, name, type, size) {
    this.#note(note);
    if (!Number.isInteger(size) || size < 0) throw new TypeError("The size is a number of bytes.");
    if (size > limits.file) throw new RangeError(`“${string(name, "name").slice(0, 100)}” has ${megabytes(size)}; an attachment has at most ${megabytes(limits.file)}.`);
    if (this.#uploads.size >= limits.uploads) this.#abandon(this.#uploads.keys().next().value); // the oldest is the one that was given up
    const id = crypto.randomUUID();
    const file = { id, note, name: string(name, "name").slice(0, 200) || "file", type: string(type, "type").slice(0, 100), size, parts: 0 };
    this.#uploads.set(id, { file, taken: 0 });
    this.ctx.storage.put("upload:" + id, { id, size });
    if (size === 0) this.#finish(id);
    return { id, part: limits.part };
  }

  /** Takes the next piece of an attachment. Returns true once it is complete. */
  async append(id, bytes) {
    const upload = this.#uploads.get(id);
    if (!upload) throw new Error("This upload is not known any more. Attach the file again.");
    if (!(bytes instanceof Uint8Array)) throw new TypeError("A piece of an attachment is bytes.");
    const rest = upload.file.size - upload.taken;
    if (bytes.length !== Math.min(rest, limits.part)) {
      this.#abandon(id);
      throw new RangeError(`A piece of ${bytes.length} bytes does not fit an attachment that lacks ${rest}. Attach the file again.`);
    }
    upload.taken += bytes.length;
    await this.ctx.storage.put(partKey(id, upload.file.parts++), bytes);
    if (upload.taken === upload.file.size) this.#finish(id);
    return !this.#uploads.has(id);
  }

  /** One piece of an attachment, counted from 0. */
  async part(id, n) {
    const file = this.#files.get(id);
    const bytes = file && Number.isInteger(n) && (await this.ctx.storage.get(partKey(id, n)));
    if (!bytes) throw new Error("This attachment is not there any more.");
    return bytes;
  }

  // ---- Inside ----

  #note(id) {
    const note = this.#notes.get(id);
    if (!note) throw new Error("This note is not there any more.");
    return note;
  }

  #add(text) {
    if (this.#notes.size >= limits.notes) throw new RangeError(`There are ${limits.notes} notes already. Empty the trash or delete some.`);
    const now = Date.now();
    const note = this.#change({ id: crypto.randomUUID(), text: "", created: now, changed: now, pinned: false }, { text });
    this.#save([note]);
    return note;
  }

  #copy(note, text, why) {
    if (text === note.text) return { outcome: "saved", text, revision: note.revision };
    const [first, ...rest] = text.split("\n");
    const copy = this.#add([`${first || "Untitled"} (${why})`, ...rest].join("\n").slice(0, limits.text));
    return { outcome: "copied", text: note.text, revision: note.revision, copy: copy.id };
  }

  /** Makes a note anew with a change and keeps it; what is asked for is not stored yet. */
  #change(note, change) {
    const grown = this.#characters + (change.text ?? note.text).length - (this.#notes.get(note.id)?.text.length ?? 0);
    if (grown > limits.all && change.text !== undefined && grown > this.#characters) throw new RangeError(`All notes together have ${limits.all} characters, which is all that fits. Empty the trash or make a second notebook.`);
    const next = { ...note, ...change, revision: this.#revision + 1 };
    this.#keep(next);
    return next;
  }

  /** Takes a note into memory: the map, the count and the index always speak of the same text. */
  #keep(note) {
    const before = this.#notes.get(note.id);
    this.#characters += note.text.length - (before?.text.length ?? 0);
    this.#notes.set(note.id, note);
    if (note.deleted) this.#finder.remove(note.id);
    else if (!before || before.deleted || before.text !== note.text) this.#finder.put(note.id, note.text);
  }

  #drop(id) {
    this.#characters -= this.#notes.get(id).text.length;
    this.#notes.delete(id);
    this.#finder.remove(id);
  }

  #finish(id) {
    const { file } = this.#uploads.get(id);
    this.#uploads.delete(id);
    this.#files.set(id, file);
    this.ctx.storage.put("file:" + id, file);
    this.ctx.storage.delete("upload:" + id);
  }

  #abandon(id) {
    this.#forget(id, this.#uploads.get(id).file.parts);
    this.#uploads.delete(id);
  }

  #forget(id, parts) {
    this.ctx.storage.delete("upload:" + id);
    this.ctx.storage.delete("file:" + id);
    for (let n = 0; n < parts; n += 1) this.ctx.storage.delete(partKey(id, n));
  }

  /** Stores what changed and tells every view. Nothing leaves the gadget before the writes are on disk. */
  #save(notes, removed = [], files = []) {
    const storage = this.ctx.storage;
    this.#revision += 1;
    storage.put("revision", this.#revision);
    for (const note of notes) storage.put("note:" + note.id, note);
    for (const id of removed) storage.delete("note:" + id);
    for (const file of files) this.#forget(file.id, file.parts);
    const change = { revision: this.#revision, notes: notes.map(summary), removed };
    for (const view of this.#views) view.changed(change).catch(() => this.#close(view));
  }

  #close(view) {
    if (this.#views.delete(view)) view[Symbol.dispose]();
  }
}

function summary({ text, ...note }) {
  return { ...note, title: titleOf(text), excerpt: excerptOf(text), tags: tagsOf(text) };
}

function partKey(id, n) {
  return `part:${id}:${n}`;
}

/** A size in words: whole where it is, and never rounded down to the limit that it passes. */
function megabytes(bytes) {
  const mb = bytes / (1024 * 1024);
  return `${Number.isInteger(mb) ? mb : (Math.ceil(mb * 10) / 10).toFixed(1)} MB`;
}

function string(value, name) {
  if (typeof value !== "string") throw new TypeError(`The ${name} must be a text.`);
  return value;
}

function checked(text) {
  if (string(text, "note").length > limits.text) throw new RangeError(`The note has ${text.length} characters; at most ${limits.text} fit.`);
  return text;
}
