// The list of notes beside the open one: searching, tags, the trash.

import { ago, html, icon } from "./dom.js";

const step = 100; // rows that are drawn at a time

export class List {
  #on;
  #state; // { notes: Map, hits?: [...], all, query, trash, open }
  #rows = new Map(); // id -> { row, drawn }: a row is kept for as long as it says the same
  #most = step; // rows that are drawn; more are when the list is scrolled to its end
  #what = ""; // what the list shows

  /** on: { query(text), add(), open(id), tag(tag), trash(shown), empty(id?), restore(id) } */
  constructor(on) {
    this.#on = on;
    this.search = html("input", { className: "search", type: "search", placeholder: "Search notes", ariaLabel: "Search notes", title: "Press / to search", autocomplete: "off", spellcheck: false });
    this.search.addEventListener("input", () => on.query(this.search.value));
    const add = html("button", { type: "button", className: "primary add", title: "New note (N)", ariaLabel: "New note" }, icon("plus"));
    add.addEventListener("click", () => on.add());
    this.tags = html("div", { className: "tags", role: "group", ariaLabel: "Tags" });
    this.items = html("ul", { className: "items", ariaLabel: "Notes" });
    this.note = html("div", { className: "none" });
    this.count = html("span", { className: "count", role: "status" });
    this.bin = html("button", { type: "button", className: "quiet" });
    this.bin.addEventListener("click", () => on.trash(!this.#state.trash));
    this.purge = this.#twice("Empty trash", "Delete all for good?", () => on.empty());
    const scroll = html("div", { className: "scroll" }, this.items, this.note);
    scroll.addEventListener("scroll", () => scroll.scrollTop + 2 * scroll.clientHeight > scroll.scrollHeight && this.#more());
    this.node = html("div", { className: "side", role: "group", ariaLabel: "All notes" }, html("div", { className: "top" }, this.search, add), this.tags, scroll, html("footer", {}, this.count, this.purge, this.bin));
    this.items.addEventListener("keydown", (event) => this.#key(event));
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.items.querySelector("button")?.focus();
      else if (event.key === "Enter") this.items.querySelector("button")?.click();
      else return;
      event.preventDefault();
    });
  }

  /** A button that asks once more before it acts. */
  #twice(label, question, act) {
    const button = html("button", { type: "button", className: "quiet", textContent: label });
    let armed;
    const calm = () => {
      clearTimeout(armed);
      armed = undefined;
      button.textContent = label;
      button.classList.remove("danger");
    };
    button.addEventListener("blur", calm);
    button.addEventListener("click", () => {
      if (armed) {
        calm();
        act();
        return;
      }
      button.textContent = question;
      button.classList.add("danger");
      armed = setTimeout(calm, 5_000);
    });
    return button;
  }

  draw(state) {
    this.#state = state;
    const { notes, hits, trash, query } = state;
    const live = [...notes.values()].filter((note) => !note.deleted);
    const gone = [...notes.values()].filter((note) => note.deleted);
    const shown = trash ? gone.sort((a, b) => b.deleted - a.deleted) : hits ? hits.map((hit) => notes.get(hit.id)).filter((note) => note && !note.deleted) : sorted(live);
    const marked = new Map((!trash && hits ? hits : []).map((hit) => [hit.id, hit]));
    const what = trash ? "trash" : `notes ${hits ? query : ""}`;
    if (what !== this.#what) {
      [this.#what, this.#most] = [what, step];
      this.items.parentNode.scrollTop = 0;
    }
    this.#fill(shown.slice(0, this.#most), marked);
    this.#left = shown.length - this.#most;
    this.#tags(live, query, trash);
    this.#empty(shown, live);
    const total = !trash && hits ? state.all : shown.length;
    this.count.textContent = total > shown.length ? `${shown.length} of ${total} found` : !trash && hits ? `${total} found` : `${total} ${total === 1 ? "note" : "notes"}`;
    this.bin.textContent = trash ? "All notes" : `Trash${gone.length ? ` (${gone.length})` : ""}`;
    this.bin.hidden = !trash && gone.length === 0;
    this.purge.hidden = !trash || gone.length === 0;
  }

  #left = 0; // notes below the rows that are drawn

  #more() {
    if (this.#left <= 0) return;
    this.#most += step;
    this.draw(this.#state);
  }

  /** Draws the rows of notes in their order, touching only what changed, and keeps the focus with its note. */
  #fill(notes, marked) {
    const focused = document.activeElement?.closest?.(".items li")?.dataset.note;
    const rows = new Map();
    for (const note of notes) {
      const drawn = JSON.stringify([note, note.id === this.#state.open, ago(note.changed), marked.get(note.id)]);
      const known = this.#rows.get(note.id);
      rows.set(note.id, known?.drawn === drawn ? known : { row: this.#row(note, marked.get(note.id)), drawn });
    }
    this.#rows = rows;
    const nodes = [...rows.values()].map(({ row }) => row);
    const kept = new Set(nodes);
    for (const row of [...this.items.children]) if (!kept.has(row)) row.remove();
    nodes.forEach((row, n) => this.items.children[n] !== row && this.items.insertBefore(row, this.items.children[n] ?? null));
    if (focused && document.activeElement?.closest?.(".items li")?.dataset.note !== focused) this.focus(focused);
  }

  #row(note, hit) {
    const title = html("span", { className: "title" }, ...(hit ? pieces(hit.title) : [note.title || "Untitled"]));
    if (!note.title) title.classList.add("muted");
    const head = html("span", { className: "head" }, title, note.pinned ? icon("pin") : "", html("time", { textContent: ago(note.changed) }));
    const text = html("span", { className: "text" }, ...(hit ? pieces(hit.text) : [note.excerpt || (note.title ? "No more text" : "Empty")]));
    const button = html("button", { type: "button", className: "note" }, head, text);
    button.setAttribute("aria-current", note.id === this.#state.open ? "true" : "false");
    button.addEventListener("click", () => this.#on.open(note.id));
    const row = html("li", {}, button);
    row.dataset.note = note.id;
    if (note.deleted) {
      const restore = html("button", { type: "button", className: "quiet", textContent: "Restore", ariaLabel: `Restore ${note.title || "Untitled"}` });
      restore.addEventListener("click", () => this.#on.restore(note.id));
      row.append(html("span", { className: "acts" }, restore, this.#twice("Delete", "For good?", () => this.#on.empty(note.id))));
    }
    return row;
  }

  #tags(live, query, trash) {
    const counts = new Map();
    for (const note of live) for (const tag of note.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
    const most = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).slice(0, 12);
    const had = document.activeElement?.dataset?.tag;
    this.tags.hidden = trash || most.length === 0;
    this.tags.replaceChildren(
      ...most.map(([tag]) => {
        const on = query.trim().toLowerCase() === "#" + tag;
        const button = html("button", { type: "button", className: "tag", textContent: "#" + tag, ariaPressed: String(on) });
        button.dataset.tag = tag;
        button.addEventListener("click", () => this.#on.tag(on ? "" : tag));
        return button;
      }),
    );
    if (had) [...this.tags.children].find((button) => button.dataset.tag === had)?.focus();
  }

  #empty(shown, live) {
    this.note.hidden = shown.length > 0;
    if (shown.length > 0) return;
    const { trash, hits, query } = this.#state;
    if (trash) return this.note.replaceChildren(html("p", { textContent: "The trash is empty." }));
    if (hits) {
      const clear = html("button", { type: "button", textContent: "Show all notes" });
      clear.addEventListener("click", () => this.#on.tag(""));
      return this.note.replaceChildren(html("p", { textContent: `No note holds “${query.trim()}”.` }), clear);
    }
    if (live.length === 0) this.note.replaceChildren(html("p", { textContent: "There are no notes yet." }));
    return undefined;
  }

  focus(id) {
    (this.#rows.get(id)?.row ?? this.items).querySelector("button")?.focus();
  }

  #key(event) {
    const row = event.target.closest("li");
    if (event.key === "ArrowDown" && !row.nextElementSibling) this.#more();
    const to = { ArrowDown: row?.nextElementSibling, ArrowUp: row?.previousElementSibling, Home: this.items.firstElementChild, End: this.items.lastElementChild };
    if (event.key === "ArrowUp" && !row?.previousElementSibling) this.search.focus();
    else if (event.key in to) to[event.key]?.querySelector("button").focus();
    else if (event.key === "Delete" && !this.#state.trash) this.#on.remove(this.#state.notes.get(row.dataset.note));
    else return;
    event.preventDefault();
  }
}

/** Pinned notes first, then the last changed. */
function sorted(notes) {
  return notes.sort((a, b) => b.pinned - a.pinned || b.changed - a.changed);
}

function pieces(pairs) {
  return pairs.map(([text, hit]) => (hit ? html("mark", { textContent: text }) : text));
}
