// The server half of a board. It owns the truth: every change is made here, stored, and then told to every view that is
// open. A view that makes a change learns of it the same way as all the others.
//
// Stored:  "columns"        [{ id, title, cards: [card ids, top first] }]
//          "card:" + id     { id, title, body, created, changed, archived? }
//          "revision"       a number that rises with every change

import { DurableObject } from "cloudflare:workers";

const limits = { columns: 100, cards: 5_000, title: 500, body: 100_000, views: 100 };

export class Gadget extends DurableObject {
  #columns = [];
  #cards = new Map();
  #revision = 0;
  #views = new Set();

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(() => this.#load());
  }

  async #load() {
    const storage = this.ctx.storage;
    this.#columns = await storage.get("columns");
    if (!this.#columns) {
      this.#columns = ["To do", "Doing", "Done"].map((title) => ({ id: newId(), title, cards: [] }));
      await storage.put("columns", this.#columns);
    }
    this.#revision = (await storage.get("revision")) ?? 0;
    for (const card of (await storage.list({ prefix: "card:" })).values()) this.#cards.set(card.id, card);
  }

  // ---- Reading ----

  /** The whole board: { revision, columns, cards }, where cards holds archived ones too. */
  snapshot() {
    return { revision: this.#revision, columns: this.#columns, cards: [...this.#cards.values()] };
  }

  /**
   * Opens a view: returns the board as it is, and calls watcher.changed(change) for every change after that.
   * A change is { revision, columns?, cards: [card], removed: [id] }; columns, if present, replace the old ones.
   * The view lasts until its watcher is lost.
   */
  watch(watcher) {
    if (this.#views.size >= limits.views) throw new RangeError(`A board has at most ${limits.views} views.`);
    const view = watcher.dup(); // arguments are released when the call ends; this one is kept
    this.#views.add(view);
    view.onRpcBroken(() => this.#close(view));
    return this.snapshot();
  }

  // ---- Columns ----

  /** Adds a column at the right end and returns its id. */
  addColumn(title) {
    if (this.#columns.length >= limits.columns) throw new RangeError(`A board has at most ${limits.columns} columns.`);
    const column = { id: newId(), title: text(title, "title"), cards: [] };
    this.#columns = [...this.#columns, column];
    this.#save({ columns: true });
    return column.id;
  }

  renameColumn(id, title) {
    this.#column(id).title = text(title, "title");
    this.#save({ columns: true });
  }

  /** Moves a column to a place among the others, 0 being the leftmost. */
  moveColumn(id, index) {
    const column = this.#column(id);
    const others = this.#columns.filter((c) => c !== column);
    others.splice(place(index, others.length), 0, column);
    this.#columns = others;
    this.#save({ columns: true });
  }

  /** Removes a column; its cards go to the archive. */
  removeColumn(id) {
    const column = this.#column(id);
    const cards = column.cards.map((card) => this.#change(card, { archived: Date.now() }));
    this.#columns = this.#columns.filter((c) => c !== column);
    this.#save({ columns: true, cards });
  }

  // ---- Cards ----

  /** Adds a card to a column, at its end unless index says otherwise, and returns its id. */
  addCard(column, title, index = Infinity) {
    if (this.#cards.size >= limits.cards) throw new RangeError(`A board has at most ${limits.cards} cards. Delete some from the archive.`);
    const to = this.#column(column);
    const now = Date.now();
    const card = { id: newId(), title: text(title, "title"), body: "", created: now, changed: now };
    this.#cards.set(card.id, card);
    to.cards.splice(place(index, to.cards.length), 0, card.id);
    this.#save({ columns: true, cards: [card] });
    return card.id;
  }

  /** Changes a card's title or body (Markdown), whichever is given. */
  editCard(id, { title, body } = {}) {
    const change = {};
    if (title !== undefined) change.title = text(title, "title");
    if (body !== undefined) change.body = text(body, "body", "");
    this.#save({ cards: [this.#change(id, change)] });
  }

  /** Moves a card to a place in a column, which may be its own. */
  moveCard(id, column, index = Infinity) {
    if (this.#card(id).archived) throw new Error("This card is in the archive. Restore it first.");
    const to = this.#column(column);
    this.#lift(id);
    to.cards.splice(place(index, to.cards.length), 0, id);
    this.#save({ columns: true });
  }

  archiveCard(id) {
    const card = this.#change(id, { archived: Date.now() });
    this.#lift(id);
    this.#save({ columns: true, cards: [card] });
  }

  /** Takes a card out of the archive, to the top of a column (the first one unless it is named). */
  restoreCard(id, column = this.#columns[0]?.id) {
    if (column === undefined) throw new Error("There is no column to restore the card to. Add one first.");
    const to = this.#column(column);
    const { archived, ...card } = this.#card(id);
    if (!archived) return;
    this.#cards.set(id, { ...card, changed: Date.now() });
    to.cards.unshift(id);
    this.#save({ columns: true, cards: [this.#cards.get(id)] });
  }

  /** Deletes an archived card for good. */
  deleteCard(id) {
    if (!this.#card(id).archived) throw new Error("Archive the card first; only archived cards can be deleted.");
    this.#cards.delete(id);
    this.#save({ removed: [id] });
  }

  // ---- Inside ----

  #column(id) {
    const column = this.#columns.find((c) => c.id === id);
    if (!column) throw new Error("This column is not there any more.");
    return column;
  }

  #card(id) {
    const card = this.#cards.get(id);
    if (!card) throw new Error("This card is not there any more.");
    return card;
  }

  #change(id, change) {
    const card = { ...this.#card(id), ...change, changed: Date.now() };
    this.#cards.set(id, card);
    return card;
  }

  /** Takes a card out of whichever column holds it. */
  #lift(id) {
    for (const column of this.#columns) column.cards = column.cards.filter((card) => card !== id);
  }

  /** Stores what changed and tells every view. Nothing leaves the gadget before the writes are on disk. */
  #save({ columns = false, cards = [], removed = [] }) {
    const storage = this.ctx.storage;
    this.#revision += 1;
    storage.put("revision", this.#revision);
    if (columns) storage.put("columns", this.#columns);
    for (const card of cards) storage.put("card:" + card.id, card);
    for (const id of removed) storage.delete("card:" + id);
    const change = { revision: this.#revision, cards, removed };
    if (columns) change.columns = this.#columns;
    for (const view of this.#views) view.changed(change).catch(() => this.#close(view));
  }

  #close(view) {
    if (this.#views.delete(view)) view[Symbol.dispose]();
  }
}

function newId() {
  return crypto.randomUUID();
}

function place(index, length) {
  if (typeof index !== "number" || Number.isNaN(index)) throw new TypeError("A place is a number.");
  return Math.max(0, Math.min(length, Math.trunc(index)));
}

/** Checks a text that a person typed. A title may not be empty; a body may. */
function text(value, name, empty) {
  if (typeof value !== "string") throw new TypeError(`The ${name} must be a text.`);
  if (value.length > limits[name]) throw new RangeError(`The ${name} has ${value.length} characters; at most ${limits[name]} fit.`);
  const trimmed = name === "title" ? value.trim() : value;
  if (trimmed === "" && empty === undefined) throw new Error(`The ${name} is empty.`);
  return trimmed;
}
