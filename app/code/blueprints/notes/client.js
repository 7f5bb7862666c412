// The page of a notebook: connects to the gadget, keeps what it was told, and draws it. `gadget` is the server half.

import { html, toast } from "./dom.js";
import { Editor } from "./editor.js";
import { List } from "./list.js";
import { style } from "./style.js";

const state = { notes: new Map(), revision: -1, hits: undefined, all: 0, query: "", trash: false, open: undefined };

document.head.append(html("style", { textContent: style }));

/** A call that fails says so and changes nothing. */
const attempt = (promise) => promise.catch((error) => toast(error.message));

const editor = new Editor({
  back: leave,
  opened(id) {
    state.open = id;
    document.body.dataset.show = "note";
    draw();
  },
  removed: remove,
  tag: searchTag,
  pin: (id, pinned) => attempt(gadget.pin(id, pinned)),
  restore: (id) => attempt(gadget.restore(id)),
});
const list = new List({
  query: search,
  add,
  open,
  remove,
  tag: searchTag,
  trash(shown) {
    state.trash = shown;
    draw();
  },
  empty: (id) => attempt(gadget.empty(id)),
  restore: (id) => attempt(gadget.restore(id)),
});
const start = html("div", { className: "start" }, html("p", { className: "waiting", textContent: "Opening the notes…" }));
document.body.append(list.node, editor.node, start);
document.body.dataset.show = "list";

// ---- What a person does ----

/** Opens a new note, or the one that is open if nothing was written in it. */
async function add() {
  if (editor.blank && state.open) return editor.focus();
  // Who writes at once does not wait for the server: this field takes what is typed until the note is there.
  const early = html("textarea", { className: "early", ariaLabel: "New note" });
  document.body.append(early);
  early.focus();
  return attempt(
    (async () => {
      if (state.trash || state.query) searchTag("");
      if (await editor.open(await gadget.add())) editor.begin(early.value);
    })(),
  ).finally(() => early.remove());
}

async function open(id) {
  if (id === state.open && document.body.dataset.show === "note") return editor.focus();
  if (await attempt(editor.open(id, state.hits ? state.query : ""))) editor.focus();
  return undefined;
}

function leave() {
  document.body.dataset.show = "list";
  editor.flush();
  list.focus(state.open);
}

async function remove(note) {
  if (!note || (note.id === editor.id && !(await editor.flush()))) return;
  await attempt(
    gadget.remove(note.id).then(() => {
      toast(`“${note.title || "Untitled"}” is in the trash.`, "Undo", () => attempt(gadget.restore(note.id).then(() => open(note.id))));
    }),
  );
}

function searchTag(tag) {
  list.search.value = tag && "#" + tag;
  document.body.dataset.show = tag ? "list" : document.body.dataset.show;
  search(list.search.value);
}

let asked = 0;

/** Asks the server; an answer that a later question overtook is dropped. */
async function search(query) {
  state.query = query;
  state.trash = false;
  const mine = (asked += 1);
  if (!query.trim()) {
    state.hits = undefined;
    editor.page.mark("");
    draw();
    return;
  }
  try {
    const { hits, all } = await gadget.search(query);
    if (mine !== asked) return;
    Object.assign(state, { hits, all });
    draw();
  } catch (error) {
    toast("The search failed: " + error.message);
  }
}

// ---- What the server says ----

let patience = 200; // milliseconds before watching again, doubled as long as it fails

/** Called by the gadget with each change. When the gadget goes away (it was restarted) it is disposed: watch again. */
class Watcher extends RpcTarget {
  changed(change) {
    if (change.revision <= state.revision) return;
    state.revision = change.revision;
    for (const note of change.notes) state.notes.set(note.id, note);
    for (const id of change.removed) state.notes.delete(id);
    told();
  }
  [Symbol.dispose]() {
    again();
  }
}

function again() {
  setTimeout(watch, patience);
  patience = Math.min(2 * patience, 10_000);
}

async function watch() {
  try {
    const { revision, notes } = await gadget.watch(new Watcher());
    patience = 200;
    Object.assign(state, { revision, notes: new Map(notes.map((note) => [note.id, note])) });
    told();
  } catch (error) {
    start.replaceChildren(html("h1", { textContent: "The notes could not be opened" }), html("p", { textContent: error.message }), html("p", { className: "muted", textContent: "This tries again by itself." }));
    again();
  }
}

function told() {
  const note = state.notes.get(editor.id);
  // What is typed and not saved yet outlives the note: the server makes a copy, or this view a new one.
  if (editor.id && !note) editor.dirty ? attempt(editor.rescue()) : closeEditor();
  else if (note?.deleted && !state.trash && note.id === state.open && !editor.dirty) closeEditor();
  else if (note) editor.heard(note);
  if (state.query.trim()) search(state.query);
  draw();
}

function closeEditor() {
  editor.close();
  state.open = undefined;
  document.body.dataset.show = "list";
}

function draw() {
  list.draw(state);
  start.hidden = !!state.open;
  if (state.open) return;
  const first = state.notes.size === 0;
  const button = html("button", { type: "button", className: "primary", textContent: first ? "Write the first note" : "New note" });
  button.addEventListener("click", add);
  start.replaceChildren(
    html("h1", { textContent: first ? "A place for notes" : "No note is open" }),
    html("p", { textContent: first ? "Write in Markdown; the first line is the title. Paste or drop pictures and files, and sort with #tags." : "Choose one from the list, or begin another." }),
    button,
    html("p", { className: "keys" }, key("new", "N"), key("search", "/"), key("move", "↑", "↓"), key("back to the list", "Esc")),
  );
}

function key(what, ...names) {
  return html("span", {}, ...names.map((name) => html("kbd", { textContent: name })), what);
}

// ---- Files ----

/** Attaches files to the open note, or to a new one. */
async function take(event, data) {
  const files = [...(data?.files ?? [])];
  if (files.length === 0) return;
  event.preventDefault();
  if (!state.open) await add();
  await editor.attach(files);
}

// A file that is dropped where nobody takes it would be opened in place of this page.
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.toggle("dropping", event.dataTransfer.types.includes("Files"));
});
document.addEventListener("dragleave", (event) => event.relatedTarget ?? document.body.classList.remove("dropping"));
document.addEventListener("drop", (event) => {
  document.body.classList.remove("dropping");
  if (event.dataTransfer.files.length > 0) take(event, event.dataTransfer);
  else if (!event.target.closest("textarea, input")) event.preventDefault();
});
document.addEventListener("paste", (event) => take(event, event.clipboardData));

// ---- Keyboard ----

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea");
  const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.altKey && !event.ctrlKey && event.code === "KeyN") add();
  else if (event.key === "Escape" && event.target === list.search && list.search.value) searchTag("");
  else if (event.key === "Escape" && event.target === list.search) list.search.blur();
  else if (event.key === "Escape" && editor.node.contains(event.target)) leave();
  else if (typing || !plain) return;
  else if (event.key === "/") {
    document.body.dataset.show = "list";
    list.search.focus();
    list.search.select();
  } else if (event.key === "n") add();
  else if (event.key === "ArrowDown" && event.target === document.body) list.focus(state.open);
  else return;
  event.preventDefault();
});

setInterval(() => document.hidden || draw(), 60_000); // what is “now” becomes “1 min”

await watch();
